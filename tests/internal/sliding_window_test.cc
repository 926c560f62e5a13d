#include "shed/internal/sliding_window.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace shed::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr Duration kCentury = std::chrono::hours(24 * 36'525);

TimePoint At(Duration since_zero) { return TimePoint(since_zero); }

using Window = SlidingWindow<StdSync, 2>;

// P12, Shopify/semian#24: an event one window old is out, however recent the latest one is.
TEST(SlidingWindow, AnEventIsOutWhenItIsAWindowOld) {
  Window window(seconds(5));
  window.Add(At(seconds(0)), 0, 0);
  window.Add(At(seconds(5)), 0, 0);
  window.Add(At(seconds(6)), 0, 0);
  EXPECT_EQ(window.Sum(At(seconds(6)), 0)[0], 2u);
  window.Add(At(seconds(7)), 0, 0);
  EXPECT_EQ(window.Sum(At(seconds(7)), 0)[0], 3u);
}

TEST(SlidingWindow, HoldsAtLeastNineTenthsAndNeverAWhole) {
  // 1007 ns is no multiple of ten slices: the slices are 100 ns.
  for (const std::int64_t ns : {1000, 1007, 1'000'003}) {
    for (std::int64_t offset = -ns; offset <= ns; offset += ns / 97) {
      Window window{Duration(ns)};
      window.Add(At(Duration(offset)), 1, 0);
      EXPECT_EQ(window.Sum(At(Duration(offset + ns / 10 * 9)), 0)[1], 1u) << ns << " " << offset;
      EXPECT_EQ(window.Sum(At(Duration(offset + ns)), 0)[1], 0u) << ns << " " << offset;
    }
  }
}

// A window that only writers expire shows old counts for ever once nobody writes (algorithms: 9).
TEST(SlidingWindow, ExpiresWhenItIsRead) {
  Window window(seconds(10));
  for (int i = 0; i < 100; ++i) window.Add(At(seconds(3)), 0, 0);
  EXPECT_EQ(window.Sum(At(seconds(12)), 0)[0], 100u);
  EXPECT_EQ(window.Sum(At(seconds(13)), 0)[0], 0u);
  // Reading moved nothing: a reader with an older time still finds them.
  EXPECT_EQ(window.Sum(At(seconds(4)), 0)[0], 100u);
}

TEST(SlidingWindow, IdleThenABurstCountsTheBurstAlone) {
  for (const Duration idle : {Duration(seconds(10)), Duration(seconds(19)), Duration(seconds(20)),
                              Duration(seconds(21)), Duration(std::chrono::hours(1)), kCentury}) {
    Window window(seconds(10));
    for (int i = 0; i < 10; ++i) window.Add(At(seconds(i)), 0, 0);
    for (int i = 0; i < 7; ++i) window.Add(At(seconds(9) + idle), 0, 0);
    EXPECT_EQ(window.Sum(At(seconds(9) + idle), 0)[0], 7u) << idle.count();
  }
}

TEST(SlidingWindow, PartOfTheSlicesExpire) {
  Window window(seconds(10));
  for (int i = 0; i < 10; ++i) window.Add(At(seconds(i)), 0, 0);
  for (int i = 10; i < 20; ++i) {
    EXPECT_EQ(window.Sum(At(seconds(i)), 0)[0], static_cast<std::uint64_t>(19 - i));
  }
  window.Add(At(seconds(14)), 0, 0);
  EXPECT_EQ(window.Sum(At(seconds(14)), 0)[0], 6u);
}

TEST(SlidingWindow, AnEventThatLagsGoesToItsOwnSliceOrNowhere) {
  Window window(seconds(10));
  window.Add(At(seconds(20)), 0, 0);
  EXPECT_TRUE(window.Add(At(seconds(11)), 0, 0).counted);
  EXPECT_FALSE(window.Add(At(milliseconds(10'999)), 0, 0).counted);
  EXPECT_FALSE(window.Add(At(-kCentury), 0, 0).counted);
  EXPECT_EQ(window.Sum(At(seconds(20)), 0)[0], 2u);
  EXPECT_EQ(window.Sum(At(seconds(21)), 0)[0], 1u);  // It left with its own slice.
  // A reader whose time lags sees the window as it is.
  EXPECT_EQ(window.Sum(At(seconds(0)), 0)[0], 2u);
}

TEST(SlidingWindow, TheEndsOfTimeAreTimesLikeOthers) {
  for (const Duration width : {Duration(std::chrono::microseconds(1)), Duration(seconds(10)),
                               Duration(std::chrono::hours(24))}) {
    Window window(width);
    EXPECT_EQ(window.Sum(At(Duration(kMax)), 0)[0], 0u);
    EXPECT_TRUE(window.Add(At(Duration(kMin)), 0, 0).counted);
    EXPECT_EQ(window.Sum(At(Duration(kMin)), 0)[0], 1u);
    EXPECT_EQ(window.Sum(At(Duration(kMax)), 0)[0], 0u);
    EXPECT_TRUE(window.Add(At(Duration(kMax)), 0, 0).counted);
    EXPECT_TRUE(window.Add(At(Duration(kMax)), 0, 0).counted);
    EXPECT_FALSE(window.Add(At(Duration(kMin)), 0, 0).counted);
    EXPECT_EQ(window.Sum(At(Duration(kMax)), 0)[0], 2u);
  }
}

TEST(SlidingWindow, TellsHowManyCameBefore) {
  Window window(seconds(10));
  EXPECT_EQ(window.Add(At(seconds(1)), 0, 0).before, 0u);
  EXPECT_EQ(window.Add(At(seconds(1)), 1, 0).before, 0u);
  EXPECT_EQ(window.Add(At(seconds(1)), 0, 0).before, 1u);
  EXPECT_EQ(window.Add(At(seconds(2)), 0, 0).before, 0u);
  EXPECT_EQ(window.Add(At(seconds(11)), 0, 0).before, 0u);
}

TEST(SlidingWindow, ClearBeginsAGenerationAndAnEarlierOneCountsNoMore) {
  Window window(seconds(10));
  window.Add(At(seconds(1)), 0, 0);
  window.Clear(1);
  EXPECT_EQ(window.Sum(At(seconds(1)), 0)[0], 0u);
  EXPECT_FALSE(window.Add(At(seconds(1)), 0, 0).counted);
  EXPECT_EQ(window.Sum(At(seconds(1)), 1)[0], 0u);
  EXPECT_TRUE(window.Add(At(seconds(1)), 0, 1).counted);
  EXPECT_FALSE(window.Add(At(seconds(2)), 0, 0).counted);  // It turns the slice all the same.
  EXPECT_TRUE(window.Add(At(seconds(2)), 0, 1).counted);
  EXPECT_EQ(window.Sum(At(seconds(2)), 1)[0], 2u);
}

TEST(SlidingWindow, RemoveTakesBackOneAndNeverWhatIsGone) {
  Window window(seconds(10));
  const auto first = window.Add(At(seconds(1)), 0, 0);
  window.Add(At(seconds(1)), 0, 0);
  window.Remove(first.slice, window.MyStripe(), 0, 0);
  EXPECT_EQ(window.Sum(At(seconds(1)), 0)[0], 1u);
  // Its slot is another slice's by now.
  window.Add(At(seconds(11)), 0, 0);
  window.Remove(first.slice, window.MyStripe(), 0, 0);
  EXPECT_EQ(window.Sum(At(seconds(11)), 0)[0], 1u);
  // Nor is it what a later slice with the same tag holds.
  const Duration lap = seconds(10 * 4096);
  window.Add(At(seconds(1) + lap), 0, 0);
  window.Remove(first.slice, window.MyStripe(), 0, 0);
  EXPECT_EQ(window.Sum(At(seconds(1) + lap), 0)[0], 1u);
  window.Remove(window.SliceOf(At(seconds(1) + lap)), window.MyStripe(), 0, 0);
  EXPECT_EQ(window.Sum(At(seconds(1) + lap), 0)[0], 0u);
  // Once too often borrows from nobody.
  window.Remove(window.SliceOf(At(seconds(1) + lap)), window.MyStripe(), 0, 0);
  EXPECT_EQ(window.Sum(At(seconds(1) + lap), 0)[0], 0u);
}

// A Sync that runs a hook right before the next fetch_add: what another thread would do between a
// writer's look at the head and its add.
struct HookSync {
  static inline std::function<void()> before_add;
  template <class T>
  class Atomic : public std::atomic<T> {
   public:
    using std::atomic<T>::atomic;
    T fetch_add(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
      if (before_add) std::exchange(before_add, nullptr)();
      return std::atomic<T>::fetch_add(value, order);
    }
  };
  using Mutex = StdMutex;
  static unsigned Stripe() noexcept { return 0; }
  static std::uintptr_t Thread() noexcept { return 1; }
};

// Without the tag, an event that was about to be counted in an old slice counts in the new slice
// that has just got its slot.
TEST(SlidingWindow, AnEventOvertakenByATurnIsTooOldAndNotNew) {
  SlidingWindow<HookSync, 1> window(seconds(10));
  window.Add(At(seconds(5)), 0, 0);
  HookSync::before_add = [&] { window.Add(At(seconds(15)), 0, 0); };
  EXPECT_FALSE(window.Add(At(seconds(5)), 0, 0).counted);
  EXPECT_EQ(window.Sum(At(seconds(15)), 0)[0], 1u);
  // The same for one that lags, and for a jump.
  HookSync::before_add = [&] { window.Add(At(kCentury), 0, 0); };
  EXPECT_FALSE(window.Add(At(seconds(10)), 0, 0).counted);
  EXPECT_EQ(window.Sum(At(kCentury), 0)[0], 1u);
}

TEST(SlidingWindow, AnEventOvertakenByATurnThatLeavesItsSliceCounts) {
  SlidingWindow<HookSync, 1> window(seconds(10));
  window.Add(At(seconds(5)), 0, 0);
  HookSync::before_add = [&] { window.Add(At(seconds(14)), 0, 0); };
  EXPECT_TRUE(window.Add(At(seconds(5)), 0, 0).counted);
  EXPECT_EQ(window.Sum(At(seconds(14)), 0)[0], 3u);
}

TEST(SlidingWindow, AnEventOvertakenByAClearIsStale) {
  SlidingWindow<HookSync, 1> window(seconds(10));
  window.Add(At(seconds(5)), 0, 0);
  HookSync::before_add = [&] { window.Clear(1); };
  EXPECT_FALSE(window.Add(At(seconds(5)), 0, 0).counted);
  EXPECT_EQ(window.Sum(At(seconds(5)), 1)[0], 0u);
  EXPECT_TRUE(window.Add(At(seconds(5)), 0, 1).counted);
  EXPECT_EQ(window.Sum(At(seconds(5)), 1)[0], 1u);
}

// Threads with clocks of their own count through hundreds of turns. What is in the last ten slices
// at the end is exactly what they put there: a turn that wipes a slice twice, or after somebody
// wrote to it, loses events.
TEST(SlidingWindow, NoEventIsLostOrCountedTwiceAtTurns) {
  constexpr int kThreads = 4;
  constexpr std::int64_t kSlicesOfTime = 300;
  constexpr int kPerSlice = 200;
  SlidingWindow<StdSync, 1, 2> window(seconds(10));  // Two threads share a stripe.
  std::atomic<std::int64_t> slowest[kThreads] = {};
  std::atomic<bool> overcount{false};
  std::vector<std::thread> threads;
  for (int id = 0; id < kThreads; ++id) {
    threads.emplace_back([&, id] {
      for (std::int64_t slice = 0; slice < kSlicesOfTime; ++slice) {
        for (int i = 0; i < kPerSlice; ++i) window.Add(At(seconds(slice)), 0, 0);
        const std::uint64_t sum = window.Sum(At(seconds(slice)), 0)[0];
        if (sum > 10u * kPerSlice * kThreads) overcount = true;
        slowest[id] = slice + 1;
        // Keep within half a window of the others, so that nothing is too old.
        for (int other = 0; other < kThreads; ++other) {
          while (slowest[other] + 4 < slice + 1) std::this_thread::yield();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(overcount);
  EXPECT_EQ(window.Sum(At(seconds(kSlicesOfTime - 1)), 0)[0], 10u * kPerSlice * kThreads);
}

// Generations change under writers: at the end, exactly the events of the last one that said that
// they were counted are.
TEST(SlidingWindow, ClearRacesWithWriters) {
  Window window(seconds(10));
  std::atomic<std::uint32_t> generation{0};
  std::atomic<bool> stop{false};
  std::array<std::atomic<std::uint64_t>, 2> counted{};  // In the last generation, per thread.
  constexpr std::uint32_t kLast = 2000;
  std::vector<std::thread> threads;
  for (std::size_t id = 0; id < counted.size(); ++id) {
    threads.emplace_back([&, id] {
      while (!stop) {
        const std::uint32_t mine = generation.load();
        const bool ok = window.Add(At(seconds(mine % 7)), id, mine).counted;
        if (ok && mine == kLast) ++counted[id];
      }
    });
  }
  for (std::uint32_t g = 1; g <= kLast; ++g) {
    window.Clear(g);
    generation = g;
    if (g % 16 == 0) std::this_thread::yield();
  }
  while (counted[0] + counted[1] < 1000) std::this_thread::yield();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  const auto sum = window.Sum(At(seconds(6)), kLast);
  EXPECT_EQ(sum[0], counted[0]);
  EXPECT_EQ(sum[1], counted[1]);
}

// The oracle keeps every event and knows the definition alone: an event is in the window at `now`
// if its slice is one of the ten that end with the latest time ever written, or `now`.
class Oracle {
 public:
  explicit Oracle(std::int64_t width) : width_(width) {}
  bool Add(std::int64_t at, std::size_t kind) {
    latest_ = events_any_ ? std::max(latest_, Slice(at)) : Slice(at);
    events_any_ = true;
    if (Slice(at) <= latest_ - 10) return false;
    events_.push_back({Slice(at), kind});
    while (!events_.empty() && events_.front().slice <= latest_ - 10) events_.pop_front();
    return true;
  }
  std::array<std::uint64_t, 2> Sum(std::int64_t now) const {
    std::array<std::uint64_t, 2> sum{};
    const std::int64_t newest = events_any_ ? std::max(latest_, Slice(now)) : Slice(now);
    for (const Event& event : events_) {
      if (event.slice > newest - 10) ++sum[event.kind];
    }
    return sum;
  }
  void Clear() { events_.clear(); }

 private:
  struct Event {
    std::int64_t slice;
    std::size_t kind;
  };
  std::int64_t Slice(std::int64_t at) const {
    return at >= 0 ? at / width_ : -((-at + width_ - 1) / width_);
  }
  std::int64_t width_;
  std::int64_t latest_ = 0;
  bool events_any_ = false;
  std::deque<Event> events_;
};

TEST(SlidingWindow, AgreesWithAnOracleThatKeepsEveryEvent) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    std::mt19937_64 random(seed);
    const std::int64_t window_ns = seed % 2 == 0 ? 10'000'000'000 : 1007 + 13 * (1 << seed);
    const std::int64_t width = window_ns / 10;
    Window window{Duration(window_ns)};
    Oracle oracle(width);
    std::uint32_t generation = 0;
    std::int64_t clock = static_cast<std::int64_t>(random() % 1'000'000'000'000) - 500'000'000'000;
    for (int step = 0; step < 250'000; ++step) {
      const auto below = [&](std::int64_t n) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
      };
      switch (random() % 64) {
        case 0:
          clock += below(3 * window_ns);  // Idle.
          break;
        case 1:
          clock += below(4000) == 0 ? kCentury.count() / 100 : width * below(4);
          break;
        case 2:
          window.Clear(++generation);
          oracle.Clear();
          break;
        default:
          clock += below(width / 20 + 2);
      }
      const std::int64_t lag = random() % 8 == 0 ? below(2 * window_ns) : 0;
      const std::size_t kind = random() % 2;
      if (random() % 4 != 0) {
        ASSERT_EQ(window.Add(At(Duration(clock - lag)), kind, generation).counted,
                  oracle.Add(clock - lag, kind))
            << "seed " << seed << " step " << step;
      } else {
        const std::int64_t ahead = random() % 4 == 0 ? below(2 * window_ns) : 0;
        ASSERT_EQ(window.Sum(At(Duration(clock - lag + ahead)), generation),
                  oracle.Sum(clock - lag + ahead))
            << "seed " << seed << " step " << step;
      }
    }
  }
}

// ---- SetWindow ----

TEST(SlidingWindow, AShorterWindowKeepsWhatIsNotTooOld) {
  Window window(seconds(10));
  for (std::size_t s = 0; s < 10; ++s) window.Add(At(seconds(s)), s % 2, 0);
  window.SetWindow(seconds(4), At(milliseconds(9900)));
  // Middles of slices: those at 6.5, 7.5, 8.5 s and the one at hand.
  EXPECT_EQ(window.Sum(At(milliseconds(9900)), 0), (std::array<std::uint64_t, 2>{2, 2}));
  EXPECT_EQ(window.Sum(At(milliseconds(11300)), 0)[0] + window.Sum(At(milliseconds(11300)), 0)[1],
            2u);
  EXPECT_EQ(window.Sum(At(milliseconds(14000)), 0), (std::array<std::uint64_t, 2>{}));
  // And counts by its own length from then on.
  window.Add(At(seconds(20)), 0, 0);
  EXPECT_EQ(window.Sum(At(milliseconds(23600)), 0)[0], 1u);
  EXPECT_EQ(window.Sum(At(seconds(24)), 0)[0], 0u);
}

TEST(SlidingWindow, ALongerWindowKeepsAll) {
  Window window(seconds(1));
  for (int i = 0; i < 10; ++i) window.Add(At(milliseconds(100 * i)), 0, 7);
  EXPECT_EQ(window.Sum(At(milliseconds(950)), 0)[0], 0u) << "of another generation";
  window.Clear(7);
  for (int i = 0; i < 10; ++i) window.Add(At(milliseconds(100 * i)), 0, 7);
  window.SetWindow(seconds(60), At(milliseconds(950)));
  EXPECT_EQ(window.Sum(At(seconds(53)), 7)[0], 10u);
  EXPECT_EQ(window.Sum(At(seconds(60)), 7)[0], 0u);
  // Back again, by a clock that lags: nothing moves back, and nothing comes back.
  window.Add(At(seconds(61)), 1, 7);
  window.SetWindow(seconds(1), At(seconds(2)));
  EXPECT_EQ(window.Sum(At(milliseconds(60'500)), 7)[1], 1u);
  window.Add(At(seconds(2)), 1, 7);
  EXPECT_EQ(window.Sum(At(milliseconds(60'500)), 7)[1], 1u);
}

TEST(SlidingWindow, TheWidthMayChangeAnywhereOnTheTimeline) {
  for (const std::int64_t ns :
       {kMin, kMin + 1, std::int64_t{-1}, std::int64_t{0}, kMax - 1, kMax}) {
    Window window(seconds(1));
    window.Add(At(Duration(ns)), 0, 0);
    for (const Duration length : {Duration(1000), Duration(std::chrono::hours(24)),
                                  Duration(seconds(3)), Duration(1'000'000)}) {
      window.SetWindow(length, At(Duration(ns)));
      EXPECT_EQ(window.SliceOf(At(Duration(0))), 0);
    }
    Window fresh(milliseconds(1));
    fresh.SetWindow(seconds(1), At(Duration(ns)));
    fresh.Add(At(Duration(ns)), 1, 0);
    EXPECT_EQ(fresh.Sum(At(Duration(ns)), 0)[1], 1u) << ns;
  }
}

// What threads add while the width changes may be lost, but nothing is counted twice or too long,
// and what they add afterwards is all there.
TEST(SlidingWindow, SetWindowRacesWithWriters) {
  Window window(seconds(10));
  std::atomic<std::int64_t> now{0};
  std::atomic<std::uint64_t> added{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  for (int t = 0; t < 3; ++t) {
    writers.emplace_back([&] {
      while (!stop.load()) {
        added.fetch_add(1);
        window.Add(At(Duration(now.load())), 0, 0);
        now.fetch_add(1'000'000);
      }
    });
  }
  for (int i = 0; i < 2000; ++i) {
    window.SetWindow(i % 2 == 0 ? seconds(1) : seconds(10), At(Duration(now.load())));
    const std::uint64_t sum = window.Sum(At(Duration(now.load())), 0)[0];
    EXPECT_LE(sum, added.load());
  }
  stop.store(true);
  for (std::thread& writer : writers) writer.join();
  const TimePoint later = At(Duration(now.load()) + seconds(100));
  EXPECT_EQ(window.Sum(later, 0)[0], 0u);
  window.SetWindow(seconds(10), later);
  for (int i = 0; i < 100; ++i) window.Add(later, 0, 0);
  EXPECT_EQ(window.Sum(later, 0)[0], 100u);
}

}  // namespace
}  // namespace shed::internal
