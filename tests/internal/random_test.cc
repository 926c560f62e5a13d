#include "shed/internal/random.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>

namespace shed::internal {
namespace {

// The published first outputs of splitmix64 seeded with 0: a changed constant would change every
// seeded answer of the library.
static_assert(Mix(0) == 0xe220'a839'7b1d'cdaf);
static_assert(Mix(kGolden) == 0x6e78'9e6a'a1b9'65f4);
static_assert(Mix(2 * kGolden) == 0x06c4'5d18'8009'454f);

// Draws compare the high bits of hashes of consecutive numbers: one bit of the input must move
// about half of the output, high bits included.
TEST(Random, OneBitOfInputMovesHalfOfTheOutput) {
  for (int bit = 0; bit < 64; ++bit) {
    int moved = 0;
    int high = 0;
    for (std::uint64_t x = 0; x < 1000; ++x) {
      const std::uint64_t difference = Mix(x) ^ Mix(x ^ (std::uint64_t{1} << bit));
      moved += std::popcount(difference);
      high += static_cast<int>(difference >> 63);
    }
    EXPECT_NEAR(moved, 32'000, 600) << bit;
    EXPECT_NEAR(high, 500, 80) << bit;
  }
}

}  // namespace
}  // namespace shed::internal
