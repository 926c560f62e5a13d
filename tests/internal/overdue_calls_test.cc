#include "shed/internal/overdue_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace shed::internal {
namespace {

using namespace std::chrono_literals;
using Calls = OverdueCalls<StdSync>;

TimePoint At(Duration since_zero) { return TimePoint(since_zero); }

// Watches, in its generation 1.
struct Watching : Calls {
  explicit Watching(Duration longest) { SetLongest(longest, 1); }
};

// Never early, and no more than an eighth late.
TEST(OverdueCalls, ACallIsOverdueAfterTheTimeAndAnEighthOfItAtMost) {
  for (const Duration longest : {Duration(800ms), Duration(801ms), Duration(8us), Duration(9us)}) {
    const Duration eighth = std::max<Duration>((longest + 7ns) / 8, 1us);
    for (int i = 0; i < 100; ++i) {
      Watching calls(longest);
      const TimePoint began = At(1s + eighth * i / 100);
      ASSERT_NE(calls.Begin(began, 1), 0u);
      EXPECT_EQ(calls.Count(began), 0u);
      EXPECT_EQ(calls.Count(began + longest), 0u);
      EXPECT_EQ(calls.Count(began + longest + eighth), 1u);
      EXPECT_EQ(calls.Count(began + 1000 * longest), 1u);
    }
  }
}

TEST(OverdueCalls, WhatEndsCountsNoMoreHoweverOld) {
  Watching calls(80ms);
  const std::uint32_t young = calls.Begin(At(0s), 1);
  const std::uint32_t old = calls.Begin(At(0s), 1);
  const std::uint32_t hung = calls.Begin(At(5ms), 1);
  calls.End(young);
  EXPECT_EQ(calls.Count(At(100ms)), 2u);
  // Their slot is given to others, which are young.
  for (int i = 1; i <= 100; ++i) calls.End(calls.Begin(At(10ms * i), 1));
  const std::uint32_t other = calls.Begin(At(1s), 1);
  EXPECT_EQ(calls.Count(At(1s)), 2u);
  calls.End(old);
  EXPECT_EQ(calls.Count(At(1s)), 1u);
  calls.End(hung);
  calls.End(0);  // Nobody's.
  EXPECT_EQ(calls.Count(At(1s)), 0u);
  EXPECT_EQ(calls.Count(At(2s)), 1u);
  calls.End(other);
  EXPECT_EQ(calls.Count(At(2s)), 0u);
}

// Of the threads that ask in a slice, one is told to look.
TEST(OverdueCalls, TurnsOncePerSlice) {
  Watching calls(80ms);
  EXPECT_TRUE(calls.Turn(At(100ms)));
  EXPECT_FALSE(calls.Turn(At(100ms)));
  EXPECT_FALSE(calls.Turn(At(110ms - 1ns)));
  EXPECT_TRUE(calls.Turn(At(110ms)));
  EXPECT_FALSE(calls.Turn(At(90ms)));  // One that lags.
  EXPECT_TRUE(calls.Turn(At(10h)));
}

TEST(OverdueCalls, EarlierGenerationsDoNotCount) {
  Watching calls(80ms);
  calls.Begin(At(0s), 1);
  calls.Begin(At(1s), 1);
  EXPECT_EQ(calls.Count(At(10s)), 2u);
  calls.Clear(2);
  EXPECT_EQ(calls.Count(At(10s)), 0u);
  // Decided before, begun after.
  EXPECT_EQ(calls.Begin(At(1s), 1), 0u);
  EXPECT_NE(calls.Begin(At(1s), 2), 0u);
  EXPECT_EQ(calls.Count(At(10s)), 1u);
}

// With another time those in flight are forgotten, and take nothing with them when they end.
TEST(OverdueCalls, AnotherTime) {
  Calls calls;
  EXPECT_EQ(calls.Begin(At(1s), 1), 0u);
  calls.SetLongest(80ms, 1);
  std::vector<std::uint32_t> places;
  for (int i = 0; i < 3; ++i) places.push_back(calls.Begin(At(1s), 1));
  calls.SetLongest(80ms, 1);  // The same is no other.
  EXPECT_EQ(calls.Count(At(2s)), 3u);
  calls.SetLongest(800ms, 1);
  EXPECT_EQ(calls.Count(At(100s)), 0u);
  // A shorter slice has had higher numbers.
  const std::uint32_t place = calls.Begin(At(2s), 1);
  calls.End(places[0]);
  EXPECT_EQ(calls.Count(At(2800ms)), 0u);
  EXPECT_EQ(calls.Count(At(3s)), 1u);
  calls.SetLongest(Duration(0), 1);
  EXPECT_EQ(calls.Count(At(3s)), 0u);
  EXPECT_FALSE(calls.Turn(At(3s)));
  EXPECT_EQ(calls.Begin(At(3s), 1), 0u);
  calls.SetLongest(80ms, 1);
  calls.End(places[1]);
  calls.End(place);
  EXPECT_EQ(calls.Count(At(3s)), 0u);
  calls.End(calls.Begin(At(3s), 1));
  EXPECT_NE(calls.Begin(At(3s), 1), 0u);
  EXPECT_EQ(calls.Count(At(4s)), 1u);
}

TEST(OverdueCalls, NothingIsWatchedWithoutATime) {
  Watching calls(Duration(0));
  EXPECT_FALSE(calls.Turn(At(1s)));
  EXPECT_EQ(calls.Begin(At(1s), 1), 0u);
  EXPECT_EQ(calls.Count(At(100h)), 0u);
}

// The ends of the timeline, and times that lag by all of it.
TEST(OverdueCalls, AnyTimes) {
  for (const Duration longest : {Duration(1), Duration(24h)}) {
    Calls calls;
    calls.SetLongest(longest, 7);
    std::vector<std::uint32_t> places;
    for (const TimePoint at : {TimePoint::min(), At(0s), TimePoint::max(), At(-1ns),
                               TimePoint::min(), TimePoint::max()}) {
      calls.Turn(at);
      places.push_back(calls.Begin(at, 7));
      EXPECT_LE(calls.Count(at), places.size());
    }
    EXPECT_EQ(calls.Count(TimePoint::max()), 4u);  // All but the two of now.
    for (const std::uint32_t place : places) calls.End(place);
    EXPECT_EQ(calls.Count(TimePoint::max()), 0u);
    EXPECT_EQ(calls.Count(TimePoint::min()), 0u);
  }
}

// Against a list of all calls.
TEST(OverdueCalls, AgreesWithAList) {
  struct Call {
    std::uint32_t place;
    TimePoint began;
  };
  std::mt19937_64 random(1);
  Watching calls(80ms);
  std::vector<Call> list;
  Duration now = 1s;
  for (int step = 0; step < 100'000; ++step) {
    now += Duration(random() % 4'000'000) + (random() % 1000 == 0 ? 300ms : 0ms);
    if (random() % 2 == 0) {
      list.push_back({calls.Begin(At(now), 1), At(now)});
    } else if (!list.empty()) {
      // Mostly the newest; some hang on.
      const std::size_t i = random() % 8 == 0 ? random() % list.size() : list.size() - 1;
      calls.End(list[i].place);
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
    }
    const auto overdue = std::count_if(list.begin(), list.end(), [&](const Call& call) {
      const Duration slice_end =
          (call.began.time_since_epoch() / Duration(10ms) + 1) * Duration(10ms);
      return slice_end + 80ms <= now;
    });
    ASSERT_EQ(calls.Count(At(now)), static_cast<std::uint32_t>(overdue)) << step;
  }
}

// Slots are given away while calls begin and end; none is lost.
TEST(OverdueCalls, LosesNoCallBetweenThreads) {
  Watching calls(8us);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&calls, thread] {
      std::mt19937_64 random(static_cast<std::uint64_t>(thread));
      std::vector<std::uint32_t> held;
      for (int i = 0; i < 20'000; ++i) {
        const TimePoint now = At(i * 300ns + Duration(random() % 3000));
        calls.Turn(now);
        held.push_back(calls.Begin(now, 1));
        if (held.size() > 20) {
          std::swap(held[random() % held.size()], held.back());
          calls.End(held.back());
          held.pop_back();
        }
      }
      for (const std::uint32_t place : held) calls.End(place);
      calls.Begin(At(0s), 1);  // One hangs.
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(calls.Count(At(1h)), 4u);
}

}  // namespace
}  // namespace shed::internal
