#include "shed/gradient.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <random>

namespace shed {
namespace {

using namespace std::chrono_literals;

using Options = GradientOptions;

// A service as fast as its baseline may grow by what counts as healthy; at the healthy latency the
// gradient is 1.
static_assert(Gradient::GradientOf(10ms, 0.25, 10ms) == 1.25);
static_assert(Gradient::GradientOf(10ms, 0.25, 12500us) == 1.0);
// One odd window halves the limit at most, and doubles it at most.
static_assert(Gradient::GradientOf(10ms, 0.25, 1h) == 0.5);
static_assert(Gradient::GradientOf(1h, 0.25, 1us) == 2.0);
// Vegas throws at a latency of 0, and Envoy divides by it: a coarse clock is no congestion.
static_assert(Gradient::GradientOf(10ms, 0.25, 0ns) == 2.0);
static_assert(Gradient::GradientOf(0ns, 0.0, 0ns) == 2.0);
static_assert(Gradient::GradientOf(0ns, 0.25, 1ms) == 0.5);
static_assert(Gradient::GradientOf(10ms, 0.25, -1ms) == 2.0);
// Durations are not divided as integers.
static_assert(Gradient::GradientOf(3ns, 0.0, 2ns) == 1.5);

static_assert(Gradient::PlusRoot(0.0) == 0);
static_assert(Gradient::PlusRoot(0.25) == 0);
static_assert(Gradient::PlusRoot(1.0) == 2);
static_assert(Gradient::PlusRoot(15.99) == 19);
static_assert(Gradient::PlusRoot(16.0) == 20);
static_assert(Gradient::PlusRoot(2'000'000.0) == 2'001'414);

// Netflix/concurrency-limits#65: a gradient above 1 must not lift a limit that nobody uses.
static_assert(Gradient::NextLimit(20, 2.0, 2, {}) == 20);
static_assert(Gradient::NextLimit(20, 2.0, 10, {}) == 20);
static_assert(Gradient::NextLimit(20, 2.0, 11, {}) == 22);
static_assert(Gradient::NextLimit(20, 2.0, 20, {}) == 40);
static_assert(Gradient::NextLimit(20, 2.0, 23, {}) == 46);
static_assert(Gradient::NextLimit(20, 2.0, 24, {}) == 46);  // 40 + 6.3.
static_assert(Gradient::NextLimit(20, 2.0, 2, Options{.app_limited_guard = false}) == 46);
// The guard holds growth back; it does not shrink.
static_assert(Gradient::NextLimit(20, 0.5, 0, {}) == 13);
// apache/brpc#1006: never below the minimum, and so never at 0.
static_assert(Gradient::NextLimit(4, 0.5, 1, {}) == 4);
static_assert(Gradient::NextLimit(1, 0.5, 1, Options{.min_limit = 1}) == 1);
static_assert(Gradient::NextLimit(1000, 2.0, 1000, {}) == 1000);

static_assert(Gradient::Shrunk(100, {}) == 90);
static_assert(Gradient::Shrunk(5, {}) == 4);
static_assert(Gradient::Shrunk(4, {}) == 4);
static_assert(Gradient::Shrunk(100, Options{.overload_shrink = 0.0}) == 100);

static_assert(!Gradient::IsOverloaded(0, 0));
static_assert(!Gradient::IsOverloaded(10, 100));
static_assert(Gradient::IsOverloaded(11, 100));
static_assert(Gradient::IsOverloaded(1, 1));

// The integer root against the floating-point one, wherever that is exact enough to tell.
TEST(Gradient, PlusRootAgreesWithSqrt) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 1'000'000; ++i) {
    const double x = static_cast<double>(random() % 2'000'000'000) / 1000.0;
    const long double exact = static_cast<long double>(x) + std::sqrt(static_cast<long double>(x));
    ASSERT_EQ(Gradient::PlusRoot(x), static_cast<std::uint64_t>(std::floor(exact))) << x;
  }
}

// A limit that starts above it comes to rest where limit = limit·g + sqrt(limit·g), at g/(1−g)²: 20
// for a sample a quarter above what is healthy.
TEST(Gradient, SettlesWhereTheFormulaSays) {
  for (const std::uint32_t start : {20u, 50u, 1000u}) {
    std::uint32_t limit = start;
    for (int i = 0; i < 200; ++i) limit = Gradient::NextLimit(limit, 0.8, 1000, {.min_limit = 1});
    EXPECT_NEAR(limit, 0.8 / (0.2 * 0.2), 5) << start;
    for (int i = 0; i < 200; ++i) limit = Gradient::NextLimit(limit, 0.5, 1000, {.min_limit = 1});
    EXPECT_LE(limit, 2u) << start;
    for (int i = 0; i < 200; ++i) limit = Gradient::NextLimit(limit, 1.5, 1000, {.min_limit = 1});
    EXPECT_EQ(limit, 1000u) << start;
  }
}
// Whole calls: at the same gradient 4 stays 4 (4.99 rounded down), which is why the minimum counts
// windows and measures again.
static_assert(Gradient::NextLimit(4, 0.8, 1000, {}) == 4);
static_assert(Gradient::NextLimit(5, 0.8, 1000, {}) == 6);

}  // namespace
}  // namespace shed
