// Units that threads take, keep and give back, whatever the order: never more are out than there
// are, none is lost, and nobody is refused what is there for all of its call.
#include "shed/internal/unit_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "explore.h"
#include "scenario.h"
#include "scheduled_sync.h"

namespace shed::schedule {
namespace {

using Pool = internal::UnitPool<ScheduledSync>;

// Takes so many units and, if it got them, gives them back.
using Takes = std::vector<std::vector<std::uint32_t>>;  // Of each thread, one after the other.

class Units : public Scenario {
 public:
  // Before, the stripes of all threads have `kept` each; or thread 0 holds `held`, of which it rids
  // itself first, and another has asked for more than was left.
  Units(std::uint32_t units, Takes takes, std::uint32_t kept = 0, std::uint32_t held = 0)
      : Scenario(static_cast<int>(takes.size())),
        units_(units),
        pool_(units),
        takes_(std::move(takes)) {
    for (unsigned i = 0; i < takes_.size() && kept > 0; ++i) {
      EXPECT_TRUE(pool_.TryTake(i, kept));
      pool_.Give(i, kept);
    }
    if (held == 0) return;
    EXPECT_TRUE(pool_.TryTake(0, held));
    EXPECT_FALSE(pool_.TryTake(1, units - held + 1));
    holds_[0] = may_hold_[0] = held;
  }

  void Run(int thread) override {
    const auto me = static_cast<std::size_t>(thread);
    const auto stripe = static_cast<unsigned>(thread);
    if (const std::uint32_t first = std::exchange(holds_[me], 0)) {
      pool_.Give(stripe, first);
      may_hold_[me] = 0;
    }
    for (std::size_t i = 0; i < takes_[me].size(); ++i) {
      Scheduler::Remember({i});
      const std::uint32_t units = takes_[me][i];
      least_free_[me] = units_;
      may_hold_[me] = units;
      const bool got = pool_.TryTake(stripe, units);
      if (!got) {
        may_hold_[me] = 0;
        // Counting for the others what they may have, not what they have.
        if (least_free_[me] >= units) Scheduler::Fail("refused what was free all the time");
        continue;
      }
      holds_[me] = units;
      Scheduler::Remember({i, 1});
      Scheduler::Work();
      holds_[me] = 0;
      pool_.Give(stripe, units);
      may_hold_[me] = 0;
    }
  }

  std::string Check(int) override {
    std::uint32_t out = 0, may_be_out = 0;
    for (std::size_t i = 0; i < takes_.size(); ++i) {
      out += holds_[i];
      may_be_out += may_hold_[i];
    }
    for (std::size_t i = 0; i < takes_.size(); ++i) {
      const std::uint32_t others = may_be_out - may_hold_[i];
      least_free_[i] = std::min(least_free_[i], units_ - std::min(units_, others));
    }
    if (out > units_) return std::to_string(out) + " units are out";
    if (pool_.in_use() < out) return "out, and not in use";
    return "";
  }
  std::string End() override {
    if (pool_.in_use() != 0) return std::to_string(pool_.in_use()) + " in use at the end";
    if (!pool_.TryTake(0, units_)) return "not all can be taken";
    if (pool_.TryTake(1, 1)) return "more than there are";
    return "";
  }
  // What a thread may hold follows from what it has seen, but not what was free meanwhile.
  std::uint64_t Ghost() const override {
    std::uint64_t ghost = 0;
    for (const std::uint32_t free : least_free_) ghost = MixBits(ghost + free + 1);
    return ghost;
  }

 private:
  const std::uint32_t units_;
  Pool pool_;
  const Takes takes_;
  std::array<std::uint32_t, kMaxThreads> holds_{};  // For certain.
  std::array<std::uint32_t, kMaxThreads>
      may_hold_{};  // From the beginning of TryTake to the end of Give.
  std::array<std::uint32_t, kMaxThreads> least_free_{};  // While it has been trying.
};

// One word, as there are too few units to keep any.
TEST(UnitPoolSchedule, TooFewToKeepAny) {
  ExpectFineInEveryOrder(ExploreAll<Units>({}, 2u, Takes{{1, 2}, {2, 1}}));
  ExpectFineInEveryOrder(ExploreAll<Units>({}, 3u, Takes{{1, 2}, {2}, {1}}));
}

// Each thread keeps 2 of 64 units; who wants many gathers them.
TEST(UnitPoolSchedule, TwoThreads) {
  ExpectFineInEveryOrder(ExploreAll<Units>({}, 64u, Takes{{1, 62}, {1, 1}}, 2u));
  ExpectFineInEveryOrder(ExploreAll<Units>({}, 64u, Takes{{63}, {1, 2}}, 2u));
  ExpectFineInEveryOrder(ExploreAll<Units>({}, 64u, Takes{{64}, {64}}, 1u));
  ExpectFineInEveryOrder(ExploreAll<Units>({.spurious = 0}, 64u, Takes{{2, 63}, {64, 1}}, 2u));
}

// Units run out, come back, are kept again, and run out again, all during one call.
TEST(UnitPoolSchedule, ThereAndBackAgain) {
  ExpectFineInEveryOrder(ExploreAll<Units>({.spurious = 0}, 64u, Takes{{2, 62}, {2}}, 0u, 40u));
}

TEST(UnitPoolSchedule, ThreeThreads) {
  ExpectFineInEveryOrder(ExploreAll<Units>({.spurious = 0}, 64u, Takes{{62}, {1}, {1}}, 2u));
}

TEST(UnitPoolSchedule, ThreeThreadsAtRandom) {
  ExpectFine(ExploreRandom<Units>(100'000, 1, 64u,
                                  Takes{{1, 60, 2, 1}, {2, 1, 40, 1}, {1, 1, 30, 2}}, 1u));
}

}  // namespace
}  // namespace shed::schedule
