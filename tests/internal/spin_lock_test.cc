#include "shed/internal/spin_lock.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

#include "shed/sync.h"

namespace shed::internal {
namespace {

// What it guards is plain: ThreadSanitizer sees a missing order, and the sum a missing lock. There
// are more threads than processors, so that a holder is put to sleep now and then.
TEST(SpinLock, GuardsWhatItsHoldersWrite) {
  constexpr unsigned kThreads = 8;
  constexpr std::uint32_t kTurns = 20'000;
  SpinLock<StdSync> lock;
  std::uint64_t sum = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (std::uint32_t i = 0; i < kTurns; ++i) {
        const std::uint32_t number = lock.Lock();
        EXPECT_EQ(number, sum);
        ++sum;
        lock.Unlock(number + 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, kThreads * kTurns);
  const std::uint32_t number = lock.Lock();
  lock.Unlock(number);
  EXPECT_EQ(number, kThreads * kTurns);
}

// The number does not run into the bit that says the lock is held.
TEST(SpinLock, CountsModulo31Bits) {
  SpinLock<NoSync> lock;
  // Returns the number, having put another there.
  const auto exchange = [&lock](std::uint32_t next) {
    const std::uint32_t number = lock.Lock();
    lock.Unlock(next);
    return number;
  };
  EXPECT_EQ(exchange(0x7fff'ffff), 0u);
  EXPECT_EQ(exchange(0x8000'0000), 0x7fff'ffffu);
  EXPECT_EQ(exchange(1), 0u);
  EXPECT_EQ(exchange(1), 1u);
}

// A Sync that says how is asked how to wait, until the lock is free.
struct Waiting {
  template <class T>
  using Atomic = NoSync::Atomic<T>;
  static inline SpinLock<Waiting>* held = nullptr;
  static inline unsigned turns = 0;
  static void Relax(unsigned tries) SHED_NO_THREAD_SAFETY_ANALYSIS {
    EXPECT_EQ(tries, turns);
    if (++turns == 5) held->Unlock(7);  // As its holder does.
  }
};

// Waits for itself, and is let in.
std::uint32_t LockTwice(SpinLock<Waiting>& lock) SHED_NO_THREAD_SAFETY_ANALYSIS {
  lock.Lock();
  return lock.Lock();
}

TEST(SpinLock, AsksItsSyncHowToWait) {
  SpinLock<Waiting> lock;
  Waiting::held = &lock;
  EXPECT_EQ(LockTwice(lock), 7u);
  EXPECT_EQ(Waiting::turns, 5u);
}

}  // namespace
}  // namespace shed::internal
