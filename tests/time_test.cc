#include "shed/time.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <type_traits>

namespace shed {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr TimePoint At(std::int64_t ns) { return TimePoint(Duration(ns)); }
constexpr Duration kCentury = 24h * 36525;

// The wall clock must not get in, and whole units must.
static_assert(!std::is_convertible_v<std::chrono::system_clock::time_point, TimePoint>);
static_assert(!std::is_convertible_v<std::chrono::steady_clock::time_point, TimePoint>);
static_assert(std::is_convertible_v<std::chrono::hours, Duration>);
static_assert(!std::is_convertible_v<std::chrono::duration<double>, Duration>);

static_assert(SaturatingAdd(2, -5) == -3);
static_assert(SaturatingAdd(kMax, 1) == kMax && SaturatingAdd(1, kMax) == kMax);
static_assert(SaturatingAdd(kMin, -1) == kMin && SaturatingAdd(kMin, kMin) == kMin);
static_assert(SaturatingAdd(kMax, kMax) == kMax && SaturatingAdd(kMin, kMax) == -1);
static_assert(SaturatingAdd(kMax - 1, 1) == kMax && SaturatingAdd(kMin + 1, -1) == kMin);

// A clock that goes back gives no time, and certainly no negative one.
static_assert(Elapsed(At(5), At(7)) == Duration(2));
static_assert(Elapsed(At(7), At(5)) == Duration(0) && Elapsed(At(7), At(7)) == Duration(0));
static_assert(Elapsed(At(kMax), At(kMin)) == Duration(0));
// The whole timeline does not fit into a Duration.
static_assert(Elapsed(At(kMin), At(kMax)) == Duration::max());
static_assert(Elapsed(At(kMin), At(-1)) == Duration(kMax));
static_assert(Elapsed(At(kMin), At(0)) == Duration::max());
static_assert(Elapsed(At(-1), At(kMax)) == Duration::max());

static_assert(After(At(5), 7ns) == At(12) && After(At(5), -7ns) == At(-2));
static_assert(After(At(5), Duration::max()) == TimePoint::max());
static_assert(After(At(-5), Duration::min()) == TimePoint::min());

// Two jumps of 100 years fit; a fourth is held at the end (292 years from zero).
static_assert(Elapsed(At(0), After(After(At(0), kCentury), kCentury)) == 2 * kCentury);
static_assert(After(After(At(2 * kCentury.count()), kCentury), kCentury) == TimePoint::max());
static_assert(Elapsed(After(At(0), -kCentury), At(0)) == kCentury);

// The same without the compiler's help: an overflow would be seen by UBSan.
TEST(Time, SaturatesAtRunTimeToo) {
  const std::int64_t values[] = {kMin, kMin + 1, -1, 0, 1, kMax - 1, kMax};
  for (const std::int64_t a : values) {
    for (const std::int64_t b : values) {
      const long double sum = static_cast<long double>(a) + static_cast<long double>(b);
      const std::int64_t expected = sum > static_cast<long double>(kMax)   ? kMax
                                    : sum < static_cast<long double>(kMin) ? kMin
                                                                           : a + b;
      EXPECT_EQ(SaturatingAdd(a, b), expected) << a << " + " << b;
      EXPECT_EQ(After(At(a), Duration(b)), At(expected));
      EXPECT_GE(Elapsed(At(a), At(b)), Duration::zero());
      EXPECT_EQ(Elapsed(At(a), At(b)) > Duration::zero(), b > a);
    }
  }
}

}  // namespace
}  // namespace shed
