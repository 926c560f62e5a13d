#include "shed/internal/probe_slots.h"

#include <gtest/gtest.h>

namespace shed::internal {
namespace {

constexpr TimePoint At(int ns) { return TimePoint(Duration(ns)); }

TEST(ProbeSlots, KnowTheOldestThatIsOut) {
  ProbeSlots slots(3);
  EXPECT_EQ(slots.Oldest(), TimePoint::max());
  const auto a = slots.Claim(At(7));
  const auto b = slots.Claim(At(5));  // Its clock lags.
  const auto c = slots.Claim(At(9));
  EXPECT_TRUE(slots.full());
  EXPECT_EQ(slots.Oldest(), At(5));
  slots.Release(b);
  EXPECT_FALSE(slots.full());
  EXPECT_EQ(slots.Oldest(), At(7));
  slots.Release(a);
  EXPECT_EQ(slots.Oldest(), At(9));
  EXPECT_EQ(slots.in_flight(), 1u);
  slots.Release(c);
  EXPECT_EQ(slots.Oldest(), TimePoint::max());
}

TEST(ProbeSlots, ASlotIsHandedOutOnce) {
  ProbeSlots slots(2);
  const auto a = slots.Claim(At(1));
  const auto b = slots.Claim(At(1));
  EXPECT_NE(a, b);
  slots.Release(a);
  EXPECT_EQ(slots.Claim(At(2)), a);
  slots.Clear();
  EXPECT_EQ(slots.in_flight(), 0u);
}

// The end of time is the mark of a free slot, and must not free a taken one.
TEST(ProbeSlots, AProbeAtTheEndOfTimeIsOut) {
  ProbeSlots slots(2);
  const auto a = slots.Claim(TimePoint::max());
  EXPECT_NE(slots.Claim(TimePoint::max()), a);
}

// Fewer may be out than are: those stay out, and no more go. More: there is room for them.
TEST(ProbeSlots, MayBeMoreOrFewer) {
  ProbeSlots slots(2);
  const auto a = slots.Claim(At(1));
  const auto b = slots.Claim(At(2));
  slots.Allow(1);
  EXPECT_TRUE(slots.full());
  EXPECT_EQ(slots.in_flight(), 2u);
  slots.Release(a);
  EXPECT_TRUE(slots.full());
  slots.Reserve(4);
  slots.Allow(4);
  EXPECT_EQ(slots.Oldest(), At(2));
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(slots.full());
    EXPECT_NE(slots.Claim(At(3)), b);
  }
  EXPECT_TRUE(slots.full());
  slots.Allow(1);
  slots.Clear();
  slots.Claim(At(5));
  EXPECT_TRUE(slots.full());
}

}  // namespace
}  // namespace shed::internal
