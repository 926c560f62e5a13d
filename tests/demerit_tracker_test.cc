#include "shed/demerit_tracker.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "shed/clock.h"
#include "shed/concurrency_limiter.h"
#include "shed/limiter.h"

namespace {
std::atomic<std::uint64_t> g_allocations{0};
}  // namespace

// Not inline: GCC would take free() for a mismatch with the new that it sees elsewhere.
[[gnu::noinline]] void* operator new(std::size_t size) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace shed {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Ticket = DemeritTracker::Ticket;
using Rule = DemeritRule;

constexpr TimePoint At(Duration d) { return TimePoint(d); }
constexpr Verdict kFull = Verdict::Refuse(Reason::kConcurrency);

// A tracker, and the tickets of every caller.
class Bench {
 public:
  explicit Bench(const DemeritTrackerOptions& options) : tracker(options) {}

  Verdict Ask(std::string_view caller, Duration now, std::uint64_t cost = 1) {
    Ticket ticket;
    Events events;
    const Verdict verdict =
        tracker.Admit({.caller = caller, .cost = cost}, At(now), ticket, events);
    EXPECT_EQ(verdict.admitted(), ticket.units > 0);
    if (verdict.admitted()) tickets.emplace_back(caller, ticket);
    hog_events += events.size();
    return verdict;
  }
  // Makes another caller active for a window, so that the one under test is not alone.
  void Visit(Duration now) {
    Ask("visitor", now);
    End("visitor");
  }
  // How many of `times` calls are admitted.
  int Take(std::string_view caller, Duration now, int times) {
    int admitted = 0;
    for (int i = 0; i < times; ++i) admitted += Ask(caller, now).admitted() ? 1 : 0;
    return admitted;
  }
  // The call is admitted here, and refused by a later policy for `cause`.
  void AskInVain(std::string_view caller, Duration now, const Verdict& cause = kFull) {
    ASSERT_TRUE(Ask(caller, now).admitted());
    Events events;
    tracker.Cancel(tickets.back().second, cause, At(now), events);
    tickets.pop_back();
    hog_events += events.size();
  }
  // Ends one call of the caller, the latest first; false if it has none.
  bool End(std::string_view caller) {
    for (auto it = tickets.rbegin(); it != tickets.rend(); ++it) {
      if (it->first != caller) continue;
      tracker.Complete(it->second, Outcome::kSuccess);
      tickets.erase(std::next(it).base());
      return true;
    }
    return false;
  }
  void EndAll(std::string_view caller) {
    while (End(caller)) {
    }
  }
  DemeritTracker::CallerState Caller(std::string_view caller, Duration now) const {
    return tracker.ReadCaller(caller, At(now));
  }
  DemeritTracker::Snapshot Read(Duration now) const { return tracker.Read(At(now)); }

  DemeritTracker tracker;
  std::vector<std::pair<std::string, Ticket>> tickets;
  std::size_t hog_events = 0;
};

// --- The rule --------------------------------------------------------------------------------

constexpr DemeritTrackerOptions kEight{.budget = 8};
constexpr DemeritTrackerOptions kSixteen{.budget = 16};

// The share is rounded up: with 3 active callers of a budget of 8 nobody is left with 2 of 2.67.
static_assert(Rule::Share(kEight, 0) == 8 && Rule::Share(kEight, 1) == 8);
static_assert(Rule::Share(kEight, 3) == 3 && Rule::Share(kEight, 8) == 1);
static_assert(Rule::Share(kEight, 1'000'000) == 1);
// Halves up; and not 1 for the greatest number below a half, which floor(d + 0.5) makes of it.
static_assert(Rule::Rounded(0.5) == 1 && Rule::Rounded(0.49999999999999994) == 0);
static_assert(Rule::Rounded(2.4) == 2 && Rule::Rounded(1e9 + 3) == 1'000'000'003);
// Borrowing, sharing, and a hog's cap, which no demerit takes below 1.
static_assert(Rule::Stand(kEight, 2, 2.9, false).cap == 8);
static_assert(Rule::Stand(kEight, 2, 2.9, true).cap == 4);
static_assert(Rule::Stand(kEight, 2, 3.0, false).cap == 1 && Rule::Stand(kEight, 2, 3.0, true).hog);
static_assert(Rule::Stand(kSixteen, 2, 3.4, false).cap == 5 &&
              Rule::Stand(kSixteen, 2, 3.5, false).cap == 4);
static_assert(Rule::Stand(kSixteen, 2, 7.0, false).cap == 1 &&
              Rule::Stand(kSixteen, 2, 8.0, false).cap == 1 &&
              Rule::Stand(kSixteen, 2, 11.0, false).cap == 1);
// Alone: nobody to be fair to, whatever came before; and no refusal can be above the part.
static_assert(Rule::Stand(kEight, 1, 11.0, true).cap == 8 &&
              Rule::Stand(kEight, 1, 11.0, true).hog);
static_assert(Rule::Within(Rule::Stand(kEight, 1, 11.0, false).part, 8, 8));
// Up to the limit, and a first call whatever it costs.
static_assert(Rule::Within(4, 3, 1) && !Rule::Within(4, 4, 1) && !Rule::Within(4, 1, 4));
static_assert(Rule::Within(4, 0, 6));
static_assert(!Rule::Within(1'000'000'000, 1'000'000'000, 1'000'000'000));
// Demerit stops at hog_threshold + budget, and a victim gets none.
static_assert(Rule::AfterRefusal(kEight, 10.5, true) == 11.0);
static_assert(Rule::AfterRefusal(kEight, 2.0, true) == 3.0);
static_assert(Rule::AfterRefusal(kEight, 2.0, false) == 2.0);
// The hint: down to the threshold (4 is 1 too many, 0.3 a second), at once below it, never longer
// than the penalty, and none for what is above the share.
static_assert(*Rule::UntilCapAllows(kEight, 3.3, 1, 1) >= seconds(1) &&
              *Rule::UntilCapAllows(kEight, 3.3, 1, 1) <= seconds(1) + Duration(2));
static_assert(*Rule::UntilCapAllows(kEight, 11, 8, 1) >= seconds(11) + milliseconds(666) &&
              *Rule::UntilCapAllows(kEight, 11, 8, 1) <= seconds(11) + milliseconds(667));
static_assert(*Rule::UntilCapAllows({.decay_per_second = 0.01}, 11, 8, 8) == seconds(60));
static_assert(!Rule::UntilCapAllows(kEight, 11, 4, 5));

// --- Shares and borrowing --------------------------------------------------------------------

TEST(DemeritTracker, LendsTheWholeBudgetWhileNobodyElseWaits) {
  Bench b({.budget = 8});
  EXPECT_TRUE(b.Ask("quiet", seconds(0)).admitted());
  EXPECT_EQ(b.Take("eager", seconds(0), 7), 7);  // Its share is 4.
  EXPECT_EQ(b.Read(seconds(0)).in_use, 8u);
  EXPECT_EQ(b.Read(seconds(0)).active, 2u);
  EXPECT_EQ(b.Read(seconds(0)).share, 4u);
  EXPECT_FALSE(b.Read(seconds(0)).contended);
}

TEST(DemeritTracker, HoldsEachToItsShareWhileAnotherWaits) {
  Bench b({.budget = 8});
  ASSERT_EQ(b.Take("a", seconds(0), 8), 8);
  // Full, and b holds nothing: the service's trouble, not b's. No demerit, but it waits.
  EXPECT_EQ(b.Ask("b", seconds(0)), Verdict::Refuse(Reason::kBudget));
  EXPECT_EQ(b.Caller("b", seconds(0)).demerit, 0.0);
  EXPECT_EQ(b.Caller("a", seconds(0)).cap, 4u);
  EXPECT_EQ(b.Caller("b", seconds(0)).cap, 8u);  // Nobody else than b waits.
  // a gives back 5 and asks again: only up to 4. What is above is its fault.
  for (int i = 0; i < 5; ++i) b.End("a");
  EXPECT_TRUE(b.Ask("a", seconds(1)).admitted());
  EXPECT_EQ(b.Ask("a", seconds(1)),
            Verdict::Refuse(Reason::kFairShare, std::nullopt, Scope::kCaller));
  EXPECT_EQ(b.Caller("a", seconds(1)).demerit, 1.0);
  // Now both wait for each other, and b too has no more than its share.
  EXPECT_EQ(b.Caller("b", seconds(1)).cap, 4u);
  EXPECT_EQ(b.Take("b", seconds(1), 5), 4);
}

// The window ends for the active and for the waiting alike, its last instant included.
TEST(DemeritTracker, ForgetsWhoWaitedAndWhoAskedAfterTheWindow) {
  Bench b({.budget = 8, .window = seconds(5)});
  ASSERT_EQ(b.Take("a", seconds(0), 8), 8);
  ASSERT_FALSE(b.Ask("b", seconds(0)).admitted());
  b.EndAll("a");
  EXPECT_EQ(b.Caller("a", seconds(5)).cap, 4u);
  EXPECT_EQ(b.Read(seconds(5)).active, 2u);
  EXPECT_EQ(b.Caller("a", seconds(5) + Duration(1)).cap, 8u);
  EXPECT_EQ(b.Read(seconds(5) + Duration(1)).active, 0u);
  EXPECT_EQ(b.Read(seconds(5) + Duration(1)).share, 8u);
  EXPECT_EQ(b.Take("a", seconds(5) + Duration(1), 9), 8);  // Written, too, not only read.
}

// Who holds units is active, however long ago it asked; and only once.
TEST(DemeritTracker, CountsHoldersAsActiveOnce) {
  Bench b({.budget = 8});
  ASSERT_TRUE(b.Ask("a", seconds(0)).admitted());
  ASSERT_TRUE(b.Ask("b", seconds(100)).admitted());
  EXPECT_EQ(b.Read(seconds(100)).active, 2u);
  ASSERT_TRUE(b.Ask("a", seconds(101)).admitted());
  EXPECT_EQ(b.Read(seconds(101)).active, 2u);
  EXPECT_EQ(b.Read(seconds(200)).active, 2u);
  ASSERT_TRUE(b.Ask("b", seconds(200)).admitted());
  b.EndAll("a");
  EXPECT_EQ(b.Read(seconds(200)).active, 1u);
  EXPECT_EQ(b.Read(seconds(200)).tracked, 1u);
  b.EndAll("b");
  EXPECT_EQ(b.Read(seconds(200)).active, 1u);  // It asked just now.
  EXPECT_EQ(b.Read(seconds(206)).active, 0u);
}

// The two latest refusals are of different callers: a caller refused twice does not push out the
// other that waits, and does not wait for itself.
TEST(DemeritTracker, KeepsTheLatestRefusalsOfDifferentCallers) {
  Bench b({.budget = 8, .demerit_per_denial = 0.1});
  ASSERT_EQ(b.Take("a", seconds(0), 8), 8);
  ASSERT_FALSE(b.Ask("b", seconds(0)).admitted());
  ASSERT_FALSE(b.Ask("c", seconds(1)).admitted());
  ASSERT_FALSE(b.Ask("c", seconds(1)).admitted());
  EXPECT_EQ(b.Caller("c", seconds(1)).cap, 3u);  // b waits.
  EXPECT_EQ(b.Caller("c", seconds(5)).cap, 3u);
  EXPECT_EQ(b.Caller("c", seconds(5) + Duration(1)).cap, 8u);  // Only c does.
  EXPECT_EQ(b.Caller("b", seconds(5) + Duration(1)).cap, 3u);
}

// --- Cost ------------------------------------------------------------------------------------

// A cost of 0 counts as 1, one above the budget as the budget (algorithms, fault 17).
TEST(DemeritTracker, ClampsTheCostToTheBudget) {
  Bench b({.budget = 8});
  ASSERT_TRUE(b.Ask("a", seconds(0), 0).admitted());
  EXPECT_EQ(b.Read(seconds(0)).in_use, 1u);
  EXPECT_FALSE(b.Ask("b", seconds(0), std::numeric_limits<std::uint64_t>::max()).admitted());
  b.EndAll("a");
  ASSERT_TRUE(b.Ask("b", seconds(0), std::numeric_limits<std::uint64_t>::max()).admitted());
  EXPECT_EQ(b.Read(seconds(0)).in_use, 8u);
  b.EndAll("b");
  ASSERT_TRUE(b.Ask("b", seconds(0), (std::uint64_t{1} << 32) + 1).admitted());  // Not 1.
  EXPECT_EQ(b.Read(seconds(0)).in_use, 8u);
}

TEST(DemeritTracker, TakesTheLargestBudgetWithoutOverflow) {
  Bench b({.budget = 1'000'000'000});
  ASSERT_TRUE(b.Ask("a", seconds(0), 1'000'000'000).admitted());
  EXPECT_EQ(b.Ask("b", seconds(0), 1'000'000'000).reason(), Reason::kBudget);
  EXPECT_EQ(b.Ask("a", seconds(0), 1'000'000'000).reason(), Reason::kFairShare);
  EXPECT_EQ(b.Read(seconds(0)).in_use, 1'000'000'000u);
}

// Atlas never admits a cost of 2 to a caller whose cap is 1.
TEST(DemeritTracker, AdmitsACallAboveTheCapToACallerThatHoldsNothing) {
  Bench b({.budget = 8});
  b.Visit(seconds(0));
  ASSERT_EQ(b.Take("hog", seconds(0), 20), 8);
  ASSERT_EQ(b.Caller("hog", seconds(0)).cap, 1u);
  b.EndAll("hog");
  ASSERT_TRUE(b.Ask("hog", seconds(0), 2).admitted());
  EXPECT_EQ(b.Ask("hog", seconds(0), 1).reason(), Reason::kFairShare);
  b.EndAll("hog");
  // But not beyond the budget; and then it is a victim, not at fault.
  ASSERT_EQ(b.Take("other", seconds(6), 7), 7);
  const double before = b.Caller("hog", seconds(6)).demerit;
  EXPECT_EQ(b.Ask("hog", seconds(6), 2), Verdict::Refuse(Reason::kBudget));
  EXPECT_EQ(b.Caller("hog", seconds(6)).demerit, before);
}

// --- Demerit and hogs ------------------------------------------------------------------------

TEST(DemeritTracker, HoldsAHogBelowItsShareAndLetsOthersBorrow) {
  Bench b({.budget = 16, .hog_threshold = 3});
  ASSERT_TRUE(b.Ask("calm", seconds(0)).admitted());
  ASSERT_EQ(b.Take("hog", seconds(0), 15), 15);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(b.Ask("hog", seconds(0)).scope(), Scope::kCaller);
  const DemeritTracker::CallerState hog = b.Caller("hog", seconds(0));
  EXPECT_TRUE(hog.hog);
  EXPECT_EQ(hog.demerit, 4.0);
  EXPECT_EQ(hog.share, 8u);
  EXPECT_EQ(hog.cap, 4u);
  EXPECT_EQ(b.Read(seconds(0)).hogs_total, 1u);
  // It keeps what it has; what it gives back it does not get again above its cap.
  for (int i = 0; i < 12; ++i) b.End("hog");
  EXPECT_TRUE(b.Ask("hog", seconds(0)).admitted());
  EXPECT_FALSE(b.Ask("hog", seconds(0)).admitted());
  // Its first two refusals were no hog's, and count for a window; the later ones do not.
  EXPECT_EQ(b.Caller("calm", seconds(5)).cap, 8u);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(b.Ask("hog", seconds(4)).admitted());
  EXPECT_FALSE(b.Read(seconds(6)).contended);
  EXPECT_EQ(b.Caller("calm", seconds(6)).cap, 16u);
  EXPECT_EQ(b.Take("calm", seconds(6), 11), 11);
}

// One big client and nobody else: above the budget it is refused, but never held down, or an
// overload would leave the service empty.
TEST(DemeritTracker, LeavesALoneCallerTheWholeBudget) {
  Bench b({.budget = 16});
  ASSERT_EQ(b.Take("gateway", seconds(0), 16), 16);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(b.Ask("gateway", milliseconds(i)), Verdict::Refuse(Reason::kBudget));
  }
  ASSERT_TRUE(b.End("gateway"));
  b.AskInVain("gateway", seconds(1));  // Nor for what a later policy refuses.
  EXPECT_EQ(b.Caller("gateway", seconds(1)).demerit, 0.0);
  EXPECT_EQ(b.Read(seconds(1)).hogs_total, 0u);
  b.EndAll("gateway");
  EXPECT_EQ(b.Take("gateway", seconds(1), 20), 16);
}

// What a hog did counts while somebody else is there to suffer from it, and again when they return.
TEST(DemeritTracker, LetsAHogThatIsAloneUseTheWholeBudget) {
  Bench b({.budget = 16, .decay_per_second = 0.1});
  b.Visit(seconds(0));
  ASSERT_EQ(b.Take("hog", seconds(0), 40), 16);
  ASSERT_EQ(b.Caller("hog", seconds(0)).cap, 1u);
  b.EndAll("hog");
  EXPECT_EQ(b.Caller("hog", seconds(6)).cap, 16u);
  EXPECT_TRUE(b.Caller("hog", seconds(6)).hog);
  ASSERT_EQ(b.Take("hog", seconds(6), 10), 10);
  b.Visit(seconds(6));
  EXPECT_EQ(b.Caller("hog", seconds(6)).cap, 1u);
  EXPECT_EQ(b.Ask("hog", seconds(6)).reason(), Reason::kFairShare);
}

// A hog refused within its share is refused for its demerit: it is at fault, and hears how long.
TEST(DemeritTracker, TellsAHogWhenItsCapAllowsTheCall) {
  const DemeritTrackerOptions options{.budget = 16, .window = seconds(100)};
  Bench b(options);
  ASSERT_TRUE(b.Ask("calm", seconds(0)).admitted());
  ASSERT_EQ(b.Take("hog", seconds(0), 15), 15);
  b.Take("hog", seconds(0), 5);
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(b.End("hog"));
  ASSERT_EQ(b.Caller("hog", seconds(0)).cap, 3u);  // 8 - 5.
  const Verdict refused = b.Ask("hog", seconds(0));
  EXPECT_EQ(refused.reason(), Reason::kFairShare);
  EXPECT_EQ(refused.scope(), Scope::kCaller);
  // Demerit 6; 4 units need it below 4.5: (6 - 4.5) / 0.3 = 5 s.
  ASSERT_TRUE(refused.retry_after().has_value());
  EXPECT_NEAR(static_cast<double>(refused.retry_after()->count()), 5e9, 2.0);
  EXPECT_EQ(b.Caller("hog", *refused.retry_after() - Duration(3)).cap, 3u);
  EXPECT_TRUE(b.Ask("hog", *refused.retry_after()).admitted());
}

// The ceiling and the end of a penalty depend on how long a caller hammers, never on how fast
// (algorithms, fault 20: recovery in proportion to the burst).
TEST(DemeritTracker, IsBackToItsFullShareWithinAMinuteHoweverLargeTheBurst) {
  for (const int burst : {4, 100, 100'000}) {
    Bench b({.budget = 40});
    ASSERT_TRUE(b.Ask("calm", seconds(0)).admitted());
    ASSERT_EQ(b.Take("loud", seconds(0), 40 + burst), 39);
    EXPECT_LE(b.Caller("loud", seconds(0)).demerit, 43.0);
    b.EndAll("loud");
    EXPECT_LT(b.Caller("loud", seconds(1)).cap, 20u);
    EXPECT_EQ(b.Caller("loud", seconds(60)).demerit, 0.0);
    EXPECT_EQ(b.Caller("loud", seconds(60)).cap, 40u);
    EXPECT_EQ(b.Take("loud", seconds(60), 39), 39);
  }
}

TEST(DemeritTracker, DropsDemeritOutrightAfterTheLongestPenalty) {
  Bench b({.budget = 1000, .decay_per_second = 0.000001, .max_penalty = seconds(60)});
  b.Visit(seconds(0));
  b.Take("a", seconds(0), 1100);
  EXPECT_NEAR(b.Caller("a", seconds(59)).demerit, 100.0, 0.001);
  EXPECT_NEAR(b.Caller("a", seconds(60) - Duration(1)).demerit, 100.0, 0.001);
  EXPECT_EQ(b.Caller("a", seconds(60)).demerit, 0.0);
  // After the *last* refusal: one at 59 s starts the minute anew.
  b.Visit(seconds(59));
  b.Take("a", seconds(59), 1);
  EXPECT_GT(b.Caller("a", seconds(118)).demerit, 100.0);
  EXPECT_EQ(b.Caller("a", seconds(119)).demerit, 0.0);
}

TEST(DemeritTracker, DecaysEvenly) {
  Bench b({.budget = 8});
  b.Visit(seconds(0));
  b.Take("a", seconds(0), 10);
  EXPECT_EQ(b.Caller("a", seconds(0)).demerit, 2.0);
  EXPECT_NEAR(b.Caller("a", seconds(5)).demerit, 0.5, 1e-12);
  EXPECT_EQ(b.Caller("a", seconds(7)).demerit, 0.0);  // Never below.
  // One refusal every 4 s is forgiven for ever.
  for (int i = 2; i < 100; ++i) {
    b.Visit(seconds(4) * i);
    b.Take("a", seconds(4) * i, 1);
  }
  EXPECT_FALSE(b.Caller("a", seconds(400)).hog);
}

TEST(DemeritTracker, ReportsTheRefusalThatMadeAHog) {
  DemeritTracker tracker({.budget = 2});
  std::vector<Ticket> tickets(2);
  Events none;
  Ticket visit;  // So that "a" is not alone.
  ASSERT_TRUE(tracker.Admit({.caller = "visitor"}, At({}), visit, none).admitted());
  tracker.Complete(visit, Outcome::kSuccess);
  for (Ticket& t : tickets) ASSERT_TRUE(tracker.Admit({.caller = "a"}, At({}), t, none).admitted());
  const auto refuse = [&](std::string_view caller, Duration now, Events& events) {
    Ticket ticket;
    EXPECT_FALSE(tracker.Admit({.caller = caller}, At(now), ticket, events).admitted());
    EXPECT_EQ(ticket.units, 0u);
  };
  refuse("a", seconds(0), none);
  refuse("a", seconds(1), none);
  EXPECT_TRUE(none.empty());
  Events events;
  refuse("a", seconds(1), events);  // 1 - 0.3 + 1 + 1 = 2.7
  EXPECT_TRUE(events.empty());
  refuse("a", seconds(2), events);  // 2.4 + 1
  refuse("a", seconds(2), events);  // It is one already.
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, EventKind::kCallerBecameHog);
  EXPECT_EQ(events[0].cause, Cause::kDemerit);
  EXPECT_NEAR(events[0].before, 2.4, 1e-12);
  EXPECT_NEAR(events[0].after, 3.4, 1e-12);
  EXPECT_EQ(events[0].threshold, 3.0);
  EXPECT_NE(events[0].caller, 0u);
  // Forgiven, and a hog again: a second event. A different caller has a different fingerprint.
  refuse("visitor", seconds(100), none);
  for (int i = 0; i < 3; ++i) refuse("a", seconds(100), events);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].caller, events[0].caller);
  EXPECT_EQ(tracker.Read(At(seconds(100))).hogs_total, 2u);
}

// --- Cancel ----------------------------------------------------------------------------------

// P20 Netflix/atlas#1967: a caller admitted here and refused by the total looked like a call that
// completed.
TEST(DemeritTracker, TakesACancelForCapacityForARefusal) {
  for (const bool blame : {true, false}) {
    Bench b({.budget = 8, .window = seconds(10), .hog_threshold = 5, .blame_victims = blame});
    ASSERT_EQ(b.Take("H", seconds(0), 4), 4);
    b.AskInVain("G", seconds(0));
    EXPECT_EQ(b.Caller("G", seconds(0)).held, 0u);
    EXPECT_EQ(b.Caller("G", seconds(0)).demerit, blame ? 1.0 : 0.0);
    EXPECT_EQ(b.Read(seconds(0)).in_use, 4u);
    EXPECT_EQ(b.Caller("H", seconds(0)).cap, 4u);
    for (int i = 0; i < 5; ++i) b.AskInVain("G", seconds(0));
    EXPECT_EQ(b.Caller("G", seconds(0)).demerit, blame ? 6.0 : 0.0);
    EXPECT_EQ(b.Caller("G", seconds(0)).hog, blame);
    EXPECT_EQ(b.hog_events, blame ? 1u : 0u);
    // An ordinary completion adds no demerit.
    b.EndAll("H");
    EXPECT_EQ(b.Caller("H", seconds(0)).demerit, 0.0);
  }
}

TEST(DemeritTracker, TakesACancelForCapacityForARefusalInALimiter) {
  ManualClock clock;
  BasicLimiter<ManualClock, StdSync, DemeritTracker, ConcurrencyLimiter> limiter(
      clock, {.budget = 8, .window = seconds(10), .hog_threshold = 5, .blame_victims = true},
      {.limit = 4});
  std::vector<decltype(limiter)::Guard> held;
  for (int i = 0; i < 4; ++i) held.push_back(limiter.TryAdmit({.caller = "H"}));
  for (int i = 0; i < 6; ++i) {
    auto guard = limiter.TryAdmit({.caller = "G"});
    ASSERT_FALSE(guard);
    EXPECT_EQ(guard.rejection().reason(), Reason::kConcurrency);
  }
  const auto& tracker = limiter.Get<DemeritTracker>();
  EXPECT_EQ(tracker.ReadCaller("G", clock.Now()).demerit, 6.0);
  EXPECT_EQ(tracker.ReadCaller("H", clock.Now()).cap, 4u);
  EXPECT_EQ(tracker.Read(clock.Now()).in_use, 4u);
  for (auto& guard : held) guard.Complete(Outcome::kSuccess);
  EXPECT_EQ(tracker.Read(clock.Now()).in_use, 0u);
}

// Above its share a caller is at fault for a later policy's refusal, too.
TEST(DemeritTracker, BlamesTheBorrowerWhenALaterPolicyIsFull) {
  Bench b({.budget = 8});
  ASSERT_TRUE(b.Ask("calm", seconds(0)).admitted());
  ASSERT_EQ(b.Take("eager", seconds(0), 3), 3);
  b.AskInVain("eager", seconds(0));  // The fourth is within its share of 4.
  EXPECT_EQ(b.Caller("eager", seconds(0)).demerit, 0.0);
  ASSERT_EQ(b.Take("eager", seconds(0), 1), 1);
  b.AskInVain("eager", seconds(0));  // The fifth is not.
  EXPECT_EQ(b.Caller("eager", seconds(0)).demerit, 1.0);
  EXPECT_EQ(b.Caller("eager", seconds(0)).held, 4u);
}

TEST(DemeritTracker, TakesNoOtherCancelForARefusal) {
  const Verdict causes[] = {Verdict::Refuse(Reason::kCircuitOpen), Verdict::Refuse(Reason::kDenied),
                            Verdict::Refuse(Reason::kDeadline),
                            Verdict::Refuse(Reason::kRate, seconds(1), Scope::kCaller)};
  for (const Verdict& cause : causes) {
    Bench b({.budget = 8, .blame_victims = true});
    ASSERT_EQ(b.Take("a", seconds(0), 5), 5);
    b.AskInVain("a", seconds(0), cause);
    b.AskInVain("b", seconds(0), cause);
    EXPECT_EQ(b.Caller("a", seconds(0)).held, 5u);
    EXPECT_EQ(b.Caller("a", seconds(0)).demerit, 0.0);
    EXPECT_EQ(b.Caller("b", seconds(0)).demerit, 0.0);
    EXPECT_FALSE(b.Read(seconds(0)).contended);
    EXPECT_EQ(b.Read(seconds(0)).active, 2u);  // They did ask.
  }
}

// --- Tickets (algorithms, fault 21) ----------------------------------------------------------

TEST(DemeritTracker, ReleasesOnce) {
  DemeritTracker tracker({.budget = 8});
  Events events;
  Ticket a, b;
  ASSERT_TRUE(tracker.Admit({.caller = "a", .cost = 3}, At({}), a, events).admitted());
  ASSERT_TRUE(tracker.Admit({.caller = "b", .cost = 3}, At({}), b, events).admitted());
  Ticket copy = a;
  tracker.Complete(a, Outcome::kFailure);
  tracker.Complete(a, Outcome::kFailure);
  tracker.Cancel(a, kFull, At({}), events);
  tracker.Complete(copy, Outcome::kSuccess);  // No more than was held.
  EXPECT_EQ(tracker.Read(At({})).in_use, 3u);
  Ticket none;
  tracker.Complete(none, Outcome::kSuccess);
  tracker.Cancel(none, kFull, At({}), events);
  EXPECT_EQ(tracker.Read(At({})).in_use, 3u);
  EXPECT_FALSE(tracker.Read(At({})).contended);
  EXPECT_EQ(tracker.Read(At({})).active, 2u);
}

// The overflow is never given to another, so its generation does not tell an old copy. It must
// not fall idle twice.
TEST(DemeritTracker, ReleasesOnceInTheOverflow) {
  DemeritTracker tracker({.budget = 8, .max_callers = 1});
  Events events;
  Ticket a, b;
  ASSERT_TRUE(tracker.Admit({.caller = "a"}, At({}), a, events).admitted());
  ASSERT_TRUE(tracker.Admit({.caller = "b"}, At({}), b, events).admitted());
  Ticket copy = b;
  ASSERT_EQ(tracker.Read(At({})).overflow_in_use, 1u);
  tracker.Cancel(b, Verdict::Refuse(Reason::kDenied), At(seconds(6)), events);
  tracker.Complete(copy, Outcome::kSuccess);
  EXPECT_EQ(tracker.Read(At(seconds(6))).active, 1u);
  EXPECT_EQ(tracker.Read(At(seconds(6))).in_use, 1u);
}

// The entry of a ticket is another caller's by now: its generation says so.
TEST(DemeritTracker, ReleasesNothingOfACallerThatCameLater) {
  DemeritTracker tracker({.budget = 8, .max_callers = 1});
  Events events;
  Ticket a, b;
  ASSERT_TRUE(tracker.Admit({.caller = "a", .cost = 3}, At({}), a, events).admitted());
  Ticket copy = a;
  Ticket other_copy = a;
  tracker.Complete(a, Outcome::kSuccess);
  ASSERT_TRUE(tracker.Admit({.caller = "b", .cost = 3}, At(seconds(6)), b, events).admitted());
  ASSERT_EQ(b.index, copy.index);
  tracker.Complete(copy, Outcome::kSuccess);
  tracker.Cancel(other_copy, kFull, At(seconds(6)), events);
  EXPECT_EQ(tracker.ReadCaller("b", At(seconds(6))).held, 3u);
  EXPECT_FALSE(tracker.Read(At(seconds(6))).contended);
}

// --- Bounded memory (P19 governor#171, algorithms, fault 19) ---------------------------------

TEST(DemeritTracker, LosesNoPenaltyToAFloodOfNames) {
  Bench b({.budget = 8, .max_callers = 100});
  b.Visit(seconds(0));
  b.Take("K", seconds(0), 8 + 20);
  ASSERT_EQ(b.Caller("K", seconds(0)).demerit, 11.0);
  b.EndAll("K");
  for (int i = 0; i < 1'000'000; ++i) {
    char name[16];
    std::snprintf(name, sizeof name, "%d", i);
    b.Ask(name, seconds(0));
    if (i % 1000 == 0) {
      ASSERT_LE(b.Read(seconds(0)).tracked, 100u);
    }
  }
  EXPECT_EQ(b.Caller("K", milliseconds(50)).demerit, 11.0 - 0.3 * 0.05);
  EXPECT_EQ(b.Caller("K", milliseconds(50)).cap, 1u);
  for (auto& [caller, ticket] : b.tickets) b.tracker.Complete(ticket, Outcome::kSuccess);
  // Also not by waiting until it is no longer active: that is the time when it could be evicted.
  for (int i = 0; i < 1000; ++i) b.Ask("new" + std::to_string(i), seconds(6));
  EXPECT_TRUE(b.Caller("K", seconds(6)).tracked);
  EXPECT_NEAR(b.Caller("K", seconds(6)).demerit, 11.0 - 1.8, 1e-12);
  EXPECT_TRUE(b.Caller("K", seconds(6)).hog);
  // When all is over, nobody is tracked, and everybody has a place again.
  EXPECT_EQ(b.Read(seconds(100)).tracked, 8u);  // Those that hold the budget.
  for (auto& [caller, ticket] : b.tickets) b.tracker.Complete(ticket, Outcome::kSuccess);
  EXPECT_EQ(b.Read(seconds(100)).tracked, 0u);
  EXPECT_EQ(b.Read(seconds(100)).active, 0u);
}

TEST(DemeritTracker, FoldsTheRestOntoOneCaller) {
  Bench b({.budget = 8, .max_callers = 2});
  ASSERT_TRUE(b.Ask("a", seconds(0)).admitted());
  ASSERT_TRUE(b.Ask("b", seconds(0)).admitted());
  for (const char* name : {"c", "d", "e"}) ASSERT_TRUE(b.Ask(name, seconds(0)).admitted());
  EXPECT_EQ(b.Read(seconds(0)).tracked, 2u);
  EXPECT_EQ(b.Read(seconds(0)).active, 3u);
  EXPECT_EQ(b.Read(seconds(0)).overflow_in_use, 3u);
  EXPECT_FALSE(b.Caller("c", seconds(0)).tracked);
  EXPECT_TRUE(b.Caller("z", seconds(0)).overflow);
  EXPECT_EQ(b.Caller("z", seconds(0)).held, 3u);
  // They share one demerit, too, and the tracked ones have none of it.
  ASSERT_EQ(b.Take("f", seconds(0), 3), 3);
  for (const char* name : {"c", "d", "e"}) EXPECT_FALSE(b.Ask(name, seconds(0)).admitted());
  EXPECT_TRUE(b.Caller("g", seconds(0)).hog);
  EXPECT_FALSE(b.Caller("a", seconds(0)).hog);
}

// Atlas: permits stranded when a caller moves between states. A ticket knows where its units are.
TEST(DemeritTracker, ReleasesWhereTheUnitsWereTaken) {
  Bench b({.budget = 8, .max_callers = 1});
  ASSERT_TRUE(b.Ask("a", seconds(0)).admitted());
  ASSERT_TRUE(b.Ask("b", seconds(0)).admitted());  // In the overflow.
  b.EndAll("a");
  ASSERT_TRUE(b.Ask("b", seconds(6)).admitted());  // In the place of a.
  EXPECT_TRUE(b.Caller("b", seconds(6)).tracked);
  EXPECT_EQ(b.Caller("b", seconds(6)).held, 1u);
  EXPECT_EQ(b.Read(seconds(6)).overflow_in_use, 1u);
  EXPECT_EQ(b.Read(seconds(6)).active, 2u);
  b.EndAll("b");
  EXPECT_EQ(b.Read(seconds(6)).in_use, 0u);
  EXPECT_EQ(b.Read(seconds(6)).overflow_in_use, 0u);
  EXPECT_EQ(b.Read(seconds(6)).active, 1u);
}

// A caller with units out keeps its entry, however long they are.
TEST(DemeritTracker, KeepsTheEntryOfAHolder) {
  Bench b({.budget = 8, .max_callers = 1});
  ASSERT_TRUE(b.Ask("a", seconds(0)).admitted());
  ASSERT_TRUE(b.Ask("b", hours(1000)).admitted());
  EXPECT_EQ(b.Read(hours(1000)).overflow_in_use, 1u);
  EXPECT_EQ(b.Caller("a", hours(1000)).held, 1u);
}

TEST(DemeritTracker, NeverAllocatesAfterItWasMade) {
  DemeritTracker tracker({.budget = 64, .max_callers = 1000});
  std::array<Ticket, 64> tickets{};
  std::array<char, 8> name{};
  std::mt19937_64 random(1);
  const std::uint64_t before = g_allocations.load();
  std::int64_t now = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const std::uint64_t r = random();
    for (std::size_t k = 0; k < name.size(); ++k) name[k] = static_cast<char>(r >> (8 * k));
    Ticket& ticket = tickets[r % tickets.size()];
    tracker.Complete(ticket, Outcome::kSuccess);
    now += static_cast<std::int64_t>(r % 20'000'000);  // 500 new names in a window, on average.
    Events events;
    tracker.Admit({.caller = {name.data(), name.size()}}, At(Duration(now)), ticket, events);
  }
  EXPECT_EQ(g_allocations.load(), before);
  const DemeritTracker::Snapshot s = tracker.Read(At(Duration(now)));
  EXPECT_GT(s.tracked, 300u);
  EXPECT_LE(s.tracked, 1000u);
}

// --- Callers, clocks, threads ----------------------------------------------------------------

TEST(DemeritTracker, TellsCallersApartByAllTheirBytes) {
  const std::string large(10'000'000, 'x');
  const std::string large_too = large.substr(1) + "y";
  const std::vector<std::string> names = {"",
                                          std::string(1, '\0'),
                                          std::string(2, '\0'),
                                          "a",
                                          std::string("a\0", 2),
                                          std::string("a\0b", 3),
                                          large,
                                          large_too};
  Bench b({.budget = 100});
  for (std::size_t i = 0; i < names.size(); ++i)
    b.Take(names[i], seconds(0), static_cast<int>(i) + 1);
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(b.Caller(names[i], seconds(0)).held, i + 1) << i;
  }
  EXPECT_EQ(b.Read(seconds(0)).active, names.size());
  EXPECT_EQ(b.Caller(std::string_view(), seconds(0)).held, 1u);
}

TEST(DemeritTracker, StandsAClockThatJumpsACenturyOrGoesBack) {
  constexpr Duration kCentury = hours(24) * 36525;
  Bench b({.budget = 8});
  ASSERT_TRUE(b.Ask("b", seconds(0)).admitted());
  b.End("b");
  b.Take("a", seconds(0), 20);
  ASSERT_FALSE(b.Ask("b", seconds(0)).admitted());
  // Back: time stands where it was. No credit, nothing expires, nothing moves back.
  EXPECT_FALSE(b.Ask("a", -kCentury).admitted());
  EXPECT_EQ(b.Caller("a", -kCentury).demerit, 11.0);
  EXPECT_EQ(b.Read(-kCentury).active, 2u);
  EXPECT_EQ(b.Caller("a", seconds(1)).demerit, 11.0 - 0.3);
  // P05 golang/go#71360: alternating between two times credits the step once, not each time.
  for (int i = 0; i < 1000; ++i) b.Caller("a", i % 2 ? seconds(1) : seconds(0));
  for (int i = 0; i < 1000; ++i) b.Ask("b", i % 2 ? seconds(1) : seconds(0));
  EXPECT_NEAR(b.Caller("a", seconds(1)).demerit, 11.0 - 0.3, 1e-12);
  // Forward: the units are still held, all else is over.
  EXPECT_EQ(b.Read(kCentury).active, 1u);
  EXPECT_EQ(b.Read(kCentury).tracked, 1u);
  EXPECT_FALSE(b.Read(kCentury).contended);
  EXPECT_EQ(b.Caller("a", kCentury).cap, 8u);
  b.EndAll("a");
  EXPECT_EQ(b.Take("b", kCentury, 9), 8);
  // The ends of the timeline.
  Bench ends({.budget = 8});
  EXPECT_EQ(ends.Take("a", Duration::min(), 10), 8);
  ends.Visit(Duration::max());
  EXPECT_EQ(ends.Take("a", Duration::max(), 3), 0);
  EXPECT_EQ(ends.Read(Duration::max()).active, 2u);
  ends.EndAll("a");
  EXPECT_EQ(ends.Take("a", Duration::max(), 8), 1);  // A hog for ever; there is no later time.
}

TEST(DemeritTracker, ReadingChangesNothing) {
  Bench b({.budget = 8});
  b.Visit(seconds(0));
  b.Take("a", seconds(0), 20);
  b.EndAll("a");
  EXPECT_EQ(b.Read(hours(1)).tracked, 0u);
  EXPECT_EQ(b.Caller("a", hours(1)).demerit, 0.0);
  EXPECT_FALSE(b.Caller("a", hours(1)).tracked);
  EXPECT_EQ(b.Read(seconds(1)).tracked, 2u);
  EXPECT_EQ(b.Caller("a", seconds(1)).demerit, 10.7);
}

// One caller asks 2000 a second, nine ask 5 a second each, calls last 100 ms. The nine get what
// they ask; held to equal parts of what comes free, they would get less than half.
TEST(DemeritTracker, KeepsANoisyNeighbourFromTheOthers) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    std::mt19937_64 random(seed);
    Bench b({.budget = 40});
    std::vector<std::pair<Duration, Ticket>> running;  // In order of their ends.
    std::size_t first = 0;
    int asked = 0, got = 0;
    for (int us = 0; us < 30'000'000; us += 500) {
      const Duration now = std::chrono::microseconds(us);
      for (; first < running.size() && running[first].first <= now; ++first) {
        b.tracker.Complete(running[first].second, Outcome::kSuccess);
      }
      const auto ask = [&](const std::string& caller) {
        if (!b.Ask(caller, now).admitted()) return false;
        running.emplace_back(now + milliseconds(100), b.tickets.back().second);
        return true;
      };
      ask("loud");
      for (int k = 0; k < 9; ++k) {
        if (random() % 400 != 0) continue;
        ++asked;
        got += ask(std::to_string(k)) ? 1 : 0;
      }
    }
    EXPECT_GE(got, asked * 99 / 100) << got << " of " << asked;
  }
}

// P03, algorithms, fault 6: the budget is never exceeded, and nothing is left over.
// With `calls` of each thread in flight, of up to `largest` units.
void ExceedTheBudgetWithManyThreads(std::int64_t budget, std::size_t calls, std::int64_t largest) {
  constexpr int kThreads = 8;
  DemeritTracker tracker({.budget = budget, .window = milliseconds(1), .max_callers = 4});
  std::atomic<std::int64_t> in_flight{0}, peak{0}, admitted{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(static_cast<std::uint64_t>(t));
      std::vector<Ticket> tickets(calls);
      std::vector<std::int64_t> units(calls);
      const auto end = [&](std::size_t k) {
        in_flight.fetch_sub(units[k]);
        units[k] = 0;
        Events events;
        if (random() % 4 == 0) {
          tracker.Cancel(tickets[k], kFull,
                         At(Duration(static_cast<std::int64_t>(random() % 1'000'000))), events);
        } else {
          tracker.Complete(tickets[k], Outcome::kSuccess);
        }
      };
      for (int i = 0; i < 20'000; ++i) {
        const std::size_t k = random() % tickets.size();
        if (units[k] > 0) end(k);
        const auto cost =
            static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(largest)) + 1;
        const char caller = static_cast<char>('a' + random() % 8);
        Events events;
        const TimePoint now = At(Duration(i * 1000 + static_cast<int>(random() % 5000)));
        if (!tracker
                 .Admit({.caller = {&caller, 1}, .cost = static_cast<std::uint64_t>(cost)}, now,
                        tickets[k], events)
                 .admitted()) {
          continue;
        }
        units[k] = cost;
        admitted.fetch_add(1);
        const std::int64_t seen = in_flight.fetch_add(cost) + cost;
        std::int64_t highest = peak.load();
        while (highest < seen && !peak.compare_exchange_weak(highest, seen)) {
        }
        if (i % 64 == 0) {
          EXPECT_LE(tracker.Read(now).in_use, budget);
          EXPECT_LE(tracker.ReadCaller({&caller, 1}, now).held, budget);
        }
      }
      for (std::size_t k = 0; k < tickets.size(); ++k) {
        if (units[k] > 0) end(k);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(peak.load(), budget);
  EXPECT_GT(admitted.load(), 1000);
  const DemeritTracker::Snapshot s = tracker.Read(At(hours(1)));
  EXPECT_EQ(s.in_use, 0u);
  EXPECT_EQ(s.overflow_in_use, 0u);
  EXPECT_EQ(s.active, 0u);
  EXPECT_EQ(s.tracked, 0u);
}
TEST(DemeritTracker, NeverExceedsTheBudgetWithManyThreads) {
  ExceedTheBudgetWithManyThreads(20, 4, 4);
  // Where threads keep units that they have given back: by the ones, and by the dozen.
  ExceedTheBudgetWithManyThreads(50, 8, 3);
  ExceedTheBudgetWithManyThreads(400, 16, 20);
}

TEST(DemeritTracker, WorksWithoutThreads) {
  BasicDemeritTracker<NoSync> tracker({.budget = 1});
  BasicDemeritTracker<NoSync>::Ticket a, b;
  Events events;
  EXPECT_TRUE(tracker.Admit({.caller = "a"}, At({}), a, events).admitted());
  EXPECT_FALSE(tracker.Admit({.caller = "b"}, At({}), b, events).admitted());
  tracker.Complete(a, Outcome::kSuccess);
  EXPECT_TRUE(tracker.Admit({.caller = "b"}, At({}), b, events).admitted());
}

// What is in range works, at its ends, and all ends at once.
TEST(DemeritTracker, OptionsWorkAtTheEndsOfTheirRanges) {
  const DemeritTrackerOptions ends[] = {
      {.budget = 1, .max_callers = 1},
      {.window = Duration(1), .max_penalty = Duration(1)},
      {.window = hours(24 * 366), .max_penalty = hours(24 * 366)},
      {.demerit_per_denial = 0.000001, .decay_per_second = 0.000001, .hog_threshold = 0.000001},
      {.budget = 1'000'000'000,
       .demerit_per_denial = 1'000'000,
       .decay_per_second = 1'000'000,
       .hog_threshold = 1'000'000,
       .max_callers = 1'000'000},
  };
  for (const DemeritTrackerOptions& options : ends) {
    Bench b(options);
    const auto budget = static_cast<std::uint64_t>(options.budget);
    ASSERT_TRUE(b.Ask("b", seconds(0)).admitted());
    b.End("b");
    ASSERT_TRUE(b.Ask("a", seconds(0), budget).admitted());
    for (int i = 0; i < 10; ++i) {
      const Verdict v = b.Ask("a", seconds(0), budget);
      EXPECT_EQ(v.reason(), Reason::kFairShare);
      EXPECT_GE(v.retry_after().value_or(Duration(0)), Duration(0));
    }
    EXPECT_EQ(b.Ask("b", seconds(0)).reason(), Reason::kBudget);
    b.EndAll("a");
    EXPECT_TRUE(b.Ask("b", seconds(0), budget).admitted());
    b.EndAll("b");
    EXPECT_TRUE(b.Ask("a", hours(24 * 366 * 3), budget).admitted());
  }
}

// --- Configure -------------------------------------------------------------------------------

TEST(DemeritTracker, ConfigureKeepsWhatIsHeldAndPreemptsNothing) {
  Bench b({.budget = 8});
  ASSERT_EQ(b.Take("a", seconds(0), 6), 6);
  EXPECT_EQ(b.tracker.Configure({.budget = 4}, At(seconds(0))), "");
  EXPECT_EQ(b.Read(seconds(0)).budget, 4u);
  EXPECT_EQ(b.Read(seconds(0)).in_use, 6u);
  EXPECT_FALSE(b.Ask("b", seconds(0)).admitted());
  ASSERT_TRUE(b.End("a") && b.End("a"));
  EXPECT_EQ(b.Ask("b", seconds(0)).reason(), Reason::kBudget) << "4 of 4";
  ASSERT_TRUE(b.End("a"));
  EXPECT_TRUE(b.Ask("b", seconds(0)).admitted());
  EXPECT_EQ(b.tracker.Configure({.budget = 1000}, At(seconds(0))), "");
  EXPECT_EQ(b.Take("b", seconds(0), 2000), 996) << "nobody waits: all but what is held";
  b.EndAll("a");
  b.EndAll("b");
  EXPECT_EQ(b.Read(seconds(0)).in_use, 0u);
}

TEST(DemeritTracker, ConfigureJudgesByTheNewFromTheLatestRefusalOn) {
  Bench b({.budget = 4});
  b.Visit(seconds(0));
  b.AskInVain("visitor", seconds(0));
  ASSERT_EQ(b.Take("a", seconds(0), 6), 2);
  EXPECT_EQ(b.Caller("a", seconds(0)).demerit, 4);
  EXPECT_TRUE(b.Caller("a", seconds(0)).hog);
  EXPECT_EQ(b.tracker.Configure({.budget = 4, .hog_threshold = 5}, At(seconds(0))), "");
  EXPECT_FALSE(b.Caller("a", seconds(0)).hog);
  EXPECT_EQ(b.tracker.Configure({.budget = 4, .decay_per_second = 2}, At(seconds(1))), "");
  EXPECT_EQ(b.Caller("a", seconds(1)).demerit, 2);
  EXPECT_EQ(b.tracker.Configure({.budget = 4, .max_penalty = seconds(1)}, At(seconds(1))), "");
  EXPECT_EQ(b.Caller("a", seconds(1)).demerit, 0);
}

TEST(DemeritTracker, ConfigureOfTheWindow) {
  Bench b({.budget = 8, .window = seconds(100)});
  for (const char* name : {"a", "b", "c", "d"}) b.Visit(seconds(0)), b.Ask(name, seconds(0));
  for (const char* name : {"a", "b"}) b.EndAll(name);
  EXPECT_EQ(b.Read(seconds(10)).active, 5u);
  EXPECT_EQ(b.tracker.Configure({.budget = 8, .window = seconds(5)}, At(seconds(10))), "");
  EXPECT_EQ(b.Read(seconds(10)).active, 2u) << "who holds units stays";
  EXPECT_EQ(b.Read(seconds(10)).tracked, 2u);
  EXPECT_EQ(b.tracker.Configure({.budget = 8, .window = seconds(1000)}, At(seconds(10))), "");
  EXPECT_EQ(b.Read(seconds(10)).active, 2u) << "and who had gone does not come back";
  b.Ask("a", seconds(10));
  b.EndAll("a");
  EXPECT_EQ(b.Read(seconds(1010)).active, 3u);
  EXPECT_EQ(b.Read(seconds(1011)).active, 2u);
}

TEST(DemeritTracker, BadConfigureChangesNothing) {
  Bench b({.budget = 8});
  EXPECT_EQ(b.tracker.Configure({.budget = 0}, At(seconds(0))),
            "budget: want 1 to 1000000000 units");
  EXPECT_EQ(b.tracker.Configure({.budget = 3, .hog_threshold = -1}, At(seconds(0))),
            "hog_threshold: want 0.000001 to 1000000");
  EXPECT_EQ(b.Read(seconds(0)).budget, 8u);
  EXPECT_EQ(b.Take("a", seconds(0), 10), 8);
}

// --- Weights ---------------------------------------------------------------------------------

struct ByPlan {
  std::uint32_t operator()(const Request& request) const noexcept {
    return request.caller == "gold" ? 3 : 1;
  }
};

// Who pays more gets more, once they all want it; what nobody wants may be borrowed as ever.
TEST(DemeritTracker, SharesGoByWeight) {
  WeightedDemeritTracker<ByPlan> tracker({.budget = 100, .demerit_per_denial = 0.000001});
  std::vector<std::pair<std::string, WeightedDemeritTracker<ByPlan>::Ticket>> held;
  const auto ask = [&](const char* caller) {
    WeightedDemeritTracker<ByPlan>::Ticket ticket;
    Events events;
    const bool admitted =
        tracker.Admit({.caller = caller}, At(seconds(0)), ticket, events).admitted();
    if (admitted) held.emplace_back(caller, ticket);
    return admitted;
  };
  while (ask("gold")) {
  }
  EXPECT_EQ(held.size(), 100u) << "alone";
  EXPECT_FALSE(ask("tin"));
  EXPECT_EQ(tracker.ReadCaller("gold", At(seconds(0))).share, 75u);
  EXPECT_EQ(tracker.ReadCaller("tin", At(seconds(0))).share, 25u);
  EXPECT_EQ(tracker.ReadCaller("stranger", At(seconds(0))).share, 20u);
  EXPECT_EQ(tracker.Read(At(seconds(0))).weight, 4u);
  // As calls end, each comes to its share, however often either asks (and with no hogs).
  for (int i = 0; i < 1000; ++i) {
    tracker.Complete(held.front().second, Outcome::kSuccess);
    held.erase(held.begin());
    ask("tin");
    ask("gold");
    ask("tin");
  }
  EXPECT_NEAR(tracker.ReadCaller("gold", At(seconds(0))).held, 75, 1);
  EXPECT_NEAR(tracker.ReadCaller("tin", At(seconds(0))).held, 25, 1);
}

}  // namespace
}  // namespace shed
