#include "shed/internal/limit_word.h"

#include <gtest/gtest.h>

namespace shed::internal {
namespace {

constexpr std::uint64_t kMax = LimitWord::kMaxLimit;

// One addition ends a call and counts it; the limit between the two fields stays.
static_assert([] {
  LimitWord word = LimitWord::Of(7);
  word = LimitWord(word.bits() + LimitWord::kStart);
  word = LimitWord(word.bits() + LimitWord::kStart);
  word = LimitWord(word.bits() + LimitWord::kEnd);
  return word.limit() == 7 && word.in_flight() == 1 && word.completed() == 1;
}());

// A cancelled call is not counted.
static_assert(LimitWord(LimitWord::Of(7).bits() + LimitWord::kStart + LimitWord::kCancel).bits() ==
              LimitWord::Of(7).bits());

// Down and up again, with both neighbours full: no carry reaches either of them.
static_assert([] {
  std::uint64_t bits = (std::uint64_t{LimitWord::kCompletedMask} << 40) | (kMax << 20) | kMax;
  bits += LimitWord::MoveLimit(LimitWord::kMaxLimit, 1);
  const LimitWord low(bits);
  if (low.limit() != 1 || low.in_flight() != kMax || low.completed() != LimitWord::kCompletedMask) {
    return false;
  }
  const LimitWord high(bits + LimitWord::MoveLimit(1, LimitWord::kMaxLimit));
  return high.limit() == kMax && high.in_flight() == kMax &&
         high.completed() == LimitWord::kCompletedMask;
}());

// The counter wraps off the top of the word, and disturbs nothing below it.
static_assert([] {
  const std::uint64_t full = (std::uint64_t{LimitWord::kCompletedMask} << 40) | (5u << 20) | 2;
  const LimitWord word(full + LimitWord::kEnd);
  return word.completed() == 0 && word.limit() == 5 && word.in_flight() == 1 &&
         word.CompletedSince(LimitWord::kCompletedMask - 1) == 2;
}());

TEST(LimitWord, HoldsEveryLimit) {
  std::uint64_t bits = LimitWord::Of(1).bits() + 3 * LimitWord::kStart;
  std::uint32_t from = 1;
  for (std::uint32_t to : {1000u, 1u, LimitWord::kMaxLimit, 4u, 524'288u, 1u}) {
    bits += LimitWord::MoveLimit(from, to);
    from = to;
    EXPECT_EQ(LimitWord(bits).limit(), to);
    EXPECT_EQ(LimitWord(bits).in_flight(), 3u);
    EXPECT_EQ(LimitWord(bits).completed(), 0u);
  }
}

}  // namespace
}  // namespace shed::internal
