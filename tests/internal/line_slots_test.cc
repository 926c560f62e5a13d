#include "shed/internal/line_slots.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "shed/sync.h"

namespace shed::internal {
namespace {

// A line all of whose values tell which it is.
ClockLine Line(std::uint64_t n) {
  ClockLine line;
  line.count = 10 * n;
  line.span = n;
  line.begin = static_cast<std::int64_t>(2 * n);
  line.slope = 3 * n;
  line.end = static_cast<std::int64_t>(4 * n);
  line.at = static_cast<std::int64_t>(5 * n);
  line.width = static_cast<std::int64_t>(6 * n);
  line.rate = 7 * n;
  return line;
}
bool IsLine(const ClockLine& line, std::uint64_t n) {
  const ClockLine want = Line(n);
  return line.count == want.count && line.span == want.span && line.begin == want.begin &&
         line.slope == want.slope && line.end == want.end && line.at == want.at &&
         line.width == want.width && line.rate == want.rate;
}

TEST(LineSlots, ReadsWhatWasPutIn) {
  LineSlots<StdSync> slots(Line(1));
  ClockLine line;
  auto turn = slots.Read(line);
  EXPECT_TRUE(IsLine(line, 1));
  for (std::uint64_t n = 2; n < 20; ++n) {
    ASSERT_TRUE(slots.Replace(turn, Line(n)));
    const auto next = slots.Read(line);
    EXPECT_TRUE(IsLine(line, n));
    EXPECT_NE(next, turn);
    turn = next;
  }
}

TEST(LineSlots, TellsTheTimeOnTheLineAndNotOffIt) {
  ClockLine line;
  line.count = 1'000;
  line.span = 10;
  line.begin = 500;
  line.slope = std::uint64_t{3} << ClockLine::kShift;
  const LineSlots<NoSync> slots(line);
  std::int64_t ns = 0;
  EXPECT_TRUE(slots.At(1'000, ns));
  EXPECT_EQ(ns, 500);
  EXPECT_TRUE(slots.At(1'009, ns));
  EXPECT_EQ(ns, 527);
  EXPECT_FALSE(slots.At(1'010, ns));
  EXPECT_FALSE(slots.At(999, ns));
  EXPECT_FALSE(slots.At(0, ns));
  EXPECT_EQ(ns, 527);
}

TEST(LineSlots, OneOfTwoReplacementsOfALineIsTaken) {
  LineSlots<StdSync> slots(Line(1));
  ClockLine line;
  const auto turn = slots.Read(line);
  EXPECT_TRUE(slots.Replace(turn, Line(2)));
  EXPECT_FALSE(slots.Replace(turn, Line(3)));
  EXPECT_TRUE(slots.Replace(slots.Read(line), Line(4)));
  // The loser gives its own slot back, and no other: as many more as one likes.
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(slots.Replace(turn, Line(3)));
    slots.Read(line);
    EXPECT_TRUE(IsLine(line, 4));
  }
  EXPECT_TRUE(slots.Replace(slots.Read(line), Line(5)));
}

// A Sync whose stores can be stopped, to hold a thread in the middle of a replacement.
struct HookSync {
  template <class T>
  class Atomic : public std::atomic<T> {
   public:
    using std::atomic<T>::atomic;
    void store(T value, std::memory_order order) noexcept {
      if (hook) hook();
      std::atomic<T>::store(value, order);
    }
  };
  static inline void (*hook)() = nullptr;
};

LineSlots<HookSync>* held_slots = nullptr;
int depth = 0;
int replaced = 0;

// A thread that is stopped there is as good as a call made there.
TEST(LineSlots, AReplacementThatIsStoppedHoldsUpNobody) {
  LineSlots<HookSync> slots(Line(1));
  held_slots = &slots;
  // Each level stops in its first store, with its slot taken, and lets another one in.
  HookSync::hook = [] {
    if (depth == static_cast<int>(LineSlots<HookSync>::kSlots) - 2) return;
    ++depth;
    ClockLine line;
    const auto turn = held_slots->Read(line);
    if (held_slots->Replace(turn, Line(100))) ++replaced;
  };
  ClockLine line;
  const auto turn = slots.Read(line);
  // The innermost was first, and those that it overtook know.
  EXPECT_FALSE(slots.Replace(turn, Line(2)));
  EXPECT_EQ(replaced, 1);
  slots.Read(line);
  EXPECT_TRUE(IsLine(line, 100));

  // With every slot held, it says no and changes nothing.
  depth = 0;
  replaced = 0;
  HookSync::hook = [] {
    constexpr int kAllHeld = static_cast<int>(LineSlots<HookSync>::kSlots) - 1;
    const int level = ++depth;
    if (level == kAllHeld) HookSync::hook = nullptr;
    ClockLine now;
    const auto at = held_slots->Read(now);
    const bool done = held_slots->Replace(at, Line(200));
    if (level == kAllHeld && done) ++replaced;
  };
  slots.Replace(slots.Read(line), Line(3));
  EXPECT_EQ(depth, 3);
  EXPECT_EQ(replaced, 0);
  EXPECT_TRUE(slots.Replace(slots.Read(line), Line(5)));
}

// Readers beside two threads that replace the line as fast as they can, so that slots come round:
// none sees a mixture, and none goes back.
TEST(LineSlots, ReadersNeverSeeAMixture) {
  LineSlots<StdSync> slots(Line(1));
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 30'000; ++n) {
        ClockLine line;
        const auto turn = slots.Read(line);
        slots.Replace(turn, Line(line.span + 1));
      }
      stop = true;
    });
  }
  std::atomic<int> mixtures{0};
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      std::uint64_t last = 0;
      do {
        ClockLine line;
        slots.Read(line);
        if (!IsLine(line, line.span) || line.span < last) ++mixtures;
        last = line.span;
        std::int64_t ns = 0;
        // At its first count a line has begun, at twice its number.
        if (slots.At(10 * last, ns) && ns != static_cast<std::int64_t>(2 * last)) ++mixtures;
      } while (!stop);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(mixtures, 0);
  ClockLine line;
  slots.Read(line);
  EXPECT_GE(line.span, 30'001U);
  EXPECT_LE(line.span, 60'001U);
}

}  // namespace
}  // namespace shed::internal
