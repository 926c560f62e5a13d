#include "shed/admission_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shed/circuit_breaker.h"
#include "shed/clock.h"
#include "shed/concurrency_limiter.h"
#include "shed/limiter.h"
#include "shed/pressure_limiter.h"
#include "shed/queue_delay_limiter.h"
#include "shed/rate_limiter.h"

namespace shed {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

// Calls that enter, by a name each, and what became of them.
template <class... Policies>
class Line {
 public:
  using L = BasicLimiter<ManualClock, StdSync, Policies...>;
  using Queue = AdmissionQueue<L>;
  using Guard = typename Queue::Guard;
  using Ticket = typename Queue::Ticket;

  explicit Line(const AdmissionQueueOptions& options, const typename Policies::Options&... policies)
      : limiter(clock, policies...), queue(limiter, options) {}

  // Holds its permit until End(name).
  Ticket Enter(const std::string& name, const Request& request = {}) {
    return queue.Enter(request, [this, name = std::make_unique<std::string>(name)](Guard guard) {
      Note(*name, std::move(guard));
    });
  }
  void End(const std::string& name, Outcome outcome = Outcome::kSuccess) {
    std::optional<Guard> ending;
    for (auto& [held, guard] : running) {
      if (held == name && guard) ending = std::exchange(guard, std::nullopt);
    }
    // Others begin to run meanwhile.
    ASSERT_TRUE(ending.has_value()) << name;
    ending->Complete(outcome);
  }
  void Advance(Duration by) { clock.Advance(by); }
  // To the time, by way of all that is due until then.
  void PollUntil(TimePoint end) {
    for (TimePoint next = queue.NextDeadline(); next <= end; next = queue.NextDeadline()) {
      clock.Set(std::max(next, clock.Now()));
      queue.Poll();
    }
    clock.Set(end);
  }
  std::size_t Running() const {
    std::size_t n = 0;
    for (const auto& [name, guard] : running) n += guard.has_value();
    return n;
  }
  std::uint64_t Waiting() const { return queue.Read().TotalWaiting(); }

  ManualClock clock;
  L limiter;
  std::vector<std::string> log;  // "b" admitted, "b:deadline" refused.
  std::deque<std::pair<std::string, std::optional<Guard>>> running;  // It grows when one ends.
  std::vector<Rejection> rejections;
  std::vector<Duration> waits;
  Queue queue;  // Last: it refuses all that wait when it goes.

 private:
  void Note(const std::string& name, Guard guard) {
    waits.push_back(guard.waited());
    if (guard) {
      EXPECT_EQ(guard.rejection().reason(), Reason::kNone);
      log.push_back(name);
      running.emplace_back(name, std::move(guard));
    } else {
      rejections.push_back(guard.rejection());
      log.push_back(name + ":" + std::string(Name(guard.rejection().reason())));
    }
  }
};
using OneAtATime = Line<ConcurrencyLimiter>;
constexpr ConcurrencyLimiterOptions kOne{.limit = 1};

TimePoint At(Duration d) { return TimePoint(d); }

// ---- Waiting and order ----

TEST(AdmissionQueue, WhoFindsCapacityDoesNotWait) {
  OneAtATime line({}, kOne);
  EXPECT_FALSE(line.Enter("a"));
  EXPECT_THAT(line.log, ElementsAre("a"));
  const auto now = line.queue.Read();
  EXPECT_EQ(now.admitted_at_once, 1u);
  EXPECT_EQ(now.TotalWaiting(), 0u);
  EXPECT_EQ(line.queue.NextDeadline(), TimePoint::max());
}

TEST(AdmissionQueue, TheOldestGoesFirstInCalm) {
  OneAtATime line({}, kOne);
  line.Enter("a");
  EXPECT_TRUE(line.Enter("b"));
  line.Advance(1ms);
  EXPECT_TRUE(line.Enter("c"));
  EXPECT_TRUE(line.Enter("d"));
  EXPECT_THAT(line.log, ElementsAre("a"));
  EXPECT_EQ(line.Waiting(), 3u);
  for (const char* name : {"a", "b", "c", "d"}) {
    line.Advance(1ms);
    line.End(name);
  }
  EXPECT_THAT(line.log, ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(line.waits, ElementsAre(0ms, 2ms, 2ms, 3ms));
  const auto now = line.queue.Read();
  EXPECT_EQ(now.admitted_after_wait, 3u);
  EXPECT_EQ(now.longest_wait, 3ms);
  EXPECT_EQ(line.limiter.template Get<0>().Read({}).in_flight, 0u);
}

// A limit that went up lets in as many as it has room for, not one per end.
TEST(AdmissionQueue, AnEndLetsInAllThatFit) {
  OneAtATime line({}, kOne);
  for (const char* name : {"a", "b", "c", "d", "e"}) line.Enter(name);
  line.limiter.template Get<0>().SetLimit(3, {});
  line.End("a");
  EXPECT_THAT(line.log, ElementsAre("a", "b", "c", "d"));
}
TEST(AdmissionQueue, APollAfterTheLimitWentUpLetsThemIn) {
  OneAtATime line({}, kOne);
  for (const char* name : {"a", "b", "c"}) line.Enter(name);
  line.limiter.template Get<0>().SetLimit(2, {});
  line.queue.Poll();
  EXPECT_THAT(line.log, ElementsAre("a", "b"));
}

TEST(AdmissionQueue, ANewcomerDoesNotOvertakeInCalm) {
  Line<ConcurrencyLimiter> line({}, {.limit = 4});
  line.Enter("a", {.cost = 3});
  line.Enter("big", {.cost = 2});
  // There would be room for it.
  EXPECT_TRUE(line.Enter("small"));
  EXPECT_THAT(line.log, ElementsAre("a"));
  line.End("a");
  EXPECT_THAT(line.log, ElementsAre("a", "big", "small"));
}

TEST(AdmissionQueue, MoreCriticalCallsGoFirstAndAreAskedForAtOnce) {
  Line<ConcurrencyLimiter> line({}, {.limit = 4});
  line.Enter("a", {.cost = 3});
  line.Enter("batch", {.cost = 2, .criticality = Criticality::kSheddable});
  line.Enter("user", {.cost = 2});
  line.Enter("batch2", {.criticality = Criticality::kSheddablePlus});
  // Nobody who waits is as critical, and there is room for it.
  EXPECT_FALSE(line.Enter("vital", {.criticality = Criticality::kCriticalPlus}));
  EXPECT_THAT(line.log, ElementsAre("a", "vital"));
  EXPECT_THAT(line.queue.Read().waiting, ElementsAre(1, 1, 1, 0));
  line.End("a");
  EXPECT_THAT(line.log, ElementsAre("a", "vital", "user", "batch2"));
  line.End("vital");
  line.End("user");
  EXPECT_THAT(line.log, ElementsAre("a", "vital", "user", "batch2", "batch"));
}

TEST(AdmissionQueue, ACriticalityFromOutsideTheFourIsTheLeast) {
  OneAtATime line({}, kOne);
  line.Enter("a");
  line.Enter("liar", {.criticality = static_cast<Criticality>(200)});
  line.Enter("batch", {.criticality = Criticality::kSheddablePlus});
  line.End("a");
  EXPECT_THAT(line.log, ElementsAre("a", "batch"));
}

TEST(AdmissionQueue, ExemptCallsPassWhoeverWaits) {
  OneAtATime line({.max_waiting = 1}, kOne);
  line.Enter("a");
  line.Enter("b");
  EXPECT_FALSE(line.Enter("health", {.exempt = true, .time_left = -1s}));
  EXPECT_THAT(line.log, ElementsAre("a", "health"));
  EXPECT_EQ(line.queue.Read().TotalEntered(), 2u);
  // Its end frees nothing.
  line.End("health");
  EXPECT_THAT(line.log, ElementsAre("a", "health"));
}

// ---- Pressure ----

TEST(AdmissionQueue, TheNewestGoesFirstOnceTheQueueHasStoodForAnInterval) {
  OneAtATime line({.max_wait = 10s, .target = 50ms, .interval = 100ms}, kOne);
  line.Enter("a");
  line.Enter("b");
  line.Advance(1ms);
  line.Enter("c");
  line.Advance(98ms);
  line.Enter("d");
  EXPECT_FALSE(line.queue.Read().pressure);
  line.Advance(1ms);
  EXPECT_TRUE(line.queue.Read().pressure);
  line.Enter("e");
  line.Advance(1ms);
  line.End("a");
  EXPECT_THAT(line.log, ElementsAre("a", "e"));
  line.End("e");
  EXPECT_THAT(line.log, ElementsAre("a", "e", "d"));
  line.End("d");
  line.End("c");
  EXPECT_THAT(line.log, ElementsAre("a", "e", "d", "c", "b"));
  // An overload leaves a moment without anybody, too.
  line.Enter("f");
  line.Enter("g");
  EXPECT_TRUE(line.queue.Read().pressure);
  line.End("b");
  line.End("g");
  EXPECT_THAT(line.log, ElementsAre("a", "e", "d", "c", "b", "g", "f"));
  // Nobody for an interval: calm again.
  line.Advance(100ms);
  line.Enter("h");
  line.Enter("i");
  line.Advance(99ms);
  EXPECT_FALSE(line.queue.Read().pressure);
  line.End("f");
  EXPECT_EQ(line.log.back(), "h");
}

// Criticality stands above the order.
TEST(AdmissionQueue, UnderPressureTheMoreCriticalStillGoFirst) {
  OneAtATime line({.max_wait = 10s, .target = 1s, .interval = 10ms}, kOne);
  line.Enter("a");
  line.Enter("user");
  line.Advance(10ms);
  line.Enter("batch", {.criticality = Criticality::kSheddable});
  line.Enter("user2");
  line.End("a");
  line.End("user2");
  line.End("user");
  EXPECT_THAT(line.log, ElementsAre("a", "user2", "user", "batch"));
}

TEST(AdmissionQueue, WhoComesUnderPressureWaitsForTargetAtMost) {
  OneAtATime line({.max_wait = 10s, .target = 5ms, .interval = 100ms}, kOne);
  line.Enter("a");
  line.Enter("old");
  line.Advance(100ms);
  const auto young = line.Enter("young");
  EXPECT_EQ(line.queue.NextDeadline(), At(105ms));
  EXPECT_EQ(line.queue.NextDeadline(young), At(105ms));
  line.PollUntil(At(105ms) - 1ns);
  EXPECT_THAT(line.log, ElementsAre("a"));
  line.PollUntil(At(105ms));
  EXPECT_THAT(line.log, ElementsAre("a", "young:queue_delay"));
  EXPECT_EQ(line.queue.NextDeadline(young), TimePoint::max());
  line.PollUntil(At(10s));
  EXPECT_THAT(line.log, ElementsAre("a", "young:queue_delay", "old:queue_delay"));
  EXPECT_EQ(line.queue.Read().timed_out, 2u);
}

// ---- Time ----

// palantir/dialogue#3104: dead work waited, and then ran.
TEST(AdmissionQueue, P24DropsWhoseDeadlineHasPassedAndNeverRunsIt) {
  OneAtATime line({.max_waiting = 2, .max_wait = 60s}, kOne);
  line.Enter("busy");
  line.Enter("A", {.time_left = 5s});
  line.Enter("B", {.time_left = 30s});
  line.PollUntil(At(5s) - 1ns);
  EXPECT_THAT(line.log, ElementsAre("busy"));
  EXPECT_EQ(line.Waiting(), 2u);
  line.PollUntil(At(5s));
  EXPECT_THAT(line.log, ElementsAre("busy", "A:deadline"));
  EXPECT_EQ(line.Waiting(), 1u);
  line.PollUntil(At(10s));
  line.End("busy");
  EXPECT_THAT(line.log, ElementsAre("busy", "A:deadline", "B"));
  EXPECT_EQ(line.waits.back(), 10s);
}
// The same if nobody polls: the end at 10 s finds out.
TEST(AdmissionQueue, P24WithoutAPoll) {
  OneAtATime line({.max_waiting = 2, .max_wait = 60s}, kOne);
  line.Enter("busy");
  line.Enter("A", {.time_left = 5s});
  line.Enter("B", {.time_left = 30s});
  line.clock.Set(At(5s));
  // A's place is free.
  line.Enter("C", {.time_left = 30s});
  EXPECT_THAT(line.log, ElementsAre("busy", "A:deadline"));
  line.clock.Set(At(10s));
  line.End("busy");
  EXPECT_EQ(line.Running(), 1u);
  EXPECT_EQ(line.queue.Read().expired, 1u);
}

// failsafe-lib/failsafe#393: a waiter that timed out stayed in the queue, and swallowed a permit.
TEST(AdmissionQueue, P01AWaiterThatGaveUpSwallowsNoPermit) {
  OneAtATime line({.max_wait = 1h}, kOne);
  for (int i = 0; i < 1000; ++i) {
    const TimePoint start = line.clock.Now();
    line.log.clear();
    line.running.clear();
    line.Enter("A");
    if (i % 2 == 0) {
      line.Enter("B", {.max_wait = 100ms});
      line.PollUntil(start + 100ms);
      ASSERT_THAT(line.log, ElementsAre("A", "B:queue_delay"));
    } else {
      const auto ticket = line.Enter("B");
      line.clock.Set(start + 100ms);
      ASSERT_TRUE(line.queue.Leave(ticket));
    }
    line.clock.Set(start + 150ms);
    line.End("A");
    ASSERT_EQ(line.Running(), 0u);
    line.clock.Set(start + 151ms);
    ASSERT_FALSE(line.Enter("C"));
    ASSERT_EQ(line.log.back(), "C");
    ASSERT_EQ(line.limiter.template Get<0>().Read({}).in_flight, 1u);
    line.End("C");
  }
  EXPECT_EQ(line.limiter.template Get<0>().Read({}).in_flight, 0u);
  const auto now = line.queue.Read();
  EXPECT_EQ(now.timed_out, 500u);
  EXPECT_EQ(now.left, 500u);
  EXPECT_EQ(now.admitted_at_once, 2000u);
}

TEST(AdmissionQueue, WhoHasNoTimeLeftIsNotAskedFor) {
  Line<RateLimiter> line({.min_service = 10ms}, {.rate = 1, .per = 24h, .burst = 5});
  for (const Duration left : {Duration(0), Duration(-1), Duration::min(), Duration(10ms)}) {
    EXPECT_FALSE(line.Enter("dead", {.time_left = left}));
    EXPECT_EQ(line.log.back(), "dead:deadline");
  }
  EXPECT_EQ(line.limiter.template Get<0>().Read(line.clock.Now()).available, 5);
  EXPECT_EQ(line.limiter.Snapshot().TotalRefused(), 0u);
  EXPECT_EQ(line.queue.Read().expired, 4u);
  line.Enter("alive", {.time_left = Duration(10ms) + 1ns});
  EXPECT_EQ(line.log.back(), "alive");
}

TEST(AdmissionQueue, ExpiredWaitersCostNoTokenAndNoRefusal) {
  Line<RateLimiter, ConcurrencyLimiter> line({.max_wait = 1s}, {.rate = 1, .per = 24h, .burst = 10},
                                             kOne);
  line.Enter("a");
  for (int i = 0; i < 5; ++i) line.Enter("b", {.time_left = 1ms});
  const std::uint64_t asked = line.limiter.Snapshot().TotalRefused();
  line.Advance(1ms);
  line.End("a");
  EXPECT_EQ(line.queue.Read().expired, 5u);
  EXPECT_EQ(line.limiter.Snapshot().TotalRefused(), asked);
  EXPECT_EQ(line.limiter.template Get<0>().Read(line.clock.Now()).available, 9);
}

TEST(AdmissionQueue, AWaiterIsDroppedWhenItCannotBeWorkedOnAnyMore) {
  OneAtATime line({.max_wait = 1s, .min_service = 20ms}, kOne);
  line.Enter("a");
  line.Enter("b", {.time_left = 100ms});
  EXPECT_EQ(line.queue.NextDeadline(), At(80ms));
  line.PollUntil(At(80ms));
  EXPECT_THAT(line.log, ElementsAre("a", "b:deadline"));
}

// The shortest of three ends the wait, and says so.
TEST(AdmissionQueue, TheReasonTellsWhoseTimeWasOver) {
  OneAtATime line({.max_wait = 50ms, .target = 1ms}, kOne);
  line.Enter("a");
  line.Enter("queue");
  line.Enter("request", {.max_wait = 20ms});
  line.Enter("client", {.time_left = 30ms, .max_wait = 1h});
  line.Enter("both", {.time_left = 50ms});
  line.Enter("negative", {.max_wait = -1s});
  line.PollUntil(At(49ms));
  EXPECT_THAT(line.log, ElementsAre("a", "request:queue_delay", "client:deadline"));
  line.PollUntil(At(50ms));
  EXPECT_THAT(line.log, ::testing::IsSupersetOf(
                            {"queue:queue_delay", "both:deadline", "negative:queue_delay"}));
}

TEST(AdmissionQueue, TheEndOfTimeIsNoDeadline) {
  OneAtATime line({.max_wait = 1h}, kOne);
  line.clock.Set(TimePoint::max() - 1ns);
  line.Enter("a");
  line.Enter("b");
  EXPECT_EQ(line.Waiting(), 1u);
  line.clock.Set(TimePoint::min());
  line.Enter("c");
  line.End("a");
  EXPECT_EQ(line.log.back(), "b");
}

struct Sees {
  static constexpr std::string_view kName = "sees";
  Request* seen;
  Verdict Admit(const Request& request, TimePoint) noexcept {
    *seen = request;
    return Verdict::Admit();
  }
};

// What is behind sees how long the call has waited, and how much time it has left.
TEST(AdmissionQueue, TheLimiterSeesTheSojourn) {
  ManualClock clock;
  Request seen;
  using L = BasicLimiter<ManualClock, StdSync, ConcurrencyLimiter, Sees>;
  L limiter(clock, kOne, Sees{&seen});
  AdmissionQueue queue(limiter, {.max_wait = 1s});
  using Guard = decltype(queue)::Guard;
  std::optional<Guard> first;
  queue.Enter({}, [&](Guard guard) { first.emplace(std::move(guard)); });
  EXPECT_EQ(seen.queued_for, 0ns);
  EXPECT_EQ(seen.time_left, Duration::max());
  queue.Enter({.caller = "x", .queued_for = 5ms, .time_left = 500ms, .max_wait = 300ms, .tag = 7},
              [](Guard) {});
  clock.Advance(40ms);
  first->Complete(Outcome::kSuccess);
  EXPECT_EQ(seen.queued_for, 45ms);
  EXPECT_EQ(seen.time_left, 460ms);
  EXPECT_EQ(seen.max_wait, 0ns);
  EXPECT_EQ(seen.caller, "x");
  EXPECT_EQ(seen.tag, 7u);
}

// ---- What is not waited for ----

TEST(AdmissionQueue, WhatWaitingDoesNotCureIsRefusedAtOnce) {
  Line<RateLimiter> line({.max_wait = 1s}, {.rate = 10, .burst = 2});
  EXPECT_FALSE(line.Enter("huge", {.cost = 3}));
  EXPECT_THAT(line.log, ElementsAre("huge:cost_too_large"));
  line.Enter("a", {.cost = 2});
  // Its turn is in 100 ms, when its client is gone.
  EXPECT_FALSE(line.Enter("late", {.time_left = 100ms}));
  EXPECT_EQ(line.log.back(), "late:rate");
  EXPECT_EQ(line.rejections.back().retry_after(), 100ms);
  EXPECT_EQ(line.rejections.back().policy_name(), "rate_limiter");
  EXPECT_TRUE(line.Enter("in time", {.time_left = Duration(100ms) + 1ns}));
  EXPECT_EQ(line.queue.Read().refused, 2u);
}

// Who draws again sheds nothing.
TEST(AdmissionQueue, DrawnRefusalsAreFinal) {
  Line<PressureLimiter> line({}, {});
  Events events;
  line.limiter.template Get<0>().Set(1, line.clock.Now(), events);
  EXPECT_FALSE(line.Enter("a"));
  EXPECT_THAT(line.log, ElementsAre("a:pressure"));
}

TEST(AdmissionQueue, AWaiterThatIsRefusedForGoodMakesWayForTheNext) {
  Line<QueueDelayLimiter, ConcurrencyLimiter> line({.max_wait = 10s, .interval = 1h}, {}, kOne);
  line.Enter("a");
  line.Enter("b", {.time_left = 5s});
  line.Enter("c");
  // From now on b needs more time than it has.
  EXPECT_EQ(line.limiter.template Get<0>().Configure({.min_service = 5s}, line.clock.Now()), "");
  line.Advance(1ms);
  line.End("a");
  EXPECT_THAT(line.log, ElementsAre("a", "b:deadline", "c"));
  EXPECT_EQ(line.rejections.back().policy_name(), "queue_delay_limiter");
}

// ---- Refused until a time that is known ----

TEST(AdmissionQueue, ARateIsAskedAgainWhenItsTimeHasCome) {
  Line<RateLimiter> line({.max_wait = 1s, .interval = 1h}, {.rate = 10, .burst = 1});
  line.Enter("a");
  line.Enter("b");
  line.Enter("c");
  const std::uint64_t asked = line.limiter.Snapshot().TotalRefused();
  EXPECT_EQ(line.queue.NextDeadline(), At(100ms));
  // Neither polls nor ends of calls ask in vain before.
  line.Advance(50ms);
  line.queue.Poll();
  line.End("a");
  EXPECT_EQ(line.limiter.Snapshot().TotalRefused(), asked);
  line.PollUntil(At(100ms));
  EXPECT_THAT(line.log, ElementsAre("a", "b"));
  EXPECT_EQ(line.queue.NextDeadline(), At(200ms));
  line.PollUntil(At(200ms));
  EXPECT_THAT(line.log, ElementsAre("a", "b", "c"));
}

// The order has changed meanwhile, and who is first now was never asked for.
TEST(AdmissionQueue, UnderPressureTheNewestIsAskedForWhenTheTimeOfTheOldestHasCome) {
  Line<RateLimiter> line({.max_wait = 1s, .interval = 50ms}, {.rate = 10, .burst = 1});
  for (const char* name : {"a", "b", "c"}) line.Enter(name);
  line.Advance(60ms);
  EXPECT_TRUE(line.queue.Read().pressure);
  line.queue.Poll();
  EXPECT_EQ(line.queue.NextDeadline(), At(100ms));
  line.PollUntil(At(100ms));
  EXPECT_THAT(line.log, ElementsAre("a", "c"));
  line.PollUntil(At(200ms));
  EXPECT_THAT(line.log, ElementsAre("a", "c", "b"));
  EXPECT_EQ(line.queue.NextDeadline(), TimePoint::max());
}

TEST(AdmissionQueue, AnOpenBreakerIsWaitedForIfThereIsTime) {
  Line<CircuitBreaker> line({.max_wait = 10s, .interval = 1h},
                            {.consecutive_failures = 1, .open_for = 1s, .probes = 1});
  line.Enter("a");
  line.End("a", Outcome::kFailure);
  EXPECT_TRUE(line.Enter("b"));
  EXPECT_FALSE(line.Enter("hasty", {.criticality = Criticality::kCriticalPlus, .time_left = 1s}));
  EXPECT_EQ(line.log.back(), "hasty:circuit_open");
  line.Enter("c");
  line.PollUntil(At(1s));
  EXPECT_EQ(line.log.back(), "b");
  line.End("b");
  EXPECT_EQ(line.log.back(), "c");
}

// ---- Room ----

TEST(AdmissionQueue, TheRoomIsBounded) {
  OneAtATime line({.max_waiting = 2}, kOne);
  for (const char* name : {"a", "b", "c", "d"}) line.Enter(name);
  EXPECT_THAT(line.log, ElementsAre("a", "d:queue_full"));
  EXPECT_EQ(line.rejections.back().policy_name(), "admission_queue");
  EXPECT_EQ(line.rejections.back().policy(), 1u);
  EXPECT_EQ(line.rejections.back().scope(), Scope::kService);
  EXPECT_EQ(line.queue.Read().full, 1u);
}

TEST(AdmissionQueue, AMoreCriticalNewcomerTakesTheLastPlaceInLine) {
  OneAtATime line({.max_waiting = 3}, kOne);
  line.Enter("a");
  line.Enter("batch", {.criticality = Criticality::kSheddable});
  line.Enter("batch2", {.criticality = Criticality::kSheddable});
  line.Enter("user");
  line.Advance(3ms);
  line.Enter("user2");
  EXPECT_THAT(line.log, ElementsAre("a", "batch2:queue_full"));
  EXPECT_EQ(line.waits.back(), 3ms);
  line.Enter("vital", {.criticality = Criticality::kCriticalPlus});
  EXPECT_EQ(line.log.back(), "batch:queue_full");
  // Nobody is less critical any more.
  line.Enter("user3");
  EXPECT_EQ(line.log.back(), "user3:queue_full");
  line.Enter("vital2", {.criticality = Criticality::kCriticalPlus});
  EXPECT_EQ(line.log.back(), "user2:queue_full");
  const auto now = line.queue.Read();
  EXPECT_EQ(now.evicted, 3u);
  EXPECT_EQ(now.full, 1u);
  EXPECT_EQ(now.TotalEntered(), 8u);
}

TEST(AdmissionQueue, UnderPressureANewcomerTakesThePlaceOfTheOldest) {
  OneAtATime line({.max_waiting = 2, .max_wait = 1s, .interval = 10ms}, kOne);
  line.Enter("a");
  line.Enter("b");
  line.Enter("c");
  line.Advance(10ms);
  line.Enter("d");
  EXPECT_THAT(line.log, ElementsAre("a", "b:queue_full"));
  line.Enter("batch", {.criticality = Criticality::kSheddable});
  EXPECT_EQ(line.log.back(), "batch:queue_full");
  line.End("a");
  EXPECT_EQ(line.log.back(), "d");
}

// The one that is over goes, though the newcomer is less critical.
TEST(AdmissionQueue, AnExpiredWaiterMakesRoomForAnybody) {
  OneAtATime line({.max_waiting = 1, .max_wait = 10ms}, kOne);
  line.Enter("a");
  line.Enter("b", {.criticality = Criticality::kCriticalPlus});
  line.Advance(10ms);
  EXPECT_TRUE(line.Enter("c", {.criticality = Criticality::kSheddable}));
  EXPECT_THAT(line.log, ElementsAre("a", "b:queue_delay"));
}

// ---- Leaving ----

TEST(AdmissionQueue, WhoLeavesIsNeverCalledAndGivesItsPlaceBack) {
  OneAtATime line({.max_waiting = 1}, kOne);
  line.Enter("a");
  const auto b = line.Enter("b");
  EXPECT_TRUE(line.queue.Leave(b));
  EXPECT_FALSE(line.queue.Leave(b));
  EXPECT_TRUE(line.Enter("c"));
  // The place has another tenant.
  EXPECT_FALSE(line.queue.Leave(b));
  line.End("a");
  EXPECT_THAT(line.log, ElementsAre("a", "c"));
  EXPECT_EQ(line.queue.Read().left, 1u);
}

TEST(AdmissionQueue, AnEmptyTicketAndThatOfAnAnsweredCallLeaveNothing) {
  OneAtATime line({}, kOne);
  EXPECT_FALSE(line.queue.Leave({}));
  const auto a = line.Enter("a");
  EXPECT_FALSE(line.queue.Leave(a));
  const auto b = line.Enter("b");
  line.End("a");
  EXPECT_FALSE(line.queue.Leave(b));
  EXPECT_EQ(line.Running(), 1u);
}

TEST(AdmissionQueue, WhenTheFirstLeavesTheNextMayFit) {
  Line<ConcurrencyLimiter> line({}, {.limit = 4});
  line.Enter("a", {.cost = 3});
  const auto big = line.Enter("big", {.cost = 4});
  line.Enter("small");
  EXPECT_TRUE(line.queue.Leave(big));
  EXPECT_THAT(line.log, ElementsAre("a", "small"));
}
TEST(AdmissionQueue, WhenTheFirstExpiresTheNextMayFit) {
  Line<ConcurrencyLimiter> line({}, {.limit = 4});
  line.Enter("a", {.cost = 3});
  line.Enter("big", {.cost = 4, .time_left = 10ms});
  line.Enter("small");
  line.PollUntil(At(10ms));
  EXPECT_THAT(line.log, ElementsAre("a", "big:deadline", "small"));
}

TEST(AdmissionQueue, ItsEndRefusesAllThatWait) {
  std::vector<Reason> reasons;
  {
    ManualClock clock;
    BasicLimiter<ManualClock, StdSync, ConcurrencyLimiter> limiter(clock, kOne);
    std::optional<AdmissionQueue<decltype(limiter)>> queue;
    queue.emplace(limiter);
    using Guard = decltype(queue)::value_type::Guard;
    std::optional<Guard> held;
    queue->Enter({}, [&](Guard guard) { held.emplace(std::move(guard)); });
    for (int i = 0; i < 3; ++i) {
      queue->Enter({}, [&](Guard guard) { reasons.push_back(guard.rejection().reason()); });
    }
    held.reset();  // Lets one in.
    queue.reset();
  }
  EXPECT_EQ(reasons.size(), 3u);
}

// ---- Callbacks ----

// A callback that ends its call at once leads on to the next: by a loop, not by a stack that grows.
TEST(AdmissionQueue, ALongLineOfCallsThatEndAtOnceNeedsNoDeepStack) {
  ManualClock clock;
  BasicLimiter<ManualClock, StdSync, ConcurrencyLimiter> limiter(clock, kOne);
  AdmissionQueue queue(limiter, {.max_waiting = 200'000});
  using Guard = decltype(queue)::Guard;
  std::optional<Guard> first;
  queue.Enter({}, [&](Guard guard) { first.emplace(std::move(guard)); });
  std::size_t depth = 0, deepest = 0, calls = 0;
  for (int i = 0; i < 200'000; ++i) {
    queue.Enter({}, [&, i](Guard guard) {
      deepest = std::max(deepest, ++depth);
      ++calls;
      if (i % 2 == 0) {
        guard.Complete(Outcome::kSuccess);
      } else {
        const Guard dropped = std::move(guard);
      }
      --depth;
    });
  }
  first->Complete(Outcome::kSuccess);
  EXPECT_EQ(calls, 200'000u);
  EXPECT_LE(deepest, 2u);
  EXPECT_EQ(limiter.Get<0>().Read({}).in_flight, 0u);
}

// They may use the queue: nothing is locked.
TEST(AdmissionQueue, ACallbackMayUseTheQueue) {
  OneAtATime line({.max_waiting = 2}, kOne);
  using Guard = OneAtATime::Guard;
  line.Enter("a");
  OneAtATime::Ticket second;
  line.queue.Enter({}, [&](Guard guard) {
    EXPECT_EQ(line.queue.Read().TotalWaiting(), 1u);
    EXPECT_NE(line.queue.NextDeadline(), TimePoint::max());
    EXPECT_TRUE(line.queue.Leave(second));
    line.Enter("c");
    line.queue.Poll();
    EXPECT_EQ(line.queue.Configure({.max_waiting = 1}), "");
    guard.Complete(Outcome::kSuccess);
  });
  second = line.Enter("b");
  line.End("a");
  EXPECT_THAT(line.log, ElementsAre("a", "c"));
}

// Tells of every call that it is asked about.
struct Chatty {
  static constexpr std::string_view kName = "chatty";
  Verdict Admit(const Request&, TimePoint, Events& events) noexcept {
    events.Push({.kind = EventKind::kLimitChanged});
    return Verdict::Admit();
  }
};
// So may an observer of the limiter: it is told when the queue is not locked any more.
TEST(AdmissionQueue, AnObserverMayUseTheQueue) {
  using L = BasicLimiter<ManualClock, StdSync, Chatty, ConcurrencyLimiter>;
  using Queue = AdmissionQueue<L>;
  struct Nosy : Observer {
    void OnEvent(const Event& event) noexcept override {
      if (queue == nullptr) return;
      times.push_back(event.at);
      waiting.push_back(queue->Read().TotalWaiting());
      queue->Leave(leaves);
      if (held) std::exchange(held, std::nullopt)->Complete(Outcome::kSuccess);
    }
    Queue* queue = nullptr;
    std::vector<TimePoint> times;
    std::vector<std::uint64_t> waiting;
    Queue::Ticket leaves;
    std::optional<Queue::Guard> held;
  } nosy;
  ManualClock clock;
  L limiter(clock, Chatty{}, {.limit = 2}, {.observer = &nosy});
  Queue queue(limiter);
  nosy.queue = &queue;
  std::vector<Queue::Guard> guards;
  const auto keep = [&](Queue::Guard guard) {
    if (guard) guards.push_back(std::move(guard));
  };
  queue.Enter({}, keep);
  queue.Enter({}, keep);
  queue.Enter({}, keep);
  nosy.leaves = queue.Enter({}, keep);
  nosy.held = std::move(guards[0]);
  clock.Advance(1ms);
  // Lets in the third and tells the observer, who takes the fourth out and ends the first.
  guards[1].Complete(Outcome::kSuccess);
  EXPECT_EQ(guards.size(), 3u);
  const auto now = queue.Read();
  EXPECT_EQ(now.admitted_after_wait, 1u);
  EXPECT_EQ(now.left, 1u);
  EXPECT_EQ(now.TotalWaiting(), 0u);
  EXPECT_EQ(limiter.Get<ConcurrencyLimiter>().Read({}).in_flight, 1u);
  // Before the first three of the calls that are asked about nobody waits.
  EXPECT_THAT(nosy.waiting, ElementsAre(0, 0, 0, 1));
  EXPECT_EQ(nosy.times.back(), TimePoint(1ms));
  nosy.queue = nullptr;
}

// What it changes while the limiter is asked is not lost on who was refused.
TEST(AdmissionQueue, AnEndByAnObserverLetsTheNextIn) {
  using L = BasicLimiter<ManualClock, StdSync, Chatty, ConcurrencyLimiter>;
  using Queue = AdmissionQueue<L>;
  struct Ender : Observer {
    void OnEvent(const Event&) noexcept override {
      if (held && armed) std::exchange(held, std::nullopt)->Complete(Outcome::kSuccess);
    }
    bool armed = false;
    std::optional<Queue::Guard> held;
  } ender;
  ManualClock clock;
  L limiter(clock, Chatty{}, kOne, {.observer = &ender});
  Queue queue(limiter);
  queue.Enter({}, [&](Queue::Guard guard) { ender.held.emplace(std::move(guard)); });
  int ran = 0;
  const auto run = [&](Queue::Guard guard) { ran += bool{guard}; };
  queue.Enter({}, run);
  ender.armed = true;
  // Asks in vain, and the observer ends the call that is in the way.
  queue.Poll();
  EXPECT_EQ(ran, 1);
  // The same for a newcomer, without and with others that wait.
  queue.Enter({}, [&](Queue::Guard guard) { ender.held.emplace(std::move(guard)); });
  queue.Enter({}, run);
  EXPECT_EQ(ran, 2);
  ender.armed = false;
  queue.Enter({}, [&](Queue::Guard guard) { ender.held.emplace(std::move(guard)); });
  queue.Enter({.criticality = Criticality::kSheddable}, run);
  ender.armed = true;
  queue.Enter({}, run);
  EXPECT_EQ(ran, 4);
  EXPECT_EQ(queue.Read().TotalWaiting(), 0u);
}

TEST(AdmissionQueue, ACallbackIsDestroyedOnceWhateverBecomesOfItsCall) {
  OneAtATime line({.max_waiting = 1}, kOne);
  const auto alive = std::make_shared<int>();
  const auto enter = [&](const Request& request = {}) {
    return line.queue.Enter(request, [alive](OneAtATime::Guard) {});
  };
  line.Enter("a");
  const auto leaves = enter();
  EXPECT_EQ(alive.use_count(), 2);
  line.queue.Leave(leaves);
  EXPECT_EQ(alive.use_count(), 1);
  enter({.criticality = Criticality::kSheddable});
  enter();  // Evicts it.
  EXPECT_EQ(alive.use_count(), 2);
  enter();  // Full.
  EXPECT_EQ(alive.use_count(), 2);
  line.End("a");  // Admits it, and its guard goes with the call.
  EXPECT_EQ(alive.use_count(), 1);
  EXPECT_EQ(line.limiter.template Get<0>().Read({}).in_flight, 0u);
}

TEST(AdmissionQueue, TheGuardEndsOnceAndTellsTheOutcome) {
  OneAtATime line({}, kOne);
  using Guard = OneAtATime::Guard;
  std::optional<Guard> held;
  const auto keep = [&](Guard guard) { held.emplace(std::move(guard)); };
  line.queue.Enter({}, keep);
  line.Enter("b");
  line.Enter("c");
  Guard moved = *std::move(held);
  EXPECT_FALSE(*held);
  held->Complete(Outcome::kSuccess);
  held.reset();
  EXPECT_THAT(line.log, ElementsAre());
  EXPECT_TRUE(moved);
  moved.Complete(Outcome::kOverload);
  moved.Complete(Outcome::kSuccess);
  EXPECT_TRUE(moved);
  EXPECT_THAT(line.log, ElementsAre("b"));
  line.running[0].second->Note(Outcome::kFailure);
  line.running[0].second.reset();
  EXPECT_THAT(line.log, ElementsAre("b", "c"));
  // Ends what it held before.
  line.running[1].second = std::move(moved);
  const auto now = line.limiter.Snapshot();
  EXPECT_EQ(now.in_flight, 0u);
  EXPECT_EQ(now.completed[IndexOf(Outcome::kOverload)], 1u);
  EXPECT_EQ(now.completed[IndexOf(Outcome::kFailure)], 1u);
  EXPECT_EQ(now.completed[IndexOf(Outcome::kIgnored)], 1u);
  EXPECT_EQ(now.dropped, 1u);
}

// ---- Options ----

TEST(AdmissionQueue, BadOptionsSayWhatIsWrong) {
  const auto problem = [](AdmissionQueueOptions options) { return options.Problem(); };
  constexpr Duration kLongest = Duration::max();
  for (const std::uint32_t n : {0u, 1'000'001u, 0xffff'ffffu}) {
    EXPECT_EQ(problem({.max_waiting = n}), "max_waiting: want 1 to 1,000,000");
  }
  for (const Duration d :
       {Duration(-1), Duration(0), Duration(999), Duration(1h) + 1ns, kLongest, Duration::min()}) {
    EXPECT_EQ(problem({.max_wait = d}), "max_wait: want 1 us to 1 h");
  }
  for (const Duration d : {Duration(0), Duration(999), Duration(100ms) + 1ns, kLongest}) {
    EXPECT_EQ(problem({.target = d}), "target: want 1 us to max_wait");
  }
  for (const Duration d : {Duration(0), Duration(999), Duration(24h) + 1ns, kLongest}) {
    EXPECT_EQ(problem({.interval = d}), "interval: want 1 us to 24 h");
  }
  for (const Duration d : {Duration(-1), Duration(24h) + 1ns, kLongest, Duration::min()}) {
    EXPECT_EQ(problem({.min_service = d}), "min_service: want 0 to 24 h");
  }
  EXPECT_EQ(problem({.max_waiting = 1, .max_wait = 1us, .target = 1us, .interval = 1us}), "");
  EXPECT_EQ(problem({.max_waiting = 1'000'000,
                     .max_wait = 1h,
                     .target = 1h,
                     .interval = 24h,
                     .min_service = 24h}),
            "");
  ManualClock clock;
  BasicLimiter<ManualClock, StdSync, ConcurrencyLimiter> limiter(clock, kOne);
  using Queue = AdmissionQueue<decltype(limiter)>;
  EXPECT_THROW(Queue(limiter, {.max_waiting = 0}), std::invalid_argument);
}

TEST(AdmissionQueue, IsConfiguredWhileCallsWait) {
  OneAtATime line({.max_waiting = 3, .max_wait = 50ms}, kOne);
  line.Enter("a");
  line.Enter("b");
  line.Enter("c");
  EXPECT_EQ(line.queue.Configure({.max_waiting = 4}),
            "max_waiting: want at most what the queue was made with");
  EXPECT_EQ(line.queue.Configure({.max_wait = 0ns}), "max_wait: want 1 us to 1 h");
  EXPECT_TRUE(line.Enter("d"));
  // Less room than there are in it: nobody is sent away, and nobody let in.
  EXPECT_EQ(line.queue.Configure({.max_waiting = 1, .max_wait = 10ms}), "");
  EXPECT_EQ(line.Waiting(), 3u);
  line.Enter("e");
  EXPECT_EQ(line.log.back(), "e:queue_full");
  line.End("a");
  line.End("b");
  line.End("c");
  line.Enter("f");
  EXPECT_EQ(line.queue.NextDeadline(), At(10ms));
}

// ---- Permits that come free by a refusal ----

// Calls `look` each time it is asked.
struct Onlooker {
  static constexpr std::string_view kName = "onlooker";
  std::function<bool()>* look = nullptr;
  Verdict Admit(const Request&, TimePoint) const noexcept {
    return (*look)() ? Verdict::Admit() : Verdict::Refuse(Reason::kDenied, {}, Scope::kCaller);
  }
};

// One policy admits a call, the next refuses it, and the first takes it back: who was refused for
// the permit meanwhile is asked for then, as at the end of a call.
TEST(AdmissionQueue, APermitTakenBackIsSeen) {
  ManualClock clock;
  std::function<bool()> look;
  BasicLimiter<ManualClock, StdSync, ConcurrencyLimiter, Onlooker> limiter(clock, kOne, {&look});
  AdmissionQueue queue(limiter, {.max_wait = 100ms});
  using Guard = decltype(queue)::Guard;
  std::vector<std::string> log;
  const auto note = [&log](const char* name) {
    return
        [&log, name](Guard guard) { log.push_back(name + std::string(guard ? "" : " refused")); };
  };
  bool first = true;
  look = [&] {
    if (!std::exchange(first, false)) return true;
    queue.Enter({}, note("other"));  // Finds the permit taken, and waits.
    EXPECT_TRUE(log.empty());
    return false;
  };
  queue.Enter({}, note("blocked"));
  EXPECT_THAT(log, ::testing::UnorderedElementsAre("blocked refused", "other"));
}

// A callback that polls does not go deeper into the stack.
TEST(AdmissionQueue, CallbacksThatPollNeedNoDeepStack) {
  ManualClock clock;
  BasicLimiter<ManualClock, StdSync, ConcurrencyLimiter> limiter(clock, kOne);
  AdmissionQueue queue(limiter,
                       {.max_waiting = 20'000, .max_wait = 1s, .target = 1s, .interval = 1h});
  const auto held = limiter.TryAdmit();
  std::size_t depth = 0, deepest = 0, calls = 0;
  for (int i = 0; i < 20'000; ++i) {
    queue.Enter({}, [&](auto) {
      deepest = std::max(deepest, ++depth);
      ++calls;
      queue.Poll();
      --depth;
    });
  }
  clock.Advance(2s);
  queue.Poll();
  EXPECT_EQ(calls, 20'000u);
  EXPECT_EQ(deepest, 1u);
}

}  // namespace
}  // namespace shed
