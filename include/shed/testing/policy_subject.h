// A policy under test: its calls in whichever form it has them, a time that the test moves, and the
// traits that say what a suite cannot know.
#ifndef SHED_TESTING_POLICY_SUBJECT_H_
#define SHED_TESTING_POLICY_SUBJECT_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "shed/events.h"
#include "shed/internal/invoke.h"
#include "shed/limiter_snapshot.h"
#include "shed/outcome.h"
#include "shed/policy.h"
#include "shed/request.h"
#include "shed/solo.h"
#include "shed/time.h"
#include "shed/verdict.h"

namespace shed {

// What makes a policy made with Traits::Tight() refuse at some time.
enum class RefusesWhen : std::uint8_t {
  kNever,
  kHeld,    // Enough calls that are admitted and do not end.
  kFailed,  // Enough calls that fail.
};

namespace internal {
// P's Options by default; P itself where it has none.
template <class P>
struct DefaultParameter {
  static P Make() { return {}; }
};
template <HasOptions P>
struct DefaultParameter<P> {
  static typename P::Options Make() { return {}; }
};

// Holds a P, and its Hot words where it has some.
template <class P>
struct PolicyHolder {
  explicit PolicyHolder(const P& p) : policy(p) {}
  P policy;
};
template <HasOptions P>
struct PolicyHolder<P> {
  explicit PolicyHolder(const typename P::Options& options) : policy(options) {}
  Solo<P> policy;
};
}  // namespace internal

// The base of your traits. What you declare in yours takes the place of what is here.
template <class P>
struct ConformanceTraits {
  using Policy = P;

  // Options that admit a few dozen calls at one instant, of any class, by any of five callers,
  // unless calls fail. For a policy that has no Options, the policy.
  static auto Free() { return internal::DefaultParameter<P>::Make(); }
  // Options that can be made to refuse, and how.
  static auto Tight() { return internal::DefaultParameter<P>::Make(); }
  static constexpr RefusesWhen kRefuses = RefusesWhen::kNever;
  // Options of which each has a Problem.
  static auto Bad() { return std::vector<decltype(internal::DefaultParameter<P>::Make())>(); }

  // After so long without calls, and then a few good ones, the policy admits as when it was new,
  // whatever happened before.
  static constexpr Duration kRecovery{0};
  // So far apart, calls that succeed one after another are always admitted.
  static constexpr Duration kPace = std::chrono::milliseconds(10);

  // Of a snapshot, what a Cancel must bring back, as anything that has == and can be copied.
  template <class Snapshot>
  static int State(const Snapshot&) {
    return 0;
  }
  // What a refusal must not change, if that is something else: declare
  //   static auto Trace(const Snapshot&)
  // The units or calls that it says are in flight: 0 when all have ended.
  template <class Snapshot>
  static std::uint64_t InFlight(const Snapshot&) {
    return 0;
  }
};

template <class Traits>
class PolicySubject {
 public:
  using Policy = typename Traits::Policy;
  using Parameter = decltype(internal::DefaultParameter<Policy>::Make());
  using Snapshot = SnapshotOf<Policy>;
  // A call, and what it was answered.
  struct Held {
    bool admitted() const { return asked && verdict.admitted(); }
    bool asked = false;
    Verdict verdict = Verdict::Refuse(Reason::kDenied);
    TicketOf<Policy> ticket{};
    TimePoint started{};
    std::uint64_t cost = 1;
  };

  explicit PolicySubject(const Parameter& parameter) : holder_(parameter) {}

  TimePoint now{std::chrono::hours(1)};
  Policy& policy() { return holder_.policy; }

  // One of a few names.
  static std::string_view Caller(std::uint64_t i) {
    constexpr std::string_view kNames[] = {"ada", "bob", "cyd", "dan", "eve"};
    return kNames[i % 5];
  }

  Held AdmitAt(TimePoint at, const Request& request) {
    Held call{.asked = true};
    Events events;
    call.verdict = internal::Admit<Policy>(holder_.policy, request, at, call.ticket, events);
    call.started = After(at, call.verdict.wait());
    call.cost = std::max<std::uint64_t>(request.cost, 1);
    return call;
  }
  Held Admit(const Request& request = {}) { return AdmitAt(now, request); }

  void CompleteAt(TimePoint at, Held& call, Outcome outcome) {
    Events events;
    internal::Complete<Policy>(
        policy(), call.ticket,
        {.started = call.started, .now = at, .outcome = outcome, .cost = call.cost}, events);
  }
  void Complete(Held& call, Outcome outcome) { CompleteAt(now, call, outcome); }
  void CancelAt(TimePoint at, Held& call, const Verdict& cause) {
    Events events;
    internal::Cancel<Policy>(holder_.policy, call.ticket, cause, at, events);
  }
  void Cancel(Held& call, const Verdict& cause = Verdict::Refuse(Reason::kDenied)) {
    CancelAt(now, call, cause);
  }
  void Charge(Held& call, std::uint64_t units) {
    Events events;
    internal::Charge<Policy>(holder_.policy, call.ticket, units, now, events);
  }
  // Ends an admitted call, one way or another.
  void EndAt(TimePoint at, Held& call, std::uint64_t way) {
    if (!call.admitted()) return;
    if (way % 5 == 4) {
      CancelAt(at, call, Verdict::Refuse(Reason::kConcurrency));
    } else {
      CompleteAt(at, call, static_cast<Outcome>(way % 5));
    }
  }
  void End(Held& call, std::uint64_t way) { EndAt(now, call, way); }

  // Makes it refuse, if it can. Returns the calls that it still holds.
  std::vector<Held> Provoke() {
    std::vector<Held> held;
    for (int i = 0; i < 10'000 && Traits::kRefuses != RefusesWhen::kNever; ++i) {
      Held call = Admit();
      if (!call.admitted()) {
        provoked_ = true;
        break;
      }
      if (Traits::kRefuses == RefusesWhen::kHeld) {
        held.push_back(call);
      } else {
        Complete(call, Outcome::kFailure);
      }
    }
    return held;
  }
  bool provoked() const { return provoked_; }

  static Snapshot Read(const Policy& policy, TimePoint at) {
    if constexpr (CanRead<Policy>) {
      return policy.Read(at);
    } else {
      return {};
    }
  }
  static auto StateOf(const Policy& policy, TimePoint at) {
    return Traits::State(Read(policy, at));
  }
  static std::uint64_t InFlightOf(const Policy& policy, TimePoint at) {
    return Traits::InFlight(Read(policy, at));
  }
  auto State() const { return StateOf(holder_.policy, now); }
  auto Trace() const {
    if constexpr (requires(const Snapshot& snapshot) { Traits::Trace(snapshot); }) {
      return Traits::Trace(Read(holder_.policy, now));
    } else {
      return State();
    }
  }
  std::uint64_t InFlight() const { return InFlightOf(holder_.policy, now); }
  void Touch() const { static_cast<void>(Read(holder_.policy, now)); }

  // A few dozen calls at this instant, all admitted; they are cancelled again.
  bool AdmitsFreely() {
    std::vector<Held> held;
    for (std::uint64_t i = 0; i < 24; ++i) held.push_back(Admit({.caller = Caller(i)}));
    const bool all =
        std::all_of(held.begin(), held.end(), [](const Held& call) { return call.admitted(); });
    for (Held& call : held) {
      if (call.admitted()) Cancel(call);
    }
    return all;
  }
  // After a rest, good calls in their pace are admitted again. The first ones may be what a policy
  // finds out by that the service is well.
  bool Recovers() {
    now = After(now, Traits::kRecovery);
    int admitted = 0;
    for (int i = 0; i < 200; ++i) {
      now = After(now, Traits::kPace);
      Held call = Admit({.caller = Caller(static_cast<std::uint64_t>(i))});
      if (!call.admitted()) continue;
      if (i >= 100) ++admitted;
      Complete(call, Outcome::kSuccess);
    }
    now = After(now, Traits::kRecovery);
    return admitted == 100 && InFlight() == 0;
  }

 private:
  internal::PolicyHolder<Policy> holder_;
  bool provoked_ = false;
};

}  // namespace shed

#endif  // SHED_TESTING_POLICY_SUBJECT_H_
