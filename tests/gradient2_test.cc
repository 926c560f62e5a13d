#include "shed/gradient2.h"

#include <gtest/gtest.h>

#include <limits>

namespace shed {
namespace {

using namespace std::chrono_literals;
using internal::SampledWindow;

static_assert(Gradient2::GradientOf(10, 1.5, 10) == 1);
static_assert(Gradient2::GradientOf(10, 1.5, 15) == 1);
static_assert(Gradient2::GradientOf(10, 1.5, 20) == 0.75);
static_assert(Gradient2::GradientOf(10, 1.5, 1e9) == 0.5);
static_assert(Gradient2::GradientOf(0, 1.5, 0) == 1);
static_assert(Gradient2::NextLimit({.queue = 4, .smoothing = 1}, 20, 1) == 24);
static_assert(Gradient2::NextLimit({.queue = 4, .smoothing = 0.5}, 20, 0.5) == 17);
static_assert(Gradient2::NextLimit({.queue = 0, .smoothing = 1}, 20, 0.5) == 10);

SampledWindow Of(Duration latency) { return {.latency = latency, .peak = 1000}; }

TEST(Gradient2, TheAverageIsThePlainMeanAtFirstAndSlowThen) {
  Gradient2 gradient({.long_windows = 99});
  for (int i = 1; i <= 10; ++i) gradient.Next(20, Of(i * 1ms));
  EXPECT_NEAR(static_cast<double>(gradient.Read().long_average.count()), 5.5e6, 2);
  gradient.Next(20, Of(10'500us));  // 2 / 100 of the way.
  EXPECT_NEAR(static_cast<double>(gradient.Read().long_average.count()), 5.6e6, 3);
}

// After an overload the average comes down in seconds, and not in minutes.
TEST(Gradient2, AnAverageFarAboveComesDownSoon) {
  Gradient2 gradient({});
  for (int i = 0; i < 20; ++i) gradient.Next(20, Of(100ms));
  for (int i = 0; i < 40; ++i) gradient.Next(20, Of(10ms));
  EXPECT_LT(gradient.Read().long_average, Duration(21ms));
}

TEST(Gradient2, BadOptionsAreRefusedByName) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double bad : {-1.0, kNan, kInfinity}) {
    EXPECT_EQ((Gradient2Options{.tolerance = bad}.Problem()), "tolerance: want 1 to 100");
    EXPECT_EQ((Gradient2Options{.queue = bad}.Problem()), "queue: want 0 to 1000000 calls");
    EXPECT_EQ((Gradient2Options{.smoothing = bad}.Problem()), "smoothing: want 0.001 to 1");
  }
  EXPECT_EQ((Gradient2Options{.tolerance = 0.99}.Problem()), "tolerance: want 1 to 100");
  EXPECT_EQ((Gradient2Options{.long_windows = 9}.Problem()), "long_windows: want 10 to 1000000");
}

// An average that was saved is as slow as one that was learned.
TEST(Gradient2, BeginsWithTheAverageThatItIsTold) {
  const Gradient2Options options{.initial_baseline = 10ms, .long_windows = 99};
  ASSERT_EQ(options.Problem(), "");
  Gradient2 gradient(options);
  EXPECT_EQ(gradient.Read().long_average, Duration(10ms));
  gradient.Next(20, Of(15ms));
  EXPECT_NEAR(static_cast<double>(gradient.Read().long_average.count()), 10.1e6, 2);
  for (const Duration bad : {Duration(-1ns), Duration(999ns), Duration(1h + 1ns)}) {
    EXPECT_EQ((Gradient2Options{.initial_baseline = bad}.Problem()),
              "initial_baseline: want 0, or 1 us to 1 h");
  }
}

}  // namespace
}  // namespace shed
