#include "shed/internal/fixed_array.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace shed::internal {
namespace {

static_assert(!std::is_copy_constructible_v<FixedArray<int>>);
static_assert(!std::is_copy_assignable_v<FixedArray<int>>);

TEST(FixedArray, StartsWithEveryElementEmpty) {
  FixedArray<int> numbers(1'000);
  EXPECT_EQ(numbers.size(), 1'000u);
  for (const int n : numbers) EXPECT_EQ(n, 0);
  struct Named {
    int value = 7;
  };
  for (const Named& named : FixedArray<Named>(100)) EXPECT_EQ(named.value, 7);
}

TEST(FixedArray, HoldsWhatWasPutIn) {
  FixedArray<int> numbers(10);
  int next = 0;
  for (int& n : numbers) n = next++;
  const FixedArray<int>& constant = numbers;  // Its elements are not.
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(numbers[i], static_cast<int>(i));
    EXPECT_EQ(&constant[i], &numbers[i]);
  }
  EXPECT_EQ(constant.end() - constant.begin(), 10);
}

TEST(FixedArray, MayBeEmpty) {
  const FixedArray<int> none(0);
  EXPECT_EQ(none.size(), 0u);
  EXPECT_EQ(none.begin(), none.end());
}

struct Counted {
  Counted() { ++alive; }
  ~Counted() { --alive; }
  static inline int alive = 0;
};
TEST(FixedArray, EndsItsElements) {
  {
    const FixedArray<Counted> elements(5);
    EXPECT_EQ(Counted::alive, 5);
  }
  EXPECT_EQ(Counted::alive, 0);
}

TEST(FixedArray, Swaps) {
  FixedArray<int> one(1);
  FixedArray<int> two(2);
  two[1] = 5;
  one.Swap(two);
  EXPECT_EQ(one.size(), 2u);
  EXPECT_EQ(two.size(), 1u);
  EXPECT_EQ(one[1], 5);
}

}  // namespace
}  // namespace shed::internal
