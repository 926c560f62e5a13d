#include "shed/shadow.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "shed/circuit_breaker.h"
#include "shed/concurrency_limiter.h"
#include "shed/limiter.h"
#include "shed/named.h"
#include "shed/rate_limiter.h"

namespace shed {
namespace {

constexpr RateLimiterOptions Burst(std::int64_t burst) {
  return {.rate = 1, .per = std::chrono::hours(24), .burst = burst};
}
template <class L>
auto Seen(const L& limiter) {
  return std::get<0>(limiter.Snapshot().policies);
}

// P21, envoyproxy/envoy#46390: a shadow rule that refuses must not end the evaluation, or the
// enforced one behind it is skipped.
TEST(Shadow, TheEnforcedPolicyBehindItIsAskedAllTheSame) {
  Limiter<Shadow<RateLimiter>, RateLimiter> limiter(Burst(1), Burst(2));
  EXPECT_TRUE(limiter.TryAdmit());
  EXPECT_TRUE(limiter.TryAdmit());
  EXPECT_EQ(limiter.TryAdmit().rejection().policy_name(), "rate_limiter");
  EXPECT_EQ(Seen(limiter).TotalRefused(), 2u);
  EXPECT_EQ(Seen(limiter).admitted, 1u);
  EXPECT_EQ(limiter.Get<1>().Read(limiter.Now()).available, 0);
}

TEST(Shadow, CountsWhatItWouldHaveRefusedAndHowItEnded) {
  Limiter<Shadow<ConcurrencyLimiter>> limiter(ConcurrencyLimiterOptions{.limit = 1});
  auto first = limiter.TryAdmit();
  auto second = limiter.TryAdmit();
  auto third = limiter.TryAdmit();
  EXPECT_TRUE(first && second && third);
  auto seen = Seen(limiter);
  EXPECT_EQ(seen.admitted, 1u);
  EXPECT_EQ(seen.refused[static_cast<std::size_t>(Reason::kConcurrency)], 2u);
  EXPECT_EQ(seen.policy.in_flight, 1u);
  // The end of a call that it did not admit frees nothing.
  second.Complete(Outcome::kFailure);
  EXPECT_EQ(Seen(limiter).policy.in_flight, 1u);
  third.Complete(Outcome::kSuccess);
  first.Complete(Outcome::kOverload);
  seen = Seen(limiter);
  EXPECT_EQ(seen.policy.in_flight, 0u);
  EXPECT_EQ(seen.refused_ended, (std::array<std::uint64_t, 4>{1, 1, 0, 0}));
  EXPECT_EQ(seen.admitted_ended, (std::array<std::uint64_t, 4>{0, 0, 1, 0}));
}

// What it would have refused is no sample: an enforced breaker never sees those calls.
TEST(Shadow, WhatWouldHaveBeenRefusedIsNoSample) {
  Limiter<Shadow<CircuitBreaker>> limiter(CircuitBreakerOptions{});
  for (int i = 0; i < 20; ++i) limiter.TryAdmit().Complete(Outcome::kFailure);
  EXPECT_EQ(Seen(limiter).policy.state, BreakerState::kOpen);
  const auto before = Seen(limiter).policy;
  for (int i = 0; i < 100; ++i) {
    auto guard = limiter.TryAdmit();
    EXPECT_TRUE(guard);
    guard.Complete(Outcome::kSuccess);
  }
  EXPECT_EQ(Seen(limiter).policy.generation, before.generation);
  EXPECT_EQ(Seen(limiter).refused_ended[IndexOf(Outcome::kSuccess)], 100u);
}

TEST(Shadow, ACancelledCallIsUndoneAndHasNoOutcome) {
  Limiter<Shadow<ConcurrencyLimiter>, RateLimiter> limiter({.limit = 1}, Burst(1));
  limiter.TryAdmit().Complete(Outcome::kSuccess);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(limiter.TryAdmit());
  EXPECT_EQ(Seen(limiter).admitted, 6u);
  EXPECT_EQ(Seen(limiter).policy.in_flight, 0u);
  EXPECT_EQ(Seen(limiter).admitted_ended[0], 1u);
}

// It neither delays nor, by saying that it holds calls, keeps others from it.
TEST(Shadow, NeverDelays) {
  using std::chrono::seconds;
  Limiter<Shadow<RateLimiter>, RateLimiter> limiter({.rate = 1, .per = seconds(10), .burst = 1},
                                                    {.rate = 1, .per = seconds(2), .burst = 1});
  EXPECT_EQ(limiter.TryAdmit({.max_wait = seconds(60)}).wait(), Duration(0));
  const Duration wait = limiter.TryAdmit({.max_wait = seconds(60)}).wait();
  EXPECT_GT(wait, Duration(0));
  EXPECT_LE(wait, seconds(2));
  EXPECT_EQ(Seen(limiter).delayed, 1u);
  static_assert(!Holds<Shadow<ConcurrencyLimiter>>);
}

TEST(Shadow, NameAndMembersArePs) {
  static_assert(Shadow<RateLimiter>::kName == "shadow.rate_limiter");
  static_assert(Shadow<Named<"new", RateLimiter>>::kName == "shadow.new");
  static_assert(Policy<Shadow<RateLimiter>> && CanCharge<Shadow<RateLimiter>>);
  static_assert(!CanCharge<Shadow<CircuitBreaker>>);
  Limiter<Shadow<RateLimiter>> limiter(Burst(10));
  auto guard = limiter.TryAdmit();
  guard.Charge(7);
  EXPECT_EQ(Seen(limiter).policy.available, 3);
}

TEST(Shadow, ThreadsCountEveryCall) {
  Limiter<Shadow<ConcurrencyLimiter>> limiter(ConcurrencyLimiterOptions{.limit = 2});
  constexpr int kThreads = 12;
  constexpr int kEach = 3'000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        auto outer = limiter.TryAdmit();
        limiter.TryAdmit().Complete(Outcome::kSuccess);
        outer.Complete(Outcome::kFailure);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto seen = Seen(limiter);
  EXPECT_EQ(seen.admitted + seen.TotalRefused(), 2u * kThreads * kEach);
  std::uint64_t ended = 0;
  for (const std::uint64_t n : seen.admitted_ended) ended += n;
  EXPECT_EQ(ended, seen.admitted);
  for (const std::uint64_t n : seen.refused_ended) ended += n;
  EXPECT_EQ(ended, 2u * kThreads * kEach);
  EXPECT_EQ(seen.policy.in_flight, 0u);
}

}  // namespace
}  // namespace shed
