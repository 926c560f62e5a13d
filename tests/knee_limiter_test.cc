#include "shed/knee_limiter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "shed/internal/split_mix.h"
#include "shed/solo.h"
#include "shed/sync.h"

namespace shed {

// Every member compiles for one thread, too.
template class BasicAdaptiveLimiter<Knee, NoSync>;

namespace {

using namespace std::chrono_literals;

// A service of `workers` that share themselves among all calls they have, in slices of 100 us, and
// a crowd that asks `rate` times a second, evenly. Plain on purpose: the lab has the real one.
class Service {
 public:
  Service(const KneeLimiterOptions& options, std::size_t workers)
      : limiter(options), workers_(workers) {}

  void Run(Duration length, double rate, int slices) {
    const TimePoint end = now + length;
    while (now < end) {
      now += 100us;
      for (asked_ += rate * 1e-4; asked_ >= 1; asked_ -= 1) Ask(slices);
      Work();
    }
  }
  void Ask(int slices) {
    Call call{{}, now, slices};
    if (!limiter.Admit({}, now, call.ticket, events).admitted()) {
      ++refused;
    } else {
      calls.push_back(call);
    }
  }
  // Holds permits that never come back.
  void Leak(int n) {
    for (int i = 0; i < n; ++i) {
      KneeLimiter::Ticket ticket;
      ASSERT_TRUE(limiter.Admit({}, now, ticket, events).admitted());
    }
  }
  Solo<KneeLimiter>::Snapshot Read() { return limiter.Read(now); }

  Solo<KneeLimiter> limiter;
  TimePoint now{Duration(1h)};
  Events events;
  std::uint64_t done = 0;
  std::uint64_t refused = 0;

 private:
  struct Call {
    KneeLimiter::Ticket ticket;
    TimePoint started;
    int left;
  };
  // Each worker takes another call at random.
  void Work() {
    const std::size_t busy = std::min(calls.size(), workers_);
    for (std::size_t i = 0; i < busy; ++i) {
      std::swap(calls[i], calls[i + random_.Next() % (calls.size() - i)]);
    }
    for (std::size_t i = busy; i-- > 0;) {
      if (--calls[i].left > 0) continue;
      Events own;
      limiter.Complete(calls[i].ticket,
                       {.started = calls[i].started, .now = now, .outcome = Outcome::kSuccess},
                       own);
      calls[i] = calls.back();
      calls.pop_back();
      ++done;
    }
  }

  std::vector<Call> calls;
  internal::SplitMix random_{1};
  std::size_t workers_;
  double asked_ = 0;
};

// 8 workers of 3 ms: capacity 2667/s. In overload the limit comes to rest near 20 whatever it was,
// and the service stays busy.
TEST(KneeLimiter, FindsTheKneeOfAServiceInOverload) {
  for (const std::int64_t initial : {4, 20, 900}) {
    Service service({.initial_limit = initial}, 8);
    service.Run(10s, 3200, 30);
    service.done = 0;
    service.Run(4s, 3200, 30);
    EXPECT_GT(service.done, 4 * 2550u) << initial;
    EXPECT_NEAR(service.Read().knee, 8, 1.5) << initial;
    EXPECT_LE(service.Read().limit, 23u) << initial;
    EXPECT_GT(service.Read().dips, 1u) << initial;
  }
}

// Nothing ratchets: after a minute of overload the knee is what it was after ten seconds.
TEST(KneeLimiter, DoesNotRatchetInALongOverload) {
  Service service({}, 8);
  service.Run(10s, 3200, 30);
  const double before = service.Read().knee;
  service.Run(50s, 3200, 30);
  EXPECT_NEAR(service.Read().knee, before, 1.5);
}

// With completions alone to close a dip, six leaked permits stop admission for good: the dip's
// limit of five is never reached, and nothing ends.
TEST(KneeLimiter, LeakedPermitsDoNotStopAdmission) {
  Service service({}, 8);
  service.Run(5s, 2000, 30);
  service.Leak(6);
  service.done = 0;
  service.Run(30s, 3200, 30);
  EXPECT_GT(service.done, 30 * 2400u);
}

// Traffic within capacity is not refused.
TEST(KneeLimiter, CostsAHealthyServiceNothing) {
  Service service({}, 8);
  service.Run(20s, 2000, 30);
  EXPECT_EQ(service.refused, 0u);
  EXPECT_EQ(service.Read().mode, KneeMode::kCalm);
}

// Latency 0 and a clock that stands still, jumps by a century and goes back.
TEST(KneeLimiter, OddClocksDoNoHarm) {
  Solo<KneeLimiter> limiter;
  internal::SplitMix random(4);
  TimePoint now{};
  std::vector<KneeLimiter::Ticket> held;
  for (int i = 0; i < 100'000; ++i) {
    Events events;
    const std::uint64_t dice = random.Next() % 10'000;
    if (dice == 0) now = After(now, 24h * 365 * 100);
    if (dice == 1) now = After(now, -24h * 365 * 150);
    if (dice > 5000) now = After(now, Duration(static_cast<std::int64_t>(random.Next() % 200'000)));
    KneeLimiter::Ticket ticket;
    if (limiter.Admit({}, now, ticket, events).admitted()) held.push_back(ticket);
    if (!held.empty() && random.Next() % 2 == 0) {
      limiter.Complete(held.back(), {.started = now, .now = now}, events);
      held.pop_back();
    }
    const auto s = limiter.Read(now);
    ASSERT_GE(s.limit, 3u);
    ASSERT_LE(s.limit, 1000u);
    ASSERT_EQ(s.in_flight, held.size());
    ASSERT_TRUE(s.knee >= 0 && s.knee < 1e6) << s.knee;
  }
}

TEST(KneeLimiter, RefusesBadOptions) {
  EXPECT_THROW(Solo<KneeLimiter>({.headroom = 0}), std::invalid_argument);
}

TEST(KneeLimiter, SixteenThreadsNeverExceedTheLimit) {
  Solo<KneeLimiter> limiter({.max_limit = 10, .initial_limit = 10, .headroom = 1});
  std::atomic<int> inside{0};
  std::atomic<int> peak{0};
  std::atomic<std::int64_t> clock{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        KneeLimiter::Ticket ticket;
        Events events;
        const TimePoint now{Duration(clock.fetch_add(50'000))};
        if (!limiter.Admit({}, now, ticket, events).admitted()) continue;
        const int in = inside.fetch_add(1) + 1;
        int seen = peak.load();
        while (in > seen && !peak.compare_exchange_weak(seen, in)) {
        }
        if (i % 8 == 0) std::this_thread::yield();
        inside.fetch_sub(1);
        limiter.Complete(ticket,
                         {.started = now,
                          .now = TimePoint(Duration(clock.fetch_add(50'000))),
                          .outcome = static_cast<Outcome>(i % 13 == 0 ? i % 4 : 0)},
                         events);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_LE(peak.load(), 10);
  EXPECT_EQ(limiter.Read(TimePoint{}).in_flight, 0u);
}

// A limit and a knee that were saved are there at once, and stay: nothing is learned anew.
TEST(KneeLimiter, WhatWasLearnedCanBeSavedAndRestored) {
  Service first({}, 64);
  first.Run(20s, 25600, 30);
  const auto learned = first.Read();
  ASSERT_NEAR(learned.knee, 64, 12);
  Service second(
      {.initial_limit = static_cast<std::int64_t>(learned.limit), .initial_knee = learned.knee},
      64);
  EXPECT_EQ(second.Read().limit, learned.limit);
  EXPECT_EQ(second.Read().knee, learned.knee);
  second.Run(3s, 2000, 30);  // Calm.
  EXPECT_GE(second.Read().limit, learned.limit);
  Service third({.initial_limit = static_cast<std::int64_t>(learned.limit)}, 64);
  third.Run(3s, 2000, 30);
  EXPECT_LT(third.Read().limit, learned.limit) << "the limit alone is forgotten";
}

TEST(KneeLimiter, ConfigureHoldsTheLimitToItsRangeAtOnceAndKeepsTheKnee) {
  Service service({}, 8);
  service.Run(10s, 3200, 30);
  const auto before = service.Read();
  ASSERT_GT(before.in_flight, 10u);
  EXPECT_EQ(service.limiter.Configure({.max_limit = 10, .initial_limit = 10}, service.now), "");
  EXPECT_EQ(service.Read().limit, 10u);
  EXPECT_EQ(service.Read().in_flight, before.in_flight) << "nothing is pre-empted";
  EXPECT_EQ(service.Read().knee, before.knee);
  service.Run(1s, 3200, 30);
  EXPECT_LE(service.Read().in_flight, 10u);
  EXPECT_EQ(service.limiter.Configure({.min_limit = 100}, service.now),
            "initial_limit: want min_limit to max_limit");
  EXPECT_EQ(service.Read().limit, 10u);
  EXPECT_EQ(service.limiter.Configure({}, service.now), "");
  service.Run(5s, 3200, 30);
  service.done = 0;
  service.Run(4s, 3200, 30);
  EXPECT_GT(service.done, 4 * 2550u) << "and it goes on as before";
}

}  // namespace
}  // namespace shed
