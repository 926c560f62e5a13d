#include "shed/knee.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <deque>
#include <set>
#include <vector>

namespace shed {
namespace {

using namespace std::chrono_literals;

constexpr KneeOptions kDefaults{};

// Additive headroom: 11 for one worker, 20 for 8, 90 for 64.
static_assert(Knee::Tight(0, 10) == 10);
static_assert(Knee::Tight(8, 10) == 20);
static_assert(Knee::Tight(64, 10) == 90);

static_assert(Knee::Enforced(19.9, 1e18, kDefaults) == 19);
static_assert(Knee::Enforced(40, 12.5, kDefaults) == 12);
static_assert(Knee::Enforced(1, 1e18, kDefaults) == 4);
static_assert(Knee::Enforced(40, 0.5, kDefaults) == 4);
static_assert(Knee::Enforced(1e9, 1e18, kDefaults) == 1000);

// Below the knee, not below 3, and below the limit in force: a dip never raises it.
static_assert(Knee::DipLimit(8, false, 20) == 5);
static_assert(Knee::DipLimit(64, false, 90) == 44);
static_assert(Knee::DipLimit(64, true, 90) == 22);
static_assert(Knee::DipLimit(0, false, 20) == 3);
static_assert(Knee::DipLimit(100, false, 20) == 19);
static_assert(Knee::DipLimit(8, false, 3) == 2);
static_assert(Knee::DipLimit(8, false, 1) == 0);

constexpr LimitWindow Asked(std::uint32_t limit, std::uint64_t admitted,
                            std::array<std::uint64_t, 4> refused) {
  LimitWindow window;
  window.limit = limit;
  window.admitted = admitted;
  window.refused = refused;
  return window;
}
constexpr internal::UsableShares kAll = internal::kUsableAll;
constexpr internal::UsableShares kShares = {0.0, 0.5, 1.0, 1.0};

static_assert(Knee::ShareRefused(Asked(20, 0, {}), kAll) == 0);
static_assert(Knee::ShareRefused(Asked(20, 75, {5, 5, 5, 10}), kAll) == 0.25);
static_assert(Knee::ShareRefused(Asked(20, 0, {0, 0, 1, 0}), kAll) == 1);
// A class that may use nothing is refused always, and is no sign of overload.
static_assert(Knee::ShareRefused(Asked(20, 75, {1000, 0, 0, 0}), kShares) == 0);

// Refused, and half empty on average.
static_assert(Knee::IsBurst(Asked(20, 75, {0, 0, 1, 0}), 9.9, kAll));
static_assert(!Knee::IsBurst(Asked(20, 75, {0, 0, 1, 0}), 10, kAll));
static_assert(!Knee::IsBurst(Asked(20, 75, {}), 1, kAll));
// Half of what the refused class may use.
static_assert(Knee::IsBurst(Asked(20, 75, {0, 1, 1, 0}), 4.9, kShares));
static_assert(!Knee::IsBurst(Asked(20, 75, {0, 1, 1, 0}), 5, kShares));
static_assert(!Knee::IsBurst(Asked(20, 75, {1, 0, 0, 0}), 1, kShares));

// One Knee, and windows made by hand.
class KneeTest : public testing::Test {
 protected:
  struct Window {
    double rate = 2000;     // Completed per second.
    double mean = 6;        // In flight.
    double refused = 0;     // Share of what was asked.
    double overloaded = 0;  // Share of what completed.
    Duration length = 100ms;
    std::uint32_t in_flight = 0;
  };
  void Close(Window w) {
    LimitWindow window;
    window.begin = now_;
    window.end = now_ += w.length;
    const double seconds = static_cast<double>(w.length.count()) * 1e-9;
    window.limit = plan_.limit;
    window.in_flight = w.in_flight;
    window.completed = static_cast<std::uint64_t>(std::lround(w.rate * seconds));
    window.admitted = window.completed;
    window.refused[2] = static_cast<std::uint64_t>(
        std::lround(static_cast<double>(window.admitted) * w.refused / (1 - w.refused)));
    window.overloaded = static_cast<std::uint64_t>(
        std::lround(static_cast<double>(window.completed) * w.overloaded));
    window.area = w.mean * seconds;
    plan_ = knee_.Close(window, events_.emplace_back());
  }
  void Close(int n, Window w) {
    for (int i = 0; i < n; ++i) Close(w);
  }
  Knee::Snapshot Read() const { return knee_.Read(); }

  // 8 workers of 3 ms each: calm at 2000/s, and full at 2667/s with `n` in flight.
  static Window Calm() { return {}; }
  Window Full(double refused = 0.2) const {
    const double n = plan_.limit;
    return {.rate = 8 / 0.003, .mean = n, .refused = refused, .in_flight = plan_.limit};
  }
  // Calm for a while, then overload until the first dip.
  void ReachDip() {
    Close(100, Calm());
    for (int i = 0; i < 100 && Read().mode != KneeMode::kDrain; ++i) Close(Full());
    ASSERT_EQ(Read().mode, KneeMode::kDrain);
  }

  KneeOptions options_;
  Knee knee_{options_};
  TimePoint now_{Duration(1h)};
  LimitPlan plan_ = knee_.Start(now_);
  std::deque<Events> events_;
};

TEST_F(KneeTest, ClosesSteadyWindowsAfterTimeAndCompletions) {
  EXPECT_EQ(plan_.limit, 20u);
  EXPECT_EQ(plan_.not_before, now_ + 100ms);
  EXPECT_EQ(plan_.completions, 20u);
  EXPECT_EQ(plan_.drained, LimitPlan::kNever);
  EXPECT_EQ(plan_.at_latest, TimePoint::max());
}

// In calm the limit is twice what the mean in flight needs, and the reference is the latency.
TEST_F(KneeTest, CalmKeepsTwiceWhatIsNeeded) {
  Close(200, Calm());
  EXPECT_NEAR(Read().knee, 6, 0.1);
  EXPECT_EQ(plan_.limit, 35u) << "2·(1.25·6 + 10)";
  EXPECT_NEAR(static_cast<double>(Read().reference_latency.count()), 3e6, 1e4);
}

// A queue is not a knee: with latency far above the reference the mean in flight teaches nothing.
TEST_F(KneeTest, QueueingIsNoKnee) {
  Close(200, Calm());
  Close(20, {.rate = 2000, .mean = 30});
  EXPECT_LT(Read().knee, 6.5);
  EXPECT_LT(Read().reference_latency, 3800us) << "and the reference follows slowly";
}

// One window of refusals is chance, two are overload: the limit drops to tight at once.
TEST_F(KneeTest, TwoLimitedWindowsAreOverload) {
  Close(200, Calm());
  Close({.rate = 2667, .mean = 35, .refused = 0.06});
  EXPECT_EQ(Read().mode, KneeMode::kCalm);
  EXPECT_EQ(plan_.limit, 35u);
  Close({.rate = 2667, .mean = 35, .refused = 0.06});
  EXPECT_EQ(Read().mode, KneeMode::kFull);
  EXPECT_EQ(plan_.limit, 17u) << "1.25·6 + 10";
  ASSERT_EQ(events_.back().size(), 1u);
  EXPECT_EQ(events_.back()[0].cause, Cause::kShareRefused);
  EXPECT_NEAR(events_.back()[0].value, 0.06, 0.005);
  EXPECT_EQ(events_.back()[0].threshold, 0.05);
}
TEST_F(KneeTest, AFreeWindowBetweenStartsTheCountAgain) {
  Close(200, Calm());
  for (int i = 0; i < 10; ++i) {
    Close({.rate = 2667, .mean = 35, .refused = 0.06});
    Close(Calm());
  }
  EXPECT_EQ(Read().mode, KneeMode::kCalm);
}

// Refused, and the service as fast as ever: the limit is too small.
TEST_F(KneeTest, RefusalsOfAFastServiceRaiseTheLimit) {
  Close(5, Calm());
  const double wanted = Read().wanted;
  Close({.rate = 6000, .mean = 18, .refused = 0.3});
  EXPECT_NEAR(Read().wanted, wanted * 1.5, 0.01);
  EXPECT_EQ(Read().mode, KneeMode::kCalm);
  EXPECT_EQ(events_.back()[0].cause, Cause::kGrowth);
}

// A batch workload fills the limiter now and then and leaves it empty between: no overload, though
// a third is refused, and the limit grows in small steps to four times the target.
TEST_F(KneeTest, BurstsAreNoOverload) {
  Close(200, Calm());
  Close(300, {.rate = 500, .mean = 5, .refused = 0.3});
  EXPECT_EQ(Read().mode, KneeMode::kCalm);
  EXPECT_GT(plan_.limit, 70u);
  EXPECT_LE(plan_.limit, 4 * 35u);
}

// X·S: 2667/s at full load and 3 ms in the dip are 8 calls, whatever the prior was.
TEST_F(KneeTest, ADipMeasuresTheKnee) {
  ReachDip();
  const std::uint32_t dip = plan_.limit;
  EXPECT_EQ(dip, Knee::DipLimit(Read().knee, false, 17));
  EXPECT_EQ(plan_.drained, dip);
  EXPECT_EQ(plan_.completions, LimitPlan::kNever);
  EXPECT_GT(plan_.at_latest, now_ + 50ms);
  EXPECT_LT(plan_.at_latest, now_ + 100ms);

  Close({.rate = 2667, .mean = 10, .length = 5ms, .in_flight = dip});
  EXPECT_EQ(Read().mode, KneeMode::kMeasure);
  EXPECT_EQ(plan_.limit, dip);
  EXPECT_EQ(plan_.not_before, TimePoint::min());
  EXPECT_EQ(plan_.completions, 5 * (dip + 1));

  const double rate = dip / 0.003;
  const Duration length(static_cast<std::int64_t>(5e9 * (dip + 1) / rate));
  Close({.rate = rate, .mean = static_cast<double>(dip), .length = length, .in_flight = dip});
  EXPECT_EQ(Read().mode, KneeMode::kFull);
  EXPECT_EQ(Read().dips, 1u);
  EXPECT_NEAR(Read().knee, 8, 0.2);
  EXPECT_NEAR(static_cast<double>(Read().reference_latency.count()), 3e6, 5e4);
  EXPECT_EQ(plan_.limit, static_cast<std::uint32_t>(Knee::Tight(Read().knee, 10)));
  EXPECT_EQ(events_.back()[0].cause, Cause::kMeasured);
}

// A dip that cost no throughput: the knee lies lower, and the next dip is deeper and comes soon.
TEST_F(KneeTest, AFreeDipIsFollowedByADeeperOne) {
  ReachDip();
  Close({.rate = 2667, .mean = 10, .length = 5ms, .in_flight = plan_.limit});
  const std::uint32_t first = plan_.limit;
  ASSERT_GT(first, 3u);
  Close({.rate = 2600, .mean = double(first), .length = 10ms, .in_flight = first});
  ASSERT_EQ(Read().mode, KneeMode::kFull);
  const TimePoint measured = now_;
  while (Read().mode != KneeMode::kDrain) Close(Full());
  EXPECT_LE(now_ - measured, 1200ms);
  EXPECT_EQ(plan_.limit, Knee::DipLimit(Read().knee, true, 1000));
}

// Permits that do not come back: the dip gives up, and what was known stays.
TEST_F(KneeTest, ADipThatDoesNotDrainGivesUp) {
  ReachDip();
  const double knee = Read().knee;
  Close({.rate = 0, .mean = 10, .length = 70ms, .in_flight = 10});
  EXPECT_EQ(Read().mode, KneeMode::kFull);
  EXPECT_EQ(Read().knee, knee);
  EXPECT_EQ(Read().dips, 0u);
  EXPECT_EQ(plan_.limit, 17u);
  const TimePoint gave_up = now_;
  while (Read().mode != KneeMode::kDrain) Close(Full());
  EXPECT_GE(now_ - gave_up, 2500ms);
  EXPECT_LE(now_ - gave_up, 7600ms);
}
// Too few ends, or a clock that stood still, measure nothing; a half is enough.
TEST_F(KneeTest, ADipWithTooLittleInItMeasuresNothing) {
  ReachDip();
  Close({.rate = 2667, .mean = 10, .length = 5ms, .in_flight = plan_.limit});
  Close({.rate = 100, .mean = 3, .length = 50ms, .in_flight = 3});
  EXPECT_EQ(Read().mode, KneeMode::kFull);
  EXPECT_EQ(Read().dips, 0u);
}
TEST_F(KneeTest, AClockThatStandsStillMeasuresNothing) {
  ReachDip();
  Close({.rate = 2667, .mean = 10, .length = 5ms, .in_flight = plan_.limit});
  LimitWindow window;
  window.begin = window.end = now_;
  window.limit = plan_.limit;
  window.completed = window.admitted = 100;
  plan_ = knee_.Close(window, events_.emplace_back());
  EXPECT_EQ(Read().dips, 0u);
  EXPECT_EQ(plan_.limit, 17u);
  EXPECT_TRUE(std::isfinite(Read().knee));
}
// A window that could not be measured ends the dip; the lowered limit does not stay.
TEST_F(KneeTest, StartEndsADip) {
  ReachDip();
  EXPECT_LT(plan_.limit, 17u);
  plan_ = knee_.Start(now_ + 24h);
  EXPECT_EQ(Read().mode, KneeMode::kFull);
  EXPECT_EQ(plan_.limit, 17u);
}

// Two quiet windows end the overload, one does not.
TEST_F(KneeTest, TwoFreeWindowsAreCalm) {
  Close(200, Calm());
  Close(2, Full());
  ASSERT_EQ(Read().mode, KneeMode::kFull);
  Close(Calm());
  EXPECT_EQ(Read().mode, KneeMode::kFull);
  Close(Calm());
  EXPECT_EQ(Read().mode, KneeMode::kCalm);
  EXPECT_EQ(plan_.limit, 35u);
  EXPECT_EQ(events_.back()[0].cause, Cause::kCalm);
}

// What we depend on sheds us: 0.9 of what was in flight, twice over at most, and back in small
// steps; the cap goes when it no longer binds.
TEST_F(KneeTest, OverloadOutcomesCutACap) {
  Close(200, Calm());
  Close({.rate = 2000, .mean = 12, .overloaded = 0.2});
  EXPECT_NEAR(Read().cap, 0.9 * 24, 0.01);
  EXPECT_EQ(plan_.limit, 21u);
  ASSERT_EQ(events_.back().size(), 1u);
  EXPECT_EQ(events_.back()[0].cause, Cause::kOverloadOutcomes);
  EXPECT_EQ(events_.back()[0].count, 40u);
  EXPECT_EQ(events_.back()[0].total, 200u);
  Close(Calm());
  EXPECT_NEAR(Read().cap, 0.9 * 24 * 1.02 + 0.1, 0.01);
  Close(200, Calm());
  EXPECT_GT(Read().cap, 1e17);
  for (int i = 0; i < 100; ++i) Close({.rate = 2000, .mean = 12, .overloaded = 1});
  EXPECT_GE(plan_.limit, 3u) << "or the limit of a dip";
  EXPECT_GE(Read().cap, 4);
}
// A tenth of the calls is no sign.
TEST_F(KneeTest, AFewOverloadOutcomesDoNot) {
  Close(200, Calm());
  Close(100, {.overloaded = 0.1});
  EXPECT_GT(Read().cap, 1e17);
}

// One limited window too many to count: no number may leave its range, whatever comes.
TEST_F(KneeTest, StaysInItsRange) {
  internal::SplitMix random(9);
  for (int i = 0; i < 200'000; ++i) {
    Close({.rate = random.Uniform(0, 1) < 0.1 ? 0 : std::exp(random.Uniform(0, 14)),
           .mean = random.Uniform(0, 1) < 0.1 ? 0 : random.Uniform(0, 2000),
           .refused = random.Uniform(0, 1) < 0.5 ? 0 : random.Uniform(0, 0.99),
           .overloaded = random.Uniform(0, 1) < 0.8 ? 0 : random.Uniform(0, 1),
           .length = Duration(static_cast<std::int64_t>(std::exp(random.Uniform(0, 25)))),
           .in_flight = static_cast<std::uint32_t>(random.Uniform(0, 1000))});
    events_.clear();
    const auto s = Read();
    const bool dip = s.mode == KneeMode::kDrain || s.mode == KneeMode::kMeasure;
    ASSERT_GE(plan_.limit, dip ? 1u : 4u);
    ASSERT_LE(plan_.limit, 1000u);
    ASSERT_TRUE(s.knee >= 0 && s.knee <= 1e6) << s.knee;
    ASSERT_TRUE(s.wanted >= 4 && s.wanted <= 1000) << s.wanted;
    ASSERT_TRUE(s.cap >= 4) << s.cap;
    ASSERT_GE(s.reference_latency, 0ns);
  }
}

// Servers that dip together lose capacity together: other seeds, other times, for the first dip and
// for those that follow.
class Dips {
 public:
  explicit Dips(const KneeOptions& options) : knee_(options), plan_(knee_.Start(now_)) {}

  // Closes windows of a service that has too much to do until a dip begins. Returns how long.
  Duration UntilNext() {
    const TimePoint begun = now_;
    for (int i = 0; knee_.Read().mode != KneeMode::kDrain && i < 10'000; ++i) Close(plan_.limit);
    EXPECT_EQ(knee_.Read().mode, KneeMode::kDrain);
    return now_ - begun;
  }
  // The dip does not drain, so that the usual interval follows.
  void GiveUp() { Close(plan_.drained + 1); }

 private:
  void Close(std::uint32_t in_flight) {
    LimitWindow window;
    window.begin = now_;
    window.end = now_ += 1ms;
    window.limit = plan_.limit;
    window.in_flight = in_flight;
    window.completed = window.admitted = 100;
    window.refused[0] = 50;
    window.area = plan_.limit * (first_ ? 0.0001 : 0.001);
    first_ = false;
    Events events;
    plan_ = knee_.Close(window, events);
  }

  TimePoint now_{Duration(1h)};
  Knee knee_;
  LimitPlan plan_;
  bool first_ = true;
};
TEST(Knee, DipsAreJittered) {
  std::set<Duration> first;
  std::set<Duration> second;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Dips dips({.seed = seed});
    first.insert(dips.UntilNext());
    dips.GiveUp();
    second.insert(dips.UntilNext());
  }
  EXPECT_GE(first.size(), 9u);
  EXPECT_GE(second.size(), 9u);
  EXPECT_GE(*second.begin(), 2500ms);
  EXPECT_LE(*second.rbegin(), 7501ms);
}
TEST(Knee, DipsWithoutJitterKeepTheInterval) {
  Dips dips({.dip_jitter = 0});
  dips.UntilNext();
  for (int i = 0; i < 3; ++i) {
    dips.GiveUp();
    EXPECT_EQ(dips.UntilNext(), 5s);
  }
}

}  // namespace
}  // namespace shed
