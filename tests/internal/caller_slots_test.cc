#include "shed/internal/caller_slots.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "shed/sync.h"

namespace shed::internal {
namespace {

using std::chrono::seconds;

constexpr DemeritDecay kDecay{.per_second = 0.5, .longest = seconds(60)};
static_assert(kDecay.After(10, seconds(0)) == 10);
static_assert(kDecay.After(10, seconds(4)) == 8);
static_assert(kDecay.After(10, seconds(20)) == 0 && kDecay.After(10, seconds(21)) == 0);
static_assert(kDecay.After(100, seconds(60) - Duration(1)) > 70);
static_assert(kDecay.After(100, seconds(60)) == 0 && kDecay.After(100, Duration::max()) == 0);

constexpr TimePoint At(Duration d) { return TimePoint(d); }

// The upper half of `low` chooses the line: these share one, the first, and these the last.
Fingerprint First(std::uint64_t n) { return {.low = n, .high = n}; }
Fingerprint Last(std::uint64_t n) { return {.low = 0xffff'ffff'0000'0000 + n, .high = n}; }

// Agrees with std::map, up to full, with homes so close that most entries are sent on, also around
// the end; and an entry stays where it is.
TEST(CallerSlots, AgreesWithAMap) {
  for (const std::uint32_t capacity : {1u, 2u, 3u, 7u, 50u}) {
    std::mt19937_64 random(capacity);
    CallerSlots<StdSync> slots(capacity);
    std::map<std::uint64_t, std::pair<Fingerprint, std::uint32_t>> model;
    for (int i = 0; i < 100'000; ++i) {
      const std::uint64_t n = random() % (2 * capacity + 1);
      const Fingerprint id = n % 3 == 0 ? Last(n) : First(n);
      const auto at = model.find(n);
      if (at == model.end()) {
        ASSERT_FALSE(slots.Find(id));
        if (model.size() < capacity) model[n] = {id, slots.Insert(id).index()};
      } else if (random() % 2 == 0) {
        auto held = slots.Hold(at->second.second);
        slots.Erase(held);
        model.erase(at);
      }
      if (i % 16 != 0) continue;
      for (const auto& [key, place] : model) {
        const auto held = slots.Find(place.first);
        ASSERT_TRUE(held);
        ASSERT_EQ(held.index(), place.second);
        ASSERT_LT(held.index(), slots.last());
      }
    }
  }
}

// Two callers of whom one half is the same are two.
TEST(CallerSlots, ComparesBothHalves) {
  CallerSlots<StdSync> slots(4);
  const std::uint32_t one = slots.Insert({.low = 1, .high = 1}).index();
  const std::uint32_t two = slots.Insert({.low = 1, .high = 2}).index();
  EXPECT_NE(one, two);
  EXPECT_EQ((slots.Find({.low = 1, .high = 1}).index()), one);
  EXPECT_EQ((slots.Find({.low = 1, .high = 2}).index()), two);
  EXPECT_FALSE((slots.Find({.low = 1, .high = 3})));
  EXPECT_FALSE((slots.Find({.low = 2, .high = 1})));
}

// A caller that comes later finds nothing of the one before it, and a ticket of that one is told by
// the generation.
TEST(CallerSlots, HandsAnEntryOnEmptyAndAGenerationLater) {
  CallerSlots<StdSync> slots(1);
  std::uint32_t index = 0, generation = 0;
  {
    auto held = slots.Insert(First(1));
    index = held.index();
    generation = held.generation();
    held.SetDemerit(5, At(seconds(1)));
    slots.Erase(held);
  }
  EXPECT_FALSE(slots.Find(First(1)));
  const auto held = slots.Insert(First(2));
  EXPECT_EQ(held.index(), index);
  EXPECT_EQ(held.generation(), generation + 1);
  EXPECT_EQ(held->held, 0u);
  EXPECT_EQ(held.DemeritAt(At(seconds(1)), kDecay), 0);
}

TEST(CallerSlots, KeepsTheDemeritOfTheLatestRefusal) {
  CallerSlots<StdSync> slots(1);
  auto held = slots.Insert(First(1));
  held.SetDemerit(0, At(seconds(-100)));  // Nothing to keep.
  EXPECT_EQ(held.DemeritAt(At(seconds(-100)), kDecay), 0);
  held.SetDemerit(4, At(seconds(-90)));
  EXPECT_EQ(held.DemeritAt(At(seconds(-88)), kDecay), 3);
  held.SetDemerit(6, At(seconds(-89)));
  held.SetDemerit(7, At(seconds(-90)));  // Another thread's, a little late.
  EXPECT_EQ(held.DemeritAt(At(seconds(-87)), kDecay), 6);
}

// A Sync that counts how often an atomic is read.
struct Counting : StdSync {
  static inline std::uint64_t loads = 0;
  template <class T>
  class Atomic : public NoSync::Atomic<T> {
   public:
    using NoSync::Atomic<T>::Atomic;
    T load(std::memory_order order = std::memory_order_seq_cst) const {
      ++loads;
      return NoSync::Atomic<T>::load(order);
    }
  };
};

// However many came and went, a search reads few lines, and no more in the long run: no graves are
// left behind. Names in rotation must not make the table slow.
TEST(CallerSlots, IsNoSlowerTheMoreCameAndWent) {
  constexpr std::uint32_t kCapacity = 1000;
  std::mt19937_64 random(1);
  CallerSlots<Counting> slots(kCapacity);
  std::vector<std::uint32_t> in;
  const auto search = [&] {
    Counting::loads = 0;
    for (int i = 0; i < 10'000; ++i) {
      EXPECT_FALSE((slots.Find({.low = random(), .high = random()})));
    }
    return Counting::loads;
  };
  const auto rotate = [&](int count) {
    for (int i = 0; i < count; ++i) {
      std::swap(in[random() % in.size()], in.back());
      {
        auto held = slots.Hold(in.back());
        slots.Erase(held);
      }
      in.back() = slots.Insert({.low = random(), .high = random()}).index();
    }
  };
  for (std::uint32_t i = 0; i < kCapacity; ++i) {
    in.push_back(slots.Insert({.low = random(), .high = random()}).index());
  }
  rotate(10'000);
  const std::uint64_t soon = search();
  EXPECT_LE(soon, 3 * 30'000u);  // Three lines on average, three atomics each.
  rotate(100'000);
  EXPECT_LE(search(), soon * 6 / 5);
  for (const std::uint32_t i : in) {
    auto held = slots.Hold(i);
    slots.Erase(held);
  }
  EXPECT_EQ(search(), 30'000u);  // Both entries, and that nobody was sent on.
}

// More sent on past a line than it can count.
TEST(CallerSlots, FindsAllOfAThousandWithOneHome) {
  CallerSlots<StdSync> slots(1000);
  for (int round = 0; round < 2; ++round) {
    for (std::uint64_t n = 0; n < 1000; ++n) slots.Insert(Last(n));
    for (std::uint64_t n = 0; n < 1000; ++n) ASSERT_TRUE(slots.Find(Last(n))) << n;
    EXPECT_FALSE(slots.Find(Last(1000)));
    for (std::uint64_t n = 0; n < 1000; ++n) {
      auto held = slots.Find(Last(n));
      slots.Erase(held);
    }
    EXPECT_FALSE(slots.Find(Last(7)));
  }
}

// Beside one that changes who is in, others search: they never get a wrong entry, and what they
// write under its lock is not lost.
TEST(CallerSlots, GivesNoWrongEntryBesideChanges) {
  constexpr std::uint64_t kIds = 8;
  CallerSlots<StdSync> slots(4);
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> found{0}, wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      while (!done.load()) {
        const Fingerprint id = First(random() % kIds);
        if (auto held = slots.Find(id)) {
          ++found;
          // Each caller's units are its number and no other's.
          if (held->held != 0 && held->held != id.low + 1) ++wrong;
          held->held = static_cast<std::uint32_t>(id.low) + 1;
        }
      }
    });
  }
  std::mt19937_64 random(9);
  std::vector<std::uint32_t> in;
  for (int i = 0; i < 30'000 || found.load() < 1000; ++i) {
    if (in.size() < 4) {
      std::uint64_t n = random() % kIds;
      while (slots.Find(First(n))) n = (n + 1) % kIds;
      in.push_back(slots.Insert(First(n)).index());
    } else {
      std::swap(in[random() % 4], in.back());
      auto held = slots.Hold(in.back());
      held->held = 0;
      slots.Erase(held);
      in.pop_back();
    }
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0u);
}

}  // namespace
}  // namespace shed::internal
