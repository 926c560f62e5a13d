#include "shed/internal/unit_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "shed/sync.h"

namespace shed::internal {
namespace {

template <class Sync>
class UnitPoolTest : public testing::Test {};
using Syncs = testing::Types<StdSync, NoSync>;
TYPED_TEST_SUITE(UnitPoolTest, Syncs);

// Whichever stripe gave units back, and whichever asks: they are taken if as many are free, and not
// if one is missing.
TYPED_TEST(UnitPoolTest, IsExactForCallsThatComeOneAfterTheOther) {
  for (const std::uint32_t units : {1u, 2u, 31u, 32u, 33u, 100u, 1000u, 1'000'000'000u}) {
    std::mt19937_64 random(units);
    UnitPool<TypeParam> pool(units);
    std::vector<std::uint32_t> held;
    std::uint64_t in_use = 0, refused = 0;
    for (int i = 0; i < 40'000; ++i) {
      const auto stripe = static_cast<unsigned>(random() % 20);
      // Now few and now many are held, so that the units spread and gather again and again.
      const bool full = i / 500 % 2 == 0;
      if (!held.empty() && random() % 8 < (full ? 3u : 5u)) {
        std::swap(held[random() % held.size()], held.back());
        pool.Give(stripe, held.back());
        in_use -= held.back();
        held.pop_back();
      } else {
        const std::uint32_t free = units - static_cast<std::uint32_t>(in_use);
        std::uint32_t cost = 1;
        if (random() % 4 == 0) cost = 1 + static_cast<std::uint32_t>(random() % (units / 8 + 1));
        if (random() % 16 == 0) cost = free + static_cast<std::uint32_t>(random() % 2);
        if (cost == 0) cost = 1;
        ASSERT_EQ(pool.TryTake(stripe, cost), cost <= free) << cost << " of " << free;
        if (cost <= free) {
          held.push_back(cost);
          in_use += cost;
        } else {
          ++refused;
        }
      }
      ASSERT_EQ(pool.in_use(), in_use);
    }
    EXPECT_GT(refused, 100u);
  }
}

// Threads that want no more than there is between them are never refused: units on their way from
// one to another are not lost sight of. Nor are there ever more than there are.
TEST(UnitPool, RefusesNobodyWhileThereIsEnough) {
  for (const std::uint32_t units : {8u, 64u, 400u}) {
    constexpr unsigned kThreads = 8;
    const std::uint32_t most = units / kThreads;
    UnitPool<StdSync> pool(units);
    std::atomic<std::int64_t> outside{0}, refused{0}, above{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937_64 random(t);
        std::uint32_t held = 0;
        for (int i = 0; i < 20'000; ++i) {
          if (held < most && (held == 0 || random() % 2 == 0)) {
            const auto cost = 1 + static_cast<std::uint32_t>(random() % (most - held));
            if (!pool.TryTake(t, cost)) {
              ++refused;
              continue;
            }
            if (outside.fetch_add(cost) + cost > units) ++above;
            held += cost;
          } else {
            const auto cost = 1 + static_cast<std::uint32_t>(random() % held);
            outside.fetch_sub(cost);
            pool.Give(t + static_cast<unsigned>(random() % 2), cost);
            held -= cost;
          }
          if (i % 64 == 0 && pool.in_use() > units) ++above;
        }
        if (held > 0) {
          outside.fetch_sub(held);
          pool.Give(t, held);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(refused.load(), 0);
    EXPECT_EQ(above.load(), 0);
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.TryTake(99, units));
  }
}

// Many threads that all want more than there is.
TEST(UnitPool, NeverGivesOutMoreThanThereIs) {
  for (const std::uint32_t units : {1u, 40u, 200u}) {
    constexpr unsigned kThreads = 8;
    UnitPool<StdSync> pool(units);
    std::atomic<std::int64_t> outside{0}, refused{0}, above{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937_64 random(t);
        std::vector<std::uint32_t> held;
        for (int i = 0; i < 20'000; ++i) {
          const auto cost = 1 + static_cast<std::uint32_t>(random() % (units / 8 + 1));
          // In waves, so that units run out and come back.
          const bool wants = i / 200 % 2 == 0;
          if (held.empty() || (wants && random() % 4 != 0)) {
            if (!pool.TryTake(t, cost)) {
              ++refused;
            } else {
              if (outside.fetch_add(cost) + cost > units) ++above;
              held.push_back(cost);
              continue;
            }
          }
          if (held.empty()) continue;
          outside.fetch_sub(held.back());
          pool.Give(t, held.back());
          held.pop_back();
        }
        for (const std::uint32_t cost : held) {
          outside.fetch_sub(cost);
          pool.Give(t, cost);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_GT(refused.load(), 0);
    EXPECT_EQ(above.load(), 0);
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.TryTake(0, units));
    EXPECT_FALSE(pool.TryTake(1, 1));
  }
}

// More units or fewer, at any time: what is taken stays taken, and below that nothing is given out.
TYPED_TEST(UnitPoolTest, MayBecomeMoreOrFewer) {
  std::mt19937_64 random(5);
  std::int64_t units = 100;
  UnitPool<TypeParam> pool(100);
  std::vector<std::uint32_t> held;
  std::int64_t in_use = 0;
  int over = 0;
  for (int i = 0; i < 100'000; ++i) {
    const auto stripe = static_cast<unsigned>(random() % 20);
    if (random() % 100 == 0) {
      units = static_cast<std::int64_t>(1 + random() % (random() % 2 == 0 ? 10 : 2000));
      pool.Resize(static_cast<std::uint32_t>(units));
    }
    if (!held.empty() && random() % 8 < (i / 500 % 2 == 0 ? 3u : 5u)) {
      pool.Give(stripe, held.back());
      in_use -= held.back();
      held.pop_back();
    } else {
      const auto cost = static_cast<std::uint32_t>(1 + random() % 8);
      over += in_use > units ? 1 : 0;
      ASSERT_EQ(pool.TryTake(stripe, cost), in_use + cost <= units) << in_use << " of " << units;
      if (in_use + cost <= units) {
        held.push_back(cost);
        in_use += cost;
      }
    }
    ASSERT_EQ(pool.in_use(), in_use);
  }
  EXPECT_GT(over, 1000);
}

// Beside threads that take and give: in the end there are as many as there should be.
TEST(UnitPool, ResizeRacesWithThreads) {
  UnitPool<StdSync> pool(1000);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t) {
    threads.emplace_back([&pool, &stop, t] {
      while (!stop.load()) {
        if (pool.TryTake(t, 3)) pool.Give(t + 1, 3);
      }
    });
  }
  for (std::uint32_t i = 0; i < 5000; ++i) pool.Resize(i % 2 == 0 ? 10 : 1000);
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool.in_use(), 0u);
  EXPECT_TRUE(pool.TryTake(0, 1000));
  EXPECT_FALSE(pool.TryTake(0, 1));
}

}  // namespace
}  // namespace shed::internal
