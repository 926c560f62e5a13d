// A policy that counts what is done to it, so that a limiter's counts have a second witness.
#ifndef SHED_TESTS_SOAK_COUNTED_H_
#define SHED_TESTS_SOAK_COUNTED_H_

#include <atomic>
#include <cstdint>

#include "shed/internal/invoke.h"
#include "shed/policy.h"

namespace shed::soak {

// Everything is P's, its Admit, Cancel and Complete under a count each. Relaxed: a count must not
// order what P forgot to.
template <class P>
class Counted : public P {
 public:
  using P::P;

  Verdict Admit(const Request& request, TimePoint now, TicketOf<P>& ticket,
                Events& events) noexcept {
    const Verdict verdict = internal::Admit<P>(*this, request, now, ticket, events);
    Add(verdict.admitted() ? admitted_ : refused_);
    return verdict;
  }
  void Cancel(TicketOf<P>& ticket, const Verdict& cause, TimePoint now, Events& events) noexcept {
    Add(cancelled_);
    internal::Cancel<P>(*this, ticket, cause, now, events);
  }
  void Complete(TicketOf<P>& ticket, const Completion& completion, Events& events) noexcept
      requires(CompletesTimed<P>) {
    Add(completed_);
    internal::Complete<P>(*this, ticket, completion, events);
  }
  void Complete(TicketOf<P>& ticket, Outcome outcome, Events& events) noexcept
      requires(!CompletesTimed<P>) {
    Add(completed_);
    internal::Complete<P>(*this, ticket, {.outcome = outcome}, events);
  }

  // Exact when nobody calls.
  std::uint64_t admitted() const { return admitted_.load(std::memory_order_relaxed); }
  std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }
  std::uint64_t cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  std::uint64_t completed() const { return completed_.load(std::memory_order_relaxed); }

 private:
  using Count = std::atomic<std::uint64_t>;
  static void Add(Count& count) noexcept { count.fetch_add(1, std::memory_order_relaxed); }

  Count admitted_{0};
  Count refused_{0};
  Count cancelled_{0};
  Count completed_{0};
};

}  // namespace shed::soak

#endif  // SHED_TESTS_SOAK_COUNTED_H_
