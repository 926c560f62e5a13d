#include "shed/internal/rate_in_ticks.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>

namespace shed::internal {
namespace {

using namespace std::chrono_literals;

TEST(RateInTicks, IsInLowestTerms) {
  constexpr RateInTicks kEven(1000, 1s);
  EXPECT_EQ(kEven.ticks_per_ns, 1);
  EXPECT_EQ(kEven.ticks_per_unit, 1'000'000);
  constexpr RateInTicks kFast(1'999'999'993, 1s);  // A prime: nothing cancels.
  EXPECT_EQ(kFast.ticks_per_ns, 1'999'999'993);
  EXPECT_EQ(kFast.ticks_per_unit, 1'000'000'000);
  constexpr RateInTicks kThirds(3, 7ns);
  EXPECT_EQ(kThirds.ticks_per_ns, 3);
  EXPECT_EQ(kThirds.ticks_per_unit, 7);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr RateInTicks kSame(kMost, Duration(kMost));
  EXPECT_EQ(kSame.ticks_per_ns, 1);
  EXPECT_EQ(kSame.ticks_per_unit, 1);
}

}  // namespace
}  // namespace shed::internal
