#include "shed/internal/usage_meter.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <random>

namespace shed::internal {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint At(Duration d) { return TimePoint(d); }
constexpr UsageTerms Terms(std::int64_t soft, Duration window) {
  const RateInTicks rate(soft, window);
  return {.soft = soft,
          .hard = soft,
          .window = window.count(),
          .longest_wait = 1,
          .max_delayed = 0,
          .ticks_per_ns = rate.ticks_per_ns,
          .ticks_per_unit = rate.ticks_per_unit};
}

TEST(UsageMeter, DrainsEvenlyAndExactly) {
  // Seven units in ten nanoseconds: none of the thirds and sevenths is rounded away.
  const UsageTerms terms = Terms(7, 10us);
  UsageMeter meter;
  for (int i = 0; i < 7; ++i) meter.Add(terms, 1, At(Duration(i)), At(Duration(i)));
  EXPECT_EQ(meter.LevelAt(terms, At(6ns)), terms.Ticks(7) - Int128{6} * terms.ticks_per_ns);
  EXPECT_EQ(meter.UnitsAt(terms, At(6ns)), 7u);
  const Duration empty = meter.Until(terms, 0, At(6ns)) + 6ns;
  EXPECT_EQ(empty, 10us);
  EXPECT_GT(meter.LevelAt(terms, At(empty - 1ns)), 0);
  EXPECT_EQ(meter.LevelAt(terms, At(empty)), 0);
}

TEST(UsageMeter, IsGoneAWindowAfterTheLatestUseBegan) {
  const UsageTerms terms = Terms(10, 10s);
  UsageMeter meter;
  meter.Add(terms, 1000, At(0s), At(3s));
  EXPECT_EQ(meter.UnitsAt(terms, At(3s)), 997u);
  EXPECT_EQ(meter.Until(terms, 0, At(1s)), 12s);
  EXPECT_EQ(meter.UnitsAt(terms, At(13s - 1ns)), 988u);
  EXPECT_EQ(meter.UnitsAt(terms, At(13s)), 0u);
}

TEST(UsageMeter, UndoBringsBackExactlyWhatWas) {
  const UsageTerms terms = Terms(7, 11s);
  UsageMeter meter;
  meter.Add(terms, 9, At(1s), At(1s));
  const Int128 level = meter.LevelAt(terms, At(2s));
  const Duration until = meter.Until(terms, 0, At(2s));
  const TimePoint first_before = meter.used_at();
  meter.Add(terms, 3, At(2s), At(5s));
  const std::uint64_t first = meter.added();
  const TimePoint second_before = meter.used_at();
  meter.Add(terms, 4, At(2s), At(6s));
  meter.Undo(terms, 4, meter.added(), second_before, At(2s));
  meter.Undo(terms, 3, first, first_before, At(2s));
  EXPECT_EQ(meter.LevelAt(terms, At(2s)), level);
  EXPECT_EQ(meter.Until(terms, 0, At(2s)), until);
  EXPECT_EQ(meter.added(), 9u);
}

TEST(UsageMeter, TakesBackOnlyWhatIsStillThere) {
  const UsageTerms terms = Terms(10, 10s);
  UsageMeter meter;
  meter.Add(terms, 5, At(0s), At(0s));
  const std::uint64_t mark = meter.added();
  meter.Add(terms, 8, At(2s), At(2s));
  // 13 - 3 are in use after three seconds, 8 of them another's.
  meter.TakeBack(terms, 5, mark, At(3s));
  EXPECT_EQ(meter.UnitsAt(terms, At(3s)), 8u);
}

TEST(UsageMeter, HoldsAtTheMostItCounts) {
  const UsageTerms terms = Terms(1, std::chrono::hours(24 * 366));
  UsageMeter meter;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(meter.Add(terms, kMost, At(0s), At(0s)), UsageMeter::kMostUnits);
  EXPECT_EQ(meter.Add(terms, kMost, At(0s), At(0s)), 0u);
  EXPECT_EQ(meter.UnitsAt(terms, At(0s)), UsageMeter::kMostUnits);
}

// Other options have other ticks; the units stay, rounded up by less than one of the new ticks.
TEST(UsageMeter, KeepsItsUnitsUnderOtherTerms) {
  std::mt19937_64 random(3);
  UsageMeter meter;
  meter.Add(Terms(10, 10s), 1'000'000, At(0s), At(0s));
  for (int i = 0; i < 1000; ++i) {
    const auto soft = static_cast<std::int64_t>(1 + random() % 1'000'000'000'000);
    const UsageTerms terms = Terms(soft, 10s + Duration(random() % 1'000'000'007));
    EXPECT_GE(meter.LevelAt(terms, At(0s)), terms.Ticks(1'000'000));
    EXPECT_LE(meter.LevelAt(terms, At(0s)),
              terms.Ticks(1'000'000) + terms.ticks_per_unit / 1000 + i);
    meter.Add(terms, 0, At(0s), At(0s));  // Written anew in these ticks.
  }
}

TEST(UsageMeter, AnOlderNowSeesItAsItWas) {
  const UsageTerms terms = Terms(10, 10s);
  UsageMeter meter;
  meter.Add(terms, 6, At(5s), At(5s));
  EXPECT_EQ(meter.UnitsAt(terms, At(1s)), 6u);
  meter.Add(terms, 1, At(1s), At(1s));
  EXPECT_EQ(meter.UnitsAt(terms, At(5s)), 7u);
  EXPECT_EQ(meter.used_at(), At(5s));
  EXPECT_EQ(meter.Until(terms, terms.Ticks(4), At(1s)), 4s + 3s);
}

TEST(UsageMeter, NothingOverflowsAtTheEndsOfTheTimeline) {
  const UsageTerms terms = Terms(1'000'000'000'000, std::chrono::hours(24 * 366));
  for (const TimePoint now : {TimePoint::min(), TimePoint(), TimePoint::max()}) {
    UsageMeter meter;
    meter.Add(terms, UsageMeter::kMostUnits, now, After(now, 24h));
    EXPECT_EQ(meter.UnitsAt(terms, now), UsageMeter::kMostUnits);
    for (const TimePoint then : {TimePoint::min(), TimePoint(), TimePoint::max()}) {
      EXPECT_GE(meter.Until(terms, 0, then), Duration(0));
      EXPECT_LE(meter.UnitsAt(terms, then), UsageMeter::kMostUnits);
    }
  }
}

}  // namespace
}  // namespace shed::internal
