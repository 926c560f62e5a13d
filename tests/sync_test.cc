#include "shed/sync.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>
#include <set>
#include <thread>
#include <type_traits>
#include <vector>

namespace shed {
namespace {

// Both can stand in for each other in a policy.
template <class Sync>
class SyncTest : public testing::Test {};
using Syncs = testing::Types<StdSync, NoSync>;
TYPED_TEST_SUITE(SyncTest, Syncs);

TYPED_TEST(SyncTest, AtomicIsOneNumber) {
  typename TypeParam::template Atomic<std::uint64_t> word{5};
  EXPECT_EQ(word.load(std::memory_order_relaxed), 5u);
  word.store(6, std::memory_order_release);
  EXPECT_EQ(word.exchange(7), 6u);
  EXPECT_EQ(word.fetch_add(3, std::memory_order_acq_rel), 7u);
  EXPECT_EQ(word.fetch_sub(4), 10u);
  EXPECT_EQ(word.fetch_or(0b1001), 6u);
  EXPECT_EQ(word.fetch_and(0b0011), 15u);
  EXPECT_EQ(word.load(), 3u);

  std::uint64_t seen = 4;
  EXPECT_FALSE(word.compare_exchange_strong(seen, 9));
  EXPECT_EQ(seen, 3u);  // A failure says what was there, or a loop on it would never end.
  EXPECT_EQ(word.load(), 3u);
  EXPECT_TRUE(
      word.compare_exchange_strong(seen, 9, std::memory_order_release, std::memory_order_relaxed));
  EXPECT_EQ(word.load(), 9u);
  seen = 1;
  while (!word.compare_exchange_weak(seen, 11)) {
  }
  EXPECT_EQ(seen, 9u);
  EXPECT_EQ(word.load(), 11u);
}

// Signed counts wrap, as std::atomic's do: with a plain `+` NoSync would be undefined here.
TYPED_TEST(SyncTest, SignedCountsWrap) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  typename TypeParam::template Atomic<std::int64_t> word{kMax};
  EXPECT_EQ(word.fetch_add(1), kMax);
  EXPECT_EQ(word.fetch_sub(1), kMin);
  EXPECT_EQ(word.fetch_add(-5), kMax);
  EXPECT_EQ(word.load(), kMax - 5);

  typename TypeParam::template Atomic<std::uint8_t> small{250};
  small.fetch_add(10);
  EXPECT_EQ(small.load(), 4);
  small.fetch_sub(5);
  EXPECT_EQ(small.load(), 255);
}

TYPED_TEST(SyncTest, AtomicStartsAtZeroAndHoldsOtherTypes) {
  typename TypeParam::template Atomic<std::uint32_t> word{};
  EXPECT_EQ(word.load(), 0u);
  typename TypeParam::template Atomic<bool> flag{};
  EXPECT_FALSE(flag.exchange(true));
  EXPECT_TRUE(flag.load());
  int x = 0;
  typename TypeParam::template Atomic<int*> pointer{nullptr};
  pointer.store(&x, std::memory_order_release);
  EXPECT_EQ(pointer.load(std::memory_order_acquire), &x);
}

TYPED_TEST(SyncTest, MutexLocksForAScope) {
  typename TypeParam::Mutex mutex;
  { const MutexLock lock(mutex); }
  // Free again.
  const bool locked = mutex.try_lock();
  EXPECT_TRUE(locked);
  if (locked) mutex.unlock();
  { const std::lock_guard<typename TypeParam::Mutex> lock(mutex); }
}

TEST(StdMutex, RefusesASecondHolder) {
  StdMutex mutex;
  const MutexLock lock(mutex);
  bool locked = true;
  std::thread([&] {
    const bool got = mutex.try_lock();
    locked = got;
    if (got) mutex.unlock();
  }).join();
  EXPECT_FALSE(locked);
}

// Counters are striped by it: a number that changed would be harmless, one that all threads share
// would put them on one line again.
TEST(StdSync, StripeDiffersBetweenThreadsAndStays) {
  constexpr int kThreads = 8;
  std::vector<unsigned> stripes(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      stripes[static_cast<std::size_t>(i)] = StdSync::Stripe();
      for (int j = 0; j < 100; ++j) {
        EXPECT_EQ(StdSync::Stripe(), stripes[static_cast<std::size_t>(i)]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<unsigned> distinct(stripes.begin(), stripes.end());
  distinct.insert(StdSync::Stripe());
  EXPECT_EQ(distinct.size(), kThreads + 1u);
  EXPECT_LT(*distinct.rbegin() - *distinct.begin(), kThreads + 1u);  // Counted up, not scattered.
}

// A server that starts a thread for each connection: were the numbers used up, every thread would
// soon share its stripes with others.
TEST(StdSync, ThreadsThatComeAndGoDoNotUseUpTheNumbers) {
  std::set<unsigned> numbers;
  for (int i = 0; i < 200; ++i) {
    std::thread([&] { numbers.insert(StdSync::Stripe()); }).join();
  }
  // As many as there are places for a thread's memory, and not one for each thread.
  EXPECT_LT(numbers.size(), 100u);
}

// A stripe has one owner by this name: two threads of one name would overwrite each other's counts.
TEST(StdSync, ThreadNamesAThreadThatLives) {
  constexpr int kThreads = 8;
  std::vector<std::uintptr_t> names(kThreads);
  std::atomic<int> named{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      names[static_cast<std::size_t>(i)] = StdSync::Thread();
      named.fetch_add(1);
      while (named.load() < kThreads) std::this_thread::yield();  // All live at once.
      EXPECT_EQ(StdSync::Thread(), names[static_cast<std::size_t>(i)]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::uintptr_t> distinct(names.begin(), names.end());
  distinct.insert(StdSync::Thread());
  EXPECT_EQ(distinct.size(), kThreads + 1u);
  EXPECT_EQ(distinct.count(0), 0u);
}

TEST(NoSync, CostsNothing) {
  static_assert(sizeof(NoSync::Atomic<std::uint64_t>) == sizeof(std::uint64_t));
  static_assert(std::is_empty_v<NoSync::Mutex>);
  EXPECT_EQ(NoSync::Stripe(), 0u);
  EXPECT_NE(NoSync::Thread(), 0u);
}

}  // namespace
}  // namespace shed
