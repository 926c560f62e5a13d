// What a tracker's own tests cannot reach one at a time; the whole is compared with a plain scan in
// tests/property/demerit_tracker_property_test.cc.
#include "shed/internal/caller_table.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>

namespace shed::internal {
namespace {

using std::chrono::seconds;

constexpr DemeritDecay kDecay{.per_second = 0.5, .longest = seconds(60)};
static_assert(kDecay.After(10, seconds(0)) == 10);
static_assert(kDecay.After(10, seconds(4)) == 8);
static_assert(kDecay.After(10, seconds(20)) == 0 && kDecay.After(10, seconds(21)) == 0);
static_assert(kDecay.After(100, seconds(60) - Duration(1)) > 70);
static_assert(kDecay.After(100, seconds(60)) == 0 && kDecay.After(100, Duration::max()) == 0);

constexpr Fingerprint Id(std::uint64_t n) { return {.low = n, .high = n}; }
constexpr TimePoint At(Duration d) { return TimePoint(d); }

CallerTable Make(std::uint32_t max_callers) { return {max_callers, seconds(5), kDecay}; }

TEST(CallerTable, GivesEachOfMaxCallersAPlaceAndTheRestOne) {
  CallerTable table = Make(3);
  table.AdvanceTo(At(seconds(0)));
  const std::uint32_t a = table.Ask(Id(1)), b = table.Ask(Id(2)), c = table.Ask(Id(3));
  EXPECT_TRUE(a != b && b != c && a != c);
  EXPECT_NE(c, table.overflow());
  EXPECT_EQ(table.Ask(Id(4)), table.overflow());
  EXPECT_EQ(table.Ask(Id(5)), table.overflow());
  EXPECT_EQ(table.Ask(Id(1)), a);
  EXPECT_EQ(table.counts().tracked, 3u);
  EXPECT_EQ(table.counts().active, 4u);
}

// A caller with a demerit keeps its place after the window, one without does not; and not for ever.
TEST(CallerTable, KeepsWhoHasADemeritForTheLongestPenalty) {
  CallerTable table = Make(2);
  table.AdvanceTo(At(seconds(0)));
  table.SetDemerit(table.Ask(Id(1)), 20);
  table.Ask(Id(2));
  table.AdvanceTo(At(seconds(6)));
  EXPECT_EQ(table.counts().tracked, 1u);
  EXPECT_EQ(table.counts().active, 0u);
  EXPECT_NE(table.Find(Id(1), At(seconds(6))), kNoIndex);
  EXPECT_EQ(table.Find(Id(2), At(seconds(6))), kNoIndex);
  // Idle since 5 s, however late that was seen.
  EXPECT_EQ(table.CountsAt(At(seconds(65) - Duration(1))).tracked, 1u);
  EXPECT_EQ(table.CountsAt(At(seconds(65))).tracked, 0u);
  table.AdvanceTo(At(seconds(65)));
  EXPECT_EQ(table.counts().tracked, 0u);
}

// Asking again takes it out of the middle of the idle, and to the back of the recent.
TEST(CallerTable, TakesBackWhoAsksAgain) {
  CallerTable table = Make(4);
  for (std::uint64_t n = 1; n <= 3; ++n) {
    table.AdvanceTo(At(seconds(n)));
    table.SetDemerit(table.Ask(Id(n)), 20);
  }
  table.AdvanceTo(At(seconds(20)));
  EXPECT_EQ(table.counts().active, 0u);
  EXPECT_EQ(table.counts().tracked, 3u);
  const std::uint32_t two = table.Ask(Id(2));
  EXPECT_EQ(table.DemeritAt(two, At(seconds(20))), 11);  // 18 s at 0.5.
  EXPECT_EQ(table.counts().active, 1u);
  EXPECT_EQ(table.CountsAt(At(seconds(66))).tracked, 2u);  // 1 is gone; 2 was clean at 42 s.
  EXPECT_EQ(table.CountsAt(At(seconds(68))).tracked, 1u);
}

TEST(CallerTable, ReleasesNoMoreThanIsHeld) {
  CallerTable table = Make(1);
  table.AdvanceTo(At(seconds(0)));
  const std::uint32_t a = table.Ask(Id(1));
  const std::uint32_t generation = table[a].generation;
  table.Take(a, 3);
  EXPECT_EQ(table.Release(a, generation + 1, 3), 0u);
  EXPECT_EQ(table.Release(a, generation, 2), 2u);
  EXPECT_EQ(table.Release(a, generation, 2), 1u);
  EXPECT_EQ(table.Release(a, generation, 2), 0u);
  table.AdvanceTo(At(seconds(100)));
  EXPECT_EQ(table.counts().active, 0u);
  EXPECT_EQ(table.Release(a, generation, 2), 0u);
  EXPECT_EQ(table.counts().active, 0u);
}

}  // namespace
}  // namespace shed::internal
