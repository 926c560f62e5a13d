#include "shed/internal/clock_line.h"

#include <gtest/gtest.h>

#include <limits>

namespace shed::internal {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kHour = 3'600'000 * kMs;
// 2 counts per ns, each measurement 50 ns wide.
constexpr std::uint64_t kRate = std::uint64_t{1} << 31;
constexpr ClockSample At(std::int64_t ns, std::int64_t width = 50) {
  return {.count = 1'000 + 2 * static_cast<std::uint64_t>(ns), .at = ns, .width = width};
}
// The line on the counter that two measurements a while apart give.
constexpr ClockLine Calibrated() {
  return ClockLine::First(At(0)).Next(At(3 * kMs)).Next(At(6 * kMs));
}

// The rule, at compile time.
static_assert(!ClockLine::First(At(0)).on_counter());
static_assert(!ClockLine::First(At(0)).Next(At(3 * kMs)).on_counter());
static_assert(Calibrated().on_counter());
static_assert(Calibrated().rate == kRate && Calibrated().slope == kRate);
static_assert(Calibrated().At(2'000) == 6 * kMs + 1'000);

TEST(ClockLine, StartsOnTheReferenceUntilTheRateCanBeExact) {
  const ClockLine line = ClockLine::First(At(7, 50));
  EXPECT_EQ(line.begin, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(line.end, 7 + 51 * 2 * 20'000);
  // 20'000 times the uncertainty, of 51 ns, is not over: no rate, and the anchor stays.
  const ClockLine early = line.Next(At(7 + 1'000'000));
  EXPECT_EQ(early.rate, 0U);
  EXPECT_EQ(early.at, 7);
  EXPECT_EQ(early.Next(At(7 + 51 * 20'000)).rate, kRate);
}

TEST(ClockLine, ALineLastsTwiceTheTimeOfItsRateWithinBounds) {
  ClockLine line = Calibrated();
  EXPECT_EQ(line.end - line.begin, 6 * kMs);
  EXPECT_EQ(line.span, 12'000'000U);
  line = line.Next(At(line.end));
  EXPECT_EQ(line.end - line.begin, 12 * kMs);
  for (int i = 0; i < 5; ++i) line = line.Next(At(line.end));
  EXPECT_EQ(line.end - line.begin, ClockLine::kLongest);
  line = line.Next(At(line.end + kHour));
  EXPECT_TRUE(line.on_counter());
  EXPECT_EQ(line.end - line.begin, ClockLine::kLongest);
}

// The counter may be at any frequency of use: the product of a line's largest offset with its slope
// stays within 64 bits, and its rate is exact to 5 parts in 10^9.
TEST(ClockLine, FitsFrequenciesFromOneMegahertzToTenGigahertz) {
  for (const std::uint64_t hertz : {1'000'000ULL, 19'200'000ULL, 24'000'000ULL, 1'000'000'000ULL,
                                    2'100'000'000ULL, 10'000'000'000ULL}) {
    SCOPED_TRACE(hertz);
    const auto at = [&](std::int64_t ns) {
      const Int128 counts = Int128{ns} * hertz / 1'000'000'000;
      return ClockSample{.count = static_cast<std::uint64_t>(counts), .at = ns, .width = 50};
    };
    // A second each: one count more or less is no error of the rate then.
    ClockLine line = ClockLine::First(at(0)).Next(at(1'000 * kMs)).Next(at(2'000 * kMs));
    ASSERT_TRUE(line.on_counter());
    EXPECT_NEAR(static_cast<double>(line.rate) * static_cast<double>(hertz), 1e9 * 0x1p32,
                1e9 * 0x1p32 * 5e-9);
    EXPECT_LE(Int128{line.span} * line.slope, Int128{ClockLine::kLongest} << ClockLine::kShift);
    EXPECT_NEAR(static_cast<double>(line.At(line.span) - line.begin),
                static_cast<double>(ClockLine::kLongest), 1'001);
  }
}

TEST(ClockLine, TooSlowACounterIsNotUsed) {
  ClockLine line = ClockLine::First({.count = 0, .at = 0, .width = 50});
  for (std::uint64_t i = 1; i < 50; ++i) {
    const std::int64_t at = line.end + static_cast<std::int64_t>(i);
    line =
        line.Next({.count = static_cast<std::uint64_t>(at / (200 * kMs)), .at = at, .width = 50});
    ASSERT_FALSE(line.on_counter());
  }
}

TEST(ClockLine, WaitsForAReferenceThatIsBehind) {
  // The counter ran 200 ppm fast: the readings are 1200 ns ahead of the reference.
  const ClockLine before = Calibrated();
  const std::int64_t behind = before.end - 1'200;
  const ClockLine line =
      before.Next({.count = before.count + before.span, .at = behind, .width = 50});
  ASSERT_TRUE(line.on_counter());
  EXPECT_EQ(line.begin, before.end);
  EXPECT_LT(line.slope, line.rate);
  // At its end the two have met.
  EXPECT_NEAR(static_cast<double>(line.end),
              static_cast<double>(behind) + static_cast<double>(line.span * line.rate >> 32), 2);
}

TEST(ClockLine, StepsToAReferenceThatIsAhead) {
  const ClockLine before = Calibrated();
  const ClockLine line =
      before.Next({.count = before.count + before.span, .at = before.end + 1'200, .width = 50});
  ASSERT_TRUE(line.on_counter());
  EXPECT_EQ(line.begin, before.end + 1'200);
  EXPECT_EQ(line.slope, line.rate);
}

TEST(ClockLine, AJumpFitsNoRate) {
  const ClockLine before = Calibrated();
  const std::uint64_t due = before.count + before.span;
  const ClockSample jumps[] = {
      {.count = due + 1'000'000, .at = before.end, .width = 50},      // counter ahead
      {.count = due + 2 * kHour, .at = before.end, .width = 50},      // suspended
      {.count = due, .at = before.end + kHour, .width = 50},          // counter stood still
      {.count = before.count - 1, .at = before.end, .width = 50},     // counter back
      {.count = 0, .at = before.end, .width = 50},                    // counter reset
      {.count = before.count, .at = before.end, .width = 50},         // counter stopped
      {.count = due + 10'000, .at = before.at - kHour, .width = 50},  // reference back
      {.count = due + (std::uint64_t{1} << 62), .at = before.end, .width = 50},
  };
  for (const ClockSample& now : jumps) {
    SCOPED_TRACE(now.count);
    SCOPED_TRACE(now.at);
    ClockLine line = before.Next(now);
    EXPECT_FALSE(line.on_counter());
    EXPECT_EQ(line.begin, before.end);
    EXPECT_GE(line.end, line.begin);
    // Two more measurements that agree, and it is back on the counter.
    for (int i = 0; i < 2; ++i) {
      const std::int64_t later = std::max(line.end, now.at + 3 * kMs);
      line = line.Next({.count = now.count + 2 * static_cast<std::uint64_t>(later - now.at),
                        .at = later,
                        .width = 50});
    }
    EXPECT_TRUE(line.on_counter());
  }
}

TEST(ClockLine, KeepsTheBetterOfTwoMeasurements) {
  // A bracket of 1 ms says nothing over 2 ms; the one before it stays, with the rate.
  const ClockLine line = Calibrated();
  const ClockLine after = line.Next(At(line.end, kMs));
  EXPECT_FALSE(after.on_counter());
  EXPECT_EQ(after.rate, line.rate);
  EXPECT_EQ(after.at, line.at);
  EXPECT_TRUE(after.Next(At(after.end)).on_counter());
  // And a first one that was bad goes.
  const ClockLine first = ClockLine::First(At(0, 5 * kMs));
  EXPECT_EQ(first.Next(At(1'000 * kMs)).at, 1'000 * kMs);
}

// What makes the clock never go back: no reading of a line is above its end, and none of the next
// below it.
TEST(ClockLine, LinesFollowEachOtherWithoutGoingBack) {
  std::uint64_t random = 1;
  const auto draw = [&](std::uint64_t n) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    return (random >> 33) % n;
  };
  int on_counter = 0;
  for (int run = 0; run < 200; ++run) {
    std::uint64_t count = draw(2) == 0 ? 0 - draw(100'000'000) : draw(1'000'000'000);
    std::int64_t at = static_cast<std::int64_t>(draw(1'000'000'000));
    ClockLine line = ClockLine::First({.count = count, .at = at, .width = 50});
    for (int i = 0; i < 500; ++i) {
      const std::int64_t taken = static_cast<std::int64_t>(1 + draw(20'000'000));
      at += taken;
      // 3 GHz, give or take 300 ppm; now and then it jumps either way.
      count += static_cast<std::uint64_t>(taken) * (29'991 + draw(19)) / 10'000;
      if (draw(50) == 0) count += draw(1'000'000'000) - 500'000'000;
      const ClockLine next =
          line.Next({.count = count, .at = at, .width = static_cast<std::int64_t>(draw(200))});
      ASSERT_GE(next.begin, line.end);
      ASSERT_GE(next.end, next.begin);
      if (next.on_counter()) {
        ++on_counter;
        ASSERT_EQ(next.At(0), next.begin);
        ASSERT_EQ(next.At(next.span), next.end);
        ASSERT_LE(next.end - next.begin, ClockLine::kLongest);
      }
      line = next;
    }
  }
  EXPECT_GT(on_counter, 20'000);
}

}  // namespace
}  // namespace shed::internal
