#include "shed/internal/bounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "shed/time.h"

namespace shed::internal {
namespace {

static_assert(Min(1, 2) == 1 && Min(2, 1) == 1 && Min(-1, -1) == -1);
static_assert(Max(1, 2) == 2 && Max(2, 1) == 2 && Max(-1, -1) == -1);
static_assert(Clamp(0, 1, 3) == 1 && Clamp(2, 1, 3) == 2 && Clamp(4, 1, 3) == 3);
static_assert(Clamp(1, 1, 1) == 1);
static_assert(Min<Duration>(std::chrono::seconds(1), std::chrono::hours(1)) ==
              Duration(1'000'000'000));
static_assert(Max(TimePoint::min(), TimePoint::max()) == TimePoint::max());

// The same as those of std, also where the order of the arguments decides: NaN, and zeros.
TEST(Bounds, AreThoseOfStd) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const double values[] = {0.0, -0.0, 1.0, -1.0, kInf, -kInf, kNaN, 1e-300};
  const auto same = [](double a, double b) { return __builtin_memcmp(&a, &b, sizeof a) == 0; };
  for (const double a : values) {
    for (const double b : values) {
      EXPECT_TRUE(same(Min(a, b), std::min(a, b))) << a << " " << b;
      EXPECT_TRUE(same(Max(a, b), std::max(a, b))) << a << " " << b;
      if (b < 2.0) {
        EXPECT_TRUE(same(Clamp(a, b, 2.0), std::clamp(a, b, 2.0))) << a << " " << b;
      }
    }
  }
}

}  // namespace
}  // namespace shed::internal
