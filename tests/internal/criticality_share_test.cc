#include "shed/internal/criticality_share.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace shed::internal {
namespace {

constexpr std::uint32_t Usable(double share, std::uint32_t limit) {
  return CriticalityShare({share, 1.0, 1.0, 1.0}).Usable(limit, Criticality::kSheddable);
}

// 0.29 * 100 is 28.999999999999996 in doubles, and floor() makes 28 of it.
static_assert(Usable(0.29, 100) == 29);
static_assert(Usable(0.57, 100) == 57 && Usable(0.58, 100) == 58);
static_assert(Usable(0.1, 1'000'000'000) == 100'000'000);
// Down where it is no whole number.
static_assert(Usable(0.5, 7) == 3 && Usable(0.999, 100) == 99 && Usable(1.0 / 3, 10) == 3);
// The whole is the whole, at the largest limit too, and half of it does not overflow.
static_assert(Usable(1.0, std::numeric_limits<std::uint32_t>::max()) == 4'294'967'295);
static_assert(Usable(0.5, std::numeric_limits<std::uint32_t>::max()) == 2'147'483'647);
// A small share of a small limit is 1 and shuts nobody out; a share of zero does, and so does a
// limit of zero.
static_assert(Usable(0.1, 5) == 1 && Usable(0.01, 1) == 1 && Usable(1e-9, 100) == 1);
static_assert(Usable(std::numeric_limits<double>::denorm_min(), 1'000'000'000) >= 1);
static_assert(Usable(0.0, 100) == 0 && Usable(-0.0, 100) == 0);
static_assert(Usable(0.5, 0) == 0 && Usable(1.0, 0) == 0);

constexpr CriticalityShare kFour({0.1, 0.2, 0.8, 1.0});
static_assert(kFour.Usable(100, Criticality::kSheddable) == 10);
static_assert(kFour.Usable(100, Criticality::kSheddablePlus) == 20);
static_assert(kFour.Usable(100, Criticality::kCritical) == 80);
static_assert(kFour.Usable(100, Criticality::kCriticalPlus) == 100);
static_assert(kFour.Share(Criticality::kSheddablePlus) == 0.2);
// A caller who lies gains nothing.
static_assert(kFour.Usable(100, static_cast<Criticality>(200)) == 10);

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
static_assert(UsableProblem(kUsableAll).empty());
static_assert(UsableProblem({0.0, 0.0, 0.0, 0.5}).empty());
static_assert(UsableProblem({0.2, 0.1, 1.0, 1.0}).starts_with("usable: "));
static_assert(UsableProblem({0.1, 0.2, 1.0, 0.9}).starts_with("usable: "));
static_assert(UsableProblem({-0.1, 1.0, 1.0, 1.0}).starts_with("usable: "));
static_assert(UsableProblem({0.1, 1.0, 1.0, 1.1}).starts_with("usable: "));
static_assert(UsableProblem({kNan, 1.0, 1.0, 1.0}).starts_with("usable: "));
static_assert(UsableProblem({1.0, 1.0, 1.0, kNan}).starts_with("usable: "));
static_assert(UsableProblem({0.0, 0.0, 0.0, 0.0}).starts_with("usable: "));  // Deny all.

// Every whole per cent of 100 is that many, and a more critical class never gets less.
TEST(CriticalityShare, IsExactForPerCents) {
  std::uint32_t before = 0;
  for (std::uint32_t percent = 1; percent <= 100; ++percent) {
    const double share = static_cast<double>(percent) / 100;
    EXPECT_EQ(Usable(share, 100), percent);
    EXPECT_EQ(Usable(share, 1'000'000'000), percent * 10'000'000);
    EXPECT_GE(Usable(share, 37), before);
    before = Usable(share, 37);
  }
}

}  // namespace
}  // namespace shed::internal
