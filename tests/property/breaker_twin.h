// A CircuitBreaker beside its oracle: what is done to one is done to both, and every answer of the
// one is compared with the other's.
#ifndef SHED_TESTS_PROPERTY_BREAKER_TWIN_H_
#define SHED_TESTS_PROPERTY_BREAKER_TWIN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "property/breaker_oracle.h"
#include "property/differences.h"
#include "shed/circuit_breaker.h"

namespace shed {

// Compares the verdict on one call.
inline void CompareBreaker(Differences& differences, const Verdict& got,
                           const BreakerOracle::Answer& want) {
  if (!want.drawn) {
    differences.Same("verdict", got, want.verdict);
  } else if (!got.admitted()) {
    differences.Same("verdict of a draw", got, Verdict::Refuse(Reason::kRecovering));
  }
}

// Compares what is read at `now`.
inline void CompareBreaker(Differences& differences, const CircuitBreaker::Snapshot& got,
                           const BreakerOracle& oracle, TimePoint now) {
  const CircuitBreaker::Snapshot want = oracle.Read(now);
  differences.Same("state", got.state, want.state);
  differences.Same("calls", got.counts.calls, want.counts.calls);
  differences.Same("failed", got.counts.failed, want.counts.failed);
  differences.Same("slow", got.counts.slow, want.counts.slow);
  differences.Same("failed_in_a_row", got.counts.failed_in_a_row, want.counts.failed_in_a_row);
  differences.Same("overdue", got.counts.overdue, want.counts.overdue);
  differences.Same("opens_total", got.opens_total, want.opens_total);
  differences.Same("open_since", got.open_since, want.open_since);
  differences.Same("retry_after", got.retry_after, want.retry_after);
  differences.Same("open_for", got.open_for, want.open_for);
  differences.Same("probes_in_flight", got.probes_in_flight, want.probes_in_flight);
  differences.Same("probe_successes", got.probe_successes, want.probe_successes);
  differences.Same("admitted_share", got.admitted_share, want.admitted_share);
}

class BreakerTwin {
 public:
  explicit BreakerTwin(const CircuitBreakerOptions& options)
      : breaker_(options), oracle_(options) {}

  Verdict Ask(TimePoint now) {
    Held held{{}, ++calls_, 0, now};
    const BreakerOracle::Answer want = oracle_.Admit(now, held.call);
    Events events;
    const Verdict got = breaker_.Admit({}, now, held.ticket, events);
    CompareBreaker(differences_, got, want);
    CompareEvents(events);
    held.epoch = oracle_.epoch();
    if (got.admitted()) {
      oracle_.Admitted(now, held.call);
      held_.push_back(held);
    }
    return got;
  }
  // Requires i < held(), as do Cancel and Forget.
  void Complete(std::size_t i, TimePoint now, Outcome outcome) {
    Held held = Take(i);
    Events events;
    breaker_.Complete(held.ticket, {.started = held.started, .now = now, .outcome = outcome},
                      events);
    oracle_.End(held.call, held.epoch, held.started, now, outcome);
    CompareEvents(events);
  }
  void Cancel(std::size_t i, TimePoint now) {
    Held held = Take(i);
    Events events;
    breaker_.Cancel(held.ticket, Verdict::Refuse(Reason::kConcurrency), now, events);
    oracle_.End(held.call, held.epoch, held.started, now, std::nullopt);
    CompareEvents(events);
  }
  // A ticket that never ends.
  void Forget(std::size_t i) { Take(i); }

  void ForceOpen(TimePoint now) {
    Events events;
    breaker_.ForceOpen(now, events);
    oracle_.ForceOpen(now);
    CompareEvents(events);
  }
  void ForceClosed(TimePoint now) {
    Events events;
    breaker_.ForceClosed(now, events);
    oracle_.ForceClosed();
    CompareEvents(events);
  }
  void Reset(TimePoint now) {
    Events events;
    breaker_.Reset(now, events);
    oracle_.Reset();
    CompareEvents(events);
  }
  void Read(TimePoint now) { CompareBreaker(differences_, breaker_.Read(now), oracle_, now); }

  std::size_t held() const { return held_.size(); }
  std::uint64_t opened() const { return opened_; }
  std::uint64_t closed_by_probes() const { return closed_by_probes_; }
  // "" unless they differed.
  const std::string& difference() const { return differences_.first(); }

 private:
  struct Held {
    CircuitBreaker::Ticket ticket;
    int call;
    int epoch;
    TimePoint started;
  };
  Held Take(std::size_t i) {
    const Held held = held_[i];
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
    return held;
  }
  void CompareEvents(const Events& got) {
    const std::vector<Event> want = oracle_.TakeEvents();
    if (!differences_.Same("events", got.size(), want.size())) return;
    for (std::size_t i = 0; i < want.size(); ++i) {
      differences_.Same("event", got[i].kind, want[i].kind);
      differences_.Same("event's cause", got[i].cause, want[i].cause);
      differences_.Same("event's count", got[i].count, want[i].count);
      differences_.Same("event's total", got[i].total, want[i].total);
      opened_ += got[i].kind == EventKind::kBreakerOpened ? 1 : 0;
      closed_by_probes_ += got[i].cause == Cause::kProbesSucceeded ? 1 : 0;
    }
  }

  CircuitBreaker breaker_;
  BreakerOracle oracle_;
  Differences differences_;
  int calls_ = 0;
  std::uint64_t opened_ = 0;
  std::uint64_t closed_by_probes_ = 0;
  std::vector<Held> held_;
};

}  // namespace shed

#endif  // SHED_TESTS_PROPERTY_BREAKER_TWIN_H_
