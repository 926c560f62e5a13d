#include "shed/tsc_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

#include "shed/internal/int128.h"
#include "shed/limiter.h"
#include "shed/rate_limiter.h"

namespace shed {
namespace {

using namespace std::chrono_literals;

// A machine with a steady clock and a counter, where reading either takes time. One thread.
struct Machine {
  std::int64_t steady = 1'000'000'000'000;  // ns
  std::uint64_t counter = 5'000'000'000;
  std::uint64_t hertz = 2'100'000'000;
  std::int64_t ppm = 0;  // that the counter runs fast
  bool invariant = true;
  std::int64_t step = 1;  // of the steady clock: 4 ms where it ticks with the kernel
  std::int64_t counter_cost = 10;
  std::int64_t steady_cost = 24;
  std::uint64_t counter_reads = 0;
  std::uint64_t steady_reads = 0;
  std::function<void()> on_steady_read;

  void Count(std::int64_t ns) {
    const internal::Int128 units = internal::Int128{ns} * hertz * (1'000'000 + ppm) + rest;
    constexpr internal::Int128 kUnit = internal::Int128{1'000'000'000} * 1'000'000;
    counter += static_cast<std::uint64_t>(units / kUnit);
    rest = units % kUnit;
  }
  void Advance(Duration by) {
    steady += by.count();
    Count(by.count());
  }
  TimePoint Steady() const { return TimePoint(Duration(steady - steady % step)); }

 private:
  internal::Int128 rest = 0;
};

struct CounterOf {
  Machine* machine;
  bool Invariant() const noexcept { return machine->invariant; }
  std::uint64_t Read() const noexcept {
    ++machine->counter_reads;
    machine->Advance(Duration(machine->counter_cost));
    return machine->counter;
  }
};
struct SteadyOf {
  Machine* machine;
  TimePoint Now() const noexcept {
    ++machine->steady_reads;
    if (machine->on_steady_read) machine->on_steady_read();
    machine->Advance(Duration(machine->steady_cost));
    return machine->Steady();
  }
};
using FakeClock = BasicTscClock<CounterOf, SteadyOf>;
static_assert(Clock<FakeClock>);
static_assert(!std::is_copy_constructible_v<TscClock>);

// A clock on a machine, which checks that it never goes back and keeps the largest error seen.
class TscClockTest : public testing::Test {
 protected:
  void Start() { clock.emplace(CounterOf{&machine}, SteadyOf{&machine}); }
  // Reads; the error against the true time is how far the reading lies outside the call.
  Duration Read() {
    const TimePoint before = machine.Steady();
    const TimePoint now = clock->Now();
    const TimePoint after = machine.Steady();
    EXPECT_GE(now, last) << "went back";
    rise = now - last;
    last = now;
    const Duration error = now < before ? before - now : now > after ? now - after : 0ns;
    worst = std::max(worst, error);
    return error;
  }
  // Reads every `every` for `span`. Returns the largest error.
  Duration Run(Duration span, Duration every = 10us) {
    worst = 0ns;
    for (const TimePoint end = machine.Steady() + span; machine.Steady() < end;) {
      machine.Advance(every);
      Read();
      if (testing::Test::HasFailure()) break;
    }
    return worst;
  }
  Duration Calibrate() {
    Start();
    for (int i = 0; i < 10'000 && !clock->OnCounter(); ++i) Run(1ms);
    EXPECT_TRUE(clock->OnCounter());
    return Run(300ms);
  }

  Machine machine;
  std::optional<FakeClock> clock;
  TimePoint last;
  Duration rise{};
  Duration worst{};
};

TEST_F(TscClockTest, AnswersFromTheReferenceUntilItIsCalibrated) {
  Start();
  EXPECT_FALSE(clock->OnCounter());
  // The very time that the reference has, and no error but its own.
  int on_reference = 0;
  for (; on_reference < 100'000; ++on_reference) {
    machine.Advance(100ns);
    const Duration error = Read();
    if (clock->OnCounter()) break;
    ASSERT_EQ(error, 0ns);
    ASSERT_EQ(last, machine.Steady());
  }
  // Some milliseconds of it, and no sleep.
  EXPECT_GT(on_reference, 2'000);
  EXPECT_LT(on_reference, 50'000);
}

TEST_F(TscClockTest, ReadsTheCounterAloneOnceItIsCalibrated) {
  Calibrate();
  const std::uint64_t before = machine.steady_reads;
  const std::uint64_t counted = machine.counter_reads;
  Run(10s);
  // Measured again every 50 ms, six readings of the reference each time.
  EXPECT_GT(machine.steady_reads - before, 100U);
  EXPECT_LT(machine.steady_reads - before, 10'000 / 50 * 6 * 2U);
  EXPECT_GT(machine.counter_reads - counted, 990'000U);
}

TEST_F(TscClockTest, StaysWithTheReferenceAtEveryFrequency) {
  for (const std::uint64_t hertz : {1'000'000ULL, 19'200'000ULL, 24'000'000ULL, 1'000'000'000ULL,
                                    2'100'000'000ULL, 5'000'000'000ULL, 10'000'000'000ULL}) {
    SCOPED_TRACE(hertz);
    machine.hertz = hertz;
    last = TimePoint();
    Calibrate();
    // A count of the slowest is 1000 ns long.
    EXPECT_LE(Run(60s, 1ms), Duration(200 + 2'000'000'000 / static_cast<std::int64_t>(hertz)));
  }
}

// NTP turns the rate of the steady clock by up to 500 ppm. In 50 ms that is 10 us for 200 ppm; then
// it is measured and made good, never by going back.
TEST_F(TscClockTest, FollowsADriftWithoutGoingBack) {
  for (const std::int64_t ppm : {200, -200, 500, -500, 0}) {
    SCOPED_TRACE(ppm);
    machine.ppm = ppm;
    last = TimePoint();
    Calibrate();
    EXPECT_LE(Run(1s), 200ns);
    for (const std::int64_t change : {200, -400, 200}) {
      machine.ppm += change;
      const Duration error = Run(150ms, 1us);
      EXPECT_GT(error, 1us);
      EXPECT_LE(error, 50us * std::abs(change) / 1'000 + 1us);
      EXPECT_TRUE(clock->OnCounter());
      EXPECT_LE(Run(1s), 200ns);
    }
  }
}

// Where it is ahead it runs slower and does not stand: limits that wait for time still get it.
TEST_F(TscClockTest, RunsOnWhileItWaitsForTheReference) {
  Calibrate();
  machine.ppm = 300;
  Run(60ms);
  int slow = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    machine.Advance(1us);
    Read();
    if (rise < 990ns) ++slow;
  }
  // A line starts where the one before it ended, and up to 1 us may have passed by then.
  EXPECT_LE(slow, 1'000 / 50 + 1);
}

// A rate out of step with all before it (chrony turns the clock by up to 8 %) is learned anew.
TEST_F(TscClockTest, LearnsANewRate) {
  Calibrate();
  machine.ppm = 80'000;
  EXPECT_LE(Run(1s, 1us), 50ms * 8 / 100 + 1us);
  EXPECT_TRUE(clock->OnCounter());
  EXPECT_LE(Run(1s), 200ns);
}

// A virtual machine moves to a host whose counter stands elsewhere.
TEST_F(TscClockTest, OutlivesAJumpOfTheCounter) {
  const std::uint64_t hour = machine.hertz * 3'600;
  for (const std::uint64_t jump : {hour, machine.hertz / 100, std::uint64_t{1} << 63,
                                   std::uint64_t{0} - hour, std::uint64_t{0} - machine.hertz}) {
    SCOPED_TRACE(jump);
    last = TimePoint();
    Calibrate();
    machine.counter += jump;
    // Wrong for one line at most, and then right again: first from the reference.
    EXPECT_LE(Run(200ms, 1us), 55ms);
    EXPECT_LE(Run(1s), 200ns);
    EXPECT_TRUE(clock->OnCounter());
  }
}

// The same while nobody reads the clock: the jump is in the only measurement there is.
TEST_F(TscClockTest, OutlivesAJumpOfTheCounterInSilence) {
  for (const std::int64_t seconds : {3'600, 1, -1}) {
    SCOPED_TRACE(seconds);
    last = TimePoint();
    Calibrate();
    machine.Advance(10s);
    machine.counter += machine.hertz * static_cast<std::uint64_t>(seconds);
    EXPECT_LE(Run(200ms, 1us), 200ns);
    EXPECT_LE(Run(1s), 200ns);
    EXPECT_TRUE(clock->OnCounter());
  }
}

TEST_F(TscClockTest, OutlivesACounterThatIsReset) {
  Calibrate();
  machine.counter = 0;
  EXPECT_LE(Run(200ms, 1us), 50ms);
  EXPECT_LE(Run(1s), 200ns);
  EXPECT_TRUE(clock->OnCounter());
}

// An invariant counter never does this. It costs what is said of it and no more: the time by which
// it was set back, once.
TEST_F(TscClockTest, ACounterSetBackWithinALineTakesTheClockBackByThatMuch) {
  Calibrate();
  // To the start of a line.
  for (const std::uint64_t reads = machine.steady_reads; machine.steady_reads == reads;) Run(1us);
  machine.Advance(10ms);
  Read();
  machine.counter -= machine.hertz / 1'000;  // 1 ms
  const TimePoint now = clock->Now();
  EXPECT_GE(now, last - 1ms);
  last = now;
  Run(200ms);
  EXPECT_LE(Run(1s), 200ns);
}

// CLOCK_MONOTONIC does not count a suspended machine's time; its counter may, or start anew.
TEST_F(TscClockTest, OutlivesASuspendedMachine) {
  Calibrate();
  machine.Count(3'600'000'000'000);
  EXPECT_LE(Run(200ms, 1us), 50ms);
  EXPECT_LE(Run(1s), 200ns);
  // The reverse: only the counter stood.
  machine.steady += 3'600'000'000'000;
  Run(100ms, 1us);  // Up to 50 ms behind by an hour: the line in force cannot know.
  EXPECT_LE(Run(1s), 200ns);
}

TEST_F(TscClockTest, IsRightAfterYearsOfSilence) {
  Calibrate();
  for (const Duration idle : {Duration(1h), Duration(24h * 365), Duration(24h * 365 * 30)}) {
    machine.Advance(idle);
    EXPECT_LE(Read(), 200ns);
    EXPECT_TRUE(clock->OnCounter());
    EXPECT_LE(Run(1s), 200ns);
  }
}

TEST_F(TscClockTest, TheCounterMayWrapRound) {
  machine.hertz = 10'000'000'000;
  machine.counter = std::numeric_limits<std::uint64_t>::max() - machine.hertz * 2;
  Calibrate();
  EXPECT_LE(Run(5s), 200ns);
  EXPECT_LT(machine.counter, machine.hertz * 10);
}

TEST_F(TscClockTest, IsTheReferenceWhereTheCounterIsNotInvariant) {
  machine.invariant = false;
  Start();
  EXPECT_EQ(Run(1s), 0ns);
  EXPECT_FALSE(clock->OnCounter());
  EXPECT_EQ(machine.counter_reads, 0U);
}

// A steady clock that ticks every 4 ms, and a counter too slow to be of use: no worse than they
// are.
TEST_F(TscClockTest, CoarseSourcesAreNoWorseThanTheyAre) {
  machine.step = 4'000'000;
  Start();
  EXPECT_LE(Run(10s, 100us), 8ms);
  machine = Machine();
  machine.hertz = 10'000;
  last = TimePoint();
  Start();
  EXPECT_LE(Run(10s, 100us), 500us);
}

// A thread that is stopped again and again in every measurement learns no rate from them.
TEST_F(TscClockTest, MeasurementsThatTookTooLongAreNotUsed) {
  std::uint32_t random = 1;
  const auto stop = [&] {
    random = random * 1664525 + 1013904223;
    machine.Advance(Duration(random >> 8));  // 8 ms on average
  };
  machine.on_steady_read = stop;
  Start();
  for (int i = 0; i < 100; ++i) Read();
  EXPECT_FALSE(clock->OnCounter());
  machine.on_steady_read = nullptr;
  EXPECT_LE(Run(2s), 1us);
  EXPECT_TRUE(clock->OnCounter());
  EXPECT_LE(Run(1s), 200ns);
  // Nor does a clock that has a rate get another from them.
  for (int i = 0; i < 100; ++i) {
    machine.on_steady_read = stop;
    machine.Advance(100ms);
    Read();
    machine.on_steady_read = nullptr;
    EXPECT_LE(Run(50ms), 1us);
  }
  EXPECT_LE(Run(1s), 200ns);
}

// A thread that is stopped in a measurement for a minute is overtaken by the others, who go on with
// a clock that runs; and it does not go back when it comes to.
TEST_F(TscClockTest, AStoppedMeasurementHoldsUpNobody) {
  Calibrate();
  int stopped = 0;
  machine.on_steady_read = [&] {
    machine.on_steady_read = nullptr;
    ++stopped;
    EXPECT_LE(Run(60s, 100us), 1us);
    EXPECT_TRUE(clock->OnCounter());
  };
  const TimePoint before = last;
  machine.Advance(1s);
  const TimePoint late = clock->Now();
  EXPECT_EQ(stopped, 1);
  EXPECT_GT(late - before, 60s);
  last = std::max(last, late);
  EXPECT_LE(Run(1s), 1us);
}

// Threads that move the time themselves, past many a line: none sees it go back, and none sees
// another time than it is.
struct SharedTime {
  std::atomic<std::int64_t> ns{1'000'000'000};
};
struct SharedCounter {
  SharedTime* time;
  static bool Invariant() noexcept { return true; }
  std::uint64_t Read() const noexcept {
    return static_cast<std::uint64_t>(time->ns.load()) * 3 + 1'000'000;
  }
};
struct SharedSteady {
  SharedTime* time;
  TimePoint Now() const noexcept { return TimePoint(Duration(time->ns.load())); }
};

TEST(TscClock, NeverGoesBackOnAnyOfManyThreads) {
  SharedTime time;
  const BasicTscClock<SharedCounter, SharedSteady> clock(SharedCounter{&time}, SharedSteady{&time});
  std::atomic<int> back{0};
  std::atomic<int> off{0};
  std::vector<std::thread> threads;
  for (unsigned id = 0; id < 4; ++id) {
    threads.emplace_back([&, id] {
      std::uint32_t random = id + 1;
      TimePoint last = TimePoint::min();
      for (int i = 0; i < 40'000; ++i) {
        random = random * 1664525 + 1013904223;
        const std::int64_t before = time.ns.fetch_add(random >> 16);  // 33 us on average
        const TimePoint now = clock.Now();
        const std::int64_t after = time.ns.load();
        if (now < last) ++back;
        last = now;
        // While others move the time during a measurement its bracket is that wide.
        if (now < TimePoint(Duration(before)) - 1ms || now > TimePoint(Duration(after)) + 1ms) {
          ++off;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(back, 0);
  EXPECT_EQ(off, 0);
}

// The machine that this runs on. How long it takes, and how often it is stopped, decides nothing.
TEST(TscClock, StaysWithSteadyClockOnThisMachine) {
  const TscClock clock;
  TimePoint last = TimePoint::min();
  int on_counter = 0;
  for (int i = 0; i < 3'000'000 && on_counter < 300'000; ++i) {
    const TimePoint before = SteadyClock::Now();
    const TimePoint now = clock.Now();
    const TimePoint after = SteadyClock::Now();
    ASSERT_GE(now, last);
    // Its rate is known to 50 ppm, which is 3 us in a line; 500 ppm more may come undetected.
    ASSERT_GE(now, before - 50us);
    ASSERT_LE(now, after + 50us);
    last = now;
    if (i % 100 == 0 && clock.OnCounter()) on_counter += 100;
  }
  EXPECT_EQ(internal::CpuCounter::Invariant(), on_counter > 0);
}

TEST(TscClock, DrivesALimiter) {
  const TscClock clock;
  BasicLimiter<TscClock, StdSync, RateLimiter> limiter(
      clock, {.rate = 1, .per = std::chrono::hours(1), .burst = 2});
  limiter.TryAdmit().Complete(Outcome::kSuccess);
  limiter.TryAdmit().Complete(Outcome::kSuccess);
  EXPECT_FALSE(limiter.TryAdmit());
}

}  // namespace
}  // namespace shed
