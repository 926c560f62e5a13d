#include "shed/vegas.h"

#include <gtest/gtest.h>

#include <limits>

namespace shed {
namespace {

using namespace std::chrono_literals;
using internal::SampledWindow;

static_assert(Vegas::QueuedOf(20, 10ms, 10ms) == 0);
static_assert(Vegas::QueuedOf(20, 10ms, 20ms) == 10);
static_assert(Vegas::QueuedOf(20, 10ms, 5ms) == 0);
// Netflix's throws at 0: a coarse clock is no congestion.
static_assert(Vegas::QueuedOf(20, 0ms, 0ms) == 0);
static_assert(Vegas::QueuedOf(20, 0ms, 1ms) == 20);

TEST(Vegas, StepsByTheLogarithm) {
  const VegasOptions options;
  EXPECT_EQ(Vegas::NextLimit(options, 100, 0), 112);
  EXPECT_EQ(Vegas::NextLimit(options, 100, 2), 112);
  EXPECT_EQ(Vegas::NextLimit(options, 100, 5.9), 102);
  EXPECT_EQ(Vegas::NextLimit(options, 100, 6), 100);
  EXPECT_EQ(Vegas::NextLimit(options, 100, 12), 100);
  EXPECT_EQ(Vegas::NextLimit(options, 100, 12.1), 98);
  // Never by less than one: log10 of 1 is 0.
  EXPECT_EQ(Vegas::NextLimit(options, 1, 0), 7);
  EXPECT_EQ(Vegas::NextLimit(options, 2, 100), 1);
}

SampledWindow At(Duration end, Duration latency) {
  return {.end = TimePoint(end), .latency = latency, .peak = 100};
}

// The latency of one moment of two intervals is remembered; that of long ago is not.
TEST(Vegas, TheBaselineIsTheLeastOfTwoIntervals) {
  Vegas vegas(VegasOptions{.baseline_interval = 10s});
  vegas.Next(20, At(0s, 10ms));
  vegas.Next(20, At(1s, 5ms));
  vegas.Next(20, At(2s, 20ms));
  EXPECT_EQ(vegas.Read().baseline, Duration(5ms));
  vegas.Next(20, At(10s, 20ms));
  vegas.Next(20, At(19s, 20ms));
  EXPECT_EQ(vegas.Read().baseline, Duration(5ms));
  EXPECT_EQ(vegas.Read().queued, 15);
  vegas.Next(20, At(20s, 20ms));
  EXPECT_EQ(vegas.Read().baseline, Duration(20ms));
}

// Netflix/concurrency-limits#165: a baseline that drifts up can be pinned.
TEST(Vegas, TheBaselineIsNeverAboveTheMost) {
  Vegas vegas(VegasOptions{.baseline_interval = 1s, .max_baseline = 10ms});
  for (int i = 0; i < 10; ++i) vegas.Next(20, At(i * 1s, 40ms));
  EXPECT_EQ(vegas.Read().baseline, Duration(10ms));
  EXPECT_EQ(vegas.Read().queued, 15);
}

TEST(Vegas, BadOptionsAreRefusedByName) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {0.0, -1.0, 1001.0, kNan}) {
    EXPECT_EQ((VegasOptions{.alpha = bad}.Problem()), "alpha: want 1 to 1000");
    EXPECT_EQ((VegasOptions{.beta = bad}.Problem()), "beta: want alpha to 1000");
  }
  EXPECT_EQ((VegasOptions{.alpha = 4, .beta = 3}.Problem()), "beta: want alpha to 1000");
  EXPECT_EQ((VegasOptions{.interval = 1s, .baseline_interval = 999ms}.Problem()),
            "baseline_interval: want interval to 366 days");
  EXPECT_EQ((VegasOptions{.max_baseline = 0s}.Problem()), "max_baseline: want 1 us to 1 h");
}

// A baseline that was saved is one interval's: it goes when two have passed.
TEST(Vegas, BeginsWithTheBaselineThatItIsTold) {
  const VegasOptions options{.initial_baseline = 5ms, .baseline_interval = 10s};
  ASSERT_EQ(options.Problem(), "");
  Vegas vegas(options);
  EXPECT_EQ(vegas.Read().baseline, Duration(5ms));
  vegas.Next(20, At(0s, 20ms));
  EXPECT_EQ(vegas.Read().baseline, Duration(5ms));
  EXPECT_EQ(vegas.Read().queued, 15);
  vegas.Next(20, At(10s, 20ms));
  EXPECT_EQ(vegas.Read().baseline, Duration(20ms));
  for (const Duration bad : {Duration(-1ns), Duration(999ns), Duration(11ms), Duration::max()}) {
    EXPECT_EQ((VegasOptions{.initial_baseline = bad, .max_baseline = 10ms}.Problem()),
              "initial_baseline: want 0, or 1 us to max_baseline");
  }
}

}  // namespace
}  // namespace shed
