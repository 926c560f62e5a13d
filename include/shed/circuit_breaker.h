// Stops calling a dependency that is broken, and finds out when it works again.
//
// Use it in front of something that you call and that can fail as a whole: it spares you the wait
// for time-outs, and the dependency the calls it cannot answer. Not against overload that comes
// from your own callers (it knows all or nothing: use a KneeLimiter), nor where part of the calls
// succeed and should go on succeeding (use an AdmissionController).
//
// Algorithm:
//   closed     admits all. Opens when the last `consecutive_failures` calls in a row failed (a dead
//              dependency is seen after that many calls, not after half a window), or when of the
//              calls in the window at least `min_calls` ended and
//                failed / calls >= failure_ratio, or slow / calls >= slow_ratio.
//              Judged at the end of each failed or slow call: a good call opens nothing. kFailure
//              and kOverload are failures; kIgnored is no call at all; slow is what took longer
//              than `slow_call`, failed or not. What has not ended by then is slow, too, or calls
//              that hang would never be seen: judged every eighth of `slow_call`, if anybody asks.
//   open       refuses for `open_for`, and says how much of it is left.
//   half-open  begun by the first call that asks when the open time is over. Admits at most
//              `probes` at a time. `probes` successes close; one probe that failed, or is older
//              than `probe_timeout` or `slow_call`, opens again. One that was ignored or cancelled
//              says nothing. There is no timer: a probe is found overdue when somebody asks, reads
//              or ends, and the breaker is then as if it had opened when it fell due.
//   closing    empties the window. With `ramp`, the share admitted grows from 0 to 1 over that
//              time, so that a dependency that has just come back does not get everything at once;
//              a call is let through by a draw from `seed`.
//
// Every change of state begins a new generation; a ticket knows its own, and the end of a call from
// an earlier one releases what it held and counts nowhere. Own refusals are no calls.
//
// Time: the window is ten slices (internal/sliding_window.h says which calls are in it); a `now`
// that lags is a call in an earlier slice, and shortens no open time.
//
// State: one word with generation and phase, which is all that the closed path reads; a striped
// window with one add per call; a word that counts failures in a row, written only when it changes.
//
// Locking: the closed path is lock-free with a time window (a mutex where a slice turns); with
// `slow_call` each call writes a shared word as it begins and as it ends. A count window has its
// mutex taken at each end of a call: the last n in order of completion is an order that threads
// must agree on. All changes of state, and probes, are under that mutex; refusals are not, and
// write nothing that another thread writes.
//
// Source: Nygard, "Release It!"; defaults as Netflix Hystrix.
#ifndef SHED_CIRCUIT_BREAKER_H_
#define SHED_CIRCUIT_BREAKER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "shed/circuit_breaker_options.h"
#include "shed/internal/breaker_gate.h"
#include "shed/internal/breaker_machine.h"
#include "shed/internal/breaker_rule.h"
#include "shed/internal/breaker_terms.h"
#include "shed/internal/breaker_ticket.h"
#include "shed/internal/count_window.h"
#include "shed/internal/failure_row.h"
#include "shed/internal/hints.h"
#include "shed/internal/overdue_calls.h"
#include "shed/internal/probe_slots.h"
#include "shed/internal/sliding_window.h"
#include "shed/internal/validate.h"
#include "shed/policy.h"
#include "shed/sync.h"

namespace shed {

// Thread-safe: any member, any thread. Allocates only when it is made.
template <class Sync = StdSync>
class BasicCircuitBreaker {
 public:
  using Options = CircuitBreakerOptions;
  static constexpr std::string_view kName = "circuit_breaker";

  using Ticket = internal::BreakerTicket;
  struct Snapshot {
    BreakerState state = BreakerState::kClosed;
    std::uint32_t generation = 0;
    BreakerCounts counts;                // All zero unless it is closed, by force or not.
    std::uint64_t opens_total = 0;       // Times that it opened, by force too.
    TimePoint open_since{};              // When it last did.
    Duration retry_after{0};             // What is left of the open time; 0 in other states.
    Duration open_for{0};                // The present open time, or the next.
    std::uint32_t probes_in_flight = 0;  // Of this half-open time.
    std::uint32_t probe_successes = 0;
    double admitted_share = 1;  // Below 1 while the load comes back.
  };

  // Throws std::invalid_argument with options.Problem() unless that is "".
  explicit BasicCircuitBreaker(const Options& options)
      : terms_(internal::Checked(options)),
        slots_(static_cast<std::size_t>(options.probes)),
        recent_(static_cast<std::size_t>(options.count_window)),
        gate_(options.ramp, options.seed),
        window_(options.window) {
    MutexLock lock(mutex_);
    machine_.open_for = options.open_for;
    Watch(options.slow_call);
    Settle();
  }
  BasicCircuitBreaker(const BasicCircuitBreaker&) = delete;
  BasicCircuitBreaker& operator=(const BasicCircuitBreaker&) = delete;

  // The rule of the closed state, pure: which part of it says that the breaker should open.
  static constexpr Cause Judge(const Options& options, const BreakerCounts& counts) noexcept {
    return internal::JudgeBreaker(options, counts);
  }

  // Refuses with kCircuitOpen (retry_after is what is left of the open time; unknown when forced),
  // kProbing or kRecovering (unknown).
  Verdict Admit(const Request&, TimePoint now, Ticket& ticket, Events& events) noexcept {
    std::uint32_t generation = 0;
    if (gate_.Open(generation)) [[likely]] {
      ticket = Ticket(generation);
      return Verdict::Admit();
    }
    // By values, here and in Complete, so that what every call has can stay in registers.
    Ticket other;
    const Verdict answer = AdmitUnlessOpen(now, other, events);
    ticket = other;
    return answer;
  }

  void Cancel(Ticket& ticket, const Verdict&, TimePoint now, Events& events) noexcept {
    const Ticket mine = Take(ticket);
    if (mine.probe() != 0) return EndProbe(mine, now, Outcome::kIgnored, false, events);
    if (mine.generation() == gate_.generation()) overdue_.End(mine.watched());
  }

  void Complete(Ticket& ticket, const Completion& end, Events& events) noexcept {
    const Ticket mine = Take(ticket);
    // What nearly all calls are: good, in a row of good ones, and no probe.
    if (end.outcome == Outcome::kSuccess && mine.probe() == 0 &&
        mine.generation() == gate_.generation() && terms_.outcome_is_all() && row_.Read() == 0)
        [[likely]] {
      window_.Add(end.now, KindOf(false, false), mine.generation());
      return;
    }
    CompleteOther(mine, end.started, end.now, end.outcome, events);
  }

  // Refuses every call until Reset.
  void ForceOpen(TimePoint now, Events& events) noexcept {
    MutexLock lock(mutex_);
    if (machine_.state == BreakerState::kForcedOpen) return;
    machine_.ForceOpen(now);
    Settle();
    events.Push({.kind = EventKind::kBreakerOpened, .cause = Cause::kForced});
  }
  // Admits every call, and opens for nothing, until Reset. Calls are counted, from none.
  void ForceClosed(TimePoint, Events& events) noexcept {
    MutexLock lock(mutex_);
    if (machine_.state == BreakerState::kForcedClosed) return;
    machine_.ForceClosed();
    Settle();
    events.Push({.kind = EventKind::kBreakerClosed, .cause = Cause::kForced});
  }
  // Closes, whatever the state: nothing counted, no ramp, the open time back at `open_for`. Reports
  // it unless it was closed.
  void Reset(TimePoint now, Events& events) noexcept {
    MutexLock lock(mutex_);
    const bool was_closed = machine_.state == BreakerState::kClosed;
    machine_.Close(now, terms_.open_for(), false);
    Settle();
    if (!was_closed) events.Push({.kind = EventKind::kBreakerClosed, .cause = Cause::kForced});
  }

  // Puts `options` in force, the seed apart. The state, what was counted and the probes that are
  // out stay, and so does an open time that has begun; of a changed window or count_window, what
  // still belongs to it. May allocate. Returns "" or, changing nothing, options.Problem().
  std::string_view Configure(const Options& options, TimePoint now) {
    const std::string_view problem = options.Problem();
    if (!problem.empty()) return problem;
    MutexLock lock(mutex_);
    // What may throw, first.
    slots_.Reserve(static_cast<std::size_t>(options.probes));
    internal::CountWindow recent(recent_, static_cast<std::size_t>(options.count_window));
    Watch(options.slow_call);
    recent_.Swap(recent);
    slots_.Allow(static_cast<std::size_t>(options.probes));
    window_.SetWindow(options.window, now);
    machine_.SetOpenFor(options.open_for, options.max_open_for);
    terms_.Set(options);
    gate_.SetRamp(options.ramp);
    PublishProbes();
    return "";
  }

  // Whether it is closed with nothing counted and no ramp.
  bool AsNew(TimePoint now) const noexcept {
    MutexLock lock(mutex_);
    return machine_.state == BreakerState::kClosed && !machine_.ramping &&
           Counts(now) == BreakerCounts{};
  }

  // Changes nothing: an overdue probe shows as the opening that it is, which the next call reports.
  Snapshot Read(TimePoint now) const noexcept {
    MutexLock lock(mutex_);
    internal::BreakerMachine m = machine_;
    const bool overdue = m.Overdue(now);
    if (overdue) m.Reopen(m.overdue_after, terms_.max_open_for());
    return {
        .state = m.state,
        .generation = m.generation,
        .counts = m.counts() ? Counts(now) : BreakerCounts{},
        .opens_total = m.opens,
        .open_since = m.open_since,
        .retry_after = m.state == BreakerState::kOpen ? Elapsed(now, m.open_until) : Duration(0),
        .open_for = m.open_for,
        .probes_in_flight = overdue ? 0 : slots_.in_flight(),
        .probe_successes = m.successes,
        .admitted_share =
            m.ramping ? internal::RampShare(Elapsed(m.ramp_from, now), gate_.ramp()) : 1.0};
  }

 private:
  static constexpr std::size_t KindOf(bool failed, bool slow) noexcept {
    return (failed ? 1u : 0u) | (slow ? 2u : 0u);
  }
  static BreakerCounts CountsOf(const std::array<std::uint64_t, 4>& kinds) noexcept {
    return {.calls = kinds[0] + kinds[1] + kinds[2] + kinds[3],
            .failed = kinds[KindOf(true, false)] + kinds[KindOf(true, true)],
            .slow = kinds[KindOf(false, true)] + kinds[KindOf(true, true)]};
  }
  // A ticket ends once.
  static Ticket Take(Ticket& ticket) noexcept { return std::exchange(ticket, Ticket()); }

  SHED_APART Verdict AdmitUnlessOpen(TimePoint now, Ticket& ticket, Events& events) noexcept {
    if (gate_.closed() && overdue_.Turn(now)) LookAtOverdue(now, events);
    std::uint32_t generation = 0;
    Verdict answer = Verdict::Admit();
    if (!gate_.Ask(now, generation, answer)) return AdmitLocked(now, ticket, events);
    if (answer.admitted()) ticket = Ticket(generation, overdue_.Begin(now, generation));
    return answer;
  }
  SHED_SELDOM void LookAtOverdue(TimePoint now, Events& events) noexcept {
    if (overdue_.Count(now) == 0) return;
    MutexLock lock(mutex_);
    Trip(machine_.generation, now, Counts(now), events);
  }

  // For a call that may change the state: the first after the open time or the ramp, a probe, or
  // one that finds a probe overdue.
  SHED_SELDOM Verdict AdmitLocked(TimePoint now, Ticket& ticket, Events& events) noexcept {
    MutexLock lock(mutex_);
    ExpireProbes(now, events);
    if (machine_.state == BreakerState::kForcedOpen) return Verdict::Refuse(Reason::kCircuitOpen);
    if (machine_.state == BreakerState::kOpen) {
      const Duration left = Elapsed(now, machine_.open_until);
      if (left > Duration(0)) return Verdict::Refuse(Reason::kCircuitOpen, left);
      machine_.HalfOpen();
      Settle();
      events.Push({.kind = EventKind::kBreakerHalfOpened, .cause = Cause::kTimeElapsed});
    }
    if (machine_.state == BreakerState::kHalfOpen) {
      if (slots_.full()) return Verdict::Refuse(Reason::kProbing);
      ticket = Ticket(machine_.generation, slots_.Claim(now) + 1);
      PublishProbes();
      return Verdict::Admit();
    }
    if (machine_.ramping) {
      // Closed by another thread a moment ago: the ramp begins with a share of 0.
      if (Elapsed(machine_.ramp_from, now) < gate_.ramp()) {
        return Verdict::Refuse(Reason::kRecovering);
      }
      machine_.ramping = false;
      gate_.Publish(machine_, false);
    }
    ticket = Ticket(machine_.generation, overdue_.Begin(now, machine_.generation));
    return Verdict::Admit();
  }

  SHED_SELDOM void EndProbe(Ticket mine, TimePoint now, Outcome outcome, bool slow,
                            Events& events) noexcept {
    MutexLock lock(mutex_);
    ExpireProbes(now, events);
    if (machine_.generation != mine.generation()) return;  // The slot went with its generation.
    slots_.Release(mine.probe() - 1);
    if (outcome == Outcome::kIgnored) return PublishProbes();
    if (outcome != Outcome::kSuccess || slow) return Reopen(now, Cause::kProbeFailed, events);
    if (++machine_.successes < terms_.probes()) return PublishProbes();
    const std::uint32_t successes = machine_.successes;
    machine_.Close(now, terms_.open_for(), gate_.ramp() != Duration(0));
    Settle();
    events.Push({.kind = EventKind::kBreakerClosed,
                 .cause = Cause::kProbesSucceeded,
                 .count = successes,
                 .total = successes,
                 .value = static_cast<double>(successes),
                 .threshold = static_cast<double>(terms_.probes())});
  }
  void ExpireProbes(TimePoint now, Events& events) noexcept SHED_REQUIRES(mutex_) {
    if (machine_.Overdue(now)) Reopen(machine_.overdue_after, Cause::kProbeTimedOut, events);
  }
  void Reopen(TimePoint now, Cause cause, Events& events) noexcept SHED_REQUIRES(mutex_) {
    const std::uint64_t ended = machine_.successes + 1;
    machine_.Reopen(now, terms_.max_open_for());
    Settle();
    events.Push({.kind = EventKind::kBreakerOpened,
                 .cause = cause,
                 .count = 1,
                 .total = ended,
                 .value = 1,
                 .threshold = 1});
  }

  SHED_APART void CompleteOther(Ticket mine, TimePoint started, TimePoint now, Outcome outcome,
                                Events& events) noexcept {
    const bool slow = terms_.IsSlow(Elapsed(started, now));
    if (mine.probe() != 0) return EndProbe(mine, now, outcome, slow, events);
    if (mine.generation() != gate_.generation()) return;
    overdue_.End(mine.watched());
    if (outcome == Outcome::kIgnored) return;
    const bool failed = outcome != Outcome::kSuccess;
    if (terms_.counts_calls()) return CompleteCounted(mine, now, failed, slow, events);
    const std::uint32_t row = row_.Add(failed, mine.generation());
    window_.Add(now, KindOf(failed, slow), mine.generation());
    if (failed || slow) Weigh(mine.generation(), now, row, events);
  }
  void CompleteCounted(Ticket mine, TimePoint now, bool failed, bool slow,
                       Events& events) noexcept {
    MutexLock lock(mutex_);
    if (machine_.generation != mine.generation() || !terms_.counts_calls()) return;
    recent_.Add(failed, slow);
    row_.Add(failed, mine.generation());
    if (failed || slow) Trip(mine.generation(), now, Counts(now), events);
  }
  // Judges after a call of a time window that failed or was slow; `row` is the failures in a row
  // that it ended with.
  void Weigh(std::uint32_t generation, TimePoint now, std::uint32_t row, Events& events) noexcept {
    BreakerCounts counts = CountsOf(window_.Sum(now, generation));
    counts.failed_in_a_row = row;
    counts.overdue = overdue_.Count(now);
    if (Judge(terms_.rule(), counts) == Cause::kNone) return;
    MutexLock lock(mutex_);
    Trip(generation, now, counts, events);
  }
  // Opens if the rule says so and no other thread was first.
  void Trip(std::uint32_t generation, TimePoint now, const BreakerCounts& counts,
            Events& events) noexcept SHED_REQUIRES(mutex_) {
    const Options rule = terms_.rule();
    const Cause cause = Judge(rule, counts);
    if (cause == Cause::kNone || machine_.generation != generation ||
        machine_.state != BreakerState::kClosed) {
      return;
    }
    machine_.Open(now);
    Settle();
    events.Push(internal::BreakerOpened(rule, cause, counts));
  }

  BreakerCounts Counts(TimePoint now) const noexcept SHED_REQUIRES(mutex_) {
    BreakerCounts counts =
        terms_.counts_calls() ? recent_.counts() : CountsOf(window_.Sum(now, machine_.generation));
    counts.failed_in_a_row = row_.Read();
    counts.overdue = overdue_.Count(now);
    return counts;
  }

  // After a change of state: empties what the new generation counts in, then publishes it.
  void Settle() noexcept SHED_REQUIRES(mutex_) {
    slots_.Clear();
    if (machine_.counts()) {
      recent_.Clear();
      window_.Clear(machine_.generation);
      row_.Clear(machine_.generation);
      overdue_.Clear(machine_.generation);
    }
    gate_.Publish(machine_, false);
  }
  void Watch(Duration slow_call) SHED_REQUIRES(mutex_) {
    overdue_.SetLongest(slow_call, machine_.generation);
    gate_.SetWatched(slow_call != Duration(0));
  }
  void PublishProbes() noexcept SHED_REQUIRES(mutex_) {
    machine_.overdue_after = After(slots_.Oldest(), terms_.probe_timeout());
    gate_.Publish(machine_, slots_.full());
  }

  internal::BreakerTerms<Sync> terms_;
  mutable typename Sync::Mutex mutex_;
  internal::BreakerMachine machine_ SHED_GUARDED_BY(mutex_);
  internal::ProbeSlots slots_ SHED_GUARDED_BY(mutex_);
  internal::CountWindow recent_ SHED_GUARDED_BY(mutex_);

  internal::OverdueCalls<Sync> overdue_;
  internal::FailureRow<Sync> row_;
  internal::BreakerGate<Sync> gate_;
  internal::SlidingWindow<Sync, 4> window_;
};

using CircuitBreaker = BasicCircuitBreaker<>;
static_assert(Policy<CircuitBreaker>);
static_assert(sizeof(CircuitBreaker) <= 2048);

}  // namespace shed

#endif  // SHED_CIRCUIT_BREAKER_H_
