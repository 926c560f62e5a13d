#include "shed/admission_wait.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "shed/clock.h"
#include "shed/concurrency_limiter.h"
#include "shed/limiter.h"
#include "shed/rate_limiter.h"

namespace shed {
namespace {

using namespace std::chrono_literals;

// A thread that does not sleep: what happens meanwhile is a function of the test.
class SteppingSleeper {
 public:
  static inline std::function<void(Duration)> meanwhile;
  static inline int sleeps = 0;
  static inline int naps = 0;  // Of no time.
  static inline int pokes = 0;

  bool Sleep(Duration most) {
    if (finished_ || most == Duration(0)) {
      if (++naps > 1000) {
        ADD_FAILURE() << "it spins";
        std::abort();
      }
      return finished_;
    }
    if (++sleeps > 1000) {
      ADD_FAILURE() << "it never wakes up";
      std::abort();
    }
    meanwhile(most);
    return finished_;
  }
  void Poke() { ++pokes; }
  void Finish() { finished_ = true; }

 private:
  bool finished_ = false;
};

template <class... Policies>
class Waits : public ::testing::Test {
 protected:
  using L = BasicLimiter<ManualClock, StdSync, Policies...>;
  using Queue = AdmissionQueue<L>;
  using Guard = typename Queue::Guard;

  void SetUp() override {
    SteppingSleeper::sleeps = SteppingSleeper::naps = SteppingSleeper::pokes = 0;
    SteppingSleeper::meanwhile = [this](Duration most) { clock.Advance(most); };
  }
  void TearDown() override { SteppingSleeper::meanwhile = nullptr; }
  static Guard Wait(Queue& queue, const Request& request = {}) {
    return shed::Wait<SteppingSleeper>(queue, request);
  }
  ManualClock clock;
};

using WaitForPermit = Waits<ConcurrencyLimiter>;

TEST_F(WaitForPermit, DoesNotSleepWhereThereIsCapacity) {
  L limiter(clock, {.limit = 1});
  Queue queue(limiter);
  Guard guard = Wait(queue);
  EXPECT_TRUE(guard);
  EXPECT_EQ(SteppingSleeper::sleeps, 0);
}

TEST_F(WaitForPermit, WakesUpWhenACallEnds) {
  L limiter(clock, {.limit = 1});
  Queue queue(limiter);
  Guard first = Wait(queue);
  SteppingSleeper::meanwhile = [&](Duration most) {
    EXPECT_EQ(most, 100ms);
    clock.Advance(30ms);
    first.Complete(Outcome::kSuccess);
  };
  Guard second = Wait(queue);
  EXPECT_TRUE(second);
  EXPECT_EQ(second.waited(), 30ms);
  EXPECT_EQ(SteppingSleeper::sleeps, 1);
}

// A sleep may end for no reason.
TEST_F(WaitForPermit, SleepsOnIfNothingHappened) {
  L limiter(clock, {.limit = 1});
  Queue queue(limiter);
  Guard first = Wait(queue);
  SteppingSleeper::meanwhile = [&](Duration most) {
    clock.Advance(10ms);
    if (most == 70ms) first.Complete(Outcome::kSuccess);
  };
  EXPECT_TRUE(Wait(queue));
  EXPECT_EQ(SteppingSleeper::sleeps, 4);
}

TEST_F(WaitForPermit, TimesOutByItself) {
  L limiter(clock, {.limit = 1});
  Queue queue(limiter);
  Guard first = Wait(queue);
  const Guard late = Wait(queue);
  EXPECT_FALSE(late);
  EXPECT_EQ(late.rejection().reason(), Reason::kQueueDelay);
  EXPECT_EQ(late.waited(), 100ms);
  EXPECT_EQ(SteppingSleeper::sleeps, 1);
  const Guard hasty = Wait(queue, {.time_left = 20ms});
  EXPECT_EQ(hasty.rejection().reason(), Reason::kDeadline);
  EXPECT_EQ(hasty.waited(), 20ms);
  const Guard dead = Wait(queue, {.time_left = 0ns});
  EXPECT_EQ(dead.rejection().reason(), Reason::kDeadline);
  // The permit is none of theirs.
  first.Complete(Outcome::kSuccess);
  EXPECT_EQ(limiter.Get<0>().Read({}).in_flight, 0u);
}

using WaitForToken = Waits<RateLimiter>;

TEST_F(WaitForToken, AsksAgainWhenTheLimiterSaid) {
  L limiter(clock, {.rate = 100, .burst = 1});
  Queue queue(limiter);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(Wait(queue));
    EXPECT_EQ(clock.Now(), TimePoint(i * 10ms));
  }
  EXPECT_EQ(SteppingSleeper::sleeps, 4);
}

// Who sleeps until its deadline is told of a time that is known only now.
// Its own time has come, but one who needs more stands before it: it sleeps until that one's has.
TEST_F(WaitForToken, SleepsWhileAnotherIsFirstInLine) {
  L limiter(clock, {.rate = 10, .burst = 10});
  Queue queue(limiter, {.max_wait = 2s, .target = 2s, .interval = 1h});
  limiter.TryAdmit({.cost = 10}).Complete(Outcome::kSuccess);
  bool big = false;
  SteppingSleeper::meanwhile = [&](Duration most) {
    if (SteppingSleeper::sleeps == 1) {
      queue.Enter({.cost = 8, .criticality = Criticality::kCriticalPlus},
                  [&](Guard guard) { big = static_cast<bool>(guard); });
    }
    clock.Advance(most);
  };
  const Guard small = Wait(queue);
  EXPECT_TRUE(big);
  EXPECT_TRUE(small);
  EXPECT_EQ(small.waited(), 900ms);
  EXPECT_LE(SteppingSleeper::sleeps, 5);
  EXPECT_LE(SteppingSleeper::naps, 5);
}

using WaitForBoth = Waits<RateLimiter, ConcurrencyLimiter>;
TEST_F(WaitForBoth, IsPokedWhenTheTimeOfTheNextTryIsKnown) {
  L limiter(clock, {.rate = 10, .burst = 1}, {.limit = 1});
  Queue queue(limiter, {.max_wait = 1s});
  Guard first = Wait(queue);
  clock.Advance(100ms);
  SteppingSleeper::meanwhile = [&](Duration most) {
    if (SteppingSleeper::sleeps == 1) {
      EXPECT_EQ(most, 1s);
      // Somebody else takes the token that there is.
      RateLimiter::Ticket ticket;
      EXPECT_TRUE(limiter.Get<0>().Admit({}, clock.Now(), ticket).admitted());
      first.Complete(Outcome::kSuccess);
      EXPECT_EQ(SteppingSleeper::pokes, 1);
    } else {
      EXPECT_EQ(most, 100ms);
      clock.Advance(most);
    }
  };
  EXPECT_TRUE(Wait(queue));
  EXPECT_EQ(SteppingSleeper::sleeps, 2);
}

// ---- Threads ----

TEST(StdSleeper, RemembersWhatCameBeforeTheSleep) {
  StdSleeper sleeper;
  sleeper.Poke();
  EXPECT_FALSE(sleeper.Sleep(Duration::max()));
  EXPECT_FALSE(sleeper.Sleep(Duration(0)));
  sleeper.Finish();
  EXPECT_TRUE(sleeper.Sleep(Duration::max()));
  EXPECT_TRUE(sleeper.Sleep(Duration::max()));
}
TEST(StdSleeper, IsWokenByAnotherThread) {
  StdSleeper sleeper;
  std::thread other([&] { sleeper.Finish(); });
  while (!sleeper.Sleep(Duration::max())) {
  }
  other.join();
}

// Threads that block: all get in, one after the other, and nobody is left asleep. Their patience
// is longer than the test may take, so that a wake-up that is lost shows as a time-out of the test.
TEST(Wait, EveryThreadGetsInThoughFewFit) {
  constexpr unsigned kThreads = 8;
  constexpr int kCalls = 2000;
  Limiter<ConcurrencyLimiter> limiter({.limit = 2});
  AdmissionQueue queue(limiter, {.max_wait = 1h, .target = 1h});
  std::atomic<int> in_flight{0};
  std::atomic<int> peak{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int call = 0; call < kCalls; ++call) {
        auto guard = Wait(queue);
        ASSERT_TRUE(guard);
        const int now = ++in_flight;
        for (int seen = peak.load(); seen < now && !peak.compare_exchange_weak(seen, now);) {
        }
        if (call % 8 == 0) std::this_thread::yield();
        --in_flight;
        guard.Complete(Outcome::kSuccess);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(peak.load(), 2);
  EXPECT_EQ(limiter.Get<0>().Read({}).in_flight, 0u);
  const AdmissionQueueSnapshot seen = queue.Read();
  EXPECT_EQ(seen.admitted_at_once + seen.admitted_after_wait, kThreads * kCalls);
  EXPECT_EQ(seen.TotalEntered(), kThreads * kCalls);
}

// Some run out of patience at the moment at which they would get in.
TEST(Wait, ThreadsThatGiveUpLoseNoPermit) {
  constexpr unsigned kThreads = 8;
  constexpr int kCalls = 1000;
  Limiter<ConcurrencyLimiter> limiter({.limit = 2});
  AdmissionQueue queue(limiter, {.max_waiting = 5, .max_wait = 1h, .target = 20us});
  std::atomic<std::uint64_t> ran{0};
  std::atomic<std::uint64_t> refused{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int call = 0; call < kCalls; ++call) {
        auto guard =
            Wait(queue, {.criticality = static_cast<Criticality>(i % 4),
                         .time_left = Duration(1us) * (1 + (call + 7 * static_cast<int>(i)) % 50)});
        if (guard) {
          ++ran;
          if (call % 4 == 0) std::this_thread::yield();
          guard.Complete(Outcome::kSuccess);
        } else {
          ++refused;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(limiter.Get<0>().Read({}).in_flight, 0u);
  const AdmissionQueueSnapshot seen = queue.Read();
  EXPECT_EQ(seen.TotalWaiting(), 0u);
  EXPECT_EQ(seen.TotalEntered(), kThreads * kCalls);
  EXPECT_EQ(seen.admitted_at_once + seen.admitted_after_wait, ran.load());
  EXPECT_EQ(ran.load() + refused.load(), kThreads * kCalls);
  // All of it can be had.
  auto a = Wait(queue);
  auto b = Wait(queue);
  EXPECT_TRUE(a && b);
}

}  // namespace
}  // namespace shed
