// A policy that can be turned off and on while calls are in flight.
//
//   Limiter<Switch<RateLimiter>, KneeLimiter> limiter({.rate = 500}, {});
//   limiter.Get<Switch<RateLimiter>>().Turn(false);
//
// Off, it admits every call and tells P of none: P neither sees nor counts them, and refuses
// nobody. A call that P admitted is ended or undone there whatever the switch says by then; one
// that came while it was off never is. What P has learned stays; turned on again it goes on from
// there.
#ifndef SHED_SWITCH_H_
#define SHED_SWITCH_H_

#include <atomic>
#include <string_view>
#include <utility>

#include "shed/internal/wrapper.h"
#include "shed/limiter_snapshot.h"
#include "shed/policy.h"
#include "shed/sync.h"

namespace shed {

// Called as P is, made from P's Options (from internal::PolicyItself<P>, {policy}, where it has
// none), and on at first. Thread-safe: Turn and on() any thread, the rest as P.
template <class P, class Sync = StdSync>
class Switch : public internal::Wrapper<P>,
               public internal::WrapperCharge<Switch<P, Sync>, P>,
               public internal::WrapperConfigure<Switch<P, Sync>, P> {
  using Base = internal::Wrapper<P>;

 public:
  static constexpr std::string_view kName = P::kName;
  static constexpr bool kHolds = Holds<P>;
  using Ticket = typename Base::Ticket;
  struct Snapshot {
    bool on = true;
    SnapshotOf<P> policy{};
  };

  explicit Switch(const typename Base::Options& options) requires(!HasHot<P>) : Base(options) {}
  template <class Hot>
  Switch(const typename Base::Options& options, Hot& hot) requires HasHot<P> : Base(options, hot) {}

  // Relaxed, both: calls that come at the same time may see either.
  void Turn(bool on) noexcept { on_.store(on, std::memory_order_relaxed); }
  bool on() const noexcept { return on_.load(std::memory_order_relaxed); }

  Verdict Admit(const Request& request, TimePoint now, Ticket& ticket, Events& events) noexcept {
    if (!on()) return Verdict::Admit();
    const Verdict verdict = internal::Admit(this->policy(), request, now, ticket.inner, events);
    ticket.held = verdict.admitted();
    return verdict;
  }
  void Cancel(Ticket& ticket, const Verdict& cause, TimePoint now, Events& events) noexcept {
    if (!std::exchange(ticket.held, false)) return;
    internal::Cancel(this->policy(), ticket.inner, cause, now, events);
  }
  void Complete(Ticket& ticket, const Completion& completion,
                Events& events) noexcept requires CompletesTimed<P> {
    if (!std::exchange(ticket.held, false)) return;
    internal::Complete(this->policy(), ticket.inner, completion, events);
  }
  void Complete(Ticket& ticket, Outcome outcome, Events& events) noexcept
      requires(!CompletesTimed<P>) {
    if (!std::exchange(ticket.held, false)) return;
    internal::Complete(this->policy(), ticket.inner, {.outcome = outcome}, events);
  }

  // Whether it is on, and P as good as new.
  bool AsNew(TimePoint now) const noexcept requires requires(const P& p) { p.AsNew(now); }
  { return on() && this->policy().AsNew(now); }

  Snapshot Read([[maybe_unused]] TimePoint now) const noexcept {
    Snapshot snapshot{.on = on()};
    if constexpr (CanRead<P>) snapshot.policy = this->policy().Read(now);
    return snapshot;
  }

 private:
  typename Sync::template Atomic<bool> on_{true};
};

}  // namespace shed

#endif  // SHED_SWITCH_H_
