#include "shed/clock.h"

#include <gtest/gtest.h>

#include <thread>
#include <type_traits>
#include <vector>

namespace shed {
namespace {

using namespace std::chrono_literals;

struct MayThrow {
  TimePoint Now() const;
};
struct OfTheWall {
  std::chrono::system_clock::time_point Now() const noexcept;
};
struct NotConst {
  TimePoint Now() noexcept;
};
static_assert(!Clock<MayThrow> && !Clock<OfTheWall> && !Clock<NotConst> && !Clock<int>);
static_assert(std::is_empty_v<SteadyClock>);
static_assert(!std::is_copy_constructible_v<ManualClock>);

TEST(SteadyClock, IsTheSteadyClockOfStd) {
  const auto before = std::chrono::steady_clock::now().time_since_epoch();
  const TimePoint now = SteadyClock::Now();
  const auto after = std::chrono::steady_clock::now().time_since_epoch();
  EXPECT_LE(before, now.time_since_epoch());
  EXPECT_LE(now.time_since_epoch(), after);
}

TEST(ManualClock, MovesOnlyWhenTold) {
  ManualClock clock;
  EXPECT_EQ(clock.Now(), TimePoint());
  clock.Advance(5ms);
  EXPECT_EQ(clock.Now(), TimePoint(5ms));
  EXPECT_EQ(clock.Now(), TimePoint(5ms));
  clock.Advance(-7ms);
  EXPECT_EQ(clock.Now(), TimePoint(-2ms));
  clock.Set(TimePoint(1h));
  EXPECT_EQ(clock.Now(), TimePoint(1h));
  EXPECT_EQ(ManualClock(TimePoint(3s)).Now(), TimePoint(3s));
}

// A century at a time, past both ends of the timeline: an overflow would turn it round.
TEST(ManualClock, IsHeldAtTheEndsOfTheTimeline) {
  ManualClock clock;
  for (int i = 0; i < 4; ++i) clock.Advance(24h * 36525);
  EXPECT_EQ(clock.Now(), TimePoint::max());
  clock.Advance(Duration::min());
  clock.Advance(Duration::min());
  EXPECT_EQ(clock.Now(), TimePoint::min());
}

// Load, add and store in three steps would lose advances.
TEST(ManualClock, LosesNoAdvanceBetweenThreads) {
  ManualClock clock;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 20'000; ++j) clock.Advance(1ns);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(clock.Now(), TimePoint(80'000ns));
}

}  // namespace
}  // namespace shed
