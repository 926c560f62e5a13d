#include "shed/internal/breaker_terms.h"

#include <gtest/gtest.h>

#include <chrono>

#include "shed/sync.h"

namespace shed::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(BreakerTerms, AreWhatWasSetLast) {
  BreakerTerms<StdSync> terms({});
  EXPECT_TRUE(terms.outcome_is_all());
  EXPECT_FALSE(terms.counts_calls());
  EXPECT_FALSE(terms.IsSlow(seconds(100)));
  terms.Set({.consecutive_failures = 3,
             .count_window = 70,
             .min_calls = 8,
             .failure_ratio = 0.3,
             .slow_call = milliseconds(5),
             .slow_ratio = 0.7,
             .open_for = seconds(2),
             .max_open_for = seconds(9),
             .probes = 6,
             .probe_timeout = seconds(4)});
  EXPECT_FALSE(terms.outcome_is_all());
  EXPECT_TRUE(terms.counts_calls());
  EXPECT_FALSE(terms.IsSlow(milliseconds(5)));
  EXPECT_TRUE(terms.IsSlow(milliseconds(6)));
  const CircuitBreakerOptions rule = terms.rule();
  EXPECT_EQ(rule.consecutive_failures, 3);
  EXPECT_EQ(rule.min_calls, 8);
  EXPECT_EQ(rule.failure_ratio, 0.3);
  EXPECT_EQ(rule.slow_call, milliseconds(5));
  EXPECT_EQ(rule.slow_ratio, 0.7);
  EXPECT_EQ(terms.open_for(), seconds(2));
  EXPECT_EQ(terms.max_open_for(), seconds(9));
  EXPECT_EQ(terms.probes(), 6);
  EXPECT_EQ(terms.probe_timeout(), milliseconds(5)) << "a slow probe has failed";
  terms.Set({.slow_call = milliseconds(1)});
  EXPECT_FALSE(terms.outcome_is_all());
  terms.Set({.probe_timeout = seconds(4)});
  EXPECT_TRUE(terms.outcome_is_all());
  EXPECT_EQ(terms.probe_timeout(), seconds(4));
}

}  // namespace
}  // namespace shed::internal
