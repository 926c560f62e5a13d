// Many threads that enter, leave, end calls, poll and configure at once: accounts add up, no more
// are in flight than may be, each call is answered once or has left, and no permit is lost.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "shed/admission_queue.h"
#include "shed/clock.h"
#include "shed/concurrency_limiter.h"
#include "shed/limiter.h"
#include "shed/rate_limiter.h"

namespace shed {
namespace {

using namespace std::chrono_literals;

using L = BasicLimiter<ManualClock, StdSync, RateLimiter, ConcurrencyLimiter>;
using Queue = AdmissionQueue<L>;
constexpr std::uint32_t kLimit = 5;
constexpr unsigned kThreads = 6;
constexpr int kCalls = 4000;
constexpr std::int64_t kTokens = 50'000;  // More than there are calls.

// Calls that run, for any thread to end.
class Running {
 public:
  void Put(Queue::Guard guard) {
    const std::lock_guard<std::mutex> lock(mutex_);
    guards_.push_back(std::move(guard));
    ASSERT_LE(guards_.size(), kLimit);
  }
  std::optional<Queue::Guard> Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (guards_.empty()) return std::nullopt;
    std::optional<Queue::Guard> guard(std::move(guards_.back()));
    guards_.pop_back();
    return guard;
  }

 private:
  std::mutex mutex_;
  std::vector<Queue::Guard> guards_;
};

struct Call {
  std::atomic<int> answers{0};
  bool left = false;
};

void Stress(const AdmissionQueueOptions& options, std::uint64_t seed) {
  ManualClock clock(TimePoint(1h));
  L limiter(clock, {.rate = 1, .per = 1h, .burst = kTokens}, {.limit = kLimit});
  Running running;
  std::array<std::vector<Call>, kThreads> calls;
  for (auto& of_thread : calls) of_thread = std::vector<Call>(kCalls);
  std::atomic<std::uint64_t> admitted{0};
  std::optional<Queue> queue(std::in_place, limiter, options);
  std::vector<std::thread> threads;
  for (unsigned me = 0; me < kThreads; ++me) {
    threads.emplace_back([&, me] {
      std::mt19937_64 random(seed * 100 + me);
      Queue::Ticket latest;
      int latest_call = -1;
      for (int i = 0; i < kCalls; ++i) {
        Call& call = calls[me][static_cast<std::size_t>(i)];
        const Queue::Ticket ticket = queue->Enter(
            {.criticality = static_cast<Criticality>(random() % 4),
             .time_left =
                 random() % 2 == 0 ? Duration::max() : Duration(static_cast<int>(random() % 3000))},
            [&call, &running, &admitted, ends = random() % 3 == 0](Queue::Guard guard) {
              ++call.answers;
              if (!guard) return;
              ++admitted;
              if (ends) {
                guard.Complete(Outcome::kSuccess);
              } else {
                running.Put(std::move(guard));
              }
            });
        if (ticket) {
          latest = ticket;
          latest_call = i;
        }
        switch (random() % 8) {
          case 0:
            if (latest_call >= 0 && queue->Leave(latest)) {
              calls[me][static_cast<std::size_t>(latest_call)].left = true;
            }
            break;
          case 1:
            queue->Poll();
            break;
          case 2:
            clock.Advance(Duration(static_cast<int>(random() % 500)));
            break;
          case 3:
            if (me == 0) {
              EXPECT_EQ(
                  queue->Configure({.max_waiting = 1 + static_cast<std::uint32_t>(random() % 8),
                                    .max_wait = 5us,
                                    .target = 1us,
                                    .interval = 3us}),
                  "");
            }
            break;
          default:
            if (auto guard = running.Take()) {
              if (random() % 2 == 0) guard->Complete(Outcome::kSuccess);
            }
        }
        ASSERT_LE(limiter.Get<1>().Read({}).in_flight, kLimit);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // Each end lets in another, until nobody is left.
  while (auto guard = running.Take()) guard->Complete(Outcome::kSuccess);
  EXPECT_EQ(queue->Read().TotalWaiting(), 0u);
  EXPECT_EQ(queue->NextDeadline(), TimePoint::max());
  EXPECT_EQ(limiter.Get<1>().Read({}).in_flight, 0u);

  std::uint64_t left = 0;
  for (const auto& of_thread : calls) {
    for (const Call& call : of_thread) {
      left += call.left;
      ASSERT_EQ(call.answers + int{call.left}, 1);
    }
  }
  const AdmissionQueueSnapshot seen = queue->Read();
  EXPECT_EQ(seen.TotalEntered(), kThreads * kCalls);
  EXPECT_EQ(seen.left, left);
  EXPECT_EQ(seen.admitted_at_once + seen.admitted_after_wait, admitted.load());
  // Nobody paid who did not run.
  EXPECT_EQ(limiter.Get<0>().Read(clock.Now()).available,
            kTokens - static_cast<std::int64_t>(admitted.load()));
  EXPECT_GT(seen.admitted_after_wait, 0u);
  EXPECT_GT(seen.left, 0u);
}

TEST(AdmissionQueueStress, AccountsAddUp) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Stress({.max_waiting = 8, .max_wait = 5us, .target = 1us, .interval = 3us}, seed);
  }
}
TEST(AdmissionQueueStress, InALargeRoomNobodyIsForgotten) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Stress({.max_waiting = 100'000, .max_wait = 1h, .target = 1h, .interval = 3us}, seed);
  }
}

}  // namespace
}  // namespace shed
