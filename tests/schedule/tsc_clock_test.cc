// A clock whose lines are replaced by the threads that read it, whatever the order: it goes back on
// no thread, tells no time but that of the reference, and nobody reads half of a line.
#include "shed/tsc_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "explore.h"
#include "scenario.h"
#include "scheduled_sync.h"
#include "shed/internal/clock_line.h"
#include "shed/internal/line_slots.h"

namespace shed::schedule {
namespace {

using internal::ClockLine;
using Slots = internal::LineSlots<ScheduledSync>;

// A line all of whose values tell which it is, and that has the first time of that number.
ClockLine Line(std::uint64_t n) {
  return {.count = 10 * n,
          .span = n,
          .begin = static_cast<std::int64_t>(2 * n),
          .slope = 3 * n,
          .end = static_cast<std::int64_t>(4 * n),
          .at = static_cast<std::int64_t>(5 * n),
          .width = static_cast<std::int64_t>(6 * n),
          .rate = 7 * n};
}
bool IsWhole(const ClockLine& line) {
  const ClockLine want = Line(line.span);
  return line.span != 0 && line.count == want.count && line.begin == want.begin &&
         line.slope == want.slope && line.end == want.end && line.at == want.at &&
         line.width == want.width && line.rate == want.rate;
}

// Threads that replace the line by the next one, each `times` times, and others that read it once
// or more.
class Replacements : public Scenario {
 public:
  Replacements(int replacers, int times, int readers, int readings = 1)
      : Scenario(replacers + readers),
        replacers_(replacers),
        times_(times),
        readings_(readings),
        slots_(Line(1)) {}

  void Run(int thread) override {
    std::uint64_t last = 0;
    for (int i = 0; i < (thread < replacers_ ? times_ : readings_); ++i) {
      ClockLine line;
      const Slots::Turn turn = slots_.Read(line);
      Scheduler::Remember({static_cast<std::uint64_t>(i), turn, line.span});
      if (!IsWhole(line)) Scheduler::Fail("half of a line");
      if (line.span < last) Scheduler::Fail("a line of before");
      last = line.span;
      if (thread >= replacers_) {
        std::int64_t ns = 0;
        if (slots_.At(line.count, ns) && ns != line.begin) Scheduler::Fail("a time of no line");
        continue;
      }
      if (slots_.Replace(turn, Line(line.span + 1))) {
        replaced_[static_cast<std::size_t>(thread)] += 1;
      } else {
        // With a slot for each of them, only another replacement stands in the way.
        const Scheduler::Look look;
        ClockLine now;
        if (slots_.Read(now) == turn) Scheduler::Fail("not replaced, and nobody else did");
      }
    }
  }
  std::string Check(int) override {
    ClockLine line;
    slots_.Read(line);
    if (!IsWhole(line)) return "half of a line is in force";
    return "";
  }
  std::string End() override {
    ClockLine line;
    slots_.Read(line);
    std::uint64_t replaced = 0;
    for (const std::uint64_t n : replaced_) replaced += n;
    if (line.span != 1 + replaced) {
      return std::to_string(replaced) + " replaced, line " + std::to_string(line.span);
    }
    return "";
  }

 private:
  const int replacers_;
  const int times_;
  const int readings_;
  Slots slots_;
  std::array<std::uint64_t, kMaxThreads> replaced_{};
};

TEST(LineSlotsSchedule, TwoThreadsReplace) {
  ExpectFineInEveryOrder(ExploreAll<Replacements>({}, 2, 2, 0));
}
TEST(LineSlotsSchedule, AReaderBesideTwoThatReplace) {
  ExpectFineInEveryOrder(ExploreAll<Replacements>({}, 2, 1, 1));
}
// Slots come round: who looked at one before must notice. Here the time at 10 is asked for, which
// the first line alone has, while another thread replaces five lines in four slots.
class SlotsComeRound : public Scenario {
 public:
  SlotsComeRound() : Scenario(2), slots_(First()) {}

  void Run(int thread) override {
    if (thread == 0) {
      std::int64_t ns = 0;
      if (slots_.At(10, ns) && ns != 2) Scheduler::Fail("a time of no line");
      return;
    }
    for (std::uint64_t n = 2; n < 7; ++n) {
      ClockLine line;
      const Slots::Turn turn = slots_.Read(line);
      Scheduler::Remember({n, turn});
      // Any mixture of it with the first has some other time at 10, or would if it had one.
      if (!slots_.Replace(turn, {.count = 5, .span = n % 2, .begin = 1'000, .slope = 1u << 31})) {
        Scheduler::Fail("not replaced, and nobody else did");
      }
    }
  }
  std::string Check(int) override { return ""; }
  std::string End() override { return ""; }

 private:
  static ClockLine First() {
    return {.count = 10, .span = 10, .begin = 2, .slope = std::uint64_t{1} << ClockLine::kShift};
  }
  Slots slots_;
};
TEST(LineSlotsSchedule, WhoLookedAtASlotBeforeItCameRoundNotices) {
  ExpectFineInEveryOrder(ExploreAll<SlotsComeRound>({}));
}
TEST(LineSlotsSchedule, ManyOrdersOfThree) {
  ExpectFine(ExploreRandom<Replacements>(100'000, 1, 2, 4, 1, 4));
}

// A machine whose time the threads move. Its counter becomes 200 ppm faster 30 ms after the start:
// readings run ahead of the reference until that is measured.
struct Machine {
  static constexpr std::int64_t kStart = 1'000'000'000;
  static constexpr std::int64_t kFaster = kStart + 30'000'000;
  ScheduledSync::Atomic<std::int64_t> now{kStart};
};
struct Counter {
  Machine* machine;
  static bool Invariant() noexcept { return true; }
  std::uint64_t Read() const noexcept {
    const std::int64_t now = machine->now.load();
    const std::int64_t more = std::max<std::int64_t>(now - Machine::kFaster, 0) / 5'000;
    return static_cast<std::uint64_t>(now + more) * 3 + 12'345;
  }
};
struct Reference {
  Machine* machine;
  TimePoint Now() const noexcept { return TimePoint(Duration(machine->now.load())); }
};

class Readers : public Scenario {
 public:
  // Each thread moves the time by `step` before each of its readings.
  Readers(int threads, int readings, std::int64_t step, int calibrated)
      : Scenario(threads), readings_(readings), step_(step) {
    for (int i = 0; i < calibrated; ++i) {
      machine_.now.fetch_add(3'000'000);
      clock_.Now();
    }
  }

  void Run(int thread) override {
    TimePoint& last = last_[static_cast<std::size_t>(thread)];
    for (int i = 0; i < readings_; ++i) {
      const std::int64_t before = machine_.now.fetch_add(step_) + step_;
      const TimePoint now = clock_.Now();
      const std::int64_t ns = now.time_since_epoch().count();
      Scheduler::Remember({static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(ns)});
      if (now < last) Scheduler::Fail("the clock went back");
      last = now;
      const Scheduler::Look look;
      // A bracket that others move the time in is as wide as what they moved.
      // And 200 ppm of the longest line.
      const std::int64_t slack = step_ * threads() * readings_ / 20'000 + 11'000;
      if (ns < before - slack || ns > machine_.now.load() + slack) Scheduler::Fail("a wrong time");
    }
  }
  std::string Check(int) override { return ""; }
  std::string End() override { return clock_.OnCounter() ? "" : "not calibrated"; }

 private:
  const int readings_;
  const std::int64_t step_;
  Machine machine_;
  BasicTscClock<Counter, Reference, ScheduledSync> clock_{Counter{&machine_}, Reference{&machine_}};
  std::array<TimePoint, kMaxThreads> last_{};
};

// While it is calibrated, and from line to line, with lines that end at every reading or in the
// middle of a call.
TEST(TscClockSchedule, ManyOrdersOfTwo) {
  ExpectFine(ExploreRandom<Readers>(30'000, 1, 2, 6, std::int64_t{2'000'000}, 0));
  ExpectFine(ExploreRandom<Readers>(30'000, 2, 2, 6, std::int64_t{10'000'000}, 4));
  ExpectFine(ExploreRandom<Readers>(30'000, 3, 2, 6, std::int64_t{60'000'000}, 4));
}
TEST(TscClockSchedule, ManyOrdersOfThree) {
  ExpectFine(ExploreRandom<Readers>(30'000, 4, 3, 5, std::int64_t{1'500'000}, 0));
  ExpectFine(ExploreRandom<Readers>(30'000, 5, 3, 5, std::int64_t{7'000'000}, 4));
  ExpectFine(ExploreRandom<Readers>(30'000, 6, 3, 5, std::int64_t{60'000'000}, 4));
}

}  // namespace
}  // namespace shed::schedule
