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

}  // namespace
}  // namespace shed::internal
