#include "shed/retry_throttle.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "shed/solo.h"

namespace shed {
namespace {

using Ticket = RetryThrottle::Ticket;
constexpr TimePoint kNow{};
constexpr Request kRetry{.retry = true};

template <class P>
void End(P& throttle, Outcome outcome, int times = 1) {
  for (int i = 0; i < times; ++i) {
    Ticket ticket;
    ASSERT_TRUE(throttle.Admit({}, kNow, ticket).admitted());
    throttle.Complete(ticket, outcome);
  }
}
template <class P>
bool RetryPasses(P& throttle) {
  Ticket ticket;
  const bool admitted = throttle.Admit(kRetry, kNow, ticket).admitted();
  throttle.Cancel(ticket, Verdict::Refuse(Reason::kRate), kNow);
  return admitted;
}

// P22, grpc/proposal#27: an account that is not held at its size lets a good day pay for an outage.
TEST(RetryThrottle, AGoodDayDoesNotPayForAnOutage) {
  Solo<RetryThrottle> throttle({.max_tokens = 10, .token_ratio = 0.1});
  End(throttle, Outcome::kSuccess, 1'000'000);
  EXPECT_EQ(throttle.Read(kNow).tokens, 10);
  End(throttle, Outcome::kFailure, 5);
  EXPECT_EQ(throttle.Read(kNow).tokens, 5);
  EXPECT_FALSE(RetryPasses(throttle));
  End(throttle, Outcome::kFailure, 95);
  EXPECT_EQ(throttle.Read(kNow).tokens, 0);
  End(throttle, Outcome::kSuccess, 50);
  EXPECT_EQ(throttle.Read(kNow).tokens, 5.0);
  EXPECT_FALSE(RetryPasses(throttle));
  End(throttle, Outcome::kSuccess);
  EXPECT_EQ(throttle.Read(kNow).tokens, 5.1);
  EXPECT_TRUE(RetryPasses(throttle));
}

TEST(RetryThrottle, StartsFullAndRefusesRetriesAlone) {
  Solo<RetryThrottle> throttle;
  EXPECT_TRUE(throttle.Read(kNow).retries_pass);
  EXPECT_TRUE(RetryPasses(throttle));
  End(throttle, Outcome::kFailure, 5);
  Ticket ticket;
  EXPECT_EQ(throttle.Admit(kRetry, kNow, ticket), Verdict::Refuse(Reason::kRetryBudget));
  EXPECT_TRUE(throttle.Admit({}, kNow, ticket).admitted());
}

TEST(RetryThrottle, OverloadIsAFailureAndIgnoredIsNothing) {
  Solo<RetryThrottle> throttle;
  End(throttle, Outcome::kOverload);
  EXPECT_EQ(throttle.Read(kNow).tokens, 9);
  End(throttle, Outcome::kIgnored, 100);
  EXPECT_EQ(throttle.Read(kNow).tokens, 9);
}

// A refused retry that counted as a failure would hold the account down for good.
TEST(RetryThrottle, RefusedCancelledAndEndedTwiceChangeNothing) {
  Solo<RetryThrottle> throttle;
  End(throttle, Outcome::kFailure, 6);
  ASSERT_EQ(throttle.Read(kNow).tokens, 4);
  Ticket refused;
  ASSERT_FALSE(throttle.Admit(kRetry, kNow, refused).admitted());
  throttle.Complete(refused, Outcome::kFailure);
  EXPECT_EQ(throttle.Read(kNow).tokens, 4);
  Ticket cancelled;
  ASSERT_TRUE(throttle.Admit({}, kNow, cancelled).admitted());
  throttle.Cancel(cancelled, Verdict::Refuse(Reason::kRate), kNow);
  throttle.Complete(cancelled, Outcome::kFailure);
  EXPECT_EQ(throttle.Read(kNow).tokens, 4);
  Ticket twice;
  ASSERT_TRUE(throttle.Admit({}, kNow, twice).admitted());
  throttle.Complete(twice, Outcome::kFailure);
  throttle.Complete(twice, Outcome::kFailure);
  EXPECT_EQ(throttle.Read(kNow).tokens, 3);
}

// The account in plain thousandths, step by step.
TEST(RetryThrottle, KeepsThousandthsExactly) {
  for (const RetryThrottleOptions& options :
       {RetryThrottleOptions{}, RetryThrottleOptions{.max_tokens = 0.001, .token_ratio = 0.001},
        RetryThrottleOptions{.max_tokens = 1000, .token_ratio = 1000},
        RetryThrottleOptions{.max_tokens = 3.337, .token_ratio = 0.7}}) {
    Solo<RetryThrottle> throttle(options);
    const auto most = static_cast<std::int64_t>(options.max_tokens * 1000 + 0.5);
    const auto ratio = static_cast<std::int64_t>(options.token_ratio * 1000 + 0.5);
    std::int64_t tokens = most;
    std::mt19937_64 random(1);
    for (int i = 0; i < 50'000; ++i) {
      const bool success = random() % 16 < (i / 500 % 2 == 0 ? 15 : 8);
      End(throttle, success ? Outcome::kSuccess : Outcome::kFailure);
      tokens = success ? std::min(tokens + ratio, most) : std::max<std::int64_t>(tokens - 1000, 0);
      ASSERT_EQ(throttle.Read(kNow).tokens, static_cast<double>(tokens) / 1000);
      ASSERT_EQ(RetryPasses(throttle), 2 * tokens > most);
    }
  }
}

TEST(RetryThrottle, ConfigureKeepsWhatIsThereUpToTheNewSize) {
  Solo<RetryThrottle> throttle;
  End(throttle, Outcome::kFailure, 3);
  EXPECT_EQ(throttle.Configure({.max_tokens = 100, .token_ratio = 1}, kNow), "");
  EXPECT_EQ(throttle.Read(kNow).tokens, 7);
  EXPECT_FALSE(RetryPasses(throttle));
  End(throttle, Outcome::kSuccess);
  EXPECT_EQ(throttle.Read(kNow).tokens, 8);
  EXPECT_EQ(throttle.Configure({.max_tokens = 2}, kNow), "");
  EXPECT_EQ(throttle.Read(kNow).tokens, 2);
  EXPECT_EQ(throttle.Configure({.max_tokens = 0}, kNow), "max_tokens: want 0.001 to 1000");
  EXPECT_EQ(throttle.Read(kNow).max_tokens, 2);
}

// What threads pay in and take out is all there in the end, whatever is configured meanwhile.
TEST(RetryThrottle, ThreadsLoseNoToken) {
  Solo<RetryThrottle> throttle({.max_tokens = 1000, .token_ratio = 0.5});
  End(throttle, Outcome::kFailure, 500);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2'000; ++i) {  // Two successes for each failure: none in all.
        End(throttle, i % 3 == 2 ? Outcome::kFailure : Outcome::kSuccess);
      }
    });
  }
  threads.emplace_back([&] {
    for (int i = 0; i < 2'000; ++i) {
      EXPECT_EQ(throttle.Configure({.max_tokens = 999.0 + i % 2, .token_ratio = 0.5}, kNow), "");
    }
  });
  for (std::thread& thread : threads) thread.join();
  // Each thread ends after 2000 = 3 · 666 + 2 calls: two successes more.
  EXPECT_EQ(throttle.Read(kNow).tokens, 500 + 8 * 1);
}

TEST(RetryThrottle, BadOptionsAreRefusedByName) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double bad : {-1.0, 0.0, 0.0009, 1000.1, kNan, kInfinity, -kInfinity}) {
    EXPECT_EQ((RetryThrottleOptions{.max_tokens = bad}.Problem()),
              "max_tokens: want 0.001 to 1000");
    EXPECT_EQ((RetryThrottleOptions{.token_ratio = bad}.Problem()),
              "token_ratio: want 0.001 to 1000");
    EXPECT_THROW(Solo<RetryThrottle>({.max_tokens = bad}), std::invalid_argument);
  }
  static_assert(RetryThrottleOptions{.max_tokens = 0.001, .token_ratio = 1000}.Problem().empty());
}

}  // namespace
}  // namespace shed
