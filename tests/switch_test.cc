#include "shed/switch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "shed/circuit_breaker.h"
#include "shed/concurrency_limiter.h"
#include "shed/limiter.h"
#include "shed/rate_limiter.h"
#include "shed/retry_budget.h"

namespace shed {
namespace {

using Limited = Limiter<Switch<ConcurrencyLimiter>>;
std::uint32_t InFlight(const Limited& limiter) {
  return std::get<0>(limiter.Snapshot().policies).policy.in_flight;
}

TEST(Switch, OffItRefusesNothingAndTellsNothing) {
  Limited limiter({.limit = 1});
  limiter.Get<0>().Turn(false);
  EXPECT_FALSE(std::get<0>(limiter.Snapshot().policies).on);
  std::vector<Limited::Guard> guards;
  for (int i = 0; i < 10; ++i) {
    guards.push_back(limiter.TryAdmit());
    EXPECT_TRUE(guards.back());
  }
  EXPECT_EQ(InFlight(limiter), 0u);
  limiter.Get<0>().Turn(true);
  auto held = limiter.TryAdmit();
  EXPECT_TRUE(held);
  EXPECT_FALSE(limiter.TryAdmit());
  EXPECT_EQ(limiter.TryAdmit().rejection().policy_name(), "concurrency_limiter");
  // Those that came while it was off give back nothing.
  guards.clear();
  EXPECT_EQ(InFlight(limiter), 1u);
}

// Calls that came in while it was on must be ended there: their permits would be lost.
TEST(Switch, CallsFromBeforeAreEndedWhileItIsOff) {
  Limited limiter({.limit = 2});
  auto completed = limiter.TryAdmit();
  auto dropped = std::make_unique<Limited::Guard>(limiter.TryAdmit());
  limiter.Get<0>().Turn(false);
  EXPECT_EQ(InFlight(limiter), 2u);
  completed.Complete(Outcome::kSuccess);
  EXPECT_EQ(InFlight(limiter), 1u);
  dropped.reset();
  EXPECT_EQ(InFlight(limiter), 0u);
}

TEST(Switch, ACancelledCallIsUndoneWhereItWasAsked) {
  Limiter<Switch<ConcurrencyLimiter>, RateLimiter> limiter(
      {.limit = 5}, {.rate = 1, .per = std::chrono::hours(1), .burst = 1});
  limiter.TryAdmit().Complete(Outcome::kSuccess);
  EXPECT_FALSE(limiter.TryAdmit());
  EXPECT_EQ(std::get<0>(limiter.Snapshot().policies).policy.in_flight, 0u);
  limiter.Get<0>().Turn(false);
  EXPECT_FALSE(limiter.TryAdmit());
  EXPECT_EQ(std::get<0>(limiter.Snapshot().policies).policy.in_flight, 0u);
}

TEST(Switch, KeepsWhatWasLearned) {
  Limiter<Switch<CircuitBreaker>> limiter(CircuitBreakerOptions{});
  for (int i = 0; i < 20; ++i) limiter.TryAdmit().Complete(Outcome::kFailure);
  EXPECT_FALSE(limiter.TryAdmit());
  limiter.Get<0>().Turn(false);
  EXPECT_TRUE(limiter.TryAdmit());
  limiter.Get<0>().Turn(true);
  EXPECT_FALSE(limiter.TryAdmit());
}

// It has the members that P has, and those alone.
TEST(Switch, HasThePolicysMembers) {
  static_assert(Policy<Switch<RateLimiter>> && CanCharge<Switch<RateLimiter>>);
  static_assert(Policy<Switch<ConcurrencyLimiter>> && !CanCharge<Switch<ConcurrencyLimiter>>);
  static_assert(CanConfigure<Switch<RetryBudget>>);
  static_assert(Holds<Switch<ConcurrencyLimiter>> && !Holds<Switch<RateLimiter>>);
  static_assert(CompletesTimed<Switch<CircuitBreaker>> && !CompletesTimed<Switch<RateLimiter>>);
  static_assert(HasHot<Switch<RateLimiter>> && !HasHot<Switch<CircuitBreaker>>);
  EXPECT_EQ((Limiter<Switch<RateLimiter>>::Problem({.rate = 0})),
            "rate: want 1 to 2000000000 units");

  Limiter<Switch<RateLimiter>> limiter(RateLimiterOptions{.rate = 1, .burst = 10});
  auto guard = limiter.TryAdmit();
  guard.Charge(6);
  EXPECT_EQ(std::get<0>(limiter.Snapshot().policies).policy.available, 4);
  limiter.Get<0>().Turn(false);
  auto off = limiter.TryAdmit();
  off.Charge(4);
  EXPECT_EQ(std::get<0>(limiter.Snapshot().policies).policy.available, 4);
}

// A policy of a user's own, without options.
struct Closed {
  static constexpr std::string_view kName = "closed";
  Verdict Admit(const Request&, TimePoint) const noexcept {
    return Verdict::Refuse(Reason::kDenied);
  }
};
TEST(Switch, TakesAPolicyWithoutOptions) {
  Limiter<Switch<Closed>> limiter(internal::PolicyItself<Closed>{});
  EXPECT_FALSE(limiter.TryAdmit());
  limiter.Get<0>().Turn(false);
  EXPECT_TRUE(limiter.TryAdmit());
}

TEST(Switch, TurnedWhileCallsAreInFlightOnManyThreads) {
  Limited limiter({.limit = 3});
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5'000; ++i) {
        auto outer = limiter.TryAdmit();
        auto inner = limiter.TryAdmit();
        outer.Complete(Outcome::kSuccess);
      }
    });
  }
  std::thread turner([&] {
    for (bool on = false; !done.load(); on = !on) limiter.Get<0>().Turn(on);
  });
  for (std::thread& thread : threads) thread.join();
  done.store(true);
  turner.join();
  EXPECT_EQ(InFlight(limiter), 0u);
  EXPECT_EQ(limiter.Snapshot().in_flight, 0u);
}

}  // namespace
}  // namespace shed
