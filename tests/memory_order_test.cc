// What a memory order publishes: real threads, and data that is plain, so that ThreadSanitizer sees
// a race where an order is too weak. (No order of the accesses shows that: see schedule/.)
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

#include "shed/circuit_breaker.h"
#include "shed/concurrency_limiter.h"
#include "shed/events.h"
#include "shed/gradient_limiter.h"
#include "shed/rate_limiter.h"
#include "shed/solo.h"
#include "shed/sync.h"

namespace shed {
namespace {

using namespace std::chrono_literals;

constexpr int kThreads = 4;

// Runs `body(thread)` on kThreads threads that begin together.
template <class Body>
void Together(Body body) {
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&ready, &body, i] {
      // Relaxed: the start publishes nothing.
      ready.fetch_add(1, std::memory_order_relaxed);
      while (ready.load(std::memory_order_relaxed) < kThreads) std::this_thread::yield();
      body(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// ---- The one permit ----------------------------------------------------------------------------

// What a call does while it holds the only permit is done before the next holder begins. `call` is
// given a plain number to add one to, and returns false if it was refused.
template <class Call>
void ExpectThatThePermitPublishes(Call call) {
  constexpr int kCalls = 2'000;
  std::int64_t plain = 0;
  Together([&](int) {
    for (int done = 0; done < kCalls;) {
      if (call(plain)) ++done;
      if (done % 8 == 0) std::this_thread::yield();
    }
  });
  EXPECT_EQ(plain, std::int64_t{kThreads} * kCalls);
}

TEST(MemoryOrder, AConcurrencyLimitersPermit) {
  Solo<ConcurrencyLimiter> limiter({.limit = 1});
  ExpectThatThePermitPublishes([&](std::int64_t& plain) {
    ConcurrencyLimiter::Ticket ticket;
    if (!limiter.Admit({}, TimePoint{}, ticket).admitted()) return false;
    ++plain;
    limiter.Complete(ticket, Outcome::kSuccess);
    return true;
  });
}

constexpr GradientOptions kOneCall{.interval = 1s,
                                   .min_limit = 1,
                                   .max_limit = 1,
                                   .initial_limit = 1,
                                   .baseline = GradientBaseline::kFixed,
                                   .fixed_baseline = 1ms,
                                   .probe_limit = 1};

TEST(MemoryOrder, AnAdaptiveLimitersPermit) {
  Solo<GradientLimiter> limiter(kOneCall);
  ExpectThatThePermitPublishes([&](std::int64_t& plain) {
    GradientLimiter::Ticket ticket;
    Events events;
    if (!limiter.Admit({}, TimePoint{}, ticket, events).admitted()) return false;
    ++plain;
    limiter.Complete(ticket, {.outcome = Outcome::kFailure}, events);
    return true;
  });
}

TEST(MemoryOrder, AnAdaptiveLimitersCancelledPermit) {
  Solo<GradientLimiter> limiter(kOneCall);
  ExpectThatThePermitPublishes([&](std::int64_t& plain) {
    GradientLimiter::Ticket ticket;
    Events events;
    if (!limiter.Admit({}, TimePoint{}, ticket, events).admitted()) return false;
    ++plain;
    limiter.Cancel(ticket, Verdict::Refuse(Reason::kRate), TimePoint{});
    return true;
  });
}

// ---- What a word publishes ---------------------------------------------------------------------

// Threads whose times are plain: what policies keep in an Atomic<int64_t>, they read and write
// without one. A word of another type must publish it.
struct PlainTimes : StdSync {
  class Plain {
   public:
    constexpr Plain() noexcept = default;
    constexpr explicit(false) Plain(std::int64_t value) noexcept : value_(value) {}
    std::int64_t load(std::memory_order) const noexcept { return value_; }
    void store(std::int64_t value, std::memory_order) noexcept { value_ = value; }

   private:
    std::int64_t value_ = 0;
  };
  template <class T>
  using Atomic = std::conditional_t<std::is_same_v<T, std::int64_t>, Plain, std::atomic<T>>;
};

// What the epochs of a rate limiter have of their own: at this rate there is a new one after 0.2 s.
// Not more of them than there are places, two, which are used again later.
TEST(MemoryOrder, ARateLimitersAnchor) {
  for (int round = 0; round < 300; ++round) {
    Solo<BasicRateLimiter<PlainTimes>> limiter({.rate = 1'999'999'993, .burst = 1'000'000});
    std::array<int, kThreads> admitted{};
    Together([&](int thread) {
      for (int i = 0; i < 100; ++i) {
        typename BasicRateLimiter<PlainTimes>::Ticket ticket;
        if (limiter.Admit({}, TimePoint(200ms), ticket).admitted())
          ++admitted[static_cast<std::size_t>(thread)];
      }
    });
    int all = 0;
    for (const int count : admitted) all += count;
    EXPECT_GT(all, 0);
  }
}

// The time until which an open breaker stays open. Failures are counted under its lock, and no
// window of time, whose head is an int64_t as well, is used.
TEST(MemoryOrder, ABreakersOpenTime) {
  for (int round = 0; round < 300; ++round) {
    BasicCircuitBreaker<PlainTimes> breaker(
        {.consecutive_failures = 1, .count_window = 1, .min_calls = 1, .open_for = 10s});
    std::array<bool, kThreads> refused{};
    Together([&](int thread) {
      for (;;) {
        BasicCircuitBreaker<PlainTimes>::Ticket ticket;
        Events events;
        const Verdict verdict = breaker.Admit({}, TimePoint(1s), ticket, events);
        if (!verdict.admitted()) {
          refused[static_cast<std::size_t>(thread)] = verdict.retry_after() == Duration(10s);
          return;
        }
        if (thread == 0) {
          breaker.Complete(ticket, {.now = TimePoint(1s), .outcome = Outcome::kFailure}, events);
        }
      }
    });
    for (const bool right : refused) EXPECT_TRUE(right);
  }
}

}  // namespace
}  // namespace shed
