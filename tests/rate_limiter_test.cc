#include "shed/rate_limiter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "shed/solo.h"
#include "shed/sync.h"

namespace shed {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin64 = std::numeric_limits<std::int64_t>::min();
constexpr std::uint64_t kMaxCost = std::numeric_limits<std::uint64_t>::max();
constexpr Duration kYears100 = 24h * 36525;
constexpr Duration kDay = 24h;

constexpr TimePoint At(Duration since_zero) { return TimePoint(since_zero); }

// One answer, with the ticket that came with it.
template <class Limiter>
Verdict Ask(Limiter& limiter, Duration now, std::uint64_t cost = 1, Duration max_wait = 0ns) {
  typename Limiter::Ticket ticket;
  return limiter.Admit({.cost = cost, .max_wait = max_wait}, At(now), ticket);
}

template <class Limiter>
bool Take(Limiter& limiter, Duration now, std::uint64_t cost = 1) {
  return Ask(limiter, now, cost).admitted();
}

// ---- The rule, as the compiler sees it -----------------------------------------------------

using Rule = RateLimiter;
// A full bucket of 10 ticks gives 10 at once, and the eleventh after one tick.
static_assert(Rule::Decide(10, 0, 0, 10).due == 0);
static_assert(Rule::Decide(10, 0, 0, 10).full_at == 10);
static_assert(Rule::Decide(10, 10, 0, 1).due == 1);
static_assert(Rule::Decide(10, 10, 1, 1).due == 1);
// Idle time gives no more than the burst: what counts is max(full_at, now).
static_assert(Rule::Decide(10, 10, 1000, 10).due == 1000);
static_assert(Rule::Decide(10, 10, 1000, 11).due == 1001);
// An older now gives no credit, and moves nothing back.
static_assert(Rule::Decide(10, 100, 90, 1).due == 91);
static_assert(Rule::Decide(10, 100, 90, 1).full_at == 101);
// Before the anchor of an epoch.
static_assert(Rule::Decide(10, 0, -5, 5).due == -5);

// ---- Public cases ---------------------------------------------------------------------------

// P04, bucket4j#51: tokens times idle time overflows, and everything is refused from then on.
TEST(RateLimiterTest, LongIdleTimeDoesNotOverflow) {
  for (const Duration idle : {Duration(12h), kYears100}) {
    Solo<RateLimiter> limiter({.rate = 1'000'000, .burst = 1'000'000});
    EXPECT_TRUE(Take(limiter, 0s, 1'000'000));
    EXPECT_EQ(limiter.Read(At(0s)).available, 0);
    EXPECT_EQ(limiter.Read(At(idle)).available, 1'000'000);
    EXPECT_TRUE(Take(limiter, idle, 1'000'000));
    EXPECT_FALSE(Take(limiter, idle));
  }
}

// P05, golang/go#71360: an older time that comes late moves the bucket back, and the same interval
// is credited again and again.
TEST(RateLimiterTest, OlderTimeGivesNoCredit) {
  Solo<RateLimiter> limiter({.rate = 10, .burst = 1});
  EXPECT_TRUE(Take(limiter, 1000ms));
  for (int i = 0; i < 5000; ++i) {
    ASSERT_FALSE(Take(limiter, i % 2 == 0 ? 900ms : 1000ms)) << i;
  }
  EXPECT_EQ(Ask(limiter, 900ms).retry_after(), Duration(200ms));
  EXPECT_FALSE(Take(limiter, 1099ms));
  EXPECT_TRUE(Take(limiter, 1100ms));
}

// P06, Sentinel#1615: intervals in whole milliseconds turn 1500/s into 1000/s and lift the limit
// above 2000/s.
TEST(RateLimiterTest, RateIsNotRoundedToMilliseconds) {
  for (const std::int64_t rate : {1500, 3000}) {
    Solo<RateLimiter> limiter({.rate = rate, .burst = 10});
    ASSERT_TRUE(Take(limiter, 0s, 10));
    std::int64_t admitted = 0;
    for (Duration now = 100us; now <= 1s; now += 100us) admitted += Take(limiter, now) ? 1 : 0;
    EXPECT_EQ(admitted, rate);
  }
}

// P07, golang/go#46579: at one per hour a floating-point bucket holds 0.999.. when the call is due.
TEST(RateLimiterTest, OnePerHourIsExactAndPollingLosesNothing) {
  Solo<RateLimiter> limiter({.rate = 1, .per = 1h, .burst = 1});
  EXPECT_TRUE(Take(limiter, 0s));
  for (Duration now = 1s; now < 1h; now += 1s) ASSERT_FALSE(Take(limiter, now));
  EXPECT_EQ(Ask(limiter, 1800s).retry_after(), Duration(1800s));
  EXPECT_FALSE(Take(limiter, 3'599'999ms));
  EXPECT_FALSE(Take(limiter, 1h - 1ns));
  EXPECT_TRUE(Take(limiter, 1h));
}

// P08, tower-governor#65: a wait below a second is cut down to 0, and all clients come at once.
TEST(RateLimiterTest, SubSecondWaitIsNotZero) {
  Solo<RateLimiter> limiter({.rate = 5, .burst = 1});
  EXPECT_TRUE(Take(limiter, 0s));
  const Verdict refused = Ask(limiter, 0s);
  EXPECT_EQ(refused.reason(), Reason::kRate);
  EXPECT_EQ(refused.scope(), Scope::kService);
  EXPECT_EQ(refused.retry_after(), Duration(200ms));
  EXPECT_EQ(std::chrono::ceil<std::chrono::seconds>(*refused.retry_after()), 1s);
  EXPECT_EQ(Ask(limiter, 199ms).retry_after(), Duration(1ms));
  EXPECT_TRUE(Take(limiter, 200ms));
}

// The hint is rounded up: at 3 per second a unit comes every 333'333'333.3 ns, and a hint rounded
// down is refused once more.
TEST(RateLimiterTest, HintIsRoundedUpToWholeNanoseconds) {
  Solo<RateLimiter> limiter({.rate = 3, .burst = 2});
  EXPECT_TRUE(Take(limiter, 0s, 2));
  EXPECT_EQ(Ask(limiter, 0s).retry_after(), Duration(333'333'334));
  EXPECT_FALSE(Take(limiter, 333'333'333ns));
  EXPECT_TRUE(Take(limiter, 333'333'334ns));
  // The fraction is not lost: three units take a second, however they were waited for.
  EXPECT_FALSE(Take(limiter, 666'666'666ns));
  EXPECT_TRUE(Take(limiter, 666'666'667ns));
  EXPECT_FALSE(Take(limiter, 1s - 1ns));
  EXPECT_TRUE(Take(limiter, 1s));
}

// Faster than the clock's tick: 2 units per nanosecond.
TEST(RateLimiterTest, ManyUnitsPerNanosecond) {
  Solo<RateLimiter> limiter({.rate = 2'000'000'000, .burst = 1});
  EXPECT_TRUE(Take(limiter, 0s));
  EXPECT_EQ(Ask(limiter, 0s).retry_after(), Duration(1ns));
  EXPECT_TRUE(Take(limiter, 1ns));
  EXPECT_FALSE(Take(limiter, 1ns));
}

// ---- Cost -----------------------------------------------------------------------------------

TEST(RateLimiterTest, CostZeroCountsAsOne) {
  Solo<RateLimiter> limiter({.rate = 1, .burst = 3});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Take(limiter, 0s, 0));
  EXPECT_FALSE(Take(limiter, 0s, 0));
}

// Checklist 17, Envoy#46702: a cost above the burst waits for ever for what never comes.
TEST(RateLimiterTest, CostAboveTheBurstIsNeverAdmittedAndSaysSo) {
  Solo<RateLimiter> limiter({.rate = 1000, .burst = 100});
  for (const std::uint64_t cost :
       {std::uint64_t{101}, std::uint64_t{1} << 32, std::uint64_t{1} << 63,
        (std::uint64_t{1} << 63) + 1, kMaxCost}) {
    const Verdict verdict = Ask(limiter, 0s, cost, Duration::max());
    EXPECT_EQ(verdict.reason(), Reason::kCostTooLarge) << cost;
    EXPECT_EQ(verdict.scope(), Scope::kCaller);
    EXPECT_EQ(verdict.retry_after(), std::nullopt);
  }
  EXPECT_EQ(limiter.Read(At(0s)).available, 100);
  EXPECT_TRUE(Take(limiter, 0s, 100));
}

// The largest bucket there is, at both ends of what a unit may weigh.
TEST(RateLimiterTest, LargestBurstHolds) {
  const std::int64_t light = std::int64_t{1} << 58;
  const RateLimiterOptions cases[] = {
      {.rate = 1, .per = 1ns, .burst = light},
      {.rate = 2'000'000'000, .per = 1ns, .burst = light},
      {.rate = 1, .per = 24h * 366, .burst = 9},
      {.rate = 1, .per = kDay, .burst = 3335},
      {.rate = 1'999'999'993, .burst = 288'230'376},
  };
  for (const RateLimiterOptions& options : cases) {
    ASSERT_EQ(options.Problem(), "");
    Solo<RateLimiter> limiter(options);
    EXPECT_TRUE(Take(limiter, 5s, static_cast<std::uint64_t>(options.burst)));
    EXPECT_EQ(limiter.Read(At(5s)).available, 0);
    const std::optional<Duration> hint =
        Ask(limiter, 5s, static_cast<std::uint64_t>(options.burst)).retry_after();
    ASSERT_TRUE(hint.has_value());
    EXPECT_EQ(limiter.Read(At(5s)).full_in, *hint);
    EXPECT_FALSE(Take(limiter, 5s + *hint - 1ns, static_cast<std::uint64_t>(options.burst)));
    EXPECT_TRUE(Take(limiter, 5s + *hint, static_cast<std::uint64_t>(options.burst)));
  }
}

// ---- Reservations ---------------------------------------------------------------------------

TEST(RateLimiterTest, MaxWaitReservesInOrder) {
  Solo<RateLimiter> limiter({.rate = 1, .burst = 1});
  for (int i = 0; i <= 5; ++i) {
    const Verdict verdict = Ask(limiter, 0s, 1, 5s);
    ASSERT_TRUE(verdict.admitted()) << i;
    EXPECT_EQ(verdict.wait(), std::chrono::seconds(i));
  }
  const Verdict refused = Ask(limiter, 0s, 1, 5s);
  EXPECT_FALSE(refused.admitted());
  EXPECT_EQ(refused.retry_after(), Duration(6s));
  // The refused one did not push later ones back.
  EXPECT_EQ(Ask(limiter, 1s, 1, 5s).wait(), Duration(5s));
  EXPECT_FALSE(Ask(limiter, 1s, 1, 6s - 1ns).admitted());
}

TEST(RateLimiterTest, NegativeMaxWaitIsNone) {
  Solo<RateLimiter> limiter({.rate = 1, .burst = 1});
  EXPECT_TRUE(Ask(limiter, 0s, 1, -1ns).admitted());
  EXPECT_FALSE(Ask(limiter, 0s, 1, Duration::min()).admitted());
}

// Whoever accepts any wait cannot overflow the state: reservations end 2^59 ticks ahead.
TEST(RateLimiterTest, EndlessReservationsEndInARefusal) {
  for (const RateLimiterOptions& options :
       {RateLimiterOptions{.rate = 1, .per = 24h * 366, .burst = 9},
        RateLimiterOptions{.rate = 1'999'999'993, .burst = 288'230'376}}) {
    Solo<RateLimiter> limiter(options);
    const auto cost = static_cast<std::uint64_t>(options.burst / 9);
    int admitted = 0;
    Duration longest = 0ns;
    for (int i = 0; i < 40; ++i) {
      const Verdict verdict = Ask(limiter, 0s, cost, Duration::max());
      if (!verdict.admitted()) {
        EXPECT_GT(*verdict.retry_after(), longest);
        continue;
      }
      ++admitted;
      EXPECT_GE(verdict.wait(), longest);
      longest = verdict.wait();
    }
    // From two to three bursts of 2^58 ticks, and the first at once.
    EXPECT_GE(admitted, 18);
    EXPECT_LE(admitted, 28);
    EXPECT_FALSE(Take(limiter, longest - 1ns));
  }
}

// ---- Cancel and Charge ----------------------------------------------------------------------

TEST(RateLimiterTest, CancelGivesBackExactlyOnce) {
  Solo<RateLimiter> limiter({.rate = 1, .per = kDay, .burst = 10});
  RateLimiter::Ticket ticket;
  ASSERT_TRUE(limiter.Admit({.cost = 7}, At(0s), ticket).admitted());
  EXPECT_EQ(limiter.Read(At(0s)).available, 3);
  limiter.Cancel(ticket, Verdict::Refuse(Reason::kConcurrency), At(0s));
  EXPECT_EQ(limiter.Read(At(0s)).available, 10);
  EXPECT_EQ(limiter.Read(At(0s)).full_in, 0ns);
  limiter.Cancel(ticket, Verdict::Refuse(Reason::kConcurrency), At(0s));
  EXPECT_TRUE(Take(limiter, 0s, 10));
  EXPECT_FALSE(Take(limiter, 0s));
}

// A refund into a bucket that has filled up meanwhile is no credit for later.
TEST(RateLimiterTest, CancelNeverExceedsTheBurst) {
  Solo<RateLimiter> limiter({.rate = 10, .burst = 10});
  RateLimiter::Ticket ticket;
  ASSERT_TRUE(limiter.Admit({.cost = 10}, At(0s), ticket).admitted());
  limiter.Cancel(ticket, Verdict::Refuse(Reason::kConcurrency), At(1h));
  EXPECT_EQ(limiter.Read(At(1h)).available, 10);
  EXPECT_TRUE(Take(limiter, 1h, 10));
  EXPECT_FALSE(Take(limiter, 1h));
}

// Tickets of a bucket that has been full since the anchor of the epoch: a refund below it would
// wrap the word round.
TEST(RateLimiterTest, ManyRefundsAtOnceDoNotWrapTheWord) {
  Solo<RateLimiter> limiter({.rate = 1'999'999'993, .burst = 1'000'000});
  std::vector<RateLimiter::Ticket> tickets(1000);
  Duration now = -1h;
  for (RateLimiter::Ticket& ticket : tickets) {
    ASSERT_TRUE(limiter.Admit({.cost = 1'000'000}, At(now), ticket).admitted());
    now += 600us;
  }
  for (RateLimiter::Ticket& ticket : tickets) {
    limiter.Cancel(ticket, Verdict::Refuse(Reason::kConcurrency), At(now));
    ASSERT_LE(limiter.Read(At(now)).available, 1'000'000);
  }
  EXPECT_EQ(limiter.Read(At(now)).available, 1'000'000);
  EXPECT_TRUE(Take(limiter, now, 1'000'000));
  EXPECT_FALSE(Take(limiter, now, 1));
}

TEST(RateLimiterTest, RefusedTicketGivesNothingBack) {
  Solo<RateLimiter> limiter({.rate = 1, .per = kDay, .burst = 1});
  ASSERT_TRUE(Take(limiter, 0s));
  RateLimiter::Ticket ticket;
  ASSERT_FALSE(limiter.Admit({}, At(0s), ticket).admitted());
  limiter.Cancel(ticket, Verdict::Refuse(Reason::kRate), At(0s));
  EXPECT_EQ(limiter.Read(At(0s)).available, 0);
}

TEST(RateLimiterTest, CompletedTicketGivesNothingBack) {
  Solo<RateLimiter> limiter({.rate = 1, .per = kDay, .burst = 5});
  for (const Outcome outcome :
       {Outcome::kSuccess, Outcome::kFailure, Outcome::kOverload, Outcome::kIgnored}) {
    RateLimiter::Ticket ticket;
    ASSERT_TRUE(limiter.Admit({}, At(0s), ticket).admitted());
    limiter.Complete(ticket, outcome);
    limiter.Cancel(ticket, Verdict::Refuse(Reason::kRate), At(0s));
  }
  EXPECT_EQ(limiter.Read(At(0s)).available, 1);
}

TEST(RateLimiterTest, ChargeSettlesUpAndDown) {
  Solo<RateLimiter> limiter({.rate = 1, .per = kDay, .burst = 100});
  RateLimiter::Ticket ticket;
  ASSERT_TRUE(limiter.Admit({.cost = 10}, At(0s), ticket).admitted());
  limiter.Charge(ticket, 25, At(0s));
  EXPECT_EQ(limiter.Read(At(0s)).available, 75);
  // Twice is a settlement at the new figure, not a second charge.
  limiter.Charge(ticket, 25, At(0s));
  EXPECT_EQ(limiter.Read(At(0s)).available, 75);
  limiter.Charge(ticket, 5, At(0s));
  EXPECT_EQ(limiter.Read(At(0s)).available, 95);
  limiter.Charge(ticket, 0, At(0s));
  EXPECT_EQ(limiter.Read(At(0s)).available, 100);
  limiter.Charge(ticket, 0, At(0s));
  EXPECT_EQ(limiter.Read(At(0s)).available, 100);
  limiter.Charge(ticket, 30, At(0s));
  EXPECT_EQ(limiter.Read(At(0s)).available, 70);
  // What is given back later is what was settled.
  limiter.Cancel(ticket, Verdict::Refuse(Reason::kDenied), At(0s));
  EXPECT_EQ(limiter.Read(At(0s)).available, 100);
}

TEST(RateLimiterTest, ChargeGoesBelowZeroAndIsPaidOff) {
  Solo<RateLimiter> limiter({.rate = 10, .burst = 10});
  RateLimiter::Ticket ticket;
  ASSERT_TRUE(limiter.Admit({.cost = 1}, At(0s), ticket).admitted());
  limiter.Charge(ticket, 30, At(0s));  // 20 units in debt.
  EXPECT_EQ(limiter.Read(At(0s)).available, 0);
  EXPECT_EQ(limiter.Read(At(0s)).full_in, Duration(3s));
  EXPECT_EQ(Ask(limiter, 0s).retry_after(), Duration(2100ms));
  EXPECT_FALSE(Take(limiter, 2100ms - 1ns));
  EXPECT_TRUE(Take(limiter, 2100ms));
}

TEST(RateLimiterTest, ChargeOfTheMaximumIsHeldAndCanBeGivenBack) {
  Solo<RateLimiter> limiter({.rate = 1000, .burst = 100});
  RateLimiter::Ticket ticket;
  ASSERT_TRUE(limiter.Admit({}, At(0s), ticket).admitted());
  for (int i = 0; i < 3; ++i) limiter.Charge(ticket, kMaxCost, At(0s));
  EXPECT_EQ(limiter.Read(At(0s)).available, 0);
  // 2^59 ns and more: years of debt.
  EXPECT_GT(*Ask(limiter, 0s).retry_after(), Duration(std::int64_t{1} << 58));
  EXPECT_GT(ticket.units, 0);
  limiter.Charge(ticket, 1, At(0s));
  EXPECT_EQ(limiter.Read(At(0s)).available, 99);
}

// A long stream that is charged as it goes pays more in its life than the word can hold at once:
// units times ticks then overflows where it is given back.
TEST(RateLimiterTest, ChargesOfALongStreamCanBeGivenBack) {
  for (int charges = 16; charges < 48; ++charges) {
    Solo<RateLimiter> limiter({.rate = 1'999'999'993, .burst = 1000});
    RateLimiter::Ticket ticket;
    ASSERT_TRUE(limiter.Admit({}, At(0s), ticket).admitted());
    Duration now = 0s;
    for (int i = 0; i < charges; ++i) limiter.Charge(ticket, kMaxCost, At(now += 500ms));
    ASSERT_GT(ticket.units, kMax64 / 1'000'000'000);
    ASSERT_EQ(limiter.Read(At(now)).available, 0);
    limiter.Charge(ticket, 0, At(now));
    ASSERT_EQ(limiter.Read(At(now)).available, 1000) << charges;
    ASSERT_TRUE(Take(limiter, now, 1000)) << charges;
    ASSERT_FALSE(Take(limiter, now)) << charges;
  }
}

// A charge that comes first in a new epoch: the debt counts from the new anchor, not from the old.
TEST(RateLimiterTest, ChargeAcrossEpochs) {
  for (const Duration later : {Duration(24h * 3650), kYears100}) {
    Solo<RateLimiter> limiter({.rate = 1000, .burst = 100});
    RateLimiter::Ticket ticket;
    ASSERT_TRUE(limiter.Admit({.cost = 100}, At(0s), ticket).admitted());
    limiter.Charge(ticket, 150, At(later));  // The bucket was full again: 50 are left.
    EXPECT_EQ(limiter.Read(At(later)).available, 50);
    EXPECT_EQ(limiter.Read(At(later)).full_in, Duration(50ms));
    EXPECT_TRUE(Take(limiter, later, 50));
    EXPECT_FALSE(Take(limiter, later));
  }
  // Debt is carried over: epochs of 0.14 s, a debt of 0.25 s, a charge of nothing much.
  Solo<RateLimiter> limiter({.rate = 1'999'999'993, .burst = 1});
  RateLimiter::Ticket ticket;
  ASSERT_TRUE(limiter.Admit({}, At(0s), ticket).admitted());
  limiter.Charge(ticket, 500'000'000, At(0s));
  limiter.Charge(ticket, 500'000'001, At(200ms));
  EXPECT_EQ(*Ask(limiter, 200ms).retry_after(), Duration(50'000'002));
}

// ---- Clocks ---------------------------------------------------------------------------------

TEST(RateLimiterTest, StandingClockGivesTheBurstAndNoMore) {
  Solo<RateLimiter> limiter({.rate = 2'000'000'000, .burst = 50});
  int admitted = 0;
  for (int i = 0; i < 1000; ++i) admitted += Take(limiter, 7s) ? 1 : 0;
  EXPECT_EQ(admitted, 50);
}

// Checklist 18: "empty" or "full" must not hang on where the clock has its zero.
TEST(RateLimiterTest, StartsFullWhateverTheZeroOfTheClock) {
  for (const Duration start :
       {Duration(0), Duration(1), Duration(-1), Duration(1h), Duration(-1h), kYears100, -kYears100,
        Duration(kMin64), Duration(kMin64 + 1), Duration(kMax64), Duration(kMax64 - 1)}) {
    for (const std::int64_t rate : {std::int64_t{1}, std::int64_t{1'999'999'993}}) {
      Solo<RateLimiter> limiter({.rate = rate, .burst = 20});
      EXPECT_EQ(limiter.Read(At(start)).available, 20) << start.count();
      EXPECT_EQ(limiter.Read(At(start)).full_in, 0ns) << start.count();
      for (int i = 0; i < 20; ++i) ASSERT_TRUE(Take(limiter, start)) << start.count();
      EXPECT_FALSE(Take(limiter, start)) << start.count();
      EXPECT_EQ(limiter.Read(At(start)).available, 0) << start.count();
    }
  }
}

TEST(RateLimiterTest, JumpsOf100YearsGiveOneBurstEach) {
  Solo<RateLimiter> limiter({.rate = 1000, .burst = 100});
  for (const Duration now : {-2 * kYears100, -kYears100, Duration(0), kYears100, 2 * kYears100}) {
    ASSERT_TRUE(Take(limiter, now, 100)) << now.count();
    ASSERT_FALSE(Take(limiter, now)) << now.count();
    ASSERT_EQ(Ask(limiter, now, 100).retry_after(), Duration(100ms)) << now.count();
  }
}

// From one end of the timeline to the other, 584 years: the difference does not fit an int64.
TEST(RateLimiterTest, WholeTimelineAndBack) {
  for (const std::int64_t rate : {std::int64_t{1}, std::int64_t{1'999'999'993}}) {
    Solo<RateLimiter> limiter({.rate = rate, .burst = 100});
    EXPECT_TRUE(Take(limiter, Duration(kMin64), 100));
    EXPECT_FALSE(Take(limiter, Duration(kMin64)));
    EXPECT_TRUE(Take(limiter, Duration(kMax64), 100));
    EXPECT_FALSE(Take(limiter, Duration(kMax64)));
    const Verdict back = Ask(limiter, Duration(kMin64));
    EXPECT_FALSE(back.admitted());
    EXPECT_GT(*back.retry_after(), kYears100);
    EXPECT_EQ(limiter.Read(At(Duration(kMin64))).available, 0);
    EXPECT_GT(limiter.Read(At(Duration(kMin64))).full_in, kYears100);
    EXPECT_FALSE(Take(limiter, Duration(kMax64)));
  }
}

// A clock that goes back refuses what it would give twice, and is right again once it has caught
// up.
TEST(RateLimiterTest, ClockThatGoesBackGivesNothingTwice) {
  Solo<RateLimiter> limiter({.rate = 1000, .burst = 100});
  ASSERT_TRUE(Take(limiter, 1h, 100));
  for (const Duration back : {Duration(1h - 1ns), Duration(1s), Duration(0s), Duration(-1h)}) {
    const Verdict verdict = Ask(limiter, back);
    EXPECT_FALSE(verdict.admitted());
    EXPECT_EQ(*verdict.retry_after(), Duration(1h) - back + 1ms);
  }
  EXPECT_FALSE(Take(limiter, 1h + 1ms - 1ns));
  EXPECT_TRUE(Take(limiter, 1h + 1ms));
}

// A thread that lags, in a bucket that is full: its own time decides, as if it had come in order.
TEST(RateLimiterTest, LaggingThreadFindsWhatItsTimeAllows) {
  Solo<RateLimiter> limiter({.rate = 1000, .burst = 100});
  ASSERT_TRUE(Take(limiter, 1h, 50));         // Full again at 1 h + 50 ms.
  EXPECT_TRUE(Take(limiter, 1h - 20ms, 30));  // Then 70 ms are missing: 30 of 100 are there.
  EXPECT_FALSE(Take(limiter, 1h - 20ms, 1));
  EXPECT_TRUE(Take(limiter, 1h, 20));
  EXPECT_FALSE(Take(limiter, 1h, 1));
}

// A wait is exact to the nanosecond for a caller whose time lies before the epoch, too.
TEST(RateLimiterTest, HintBeforeTheEpochIsExact) {
  Solo<RateLimiter> limiter({.rate = 1000, .burst = 100});
  ASSERT_TRUE(Take(limiter, kYears100, 100));
  for (const Duration lag : {Duration(std::int64_t{1} << 56), Duration(std::int64_t{1} << 57),
                             kYears100, 2 * kYears100}) {
    EXPECT_EQ(*Ask(limiter, kYears100 - lag).retry_after(), lag + 1ms) << lag.count();
  }
}

// ---- Snapshot -------------------------------------------------------------------------------

TEST(RateLimiterTest, SnapshotSaysWhatWouldBeAdmitted) {
  Solo<RateLimiter> limiter({.rate = 3, .burst = 5});
  ASSERT_TRUE(Take(limiter, 0s, 4));
  RateLimiter::Snapshot snapshot = limiter.Read(At(0s));
  EXPECT_EQ(snapshot.available, 1);
  EXPECT_EQ(snapshot.burst, 5);
  EXPECT_EQ(snapshot.full_in, Duration(1'333'333'334));
  // Whole units: 1.99 are 1.
  EXPECT_EQ(limiter.Read(At(333'333'333ns)).available, 1);
  EXPECT_EQ(limiter.Read(At(333'333'334ns)).available, 2);
  EXPECT_EQ(limiter.Read(At(1'333'333'334ns)).full_in, 0ns);
  EXPECT_EQ(limiter.Read(At(1h)).available, 5);
  // Reading changes nothing.
  EXPECT_EQ(limiter.Read(At(0s)).available, 1);
}

// ---- Configure ------------------------------------------------------------------------------

// What is there stays, up to the new burst: nobody gains by a change to and fro.
TEST(RateLimiterTest, ConfigureKeepsWhatIsThere) {
  Solo<RateLimiter> limiter({.rate = 10, .burst = 10});
  ASSERT_TRUE(Take(limiter, 0s, 4));
  EXPECT_EQ(limiter.Configure({.rate = 1000, .burst = 100}, At(0s)), "");
  EXPECT_EQ(limiter.Read(At(0s)).available, 6);
  EXPECT_EQ(limiter.Read(At(0s)).burst, 100);
  EXPECT_EQ(limiter.Read(At(0s)).full_in, 94ms);
  EXPECT_EQ(limiter.Configure({.rate = 1, .per = 1h, .burst = 3}, At(0s)), "");
  EXPECT_EQ(limiter.Read(At(0s)).available, 3);
  EXPECT_TRUE(limiter.AsNew(At(0s)));
  EXPECT_EQ(limiter.Configure({.rate = 10, .burst = 10}, At(0s)), "");
  EXPECT_EQ(limiter.Read(At(0s)).available, 3);
  // What is owed stays owed.
  RateLimiter::Ticket ticket;
  ASSERT_TRUE(limiter.Admit({}, At(0s), ticket).admitted());
  limiter.Charge(ticket, 23, At(0s));
  EXPECT_EQ(limiter.Configure({.rate = 2, .burst = 1}, At(0s)), "");
  EXPECT_EQ(*Ask(limiter, 0s).retry_after(), 10500ms);
  // And a call of before gives back what it paid, up to the burst.
  limiter.Cancel(ticket, Verdict::Refuse(Reason::kRate), At(0s));
  EXPECT_EQ(limiter.Read(At(0s)).available, 1);
}

// A bucket that was full is full for a clock reading a little older, as it is without a change; one
// that was not is not.
TEST(RateLimiterTest, ConfigureGivesAnOlderNowNothing) {
  Solo<RateLimiter> limiter({.rate = 1000, .burst = 10});
  ASSERT_TRUE(Take(limiter, 1s, 10));
  EXPECT_EQ(limiter.Configure({.rate = 1000, .burst = 10}, At(1s + 10ms)), "");
  EXPECT_EQ(limiter.Read(At(1s + 10ms)).available, 10);
  EXPECT_EQ(limiter.Read(At(1s + 3ms)).available, 3);
  EXPECT_EQ(limiter.Read(At(999ms)).available, 0);
  EXPECT_EQ(limiter.Configure({.rate = 1000, .burst = 10}, At(5s)), "");
  EXPECT_EQ(limiter.Read(At(2s)).available, 10);
}

TEST(RateLimiterTest, BadConfigureChangesNothing) {
  Solo<RateLimiter> limiter({.rate = 10, .burst = 10});
  EXPECT_EQ(limiter.Configure({.rate = 0}, At(0s)), "rate: want 1 to 2000000000 units");
  EXPECT_EQ(limiter.Configure({.rate = 99, .burst = -1}, At(0s)), "burst: want at least 1 unit");
  EXPECT_EQ(limiter.Read(At(0s)).burst, 10);
  EXPECT_TRUE(Take(limiter, 0s, 10));
  EXPECT_EQ(*Ask(limiter, 0s).retry_after(), 100ms);
}

// A cost is too large, or not, by the burst in force.
TEST(RateLimiterTest, ConfigureDecidesWhatIsTooLarge) {
  Solo<RateLimiter> limiter({.rate = 10, .burst = 10});
  EXPECT_EQ(Ask(limiter, 0s, 11).reason(), Reason::kCostTooLarge);
  EXPECT_EQ(limiter.Configure({.rate = 10, .burst = 11}, At(0s)), "");
  EXPECT_EQ(*Ask(limiter, 0s, 11).retry_after(), 100ms);
  EXPECT_EQ(limiter.Configure({.rate = 10, .burst = 5}, At(0s)), "");
  EXPECT_EQ(Ask(limiter, 0s, 6).reason(), Reason::kCostTooLarge);
  // More epochs than the word has names for.
  for (int i = 0; i < 100; ++i) EXPECT_EQ(limiter.Configure({.rate = 7, .burst = 3}, At(1s)), "");
  EXPECT_TRUE(Take(limiter, 1s, 3));
  EXPECT_FALSE(Take(limiter, 1s, 1));
}

// ---- Threads --------------------------------------------------------------------------------

// Runs `during` where a thread is about to take the mutex: what others do while it stands still.
struct HookSync {
  template <class T>
  using Atomic = std::atomic<T>;
  struct Mutex {
    inline static std::function<void()> during;
    void lock() {
      if (auto hook = std::exchange(during, nullptr)) hook();
    }
    void unlock() {}
    bool try_lock() { return true; }
  };
  static unsigned Stripe() noexcept { return 0; }
  static std::uintptr_t Thread() noexcept { return 1; }
};

// A thread that wants to open an epoch, and stands still while others open sixteen: the number of
// the epoch is the same again. An epoch anchored by its old time would overflow the word.
TEST(RateLimiterTest, ThreadThatSleepsForSixteenEpochs) {
  using Hooked = BasicRateLimiter<HookSync>;
  for (const int epochs : {15, 16, 17, 32}) {
    Solo<Hooked> limiter({.rate = 1'999'999'993, .burst = 1'000'000});
    ASSERT_TRUE(Take(limiter, 0s, 1'000'000));
    Duration now = 200ms;
    HookSync::Mutex::during = [&] {
      for (int i = 0; i < epochs; ++i) ASSERT_TRUE(Take(limiter, now += 150ms, 1'000'000));
    };
    EXPECT_FALSE(Take(limiter, 200ms)) << epochs;
    EXPECT_EQ(limiter.Read(At(now)).available, 0) << epochs;
    EXPECT_FALSE(Take(limiter, now)) << epochs;
    // One unit takes 0.5000000018 ns.
    EXPECT_EQ(*Ask(limiter, now).retry_after(), Duration(1ns)) << epochs;
    EXPECT_EQ(*Ask(limiter, now, 1'000'000).retry_after(), Duration(500'001ns)) << epochs;
    EXPECT_TRUE(Take(limiter, now + 500'001ns, 1'000'000)) << epochs;
  }
}

// A standing clock and one burst: exactly it is admitted, whoever asks.
TEST(RateLimiterTest, ThreadsShareOneBurst) {
  Solo<RateLimiter> limiter({.rate = 1, .burst = 10'000});
  std::atomic<int> admitted{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        if (Take(limiter, 0s)) admitted.fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(admitted.load(), 10'000);
}

}  // namespace
}  // namespace shed
