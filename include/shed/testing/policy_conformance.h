// The suite that every policy must pass, and that you can run over your own:
//
//   struct MyTraits : shed::ConformanceTraits<MyPolicy> {
//     static MyOptions Free() { return {.limit = 1000}; }
//     ...
//   };
//   namespace shed {
//   INSTANTIATE_TYPED_TEST_SUITE_P(Mine, PolicyConformance, ::testing::Types<MyTraits>);
//   }
//
// in one of your tests, linked with GoogleTest. It sees the policy through its public members
// alone. What it cannot know (which options admit freely, how to make the policy refuse, what of a
// snapshot is its state) the traits say.
#ifndef SHED_TESTING_POLICY_CONFORMANCE_H_
#define SHED_TESTING_POLICY_CONFORMANCE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shed/clock.h"
#include "shed/internal/check_policy.h"
#include "shed/limiter.h"
#include "shed/status.h"
#include "shed/sync.h"
#include "shed/testing/conformance_gate.h"
#include "shed/testing/conformance_threads.h"
#include "shed/testing/policy_subject.h"

namespace shed {

template <class Traits>
class PolicyConformance : public ::testing::Test {
 public:
  using Policy = typename Traits::Policy;
  using Subject = PolicySubject<Traits>;
  using Ticket = TicketOf<Policy>;
  using Held = typename Subject::Held;
  static_assert(internal::CheckPolicy<Policy>::kOk);
};
TYPED_TEST_SUITE_P(PolicyConformance);

// The defaults are good, and so are the traits' options.
TYPED_TEST_P(PolicyConformance, GoodOptionsHaveNoProblem) {
  using P = typename TestFixture::Policy;
  if constexpr (HasOptions<P>) {
    EXPECT_EQ(typename P::Options{}.Problem(), "");
    EXPECT_EQ(TypeParam::Free().Problem(), "");
    EXPECT_EQ(TypeParam::Tight().Problem(), "");
    const Solo<P> with_defaults;
  }
}

// Bad ones are refused with a sentence "field: want ...", by the constructor and by Configure.
TYPED_TEST_P(PolicyConformance, BadOptionsAreRefusedWithASentence) {
  using P = typename TestFixture::Policy;
  if constexpr (HasOptions<P>) {
    std::size_t i = 0;
    for (const typename P::Options& bad : TypeParam::Bad()) {
      SCOPED_TRACE(::testing::Message() << "Bad()[" << i++ << "]");
      const std::string problem(bad.Problem());
      EXPECT_NE(problem.find(": want "), std::string::npos) << problem;
#if defined(__cpp_exceptions)
      std::string thrown;
      try {
        const Solo<P> refused(bad);
      } catch (const std::invalid_argument& error) {
        thrown = error.what();
      }
      EXPECT_EQ(thrown, problem);
#endif
      const ManualClock clock;
      const absl::Status status =
          Create<BasicLimiter<ManualClock, StdSync, P>>(clock, bad).status();
      EXPECT_EQ(std::string(status.message()), problem);
      if constexpr (CanConfigure<P>) {
        typename TestFixture::Subject subject(TypeParam::Free());
        const auto before = subject.State();
        EXPECT_EQ(subject.policy().Configure(bad, subject.now), problem);
        EXPECT_EQ(subject.State(), before);
        EXPECT_TRUE(subject.AdmitsFreely());
      }
    }
  }
}

// Cancel undoes exactly: the state is what it was, and after any number of cancelled calls as many
// are admitted as before.
TYPED_TEST_P(PolicyConformance, CancelUndoesExactly) {
  typename TestFixture::Subject subject(TypeParam::Free());
  const auto before = subject.State();
  const Verdict causes[] = {Verdict::Refuse(Reason::kDenied), Verdict::Refuse(Reason::kConcurrency),
                            Verdict::Refuse(Reason::kCircuitOpen)};
  for (int round = 0; round < 300; ++round) {
    std::vector<typename TestFixture::Held> held;
    for (std::uint64_t i = 0; i < 8; ++i) {
      held.push_back(subject.Admit({.caller = subject.Caller(i), .cost = i % 4}));
      ASSERT_TRUE(held.back().admitted()) << "round " << round;
    }
    if (round % 3 == 1) std::reverse(held.begin(), held.end());
    if (round % 3 == 2) std::swap(held[0], held[5]);
    for (auto& call : held) subject.Cancel(call, causes[round % 3]);
    ASSERT_EQ(subject.State(), before) << "round " << round;
  }
  EXPECT_EQ(subject.InFlight(), 0u);
  EXPECT_TRUE(subject.AdmitsFreely());
}

// Each ticket ends once; another end, of either kind, changes nothing.
TYPED_TEST_P(PolicyConformance, EndingTwiceIsHarmless) {
  for (const bool cancelled : {false, true}) {
    typename TestFixture::Subject subject(TypeParam::Free());
    auto other = subject.Admit();
    auto call = subject.Admit({.cost = 2});
    ASSERT_TRUE(other.admitted() && call.admitted());
    cancelled ? subject.Cancel(call) : subject.Complete(call, Outcome::kSuccess);
    const auto after = subject.State();
    const std::uint64_t in_flight = subject.InFlight();
    for (int i = 0; i < 3; ++i) {
      subject.Complete(call, Outcome::kSuccess);
      subject.Complete(call, Outcome::kFailure);
      subject.Cancel(call);
    }
    EXPECT_EQ(subject.State(), after);
    EXPECT_EQ(subject.InFlight(), in_flight);
    subject.Complete(other, Outcome::kSuccess);
    EXPECT_EQ(subject.InFlight(), 0u);
    EXPECT_TRUE(subject.Recovers());
  }
}

// The same for a ticket that was refused, and for one that was never asked for.
TYPED_TEST_P(PolicyConformance, EndingWhatWasNotAdmittedIsHarmless) {
  typename TestFixture::Subject subject(TypeParam::Tight());
  auto held = subject.Provoke();
  const auto before = subject.Trace();
  for (int i = 0; i < 10; ++i) {
    typename TestFixture::Held never;
    subject.Complete(never, Outcome::kSuccess);
    subject.Cancel(never);
    auto call = subject.Admit();
    if (call.admitted()) {
      subject.Cancel(call);
      continue;
    }
    subject.Complete(call, Outcome::kFailure);
    subject.Cancel(call);
  }
  EXPECT_EQ(subject.Trace(), before);
  for (auto& call : held) subject.Complete(call, Outcome::kSuccess);
  EXPECT_EQ(subject.InFlight(), 0u);
}

// A refused call leaves no trace, and has a reason.
TYPED_TEST_P(PolicyConformance, RefusedCallLeavesNoTrace) {
  if (TypeParam::kRefuses == RefusesWhen::kNever) return;
  typename TestFixture::Subject subject(TypeParam::Tight());
  auto held = subject.Provoke();
  ASSERT_TRUE(subject.provoked()) << "Tight() refuses nothing";
  const auto before = subject.Trace();
  const std::uint64_t in_flight = subject.InFlight();
  int refused = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    auto call = subject.Admit({.cost = i % 5});
    if (call.admitted()) {
      subject.Cancel(call);
      continue;
    }
    ++refused;
    ASSERT_NE(call.verdict.reason(), Reason::kNone);
    ASSERT_EQ(call.verdict.wait(), Duration(0));
  }
  EXPECT_GT(refused, 0);
  EXPECT_EQ(subject.Trace(), before);
  EXPECT_EQ(subject.InFlight(), in_flight);
  for (auto& call : held) subject.Complete(call, Outcome::kSuccess);
  EXPECT_EQ(subject.InFlight(), 0u);
  EXPECT_TRUE(subject.Recovers());
}

// While it finds out whether the service is well again, calls that are cancelled, or that say
// nothing, use up nothing of what it finds out by (a probe's slot, say).
TYPED_TEST_P(PolicyConformance, CancelsWhileItRecovers) {
  for (const bool cancelled : {false, true}) {
    typename TestFixture::Subject subject(TypeParam::Tight());
    auto held = subject.Provoke();
    for (auto& call : held) subject.Complete(call, Outcome::kFailure);
    subject.now = After(subject.now, TypeParam::kRecovery);
    for (int i = 0; i < 2000; ++i) {
      auto call = subject.Admit();
      if (!call.admitted()) continue;
      cancelled ? subject.Cancel(call) : subject.Complete(call, Outcome::kIgnored);
    }
    EXPECT_EQ(subject.InFlight(), 0u);
    EXPECT_TRUE(subject.Recovers());
  }
}

// Every outcome ends a call, one cast from outside the four too.
TYPED_TEST_P(PolicyConformance, EveryOutcomeEndsACall) {
  for (int outcome = 0; outcome < 6; ++outcome) {
    typename TestFixture::Subject subject(TypeParam::Free());
    for (int i = 0; i < 2000; ++i) {
      auto call = subject.Admit();
      if (i % 10 == 0) subject.now = After(subject.now, std::chrono::milliseconds(1));
      if (call.admitted()) subject.Complete(call, static_cast<Outcome>(outcome));
    }
    EXPECT_EQ(subject.InFlight(), 0u) << outcome;
    EXPECT_TRUE(subject.Recovers()) << outcome;
  }
}

// What was charged is given back with the rest.
TYPED_TEST_P(PolicyConformance, ChargeIsUndoneByCancel) {
  if constexpr (CanCharge<typename TestFixture::Policy>) {
    typename TestFixture::Subject subject(TypeParam::Free());
    const auto before = subject.State();
    const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    for (const std::uint64_t units : {std::uint64_t{5}, std::uint64_t{0}, std::uint64_t{1}, most}) {
      auto call = subject.Admit({.cost = 2});
      ASSERT_TRUE(call.admitted());
      subject.Charge(call, units);
      subject.Charge(call, units);
      subject.Charge(call, 3);
      subject.Cancel(call);
      EXPECT_EQ(subject.State(), before) << units;
    }
  }
}

// A clock that stands still: time is not what ends calls.
TYPED_TEST_P(PolicyConformance, ClockThatStands) {
  typename TestFixture::Subject subject(TypeParam::Free());
  std::vector<typename TestFixture::Held> held;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    held.push_back(subject.Admit());
    if (held.size() > 5) {
      subject.End(held.front(), i);
      held.erase(held.begin());
    }
  }
  for (auto& call : held) subject.Complete(call, Outcome::kSuccess);
  EXPECT_EQ(subject.InFlight(), 0u);
  EXPECT_TRUE(subject.Recovers());
}

// A clock that jumps 100 years ahead and back, with calls in flight. Once it is past the latest
// time that was seen, all is as it was.
TYPED_TEST_P(PolicyConformance, ClockThatJumps) {
  constexpr Duration kYears100 = std::chrono::hours(24) * 36525;
  const TimePoint start = TimePoint(std::chrono::hours(1));
  typename TestFixture::Subject subject(TypeParam::Free());
  for (const TimePoint to : {After(start, kYears100), After(start, -kYears100), start,
                             After(start, kYears100 / 2), After(start, -std::chrono::hours(2))}) {
    subject.now = start;
    std::vector<typename TestFixture::Held> held;
    for (int i = 0; i < 10; ++i) held.push_back(subject.Admit());
    subject.now = to;
    for (int i = 0; i < 10; ++i) held.push_back(subject.Admit());
    for (std::uint64_t i = 0; i < held.size(); ++i) subject.End(held[i], i);
    EXPECT_EQ(subject.InFlight(), 0u);
    subject.Touch();
  }
  subject.now = After(After(start, kYears100), std::chrono::hours(1));
  EXPECT_TRUE(subject.Recovers());
}

// From one end of the timeline to the other: nothing overflows, nothing stays in flight.
TYPED_TEST_P(PolicyConformance, EndsOfTheTimeline) {
  typename TestFixture::Subject subject(TypeParam::Free());
  const TimePoint times[] = {TimePoint::min(), TimePoint::max(), TimePoint(),     TimePoint::max(),
                             TimePoint::min(), TimePoint::min(), TimePoint::max()};
  std::vector<typename TestFixture::Held> held;
  for (std::uint64_t i = 0; i < 700; ++i) {
    subject.now = times[i % 7];
    held.push_back(subject.Admit({.max_wait = i % 2 == 0 ? Duration::max() : Duration(0)}));
    subject.Touch();
    if (held.size() > 5) {
      subject.End(held.front(), i);
      held.erase(held.begin());
    }
  }
  for (auto& call : held) subject.Complete(call, Outcome::kOverload);
  EXPECT_EQ(subject.InFlight(), 0u);
}

// Absurd requests are answered like any other, and end.
TYPED_TEST_P(PolicyConformance, AbsurdRequests) {
  const std::string huge(10'000'000, 'x');
  const std::string zeros(1000, '\0');
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const Request requests[] = {
      {.caller = ""},
      {.caller = std::string_view()},
      {.caller = huge, .route = huge},
      {.caller = zeros, .route = zeros},
      {.caller = std::string_view("a\0b", 3)},
      {.cost = 0},
      {.cost = most},
      {.cost = most / 2 + 1},
      {.cost = std::uint64_t{1} << 32},
      {.criticality = static_cast<Criticality>(200), .retry = true},
      {.queued_for = Duration::max(), .time_left = Duration(0)},
      {.queued_for = Duration::min(), .time_left = Duration::min()},
      {.max_wait = Duration::max(), .tag = most},
      {.max_wait = Duration::min()},
  };
  typename TestFixture::Subject subject(TypeParam::Free());
  for (std::uint64_t i = 0; i < 3 * std::size(requests); ++i) {
    const Request& request = requests[i % std::size(requests)];
    auto call = subject.Admit(request);
    if (call.admitted()) {
      EXPECT_LE(call.verdict.wait(), std::max(request.max_wait, Duration(0)));
      subject.End(call, i);
    } else {
      EXPECT_NE(call.verdict.reason(), Reason::kNone);
    }
    EXPECT_EQ(subject.InFlight(), 0u) << i;
  }
  EXPECT_TRUE(subject.Recovers());
}

// Eight threads call, and one changes the options. Afterwards nothing is in flight.
TYPED_TEST_P(PolicyConformance, Threads) { ExpectSoundUnderThreads<TypeParam>(); }

// In a limiter, before and behind a policy that refuses: what was admitted here is cancelled there,
// and what was refused there was never asked here.
TYPED_TEST_P(PolicyConformance, BesideAPolicyThatRefuses) {
  using P = typename TestFixture::Policy;
  const TimePoint start = typename TestFixture::Subject(TypeParam::Free()).now;
  ManualClock first(start);
  BasicLimiter<ManualClock, StdSync, P, ConformanceGate> before(first, TypeParam::Free(), {});
  ExpectUndisturbedByGate<TypeParam, 0>(before, first);
  ManualClock second(start);
  BasicLimiter<ManualClock, StdSync, ConformanceGate, P> behind(second, {}, TypeParam::Free());
  ExpectUndisturbedByGate<TypeParam, 1>(behind, second);
}

REGISTER_TYPED_TEST_SUITE_P(PolicyConformance, GoodOptionsHaveNoProblem,
                            BadOptionsAreRefusedWithASentence, CancelUndoesExactly,
                            EndingTwiceIsHarmless, EndingWhatWasNotAdmittedIsHarmless,
                            RefusedCallLeavesNoTrace, CancelsWhileItRecovers, EveryOutcomeEndsACall,
                            ChargeIsUndoneByCancel, ClockThatStands, ClockThatJumps,
                            EndsOfTheTimeline, AbsurdRequests, Threads, BesideAPolicyThatRefuses);

}  // namespace shed

#endif  // SHED_TESTING_POLICY_CONFORMANCE_H_
