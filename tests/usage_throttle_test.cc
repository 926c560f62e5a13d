#include "shed/usage_throttle.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "shed/clock.h"
#include "shed/concurrency_limiter.h"
#include "shed/keyed.h"
#include "shed/limiter.h"
#include "shed/shadow.h"
#include "shed/switch.h"

namespace shed {
namespace {

using namespace std::chrono_literals;
using Ticket = UsageThrottle::Ticket;

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
constexpr Verdict kLater = Verdict::Refuse(Reason::kConcurrency);
constexpr TimePoint At(Duration d) { return TimePoint(d); }

struct Call {
  Verdict verdict = Verdict::Refuse(Reason::kDenied);
  Ticket ticket{};
};

// A throttle, and who asks it.
class Bench {
 public:
  explicit Bench(const UsageThrottleOptions& options) : throttle(options) {}

  Call Ask(std::string_view caller, Duration now, std::uint64_t cost = 1, Duration max_wait = 1h) {
    Call call;
    Events seen;
    call.verdict = throttle.Admit({.caller = caller, .cost = cost, .max_wait = max_wait}, At(now),
                                  call.ticket, seen);
    for (std::size_t i = 0; i < seen.size(); ++i) events.push_back(seen[i]);
    return call;
  }
  // Uses `units` at `now`, whatever is in use.
  void Use(std::string_view caller, Duration now, std::uint64_t units) {
    Call call = Ask(caller, now);
    ASSERT_TRUE(call.verdict.admitted());
    throttle.Charge(call.ticket, units, At(now));
    throttle.Complete(call.ticket, Outcome::kSuccess);
  }
  UsageThrottle::CallerState Of(std::string_view caller, Duration now) const {
    return throttle.ReadCaller(caller, At(now));
  }

  UsageThrottle throttle;
  std::vector<Event> events;
};

// P23, ngx_dynamic_limit_req_module#22: where everything within the burst passes at once, the
// delaying half does nothing. Both bounds serve: of those who wait, and of what is in use.
TEST(UsageThrottle, DelaysThenBlocks) {
  for (const UsageThrottleOptions& options :
       {UsageThrottleOptions{.soft = 1, .hard = 100, .window = 1s, .max_delayed = 5},
        UsageThrottleOptions{.soft = 1, .hard = 6, .window = 1s, .max_delayed = 100}}) {
    Bench bench(options);
    for (int i = 0; i < 6; ++i) {
      EXPECT_EQ(bench.Ask("ada", 0s).verdict, Verdict::Admit(i * 1s)) << i;
    }
    EXPECT_EQ(bench.Ask("ada", 0s).verdict, Verdict::Refuse(Reason::kUsage, 6s, Scope::kCaller));
    // A blocked call does not push later ones back.
    EXPECT_EQ(bench.Ask("ada", 1s).verdict, Verdict::Admit(5s));
    EXPECT_FALSE(bench.Ask("ada", 1s).verdict.admitted());
  }
}

TEST(UsageThrottle, WhoKeepsToTheAllowanceIsNeverDelayed) {
  Bench bench({.soft = 200, .hard = 400, .window = 300s});
  // All at once, and then evenly for an hour.
  for (int i = 0; i < 200; ++i) ASSERT_EQ(bench.Ask("ada", 0s).verdict, Verdict::Admit()) << i;
  for (int i = 1; i <= 2400; ++i) {
    ASSERT_EQ(bench.Ask("ada", i * 1500ms).verdict, Verdict::Admit()) << i;
  }
  EXPECT_TRUE(bench.events.empty());
}

// At twice its rate, a caller waits longer with every call, up to the longest wait; then it is
// refused every other call, and goes no faster than its rate.
TEST(UsageThrottle, DelayGrowsWithSustainedUse) {
  Bench bench({.soft = 60, .hard = 120, .window = 60s, .longest_wait = 30s});
  Duration before{0};
  int admitted = 0;
  for (int i = 0; i < 600; ++i) {
    const Duration now = i * 500ms;
    const Call call = bench.Ask("ada", now);
    if (!call.verdict.admitted()) continue;
    if (i >= 300) ++admitted;
    const Duration wait = call.verdict.wait();
    EXPECT_LE(wait, 30s);
    // Half a unit more is in use with every call, above the allowance after 118 of them.
    if (i > 118 && before < 30s) {
      EXPECT_EQ(wait, before + 500ms) << i;
    }
    before = wait;
  }
  EXPECT_EQ(before, 30s);
  EXPECT_EQ(admitted, 150);  // In 150 s.
  EXPECT_EQ(bench.events.size(), 2u);
}

// Delayed calls begin one after another, in the time that each cost takes to drain.
TEST(UsageThrottle, DelayedCallsAreSpacedOut) {
  Bench bench({.soft = 10, .hard = 1000, .window = 10s, .longest_wait = 10min, .max_delayed = 100});
  bench.Use("ada", 0s, 10);
  Duration begins{0};
  for (int i = 0; i < 50; ++i) {
    const auto cost = static_cast<std::uint64_t>(i % 3 + 1);
    const Call call = bench.Ask("ada", i * 100ms, cost);
    ASSERT_TRUE(call.verdict.admitted());
    const Duration next = i * 100ms + call.verdict.wait();
    EXPECT_EQ(next - begins, static_cast<std::int64_t>(cost) * 1s) << i;
    begins = next;
  }
}

TEST(UsageThrottle, WhoOffersNoWaitIsRefusedWithTheHint) {
  Bench bench({.soft = 7, .hard = 20, .window = 10s});
  for (int i = 0; i < 7; ++i) bench.Ask("ada", 0s);
  const Verdict refused = bench.Ask("ada", 100ms, 2, 0s).verdict;
  ASSERT_FALSE(refused.admitted());
  EXPECT_EQ(refused.reason(), Reason::kUsage);
  EXPECT_EQ(refused.scope(), Scope::kCaller);
  // Two units in 7/10 a second, rounded up to whole nanoseconds.
  ASSERT_EQ(refused.retry_after(), 2'757'142'858ns);
  const Duration due = 100ms + *refused.retry_after();
  EXPECT_FALSE(bench.Ask("ada", due - 1ns, 2, 0s).verdict.admitted());
  EXPECT_EQ(bench.Ask("ada", due, 2, 0s).verdict, Verdict::Admit());
}

// What is accepted decides, to the nanosecond.
TEST(UsageThrottle, WaitsNoLongerThanTheCallAccepts) {
  Bench bench({.soft = 1, .hard = 10, .window = 1s});
  bench.Ask("ada", 0s);
  EXPECT_FALSE(bench.Ask("ada", 0s, 1, 1s - 1ns).verdict.admitted());
  EXPECT_FALSE(bench.Ask("ada", 0s, 1, -1s).verdict.admitted());
  EXPECT_EQ(bench.Ask("ada", 0s, 1, 1s).verdict, Verdict::Admit(1s));
}

TEST(UsageThrottle, AnIdleCallerRunsOneCallOfAnyCost) {
  for (const std::uint64_t cost : {std::uint64_t{11}, std::uint64_t{25}, kMost}) {
    Bench bench({.soft = 10, .hard = 20, .window = 10s});
    EXPECT_EQ(bench.Ask("ada", 0s, cost).verdict, Verdict::Admit());
    EXPECT_FALSE(bench.Ask("ada", 0s, 11, 0s).verdict.admitted());
    EXPECT_EQ(bench.Ask("bob", 0s).verdict, Verdict::Admit());
    // A window after the call began, whatever it cost.
    EXPECT_FALSE(bench.Ask("ada", 10s - 1ns, 11, 0s).verdict.admitted());
    EXPECT_EQ(bench.Ask("ada", 10s, 11, 0s).verdict, Verdict::Admit());
  }
}

TEST(UsageThrottle, AWindowOfCalmMakesACallerNew) {
  Bench bench({.soft = 10, .hard = 20, .window = 10s});
  bench.Use("ada", 0s, kMost);
  EXPECT_TRUE(bench.Of("ada", 5s).blocked);
  EXPECT_EQ(bench.Of("ada", 5s).reset, 5s);
  EXPECT_EQ(bench.Of("ada", 5s).retry_after, 5s);
  EXPECT_EQ(bench.Of("ada", 10s).used, 0u);
  EXPECT_EQ(bench.Ask("ada", 10s, 10).verdict, Verdict::Admit());
}

// The calm begins with the latest start, not while calls are waiting for theirs.
TEST(UsageThrottle, WhoWaitsIsNotCalm) {
  Bench bench({.soft = 1, .hard = 100, .window = 1s});
  for (int i = 0; i < 11; ++i) bench.Ask("ada", 0s);
  EXPECT_EQ(bench.Of("ada", 0s).reset, 11s);
  EXPECT_EQ(bench.Ask("ada", 5s).verdict, Verdict::Admit(6s));
}

// ---- Charge.

TEST(UsageThrottle, ChargeSettlesTheCall) {
  Bench bench({.soft = 100, .hard = 200, .window = 100s});
  Call call = bench.Ask("ada", 0s, 5);
  EXPECT_EQ(bench.Of("ada", 0s).used, 5u);
  for (const std::uint64_t units : {12u, 3u, 0u, 150u, 7u}) {
    bench.throttle.Charge(call.ticket, units, At(0s));
    EXPECT_EQ(bench.Of("ada", 0s).used, units);
  }
  bench.throttle.Complete(call.ticket, Outcome::kSuccess);
  bench.throttle.Charge(call.ticket, 90, At(0s));  // After the end: nothing.
  EXPECT_EQ(bench.Of("ada", 0s).used, 7u);
}

TEST(UsageThrottle, UseCountsFromTheTimeOfTheCharge) {
  Bench bench({.soft = 100, .hard = 200, .window = 100s});
  Call call = bench.Ask("ada", 0s, 1);
  // Two windows later: the cost of then has drained, and what is added drains from now on.
  bench.throttle.Charge(call.ticket, 61, At(200s));
  EXPECT_EQ(bench.Of("ada", 200s).used, 60u);
  EXPECT_EQ(bench.Of("ada", 210s).used, 50u);
}

// What has drained is not given back: it would pay for the use of other calls.
TEST(UsageThrottle, ALateRefundGivesBackWhatIsStillThere) {
  Bench bench({.soft = 100, .hard = 1000, .window = 100s});
  Call call = bench.Ask("ada", 0s, 50);
  Call later = bench.Ask("ada", 50s, 30);  // The 50 have drained.
  bench.throttle.Charge(call.ticket, 0, At(50s));
  EXPECT_EQ(bench.Of("ada", 50s).used, 30u);
  // Of 30 units 10 have drained: 20 are left to give back.
  bench.throttle.Charge(later.ticket, 0, At(60s));
  EXPECT_EQ(bench.Of("ada", 60s).used, 0u);

  // What was there before drains first: all of it is left.
  bench.Use("bob", 0s, 80);
  Call third = bench.Ask("bob", 0s, 15);
  bench.throttle.Charge(third.ticket, 5, At(70s));
  EXPECT_EQ(bench.Of("bob", 70s).used, 15u);
  bench.throttle.Charge(third.ticket, 0, At(80s));
  EXPECT_EQ(bench.Of("bob", 80s).used, 0u);
}

TEST(UsageThrottle, ChargesOfAnySizeNeverOverflow) {
  Bench bench({.soft = 1'000'000'000'000,
               .hard = 1'000'000'000'000,
               .window = std::chrono::hours(24 * 366)});
  std::vector<Call> calls;
  for (int i = 0; i < 8; ++i) calls.push_back(bench.Ask("ada", 0s));
  for (Call& call : calls) {
    bench.throttle.Charge(call.ticket, kMost, At(0s));
    bench.throttle.Charge(call.ticket, kMost, At(0s));
  }
  EXPECT_TRUE(bench.Of("ada", 0s).blocked);
  EXPECT_EQ(bench.Of("ada", 0s).remaining, 0u);
  for (Call& call : calls) bench.throttle.Charge(call.ticket, 1, At(0s));
  EXPECT_EQ(bench.Of("ada", 0s).used, 8u);
}

// ---- Cancel.

// A call that a later policy refuses has used nothing, and its place is free again.
TEST(UsageThrottle, CancelUndoesExactly) {
  Bench bench({.soft = 7, .hard = 100, .window = 10s, .max_delayed = 1});
  bench.Use("ada", 0s, 8);
  const auto before = bench.Of("ada", 3s);
  for (int i = 0; i < 100; ++i) {
    Call call = bench.Ask("ada", 3s, 5);
    ASSERT_TRUE(call.verdict.admitted());
    ASSERT_GT(call.verdict.wait(), 0s);
    EXPECT_FALSE(bench.Ask("ada", 3s, 5).verdict.admitted()) << "no place for two";
    EXPECT_EQ(bench.throttle.Read(At(3s)).waiting, 1u);
    bench.throttle.Cancel(call.ticket, kLater, At(3s));
    EXPECT_EQ(bench.throttle.Read(At(3s)).waiting, 0u);
  }
  const auto after = bench.Of("ada", 3s);
  EXPECT_EQ(after.used, before.used);
  EXPECT_EQ(after.reset, before.reset);
  EXPECT_EQ(after.delay, before.delay);
  EXPECT_EQ(after.in_flight, 0u);
}

// So a flood of names that the service has no room for takes no entries.
TEST(UsageThrottle, ACancelledStrangerIsForgotten) {
  Bench bench({.max_callers = 2});
  for (int i = 0; i < 100; ++i) {
    Call call = bench.Ask(std::to_string(i), 0s);
    EXPECT_EQ(bench.throttle.Read(At(0s)).tracked, 1u);
    bench.throttle.Cancel(call.ticket, kLater, At(0s));
    EXPECT_EQ(bench.throttle.Read(At(0s)).tracked, 0u);
  }
}

// ---- Waiting places.

TEST(UsageThrottle, WaitingPlacesAreSharedAndPass) {
  Bench bench({.soft = 1, .hard = 100, .window = 1s, .max_delayed = 2});
  for (const char* caller : {"ada", "bob", "cyd"}) bench.Ask(caller, 0s);
  EXPECT_EQ(bench.Ask("ada", 0s).verdict, Verdict::Admit(1s));
  EXPECT_EQ(bench.Ask("bob", 0s).verdict, Verdict::Admit(1s));
  EXPECT_EQ(bench.Ask("cyd", 0s).verdict, Verdict::Refuse(Reason::kUsage, 1s, Scope::kCaller));
  // Who needs no wait needs no place.
  EXPECT_EQ(bench.Ask("dan", 0s).verdict, Verdict::Admit());
  EXPECT_EQ(bench.throttle.Read(At(1s - 1ns)).waiting, 2u);
  EXPECT_EQ(bench.throttle.Read(At(1s)).waiting, 0u);
  EXPECT_EQ(bench.Ask("ada", 1s).verdict, Verdict::Admit(1s));
}

TEST(UsageThrottle, ACallThatEndsBeforeItsStartGivesItsPlaceBack) {
  Bench bench({.soft = 1, .hard = 100, .window = 1s, .max_delayed = 1});
  bench.Ask("ada", 0s);
  Call waits = bench.Ask("ada", 0s);
  EXPECT_EQ(waits.verdict, Verdict::Admit(1s));
  EXPECT_FALSE(bench.Ask("ada", 0s).verdict.admitted());
  bench.throttle.Charge(waits.ticket, 0, At(0s));  // Nothing was done.
  bench.throttle.Complete(waits.ticket, Outcome::kIgnored);
  EXPECT_EQ(bench.Ask("ada", 0s).verdict, Verdict::Admit(1s));
}

TEST(UsageThrottle, WithoutPlacesADelayIsARefusal) {
  Bench bench({.soft = 1, .hard = 100, .window = 1s, .max_delayed = 0});
  EXPECT_EQ(bench.Ask("ada", 0s).verdict, Verdict::Admit());
  EXPECT_EQ(bench.Ask("ada", 0s).verdict, Verdict::Refuse(Reason::kUsage, 1s, Scope::kCaller));
}

// ---- Callers.

TEST(UsageThrottle, CallersHaveAllowancesOfTheirOwn) {
  Bench bench({.soft = 3, .hard = 3, .window = 10s});
  for (int i = 0; i < 100; ++i) {
    const std::string caller = "caller" + std::to_string(i);
    for (int call = 0; call < 3; ++call) EXPECT_TRUE(bench.Ask(caller, 0s).verdict.admitted());
    EXPECT_FALSE(bench.Ask(caller, 0s).verdict.admitted());
  }
}

TEST(UsageThrottle, WhoFindsNoRoomSharesTheOverflow) {
  Bench bench({.soft = 4, .hard = 4, .window = 10s, .max_callers = 2});
  bench.Use("ada", 0s, 4);
  bench.Use("bob", 0s, 1);
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(bench.Of("stranger" + std::to_string(i), 0s).overflow);
    EXPECT_TRUE(bench.Ask("stranger" + std::to_string(i), 0s).verdict.admitted());
  }
  EXPECT_FALSE(bench.Ask("another", 0s).verdict.admitted());
  const auto snapshot = bench.throttle.Read(At(0s));
  EXPECT_EQ(snapshot.tracked, 2u);
  EXPECT_EQ(snapshot.overflow_used, 4u);
  EXPECT_EQ(snapshot.overflow_in_flight, 4u);
  // Those who have an entry notice nothing.
  EXPECT_TRUE(bench.Of("ada", 0s).tracked);
  EXPECT_FALSE(bench.Ask("ada", 0s, 1, 0s).verdict.admitted());
  EXPECT_EQ(bench.Of("bob", 0s).used, 1u);
}

// A flood of other names is no way to a fresh allowance.
TEST(UsageThrottle, NoFloodLaundersUse) {
  Bench bench({.soft = 10, .hard = 10, .window = 10s, .max_callers = 100});
  bench.Use("ada", 0s, 10);
  Call held = bench.Ask("bob", 0s);
  for (int i = 0; i < 10'000; ++i) {
    bench.Ask(std::to_string(i), 500ms);
    EXPECT_LE(bench.throttle.Read(At(500ms)).tracked, 100u);
  }
  EXPECT_FALSE(bench.Ask("ada", 500ms, 1, 0s).verdict.admitted());
  // Bob's unit has drained; his call is in flight, and what it comes to is his.
  for (int i = 0; i < 10'000; ++i) bench.Ask(std::to_string(i), 9s);
  bench.throttle.Charge(held.ticket, 11, At(9s));
  EXPECT_EQ(bench.Of("bob", 9s).used, 10u);
}

TEST(UsageThrottle, WhoIsBackAtZeroMakesRoom) {
  Bench bench({.soft = 10, .hard = 10, .window = 10s, .max_callers = 50});
  for (int i = 0; i < 50; ++i) bench.Use("old" + std::to_string(i), 0s, 10);
  EXPECT_TRUE(bench.Of("new", 10s - 1ns).overflow);
  EXPECT_FALSE(bench.Of("new", 10s).overflow);
  for (int i = 0; i < 50; ++i) {
    const std::string caller = "new" + std::to_string(i);
    bench.Use(caller, 10s, 10);
    EXPECT_TRUE(bench.Of(caller, 10s).tracked) << i;
  }
  EXPECT_EQ(bench.throttle.Read(At(10s)).tracked, 50u);
  EXPECT_FALSE(bench.Of("old0", 10s).tracked);
}

// A ticket that was copied and kept changes nothing of a later caller's.
TEST(UsageThrottle, AStaleTicketChangesNothing) {
  Bench bench({.soft = 10, .hard = 10, .window = 10s, .max_callers = 1});
  Call call = bench.Ask("ada", 0s);
  Ticket copy = call.ticket;
  Ticket another = call.ticket;
  bench.throttle.Complete(call.ticket, Outcome::kSuccess);
  bench.Ask("bob", 20s, 4);
  ASSERT_TRUE(bench.Of("bob", 20s).tracked);
  bench.throttle.Charge(copy, kMost, At(20s));
  bench.throttle.Complete(copy, Outcome::kSuccess);
  bench.throttle.Cancel(another, kLater, At(20s));
  EXPECT_EQ(bench.Of("bob", 20s).used, 4u);
  EXPECT_EQ(bench.Of("bob", 20s).in_flight, 1u);
}

// ---- Time.

TEST(UsageThrottle, AnOlderNowGivesNoCredit) {
  Bench bench({.soft = 10, .hard = 20, .window = 10s});
  bench.Use("ada", 5s, 10);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(bench.Ask("ada", 4s, 1, 0s).verdict.admitted());
    EXPECT_FALSE(bench.Ask("ada", 5s, 1, 0s).verdict.admitted());
  }
  EXPECT_EQ(bench.Of("ada", 4s).used, 10u);
  // Its own clock says how long until then.
  EXPECT_EQ(bench.Of("ada", 4s).retry_after, 2s);
  EXPECT_EQ(bench.Ask("ada", 6s, 1, 0s).verdict, Verdict::Admit());
  // A charge that comes late by its clock moves nothing back.
  Call call = bench.Ask("ada", 7s);
  bench.throttle.Charge(call.ticket, 3, At(1s));
  EXPECT_EQ(bench.Of("ada", 7s).used, 12u);
  EXPECT_EQ(bench.Of("ada", 8s).used, 11u);
}

TEST(UsageThrottle, ClocksThatJumpByCenturies) {
  constexpr Duration kCenturies = std::chrono::hours(24 * 36525);
  Bench bench({.soft = 10, .hard = 20, .window = 10s, .max_delayed = 3});
  for (const Duration now : {Duration(0), kCenturies, 2 * kCenturies}) {
    for (int i = 0; i < 10; ++i) EXPECT_EQ(bench.Ask("ada", now).verdict, Verdict::Admit());
    EXPECT_EQ(bench.Ask("ada", now).verdict, Verdict::Admit(1s));
  }
  for (const TimePoint end : {TimePoint::min(), TimePoint::max(), TimePoint::min()}) {
    for (int i = 0; i < 30; ++i) {
      Call call;
      Events events;
      call.verdict = bench.throttle.Admit({.caller = "eve", .cost = kMost, .max_wait = 1h}, end,
                                          call.ticket, events);
      bench.throttle.Charge(call.ticket, kMost, end);
      bench.throttle.Complete(call.ticket, Outcome::kSuccess);
      static_cast<void>(bench.throttle.Read(end));
      EXPECT_LE(bench.throttle.ReadCaller("eve", end).delay, 30s);
    }
  }
}

// ---- What it tells.

TEST(UsageThrottle, TellsACallerBeforeItDelays) {
  Bench bench({.soft = 10, .hard = 12, .window = 100s});
  const auto fresh = bench.Of("ada", 0s);
  EXPECT_EQ(fresh.limit, 10u);
  EXPECT_EQ(fresh.remaining, 10u);
  EXPECT_EQ(fresh.reset, 0s);
  EXPECT_FALSE(fresh.tracked);
  EXPECT_EQ(bench.throttle.Read(At(0s)).tracked, 0u) << "reading makes no entry";

  for (int i = 0; i < 9; ++i) bench.Ask("ada", 0s);
  auto state = bench.Of("ada", 0s);
  EXPECT_EQ(state.used, 9u);
  EXPECT_EQ(state.remaining, 1u);
  EXPECT_EQ(state.reset, 90s);
  EXPECT_EQ(state.delay, 0s);
  EXPECT_EQ(state.in_flight, 9u);

  bench.Ask("ada", 0s);
  bench.Ask("ada", 0s);
  state = bench.Of("ada", 0s);
  EXPECT_EQ(state.remaining, 0u);
  EXPECT_EQ(state.delay, 20s);
  EXPECT_EQ(state.retry_after, 20s);
  EXPECT_FALSE(state.blocked);
  EXPECT_EQ(bench.Ask("ada", 0s).verdict, Verdict::Admit(20s));

  state = bench.Of("ada", 0s);
  EXPECT_TRUE(state.blocked);
  EXPECT_EQ(state.delay, 0s);
  EXPECT_EQ(state.retry_after, 30s);
  EXPECT_FALSE(bench.Ask("ada", 0s).verdict.admitted());
  // A used half unit is a used unit: a call of what remains passes at once.
  EXPECT_EQ(bench.Of("ada", 65s).used, 6u);
}

TEST(UsageThrottle, TellsOfACallerOnceEachWay) {
  Bench bench({.soft = 10, .hard = 20, .window = 10s});
  for (int i = 0; i < 30; ++i) bench.Ask("ada", 0s);
  ASSERT_EQ(bench.events.size(), 2u);
  EXPECT_EQ(bench.events[0].kind, EventKind::kCallerDelayed);
  EXPECT_EQ(bench.events[0].cause, Cause::kUsage);
  EXPECT_EQ(bench.events[0].value, 11);
  EXPECT_EQ(bench.events[0].threshold, 10);
  EXPECT_EQ(bench.events[1].kind, EventKind::kCallerBlocked);
  EXPECT_EQ(bench.events[1].value, 21);
  EXPECT_EQ(bench.events[1].threshold, 20);
  EXPECT_EQ(bench.events[0].caller, bench.events[1].caller);
  // Close to the allowance it crosses it with every call: no event. At half of it, one.
  for (int i = 0; i < 10; ++i) bench.Ask("ada", 11s + i * 1s);
  EXPECT_EQ(bench.events.size(), 2u);
  bench.Ask("ada", 26s);
  ASSERT_EQ(bench.events.size(), 3u);
  EXPECT_EQ(bench.events[2].kind, EventKind::kCallerRecovered);
  EXPECT_LE(bench.events[2].value, 5);
  const auto snapshot = bench.throttle.Read(At(26s));
  EXPECT_EQ(snapshot.delayed_total, 1u);
  EXPECT_EQ(snapshot.blocked_total, 1u);
  EXPECT_EQ(snapshot.recovered_total, 1u);
}

// ---- Options.

TEST(UsageThrottle, ConfigureChangesWhatIsAskedNext) {
  Bench bench({.soft = 10, .hard = 20, .window = 10s, .max_delayed = 4});
  bench.Use("ada", 0s, 10);
  EXPECT_FALSE(bench.Ask("ada", 0s, 1, 0s).verdict.admitted());
  EXPECT_EQ(bench.throttle.Configure({.soft = 15, .hard = 15, .window = 15s}, At(0s)),
            "max_delayed: want at most what it was made with");
  EXPECT_EQ(bench.throttle.Configure({.soft = 9, .hard = 8}, At(0s)),
            "hard: want soft to 1000000000000 units");
  EXPECT_EQ(bench.Of("ada", 0s).limit, 10u);
  // Use stays, in units, whatever a unit is in ticks.
  const UsageThrottleOptions wider{.soft = 15, .hard = 15, .window = 7s, .max_delayed = 3};
  EXPECT_EQ(bench.throttle.Configure(wider, At(0s)), "");
  EXPECT_EQ(bench.Of("ada", 0s).used, 10u);
  EXPECT_EQ(bench.Of("ada", 0s).remaining, 5u);
  EXPECT_EQ(bench.Ask("ada", 0s, 5, 0s).verdict, Verdict::Admit());
  EXPECT_EQ(bench.Of("ada", 0s).used, 15u);
  EXPECT_EQ(bench.throttle.Read(At(0s)).max_delayed, 3u);
  // What was over is over; nothing underflows.
  EXPECT_EQ(
      bench.throttle.Configure({.soft = 1, .hard = 1, .window = 1s, .max_delayed = 0}, At(0s)), "");
  EXPECT_TRUE(bench.Of("ada", 0s).blocked);
  EXPECT_EQ(bench.Of("ada", 0s).remaining, 0u);
}

TEST(UsageThrottle, BadOptionsAreNamed) {
  const auto problem = [](auto&& change) {
    UsageThrottleOptions options;
    change(options);
    return std::string(options.Problem());
  };
  EXPECT_EQ(problem([](auto&) {}), "");
  EXPECT_EQ(problem([](auto& o) { o.soft = 0; }), "soft: want 1 to 1000000000000 units");
  EXPECT_EQ(problem([](auto& o) { o.hard = 199; }), "hard: want soft to 1000000000000 units");
  EXPECT_EQ(problem([](auto& o) { o.window = 999ns; }), "window: want 1 us to 366 days");
  EXPECT_EQ(problem([](auto& o) { o.longest_wait = 25h; }), "longest_wait: want 1 us to 24 h");
  EXPECT_EQ(problem([](auto& o) { o.max_delayed = -1; }), "max_delayed: want 0 to 1000000");
  EXPECT_EQ(problem([](auto& o) { o.max_callers = 0; }), "max_callers: want 1 to 1000000");
}

// ---- In a limiter, and in wrappers.

TEST(UsageThrottle, InALimiterAGuardChargesAndWaits) {
  ManualClock clock(At(1h));
  BasicLimiter<ManualClock, StdSync, UsageThrottle> limiter(
      clock, {.soft = 10, .hard = 20, .window = 10s});
  const auto state = [&] {
    return limiter.Apply<UsageThrottle>(
        [](auto& throttle, TimePoint now, Events&) { return throttle.ReadCaller("ada", now); });
  };
  {
    auto guard = limiter.TryAdmit({.caller = "ada"});
    guard.Charge(12);
    EXPECT_EQ(state().in_flight, 1u);
  }
  EXPECT_EQ(state().used, 12u);
  EXPECT_EQ(state().in_flight, 0u);
  auto guard = limiter.TryAdmit({.caller = "ada", .max_wait = 5s});
  ASSERT_TRUE(guard);
  EXPECT_EQ(guard.wait(), 3s);
  EXPECT_EQ(guard.started(), At(1h + 3s));
  EXPECT_EQ(limiter.TryAdmit({.caller = "ada", .max_wait = 3s}).rejection().scope(),
            Scope::kCaller);
}

// Behind it a limit that is used up: the caller is not charged for what it did not get.
TEST(UsageThrottle, RefusedBehindItUsesNothing) {
  ManualClock clock(At(1h));
  BasicLimiter<ManualClock, StdSync, UsageThrottle, ConcurrencyLimiter> limiter(
      clock, {.soft = 10, .hard = 10}, {.limit = 1});
  const auto held = limiter.TryAdmit({.caller = "ada"});
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(limiter.TryAdmit({.caller = "ada"}));
  EXPECT_EQ(limiter.Get<UsageThrottle>().ReadCaller("ada", At(1h)).used, 1u);
  // With a policy that holds calls, no wait is offered: a delay is a refusal.
  EXPECT_FALSE(limiter.TryAdmit({.caller = "ada", .cost = 10, .max_wait = 1h}));
}

TEST(UsageThrottle, WrappersForwardTheCharge) {
  ManualClock clock(At(1h));
  constexpr UsageThrottleOptions kOptions{.soft = 10, .hard = 20, .window = 10s, .max_callers = 4};
  {
    BasicLimiter<ManualClock, StdSync, Switch<UsageThrottle>> limiter(clock, kOptions);
    limiter.TryAdmit({.caller = "ada"}).Charge(12);
    EXPECT_EQ(limiter.Get<0>().policy().ReadCaller("ada", At(1h)).used, 12u);
    // Off, nothing is charged; what was admitted before is.
    auto before = limiter.TryAdmit({.caller = "bob"});
    limiter.Get<0>().Turn(false);
    limiter.TryAdmit({.caller = "ada"}).Charge(3);
    before.Charge(7);
    EXPECT_EQ(limiter.Get<0>().policy().ReadCaller("ada", At(1h)).used, 12u);
    EXPECT_EQ(limiter.Get<0>().policy().ReadCaller("bob", At(1h)).used, 7u);
  }
  {
    BasicLimiter<ManualClock, StdSync, Shadow<UsageThrottle>> limiter(clock, kOptions);
    limiter.TryAdmit({.caller = "ada"}).Charge(25);
    // It would have refused this one: it passes, and charges nothing.
    auto guard = limiter.TryAdmit({.caller = "ada"});
    EXPECT_TRUE(guard);
    guard.Charge(1000);
    EXPECT_EQ(limiter.Get<0>().policy().ReadCaller("ada", At(1h)).used, 25u);
    EXPECT_EQ(limiter.Get<0>().Read(At(1h)).refused[static_cast<std::size_t>(Reason::kUsage)], 1u);
  }
  {
    BasicLimiter<ManualClock, StdSync, Keyed<UsageThrottle, ByRoute>> limiter(
        clock, {.policy = kOptions, .max_keys = 2});
    limiter.TryAdmit({.caller = "ada", .route = "/a"}).Charge(20);
    EXPECT_FALSE(limiter.TryAdmit({.caller = "ada", .route = "/a"}));
    limiter.TryAdmit({.caller = "ada", .route = "/b"}).Charge(20);
    limiter.TryAdmit({.caller = "bob", .route = "/a"}).Charge(20);
    // Nothing is in use after a window: the keys make room, and not before.
    clock.Advance(10s - 1ns);
    EXPECT_TRUE(limiter.TryAdmit({.caller = "ada", .route = "/c"}));
    EXPECT_EQ(limiter.Get<0>().Read(clock.Now()).overflow_calls, 1u);
    EXPECT_FALSE(limiter.TryAdmit({.caller = "ada", .route = "/a"}));
    clock.Advance(1ns);
    EXPECT_TRUE(limiter.TryAdmit({.caller = "ada", .route = "/a"}));
  }
}

// ---- Threads.

// Every unit is counted once: at one instant nothing drains, so the sums must agree.
TEST(UsageThrottle, ThreadsLoseNoUse) {
  UsageThrottle throttle({.soft = 1'000'000'000, .hard = 1'000'000'000, .max_callers = 8});
  constexpr int kThreads = 8;
  constexpr int kCalls = 5000;
  const auto name = [](std::uint64_t i) { return "caller" + std::to_string(i); };
  std::vector<std::map<std::uint64_t, std::uint64_t>> used(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      for (int i = 0; i < kCalls; ++i) {
        const std::uint64_t who = random() % 8;
        Ticket ticket;
        Events events;
        const std::string caller = name(who);
        if (!throttle.Admit({.caller = caller, .cost = 3}, At(0s), ticket, events).admitted()) {
          ADD_FAILURE();
        }
        switch (random() % 3) {
          case 0:
            throttle.Cancel(ticket, kLater, At(0s));
            continue;
          case 1:
            throttle.Complete(ticket, Outcome::kSuccess);
            used[t][who] += 3;
            continue;
          default:
            const std::uint64_t units = random() % 7;
            throttle.Charge(ticket, units + 5, At(0s));
            throttle.Charge(ticket, units, At(0s));
            throttle.Complete(ticket, Outcome::kSuccess);
            used[t][who] += units;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::uint64_t who = 0; who < 8; ++who) {
    std::uint64_t sum = 0;
    for (auto& of_thread : used) sum += of_thread[who];
    const auto state = throttle.ReadCaller(name(who), At(0s));
    // A refund gives back no more than is there after what others added: it may leave more.
    EXPECT_GE(state.used, sum);
    EXPECT_EQ(state.in_flight, 0u);
  }
}

// More callers than fit, clocks that lag, and options that change: whatever comes of it, nobody
// stays in flight, no more than may be wait, and no more are kept than fit.
TEST(UsageThrottle, ThreadsWhileOptionsChange) {
  UsageThrottle throttle({.soft = 20,
                          .hard = 40,
                          .window = 1ms,
                          .longest_wait = 1ms,
                          .max_delayed = 16,
                          .max_callers = 12});
  ManualClock clock(At(1h));
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      std::vector<Ticket> held;
      for (int i = 0; i < 10'000; ++i) {
        clock.Advance(Duration(random() % 2000));
        const TimePoint now = After(clock.Now(), -Duration(random() % 1000));
        const std::string caller = std::to_string(random() % 20);
        Ticket ticket;
        Events events;
        const Verdict verdict = throttle.Admit(
            {.caller = caller, .cost = random() % 4, .max_wait = Duration(random() % 2'000'000)},
            now, ticket, events);
        if (verdict.admitted()) held.push_back(ticket);
        if (held.size() > 5) {
          Ticket& ended = held[random() % held.size()];
          const std::uint64_t way = random() % 4;
          if (way == 0) {
            throttle.Cancel(ended, kLater, now);
          } else {
            if (way > 1) throttle.Charge(ended, random() % 9, now);
            throttle.Complete(ended, Outcome::kSuccess);
          }
          ended = held.back();
          held.pop_back();
        }
        if (i % 64 == 0) {
          const auto snapshot = throttle.Read(now);
          if (snapshot.waiting > 16 || snapshot.tracked > 12) ADD_FAILURE();
          static_cast<void>(throttle.ReadCaller(caller, now));
        }
      }
      for (Ticket& ticket : held) throttle.Complete(ticket, Outcome::kSuccess);
    });
  }
  std::thread configuring([&] {
    std::mt19937_64 random(99);
    while (!stop.load()) {
      UsageThrottleOptions options{.soft = static_cast<std::int64_t>(1 + random() % 30),
                                   .hard = 40,
                                   .window = Duration(1'000'000 + random() % 1000),
                                   .longest_wait = 1ms,
                                   .max_delayed = static_cast<std::int64_t>(random() % 17)};
      if (!throttle.Configure(options, clock.Now()).empty()) ADD_FAILURE();
      options.soft = 0;
      if (throttle.Configure(options, clock.Now()).empty()) ADD_FAILURE();
    }
  });
  for (std::thread& thread : threads) thread.join();
  stop.store(true);
  configuring.join();
  const TimePoint later = After(clock.Now(), 1s);
  EXPECT_TRUE(throttle.AsNew(later));
  EXPECT_EQ(throttle.Read(later).overflow_in_flight, 0u);
  EXPECT_EQ(throttle.Read(later).waiting, 0u);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(throttle.ReadCaller(std::to_string(i), later).in_flight, 0u);
    EXPECT_EQ(throttle.ReadCaller(std::to_string(i), later).used, 0u);
  }
}

}  // namespace
}  // namespace shed
