// What a tracker's own tests cannot reach one at a time; the whole is compared with a plain scan in
// tests/property/demerit_tracker_property_test.cc.
#include "shed/internal/caller_table.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

#include "shed/sync.h"

namespace shed::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Fingerprint Id(std::uint64_t n) { return {.low = n << 40 | n, .high = n}; }
constexpr TimePoint At(Duration d) { return TimePoint(d); }

// A Sync that counts how often a mutex is taken.
struct Counting : NoSync {
  static inline int locks = 0;
  struct SHED_CAPABILITY("mutex") Mutex {
    void lock() SHED_ACQUIRE() { ++locks; }
    void unlock() SHED_RELEASE() {}
    bool try_lock() SHED_TRY_ACQUIRE(true) { return true; }
  };
};

template <class Sync>
struct Table : CallerTable<Sync> {
  explicit Table(std::uint32_t max_callers)
      : CallerTable<Sync>(100, max_callers, seconds(5),
                          {.per_second = 0.5, .longest = seconds(60)}) {}
  CallerCounts CountsOf(Duration now) const { return this->CountsAt(At(now)); }
};

// The mutex is for who comes and who goes: a caller that asks all the time takes it twice a window,
// whoever else does.
TEST(CallerTable, TakesTheMutexAFewTimesPerCallerAndWindow) {
  Table<Counting> table(1000);
  constexpr int kCallers = 100, kMillis = 50'000;
  Counting::locks = 0;
  for (int ms = 0; ms < kMillis; ++ms) {
    auto caller = table.Ask(Id(static_cast<std::uint64_t>(ms % kCallers)), At(milliseconds(ms)));
    ASSERT_TRUE(caller.TryTake(1));
    const std::uint32_t index = caller.index(), generation = caller.generation();
    caller.Unlock();
    table.Release(index, generation, 1);
  }
  EXPECT_GE(Counting::locks, kCallers);
  EXPECT_LE(Counting::locks, kCallers * 3 * kMillis / 5000);
  EXPECT_EQ(table.CountsOf(milliseconds(kMillis)).active, static_cast<std::uint32_t>(kCallers));
}

// One thread that plays two.
struct TwoThreads : StdSync {
  static inline unsigned stripe = 0;
  static unsigned Stripe() noexcept { return stripe; }
};

// Each thread has a time of its own; of a caller that both ask for, the later one counts.
TEST(CallerTable, LetsNoThreadTakeACallersTimeBack) {
  Table<TwoThreads> table(1);
  TwoThreads::stripe = 0;
  table.Ask(Id(1), At(seconds(4)));
  EXPECT_EQ(table.Ask(Id(1), At(seconds(6))).now(), At(seconds(6)));
  TwoThreads::stripe = 1;
  EXPECT_EQ(table.Ask(Id(1), At(seconds(5))).now(), At(seconds(5)));
  EXPECT_EQ(table.CountsOf(seconds(11)).active, 1u);
  table.AdvanceTo(At(seconds(11)));
  EXPECT_EQ(table.CountsOf(seconds(11)).active, 1u);
  table.AdvanceTo(At(seconds(11) + Duration(1)));
  EXPECT_EQ(table.CountsOf(seconds(11) + Duration(1)).active, 0u);
}

TEST(CallerTable, ReleasesNoMoreThanIsHeld) {
  Table<StdSync> table(1);
  auto caller = table.Ask(Id(1), At(seconds(0)));
  const std::uint32_t a = caller.index(), generation = caller.generation();
  ASSERT_TRUE(caller.TryTake(3));
  caller.Unlock();
  table.Release(a, generation + 1, 3);
  EXPECT_EQ(table.in_use(), 3u);
  table.Release(a, generation, 2);
  EXPECT_EQ(table.in_use(), 1u);
  table.Release(a, generation, 2);
  EXPECT_EQ(table.in_use(), 0u);
  table.Release(a, generation, 2);
  EXPECT_EQ(table.in_use(), 0u);
  table.AdvanceTo(At(seconds(100)));
  EXPECT_EQ(table.CountsOf(seconds(100)).active, 0u);
  table.Release(a, generation, 2);
  EXPECT_EQ(table.in_use(), 0u);
  EXPECT_EQ(table.CountsOf(seconds(100)).active, 0u);
}

// Where its window has ended meanwhile, the last unit that a caller gives back makes it idle.
TEST(CallerTable, ForgetsWhoReleasesAfterItsWindow) {
  Table<StdSync> table(2);
  auto caller = table.Ask(Id(1), At(seconds(0)));
  const std::uint32_t a = caller.index(), generation = caller.generation();
  ASSERT_TRUE(caller.TryTake(2));
  caller.Unlock();
  table.AdvanceTo(At(seconds(50)));
  table.Release(a, generation, 1);
  EXPECT_EQ(table.CountsOf(seconds(50)).active, 1u);
  table.Release(a, generation, 1);
  EXPECT_EQ(table.CountsOf(seconds(50)).active, 0u);
  EXPECT_EQ(table.CountsOf(seconds(50)).tracked, 0u);
}

// A ticket speaks for its caller as long as that holds anything: in time, late, and too late.
TEST(CallerTable, AsksAgainForWhoHoldsUnitsOnly) {
  Table<StdSync> table(1);
  std::uint32_t a = 0, generation = 0;
  {
    auto caller = table.Ask(Id(1), At(seconds(0)));
    a = caller.index();
    generation = caller.generation();
  }
  EXPECT_FALSE(table.AskAgain(a, generation, At(seconds(1))));  // It holds none.
  ASSERT_TRUE(table.Ask(Id(1), At(seconds(1))).TryTake(1));
  EXPECT_FALSE(table.AskAgain(a, generation + 1, At(seconds(1))));
  EXPECT_TRUE(table.AskAgain(a, generation, At(seconds(1))));
  EXPECT_EQ(table.AskAgain(a, generation, At(seconds(50))).now(), At(seconds(50)));  // Long after.
  table.Release(a, generation, 1);
  EXPECT_EQ(table.CountsOf(seconds(55)).active, 1u);  // For it asked at 50 s.
  EXPECT_EQ(table.CountsOf(seconds(55) + Duration(1)).active, 0u);
  table.AdvanceTo(At(seconds(56)));
  EXPECT_FALSE(table.AskAgain(a, generation, At(seconds(56))));
}

}  // namespace
}  // namespace shed::internal
