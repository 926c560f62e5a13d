#include "shed/internal/split_mix.h"

#include <gtest/gtest.h>

#include <set>

namespace shed::internal {
namespace {

// The same seed, the same draws; another seed, others from the first draw on (a fleet numbered 0,
// 1, 2 must not move together).
TEST(SplitMix, SeedsAreStreams) {
  std::set<std::uint64_t> first;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SplitMix a(seed);
    SplitMix b(seed);
    first.insert(a.Next());
    b.Next();
    EXPECT_EQ(a.Next(), b.Next());
  }
  EXPECT_EQ(first.size(), 100u);
}

TEST(SplitMix, UniformStaysInRangeAndFillsIt) {
  SplitMix random(5);
  double sum = 0;
  double least = 10;
  double most = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double u = random.Uniform(0.5, 1.5);
    ASSERT_GE(u, 0.5);
    ASSERT_LT(u, 1.5);
    sum += u;
    least = std::min(least, u);
    most = std::max(most, u);
  }
  EXPECT_NEAR(sum / 100'000, 1.0, 0.01);
  EXPECT_LT(least, 0.501);
  EXPECT_GT(most, 1.499);
  EXPECT_EQ(SplitMix(1).Uniform(2.0, 2.0), 2.0);
}

}  // namespace
}  // namespace shed::internal
