#include "shed/limiter_snapshot.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "probe_policy.h"
#include "shed/concurrency_limiter.h"
#include "shed/limiter.h"

namespace shed {
namespace {

using A = Probe<"a">;
using B = Probe<"b">;
constexpr std::size_t At(Reason reason) { return static_cast<std::size_t>(reason); }

// A policy without Read has an empty place, so that the tuple keeps the limiter's order.
static_assert(std::is_empty_v<SnapshotOf<A>>);
static_assert(std::is_same_v<SnapshotOf<ConcurrencyLimiter>, ConcurrencyLimiter::Snapshot>);
static_assert(LimiterSnapshot<A, B>::kPolicyNames[1] == "b");

TEST(LimiterSnapshot, CountsAdmissionsByClass) {
  Probed probed;
  Limiter<A> limiter(A(probed), {.name = "front"});
  const Criticality asked[] = {Criticality::kSheddable,     Criticality::kCritical,
                               Criticality::kCritical,      Criticality::kCriticalPlus,
                               Criticality::kSheddablePlus, static_cast<Criticality>(77)};
  for (const Criticality criticality : asked) {
    limiter.TryAdmit({.criticality = criticality}).Complete(Outcome::kSuccess);
  }
  const auto snapshot = limiter.Snapshot();
  EXPECT_EQ(snapshot.name, "front");
  // The absurd one counts as the least critical.
  EXPECT_EQ(snapshot.admitted, (CallsByCriticality{2, 1, 2, 1}));
  EXPECT_EQ(snapshot.TotalAdmitted(), 6u);
  EXPECT_EQ(snapshot.TotalRefused(), 0u);
}

TEST(LimiterSnapshot, CountsRefusalsByPolicyReasonAndClass) {
  Probed a;
  Probed b;
  Limiter<A, B> limiter{A(a), B(b)};
  const auto refuse = [&](Probed& who, Verdict verdict, Criticality criticality) {
    who.answer = verdict;
    EXPECT_FALSE(limiter.TryAdmit({.criticality = criticality}));
    who.answer = Verdict::Admit();
  };
  refuse(a, Verdict::Refuse(Reason::kRate), Criticality::kCritical);
  refuse(a, Verdict::Refuse(Reason::kRate), Criticality::kCritical);
  refuse(a, Verdict::Refuse(Reason::kDeadline), Criticality::kSheddable);
  refuse(b, Verdict::Refuse(Reason::kRate), Criticality::kCriticalPlus);
  // Values cast from int, by a policy and by a caller.
  refuse(b, Verdict::Refuse(static_cast<Reason>(250)), static_cast<Criticality>(250));
  refuse(b, Verdict::Refuse(Reason::kNone), Criticality::kCritical);

  const auto snapshot = limiter.Snapshot();
  EXPECT_EQ(snapshot.refused[0][At(Reason::kRate)], (CallsByCriticality{0, 0, 2, 0}));
  EXPECT_EQ(snapshot.refused[0][At(Reason::kDeadline)], (CallsByCriticality{1, 0, 0, 0}));
  EXPECT_EQ(snapshot.refused[1][At(Reason::kRate)], (CallsByCriticality{0, 0, 0, 1}));
  EXPECT_EQ(snapshot.refused[1][At(Reason::kDenied)], (CallsByCriticality{1, 0, 1, 0}));
  EXPECT_EQ(snapshot.RefusedBy(0), 3u);
  EXPECT_EQ(snapshot.RefusedBy(1), 3u);
  EXPECT_EQ(snapshot.RefusedFor(Reason::kRate), 3u);
  EXPECT_EQ(snapshot.RefusedFor(static_cast<Reason>(250)), 0u);
  EXPECT_EQ(snapshot.TotalRefused(), 6u);
  EXPECT_EQ(snapshot.TotalAdmitted(), 0u);  // What a admitted and b refused was not admitted.
  EXPECT_EQ(snapshot.in_flight, 0u);
}

TEST(LimiterSnapshot, CountsEndsByOutcome) {
  Probed probed;
  Limiter<A> limiter{A(probed)};
  for (const Outcome outcome : {Outcome::kSuccess, Outcome::kSuccess, Outcome::kFailure,
                                Outcome::kOverload, Outcome::kIgnored, static_cast<Outcome>(9)}) {
    limiter.TryAdmit().Complete(outcome);
  }
  { auto dropped = limiter.TryAdmit(); }
  auto open = limiter.TryAdmit();
  auto exempt = limiter.TryAdmit({.exempt = true});
  const auto snapshot = limiter.Snapshot();
  EXPECT_EQ(snapshot.completed, (std::array<std::uint64_t, kOutcomeCount>{2, 1, 1, 3}));
  EXPECT_EQ(snapshot.TotalCompleted(), 7u);
  EXPECT_EQ(snapshot.dropped, 1u);
  EXPECT_EQ(snapshot.TotalAdmitted(), 8u);
  EXPECT_EQ(snapshot.exempt, 1u);
  EXPECT_EQ(snapshot.in_flight, 2u);
}

TEST(LimiterSnapshot, HoldsThePoliciesOwn) {
  Probed probed;
  Limiter<A, ConcurrencyLimiter> limiter(A(probed), {.limit = 5});
  auto guard = limiter.TryAdmit({.cost = 3});
  const auto snapshot = limiter.Snapshot();
  EXPECT_EQ(std::get<1>(snapshot.policies).limit, 5u);
  EXPECT_EQ(std::get<1>(snapshot.policies).in_flight, 3u);
}

// Counts are on stripes, so a call may begin on one and end on another. The ends are read first,
// and publish the admissions that led to them: read in the other order, a snapshot shows more ends
// than admissions.
TEST(LimiterSnapshot, NeverSeesMoreEndsThanAdmissions) {
  constexpr int kPairs = 2;
  Probed probed;
  using L = Limiter<ConcurrencyLimiter>;
  L limiter({.limit = 1000});
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < kPairs; ++i) {
    threads.emplace_back([&, i] {
      while (!stop.load(std::memory_order_relaxed)) {
        limiter.TryAdmit({.exempt = i == 1}).Complete(Outcome::kSuccess);
      }
    });
  }
  int wrong = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto snapshot = limiter.Snapshot();
    if (snapshot.TotalAdmitted() + snapshot.exempt < snapshot.TotalCompleted()) ++wrong;
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  const auto snapshot = limiter.Snapshot();
  EXPECT_EQ(snapshot.TotalAdmitted() + snapshot.exempt, snapshot.TotalCompleted());
  EXPECT_EQ(snapshot.in_flight, 0u);
}

}  // namespace
}  // namespace shed
