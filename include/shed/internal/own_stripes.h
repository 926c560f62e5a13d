// Counters that threads do not share, as far as they go: a count costs a load and a store on a line
// that nobody else writes.
#ifndef SHED_INTERNAL_OWN_STRIPES_H_
#define SHED_INTERNAL_OWN_STRIPES_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "shed/internal/hints.h"

namespace shed::internal {

// `Counters` is a struct of Sync's atomic integers. A thread claims the stripe that its number
// (Sync::Stripe()) points to, once and for good; where another thread has that one, it counts in
// one of kShared more by locked additions, which cost several times as much.
//
// The owner is named by Sync::Thread(), which is right even where the numbers are not unique (two
// shared libraries may count them twice). A thread that ended leaves its stripe to whichever later
// one has its name, and else to nobody.
template <class Sync, class Counters, unsigned kOwn, unsigned kShared>
class OwnStripes {
 public:
  // Adds one to `which(counters)` of this thread. The order is a constant: an atomic whose order is
  // not known when it is compiled takes the strongest.
  template <std::memory_order kOrder = std::memory_order_relaxed, class Which>
  void Add(Which which) noexcept {
    Stripe& stripe = stripes_[Sync::Stripe() % kOwn];
    // Relaxed, here and below: who owns a stripe publishes nothing.
    if (stripe.owner.load(std::memory_order_relaxed) == Sync::Thread()) [[likely]] {
      auto& count = which(stripe.counters);
      count.store(count.load(std::memory_order_relaxed) + 1, kOrder);
    } else {
      AddElsewhere<kOrder>(which);
    }
  }

  // Calls `read(counters)` for every stripe.
  template <class Read>
  void ForEach(Read read) const noexcept {
    for (const Stripe& stripe : stripes_) read(stripe.counters);
  }

 private:
  struct alignas(64) Stripe {
    Counters counters{};
    typename Sync::template Atomic<std::uintptr_t> owner{0};  // 0: nobody.
  };

  // For a thread that has no stripe, or not yet.
  template <std::memory_order kOrder, class Which>
  SHED_APART void AddElsewhere(Which which) noexcept {
    const unsigned number = Sync::Stripe();
    std::uintptr_t nobody = 0;
    if (stripes_[number % kOwn].owner.compare_exchange_strong(nobody, Sync::Thread(),
                                                              std::memory_order_relaxed)) {
      Add<kOrder>(which);
    } else {
      which(stripes_[kOwn + number % kShared].counters).fetch_add(1, kOrder);
    }
  }

  std::array<Stripe, kOwn + kShared> stripes_{};
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_OWN_STRIPES_H_
