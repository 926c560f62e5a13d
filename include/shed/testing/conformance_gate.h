// A policy that refuses when told, and what a limiter of it and a policy under test must do.
#ifndef SHED_TESTING_CONFORMANCE_GATE_H_
#define SHED_TESTING_CONFORMANCE_GATE_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "shed/clock.h"
#include "shed/outcome.h"
#include "shed/request.h"
#include "shed/testing/policy_subject.h"
#include "shed/time.h"
#include "shed/verdict.h"

namespace shed {

// Refuses for the reason that it is given. It has no Options.
struct ConformanceGate {
  static constexpr std::string_view kName = "conformance_gate";
  Reason refuses = Reason::kNone;

  Verdict Admit(const Request&, TimePoint) const noexcept {
    return refuses == Reason::kNone ? Verdict::Admit() : Verdict::Refuse(refuses);
  }
};

// `limiter` is made of a gate and, at `kPlace`, the policy of Traits::Free(). While the gate
// refuses, the policy stays as new; then calls pass, and guards end by word, by note or by scope.
template <class Traits, std::size_t kPlace, class Limiter>
void ExpectUndisturbedByGate(Limiter& limiter, ManualClock& clock) {
  using Subject = PolicySubject<Traits>;
  auto& policy = limiter.template Get<kPlace>();
  auto& gate = limiter.template Get<1 - kPlace>();
  const auto as_new = Subject::StateOf(policy, clock.Now());
  for (std::uint64_t i = 0; i < 300; ++i) {
    gate.refuses = i % 3 == 0 ? Reason::kDenied : Reason::kConcurrency;
    const auto guard = limiter.TryAdmit({.caller = Subject::Caller(i), .cost = i % 3});
    ASSERT_FALSE(guard);
    ASSERT_EQ(guard.rejection().policy_name(), ConformanceGate::kName);
  }
  EXPECT_EQ(Subject::StateOf(policy, clock.Now()), as_new);

  gate.refuses = Reason::kNone;
  for (int i = 0; i < 300; ++i) {
    auto guard = limiter.TryAdmit({.caller = Subject::Caller(0)});
    ASSERT_TRUE(guard) << guard.rejection().policy_name();
    auto moved = std::move(guard);
    if (i % 3 == 1) moved.Note(Outcome::kSuccess);
    if (i % 3 == 2) moved.Complete(Outcome::kSuccess);
    clock.Advance(Traits::kPace);
  }
  EXPECT_EQ(Subject::InFlightOf(policy, clock.Now()), 0u);
  EXPECT_EQ(limiter.Snapshot().in_flight, 0u);
  EXPECT_EQ(limiter.Snapshot().dropped, 100u);
}

}  // namespace shed

#endif  // SHED_TESTING_CONFORMANCE_GATE_H_
