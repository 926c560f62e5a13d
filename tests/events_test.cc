#include "shed/events.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace shed {
namespace {

static_assert(!std::is_copy_constructible_v<Events>);
// Room on the stack of each call: four of what one event needs.
static_assert(sizeof(Events) <= Events::kCapacity * sizeof(Event) + 16);

TEST(Events, KeepsWhoAndWhatInTheOrderPushed) {
  Events events;
  EXPECT_TRUE(events.empty());
  events.set_policy(3);
  events.Push({.kind = EventKind::kLimitChanged, .cause = Cause::kGrowth, .before = 4, .after = 5});
  events.set_policy(1);
  events.Push({.kind = EventKind::kBreakerOpened, .count = 20});
  ASSERT_EQ(events.size(), 2u);
  EXPECT_FALSE(events.empty());
  EXPECT_EQ(events[0].kind, EventKind::kLimitChanged);
  EXPECT_EQ(events[0].cause, Cause::kGrowth);
  EXPECT_EQ(events[0].before, 4);
  EXPECT_EQ(events[0].after, 5);
  EXPECT_EQ(events[0].policy_index, 3u);
  EXPECT_EQ(events[1].kind, EventKind::kBreakerOpened);
  EXPECT_EQ(events[1].count, 20u);
  EXPECT_EQ(events[1].policy_index, 1u);
}

// A policy that reports more than there is room for must not write past the array, and the first
// events, which say what started it, are the ones kept.
TEST(Events, CountsWhatDoesNotFit) {
  Events events;
  for (std::uint64_t i = 0; i < 10; ++i) events.Push({.count = i});
  ASSERT_EQ(events.size(), Events::kCapacity);
  EXPECT_EQ(events.lost(), 6u);
  for (std::size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i].count, i);
}

TEST(Events, AppendsThoseOfAnotherAsTheyAre) {
  Events events;
  events.set_policy(1);
  events.Push({.count = 7});
  Events more;
  more.set_policy(5);
  for (std::uint64_t i = 0; i < 6; ++i) more.Push({.count = i});
  events.Append(more);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].policy_index, 1u);
  EXPECT_EQ(events[3].count, 2u);
  EXPECT_EQ(events[3].policy_index, 5u);
  EXPECT_EQ(events.lost(), 2u + 1u);
}

}  // namespace
}  // namespace shed
