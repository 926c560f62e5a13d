// A limiter of all kinds of policies, and guards that are moved, assigned, hidden, noted, dropped:
// every call ends once, and what a refusal makes void leaves no trace in any policy.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "fuzz/bytes.h"
#include "fuzz/limiter_model.h"
#include "fuzz/target.h"
#include "shed/any_guard.h"
#include "shed/clock.h"

namespace shed::fuzz {
namespace {

Sighting by_rate("a call that the rate limiter refuses");
Sighting by_demerit("a call that the demerit tracker refuses");
Sighting by_breaker("a call that the breaker refuses");
Sighting by_admission("a call that the admission controller refuses");
Sighting by_concurrency("a call that the concurrency limiter refuses");
Sighting by_knee("a call that the knee limiter refuses");
Sighting by_gate("a call that the gate refuses behind all others");
Sighting replaced("a guard that another is moved over");
Sighting hidden("a guard that becomes an AnyGuard");
Sighting unwound("a guard whose scope an exception leaves");
Sighting unwound_moved("a guard that has moved, and whose scope an exception leaves");
Sighting back("a clock that goes back");

StackOptions SomeOptions(Bytes& bytes) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  StackOptions o;
  o.rate = bytes.Flag() ? RateLimiterOptions{.rate = 10, .per = seconds(13), .burst = 5}
                        : RateLimiterOptions{.rate = 1000, .burst = 100};
  o.demerit.budget = bytes.Flag() ? 6 : 100;
  o.demerit.max_callers = bytes.Flag() ? 2 : 1000;
  o.breaker.consecutive_failures = bytes.Flag() ? 3 : 20;
  o.breaker.count_window = bytes.Flag() ? 20 : 0;
  o.breaker.min_calls = 5;
  o.breaker.slow_call = bytes.Flag() ? milliseconds(100) : Duration(0);
  o.breaker.open_for = milliseconds(500);
  o.breaker.probe_timeout = seconds(1);
  o.breaker.ramp = bytes.Flag() ? seconds(2) : Duration(0);
  o.admission.min_rps = bytes.Flag() ? 0 : 5;
  o.concurrency.limit = bytes.Flag() ? 4 : 100;
  o.concurrency.usable = {0, 0.5, 0.75, 1};
  o.knee = {.min_limit = 1, .max_limit = 1000, .initial_limit = 1 + bytes.AnyScale(20)};
  return o;
}

class Run {
 public:
  explicit Run(Bytes& bytes) : Run(bytes, SomeOptions(bytes)) {}

  void All() {
    while (!bytes_.empty()) {
      Step();
      model_.Compare(limiter_, SomeCaller());
      MustAgree(model_.difference());
    }
    for (std::size_t slot = 0; slot < kSlots; ++slot) Destroy(slot);
    model_.Compare(limiter_, "");
    model_.CompareCounts(limiter_);
    MustAgree(model_.difference());
  }

 private:
  // Guards first, then AnyGuards.
  static constexpr std::size_t kTyped = 5;
  static constexpr std::size_t kSlots = 8;
  // No reading is older than the latest by more: the rate limiter is exact then.
  static constexpr std::int64_t kLongestLag = std::int64_t{1} << 54;

  Run(Bytes& bytes, const StackOptions& options)
      : bytes_(bytes),
        limiter_(clock_, options.rate, options.demerit, options.breaker, options.admission,
                 options.concurrency, options.knee, Gate{}),
        model_(options) {}

  // Calls `f` with the guard in a slot, if there is one.
  template <class F>
  void Visit(std::size_t slot, F f) {
    if (slot >= kTyped) {
      f(hidden_[slot - kTyped]);
    } else if (guards_[slot]) {
      f(*guards_[slot]);
    }
  }

  void Step() {
    const std::uint64_t what = bytes_.Below(32);
    const auto slot = static_cast<std::size_t>(bytes_.Below(kSlots));
    if (what < 12) return Admit(slot);
    if (what < 18) return Complete(slot);
    if (what < 22) return Move(slot, static_cast<std::size_t>(bytes_.Below(kSlots)));
    if (what < 25) return MoveClock();
    switch (what) {
      case 25:
        return Destroy(slot);
      case 26:
        return Note(slot);
      case 27:
        return Charge(slot);
      case 28:
        return SetGate();
      case 29:
        return Force();
      default:
        return Unwind();
    }
  }

  std::string SomeCaller() { return std::string(static_cast<std::size_t>(bytes_.Below(4)), 'x'); }
  Request SomeRequest(const std::string& caller) {
    Request request{.caller = caller};
    // Mostly 1; from time to time more than anybody may have.
    if (bytes_.Below(4) == 0) request.cost = static_cast<std::uint64_t>(bytes_.AnyScale(120));
    // Values from outside the four, too.
    request.criticality = static_cast<Criticality>(bytes_.Below(6));
    request.exempt = bytes_.Below(16) == 0;
    // A policy that holds calls is in the stack, so that nobody is offered a wait.
    if (bytes_.Flag()) request.max_wait = std::chrono::hours(1);
    return request;
  }

  // A new guard, which takes the place of what is in the slot.
  void Admit(std::size_t slot) {
    const std::string caller = SomeCaller();
    const Request request = SomeRequest(caller);
    model_.Observe(limiter_);
    auto guard = limiter_.TryAdmit(request);
    const std::optional<ModelCall> call = model_.Admit(request, clock_.Now(), guard);
    See(guard);
    Put(slot, std::move(guard));
    Settle(slot, call, std::nullopt);
  }
  void See(const Stack::Guard& guard) {
    if (guard) return;
    const std::size_t place = guard.rejection().policy();
    by_rate.SeenIf(place == kRate);
    by_demerit.SeenIf(place == kDemerit);
    by_breaker.SeenIf(place == kBreaker);
    by_admission.SeenIf(place == kAdmission);
    by_concurrency.SeenIf(place == kConcurrency);
    by_knee.SeenIf(place == kKnee);
    by_gate.SeenIf(place == kGate);
  }
  void Put(std::size_t slot, Stack::Guard&& guard) {
    if (slot >= kTyped) {
      hidden_[slot - kTyped] = AnyGuard(std::move(guard));
      hidden.SeenIf(calls_[slot].has_value());
    } else if (guards_[slot]) {
      replaced.SeenIf(calls_[slot].has_value());
      *guards_[slot] = std::move(guard);
    } else {
      guards_[slot].emplace(std::move(guard));
    }
  }
  // The model's part of that: what was in the slot is dropped.
  void Settle(std::size_t slot, const std::optional<ModelCall>& call, std::optional<Outcome> note) {
    if (calls_[slot]) model_.Drop(*calls_[slot], notes_[slot], clock_.Now());
    calls_[slot] = call;
    notes_[slot] = note;
  }

  void Complete(std::size_t slot) {
    // Values from outside the four, too.
    const auto outcome = static_cast<Outcome>(bytes_.Below(6));
    Visit(slot, [&](auto& guard) {
      const bool was = static_cast<bool>(guard);
      guard.Complete(outcome);
      MustAgree(static_cast<bool>(guard) == was ? "" : "an end changed what a guard says");
    });
    if (!calls_[slot]) return;
    model_.End(*calls_[slot], static_cast<Outcome>(IndexOf(outcome)), clock_.Now());
    calls_[slot].reset();
  }
  void Move(std::size_t from, std::size_t to) {
    if (from >= kTyped) {
      if (to < kTyped) return;  // What is hidden stays so.
      hidden_[to - kTyped] = std::move(hidden_[from - kTyped]);
    } else if (guards_[from]) {
      Put(to, std::move(*guards_[from]));
      if (to != from) MustAgree(*guards_[from] ? "a guard that was moved from is true" : "");
    } else {
      return;
    }
    if (from == to) return;
    Settle(to, calls_[from], notes_[from]);
    calls_[from].reset();
    notes_[from].reset();
  }
  void Destroy(std::size_t slot) {
    if (slot >= kTyped) {
      hidden_[slot - kTyped] = AnyGuard();
    } else {
      guards_[slot].reset();
    }
    Settle(slot, std::nullopt, std::nullopt);
  }
  void Note(std::size_t slot) {
    const auto outcome = static_cast<Outcome>(bytes_.Below(kOutcomeCount));
    Visit(slot, [&](auto& guard) {
      guard.Note(outcome);
      notes_[slot] = outcome;
    });
  }
  void Charge(std::size_t slot) {
    std::int64_t units = bytes_.AnyScale(200);
    if (calls_[slot]) units = model_.Chargeable(*calls_[slot], units, clock_.Now());
    Visit(slot, [&](auto& guard) { guard.Charge(static_cast<std::uint64_t>(units)); });
    if (calls_[slot]) model_.Charge(*calls_[slot], units, clock_.Now());
  }
  // A guard whose scope an exception leaves. One that has moved is not known to be that scope's.
  void Unwind() {
    const std::string caller = SomeCaller();
    const Request request = SomeRequest(caller);
    const bool moves = bytes_.Flag();
    model_.Observe(limiter_);
    std::optional<ModelCall> call;
    try {
      auto guard = limiter_.TryAdmit(request);
      call = model_.Admit(request, clock_.Now(), guard);
      std::optional<Stack::Guard> moved;
      if (moves) moved.emplace(std::move(guard));
      throw 0;
    } catch (int) {
    }
    unwound.SeenIf(call.has_value() && !moves);
    unwound_moved.SeenIf(call.has_value() && moves);
    const Outcome unsaid = moves ? Outcome::kIgnored : Outcome::kFailure;
    if (call) model_.Drop(*call, std::nullopt, clock_.Now(), unsaid);
  }

  void SetGate() {
    static constexpr Verdict kAnswers[] = {
        Verdict::Admit(),
        Verdict::Admit(),
        Verdict::Refuse(Reason::kDenied),
        Verdict::Refuse(Reason::kConcurrency),
        Verdict::Refuse(Reason::kUsage, std::chrono::seconds(3), Scope::kCaller),
        Verdict::Refuse(Reason::kQueueDelay, Duration(0))};
    limiter_.Get<kGate>().answer = bytes_.Of(kAnswers);
  }
  void Force() {
    const std::uint64_t what = bytes_.Below(5);
    if (what == 4) {
      const std::int64_t limit = bytes_.AnyScale(200);
      limiter_.Get<kConcurrency>().SetLimit(limit, clock_.Now());
      return model_.concurrency().SetLimit(limit);
    }
    limiter_.Apply<CircuitBreaker>([&](CircuitBreaker& breaker, TimePoint now, Events& events) {
      if (what == 0) {
        breaker.ForceOpen(now, events);
        model_.breaker().ForceOpen(now);
      } else if (what == 1) {
        breaker.ForceClosed(now, events);
        model_.breaker().ForceClosed();
      } else {
        breaker.Reset(now, events);
        model_.breaker().Reset();
      }
    });
  }
  void MoveClock() {
    std::int64_t now = clock_.Now().time_since_epoch().count();
    if (bytes_.Below(8) == 0) {
      now = std::max(now - bytes_.AnyScale(kLongestLag), latest_ - kLongestLag);
      back.SeenIf(now < latest_);
    } else {
      const std::int64_t most = bytes_.Below(8) == 0 ? std::int64_t{1} << 60 : 5'000'000'000;
      now = std::min(now + bytes_.AnyScale(most), std::int64_t{1} << 61);
    }
    latest_ = std::max(latest_, now);
    clock_.Set(TimePoint(Duration(now)));
  }

  Bytes& bytes_;
  ManualClock clock_;
  Stack limiter_;
  LimiterModel model_;
  std::int64_t latest_ = 0;
  std::array<std::optional<Stack::Guard>, kTyped> guards_;
  std::array<AnyGuard, kSlots - kTyped> hidden_;
  // What is in a slot, if it has not ended, and what was noted of it.
  std::array<std::optional<ModelCall>, kSlots> calls_;
  std::array<std::optional<Outcome>, kSlots> notes_;
};

}  // namespace
}  // namespace shed::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  shed::fuzz::Bytes bytes(data, size);
  shed::fuzz::Run(bytes).All();
  return 0;
}
