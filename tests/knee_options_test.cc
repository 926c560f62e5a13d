#include "shed/knee_options.h"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <string_view>
#include <vector>

namespace shed {
namespace {

using namespace std::chrono_literals;

static_assert(KneeOptions{}.Problem().empty());

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

// google/guava#2730: each bad value is refused with the field's name, never "allow all".
TEST(KneeOptions, RefusesBadValuesByName) {
  struct Bad {
    KneeOptions options;
    std::string_view field;
  };
  std::vector<Bad> all;
  for (const std::int64_t x : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1'000'001}, kMax}) {
    all.push_back({{.min_limit = x}, "min_limit"});
    all.push_back({{.max_limit = x}, "max_limit"});
    all.push_back({{.initial_limit = x}, "initial_limit"});
    all.push_back({{.headroom = x}, "headroom"});
  }
  all.push_back({{.headroom = 100'001}, "headroom"});
  for (const double x : {-0.1, 1e6 + 1, kNan, kInf}) {
    all.push_back({{.initial_knee = x}, "initial_knee"});
  }
  all.push_back({{.min_limit = 11, .max_limit = 10}, "min_limit"});
  all.push_back({{.min_limit = 21}, "initial_limit"});
  all.push_back({{.max_limit = 19}, "initial_limit"});
  for (const Duration x :
       {Duration(0), Duration(-1s), Duration(99ms), Duration(2h), Duration::max()}) {
    all.push_back({{.dip_interval = x}, "dip_interval"});
  }
  for (const double x : {-0.1, 0.91, kNan, kInf, -kInf})
    all.push_back({{.dip_jitter = x}, "dip_jitter"});
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
