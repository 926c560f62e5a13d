#include "shed/internal/draws.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace shed::internal {
namespace {

using Source = Draws<StdSync>;

static_assert(Source::Threshold(0) == 0 && Source::Threshold(-1) == 0);
static_assert(Source::Threshold(1) == Source::kCertain && Source::Threshold(7) == 65'535);
static_assert(Source::Threshold(0.5) == 32'768);

std::vector<std::uint32_t> Take(std::uint64_t seed, int count) {
  Source draws(seed);
  std::vector<std::uint32_t> taken;
  for (int i = 0; i < count; ++i) taken.push_back(draws.Next());
  return taken;
}

TEST(Draws, TheSameSeedGivesTheSameDraws) {
  EXPECT_EQ(Take(7, 1000), Take(7, 1000));
  EXPECT_NE(Take(7, 1000), Take(8, 1000));
}

// A probability of 1 must always say yes, and one of 0 never: a draw of 65535 would not.
TEST(Draws, CoverTheirRangeEvenly) {
  Source draws(1);
  constexpr int kDraws = 1 << 20;
  int below[4] = {};
  std::uint32_t largest = 0;
  for (int i = 0; i < kDraws; ++i) {
    const std::uint32_t draw = draws.Next();
    if (draw > largest) largest = draw;
    for (int k = 0; k < 4; ++k) below[k] += draw < Source::Threshold(0.2 * (k + 1)) ? 1 : 0;
  }
  EXPECT_EQ(largest, Source::kCertain - 1);
  for (int k = 0; k < 4; ++k) EXPECT_NEAR(below[k], kDraws * 0.2 * (k + 1), 2500) << k;
}

// Two stripes with one stream would let calls through in step.
TEST(Draws, StripesHaveStreamsOfTheirOwn) {
  Source draws(1);
  std::vector<std::uint32_t> mine;
  std::vector<std::uint32_t> theirs;
  for (int i = 0; i < 64; ++i) mine.push_back(draws.Next());
  std::thread([&] {
    for (int i = 0; i < 64; ++i) theirs.push_back(draws.Next());
  }).join();
  EXPECT_NE(mine, theirs);
}

}  // namespace
}  // namespace shed::internal
