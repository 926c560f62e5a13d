#include "shed/internal/usage_callers.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "shed/internal/random.h"
#include "shed/sync.h"

namespace shed::internal {
namespace {

using namespace std::chrono_literals;
using Callers = UsageCallers<StdSync>;

constexpr TimePoint At(Duration d) { return TimePoint(d); }
constexpr UsageTerms kTerms{.soft = 1,
                            .hard = 1,
                            .window = 1'000'000'000,
                            .longest_wait = 1,
                            .max_delayed = 0,
                            .ticks_per_ns = 1,
                            .ticks_per_unit = 1'000'000'000};
constexpr Fingerprint Id(std::uint64_t i) { return {.low = Mix(i), .high = Mix(~i)}; }

// Asks, and uses one unit.
std::uint32_t Use(Callers& callers, const Fingerprint& id, Duration now) {
  const auto held = callers.Ask(id, kTerms, At(now));
  held->meter.Add(kTerms, 1, At(now), At(now));
  return held.index();
}

TEST(UsageCallers, EachFindsItsOwnEntry) {
  for (const std::uint32_t capacity : {1u, 2u, 3u, 16u, 17u, 1000u, 5000u}) {
    Callers callers(capacity);
    std::vector<std::uint32_t> at;
    for (std::uint32_t i = 0; i < capacity; ++i) at.push_back(Use(callers, Id(i), 0s));
    EXPECT_EQ(std::set<std::uint32_t>(at.begin(), at.end()).size(), capacity);
    for (std::uint32_t i = 0; i < capacity; ++i) EXPECT_EQ(Use(callers, Id(i), 0s), at[i]);
    EXPECT_EQ(callers.tracked(), capacity);
    EXPECT_EQ(Use(callers, Id(capacity), 0s), callers.overflow());
  }
}

// The half of a fingerprint that decides where it is found is not all of it.
TEST(UsageCallers, FingerprintsThatShareAHalfAreTwo) {
  Callers callers(4);
  const std::uint32_t a = Use(callers, {.low = 5, .high = 1}, 0s);
  const std::uint32_t b = Use(callers, {.low = 5, .high = 2}, 0s);
  EXPECT_NE(a, b);
  EXPECT_EQ(Use(callers, {.low = 5, .high = 1}, 0s), a);
}

TEST(UsageCallers, ForgetsOnlyWhoIsIdle) {
  Callers callers(3);
  const std::uint32_t a = Use(callers, Id(1), 0s);
  callers.Ask(Id(2), kTerms, At(0s))->in_flight = 1;
  Use(callers, Id(3), 900ms);
  EXPECT_EQ(Use(callers, Id(4), 999ms), callers.overflow());
  EXPECT_EQ(Use(callers, Id(4), 1s), a);  // The first has drained.
  EXPECT_EQ(Use(callers, Id(5), 1s), callers.overflow());
  EXPECT_EQ(callers.tracked(), 3u);
}

TEST(UsageCallers, AnEntryOfAnotherIsNobodys) {
  Callers callers(1);
  std::uint32_t generation = 0;
  {
    const auto held = callers.Ask(Id(1), kTerms, At(0s));
    generation = held->generation;
  }
  EXPECT_TRUE(callers.Of(0, generation));
  callers.Ask(Id(1), kTerms, At(0s)).ForgetIfNew(kTerms, At(0s));
  EXPECT_EQ(callers.tracked(), 0u);
  EXPECT_FALSE(callers.Of(0, generation));
  Use(callers, Id(2), 0s);
  EXPECT_FALSE(callers.Of(0, generation));
  EXPECT_TRUE(callers.Of(0, generation + 1));
}

TEST(UsageCallers, PeekSaysWhatAskWillFind) {
  std::mt19937_64 random(5);
  Callers callers(6);
  Duration now{0};
  for (int i = 0; i < 20'000; ++i) {
    now += Duration(random() % 300'000'000);
    const Fingerprint id = Id(random() % 12);
    std::optional<std::uint32_t> seen;
    if (const auto peeked = callers.Peek(id, kTerms, At(now))) seen = peeked.index();
    const std::uint32_t before = callers.tracked();
    const std::uint32_t found = Use(callers, id, now);
    if (seen) {
      ASSERT_EQ(found, *seen);
    } else {
      ASSERT_NE(found, callers.overflow());
      ASSERT_GE(callers.tracked(), before);
    }
  }
}

TEST(UsageCallers, AsNewWhenNobodyHasAnything) {
  Callers callers(2);
  EXPECT_TRUE(callers.AsNew(kTerms, At(0s)));
  for (std::uint64_t i = 0; i < 3; ++i) {
    Use(callers, Id(i), 0s);
    EXPECT_FALSE(callers.AsNew(kTerms, At(0s)));
  }
  EXPECT_FALSE(callers.AsNew(kTerms, At(1s - 1ns)));
  EXPECT_TRUE(callers.AsNew(kTerms, At(1s)));
  callers.Ask(Id(0), kTerms, At(1s))->in_flight = 1;
  EXPECT_FALSE(callers.AsNew(kTerms, At(9s)));
}

}  // namespace
}  // namespace shed::internal
