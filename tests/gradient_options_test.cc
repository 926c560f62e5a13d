#include "shed/gradient_options.h"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <string_view>
#include <vector>

namespace shed {
namespace {

using namespace std::chrono_literals;

static_assert(GradientOptions{}.Problem().empty());
static_assert(
    GradientOptions{.baseline = GradientBaseline::kFixed, .fixed_baseline = 3ms}.Problem().empty());

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr Duration kForever = Duration::max();

// google/guava#2730: each bad value is refused with the field's name, never "allow all".
TEST(GradientOptions, RefusesBadValuesByName) {
  using O = GradientOptions;
  const auto fixed = GradientBaseline::kFixed;
  struct Bad {
    O options;
    std::string_view field;
  };
  std::vector<Bad> all;
  for (const double x : {0.0, -0.1, 1.1, kNan, kInf, -kInf})
    all.push_back({{.percentile = x}, "percentile"});
  for (const double x : {-0.1, 100.1, kNan, kInf, -kInf}) all.push_back({{.buffer = x}, "buffer"});
  for (const Duration x : {Duration(0), Duration(-1s), Duration(999ns), Duration(2h), kForever}) {
    all.push_back({{.interval = x}, "interval"});
  }
  for (const std::int64_t x : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1'000'001}, kMax}) {
    all.push_back({{.min_samples = x}, "min_samples"});
    all.push_back({{.min_limit = x}, "min_limit"});
    all.push_back({{.max_limit = x}, "max_limit"});
    all.push_back({{.initial_limit = x}, "initial_limit"});
    all.push_back({{.probe_limit = x}, "probe_limit"});
    all.push_back({{.probe_samples = x}, "probe_samples"});
    if (x != 0) all.push_back({{.stuck_windows = x}, "stuck_windows"});
  }
  all.push_back({{.min_limit = 11, .max_limit = 10}, "min_limit"});
  all.push_back({{.min_limit = 21}, "initial_limit"});
  all.push_back({{.max_limit = 19}, "initial_limit"});
  all.push_back({{.max_limit = 20, .probe_limit = 21}, "probe_limit"});
  all.push_back({{.baseline = static_cast<GradientBaseline>(3)}, "baseline"});
  all.push_back({{.fixed_baseline = 3ms}, "fixed_baseline"});
  // Below 1 us the samples read higher than the baseline, however healthy the service is.
  for (const Duration x : {Duration(0), Duration(-1s), Duration(999), Duration(2h), kForever}) {
    all.push_back({{.baseline = fixed, .fixed_baseline = x}, "fixed_baseline"});
  }
  all.push_back({{.baseline = fixed, .fixed_baseline = 2s, .max_baseline = 1s}, "fixed_baseline"});
  for (const Duration x : {Duration(-1s), Duration(999), Duration(2h), kForever}) {
    all.push_back({{.initial_baseline = x}, "initial_baseline"});
  }
  all.push_back({{.initial_baseline = 2s, .max_baseline = 1s}, "initial_baseline"});
  all.push_back(
      {{.baseline = fixed, .fixed_baseline = 3ms, .initial_baseline = 3ms}, "initial_baseline"});
  for (const Duration x :
       {Duration(0), Duration(-1s), Duration(1ms), Duration(24h * 367), kForever}) {
    all.push_back({{.probe_interval = x}, "probe_interval"});
  }
  for (const double x : {-0.1, 1.1, kNan, kInf})
    all.push_back({{.probe_jitter = x}, "probe_jitter"});
  for (const Duration x : {Duration(0), Duration(-1s), Duration(2h), kForever}) {
    all.push_back({{.probe_timeout = x}, "probe_timeout"});
    all.push_back({{.max_baseline = x}, "max_baseline"});
  }
  for (const double x : {-0.1, 0.91, kNan, kInf})
    all.push_back({{.overload_shrink = x}, "overload_shrink"});
  for (const double x : {-0.1, 1.1, kNan, kInf})
    all.push_back({{.usable = {x, 1, 1, 1}}, "usable"});
  all.push_back({{.usable = {1, 0.5, 1, 1}}, "usable"});
  for (const Bad& bad : all) {
    const std::string_view problem = bad.options.Problem();
    EXPECT_EQ(problem.substr(0, problem.find(':')), bad.field) << problem;
  }
}

}  // namespace
}  // namespace shed
