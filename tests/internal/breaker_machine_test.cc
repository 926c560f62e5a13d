#include "shed/internal/breaker_machine.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

namespace shed::internal {
namespace {

using std::chrono::seconds;

constexpr TimePoint At(Duration since_zero) { return TimePoint(since_zero); }

// The open time after `failed` probes failed.
constexpr Duration OpenTime(Duration first, Duration longest, int failed) {
  BreakerMachine machine{.open_for = first};
  machine.Open(At(seconds(0)));
  for (int i = 0; i < failed; ++i) {
    machine.HalfOpen();
    machine.Reopen(At(seconds(100)), longest);
  }
  return Elapsed(machine.open_since, machine.open_until);
}
static_assert(OpenTime(seconds(5), seconds(0), 3) == seconds(5));
static_assert(OpenTime(seconds(5), seconds(60), 0) == seconds(5));
static_assert(OpenTime(seconds(5), seconds(60), 1) == seconds(10));
static_assert(OpenTime(seconds(5), seconds(60), 3) == seconds(40));
static_assert(OpenTime(seconds(5), seconds(60), 4) == seconds(60));
static_assert(OpenTime(seconds(5), seconds(60), 99) == seconds(60));
static_assert(OpenTime(Duration(3), Duration(7), 1) == Duration(6));
static_assert(OpenTime(Duration(3), Duration(7), 2) == Duration(7));

constexpr bool ClosingResetsTheOpenTime() {
  BreakerMachine machine{.open_for = seconds(5)};
  machine.Open(At(seconds(0)));
  machine.HalfOpen();
  machine.Reopen(At(seconds(5)), seconds(60));
  machine.HalfOpen();
  machine.Close(At(seconds(15)), seconds(5), false);
  machine.Open(At(seconds(20)));
  return machine.open_until == At(seconds(25)) && machine.opens == 3;
}
static_assert(ClosingResetsTheOpenTime());

constexpr bool OverdueIsPastTheTimeAndOnlyHalfOpen() {
  BreakerMachine machine{.open_for = seconds(5)};
  machine.Open(At(seconds(0)));
  machine.HalfOpen();
  const bool none_out = !machine.Overdue(TimePoint::max());
  machine.overdue_after = At(seconds(9));
  const bool due =
      !machine.Overdue(At(seconds(9))) && machine.Overdue(At(seconds(9) + Duration(1)));
  machine.Close(At(seconds(9)), seconds(5), true);
  return none_out && due && machine.ramping && !machine.Overdue(TimePoint::max());
}
static_assert(OverdueIsPastTheTimeAndOnlyHalfOpen());

// Generation 0 is that of a blank ticket, which must never count.
TEST(BreakerMachine, EveryChangeBeginsAGenerationAndNoneIsZero) {
  BreakerMachine machine{.generation = 0xffff'fffe, .open_for = seconds(5)};
  machine.Open(At(seconds(0)));
  EXPECT_EQ(machine.generation, 0xffff'ffffu);
  machine.HalfOpen();
  EXPECT_EQ(machine.generation, 1u);
  machine.Close(At(seconds(5)), seconds(5), false);
  machine.ForceOpen(At(seconds(6)));
  machine.ForceClosed();
  EXPECT_EQ(machine.generation, 4u);
  EXPECT_EQ(machine.opens, 2u);
}

TEST(BreakerMachine, AnOpenTimeAtTheEndOfTimeDoesNotWrap) {
  BreakerMachine machine{.open_for = seconds(5)};
  machine.Open(TimePoint::max());
  EXPECT_EQ(machine.open_until, TimePoint::max());
}

// Another open time does not shorten one that failed probes have made longer, but for the limit.
constexpr Duration OpenForAfter(BreakerState state, Duration had, Duration first,
                                Duration longest) {
  BreakerMachine machine{.state = state, .open_for = had};
  machine.SetOpenFor(first, longest);
  return machine.open_for;
}
static_assert(OpenForAfter(BreakerState::kOpen, seconds(40), seconds(5), seconds(60)) ==
              seconds(40));
static_assert(OpenForAfter(BreakerState::kOpen, seconds(40), seconds(5), seconds(30)) ==
              seconds(30));
static_assert(OpenForAfter(BreakerState::kHalfOpen, seconds(40), seconds(5), seconds(0)) ==
              seconds(5));
static_assert(OpenForAfter(BreakerState::kOpen, seconds(4), seconds(5), seconds(60)) == seconds(5));
static_assert(OpenForAfter(BreakerState::kClosed, seconds(40), seconds(5), seconds(60)) ==
              seconds(5));

}  // namespace
}  // namespace shed::internal
