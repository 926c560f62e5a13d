// What a composed limiter must do, by the oracles of its policies: asked in order, undone last
// first at a refusal, told of every end once.
#ifndef SHED_TESTS_FUZZ_LIMITER_MODEL_H_
#define SHED_TESTS_FUZZ_LIMITER_MODEL_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "property/admission_twin.h"
#include "property/breaker_twin.h"
#include "property/concurrency_oracle.h"
#include "property/demerit_twin.h"
#include "property/differences.h"
#include "property/rate_oracle.h"
#include "property/rate_twin.h"
#include "shed/clock.h"
#include "shed/knee_limiter.h"
#include "shed/limiter.h"

namespace shed::fuzz {

// Answers what it is told.
struct Gate {
  static constexpr std::string_view kName = "gate";
  Verdict answer = Verdict::Admit();
  Verdict Admit(const Request&, TimePoint) const noexcept { return answer; }
};

using Stack =
    BasicLimiter<ManualClock, StdSync, RateLimiter, DemeritTwinTracker<StdSync>, CircuitBreaker,
                 AdmissionController, ConcurrencyLimiter, KneeLimiter, Gate>;

// The places of the policies.
enum Place : std::size_t { kRate, kDemerit, kBreaker, kAdmission, kConcurrency, kKnee, kGate };

struct StackOptions {
  RateLimiterOptions rate;
  DemeritTrackerOptions demerit;
  CircuitBreakerOptions breaker;
  AdmissionControllerOptions admission;
  ConcurrencyLimiterOptions concurrency;
  KneeOptions knee;
};

// One admitted call, as the oracles know it.
struct ModelCall {
  int id = 0;
  bool exempt = false;
  TimePoint started{};
  std::int64_t paid = 0;  // To the rate limiter.
  std::string caller{};
  std::uint64_t held = 0;  // Of the budget,
  bool shared = false;     // in the entry that callers share.
  int epoch = 0;           // Of the breaker.
};

class LimiterModel {
 public:
  explicit LimiterModel(const StackOptions& o)
      : bounds_(o.rate),
        rate_(o.rate),
        demerit_(o.demerit),
        breaker_(o.breaker),
        admission_(o.admission),
        concurrency_(o.concurrency) {}

  // Before a call is asked about: what no oracle knows.
  void Observe(const Stack& limiter) {
    knee_limit_ = limiter.Get<kKnee>().Read(limiter.Now()).limit;
    gate_ = limiter.Get<kGate>().answer;
  }
  // Then `guard` was given to `request` at `now`. Returns the call if it was admitted.
  std::optional<ModelCall> Admit(const Request& request, TimePoint now, const Stack::Guard& guard) {
    const std::size_t k = IndexOf(request.criticality);
    ModelCall call{.id = ++calls_, .exempt = request.exempt, .started = now};
    if (request.exempt) {
      ++exempt_;
      differences_.True("an exempt call passes", static_cast<bool>(guard));
      return call;
    }
    const Rejection rejection = guard.rejection();
    const Verdict refusal =
        Verdict::Refuse(rejection.reason(), rejection.retry_after(), rejection.scope());
    const std::size_t last = guard ? Stack::kPolicyCount : rejection.policy();
    for (std::size_t place = 0; place < Stack::kPolicyCount && place <= last; ++place) {
      Ask(place, request, k, now, place == last ? refusal : Verdict::Admit(), call);
    }
    if (guard) {
      ++admitted_[k];
      return call;
    }
    differences_.True("name of who refused",
                      rejection.policy_name() == Stack::PolicyName(rejection.policy()));
    ++refused_[last][static_cast<std::size_t>(rejection.reason())][k];
    for (std::size_t place = last; place-- > 0;) Cancel(place, refusal, now, call);
    return std::nullopt;
  }
  // The call ended with one of the four outcomes.
  void End(const ModelCall& call, Outcome outcome, TimePoint now) {
    ++completed_[IndexOf(outcome)];
    if (call.exempt) return;
    --in_flight_;
    concurrency_.End(call.id);
    admission_.Complete(now, outcome);
    breaker_.End(call.id, call.epoch, call.started, now, outcome);
    demerit_.End(call.caller, call.shared, call.held);
  }
  // Its guard went: the outcome is what was noted, or nothing was said.
  void Drop(const ModelCall& call, std::optional<Outcome> note, TimePoint now,
            Outcome unsaid = Outcome::kIgnored) {
    if (!note) ++dropped_;
    End(call, note.value_or(unsaid), now);
  }
  // Returns what the call may be charged so that the limiter can remember it.
  std::int64_t Chargeable(const ModelCall& call, std::int64_t units, TimePoint now) const {
    return rate_.Chargeable(bounds_, now.time_since_epoch().count(), call.paid, units);
  }
  void Charge(ModelCall& call, std::int64_t units, TimePoint now) {
    if (call.exempt) return;
    rate_.Settle(now.time_since_epoch().count(), call.paid, units);
    call.paid = units;
  }

  BreakerOracle& breaker() { return breaker_; }
  ConcurrencyOracle& concurrency() { return concurrency_; }

  // After every operation, of all that holds something. `caller` is one of those that ask.
  void Compare(const Stack& limiter, const std::string& caller) {
    breaker_.TakeEvents();
    const TimePoint now = limiter.Now();
    const std::int64_t at = now.time_since_epoch().count();
    CompareRate(differences_, limiter.Get<kRate>().Read(now), rate_, at);
    CompareDemerit(differences_, limiter.Get<kDemerit>(), demerit_, caller, now);
    CompareBreaker(differences_, limiter.Get<kBreaker>().Read(now), breaker_, now);
    CompareAdmission(differences_, limiter.Get<kAdmission>().Read(now),
                     admission_.oracle().Read(now));
    const auto concurrency = limiter.Get<kConcurrency>().Read(now);
    differences_.Same("limit", concurrency.limit, concurrency_.limit());
    differences_.Same("units in flight", concurrency.in_flight, concurrency_.InFlight());
    differences_.Same("calls in flight", limiter.Get<kKnee>().Read(now).in_flight, in_flight_);
  }
  // When every call has ended, of the counters: they only grow, and are many.
  void CompareCounts(const Stack& limiter) {
    const auto s = limiter.Snapshot();
    std::uint64_t begun = exempt_;
    std::uint64_t ended = 0;
    for (std::size_t k = 0; k < kCriticalityCount; ++k) {
      differences_.Same("admitted", s.admitted[k], admitted_[k]);
      begun += admitted_[k];
    }
    for (std::size_t i = 0; i < kOutcomeCount; ++i) {
      differences_.Same("completed", s.completed[i], completed_[i]);
      ended += completed_[i];
    }
    differences_.Same("exempt", s.exempt, exempt_);
    differences_.Same("dropped", s.dropped, dropped_);
    differences_.Same("ended", ended, begun);
    differences_.Same("in_flight", s.in_flight, 0u);
    differences_.True("refused", s.refused == refused_);
  }
  const std::string& difference() const { return differences_.first(); }

 private:
  // A policy answered `got`: compares that, and does to its oracle what was done to it.
  void Ask(std::size_t place, const Request& request, std::size_t k, TimePoint now,
           const Verdict& got, ModelCall& call) {
    const std::int64_t at = now.time_since_epoch().count();
    switch (place) {
      case kRate:
        CompareRate(differences_, got, rate_.Look(at, request.cost), 0, RateCheck::kExact);
        if (!got.admitted()) return;
        call.paid = static_cast<std::int64_t>(std::max<std::uint64_t>(request.cost, 1));
        return rate_.Take(at, call.paid);
      case kDemerit:
        call.caller = request.caller;
        call.held = std::clamp<std::uint64_t>(request.cost, 1, demerit_.Budget());
        return CompareDemerit(differences_, got,
                              demerit_.Admit(call.caller, request.cost, at, call.shared));
      case kBreaker:
        CompareBreaker(differences_, got, breaker_.Admit(now, call.id));
        call.epoch = breaker_.epoch();
        if (got.admitted()) breaker_.Admitted(now, call.id);
        return;
      case kAdmission:
        return admission_.Ask(differences_, now, k, call.id, got);
      case kConcurrency:
        return CompareHeld(got, concurrency_.Admit(call.id, request.cost, k) > 0);
      case kKnee:
        CompareHeld(got, in_flight_ < knee_limit_);
        in_flight_ += got.admitted() ? 1 : 0;
        return;
      default:
        differences_.Same("verdict of the gate", got, gate_);
    }
  }
  void CompareHeld(const Verdict& got, bool room) {
    differences_.Same("verdict on a permit", got,
                      room ? Verdict::Admit() : Verdict::Refuse(Reason::kConcurrency));
  }
  void Cancel(std::size_t place, const Verdict& cause, TimePoint now, const ModelCall& call) {
    switch (place) {
      case kRate:
        return rate_.GiveBack(call.paid);
      case kDemerit:
        return demerit_.Cancel(call.caller, call.shared, call.held, cause.IsCapacity(),
                               now.time_since_epoch().count());
      case kBreaker:
        return breaker_.End(call.id, call.epoch, call.started, now, std::nullopt);
      case kAdmission:
        return admission_.Cancel(call.id);
      case kConcurrency:
        return concurrency_.End(call.id);
      case kKnee:
        --in_flight_;
        return;
      default:
        return;
    }
  }

  const RateBounds bounds_;
  RateOracle rate_;
  DemeritOracle demerit_;
  BreakerOracle breaker_;
  AdmissionDraws admission_;
  ConcurrencyOracle concurrency_;
  std::uint64_t in_flight_ = 0;  // Of the knee limiter.
  std::uint32_t knee_limit_ = 0;
  Verdict gate_ = Verdict::Admit();

  Differences differences_;
  int calls_ = 0;
  CallsByCriticality admitted_{};
  std::array<std::array<CallsByCriticality, kReasonCount>, Stack::kPolicyCount> refused_{};
  std::array<std::uint64_t, kOutcomeCount> completed_{};
  std::uint64_t exempt_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace shed::fuzz

#endif  // SHED_TESTS_FUZZ_LIMITER_MODEL_H_
