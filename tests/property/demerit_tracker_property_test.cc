// DemeritTracker answers random traffic as the same rule written plainly does.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <type_traits>

#include "property/demerit_twin.h"
#include "shed/demerit_tracker.h"

namespace shed {
namespace {

constexpr Duration kCentury = std::chrono::hours(24) * 36525;

// One thread that plays many: each call takes the next number, as calls of different threads do.
struct ManyStripes : StdSync {
  static unsigned Stripe() noexcept {
    static thread_local unsigned next = 0;
    return next++;
  }
};

// What is done to a tracker, and how the time goes.
struct Plan {
  DemeritTrackerOptions options;
  std::size_t callers = 5;
  std::size_t most_held = 20;  // From here on a call ends before another is tried.
  int still = 70;              // Per cent of the calls that find the clock where it was.
  bool weighed = false;        // Some callers weigh more than others.
  bool configured = false;     // The options change now and then.
};

// Small steps, and those that end a window, a penalty or a unit of demerit on the nanosecond.
std::int64_t Step(const Plan& plan, std::mt19937_64& random) {
  if (random() % 100 < static_cast<std::uint64_t>(plan.still)) return 0;
  const std::int64_t window = plan.options.window.count();
  const std::int64_t penalty = plan.options.max_penalty.count();
  const auto around = static_cast<std::int64_t>(random() % 3) - 1;
  switch (random() % 16) {
    case 0:
      return 1;
    case 1:
      return window + around;
    case 2:
      return random() % 8 == 0 ? penalty + around : 0;
    case 3:
      return static_cast<std::int64_t>(1e9 / plan.options.decay_per_second) + around;
    case 4:
      return static_cast<std::int64_t>(0.5e9 / plan.options.decay_per_second) + around;
    case 5:
      return random() % 2000 == 0 ? kCentury.count() : 0;
    case 6:
    case 7:
      return window / 2;
    default:
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(window / 16 + 2));
  }
}

template <class Sync>
class Trial {
 public:
  Trial(const Plan& plan, std::uint64_t seed)
      : first_(plan.options), plan_(plan), random_(seed), twin_(plan.options) {
    clock_ = seed % 2 == 0 ? 0 : std::numeric_limits<std::int64_t>::min() / 2;
  }

  void Steps(int count) {
    for (int i = 0; i < count && twin_.difference().empty(); ++i) {
      clock_ = SaturatingAdd(clock_, std::max<std::int64_t>(Step(plan_, random_), 0));
      if (plan_.configured && random_() % 50 == 0) Configure();
      const std::uint64_t what = random_() % 100;
      if (twin_.held() > 0 && (what < 25 || twin_.held() >= plan_.most_held)) {
        Complete();
      } else if (twin_.held() > 0 && what < 35) {
        Cancel();
      } else {
        Ask();
      }
      if (i % 4 == 0) CompareAll(i % 16 == 0);  // The verdicts, always.
    }
    ASSERT_EQ(twin_.difference(), "");
  }
  void EndAll() {
    while (twin_.held() > 0) Complete();
    CompareAll(true);
    ASSERT_EQ(twin_.difference(), "");
    EXPECT_EQ(twin_.oracle().InUse(), 0u);
  }

  std::uint64_t admitted = 0, refused_share = 0, refused_budget = 0, hinted = 0;
  std::uint64_t hogs() const { return twin_.oracle().hogs(); }

 private:
  static TimePoint At(std::int64_t ns) { return TimePoint(Duration(ns)); }
  // Mostly the clock, now and then older. (Threads hold an older time against their own alone.)
  TimePoint SomeNow() {
    if (std::is_same_v<Sync, ManyStripes>) return At(clock_);
    const std::uint64_t r = random_() % 64;
    if (r == 0) return At(SaturatingAdd(clock_, -kCentury.count()));
    if (r < 4) return At(clock_ - static_cast<std::int64_t>(random_() % 10'000'000'000));
    return At(clock_);
  }
  std::uint64_t SomeCost() {
    const auto budget = static_cast<std::uint64_t>(plan_.options.budget);
    switch (random_() % 24) {
      case 0:
        return 0;
      case 1:
        return budget / 2;
      case 2:
        return budget - random_() % 3;
      case 3:
        return random_() % 2 == 0 ? budget + 1 : std::numeric_limits<std::uint64_t>::max();
      case 4:
      case 5:
      case 6:
        return 2 + random_() % 3;
      default:
        return 1;
    }
  }
  // The first callers ask most.
  std::string SomeCaller() {
    const std::size_t k = std::min(random_() % plan_.callers, random_() % plan_.callers);
    if (k == 0) return {};
    static constexpr const char* kNames[] = {"gold ", "caller ", "iron ", "caller ", "rich "};
    return (plan_.weighed ? kNames[k % 5] : "caller ") + std::to_string(k);
  }
  std::size_t SomeHeld() { return random_() % twin_.held(); }

  void Ask() {
    const std::string name = SomeCaller();
    const std::uint64_t cost = SomeCost();
    const Verdict verdict = twin_.Ask(name, cost, SomeNow());
    if (verdict.admitted()) {
      ++admitted;
    } else {
      (verdict.reason() == Reason::kFairShare ? refused_share : refused_budget) += 1;
    }
    if (verdict.retry_after()) ++hinted;
  }
  void Complete() {
    const std::size_t i = SomeHeld();
    twin_.Complete(i, random_() % 4 == 0);
  }
  void Cancel() {
    static constexpr Verdict kCauses[] = {
        Verdict::Refuse(Reason::kConcurrency), Verdict::Refuse(Reason::kQueueDelay),
        Verdict::Refuse(Reason::kRate, Duration(5)), Verdict::Refuse(Reason::kCircuitOpen),
        Verdict::Refuse(Reason::kRate, Duration(5), Scope::kCaller)};
    const std::size_t i = SomeHeld();
    const std::size_t cause = random_() % std::size(kCauses);
    twin_.Cancel(i, kCauses[cause], SomeNow());
  }

  // Each option stays, or is another; now and then all are as at first.
  void Configure() {
    DemeritTrackerOptions& o = plan_.options;
    const auto times = [this](auto value) {
      const auto grown = random_() % 3 == 0   ? value * 3
                         : random_() % 2 == 0 ? value
                                              : std::max(value / 2, decltype(value){1});
      return grown;
    };
    if (random_() % 4 == 0) {
      o = first_;
    } else {
      o.budget = std::min<std::int64_t>(times(o.budget), 1'000'000'000);
      o.window = std::clamp(times(o.window), Duration(1), Duration(kCentury / 1000));
      o.max_penalty = std::clamp(times(o.max_penalty), Duration(1), Duration(kCentury / 1000));
      o.decay_per_second = random_() % 2 == 0 ? 0.3 : 0.03;
      o.hog_threshold = random_() % 2 == 0 ? 3 : 1.5;
      o.demerit_per_denial = std::min(o.demerit_per_denial, o.hog_threshold);
      o.blame_victims = random_() % 4 == 0;
      o.max_callers = 1 + static_cast<std::int64_t>(random_() % 1000);  // Of no effect.
    }
    ASSERT_EQ(o.Problem(), "");
    twin_.Configure(o, SomeNow());
  }

  void CompareAll(bool also_later) {
    twin_.Compare(SomeCaller(), At(clock_));
    if (!also_later) return;
    const std::int64_t step = Step({.options = plan_.options, .still = 0}, random_);
    twin_.Compare(SomeCaller(), At(SaturatingAdd(clock_, step)));
    twin_.Compare(SomeCaller(), At(clock_));
  }

  const DemeritTrackerOptions first_;
  Plan plan_;
  std::mt19937_64 random_;
  BasicDemeritTwin<Sync> twin_;
  std::int64_t clock_ = 0;
};

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

const Plan kPlans[] = {
    // The defaults, with a budget that is soon used up.
    {.options = {.budget = 8}},
    {.options = {.budget = 40}, .callers = 10, .most_held = 60},
    {.options = {.budget = 8, .blame_victims = true, .seed = 7}, .still = 40},
    {.options = {.budget = 1}, .callers = 3},
    {.options = {.budget = 3}, .callers = 20, .most_held = 4, .still = 95},
    // More callers than places, many and few of them.
    {.options = {.budget = 16, .max_callers = 1}, .callers = 3},
    {.options = {.budget = 16, .max_callers = 3}, .callers = 12, .still = 50},
    {.options = {.budget = 64, .window = milliseconds(200), .max_callers = 24},
     .callers = 60,
     .most_held = 80},
    {.options = {.budget = 12, .max_callers = 5, .blame_victims = true}, .callers = 9, .still = 30},
    // A penalty shorter than the window, and one that demerit outlives.
    {.options = {.budget = 8, .window = seconds(10), .max_penalty = seconds(2)}, .still = 50},
    {.options = {.budget = 8, .decay_per_second = 0.01, .max_callers = 4}, .callers = 8},
    // One strike, fractions, a large budget, the shortest times.
    {.options = {.budget = 8, .demerit_per_denial = 2.5, .hog_threshold = 0.25}, .callers = 6},
    {.options = {.budget = 30, .demerit_per_denial = 0.37, .decay_per_second = 1.7}, .callers = 4},
    {.options = {.budget = 1'000'000'000, .max_callers = 4}, .callers = 6},
    // Where threads keep units, by the ones and by the hundred.
    {.options = {.budget = 33}, .callers = 12, .most_held = 30},
    {.options = {.budget = 4000}, .callers = 30, .most_held = 300},
    {.options = {.budget = 8, .window = Duration(1), .max_penalty = Duration(1)}, .still = 80},
    // Callers of different weights.
    {.options = {.budget = 40}, .callers = 10, .most_held = 60, .weighed = true},
    {.options = {.budget = 1000, .max_callers = 5},
     .callers = 12,
     .most_held = 300,
     .still = 40,
     .weighed = true},
    {.options = {.budget = 3}, .callers = 6, .most_held = 6, .weighed = true},
    // Other options, again and again.
    {.options = {.budget = 8}, .configured = true},
    {.options = {.budget = 40},
     .callers = 10,
     .most_held = 60,
     .weighed = true,
     .configured = true},
    {.options = {.budget = 16, .max_callers = 3}, .callers = 12, .still = 50, .configured = true},
    {.options = {.budget = 4000}, .callers = 30, .most_held = 300, .configured = true},
    {.options = {.budget = 8, .window = Duration(100), .max_penalty = Duration(1000)},
     .still = 30,
     .configured = true},
    {.options = {.budget = 8, .window = hours(24), .max_penalty = hours(1)},
     .callers = 20,
     .still = 60,
     .weighed = true,
     .configured = true},
};

template <class Sync>
class DemeritTrackerProperty : public testing::Test {};
using Syncs = testing::Types<StdSync, NoSync, ManyStripes>;
TYPED_TEST_SUITE(DemeritTrackerProperty, Syncs);

TYPED_TEST(DemeritTrackerProperty, AgreesWithAPlainScanOfAllCallers) {
  std::uint64_t operations = 0, admitted = 0, share = 0, budget = 0, hinted = 0, hogs = 0;
  for (std::size_t p = 0; p < std::size(kPlans); ++p) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      SCOPED_TRACE(::testing::Message() << "plan " << p << ", seed " << seed);
      constexpr int kSteps = 14'000;
      Trial<TypeParam> trial(kPlans[p], seed);
      trial.Steps(kSteps);
      if (this->HasFatalFailure()) return;
      trial.EndAll();
      operations += kSteps;
      admitted += trial.admitted;
      share += trial.refused_share;
      budget += trial.refused_budget;
      hinted += trial.hinted;
      hogs += trial.hogs();
    }
  }
  // Every kind of answer was compared often.
  EXPECT_GE(operations, 1'000'000u);
  EXPECT_GE(admitted, 100'000u);
  EXPECT_GE(share, 50'000u);
  EXPECT_GE(budget, 50'000u);
  EXPECT_GE(hinted, 10'000u);
  EXPECT_GE(hogs, 1000u);
  this->RecordProperty("admitted", std::to_string(admitted));
}

}  // namespace
}  // namespace shed
