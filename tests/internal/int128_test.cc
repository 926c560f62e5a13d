#include "shed/internal/int128.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace shed::internal {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

// A cast would keep the low 64 bits: a wait of 292 years more than fits would be a negative one.
static_assert(SaturateToInt64(Int128{kMax} + 1) == kMax);
static_assert(SaturateToInt64(Int128{kMin} - 1) == kMin);
static_assert(SaturateToInt64(Int128{kMax} * kMax) == kMax);
static_assert(SaturateToInt64(Int128{kMax} * kMin) == kMin);
static_assert(SaturateToInt64(kMax) == kMax && SaturateToInt64(kMin) == kMin);
static_assert(SaturateToInt64(0) == 0 && SaturateToInt64(-7) == -7);

TEST(Int128, IsCheckedAtCompileTime) { SUCCEED(); }

}  // namespace
}  // namespace shed::internal
