// UsageThrottle answers random traffic as the same rule written plainly does.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "property/usage_twin.h"
#include "shed/internal/usage_meter.h"
#include "shed/usage_throttle.h"

namespace shed {
namespace {

using namespace std::chrono_literals;
constexpr Duration kCentury = std::chrono::hours(24) * 36525;

// What is done to a throttle, and how the time goes.
struct Plan {
  UsageThrottleOptions options;
  std::size_t callers = 4;
  std::size_t most_held = 12;  // From here on a call ends before another is tried.
  int still = 60;              // Per cent of the calls that find the clock where it was.
};

template <class Sync>
class Trial {
 public:
  Trial(const Plan& plan, std::uint64_t seed) : plan_(plan), random_(seed), twin_(plan.options) {
    clock_ = seed % 2 == 0 ? 0 : std::numeric_limits<std::int64_t>::min() / 2;
  }

  void Steps(int count) {
    for (int i = 0; i < count && twin_.difference().empty(); ++i) {
      clock_ = SaturatingAdd(clock_, Step());
      const std::uint64_t what = random_() % 100;
      if (twin_.held() > 0 && (what < 20 || twin_.held() >= plan_.most_held)) {
        twin_.Complete(SomeHeld(), random_() % 4 == 0);
      } else if (twin_.held() > 0 && what < 40) {
        twin_.Charge(SomeHeld(), SomeUnits(), SomeNow());
        ++charged;
      } else if (twin_.held() > 0 && what < 50) {
        twin_.Cancel(SomeHeld(), SomeNow());
      } else if (what == 50) {
        Configure();
      } else {
        Ask();
      }
      if (i % 4 == 0) CompareAll(i % 16 == 0);  // The verdicts, always.
    }
    ASSERT_EQ(twin_.difference(), "");
  }
  void EndAll() {
    while (twin_.held() > 0) twin_.Complete(SomeHeld(), true);
    CompareAll(true);
    ASSERT_EQ(twin_.difference(), "");
  }

  std::uint64_t at_once = 0, delayed = 0, refused = 0, charged = 0, shared = 0;
  std::uint64_t events() const { return twin_.oracle().events(); }

 private:
  static TimePoint At(std::int64_t ns) { return TimePoint(Duration(ns)); }
  // Small steps, and those that end a window, a wait or a unit on the nanosecond.
  std::int64_t Step() {
    if (random_() % 100 < static_cast<std::uint64_t>(plan_.still)) return 0;
    const std::int64_t window = plan_.options.window.count();
    const std::int64_t unit = window / plan_.options.soft;
    const auto around = static_cast<std::int64_t>(random_() % 3) - 1;
    switch (random_() % 16) {
      case 0:
        return 1;
      case 1:
        return window + around;
      case 2:
        return std::max<std::int64_t>(plan_.options.longest_wait.count() + around, 0);
      case 3:
        return std::max<std::int64_t>(unit + around, 0);
      case 4:
        return random_() % 500 == 0 ? kCentury.count() : 0;
      default:
        return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(4 * unit + 2));
    }
  }
  // Mostly the clock, now and then older.
  TimePoint SomeNow() {
    const std::uint64_t r = random_() % 64;
    if (r == 0) return At(SaturatingAdd(clock_, -kCentury.count()));
    if (r < 6) {
      return At(SaturatingAdd(
          clock_, -static_cast<std::int64_t>(
                      random_() % static_cast<std::uint64_t>(2 * plan_.options.window.count()))));
    }
    return At(clock_);
  }
  std::uint64_t SomeUnits() {
    const auto soft = static_cast<std::uint64_t>(plan_.options.soft);
    switch (random_() % 32) {
      case 0:
        return 0;
      case 1:
        return soft;
      case 2:
        return soft + random_() % 3;
      case 3:
        return random_() % 2 == 0 ? static_cast<std::uint64_t>(plan_.options.hard) + 1
                                  : std::numeric_limits<std::uint64_t>::max();
      case 4:
      case 5:
        return random_() % (soft + 1);
      default:
        return random_() % 4;
    }
  }
  Duration SomeWait() {
    switch (random_() % 8) {
      case 0:
        return -1s;
      case 1:
        return Duration::max();
      case 2:
      case 3:
        return Duration(0);
      default:
        return Duration(random_() %
                        static_cast<std::uint64_t>(2 * plan_.options.longest_wait.count()));
    }
  }
  std::string SomeCaller() {
    const std::size_t k = std::min(random_() % plan_.callers, random_() % plan_.callers);
    return k == 0 ? std::string() : "caller " + std::to_string(k);
  }
  std::size_t SomeHeld() { return random_() % twin_.held(); }

  void Ask() {
    const Verdict verdict = twin_.Ask(SomeCaller(), SomeUnits(), SomeWait(), SomeNow());
    (!verdict.admitted() ? refused : verdict.wait() > Duration(0) ? delayed : at_once) += 1;
    if (twin_.oracle().shared().in_flight > 0) ++shared;
  }
  void Configure() {
    const UsageThrottleOptions& o = plan_.options;
    const std::uint64_t r = random_();
    twin_.Configure(r % 2 == 0 ? o.hard : o.soft + static_cast<std::int64_t>(r / 2 % 10),
                    r / 32 % 2 == 0 ? o.longest_wait : o.longest_wait / 2 + 1us,
                    r / 64 % 2 == 0 ? o.max_delayed
                                    : static_cast<std::int64_t>(
                                          r / 128 % static_cast<std::uint64_t>(o.max_delayed + 1)));
  }
  void CompareAll(bool also_later) {
    twin_.Compare(SomeCaller(), At(clock_));
    if (!also_later) return;
    twin_.Compare(SomeCaller(), At(SaturatingAdd(clock_, Step())));
    twin_.Compare(SomeCaller(), SomeNow());
  }

  const Plan plan_;
  std::mt19937_64 random_;
  BasicUsageTwin<Sync> twin_;
  std::int64_t clock_ = 0;
};

const Plan kPlans[] = {
    {.options = {.max_callers = 8}},
    {.options = {.soft = 10, .hard = 20, .window = 10s, .longest_wait = 3s, .max_callers = 8}},
    // Nothing cancels: a tick is no whole part of a nanosecond.
    {.options = {.soft = 7, .hard = 23, .window = 10'007us, .longest_wait = 5ms, .max_callers = 8}},
    // P23, and its like: few may wait, and wait for longer than the window.
    {.options = {.soft = 1, .hard = 100, .window = 1s, .max_delayed = 5, .max_callers = 8}},
    {.options = {.soft = 3, .hard = 50, .window = 1s, .max_delayed = 1, .max_callers = 8},
     .still = 80},
    // Nobody waits; nobody is delayed.
    {.options = {.soft = 5, .hard = 9, .window = 1s, .max_delayed = 0, .max_callers = 8}},
    {.options = {.soft = 12, .hard = 12, .window = 1s, .max_callers = 8}},
    // More callers than places, few and many of them.
    {.options = {.soft = 4, .hard = 12, .window = 1s, .max_callers = 1}, .callers = 3, .still = 30},
    {.options = {.soft = 4, .hard = 12, .window = 1s, .longest_wait = 2s, .max_callers = 3},
     .callers = 9,
     .still = 40},
    {.options = {.soft = 20, .hard = 40, .window = 1s, .max_callers = 8},
     .callers = 30,
     .most_held = 40},
    // The ends of the ranges.
    {.options = {.soft = 1, .hard = 1, .window = 1us, .longest_wait = 1us, .max_callers = 2}},
    {.options = {.soft = 999'999'999'989,
                 .hard = 1'000'000'000'000,
                 .window = std::chrono::hours(24 * 366) - 1ns,
                 .longest_wait = 24h,
                 .max_callers = 4},
     .callers = 6},
};

template <class Sync>
class UsageThrottleProperty : public testing::Test {};
using Syncs = testing::Types<StdSync, NoSync>;
TYPED_TEST_SUITE(UsageThrottleProperty, Syncs);

TYPED_TEST(UsageThrottleProperty, AgreesWithAPlainScanOfAllCallers) {
  std::uint64_t at_once = 0, delayed = 0, refused = 0, charged = 0, shared = 0, events = 0;
  for (std::size_t p = 0; p < std::size(kPlans); ++p) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      SCOPED_TRACE(::testing::Message() << "plan " << p << ", seed " << seed);
      Trial<TypeParam> trial(kPlans[p], seed);
      trial.Steps(20'000);
      if (this->HasFatalFailure()) return;
      trial.EndAll();
      at_once += trial.at_once;
      delayed += trial.delayed;
      refused += trial.refused;
      charged += trial.charged;
      shared += trial.shared;
      events += trial.events();
    }
  }
  // Every kind of answer was compared often.
  EXPECT_GE(at_once, 100'000u);
  EXPECT_GE(delayed, 10'000u);
  EXPECT_GE(refused, 50'000u);
  EXPECT_GE(charged, 100'000u);
  EXPECT_GE(shared, 50'000u);
  EXPECT_GE(events, 10'000u);
}

// Refunds never pay for the use of other calls: at any time at least as much is in use as if each
// call had cost from the start what it was settled at.
TEST(UsageMeterProperty, NoRefundLaundersUse) {
  struct Add {
    std::int64_t at;
    std::uint64_t units;
    std::uint64_t mark;
  };
  std::uint64_t refunds = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    const auto soft = static_cast<std::int64_t>(1 + random() % 9);
    const internal::RateInTicks rate(soft, 10us);
    // Nothing is forgotten before the end: a refund would then give back what is gone altogether.
    const internal::UsageTerms terms{.soft = soft,
                                     .hard = soft,
                                     .window = 3600'000'000'000,
                                     .longest_wait = 1,
                                     .max_delayed = 0,
                                     .ticks_per_ns = rate.ticks_per_ns,
                                     .ticks_per_unit = rate.ticks_per_unit};
    internal::UsageMeter meter;
    std::vector<Add> adds;
    std::int64_t clock = 0;
    for (int i = 0; i < 400; ++i) {
      clock += static_cast<std::int64_t>(random() % 8'000);
      const TimePoint now{Duration(clock)};
      const std::size_t k = adds.empty() ? 0 : random() % adds.size();
      if (adds.empty() || random() % 2 == 0) {
        const std::uint64_t units = 1 + random() % 12;
        meter.Add(terms, units, now, now);
        adds.push_back({clock, units, meter.added()});
      } else if (adds[k].units > 0) {
        const std::uint64_t back = 1 + random() % adds[k].units;
        const auto before = meter.LevelAt(terms, now);
        meter.TakeBack(terms, back, adds[k].mark, now);
        if (meter.LevelAt(terms, now) < before) ++refunds;
        adds[k].units -= back;
      }
      // Use that drains is that of the longest spell without a pause, up to now.
      internal::Int128 sum = 0;
      internal::Int128 least = 0;
      for (std::size_t j = adds.size(); j-- > 0;) {
        sum += terms.Ticks(adds[j].units);
        least = std::max(least, sum - internal::Int128{terms.ticks_per_ns} * (clock - adds[j].at));
      }
      ASSERT_GE(meter.LevelAt(terms, now), least) << "seed " << seed << ", step " << i;
    }
  }
  EXPECT_GT(refunds, 5000u);
}

}  // namespace
}  // namespace shed
