// The rules of CircuitBreaker written plainly, over a list of every call.
#ifndef SHED_TESTS_PROPERTY_BREAKER_ORACLE_H_
#define SHED_TESTS_PROPERTY_BREAKER_ORACLE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "shed/circuit_breaker.h"

namespace shed {

// Keeps every call of the present closed time, and every probe, with its times.
class BreakerOracle {
 public:
  explicit BreakerOracle(const CircuitBreakerOptions& options)
      : o_(options), open_for_(options.open_for) {}

  struct Answer {
    bool drawn = false;  // In the ramp: either verdict is right.
    Verdict verdict = Verdict::Admit();
  };
  Answer Admit(TimePoint now, int call) {
    Expire(now);
    if (o_.slow_call > Duration(0) &&
        (state_ == BreakerState::kClosed || state_ == BreakerState::kForcedClosed) &&
        AskSlice(now) > latest_asked_) {
      latest_asked_ = AskSlice(now);
      if (Overdue(now) > 0 && state_ == BreakerState::kClosed) Judge(now);
    }
    switch (state_) {
      case BreakerState::kForcedOpen:
        return {.verdict = Verdict::Refuse(Reason::kCircuitOpen)};
      case BreakerState::kOpen:
        if (now < open_until_) {
          return {.verdict = Verdict::Refuse(Reason::kCircuitOpen, open_until_ - now)};
        }
        Enter(BreakerState::kHalfOpen);
        Report(EventKind::kBreakerHalfOpened, Cause::kTimeElapsed);
        [[fallthrough]];
      case BreakerState::kHalfOpen:
        if (static_cast<std::int64_t>(probes_.size()) == o_.probes) {
          return {.verdict = Verdict::Refuse(Reason::kProbing)};
        }
        probes_.push_back({call, now});
        were_probes_.insert(call);
        break;
      case BreakerState::kClosed:
        if (ramp_from_ && now - *ramp_from_ >= o_.ramp) ramp_from_.reset();
        if (ramp_from_ && now <= *ramp_from_) {
          return {.verdict = Verdict::Refuse(Reason::kRecovering)};
        }
        if (ramp_from_) return {.drawn = true};
        break;
      case BreakerState::kForcedClosed:
        break;
    }
    return {};
  }
  int epoch() const { return epoch_; }
  // The call was admitted, whatever a draw had to do with it.
  void Admitted(TimePoint now, int call) {
    if (were_probes_.count(call) == 0) in_flight_.push_back({call, AskSlice(now)});
  }

  // `epoch` is what epoch() was after the call was admitted.
  void End(int call, int epoch, TimePoint started, TimePoint now, std::optional<Outcome> outcome) {
    const auto probe = std::find_if(probes_.begin(), probes_.end(),
                                    [&](const Probe& p) { return p.call == call; });
    const bool slow = o_.slow_call > Duration(0) && now - started > o_.slow_call;
    const bool ignored = !outcome || outcome == Outcome::kIgnored;
    const bool failed = outcome != Outcome::kSuccess;
    if (were_probes_.erase(call) != 0) {
      // Whoever ends a probe, even one of an earlier half-open time, finds those that are overdue.
      if (Expire(now) || probe == probes_.end()) return;
      probes_.erase(probe);
      if (ignored) return;
      if (failed || slow) return Reopen(now, Cause::kProbeFailed);
      if (++successes_ == o_.probes) Close(now, true);
      return;
    }
    if (epoch != epoch_) return;
    std::erase_if(in_flight_, [&](const InFlight& other) { return other.call == call; });
    if (ignored) return;
    row_ = failed ? row_ + 1 : 0;
    Record(now, failed, slow);
    if ((failed || slow) && state_ == BreakerState::kClosed) Judge(now);
  }

  void ForceOpen(TimePoint now) {
    if (state_ == BreakerState::kForcedOpen) return;
    Enter(BreakerState::kForcedOpen);
    ++opens_;
    open_since_ = now;
    Report(EventKind::kBreakerOpened, Cause::kForced);
  }
  void ForceClosed() {
    if (state_ == BreakerState::kForcedClosed) return;
    Enter(BreakerState::kForcedClosed);
    Report(EventKind::kBreakerClosed, Cause::kForced);
  }
  void Reset() {
    const bool was_closed = state_ == BreakerState::kClosed;
    Enter(BreakerState::kClosed);
    open_for_ = o_.open_for;
    if (!was_closed) Report(EventKind::kBreakerClosed, Cause::kForced);
  }

  // As CircuitBreaker::Read, but for the generation, which is not the oracle's business.
  CircuitBreaker::Snapshot Read(TimePoint now) const {
    BreakerOracle then = *this;
    then.Expire(now);
    CircuitBreaker::Snapshot s;
    s.state = then.state_;
    s.counts = then.Counts(now);
    s.opens_total = then.opens_;
    s.open_since = then.open_since_;
    if (then.state_ == BreakerState::kOpen && now < then.open_until_) {
      s.retry_after = then.open_until_ - now;
    }
    s.open_for = then.open_for_;
    s.probes_in_flight = static_cast<std::uint32_t>(then.probes_.size());
    s.probe_successes = static_cast<std::uint32_t>(then.successes_);
    if (ramp_from_) {
      const auto ramp = static_cast<double>(o_.ramp.count());
      s.admitted_share =
          std::clamp(static_cast<double>((now - *ramp_from_).count()) / ramp, 0., 1.);
    }
    return s;
  }
  std::vector<Event> TakeEvents() { return std::exchange(events_, {}); }

 private:
  struct Call {
    std::int64_t slice;
    bool failed;
    bool slow;
  };
  struct Probe {
    int call;
    TimePoint started;
  };
  struct InFlight {
    int call;
    std::int64_t slice;
  };

  // Slices of when calls asked: an eighth of slow_call, a microsecond at least.
  std::int64_t AskSlice(TimePoint at) const {
    const std::int64_t width = std::max<std::int64_t>((o_.slow_call.count() + 7) / 8, 1000);
    const std::int64_t ns = at.time_since_epoch().count();
    return ns >= 0 ? ns / width : -((-ns + width - 1) / width);
  }
  // Of the calls in flight, those whose whole slice is longer ago than slow_call, or sixteen slices
  // behind the latest.
  std::uint32_t Overdue(TimePoint now) const {
    if (o_.slow_call == Duration(0)) return 0;
    const std::int64_t young = std::max(AskSlice(now - o_.slow_call), latest_asked_ - 15);
    return static_cast<std::uint32_t>(
        std::count_if(in_flight_.begin(), in_flight_.end(),
                      [&](const InFlight& call) { return call.slice < young; }));
  }

  std::int64_t Slice(TimePoint at) const {
    const std::int64_t width = o_.window.count() / 10;
    const std::int64_t ns = at.time_since_epoch().count();
    return ns >= 0 ? ns / width : -((-ns + width - 1) / width);
  }
  void Record(TimePoint now, bool failed, bool slow) {
    latest_ = std::max(latest_, Slice(now));  // Also of calls that are too old to be in it.
    calls_.push_back({Slice(now), failed, slow});
  }
  BreakerCounts Counts(TimePoint now) const {
    BreakerCounts counts;
    if (state_ != BreakerState::kClosed && state_ != BreakerState::kForcedClosed) return counts;
    counts.failed_in_a_row = static_cast<std::uint32_t>(row_);
    counts.overdue = Overdue(now);
    const std::int64_t newest = std::max(latest_, Slice(now));
    const auto size = static_cast<std::int64_t>(calls_.size());
    for (std::int64_t i = 0; i < size; ++i) {
      const Call& call = calls_[static_cast<std::size_t>(i)];
      const bool in = o_.count_window != 0 ? i >= size - o_.count_window : call.slice > newest - 10;
      if (!in) continue;
      ++counts.calls;
      counts.failed += call.failed;
      counts.slow += call.slow;
    }
    return counts;
  }
  void Judge(TimePoint now) {
    const BreakerCounts c = Counts(now);
    const auto n = static_cast<double>(c.calls);
    const auto failed = static_cast<double>(c.failed);
    const bool enough = c.calls >= static_cast<std::uint64_t>(o_.min_calls);
    if (o_.consecutive_failures > 0 && row_ >= o_.consecutive_failures) {
      Open(now, Cause::kConsecutiveFailures, c.failed_in_a_row, c.calls);
    } else if (enough && failed / n >= o_.failure_ratio) {
      Open(now, Cause::kFailureRatio, c.failed, c.calls);
    } else if (o_.slow_call > Duration(0)) {
      const std::uint64_t all = c.calls + c.overdue;
      const std::uint64_t slow = c.slow + c.overdue;
      if (all >= static_cast<std::uint64_t>(o_.min_calls) &&
          static_cast<double>(slow) / static_cast<double>(all) >= o_.slow_ratio) {
        Open(now, Cause::kSlowRatio, slow, all);
      }
    }
  }

  void Enter(BreakerState state) {
    state_ = state;
    ++epoch_;
    calls_.clear();
    in_flight_.clear();
    probes_.clear();
    successes_ = 0;
    row_ = 0;
    ramp_from_.reset();
  }
  void Open(TimePoint now, Cause cause, std::uint64_t count, std::uint64_t total) {
    Enter(BreakerState::kOpen);
    ++opens_;
    open_since_ = now;
    open_until_ = now + open_for_;
    Report(EventKind::kBreakerOpened, cause, count, total);
  }
  void Reopen(TimePoint now, Cause cause) {
    const auto ended = static_cast<std::uint64_t>(successes_) + 1;
    if (o_.max_open_for != Duration(0)) open_for_ = std::min(open_for_ * 2, o_.max_open_for);
    Open(now, cause, 1, ended);
  }
  void Close(TimePoint now, bool ramp) {
    Report(EventKind::kBreakerClosed, Cause::kProbesSucceeded,
           static_cast<std::uint64_t>(successes_), static_cast<std::uint64_t>(successes_));
    Enter(BreakerState::kClosed);
    open_for_ = o_.open_for;
    if (ramp && o_.ramp > Duration(0)) ramp_from_ = now;
  }
  bool Expire(TimePoint now) {
    TimePoint oldest = TimePoint::max();
    for (const Probe& probe : probes_) oldest = std::min(oldest, probe.started);
    const Duration longest =
        o_.slow_call > Duration(0) ? std::min(o_.slow_call, o_.probe_timeout) : o_.probe_timeout;
    if (probes_.empty() || now - oldest <= longest) return false;
    Reopen(oldest + longest, Cause::kProbeTimedOut);
    return true;
  }
  void Report(EventKind kind, Cause cause, std::uint64_t count = 0, std::uint64_t total = 0) {
    events_.push_back({.kind = kind, .cause = cause, .count = count, .total = total});
  }

  CircuitBreakerOptions o_;
  BreakerState state_ = BreakerState::kClosed;
  int epoch_ = 0;
  std::vector<Call> calls_;
  std::int64_t latest_ = std::numeric_limits<std::int64_t>::min() / 2;
  std::vector<InFlight> in_flight_;  // Of this closed time.
  std::int64_t latest_asked_ = std::numeric_limits<std::int64_t>::min() / 2;
  std::int64_t row_ = 0;
  std::vector<Probe> probes_;
  std::set<int> were_probes_;  // And have not ended, whatever became of their half-open time.
  std::int64_t successes_ = 0;
  Duration open_for_;
  TimePoint open_since_{};
  TimePoint open_until_{};
  std::uint64_t opens_ = 0;
  std::optional<TimePoint> ramp_from_;
  std::vector<Event> events_;
};

}  // namespace shed

#endif  // SHED_TESTS_PROPERTY_BREAKER_ORACLE_H_
