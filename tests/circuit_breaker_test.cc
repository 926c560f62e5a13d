#include "shed/circuit_breaker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "shed/concurrency_limiter.h"
#include "shed/limiter.h"

namespace shed {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Options = CircuitBreakerOptions;

constexpr auto kSuccess = Outcome::kSuccess;
constexpr auto kFailure = Outcome::kFailure;
constexpr auto kOverload = Outcome::kOverload;
constexpr auto kIgnored = Outcome::kIgnored;

TimePoint At(Duration since_zero) { return TimePoint(since_zero); }

// A breaker and what it reported.
class Breaker {
 public:
  explicit Breaker(const Options& options) : breaker(options) {}

  struct Call {
    Verdict verdict = Verdict::Admit();
    CircuitBreaker::Ticket ticket{};
    TimePoint started{};
    explicit operator bool() const { return verdict.admitted(); }
  };
  Call Ask(TimePoint now) {
    Call call{.started = now};
    Events pushed;
    call.verdict = breaker.Admit({}, now, call.ticket, pushed);
    Keep(pushed);
    return call;
  }
  void End(Call& call, TimePoint now, Outcome outcome) {
    Events pushed;
    breaker.Complete(call.ticket, {.started = call.started, .now = now, .outcome = outcome},
                     pushed);
    Keep(pushed);
  }
  void Cancel(Call& call, TimePoint now) {
    Events pushed;
    breaker.Cancel(call.ticket, Verdict::Refuse(Reason::kConcurrency), now, pushed);
    Keep(pushed);
  }
  // A whole call; false if it was refused.
  bool Do(TimePoint now, Outcome outcome, Duration takes = Duration(0)) {
    Call call = Ask(now);
    if (call) End(call, After(now, takes), outcome);
    return static_cast<bool>(call);
  }
  void Repeat(int times, TimePoint now, Outcome outcome) {
    for (int i = 0; i < times; ++i) ASSERT_TRUE(Do(now, outcome)) << i;
  }
  template <class F>
  void Change(F change) {
    Events pushed;
    change(breaker, pushed);
    Keep(pushed);
  }
  CircuitBreaker::Snapshot Read(TimePoint now) const { return breaker.Read(now); }
  BreakerState State(TimePoint now) const { return Read(now).state; }
  std::uint64_t Calls(TimePoint now) const { return Read(now).counts.calls; }

  CircuitBreaker breaker;
  std::vector<Event> events;

 private:
  void Keep(const Events& pushed) {
    for (std::size_t i = 0; i < pushed.size(); ++i) events.push_back(pushed[i]);
  }
};

// ---- Closed ----

TEST(CircuitBreaker, ADeadDependencyIsSeenInTwentyCallsWhateverWentBefore) {
  Breaker b({});
  b.Repeat(1000, At(seconds(1)), kSuccess);
  b.Repeat(19, At(seconds(1)), kFailure);
  b.Repeat(1, At(seconds(1)), kSuccess);
  b.Repeat(19, At(seconds(1)), kOverload);
  EXPECT_EQ(b.State(At(seconds(1))), BreakerState::kClosed);
  EXPECT_EQ(b.Read(At(seconds(1))).counts.failed_in_a_row, 19u);
  b.Repeat(1, At(seconds(1)), kOverload);
  ASSERT_EQ(b.events.size(), 1u);
  EXPECT_EQ(b.events[0].kind, EventKind::kBreakerOpened);
  EXPECT_EQ(b.events[0].cause, Cause::kConsecutiveFailures);
  EXPECT_EQ(b.events[0].count, 20u);
  EXPECT_EQ(b.events[0].total, 1040u);
  EXPECT_EQ(b.events[0].threshold, 20);
  EXPECT_EQ(b.State(At(seconds(1))), BreakerState::kOpen);
}

TEST(CircuitBreaker, IgnoredCallsAreNoCallsAndDoNotBreakARow) {
  Breaker b({.consecutive_failures = 3});
  b.Repeat(2, At(seconds(1)), kFailure);
  b.Repeat(100, At(seconds(1)), kIgnored);
  EXPECT_EQ(b.Calls(At(seconds(1))), 2u);
  b.Repeat(1, At(seconds(1)), kFailure);
  EXPECT_EQ(b.State(At(seconds(1))), BreakerState::kOpen);
}

TEST(CircuitBreaker, OpensAtTheRatioOfEnoughCallsAndSaysSo) {
  Breaker b({.consecutive_failures = 0});
  for (int i = 0; i < 9; ++i) b.Do(At(seconds(1)), kFailure);
  for (int i = 0; i < 10; ++i) b.Do(At(seconds(2)), kSuccess);
  b.Repeat(1, At(seconds(3)), kOverload);
  ASSERT_EQ(b.events.size(), 1u);
  EXPECT_EQ(b.events[0].cause, Cause::kFailureRatio);
  EXPECT_EQ(b.events[0].count, 10u);
  EXPECT_EQ(b.events[0].total, 20u);
  EXPECT_EQ(b.events[0].value, 0.5);
  EXPECT_EQ(b.events[0].threshold, 0.5);
}

// A good call must not be what opens: it reaches min_calls, and the next failure opens.
TEST(CircuitBreaker, ASuccessOpensNothing) {
  Breaker b({.consecutive_failures = 0});
  b.Repeat(19, At(seconds(1)), kFailure);
  b.Repeat(1, At(seconds(1)), kSuccess);
  EXPECT_EQ(b.State(At(seconds(1))), BreakerState::kClosed);
  b.Repeat(1, At(seconds(1)), kFailure);
  EXPECT_EQ(b.State(At(seconds(1))), BreakerState::kOpen);
}

// P12, Shopify/semian#24: sparse errors. "3 errors in 5 s" is min_calls 3 at ratio 1.
TEST(CircuitBreaker, SparseErrorsDoNotOpen) {
  Breaker b({.consecutive_failures = 0, .window = seconds(5), .min_calls = 3, .failure_ratio = 1});
  b.Repeat(1, At(seconds(0)), kFailure);
  b.Repeat(1, At(seconds(5)), kFailure);
  b.Repeat(1, At(seconds(6)), kFailure);
  EXPECT_EQ(b.State(At(seconds(6))), BreakerState::kClosed);
  EXPECT_EQ(b.Calls(At(seconds(6))), 2u);
  b.Repeat(1, At(seconds(7)), kFailure);
  EXPECT_EQ(b.State(At(seconds(7))), BreakerState::kOpen);
}

// Calls that never end open it all the same, when the next call asks; those of a later generation,
// and what was undone or ended, do not.
TEST(CircuitBreaker, CallsThatHangCountAsSlowBeforeTheyEnd) {
  Breaker b({.window = seconds(1), .min_calls = 4, .slow_call = milliseconds(80)});
  std::vector<Breaker::Call> hung;
  b.Repeat(3, At(seconds(1)), kSuccess);
  for (int i = 0; i < 3; ++i) hung.push_back(b.Ask(At(seconds(1))));
  auto cancelled = b.Ask(At(seconds(1)));
  b.Cancel(cancelled, At(seconds(1)));
  EXPECT_EQ(b.Read(At(milliseconds(1080))).counts.overdue, 0u);
  EXPECT_EQ(b.Read(At(milliseconds(1090))).counts.overdue, 3u);
  EXPECT_EQ(b.State(At(milliseconds(1090))), BreakerState::kClosed);  // Nobody has asked.
  const auto refused = b.Ask(At(milliseconds(1090)));
  EXPECT_EQ(refused.verdict, Verdict::Refuse(Reason::kCircuitOpen, seconds(5)));
  ASSERT_EQ(b.events.size(), 1u);
  EXPECT_EQ(b.events[0].cause, Cause::kSlowRatio);
  EXPECT_EQ(b.events[0].count, 3u);
  EXPECT_EQ(b.events[0].total, 6u);
  // The next closed time knows nothing of them, even where they end in it.
  b.Change([](auto& breaker, Events& events) { breaker.Reset(At(seconds(2)), events); });
  b.Repeat(4, At(seconds(2)), kSuccess);
  for (auto& call : hung) b.End(call, At(seconds(2)), kSuccess);
  b.Repeat(4, At(seconds(3)), kSuccess);
  EXPECT_EQ(b.State(At(seconds(3))), BreakerState::kClosed);
  EXPECT_EQ(b.Read(At(seconds(3))).counts.slow, 0u);
}

// One that hung and ends after all is slow once.
TEST(CircuitBreaker, ACallIsSlowOnceHoweverItIsSeen) {
  Breaker b({.window = seconds(10), .min_calls = 10, .slow_call = milliseconds(80)});
  auto call = b.Ask(At(seconds(1)));
  auto ignored = b.Ask(At(seconds(1)));
  EXPECT_EQ(b.Read(At(seconds(2))).counts.overdue, 2u);
  b.End(call, At(seconds(2)), kSuccess);
  b.End(ignored, At(seconds(2)), kIgnored);
  const BreakerCounts counts = b.Read(At(seconds(2))).counts;
  EXPECT_EQ(counts.overdue, 0u);
  EXPECT_EQ(counts.slow, 1u);
  EXPECT_EQ(counts.calls, 1u);
}

// A probe that hangs opens again once it is slow; nobody waits for its time-out.
TEST(CircuitBreaker, AProbeThatHangsFailsWhenItIsSlow) {
  Breaker b({.min_calls = 1, .slow_call = milliseconds(80), .probes = 1});
  EXPECT_TRUE(b.Ask(At(seconds(1))));
  EXPECT_EQ(b.Ask(At(seconds(2))).verdict.reason(), Reason::kCircuitOpen);
  EXPECT_TRUE(b.Ask(At(seconds(7))));  // The probe.
  EXPECT_EQ(b.Ask(At(milliseconds(7080))).verdict.reason(), Reason::kProbing);
  EXPECT_EQ(b.Ask(At(milliseconds(7081))).verdict,
            Verdict::Refuse(Reason::kCircuitOpen, seconds(5) - milliseconds(1)));
  EXPECT_EQ(b.events.back().cause, Cause::kProbeTimedOut);
}

// With a count window, and in the ramp, too; by force closed it only counts.
TEST(CircuitBreaker, CallsThatHangAreSeenInEveryClosedState) {
  Breaker counted({.count_window = 4, .min_calls = 4, .slow_call = milliseconds(80)});
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(counted.Ask(At(seconds(1))));
  EXPECT_EQ(counted.Ask(At(seconds(2))).verdict.reason(), Reason::kCircuitOpen);

  Breaker ramped({.min_calls = 2,
                  .slow_call = milliseconds(80),
                  .open_for = milliseconds(10),
                  .probes = 1,
                  .ramp = seconds(1000)});
  ramped.Repeat(1, At(seconds(1)), kSuccess);
  ramped.Change([](auto& breaker, Events& events) { breaker.ForceOpen(At(seconds(1)), events); });
  ramped.Change([](auto& breaker, Events& events) { breaker.Reset(At(seconds(1)), events); });
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(ramped.Ask(At(seconds(1))));
  EXPECT_EQ(ramped.Ask(At(seconds(2))).verdict.reason(), Reason::kCircuitOpen);
  EXPECT_TRUE(ramped.Do(At(seconds(3)), kSuccess));  // The probe; the ramp begins.
  int admitted = 0;
  for (int i = 0; i < 10'000 && admitted < 2; ++i) {
    admitted += ramped.Ask(At(seconds(900))) ? 1 : 0;
  }
  EXPECT_EQ(admitted, 2);
  EXPECT_EQ(ramped.Ask(At(seconds(901))).verdict.reason(), Reason::kCircuitOpen);

  Breaker forced({.min_calls = 1, .slow_call = milliseconds(80)});
  forced.Change([](auto& breaker, Events& events) { breaker.ForceClosed(At(seconds(1)), events); });
  EXPECT_TRUE(forced.Ask(At(seconds(1))));
  EXPECT_TRUE(forced.Ask(At(seconds(2))));
  EXPECT_EQ(forced.Read(At(seconds(2))).counts.overdue, 1u);
  EXPECT_FALSE(forced.breaker.AsNew(At(seconds(2))));
}

// A new slow_call holds for calls that begin from then on.
TEST(CircuitBreaker, SlowCallsMayBeWatchedFromNowOn) {
  Options options{.window = seconds(1), .min_calls = 2};
  Breaker b(options);
  auto unwatched = b.Ask(At(seconds(1)));
  options.slow_call = milliseconds(80);
  EXPECT_EQ(b.breaker.Configure(options, At(seconds(1))), "");
  auto first = b.Ask(At(seconds(1)));
  EXPECT_EQ(b.Read(At(seconds(2))).counts.overdue, 1u);
  options.slow_call = milliseconds(90);
  EXPECT_EQ(b.breaker.Configure(options, At(seconds(1))), "");
  EXPECT_EQ(b.Read(At(seconds(2))).counts.overdue, 0u);
  b.End(unwatched, At(seconds(1)), kSuccess);
  b.End(first, At(seconds(1)), kSuccess);
  auto second = b.Ask(At(seconds(2)));
  auto third = b.Ask(At(seconds(2)));
  options.slow_call = Duration(0);
  EXPECT_EQ(b.breaker.Configure(options, At(seconds(2))), "");
  EXPECT_TRUE(b.Do(At(seconds(5)), kSuccess));  // Off: nobody looks.
  options.slow_call = milliseconds(90);
  EXPECT_EQ(b.breaker.Configure(options, At(seconds(5))), "");
  EXPECT_TRUE(b.Do(At(seconds(6)), kSuccess));
  b.End(second, At(seconds(6)), kIgnored);
  b.End(third, At(seconds(6)), kIgnored);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(b.Ask(At(seconds(8))));
  EXPECT_EQ(b.Ask(At(seconds(9))).verdict.reason(), Reason::kCircuitOpen);
}

TEST(CircuitBreaker, SlowCallsOpenFailedOrNot) {
  Breaker b({.consecutive_failures = 0, .slow_call = milliseconds(100), .slow_ratio = 0.5});
  for (int i = 0; i < 10; ++i) b.Do(At(seconds(1)), kSuccess, milliseconds(100));  // Not slower.
  for (int i = 0; i < 5; ++i) b.Do(At(seconds(1)), kFailure, milliseconds(101));
  for (int i = 0; i < 4; ++i) b.Do(At(seconds(1)), kSuccess, milliseconds(101));
  EXPECT_EQ(b.Read(At(seconds(1))).counts.slow, 9u);
  EXPECT_EQ(b.State(At(seconds(1))), BreakerState::kClosed);
  b.Do(At(seconds(1)), kSuccess, milliseconds(101));
  ASSERT_EQ(b.events.size(), 1u);
  EXPECT_EQ(b.events[0].cause, Cause::kSlowRatio);
  EXPECT_EQ(b.events[0].count, 10u);
  EXPECT_EQ(b.events[0].total, 20u);
}

TEST(CircuitBreaker, ACountWindowHoldsTheLastCallsHoweverOld) {
  Breaker b({.consecutive_failures = 0, .count_window = 10, .min_calls = 10});
  b.Repeat(4, At(seconds(0)), kFailure);
  b.Repeat(6, At(hours(1)), kSuccess);
  EXPECT_EQ(b.Calls(At(hours(2))), 10u);
  b.Repeat(1, At(hours(2)), kFailure);  // The oldest failure leaves: 4 of 10.
  EXPECT_EQ(b.State(At(hours(2))), BreakerState::kClosed);
  b.Repeat(3, At(hours(2)), kSuccess);  // 1 of 10: the four old ones are gone.
  b.Repeat(3, At(hours(2)), kFailure);
  EXPECT_EQ(b.State(At(hours(2))), BreakerState::kClosed);
  b.Repeat(1, At(hours(2)), kFailure);
  EXPECT_EQ(b.State(At(hours(2))), BreakerState::kOpen);
}

// P13, envoyproxy/envoy#25487: calls that a later policy refused are no samples.
TEST(CircuitBreaker, RefusalsByALaterPolicyAreNoCalls) {
  ManualClock clock;
  BasicLimiter<ManualClock, StdSync, CircuitBreaker, ConcurrencyLimiter> limiter(
      clock, {.count_window = 10, .min_calls = 5}, {.limit = 1});
  auto held = limiter.TryAdmit();
  ASSERT_TRUE(held);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(limiter.TryAdmit());
  auto read = [&] { return limiter.template Get<CircuitBreaker>().Read(clock.Now()); };
  EXPECT_EQ(read().counts.calls, 0u);
  EXPECT_EQ(read().state, BreakerState::kClosed);
  held.Complete(kSuccess);
  EXPECT_EQ(read().counts, (BreakerCounts{.calls = 1}));
}

// ---- Open and half-open ----

Options Quick() {
  return {.count_window = 10, .min_calls = 10, .open_for = seconds(10), .probes = 2};
}

TEST(CircuitBreaker, WhoWaitsExactlyRetryAfterIsAdmitted) {
  Breaker b(Quick());
  b.Repeat(10, At(seconds(1)), kFailure);
  for (const Duration at : {Duration(seconds(1)), Duration(milliseconds(10'999)),
                            Duration(seconds(11)) - Duration(1)}) {
    const Verdict verdict = b.Ask(At(at)).verdict;
    EXPECT_EQ(verdict, Verdict::Refuse(Reason::kCircuitOpen, seconds(11) - at));
    EXPECT_EQ(b.Read(At(at)).retry_after, seconds(11) - at);
  }
  EXPECT_EQ(b.Read(At(seconds(1))).open_since, At(seconds(1)));
  EXPECT_EQ(b.Read(At(seconds(11))).retry_after, Duration(0));
  EXPECT_TRUE(b.Ask(At(seconds(11))));
  // A thread whose time lags is refused no longer than the others were: the state has moved on.
  EXPECT_TRUE(b.Ask(At(seconds(5))));
  EXPECT_EQ(b.Ask(At(seconds(11))).verdict, Verdict::Refuse(Reason::kProbing));
  ASSERT_EQ(b.events.size(), 2u);
  EXPECT_EQ(b.events[1].kind, EventKind::kBreakerHalfOpened);
  EXPECT_EQ(b.events[1].cause, Cause::kTimeElapsed);
}

// P10, resilience4j#544: an ignored probe gives its slot back.
TEST(CircuitBreaker, AnIgnoredProbeGivesItsSlotBack) {
  Breaker b(Quick());
  b.Repeat(10, At(seconds(0)), kFailure);
  auto first = b.Ask(At(seconds(10)));
  auto second = b.Ask(At(seconds(10)));
  ASSERT_TRUE(first && second);
  b.End(first, At(seconds(10)), kIgnored);
  EXPECT_EQ(b.Read(At(seconds(10))).probes_in_flight, 1u);
  b.End(second, At(seconds(10)), kSuccess);
  EXPECT_EQ(b.Read(At(seconds(10))).probes_in_flight, 0u);
  auto third = b.Ask(At(seconds(10)));
  ASSERT_TRUE(third);
  b.End(third, At(seconds(10)), kSuccess);
  EXPECT_EQ(b.State(At(seconds(10))), BreakerState::kClosed);
}

TEST(CircuitBreaker, AThousandIgnoredOrCancelledProbesLeaveItHalfOpen) {
  Breaker b(Quick());
  b.Repeat(10, At(seconds(0)), kFailure);
  for (int i = 0; i < 1000; ++i) {
    auto probe = b.Ask(At(seconds(10)));
    ASSERT_TRUE(probe) << i;
    if (i % 2 == 0) b.Cancel(probe, At(seconds(10)));
    if (i % 2 == 1) b.End(probe, At(seconds(10)), kIgnored);
    ASSERT_EQ(b.State(At(seconds(10))), BreakerState::kHalfOpen);
    ASSERT_EQ(b.Read(At(seconds(10))).probes_in_flight, 0u);
  }
}

// P11, App-vNext/Polly#216: while the probe is out, nobody else gets through.
TEST(CircuitBreaker, OneProbeAtATime) {
  Breaker b({.count_window = 10, .min_calls = 10, .probes = 1});
  b.Repeat(10, At(seconds(0)), kFailure);
  auto probe = b.Ask(At(seconds(5)));
  ASSERT_TRUE(probe);
  for (int i = 0; i < 99; ++i) {
    EXPECT_EQ(b.Ask(At(seconds(5) + milliseconds(40) * i)).verdict.reason(), Reason::kProbing);
  }
  b.End(probe, At(seconds(9)), kSuccess);
  EXPECT_EQ(b.State(At(seconds(9))), BreakerState::kClosed);
  EXPECT_TRUE(b.Do(At(seconds(9)), kSuccess));
  ASSERT_EQ(b.events.size(), 3u);
  EXPECT_EQ(b.events[2].kind, EventKind::kBreakerClosed);
  EXPECT_EQ(b.events[2].cause, Cause::kProbesSucceeded);
}

TEST(CircuitBreaker, OneFailedProbeOpensAgainAndTheOthersAreStale) {
  Breaker b(Quick());
  b.Repeat(10, At(seconds(0)), kFailure);
  auto good = b.Ask(At(seconds(10)));
  auto bad = b.Ask(At(seconds(10)));
  b.End(bad, At(seconds(12)), kFailure);
  EXPECT_EQ(b.State(At(seconds(12))), BreakerState::kOpen);
  EXPECT_EQ(b.Read(At(seconds(12))).retry_after, seconds(10));
  b.End(good, At(seconds(13)), kSuccess);
  // In the next half-open time both slots are there, and the old success does not count.
  auto c = b.Ask(At(seconds(22)));
  auto d = b.Ask(At(seconds(22)));
  ASSERT_TRUE(c && d);
  b.End(c, At(seconds(22)), kSuccess);
  EXPECT_EQ(b.State(At(seconds(22))), BreakerState::kHalfOpen);
  EXPECT_EQ(b.Read(At(seconds(22))).opens_total, 2u);
}

// A breaker that opened for slowness must not close on probes that are as slow.
TEST(CircuitBreaker, ASlowProbeOpensAgain) {
  Breaker b({.min_calls = 10, .slow_call = milliseconds(100), .probes = 1});
  for (int i = 0; i < 10; ++i) b.Do(At(seconds(0)), kSuccess, milliseconds(200));
  ASSERT_EQ(b.State(At(seconds(1))), BreakerState::kOpen);
  EXPECT_TRUE(b.Do(At(seconds(6)), kSuccess, milliseconds(200)));
  EXPECT_EQ(b.State(At(seconds(7))), BreakerState::kOpen);
  EXPECT_EQ(b.events.back().cause, Cause::kProbeTimedOut);
}

TEST(CircuitBreaker, TheOpenTimeDoublesUntilItCloses) {
  Breaker b({.consecutive_failures = 1,
             .open_for = seconds(5),
             .max_open_for = seconds(18),
             .probes = 1});
  Duration now(0);
  b.Do(At(now), kFailure);
  for (const int want : {5, 10, 18, 18}) {
    EXPECT_EQ(b.Read(At(now)).retry_after, seconds(want));
    now += seconds(want);
    ASSERT_TRUE(b.Do(At(now), kFailure));
  }
  now += seconds(18);
  ASSERT_TRUE(b.Do(At(now), kSuccess));
  ASSERT_TRUE(b.Do(At(now), kFailure));
  EXPECT_EQ(b.Read(At(now)).retry_after, seconds(5));
}

// ---- Stale results (algorithms: 11) ----

TEST(CircuitBreaker, ResultsFromBeforeItOpenedDoNotCloseIt) {
  Breaker b(Quick());
  std::vector<Breaker::Call> held;
  for (int i = 0; i < 50; ++i) held.push_back(b.Ask(At(seconds(0))));
  b.Repeat(10, At(seconds(0)), kFailure);
  ASSERT_TRUE(b.Ask(At(seconds(10))));  // Half-open.
  for (int i = 0; i < 25; ++i) b.End(held[static_cast<std::size_t>(i)], At(seconds(10)), kSuccess);
  EXPECT_EQ(b.State(At(seconds(10))), BreakerState::kHalfOpen);
  EXPECT_EQ(b.Read(At(seconds(10))).probe_successes, 0u);
  EXPECT_EQ(b.Read(At(seconds(10))).probes_in_flight, 1u);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(b.Do(At(seconds(10)), kSuccess));
  // Closed: the failures of long ago do not open it again.
  for (std::size_t i = 25; i < held.size(); ++i) b.End(held[i], At(seconds(11)), kFailure);
  EXPECT_EQ(b.State(At(seconds(11))), BreakerState::kClosed);
  EXPECT_EQ(b.Calls(At(seconds(11))), 0u);
  EXPECT_EQ(b.Read(At(seconds(11))).counts.failed_in_a_row, 0u);
}

// The window's tags tell 4096 generations apart; a ticket held for as many belongs to none of them.
TEST(CircuitBreaker, ATicketOfLongAgoIsStaleToo) {
  Breaker b({});
  std::vector<Breaker::Call> held;
  for (int change = 0; change < 10'000; ++change) {
    held.push_back(b.Ask(At(seconds(0))));
    b.Change([&](auto& breaker, Events& events) { breaker.Reset(At(seconds(0)), events); });
  }
  for (Breaker::Call& call : held) b.End(call, At(seconds(0)), kFailure);
  EXPECT_EQ(b.Read(At(seconds(0))).counts, BreakerCounts{});
}

TEST(CircuitBreaker, ATicketEndsOnce) {
  Breaker b({.consecutive_failures = 0});
  auto call = b.Ask(At(seconds(0)));
  b.End(call, At(seconds(0)), kFailure);
  b.End(call, At(seconds(0)), kFailure);
  b.Cancel(call, At(seconds(0)));
  EXPECT_EQ(b.Calls(At(seconds(0))), 1u);
  Breaker::Call blank;
  b.End(blank, At(seconds(0)), kFailure);
  EXPECT_EQ(b.Calls(At(seconds(0))), 1u);
}

TEST(CircuitBreaker, AProbeEndsOnce) {
  Breaker b(Quick());
  b.Repeat(10, At(seconds(0)), kFailure);
  auto first = b.Ask(At(seconds(10)));
  auto second = b.Ask(At(seconds(10)));
  b.Cancel(first, At(seconds(10)));
  b.Cancel(first, At(seconds(10)));
  b.End(first, At(seconds(10)), kFailure);
  EXPECT_EQ(b.Read(At(seconds(10))).probes_in_flight, 1u);
  EXPECT_EQ(b.State(At(seconds(10))), BreakerState::kHalfOpen);
  (void)second;
}

// ---- Overdue probes ----

// resilience4j#935: a probe that never ends must not leave the breaker half-open for ever.
TEST(CircuitBreaker, AHungProbeCountsAsFailedWhenSomebodyAsks) {
  Breaker b({.consecutive_failures = 1, .probes = 1, .probe_timeout = seconds(30)});
  b.Do(At(seconds(0)), kFailure);
  auto hung = b.Ask(At(seconds(5)));
  ASSERT_TRUE(hung);
  EXPECT_FALSE(b.Ask(At(seconds(35))));
  EXPECT_EQ(b.State(At(seconds(35))), BreakerState::kHalfOpen);
  // It fell due at 35 s: open until 40 s, and that is how it reads, before anybody asked.
  EXPECT_EQ(b.State(At(seconds(36))), BreakerState::kOpen);
  EXPECT_EQ(b.Read(At(seconds(36))).retry_after, seconds(4));
  EXPECT_EQ(b.Read(At(seconds(36))).opens_total, 2u);
  EXPECT_EQ(b.events.size(), 2u);
  EXPECT_EQ(b.Ask(At(seconds(37))).verdict, Verdict::Refuse(Reason::kCircuitOpen, seconds(3)));
  ASSERT_EQ(b.events.size(), 3u);
  EXPECT_EQ(b.events[2].cause, Cause::kProbeTimedOut);
  b.End(hung, At(seconds(38)), kSuccess);  // Late: stale.
  EXPECT_EQ(b.State(At(seconds(38))), BreakerState::kOpen);
  EXPECT_TRUE(b.Do(At(seconds(40)), kSuccess));
  EXPECT_EQ(b.State(At(seconds(40))), BreakerState::kClosed);
}

TEST(CircuitBreaker, LongAfterAProbeHungTheFirstToAskIsAProbe) {
  Breaker b({.consecutive_failures = 1, .probes = 1, .probe_timeout = seconds(30)});
  b.Do(At(seconds(0)), kFailure);
  ASSERT_TRUE(b.Ask(At(seconds(5))));
  ASSERT_TRUE(b.Ask(At(hours(1))));
  ASSERT_EQ(b.events.size(), 4u);
  EXPECT_EQ(b.events[2].cause, Cause::kProbeTimedOut);
  EXPECT_EQ(b.events[3].kind, EventKind::kBreakerHalfOpened);
}

// Nobody asked meanwhile: its own late end finds that it was overdue.
TEST(CircuitBreaker, ALateProbeIsStaleEvenIfNobodyNoticed) {
  Breaker b({.consecutive_failures = 1, .probes = 1, .probe_timeout = seconds(30)});
  b.Do(At(seconds(0)), kFailure);
  auto in_time = b.Ask(At(seconds(5)));
  b.End(in_time, At(seconds(35)), kSuccess);
  EXPECT_EQ(b.State(At(seconds(35))), BreakerState::kClosed);
  b.Do(At(seconds(40)), kFailure);
  auto late = b.Ask(At(seconds(45)));
  b.End(late, At(seconds(75)) + Duration(1), kSuccess);
  EXPECT_EQ(b.State(At(seconds(76))), BreakerState::kOpen);
}

TEST(CircuitBreaker, OnlyProbesThatAreOutFallDue) {
  Breaker b({.consecutive_failures = 1, .probes = 2, .probe_timeout = seconds(30)});
  b.Do(At(seconds(0)), kFailure);
  auto first = b.Ask(At(seconds(5)));
  auto second = b.Ask(At(seconds(20)));
  b.End(first, At(seconds(30)), kIgnored);
  EXPECT_EQ(b.State(At(seconds(50))), BreakerState::kHalfOpen);
  EXPECT_EQ(b.State(At(seconds(51))), BreakerState::kOpen);
  b.End(second, At(seconds(49)), kIgnored);
  EXPECT_EQ(b.State(At(hours(100))), BreakerState::kHalfOpen);
}

// ---- Ramp ----

TEST(CircuitBreaker, AfterClosingTheLoadComesBackInARamp) {
  Breaker b({.consecutive_failures = 1, .probes = 1, .ramp = seconds(10), .seed = 42});
  b.Do(At(seconds(0)), kFailure);
  ASSERT_TRUE(b.Do(At(seconds(5)), kSuccess));
  EXPECT_EQ(b.State(At(seconds(5))), BreakerState::kClosed);
  EXPECT_EQ(b.Read(At(seconds(5))).admitted_share, 0);
  EXPECT_EQ(b.Ask(At(seconds(5))).verdict, Verdict::Refuse(Reason::kRecovering));
  for (int tenth = 0; tenth <= 10; ++tenth) {
    const TimePoint now = At(seconds(5 + tenth));
    EXPECT_DOUBLE_EQ(b.Read(now).admitted_share, tenth / 10.0);
    int admitted = 0;
    for (int i = 0; i < 10'000; ++i) admitted += b.Ask(now) ? 1 : 0;
    EXPECT_NEAR(admitted, tenth * 1000, 200) << tenth;
    if (tenth == 0 || tenth == 10) {
      EXPECT_EQ(admitted, tenth * 1000);
    }
  }
  // It is over for good, also for a thread whose time lags.
  EXPECT_TRUE(b.Ask(At(seconds(5))));
  EXPECT_EQ(b.Read(At(seconds(5))).admitted_share, 1);
}

TEST(CircuitBreaker, FailuresDuringTheRampOpenIt) {
  Breaker b({.consecutive_failures = 5, .probes = 1, .ramp = seconds(10)});
  b.Repeat(5, At(seconds(0)), kFailure);
  ASSERT_TRUE(b.Do(At(seconds(5)), kSuccess));
  for (int i = 0; i < 200; ++i) b.Do(At(seconds(10)), kFailure);
  EXPECT_EQ(b.State(At(seconds(10))), BreakerState::kOpen);
  EXPECT_EQ(b.Read(At(seconds(10))).opens_total, 2u);
}

// ---- Forced ----

TEST(CircuitBreaker, ForcedOpenLastsUntilReset) {
  Breaker b({});
  auto held = b.Ask(At(seconds(0)));
  b.Change([](auto& breaker, Events& events) { breaker.ForceOpen(At(seconds(1)), events); });
  b.Change([](auto& breaker, Events& events) { breaker.ForceOpen(At(seconds(2)), events); });
  EXPECT_EQ(b.Ask(At(hours(1000))).verdict, Verdict::Refuse(Reason::kCircuitOpen));
  b.End(held, At(seconds(2)), kSuccess);
  EXPECT_EQ(b.State(At(hours(1000))), BreakerState::kForcedOpen);
  EXPECT_EQ(b.Read(At(seconds(9))).open_since, At(seconds(1)));
  EXPECT_EQ(b.Read(At(seconds(9))).opens_total, 1u);
  b.Change([](auto& breaker, Events& events) { breaker.Reset(At(seconds(9)), events); });
  EXPECT_TRUE(b.Do(At(seconds(9)), kSuccess));
  ASSERT_EQ(b.events.size(), 2u);
  EXPECT_EQ(b.events[0].kind, EventKind::kBreakerOpened);
  EXPECT_EQ(b.events[0].cause, Cause::kForced);
  EXPECT_EQ(b.events[1].kind, EventKind::kBreakerClosed);
}

TEST(CircuitBreaker, ForcedClosedCountsAndNeverOpens) {
  Breaker b({});
  b.Repeat(19, At(seconds(0)), kFailure);
  b.Change([](auto& breaker, Events& events) { breaker.ForceClosed(At(seconds(0)), events); });
  b.Repeat(500, At(seconds(0)), kFailure);
  EXPECT_EQ(b.State(At(seconds(0))), BreakerState::kForcedClosed);
  EXPECT_EQ(b.Read(At(seconds(0))).counts,
            (BreakerCounts{.calls = 500, .failed = 500, .failed_in_a_row = 500}));
  b.Change([](auto& breaker, Events& events) { breaker.Reset(At(seconds(1)), events); });
  EXPECT_EQ(b.Calls(At(seconds(1))), 0u);
  b.Repeat(20, At(seconds(1)), kFailure);
  EXPECT_EQ(b.State(At(seconds(1))), BreakerState::kOpen);
}

TEST(CircuitBreaker, ResetForgetsProbesRampAndDoubling) {
  Breaker b(
      {.consecutive_failures = 1, .max_open_for = seconds(60), .probes = 1, .ramp = seconds(10)});
  b.Do(At(seconds(0)), kFailure);
  b.Do(At(seconds(5)), kFailure);
  auto probe = b.Ask(At(seconds(15)));
  ASSERT_TRUE(probe);
  b.Change([](auto& breaker, Events& events) { breaker.Reset(At(seconds(16)), events); });
  b.End(probe, At(seconds(16)), kFailure);
  EXPECT_EQ(b.State(At(seconds(16))), BreakerState::kClosed);
  EXPECT_TRUE(b.Do(At(seconds(16)), kFailure));  // No ramp.
  EXPECT_EQ(b.Read(At(seconds(16))).retry_after, seconds(5));
  b.events.clear();
  b.Change([](auto& breaker, Events& events) { breaker.Reset(At(seconds(17)), events); });
  b.Change([](auto& breaker, Events& events) { breaker.Reset(At(seconds(17)), events); });
  EXPECT_EQ(b.events.size(), 1u);  // It was closed the second time.
}

// ---- Time ----

TEST(CircuitBreaker, AClockThatJumpsOrGoesBack) {
  constexpr Duration kCentury = hours(24 * 36'525);
  Breaker b({.probes = 1});
  b.Repeat(19, At(seconds(0)), kFailure);
  b.Repeat(1, At(kCentury), kSuccess);
  EXPECT_EQ(b.Calls(At(kCentury)), 1u);
  b.Repeat(19, At(kCentury), kFailure);  // 19 of 20.
  EXPECT_EQ(b.Ask(At(-kCentury)).verdict.reason(), Reason::kCircuitOpen);
  EXPECT_TRUE(b.Do(At(2 * kCentury), kSuccess));
  EXPECT_EQ(b.State(At(2 * kCentury)), BreakerState::kClosed);
  // A call that ends before it began took no time.
  Breaker slow({.min_calls = 1, .slow_call = Duration(1), .slow_ratio = 1});
  auto call = slow.Ask(At(seconds(10)));
  slow.End(call, At(seconds(1)), kSuccess);
  EXPECT_EQ(slow.Read(At(seconds(10))).counts.slow, 0u);
  // The end of time: open for ever, without a wrap.
  Breaker last({.consecutive_failures = 1});
  last.Do(TimePoint::max(), kFailure);
  EXPECT_EQ(last.Ask(At(seconds(0))).verdict.retry_after(), Duration::max());
}

// ---- Threads ----

// A Sync that runs a hook right before the next lock: what another thread does between this one's
// look and its lock.
struct HookSync {
  static inline std::function<void()> before_lock;
  template <class T>
  using Atomic = std::atomic<T>;
  struct SHED_CAPABILITY("mutex") Mutex {
    void lock() SHED_ACQUIRE() {
      if (before_lock) std::exchange(before_lock, nullptr)();
    }
    bool try_lock() SHED_TRY_ACQUIRE(true) { return true; }
    void unlock() SHED_RELEASE() {}
  };
  static unsigned Stripe() noexcept { return 0; }
  static std::uintptr_t Thread() noexcept { return 1; }
};
using HookedBreaker = BasicCircuitBreaker<HookSync>;

TEST(CircuitBreaker, WhoIsBeatenToTheLastProbeIsRefused) {
  HookedBreaker breaker(Options{.consecutive_failures = 1, .probes = 1});
  Events events;
  HookedBreaker::Ticket ticket;
  ASSERT_TRUE(breaker.Admit({}, At(seconds(0)), ticket, events).admitted());
  breaker.Complete(ticket, {.now = At(seconds(0)), .outcome = kFailure}, events);
  HookedBreaker::Ticket other;
  HookSync::before_lock = [&] {
    EXPECT_TRUE(breaker.Admit({}, At(seconds(5)), other, events).admitted());
  };
  EXPECT_EQ(breaker.Admit({}, At(seconds(5)), ticket, events), Verdict::Refuse(Reason::kProbing));
  EXPECT_EQ(breaker.Read(At(seconds(5))).probes_in_flight, 1u);
  // And the other way round: a slot that was free when it looked.
  breaker.Cancel(other, Verdict::Refuse(Reason::kRate), At(seconds(5)), events);
  HookSync::before_lock = [&] {
    EXPECT_TRUE(breaker.Admit({}, At(seconds(5)), other, events).admitted());
  };
  EXPECT_EQ(breaker.Admit({}, At(seconds(5)), ticket, events), Verdict::Refuse(Reason::kProbing));
}

TEST(CircuitBreaker, OfTwoFailuresThatBothOpenOneDoes) {
  HookedBreaker breaker(Options{.consecutive_failures = 2});
  Events events;
  HookedBreaker::Ticket tickets[3];
  for (auto& ticket : tickets) breaker.Admit({}, At(seconds(0)), ticket, events);
  const Completion failed{.now = At(seconds(0)), .outcome = kFailure};
  breaker.Complete(tickets[0], failed, events);
  HookSync::before_lock = [&] { breaker.Complete(tickets[1], failed, events); };
  breaker.Complete(tickets[2], failed, events);
  EXPECT_EQ(events.size(), 1u);
  EXPECT_EQ(breaker.Read(At(seconds(0))).opens_total, 1u);
}

TEST(CircuitBreaker, AFailureThatWouldOpenIsStaleOnceItWasReset) {
  HookedBreaker breaker(Options{.consecutive_failures = 1});
  Events events;
  HookedBreaker::Ticket ticket;
  breaker.Admit({}, At(seconds(0)), ticket, events);
  HookSync::before_lock = [&] { breaker.Reset(At(seconds(0)), events); };
  breaker.Complete(ticket, {.now = At(seconds(0)), .outcome = kFailure}, events);
  EXPECT_EQ(breaker.Read(At(seconds(0))).state, BreakerState::kClosed);
}

// At most `probes` probes at any interleaving, and one transition per cause.
TEST(CircuitBreaker, ThreadsNeverGetMoreThanTheProbes) {
  constexpr int kThreads = 8;
  CircuitBreaker breaker(Options{.consecutive_failures = 1, .open_for = Duration(1), .probes = 3});
  std::atomic<std::int64_t> now{0};
  std::vector<std::atomic<int>> out(1 << 16);  // Per half-open time: others' probes are void.
  std::atomic<int> peak{0};
  std::atomic<std::uint64_t> opened{0};
  std::atomic<std::uint64_t> closed{0};
  std::vector<std::thread> threads;
  for (int id = 0; id < kThreads; ++id) {
    threads.emplace_back([&, id] {
      for (int i = 0; i < 20'000; ++i) {
        Events events;
        CircuitBreaker::Ticket ticket;
        const TimePoint at(Duration(now.fetch_add(1)));
        const bool admitted = breaker.Admit({}, at, ticket, events).admitted();
        const bool probe = admitted && ticket.probe() != 0;
        if (probe) {
          const int seen = ++out[ticket.generation() % out.size()];
          int highest = peak.load();
          while (seen > highest && !peak.compare_exchange_weak(highest, seen)) {
          }
          std::this_thread::yield();
          --out[ticket.generation() % out.size()];
        }
        if (admitted) {
          const Outcome outcome = (i + id) % 4 == 0 && !probe ? kFailure : kSuccess;
          breaker.Complete(ticket, {.started = at, .now = at, .outcome = outcome}, events);
        }
        for (std::size_t e = 0; e < events.size(); ++e) {
          opened += events[e].kind == EventKind::kBreakerOpened ? 1 : 0;
          closed += events[e].kind == EventKind::kBreakerClosed ? 1 : 0;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(peak, 3);
  EXPECT_GT(opened, 10u);
  const auto end = breaker.Read(TimePoint(Duration(now)));
  EXPECT_EQ(end.opens_total, opened);
  EXPECT_EQ(opened - closed, end.state == BreakerState::kClosed ? 0u : 1u);
  EXPECT_EQ(end.probes_in_flight, 0u);
}

// Every failure of many threads is counted, and exactly one of them opens.
TEST(CircuitBreaker, OneOfManyThreadsOpens) {
  for (const std::int64_t count_window : {0, 4096}) {
    CircuitBreaker breaker(
        Options{.consecutive_failures = 4000, .count_window = count_window, .min_calls = 4096});
    std::atomic<int> opened{0};
    std::atomic<int> failures{0};
    std::vector<std::thread> threads;
    for (int id = 0; id < 4; ++id) {
      threads.emplace_back([&] {
        for (int i = 0; i < 1001; ++i) {
          Events events;
          CircuitBreaker::Ticket ticket;
          if (!breaker.Admit({}, At(seconds(1)), ticket, events).admitted()) continue;
          ++failures;
          breaker.Complete(ticket, {.now = At(seconds(1)), .outcome = kFailure}, events);
          opened += static_cast<int>(events.size());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(opened, 1) << count_window;
    EXPECT_GE(failures, 4000);
    EXPECT_EQ(breaker.Read(At(seconds(1))).state, BreakerState::kOpen);
  }
}

static_assert(CircuitBreaker::Judge({}, {.calls = 20, .failed = 10}) == Cause::kFailureRatio);

// ---- Configure ----

TEST(CircuitBreaker, ConfigureKeepsWhatWasCountedAndJudgesByTheNew) {
  Breaker b({.min_calls = 100});
  b.Repeat(10, At(seconds(1)), kFailure);
  b.Repeat(9, At(seconds(1)), kSuccess);
  EXPECT_EQ(b.breaker.Configure({.min_calls = 20, .failure_ratio = 0.5}, At(seconds(1))), "");
  EXPECT_EQ(b.Calls(At(seconds(1))), 19u);
  EXPECT_EQ(b.State(At(seconds(1))), BreakerState::kClosed);
  b.Repeat(1, At(seconds(1)), kFailure);
  ASSERT_EQ(b.State(At(seconds(1))), BreakerState::kOpen);
  EXPECT_EQ(b.events[0].cause, Cause::kFailureRatio);
  EXPECT_EQ(b.events[0].total, 20u);
  // An open time that has begun ends as it was said.
  EXPECT_EQ(b.breaker.Configure({.open_for = seconds(60)}, At(seconds(1))), "");
  EXPECT_EQ(b.Read(At(seconds(2))).retry_after, seconds(4));
  ASSERT_TRUE(b.Do(At(seconds(6)), kFailure)) << "a probe";
  EXPECT_EQ(b.Read(At(seconds(6))).retry_after, seconds(60));
}

TEST(CircuitBreaker, BadConfigureChangesNothing) {
  Breaker b({.min_calls = 3});
  b.Repeat(2, At(seconds(1)), kFailure);
  EXPECT_EQ(b.breaker.Configure({.min_calls = 50, .probes = 0}, At(seconds(1))),
            "probes: want 1 to 1000");
  b.Repeat(1, At(seconds(1)), kFailure);
  EXPECT_EQ(b.State(At(seconds(1))), BreakerState::kOpen);
}

TEST(CircuitBreaker, ConfigureOfAWindowKeepsWhatBelongsToIt) {
  Breaker b({.consecutive_failures = 0, .min_calls = 1000});
  for (int s = 0; s < 10; ++s) b.Repeat(s, At(seconds(s)), kFailure);
  EXPECT_EQ(b.Calls(At(seconds(9))), 45u);
  EXPECT_EQ(b.breaker.Configure({.consecutive_failures = 0, .window = seconds(2), .min_calls = 99},
                                At(seconds(9))),
            "");
  EXPECT_EQ(b.Calls(At(seconds(9))), 9u + 8u + 7u);  // By the middles of the old slices.
  // Of calls, and back: a kind of window that was not in use begins empty.
  EXPECT_EQ(b.breaker.Configure({.consecutive_failures = 0, .count_window = 50}, At(seconds(9))),
            "");
  EXPECT_EQ(b.Calls(At(seconds(9))), 0u);
  b.Repeat(6, At(seconds(9)), kSuccess);
  b.Repeat(4, At(seconds(9)), kFailure);
  EXPECT_EQ(
      b.breaker.Configure(
          {.consecutive_failures = 0, .count_window = 5, .min_calls = 5, .failure_ratio = 0.9},
          At(seconds(9))),
      "");
  EXPECT_EQ(b.Read(At(seconds(9))).counts,
            (BreakerCounts{.calls = 5, .failed = 4, .failed_in_a_row = 4}));
  b.Repeat(1, At(seconds(9)), kFailure);
  EXPECT_EQ(b.State(At(seconds(9))), BreakerState::kOpen);
}

TEST(CircuitBreaker, ConfigureWhileProbesAreOut) {
  Breaker b({.probes = 2});
  b.Repeat(20, At(seconds(1)), kFailure);
  auto one = b.Ask(At(seconds(6)));
  auto two = b.Ask(At(seconds(6)));
  ASSERT_TRUE(one && two);
  EXPECT_FALSE(b.Ask(At(seconds(6))));
  EXPECT_EQ(b.breaker.Configure({.probes = 4}, At(seconds(6))), "");
  auto three = b.Ask(At(seconds(6)));
  EXPECT_TRUE(three);
  EXPECT_EQ(b.Read(At(seconds(6))).probes_in_flight, 3u);
  EXPECT_EQ(b.breaker.Configure({.probes = 1, .probe_timeout = seconds(7)}, At(seconds(6))), "");
  EXPECT_FALSE(b.Ask(At(seconds(7))));
  EXPECT_EQ(b.Read(At(seconds(13))).state, BreakerState::kHalfOpen);
  EXPECT_EQ(b.Read(After(At(seconds(13)), Duration(1))).state, BreakerState::kOpen) << "overdue";
  b.End(two, At(seconds(7)), kSuccess);
  EXPECT_EQ(b.State(At(seconds(7))), BreakerState::kClosed);
  b.End(one, At(seconds(8)), kFailure);
  b.End(three, At(seconds(8)), kFailure);
  EXPECT_EQ(b.Calls(At(seconds(8))), 0u);
}

TEST(CircuitBreaker, ConfigureOfSlowCallsAndTheRamp) {
  Breaker b({.consecutive_failures = 0});
  for (int i = 0; i < 30; ++i) b.Do(At(seconds(1)), kSuccess, seconds(1));
  EXPECT_EQ(b.Read(At(seconds(2))).counts.slow, 0u);
  const Options slow{.consecutive_failures = 0,
                     .slow_call = milliseconds(100),
                     .slow_ratio = 0.25,
                     .probes = 1,
                     .ramp = seconds(10)};
  EXPECT_EQ(b.breaker.Configure(slow, At(seconds(2))), "");
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(b.State(At(seconds(2))), BreakerState::kClosed) << i;
    b.Do(At(seconds(2)), kSuccess, milliseconds(101));
  }
  ASSERT_EQ(b.State(At(seconds(3))), BreakerState::kOpen);
  EXPECT_TRUE(b.Do(At(seconds(8)), kSuccess));
  EXPECT_DOUBLE_EQ(b.Read(At(seconds(13))).admitted_share, 0.5);
  EXPECT_EQ(b.breaker.Configure({.ramp = seconds(20)}, At(seconds(13))), "");
  EXPECT_DOUBLE_EQ(b.Read(At(seconds(13))).admitted_share, 0.25);
  EXPECT_EQ(b.breaker.Configure({}, At(seconds(13))), "");
  EXPECT_TRUE(b.Ask(At(seconds(13))));
}

}  // namespace
}  // namespace shed
