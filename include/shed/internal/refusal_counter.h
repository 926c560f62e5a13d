// Counts refusals per class of criticality, so that a refusal writes no line that another thread
// writes.
#ifndef SHED_INTERNAL_REFUSAL_COUNTER_H_
#define SHED_INTERNAL_REFUSAL_COUNTER_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "shed/request.h"

namespace shed::internal {

// One cache line per thread's stripe; the numbers only grow. With more threads than stripes, some
// share one, and lose speed, but no count.
template <class Sync>
class RefusalCounter {
 public:
  using Counts = std::array<std::uint64_t, kCriticalityCount>;

  void Add(Criticality criticality) noexcept {
    // Relaxed: a statistic; nothing is published by it.
    stripes_[Sync::Stripe() % kStripes].counts[IndexOf(criticality)].fetch_add(
        1, std::memory_order_relaxed);
  }

  Counts Sum() const noexcept {
    Counts sum{};
    for (const Stripe& stripe : stripes_) {
      for (std::size_t i = 0; i < sum.size(); ++i) {
        sum[i] += stripe.counts[i].load(std::memory_order_relaxed);
      }
    }
    return sum;
  }

 private:
  static constexpr unsigned kStripes = 16;
  struct alignas(64) Stripe {
    typename Sync::template Atomic<std::uint64_t> counts[kCriticalityCount]{};
  };
  Stripe stripes_[kStripes];
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_REFUSAL_COUNTER_H_
