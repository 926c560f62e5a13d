#include "shed/circuit_breaker_options.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string_view>

#include "shed/circuit_breaker.h"

namespace shed {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using Options = CircuitBreakerOptions;

template <class F>
std::string_view ProblemOf(F change) {
  Options options;
  change(options);
  const std::string_view problem = options.Problem();
  if (problem.empty()) {
    EXPECT_NO_THROW(CircuitBreaker{options});
  } else {
    EXPECT_THROW(CircuitBreaker{options}, std::invalid_argument);
  }
  return problem;
}

TEST(CircuitBreakerOptions, BadCountsAreRefusedByName) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{1'000'001}, kMax, -kMax - 1}) {
    EXPECT_EQ(ProblemOf([=](Options& o) { o.consecutive_failures = bad; }),
              "consecutive_failures: want 0 to 1000000");
    EXPECT_EQ(ProblemOf([=](Options& o) { o.min_calls = bad; }), "min_calls: want 1 to 1000000");
    EXPECT_EQ(ProblemOf([=](Options& o) { o.count_window = bad; }), "count_window: want 0 to 4096");
    EXPECT_EQ(ProblemOf([=](Options& o) { o.probes = bad; }), "probes: want 1 to 1000");
  }
  EXPECT_EQ(ProblemOf([](Options& o) { o.min_calls = 0; }), "min_calls: want 1 to 1000000");
  EXPECT_EQ(ProblemOf([](Options& o) { o.probes = 0; }), "probes: want 1 to 1000");
  EXPECT_EQ(ProblemOf([](Options& o) { o.probes = 1001; }), "probes: want 1 to 1000");
  EXPECT_EQ(ProblemOf([](Options& o) { o.count_window = 4097; }), "count_window: want 0 to 4096");
  EXPECT_EQ(ProblemOf([](Options& o) { o.count_window = 19; }),
            "min_calls: want at most count_window, or it is never reached");
  EXPECT_EQ(ProblemOf([](Options& o) { o.count_window = 20; }), "");
  EXPECT_EQ(ProblemOf([](Options& o) { o.consecutive_failures = 0; }), "");
}

TEST(CircuitBreakerOptions, BadRatiosAreRefusedByName) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {0.0, -0.1, 1.0000001, 1e308, kInf, -kInf, kNaN}) {
    EXPECT_EQ(ProblemOf([=](Options& o) { o.failure_ratio = bad; }),
              "failure_ratio: want 0.0001 to 1");
    EXPECT_EQ(ProblemOf([=](Options& o) { o.slow_ratio = bad; }), "slow_ratio: want 0.0001 to 1");
  }
  EXPECT_EQ(ProblemOf([](Options& o) { o.failure_ratio = 1; }), "");
}

TEST(CircuitBreakerOptions, BadTimesAreRefusedByName) {
  for (const Duration bad :
       {Duration(-1), Duration::min(), Duration::max(), Duration(hours(9000))}) {
    EXPECT_EQ(ProblemOf([=](Options& o) { o.window = bad; }), "window: want 1 us to 24 h");
    EXPECT_EQ(ProblemOf([=](Options& o) { o.slow_call = bad; }), "slow_call: want 0 to 24 h");
    EXPECT_EQ(ProblemOf([=](Options& o) { o.open_for = bad; }), "open_for: want 1 ns to 366 days");
    EXPECT_EQ(ProblemOf([=](Options& o) { o.max_open_for = bad; }),
              "max_open_for: want 0, or open_for to 366 days");
    EXPECT_EQ(ProblemOf([=](Options& o) { o.probe_timeout = bad; }),
              "probe_timeout: want 1 ns to 366 days");
    EXPECT_EQ(ProblemOf([=](Options& o) { o.ramp = bad; }), "ramp: want 0 to 366 days");
  }
  EXPECT_EQ(ProblemOf([](Options& o) { o.window = Duration(999); }), "window: want 1 us to 24 h");
  EXPECT_EQ(ProblemOf([](Options& o) { o.open_for = Duration(0); }),
            "open_for: want 1 ns to 366 days");
  EXPECT_EQ(ProblemOf([](Options& o) { o.probe_timeout = Duration(0); }),
            "probe_timeout: want 1 ns to 366 days");
  EXPECT_EQ(ProblemOf([](Options& o) { o.max_open_for = seconds(4); }),
            "max_open_for: want 0, or open_for to 366 days");
  EXPECT_EQ(ProblemOf([](Options& o) { o.max_open_for = seconds(5); }), "");
}

static_assert(Options{}.Problem().empty());

}  // namespace
}  // namespace shed
