#include "shed/aimd.h"

#include <gtest/gtest.h>

namespace shed {
namespace {

using namespace std::chrono_literals;
using internal::SampledWindow;

constexpr double After(double limit, const SampledWindow& window, const AimdOptions& options = {}) {
  return Aimd::Guarded(options, limit, window,
                       [](double l, const SampledWindow& w) { return Aimd::Next(l, w); });
}
static_assert(After(20, {.peak = 20}) == 21);
static_assert(After(20, {.peak = 10}) == 21);
static_assert(After(20, {.peak = 9}) == 20);
static_assert(After(20, {.peak = 20, .congested = true}) == 18);
static_assert(After(4, {.peak = 4, .congested = true}) == 4);
static_assert(After(1000, {.peak = 1000}) == 1000);
static_assert(After(1.5, {.congested = true}, {.min_limit = 1, .backoff = 0.5}) == 1);

// A limit that fell in fractions of a call comes down all the same.
TEST(Aimd, FractionsAddUp) {
  double limit = 9;
  for (int i = 0; i < 5; ++i) limit = After(limit, {.congested = true}, {.backoff = 0.99});
  EXPECT_LT(limit, 8.6);
  EXPECT_GT(limit, 8.5);
}

}  // namespace
}  // namespace shed
