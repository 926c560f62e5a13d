#include "fuzz/bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <set>

namespace shed::fuzz {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

TEST(Bytes, TakesNoMoreThanAChoiceNeeds) {
  const std::uint8_t data[] = {7, 1, 2, 9};
  Bytes bytes(data, sizeof data);
  EXPECT_EQ(bytes.Below(1), 0u);
  EXPECT_EQ(bytes.Below(256), 7u);
  EXPECT_EQ(bytes.Below(257), 0x102u % 257);
  EXPECT_FALSE(bytes.empty());
  EXPECT_EQ(bytes.Below(4), 1u);
  EXPECT_TRUE(bytes.empty());
  EXPECT_EQ(bytes.Below(4), 0u);
  EXPECT_EQ(bytes.Between(-3, 3), -3);
}

TEST(Bytes, StaysInRange) {
  const std::uint8_t ones[] = {255, 255, 255, 255, 255, 255, 255, 255, 255};
  EXPECT_EQ(Bytes(ones, sizeof ones).Between(kMin, kMax - 1), kMin + 0);
  for (const std::int64_t high : {std::int64_t{1}, std::int64_t{2}, std::int64_t{1000}, kMax}) {
    std::set<std::int64_t> seen;
    for (int first = 0; first < 256; ++first) {
      for (const int rest : {0, 1, 128, 255}) {
        std::uint8_t data[9];
        std::fill(std::begin(data), std::end(data), static_cast<std::uint8_t>(rest));
        data[0] = static_cast<std::uint8_t>(first);
        const std::int64_t value = Bytes(data, sizeof data).AnyScale(high);
        ASSERT_GE(value, 0);
        ASSERT_LE(value, high);
        seen.insert(value);
      }
    }
    EXPECT_TRUE(seen.contains(0)) << high;
    EXPECT_TRUE(seen.contains(1)) << high;
    EXPECT_TRUE(seen.contains(high)) << high;
  }
  EXPECT_EQ(Bytes(ones, sizeof ones).AnyScale(0), 0);
}

}  // namespace
}  // namespace shed::fuzz
