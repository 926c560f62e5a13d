#include "shed/demerit_tracker_options.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string_view>

#include "shed/demerit_tracker.h"

namespace shed {
namespace {

using std::chrono::hours;
// --- Bad options (P25 google/guava#2730: never "allow all") ----------------------------------

using Options = DemeritTrackerOptions;

void ExpectProblem(const Options& options, std::string_view sentence) {
  EXPECT_EQ(options.Problem(), sentence);
  try {
    DemeritTracker tracker(options);
    ADD_FAILURE() << "made with a bad option: " << sentence;
  } catch (const std::invalid_argument& e) {
    EXPECT_EQ(e.what(), sentence);
  }
}

static_assert(Options{}.Problem().empty());
static_assert(!Options{.budget = 0}.Problem().empty());

TEST(DemeritTrackerOptions, RefuseWholeNumbersOutOfRange) {
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t bad :
       {std::int64_t{0}, std::int64_t{-1}, kMin, kMax, std::int64_t{1'000'000'001}}) {
    ExpectProblem({.budget = bad}, "budget: want 1 to 1000000000 units");
  }
  for (const std::int64_t bad :
       {std::int64_t{0}, std::int64_t{-1}, kMin, kMax, std::int64_t{1'000'001}}) {
    ExpectProblem({.max_callers = bad}, "max_callers: want 1 to 1000000");
  }
  for (const Duration bad : {Duration(0), Duration(-1), Duration::min(), Duration::max(),
                             Duration(hours(24 * 366)) + Duration(1)}) {
    ExpectProblem({.window = bad}, "window: want 1 ns to 366 days");
    ExpectProblem({.max_penalty = bad}, "max_penalty: want 1 ns to 366 days");
  }
}

TEST(DemeritTrackerOptions, RefuseNumbersOutOfRange) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -0.0, -1.0, inf, -inf, std::nan(""), -std::nan(""),
                           std::numeric_limits<double>::max(), std::numeric_limits<double>::min(),
                           std::numeric_limits<double>::denorm_min(), 1'000'000.1}) {
    ExpectProblem({.demerit_per_denial = bad}, "demerit_per_denial: want 0.000001 to 1000000");
    ExpectProblem({.decay_per_second = bad}, "decay_per_second: want 0.000001 to 1000000");
    ExpectProblem({.hog_threshold = bad}, "hog_threshold: want 0.000001 to 1000000");
  }
}

TEST(DemeritTrackerOptions, RefuseADemeritAboveTheMost) {
  ExpectProblem({.budget = 8, .demerit_per_denial = 11.5, .hog_threshold = 3},
                "demerit_per_denial: want at most hog_threshold + budget");
  EXPECT_EQ((Options{.budget = 8, .demerit_per_denial = 11, .hog_threshold = 3}.Problem()), "");
}

}  // namespace
}  // namespace shed
