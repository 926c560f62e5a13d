#include "shed/internal/breaker_rule.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

#include "shed/circuit_breaker.h"

namespace shed::internal {
namespace {

using Options = CircuitBreakerOptions;
constexpr Options kSlow{.slow_call = std::chrono::seconds(1)};

static_assert(JudgeBreaker(Options{}, {}) == Cause::kNone);
// Faults 10: neither a ratio of few calls, nor many calls without the ratio.
static_assert(JudgeBreaker(Options{}, {.calls = 19, .failed = 19}) == Cause::kNone);
static_assert(JudgeBreaker(Options{}, {.calls = 20, .failed = 10}) == Cause::kFailureRatio);
static_assert(JudgeBreaker(Options{}, {.calls = 21, .failed = 10}) == Cause::kNone);
static_assert(JudgeBreaker(Options{}, {.calls = 20, .failed = 20, .failed_in_a_row = 19}) ==
              Cause::kFailureRatio);
static_assert(JudgeBreaker(Options{}, {.calls = 20, .failed = 20, .failed_in_a_row = 20}) ==
              Cause::kConsecutiveFailures);
// A row counts even where the window is too young, and not at all when it is off.
static_assert(JudgeBreaker(Options{.min_calls = 100}, {.calls = 20, .failed_in_a_row = 20}) ==
              Cause::kConsecutiveFailures);
static_assert(JudgeBreaker(Options{.consecutive_failures = 0, .min_calls = 100},
                           {.calls = 99, .failed = 99, .failed_in_a_row = 99}) == Cause::kNone);
// Slow counts only where slow_call is set.
static_assert(JudgeBreaker(Options{}, {.calls = 20, .slow = 20}) == Cause::kNone);
static_assert(JudgeBreaker(kSlow, {.calls = 20, .slow = 10}) == Cause::kSlowRatio);
static_assert(JudgeBreaker(kSlow, {.calls = 20, .slow = 9}) == Cause::kNone);

// What hangs is as slow as what ended late, and says nothing of failures.
static_assert(JudgeBreaker(kSlow, {.calls = 10, .slow = 1, .overdue = 10}) == Cause::kSlowRatio);
static_assert(JudgeBreaker(kSlow, {.calls = 10, .overdue = 9}) == Cause::kNone);
static_assert(JudgeBreaker(kSlow, {.overdue = 20}) == Cause::kSlowRatio);
static_assert(JudgeBreaker(kSlow, {.overdue = 19}) == Cause::kNone);
static_assert(JudgeBreaker(kSlow, {.calls = 19, .failed = 19, .overdue = 1}) == Cause::kNone);
static_assert(JudgeBreaker(Options{}, {.calls = 20, .overdue = 100}) == Cause::kNone);

// k of n is at the ratio k / n, for every k and n: a product ratio · n is above k for some (0.07 ·
// 100), and they would never open.
TEST(BreakerRule, ARatioIsReachedExactly) {
  for (int n = 20; n <= 1000; ++n) {
    for (int k = 1; k <= n; ++k) {
      const Options options{.failure_ratio = static_cast<double>(k) / n};
      const auto calls = static_cast<std::uint64_t>(n);
      const auto failed = static_cast<std::uint64_t>(k);
      ASSERT_EQ(JudgeBreaker(options, {.calls = calls, .failed = failed}), Cause::kFailureRatio);
      ASSERT_EQ(JudgeBreaker(options, {.calls = calls, .failed = failed - 1}), Cause::kNone);
    }
  }
}

TEST(BreakerRule, TheEventHasTheNumbersOfItsCause) {
  const BreakerCounts counts{.calls = 40, .failed = 10, .slow = 30, .failed_in_a_row = 7};
  const Event row = BreakerOpened(Options{}, Cause::kConsecutiveFailures, counts);
  EXPECT_EQ(row.kind, EventKind::kBreakerOpened);
  EXPECT_EQ(row.count, 7u);
  EXPECT_EQ(row.threshold, 20);
  const Event failed = BreakerOpened(Options{.failure_ratio = 0.25}, Cause::kFailureRatio, counts);
  EXPECT_EQ(failed.count, 10u);
  EXPECT_EQ(failed.total, 40u);
  EXPECT_EQ(failed.value, 0.25);
  EXPECT_EQ(failed.threshold, 0.25);
  const Event slow = BreakerOpened(Options{.slow_ratio = 0.7}, Cause::kSlowRatio, counts);
  EXPECT_EQ(slow.count, 30u);
  EXPECT_EQ(slow.value, 0.75);
  EXPECT_EQ(slow.threshold, 0.7);
  const Event hung =
      BreakerOpened(kSlow, Cause::kSlowRatio, {.calls = 40, .slow = 10, .overdue = 60});
  EXPECT_EQ(hung.count, 70u);
  EXPECT_EQ(hung.total, 100u);
  EXPECT_EQ(hung.value, 0.7);
}

}  // namespace
}  // namespace shed::internal
