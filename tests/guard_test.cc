#include "shed/guard.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "probe_policy.h"
#include "shed/any_guard.h"
#include "shed/concurrency_limiter.h"
#include "shed/limiter.h"

namespace shed {
namespace {

using namespace std::chrono_literals;

using L = BasicLimiter<ManualClock, StdSync, TimedProbe<"first">, Probe<"second">>;

static_assert(!std::is_copy_constructible_v<L::Guard> && !std::is_copy_assignable_v<L::Guard>);
static_assert(std::is_nothrow_move_constructible_v<L::Guard>);
static_assert(std::is_nothrow_move_assignable_v<L::Guard>);
static_assert(!std::is_default_constructible_v<L::Guard>);
static_assert(!std::is_convertible_v<L::Guard, bool>);  // `int x = guard` must not compile.

// A limiter of two probes, and what came of the calls. G is the guard under test.
template <class G>
class GuardTest : public testing::Test {
 protected:
  G TryAdmit(const Request& request = {}) { return limiter_.TryAdmit(request); }
  std::uint64_t Ended(Outcome outcome) { return limiter_.Snapshot().completed[IndexOf(outcome)]; }
  std::uint64_t Dropped() { return limiter_.Snapshot().dropped; }
  std::uint64_t InFlight() { return limiter_.Snapshot().in_flight; }

  // `calls` calls were admitted; each was ended once, at both policies, and counted.
  void ExpectEachEndedOnce(int calls) {
    EXPECT_EQ(first_.tickets, calls);
    EXPECT_EQ(first_.completed, calls);
    EXPECT_EQ(second_.completed, calls);
    EXPECT_EQ(first_.cancelled + second_.cancelled, 0);
    EXPECT_TRUE(first_.EachTicketEndedOnce());
    EXPECT_TRUE(second_.EachTicketEndedOnce());
    const auto snapshot = limiter_.Snapshot();
    EXPECT_EQ(snapshot.TotalAdmitted(), static_cast<std::uint64_t>(calls));
    EXPECT_EQ(snapshot.TotalCompleted(), static_cast<std::uint64_t>(calls));
    EXPECT_EQ(snapshot.in_flight, 0u);
  }

  ManualClock clock_{TimePoint(10s)};
  Probed first_;
  Probed second_;
  L limiter_{clock_, TimedProbe<"first">(first_), Probe<"second">(second_), {.name = "test"}};
};
using Guards = testing::Types<L::Guard, AnyGuard>;
TYPED_TEST_SUITE(GuardTest, Guards);

TYPED_TEST(GuardTest, EndsByComplete) {
  {
    auto guard = this->TryAdmit({.cost = 3});
    ASSERT_TRUE(guard);
    EXPECT_EQ(guard.started(), TimePoint(10s));
    EXPECT_EQ(guard.wait(), 0s);
    EXPECT_EQ(guard.rejection().reason(), Reason::kNone);
    EXPECT_EQ(this->InFlight(), 1u);
    this->clock_.Advance(2s);
    guard.Complete(Outcome::kSuccess);
    EXPECT_EQ(this->InFlight(), 0u);
    EXPECT_TRUE(guard);  // It was admitted, and still was.
  }
  this->ExpectEachEndedOnce(1);
  EXPECT_EQ(this->Dropped(), 0u);
  const Completion completion = this->first_.completions.at(0);
  EXPECT_EQ(completion.outcome, Outcome::kSuccess);
  EXPECT_EQ(completion.started, TimePoint(10s));
  EXPECT_EQ(completion.now, TimePoint(12s));
  EXPECT_EQ(completion.cost, 3u);
}

TYPED_TEST(GuardTest, EndsOnceHoweverOftenCompleted) {
  {
    auto guard = this->TryAdmit();
    guard.Complete(Outcome::kOverload);
    guard.Complete(Outcome::kSuccess);
    guard.Note(Outcome::kFailure);
  }
  this->ExpectEachEndedOnce(1);
  EXPECT_EQ(this->Ended(Outcome::kOverload), 1u);
}

TYPED_TEST(GuardTest, EndsByTheLastNote) {
  {
    auto guard = this->TryAdmit();
    guard.Note(Outcome::kFailure);
    guard.Note(Outcome::kSuccess);
    this->clock_.Advance(1s);
    EXPECT_EQ(this->InFlight(), 1u);  // Noted, not ended.
    EXPECT_EQ(this->first_.completed, 0);
  }
  this->ExpectEachEndedOnce(1);
  EXPECT_EQ(this->Ended(Outcome::kSuccess), 1u);
  EXPECT_EQ(this->Dropped(), 0u);
  EXPECT_EQ(this->first_.completions.at(0).latency(), 1s);
}

TYPED_TEST(GuardTest, CompleteOverridesANote) {
  {
    auto guard = this->TryAdmit();
    guard.Note(Outcome::kSuccess);
    guard.Complete(Outcome::kFailure);
  }
  this->ExpectEachEndedOnce(1);
  EXPECT_EQ(this->Ended(Outcome::kFailure), 1u);
}

// A default of success would make each early `return 400` a fast, healthy sample; and a service
// that forgets must be able to see it.
TYPED_TEST(GuardTest, DroppedSaysNothingAndIsCounted) {
  { auto guard = this->TryAdmit(); }
  this->TryAdmit().Complete(Outcome::kSuccess);
  this->ExpectEachEndedOnce(2);
  EXPECT_EQ(this->Ended(Outcome::kIgnored), 1u);
  EXPECT_EQ(this->Dropped(), 1u);
}

TYPED_TEST(GuardTest, NoteTravelsWithAMove) {
  {
    auto guard = this->TryAdmit();
    guard.Note(Outcome::kOverload);
    auto other = std::move(guard);
    EXPECT_EQ(this->first_.completed, 0);
  }
  this->ExpectEachEndedOnce(1);
  EXPECT_EQ(this->Ended(Outcome::kOverload), 1u);
  EXPECT_EQ(this->Dropped(), 0u);
}

// grpc/grpc#41532 and others: what was moved from must not end the call a second time.
TYPED_TEST(GuardTest, MovedFromDoesNothing) {
  auto guard = this->TryAdmit();
  auto other = std::move(guard);
  EXPECT_FALSE(guard);  // NOLINT(bugprone-use-after-move): that is the point.
  EXPECT_EQ(guard.rejection().reason(), Reason::kNone);
  guard.Note(Outcome::kFailure);
  guard.Charge(7);
  guard.Complete(Outcome::kFailure);
  EXPECT_EQ(this->first_.completed, 0);
  EXPECT_TRUE(this->first_.charges.empty());
  EXPECT_EQ(this->InFlight(), 1u);
  ASSERT_TRUE(other);
  EXPECT_EQ(other.started(), TimePoint(10s));
  other.Complete(Outcome::kSuccess);
  this->ExpectEachEndedOnce(1);
  EXPECT_EQ(this->Ended(Outcome::kSuccess), 1u);
}

// A note on what was moved from must not come along with its next content.
TYPED_TEST(GuardTest, StaleNoteOfAMovedFromGuardIsForgotten) {
  auto guard = this->TryAdmit();
  auto other = std::move(guard);
  guard.Note(Outcome::kFailure);  // NOLINT(bugprone-use-after-move)
  guard = this->TryAdmit();
  other.Complete(Outcome::kSuccess);
  guard = this->TryAdmit();  // Drops the second.
  EXPECT_EQ(this->Ended(Outcome::kIgnored), 1u);
  guard.Complete(Outcome::kSuccess);
  this->ExpectEachEndedOnce(3);
}

TYPED_TEST(GuardTest, MoveAssignmentEndsWhatWasThere) {
  auto guard = this->TryAdmit();
  guard.Note(Outcome::kSuccess);
  auto other = this->TryAdmit();
  guard = std::move(other);
  EXPECT_EQ(this->Ended(Outcome::kSuccess), 1u);
  EXPECT_EQ(this->InFlight(), 1u);
  EXPECT_EQ(this->first_.ends[1], 1);
  EXPECT_FALSE(other);  // NOLINT(bugprone-use-after-move)
  guard.Complete(Outcome::kOverload);
  EXPECT_EQ(this->first_.ends[2], 1);
  this->ExpectEachEndedOnce(2);
}

TYPED_TEST(GuardTest, MoveToItselfChangesNothing) {
  auto guard = this->TryAdmit();
  auto& same = guard;
  guard = std::move(same);
  ASSERT_TRUE(guard);
  EXPECT_EQ(this->InFlight(), 1u);
  guard.Complete(Outcome::kSuccess);
  this->ExpectEachEndedOnce(1);
}

TYPED_TEST(GuardTest, SwapsWithAnother) {
  auto one = this->TryAdmit();
  auto two = this->TryAdmit();
  std::swap(one, two);
  EXPECT_EQ(this->first_.completed, 0);
  one.Complete(Outcome::kFailure);
  EXPECT_EQ(this->first_.ends[2], 1);
  EXPECT_EQ(this->first_.ends[1], 0);
  this->first_.ends.erase(1);
  two.Complete(Outcome::kSuccess);
  this->ExpectEachEndedOnce(2);
}

// Reactors and queues keep it; it ends where it is, when they say so.
TYPED_TEST(GuardTest, OutlivesItsScopeWhereStored) {
  std::vector<TypeParam> stored;
  for (int i = 0; i < 10; ++i) stored.push_back(this->TryAdmit());  // Moves when it grows.
  EXPECT_EQ(this->first_.completed, 0);
  EXPECT_EQ(this->InFlight(), 10u);
  stored[4].Complete(Outcome::kSuccess);
  stored.clear();
  this->ExpectEachEndedOnce(10);
  EXPECT_EQ(this->Ended(Outcome::kSuccess), 1u);
  EXPECT_EQ(this->Dropped(), 9u);
  std::optional<TypeParam> optional(this->TryAdmit());
  optional.reset();
  this->ExpectEachEndedOnce(11);
}

TYPED_TEST(GuardTest, RefusedDoesNothing) {
  this->second_.answer = Verdict::Refuse(Reason::kBudget, 5ms, Scope::kCaller);
  {
    auto guard = this->TryAdmit();
    EXPECT_FALSE(guard);
    EXPECT_EQ(guard.rejection().policy(), 1u);
    EXPECT_EQ(guard.rejection().policy_name(), "second");
    EXPECT_EQ(guard.rejection().reason(), Reason::kBudget);
    EXPECT_EQ(guard.rejection().retry_after(), 5ms);
    EXPECT_EQ(guard.rejection().scope(), Scope::kCaller);
    EXPECT_EQ(guard.wait(), 0s);
    guard.Charge(5);
    guard.Note(Outcome::kFailure);
    guard.Complete(Outcome::kSuccess);
    EXPECT_FALSE(guard);
    // Moved, it says the same, and does as little.
    auto other = std::move(guard);
    EXPECT_EQ(other.rejection().reason(), Reason::kBudget);
    other.Complete(Outcome::kSuccess);
  }
  EXPECT_EQ(this->first_.cancelled, 1);
  EXPECT_EQ(this->first_.completed + this->second_.completed, 0);
  EXPECT_TRUE(this->first_.charges.empty());
  EXPECT_TRUE(this->second_.ends.empty());
  const auto snapshot = this->limiter_.Snapshot();
  EXPECT_EQ(snapshot.TotalCompleted() + snapshot.TotalAdmitted() + snapshot.dropped, 0u);
  EXPECT_EQ(snapshot.TotalRefused(), 1u);
}

// Health checks: no policy sees them, even one that refuses all.
TYPED_TEST(GuardTest, ExemptReachesNoPolicy) {
  this->first_.answer = Verdict::Refuse(Reason::kDenied);
  {
    auto guard = this->TryAdmit({.exempt = true});
    ASSERT_TRUE(guard);
    EXPECT_EQ(guard.started(), TimePoint(10s));
    EXPECT_EQ(guard.wait(), 0s);
    EXPECT_EQ(this->InFlight(), 1u);
    guard.Charge(5);
    guard.Complete(Outcome::kSuccess);
    guard.Complete(Outcome::kSuccess);
  }
  { auto dropped = this->TryAdmit({.exempt = true}); }
  EXPECT_TRUE(this->first_.times.empty() && this->second_.times.empty());
  EXPECT_EQ(this->first_.completed + this->first_.cancelled, 0);
  const auto snapshot = this->limiter_.Snapshot();
  EXPECT_EQ(snapshot.exempt, 2u);
  EXPECT_EQ(snapshot.TotalAdmitted(), 0u);
  EXPECT_EQ(snapshot.completed[IndexOf(Outcome::kSuccess)], 1u);
  EXPECT_EQ(snapshot.completed[IndexOf(Outcome::kIgnored)], 1u);
  EXPECT_EQ(snapshot.dropped, 1u);
  EXPECT_EQ(snapshot.in_flight, 0u);
}

// Only the policies that have a Charge get it, and none after the end.
TYPED_TEST(GuardTest, ChargesUntilTheEnd) {
  Journal journal;
  this->first_.journal = &journal;
  this->second_.journal = &journal;
  auto guard = this->TryAdmit();
  journal.clear();
  this->clock_.Advance(1s);
  guard.Charge(5);
  guard.Charge(0);
  guard.Complete(Outcome::kSuccess);
  guard.Charge(9);
  EXPECT_EQ(journal,
            (Journal{"first.Charge", "first.Charge", "second.Complete", "first.Complete"}));
  EXPECT_EQ(this->first_.charges, (std::vector<std::uint64_t>{5, 0}));
  EXPECT_EQ(this->first_.times.at(1), TimePoint(11s));
}

// A value cast from outside the four: policies that index or switch by it see only the four.
TYPED_TEST(GuardTest, AbsurdOutcomeIsIgnored) {
  this->TryAdmit().Complete(static_cast<Outcome>(200));
  { this->TryAdmit().Note(static_cast<Outcome>(4)); }
  this->ExpectEachEndedOnce(2);
  EXPECT_EQ(this->Ended(Outcome::kIgnored), 2u);
  for (const Completion& completion : this->first_.completions) {
    EXPECT_EQ(completion.outcome, Outcome::kIgnored);
  }
}

TYPED_TEST(GuardTest, EndsOnAnotherThread) {
  {
    auto guard = this->TryAdmit();
    auto noted = this->TryAdmit();
    noted.Note(Outcome::kSuccess);
    std::thread([guard = std::move(guard), noted = std::move(noted)]() mutable {
      guard.Complete(Outcome::kSuccess);
    }).join();
  }
  this->ExpectEachEndedOnce(2);
  EXPECT_EQ(this->Ended(Outcome::kSuccess), 2u);
}

// P02 grpc/grpc#41531: ending a refused call took it off the count of those in flight, which went
// negative, and from the second wave on there was no limit.
TYPED_TEST(GuardTest, EndingARefusedCallFreesNoPermit) {
  using Permits = Limiter<ConcurrencyLimiter>;
  using G = std::conditional_t<std::is_same_v<TypeParam, AnyGuard>, AnyGuard, Permits::Guard>;
  Permits limiter({.limit = 1});
  const auto in_flight = [&] { return std::get<0>(limiter.Snapshot().policies).in_flight; };
  std::optional<G> a(limiter.TryAdmit());
  ASSERT_TRUE(*a);
  {
    G b(limiter.TryAdmit());
    G c(limiter.TryAdmit());
    EXPECT_FALSE(b);
    EXPECT_FALSE(c);
    b.Complete(Outcome::kSuccess);
    G moved(std::move(c));
  }
  EXPECT_EQ(in_flight(), 1u);
  EXPECT_FALSE(G(limiter.TryAdmit()));
  a.reset();
  EXPECT_EQ(in_flight(), 0u);
  std::vector<G> wave;
  int admitted = 0;
  for (int i = 0; i < 3; ++i) {
    wave.emplace_back(limiter.TryAdmit());
    admitted += wave.back() ? 1 : 0;
  }
  EXPECT_EQ(admitted, 1);
  EXPECT_EQ(in_flight(), 1u);
}

#if defined(__cpp_exceptions)

// What an exception does to a guard on its way. An AnyGuard has moved, and so is always kIgnored.
using PlainGuardTest = GuardTest<L::Guard>;

TEST_F(PlainGuardTest, OwnFramesExceptionIsAFailure) {
  try {
    auto guard = TryAdmit();
    throw 1;
  } catch (int) {
  }
  ExpectEachEndedOnce(1);
  EXPECT_EQ(Ended(Outcome::kFailure), 1u);
  EXPECT_EQ(Dropped(), 1u);
}

TEST_F(PlainGuardTest, WhatWasSaidBeforeTheExceptionStands) {
  try {
    auto completed = TryAdmit();
    auto noted = TryAdmit();
    completed.Complete(Outcome::kSuccess);
    noted.Note(Outcome::kSuccess);
    throw 1;
  } catch (int) {
  }
  ExpectEachEndedOnce(2);
  EXPECT_EQ(Ended(Outcome::kSuccess), 2u);
  EXPECT_EQ(Dropped(), 0u);
}

template <class F>
struct AtExit {
  F f;
  ~AtExit() { f(); }
};
template <class F>
AtExit(F) -> AtExit<F>;

// std::uncaught_exception() without the s takes this call for a failed one.
TEST_F(PlainGuardTest, AnotherFramesExceptionIsNotItsOwn) {
  try {
    AtExit cleanup{[&] { auto guard = TryAdmit(); }};
    throw 1;
  } catch (int) {
  }
  ExpectEachEndedOnce(1);
  EXPECT_EQ(Ended(Outcome::kIgnored), 1u);
}

TEST_F(PlainGuardTest, ItsOwnExceptionDuringAnotherIsAFailure) {
  try {
    AtExit cleanup{[&] {
      try {
        auto guard = TryAdmit();
        throw 2;
      } catch (int) {
      }
    }};
    throw 1;
  } catch (int) {
  }
  ExpectEachEndedOnce(1);
  EXPECT_EQ(Ended(Outcome::kFailure), 1u);
}

TEST_F(PlainGuardTest, ACaughtExceptionIsNoneOfIts) {
  auto outer = std::make_unique<L::Guard>(limiter_.TryAdmit());
  try {
    throw 1;
  } catch (int) {
    outer.reset();  // Handled, and not in flight any more.
    auto guard = TryAdmit();
  }
  ExpectEachEndedOnce(2);
  EXPECT_EQ(Ended(Outcome::kIgnored), 2u);
}

// Made while an exception was in flight, gone after it: fewer than then.
TEST_F(PlainGuardTest, OutlivesTheExceptionItWasMadeUnder) {
  std::unique_ptr<L::Guard> kept;
  try {
    AtExit cleanup{[&] { kept.reset(new L::Guard(limiter_.TryAdmit())); }};
    throw 1;
  } catch (int) {
  }
  kept.reset();
  ExpectEachEndedOnce(1);
  EXPECT_EQ(Ended(Outcome::kIgnored), 1u);
}

// Whoever moved it keeps it for its own reasons: an exception that passes says nothing of the call.
TEST_F(PlainGuardTest, MovedGuardIsNotJudgedByAnException) {
  try {
    auto guard = TryAdmit();
    auto moved = std::move(guard);
    throw 1;
  } catch (int) {
  }
  try {
    auto guard = TryAdmit();
    guard = TryAdmit();  // The second one moved.
    throw 1;
  } catch (int) {
  }
  ExpectEachEndedOnce(3);
  EXPECT_EQ(Ended(Outcome::kIgnored), 3u);
  EXPECT_EQ(Dropped(), 3u);
}

TEST_F(PlainGuardTest, MovedToAThreadWhereAnExceptionUnwinds) {
  std::thread([guard = TryAdmit()]() mutable {
    try {
      const auto mine = std::move(guard);
      throw 1;
    } catch (int) {
    }
  }).join();
  ExpectEachEndedOnce(1);
  EXPECT_EQ(Ended(Outcome::kIgnored), 1u);
}

using HiddenGuardTest = GuardTest<AnyGuard>;
TEST_F(HiddenGuardTest, IsNotJudgedByAnException) {
  try {
    auto guard = TryAdmit();
    throw 1;
  } catch (int) {
  }
  ExpectEachEndedOnce(1);
  EXPECT_EQ(Ended(Outcome::kIgnored), 1u);
  EXPECT_EQ(Dropped(), 1u);
}

#endif  // __cpp_exceptions

}  // namespace
}  // namespace shed
