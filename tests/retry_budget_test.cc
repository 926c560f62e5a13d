#include "shed/retry_budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

#include "shed/limiter.h"
#include "shed/rate_limiter.h"
#include "shed/solo.h"

namespace shed {
namespace {

using Ticket = RetryBudget::Ticket;
constexpr TimePoint kNow{};
constexpr Request kRetry{.retry = true};

Verdict Cause() { return Verdict::Refuse(Reason::kRate); }

// ---- The rule ----

static_assert(RetryBudget::Allowed({}, 0) == 3);
static_assert(RetryBudget::Allowed({}, 15) == 3);
// Fewer than 3.2 are at most 4.
static_assert(RetryBudget::Allowed({}, 16) == 4);
static_assert(RetryBudget::Allowed({}, 100) == 20);
static_assert(RetryBudget::Allowed({}, 101) == 21);
static_assert(RetryBudget::Allowed({.ratio = 1, .min_retries = 0}, 7) == 7);
static_assert(RetryBudget::Allowed({.ratio = 0, .min_retries = 0}, 1'000'000) == 0);
// 0.07 * 100 is 7.000000000000001 as doubles.
static_assert(RetryBudget::Allowed({.ratio = 0.07, .min_retries = 0}, 100) == 7);
static_assert(RetryBudget::Allowed({.ratio = 1}, 0xffff'ffff) == 0xffff'ffff);

TEST(RetryBudget, CallsThatAreNoRetriesAlwaysPass) {
  Solo<RetryBudget> budget({.ratio = 0, .min_retries = 0});
  std::vector<Ticket> tickets(1000);
  for (Ticket& ticket : tickets) EXPECT_TRUE(budget.Admit({}, kNow, ticket).admitted());
  EXPECT_EQ(budget.Read(kNow).in_flight, 1000u);
  Ticket ticket;
  EXPECT_EQ(budget.Admit(kRetry, kNow, ticket), Verdict::Refuse(Reason::kRetryBudget));
}

TEST(RetryBudget, RetriesAreAShareOfWhatIsInFlight) {
  Solo<RetryBudget> budget({.ratio = 0.1, .min_retries = 1});
  std::vector<Ticket> calls(40);
  for (Ticket& ticket : calls) budget.Admit({}, kNow, ticket);
  // 4 of 40; with the fourth there are 44, of which 5 are not fewer than 4.4.
  std::vector<Ticket> retries(10);
  int admitted = 0;
  for (Ticket& ticket : retries) admitted += budget.Admit(kRetry, kNow, ticket).admitted();
  EXPECT_EQ(admitted, 5);
  EXPECT_EQ(budget.Read(kNow).retries, 5u);
  EXPECT_EQ(budget.Read(kNow).in_flight, 45u);
  // When the calls are gone the floor remains, and what is in flight stays.
  for (Ticket& ticket : calls) budget.Complete(ticket, Outcome::kSuccess);
  EXPECT_EQ(budget.Read(kNow).allowed, 1u);
  EXPECT_EQ(budget.Read(kNow).retries, 5u);
  Ticket late;
  EXPECT_FALSE(budget.Admit(kRetry, kNow, late).admitted());
  for (Ticket& ticket : retries) budget.Complete(ticket, Outcome::kFailure);
  EXPECT_TRUE(budget.Admit(kRetry, kNow, late).admitted());
}

TEST(RetryBudget, ARefusedRetryLeavesNoTrace) {
  Solo<RetryBudget> budget({.min_retries = 0});
  Ticket ticket;
  for (int i = 0; i < 100; ++i) {
    ASSERT_FALSE(budget.Admit(kRetry, kNow, ticket).admitted());
    budget.Complete(ticket, Outcome::kFailure);  // A guard does not; a caller that does changes
    budget.Cancel(ticket, Cause(), kNow);        // nothing.
  }
  EXPECT_EQ(budget.Read(kNow).in_flight, 0u);
  EXPECT_EQ(budget.Read(kNow).retries, 0u);
}

TEST(RetryBudget, EveryTicketEndsOnce) {
  Solo<RetryBudget> budget;
  for (const bool retry : {false, true}) {
    Ticket ticket;
    ASSERT_TRUE(budget.Admit({.retry = retry}, kNow, ticket).admitted());
    budget.Cancel(ticket, Cause(), kNow);
    budget.Cancel(ticket, Cause(), kNow);
    budget.Complete(ticket, Outcome::kSuccess);
    EXPECT_EQ(budget.Read(kNow).in_flight, 0u);
    EXPECT_EQ(budget.Read(kNow).retries, 0u);
  }
}

// A later policy's refusal gives the place back: a budget that leaked would close for good.
TEST(RetryBudget, ACancelledRetryGivesItsPlaceBack) {
  Limiter<RetryBudget, RateLimiter> limiter({.ratio = 0, .min_retries = 1},
                                            {.rate = 1, .per = std::chrono::hours(1), .burst = 1});
  limiter.TryAdmit(kRetry).Complete(Outcome::kSuccess);
  for (int i = 0; i < 10; ++i) {
    const auto guard = limiter.TryAdmit(kRetry);
    EXPECT_EQ(guard.rejection().policy_name(), "rate_limiter");
  }
  EXPECT_EQ(std::get<0>(limiter.Snapshot().policies).in_flight, 0u);
}

TEST(RetryBudget, ConfigureTakesEffectAtOnceAndKeepsWhatIsInFlight) {
  Solo<RetryBudget> budget({.ratio = 0, .min_retries = 3});
  std::vector<Ticket> tickets(4);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(budget.Admit(kRetry, kNow, tickets[0]).admitted());
  EXPECT_EQ(budget.Configure({.ratio = 0, .min_retries = 1}, kNow), "");
  EXPECT_EQ(budget.Read(kNow).retries, 3u);
  EXPECT_EQ(budget.Read(kNow).allowed, 1u);
  EXPECT_FALSE(budget.Admit(kRetry, kNow, tickets[3]).admitted());
  EXPECT_EQ(budget.Configure({.ratio = 0, .min_retries = 4}, kNow), "");
  EXPECT_TRUE(budget.Admit(kRetry, kNow, tickets[3]).admitted());
  // A bad one changes nothing.
  EXPECT_EQ(budget.Configure({.ratio = -1}, kNow), "ratio: want 0 to 1");
  EXPECT_EQ(budget.Read(kNow).allowed, 4u);
}

// Check and count in two steps would let more through.
TEST(RetryBudget, ThreadsNeverGetMoreThanTheBudget) {
  constexpr int kMost = 4;
  Solo<RetryBudget> budget({.ratio = 0, .min_retries = kMost});
  std::atomic<int> outside{0};
  std::atomic<int> highest{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5'000; ++i) {
        Ticket ticket;
        if (!budget.Admit(kRetry, kNow, ticket).admitted()) continue;
        const int now = outside.fetch_add(1) + 1;
        int seen = highest.load();
        while (now > seen && !highest.compare_exchange_weak(seen, now)) {
        }
        outside.fetch_sub(1);
        budget.Complete(ticket, Outcome::kSuccess);
      }
    });
  }
  threads.emplace_back([&] {
    for (int i = 0; i < 5'000; ++i) {
      EXPECT_EQ(budget.Configure({.ratio = 0, .min_retries = 1 + i % kMost}, kNow), "");
    }
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(highest.load(), kMost);
  EXPECT_EQ(budget.Read(kNow).in_flight, 0u);
  EXPECT_EQ(budget.Read(kNow).retries, 0u);
}

// ---- Bad input ----

TEST(RetryBudget, BadOptionsAreRefusedByName) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double bad : {-0.1, 1.1, kNan, kInfinity, -kInfinity}) {
    EXPECT_EQ((RetryBudgetOptions{.ratio = bad}.Problem()), "ratio: want 0 to 1");
    EXPECT_THROW(Solo<RetryBudget>({.ratio = bad}), std::invalid_argument);
  }
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{1'000'001}, kMax, -kMax - 1}) {
    EXPECT_EQ((RetryBudgetOptions{.min_retries = bad}.Problem()), "min_retries: want 0 to 1000000");
    EXPECT_THROW(Solo<RetryBudget>({.min_retries = bad}), std::invalid_argument);
  }
  static_assert(RetryBudgetOptions{.ratio = 0, .min_retries = 0}.Problem().empty());
  static_assert(RetryBudgetOptions{.ratio = 1, .min_retries = 1'000'000}.Problem().empty());
}

}  // namespace
}  // namespace shed
