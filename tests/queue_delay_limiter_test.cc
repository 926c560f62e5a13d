#include "shed/queue_delay_limiter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <thread>
#include <vector>

#include "shed/solo.h"

namespace shed {
namespace {

using namespace std::chrono_literals;

// A limiter, a time that moves, and the events of all calls.
template <class P = QueueDelayLimiter>
struct Queue {
  Solo<P> limiter;
  Duration now = 1h;
  int stands = 0;
  int moves = 0;

  explicit Queue(const QueueDelayLimiterOptions& options = {}) : limiter(options) {}
  Verdict Ask(Duration waited, Duration time_left = Duration::max()) {
    Events events;
    const Verdict verdict =
        limiter.Admit({.queued_for = waited, .time_left = time_left}, TimePoint(now), events);
    for (std::size_t i = 0; i < events.size(); ++i) {
      stands += events[i].kind == EventKind::kQueueStands ? 1 : 0;
      moves += events[i].kind == EventKind::kQueueMoves ? 1 : 0;
    }
    return verdict;
  }
  // Calls every millisecond for so long, all of which waited for so long; returns the refused.
  int Run(Duration span, Duration waited) {
    int refused = 0;
    for (const Duration end = now + span; now < end; now += 1ms) {
      refused += Ask(waited).admitted() ? 0 : 1;
    }
    return refused;
  }
};

TEST(QueueDelayLimiter, AStandingQueueIsCutAfterAnInterval) {
  Queue<> queue;
  EXPECT_EQ(queue.Run(100ms, 20ms), 0);
  EXPECT_FALSE(queue.limiter.Read({}).overloaded);
  // From then on all but the first of each interval.
  EXPECT_EQ(queue.Run(200ms, 20ms), 198);
  EXPECT_TRUE(queue.limiter.Read({}).overloaded);
  EXPECT_EQ(queue.stands, 1);
  EXPECT_EQ(queue.Ask(20ms).reason(), Reason::kNone);  // The first of the fourth.
  EXPECT_EQ(queue.Ask(20ms), Verdict::Refuse(Reason::kQueueDelay));
}

// What waited for no longer than twice the target is answered in good time.
TEST(QueueDelayLimiter, RefusesAboveTwiceTheTargetAlone) {
  Queue<> queue;
  queue.Run(101ms, 20ms);
  EXPECT_TRUE(queue.Ask(10ms).admitted());
  EXPECT_FALSE(queue.Ask(10ms + 1ns).admitted());
}

// A burst that is worked off has calls that waited for long, and some that did not.
TEST(QueueDelayLimiter, ABurstThatBurnsDownIsLeftAlone) {
  Queue<> queue;
  for (int burst = 0; burst < 20; ++burst) {
    for (Duration wait = 90ms; wait > 0ms; wait -= 1ms, queue.now += 1ms) {
      ASSERT_TRUE(queue.Ask(wait).admitted());
    }
    queue.now += 10ms;
  }
  EXPECT_EQ(queue.stands, 0);
}

// folly: a single slow item in an interval is no overload.
TEST(QueueDelayLimiter, ASingleSlowCallIsNoOverload) {
  Queue<> queue;
  for (int i = 0; i < 50; ++i, queue.now += 100ms) {
    EXPECT_TRUE(queue.Ask(1s).admitted());
    if (i % 10 == 9) {
      EXPECT_TRUE(queue.Ask(1s).admitted()) << i;  // The one before was alone.
      queue.now += 200ms;
    }
  }
}

// folly: a queue that was idle must not begin with the overload of the time before.
TEST(QueueDelayLimiter, AnIdleIntervalIsCalm) {
  Queue<> queue;
  queue.Run(150ms, 20ms);
  queue.now += 200ms;
  EXPECT_TRUE(queue.Ask(20ms).admitted());
  EXPECT_TRUE(queue.Ask(20ms).admitted());
  EXPECT_EQ(queue.moves, 1);
}

TEST(QueueDelayLimiter, RecoversWithTheFirstIntervalThatHasAShortWait) {
  Queue<> queue;
  ASSERT_GT(queue.Run(250ms, 20ms), 0);
  EXPECT_TRUE(queue.Ask(1ms).admitted());
  queue.now += 100ms;
  EXPECT_EQ(queue.Run(50ms, 20ms), 0);
  EXPECT_EQ(queue.moves, 1);
  EXPECT_EQ(queue.limiter.Read({}).least_wait, Duration(20ms));
}

// The calls that are refused say as much of the queue as those that are not.
TEST(QueueDelayLimiter, RefusedCallsCount) {
  Queue<> queue;
  queue.Run(100ms, 20ms);
  queue.Run(1ms, 1ms);
  EXPECT_EQ(queue.Ask(0ms, 0ms).reason(), Reason::kDeadline);
  EXPECT_EQ(queue.limiter.Read({}).least_wait, Duration(0));
}

TEST(QueueDelayLimiter, WhatCannotBeDoneInTimeIsRefused) {
  Queue<> queue({.min_service = 10ms});
  EXPECT_TRUE(queue.Ask(0ms).admitted());
  EXPECT_TRUE(queue.Ask(0ms, 10ms).admitted());
  for (const Duration left : {Duration(10ms - 1ns), Duration(0), Duration(-1), Duration::min()}) {
    EXPECT_EQ(queue.Ask(0ms, left), Verdict::Refuse(Reason::kDeadline));
  }
  Queue<> no_service;
  EXPECT_TRUE(no_service.Ask(0ms, 1ns).admitted());
  EXPECT_EQ(no_service.Ask(0ms, 0ns).reason(), Reason::kDeadline);
}

// RFC 8289's schedule, through the policy: 100, 200, 270.7, 328.4 ms ...
TEST(QueueDelayLimiter, TheControlLawKeepsItsSchedule) {
  Queue<> queue({.law = QueueDelayLaw::kControl});
  std::vector<double> refused;
  const Duration begin = queue.now;
  for (; queue.now < begin + 400ms; queue.now += 100us) {
    if (!queue.Ask(20ms).admitted()) {
      refused.push_back(static_cast<double>((queue.now - begin).count()) / 1e6);
    }
  }
  const double kSchedule[] = {100, 200, 270.7, 328.4, 378.4};
  ASSERT_EQ(refused.size(), std::size(kSchedule));
  for (std::size_t i = 0; i < refused.size(); ++i) EXPECT_NEAR(refused[i], kSchedule[i], 0.3);
  EXPECT_EQ(queue.stands, 1);
  EXPECT_TRUE(queue.limiter.Read({}).overloaded);
  EXPECT_TRUE(queue.Ask(1ms).admitted());
  EXPECT_EQ(queue.moves, 1);
}

TEST(QueueDelayLimiter, AClockThatGoesBackOrJumps) {
  Queue<> queue;
  ASSERT_GT(queue.Run(150ms, 20ms), 0);
  // A lagging call counts in the latest interval, and is judged by it.
  queue.now -= 10s;
  EXPECT_FALSE(queue.Ask(20ms).admitted());
  EXPECT_TRUE(queue.Ask(1ms).admitted());
  queue.now = Duration::max();
  EXPECT_TRUE(queue.Ask(20ms).admitted());
  EXPECT_TRUE(queue.Ask(20ms).admitted());
  queue.now = Duration::min();
  EXPECT_TRUE(queue.Ask(20ms).admitted());

  Queue<> first;
  first.now = Duration::min();
  EXPECT_GT(first.Run(300ms, 20ms), 190);  // From the second interval on; the first is cut.
}

TEST(QueueDelayLimiter, ConfigureTakesEffectAtOnce) {
  Queue<> queue;
  ASSERT_GT(queue.Run(150ms, 20ms), 0);
  EXPECT_EQ(queue.limiter.Configure({.target = 10ms, .interval = 1s}, {}), "");
  EXPECT_TRUE(queue.Ask(20ms).admitted());
  EXPECT_FALSE(queue.Ask(21ms).admitted());
  // Another width of the intervals loses no time.
  queue.now = 2h;
  EXPECT_EQ(queue.Run(1s, 30ms), 0);
  EXPECT_EQ(queue.Run(1s, 30ms), 999);
  EXPECT_EQ(queue.limiter.Configure({.interval = 10ms}, {}), "");
  EXPECT_GT(queue.Run(100ms, 30ms), 80);
  EXPECT_EQ(queue.limiter.Configure({.target = 0s}, {}), "target: want 1 us to 1 h");
  EXPECT_GT(queue.Run(100ms, 30ms), 80);
}

// Many threads, and one that changes the options: no answer is torn, and calm stays calm.
TEST(QueueDelayLimiter, ThreadsAndConfigure) {
  for (const QueueDelayLaw law : {QueueDelayLaw::kInterval, QueueDelayLaw::kControl}) {
    Solo<QueueDelayLimiter> limiter({.law = law});
    std::atomic<std::int64_t> clock{0};
    std::atomic<int> refused{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 10'000; ++i) {
          Events events;
          const TimePoint now{Duration(clock.fetch_add(50'000))};
          // One thread's calls never wait.
          const Duration waited = t == 0 ? 0ms : 50ms;
          if (!limiter.Admit({.queued_for = waited}, now, events).admitted() && t == 0) ++refused;
        }
      });
    }
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) {
        const Duration target = i % 2 == 0 ? 5ms : 6ms;
        EXPECT_EQ(limiter.Configure({.target = target, .interval = 20 * target, .law = law}, {}),
                  "");
      }
    });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(refused.load(), 0);
  }
}

TEST(QueueDelayLimiter, BadOptionsAreRefusedByName) {
  using O = QueueDelayLimiterOptions;
  for (const Duration bad : {Duration(0), Duration(-1), Duration(999), Duration::min(),
                             Duration(1h + 1ns), Duration::max()}) {
    EXPECT_EQ((O{.target = bad}.Problem()), "target: want 1 us to 1 h");
    EXPECT_THROW(Solo<QueueDelayLimiter>({.target = bad}), std::invalid_argument);
  }
  for (const Duration bad : {Duration(0), Duration(5ms), Duration(24h + 1ns), Duration::max()}) {
    EXPECT_EQ((O{.interval = bad}.Problem()), "interval: want above target, to 24 h");
  }
  for (const Duration bad : {Duration(-1), Duration::min(), Duration(24h + 1ns)}) {
    EXPECT_EQ((O{.min_service = bad}.Problem()), "min_service: want 0 to 24 h");
  }
  EXPECT_EQ((O{.law = static_cast<QueueDelayLaw>(2)}.Problem()), "law: want kInterval or kControl");
  static_assert(O{}.Problem().empty());
  static_assert(O{.target = 1us, .interval = 1001ns, .min_service = 24h}.Problem().empty());
}

}  // namespace
}  // namespace shed
