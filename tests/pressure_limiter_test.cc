#include "shed/pressure_limiter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <thread>
#include <vector>

#include "shed/limiter.h"

namespace shed {
namespace {

using namespace std::chrono_literals;
using O = PressureLimiterOptions;
constexpr TimePoint kNow{1h};
constexpr Criticality kClasses[] = {Criticality::kSheddable, Criticality::kSheddablePlus,
                                    Criticality::kCritical, Criticality::kCriticalPlus};

// ---- The rule ----

constexpr double Share(double reading, Criticality criticality, Criticality sheddable) {
  return PressureLimiter::Share({.low = 60, .high = 90, .sheddable = sheddable}, reading,
                                criticality);
}
constexpr auto kAll = Criticality::kCritical;
static_assert(Share(60, Criticality::kSheddable, kAll) == 0);
static_assert(Share(65, Criticality::kSheddable, kAll) == 0.5);
static_assert(Share(70, Criticality::kSheddable, kAll) == 1);
static_assert(Share(70, Criticality::kSheddablePlus, kAll) == 0);
static_assert(Share(75, Criticality::kSheddablePlus, kAll) == 0.5);
static_assert(Share(80, Criticality::kCritical, kAll) == 0);
static_assert(Share(85, Criticality::kCritical, kAll) == 0.5);
static_assert(Share(90, Criticality::kCritical, kAll) == 1);
static_assert(Share(1e15, Criticality::kCritical, kAll) == 1);
static_assert(Share(1e15, Criticality::kCriticalPlus, kAll) == 0);
static_assert(Share(-1e15, Criticality::kSheddable, kAll) == 0);
// With one class to shed, it has the whole way.
static_assert(Share(75, Criticality::kSheddable, Criticality::kSheddable) == 0.5);
static_assert(Share(90, Criticality::kSheddablePlus, Criticality::kSheddable) == 0);
// A class cast from outside the four is the least critical.
static_assert(Share(65, static_cast<Criticality>(99), kAll) == 0.5);

int Refused(PressureLimiter& limiter, Criticality criticality, TimePoint now, int calls = 1000) {
  int refused = 0;
  for (int i = 0; i < calls; ++i) {
    refused += limiter.Admit({.criticality = criticality}, now).admitted() ? 0 : 1;
  }
  return refused;
}
std::string_view Set(PressureLimiter& limiter, double reading, TimePoint now = kNow) {
  Events events;
  return limiter.Set(reading, now, events);
}

TEST(PressureLimiter, BeforeTheFirstReadingNothingIsRefused) {
  PressureLimiter limiter({.low = -1, .high = 0});  // 0 would shed everything.
  EXPECT_EQ(Refused(limiter, Criticality::kSheddable, kNow), 0);
  EXPECT_FALSE(limiter.Read(kNow).valid);
}

TEST(PressureLimiter, TheLessCriticalGoFirst) {
  PressureLimiter limiter({.low = 0.6, .high = 0.9});
  Set(limiter, 0.75);
  EXPECT_EQ(Refused(limiter, Criticality::kSheddable, kNow), 1000);
  const int half = Refused(limiter, Criticality::kSheddablePlus, kNow, 100'000);
  EXPECT_GT(half, 49'000);
  EXPECT_LT(half, 51'000);
  EXPECT_EQ(Refused(limiter, Criticality::kCritical, kNow), 0);
  EXPECT_EQ(limiter.Admit({.criticality = Criticality::kSheddable}, kNow),
            Verdict::Refuse(Reason::kPressure));
  Set(limiter, 0.9);
  EXPECT_EQ(Refused(limiter, Criticality::kCritical, kNow), 1000);
  EXPECT_EQ(Refused(limiter, Criticality::kCriticalPlus, kNow), 0);
  Set(limiter, 0.6);
  for (const Criticality c : kClasses) EXPECT_EQ(Refused(limiter, c, kNow), 0);
}

TEST(PressureLimiter, AStaleReadingShedsNothing) {
  PressureLimiter limiter({.valid_for = 5s});
  Set(limiter, 2);
  EXPECT_EQ(Refused(limiter, Criticality::kCritical, kNow + 5s), 1000);
  EXPECT_EQ(Refused(limiter, Criticality::kCritical, kNow + 5s + 1ns), 0);
  EXPECT_FALSE(limiter.Read(kNow + 6s).valid);
  EXPECT_EQ(limiter.Read(kNow + 6s).refused[0], 0);
  // A `now` from before the reading is no older than it; a clock at its end makes it stale.
  EXPECT_EQ(Refused(limiter, Criticality::kCritical, kNow - 1h), 1000);
  EXPECT_EQ(Refused(limiter, Criticality::kCritical, TimePoint::max()), 0);
}

TEST(PressureLimiter, TellsWhenRefusingBeginsAndEnds) {
  PressureLimiter limiter({});
  Events events;
  limiter.Set(0.5, kNow, events);
  EXPECT_TRUE(events.empty());
  limiter.Set(0.8, kNow, events);
  limiter.Set(0.85, kNow, events);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, EventKind::kPressureRose);
  EXPECT_EQ(events[0].value, 0.8);
  EXPECT_EQ(events[0].threshold, 0.7);
  limiter.Set(0.7, kNow, events);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].kind, EventKind::kPressureFell);
  // Stale in between: it had ended.
  limiter.Set(0.8, kNow, events);
  limiter.Set(0.8, kNow + 1h, events);
  EXPECT_EQ(events.size(), 4u);
}

TEST(PressureLimiter, ABadReadingChangesNothing) {
  PressureLimiter limiter({});
  Set(limiter, 2);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity}) {
    EXPECT_EQ(Set(limiter, bad, kNow + 4s), "reading: want a finite number");
  }
  EXPECT_EQ(limiter.Read(kNow).reading, 2);
  EXPECT_FALSE(limiter.Read(kNow + 6s).valid);
  EXPECT_EQ(Set(limiter, std::numeric_limits<double>::max()), "reading: want a finite number");
  EXPECT_EQ(Set(limiter, -1e300), "");
  EXPECT_EQ(Refused(limiter, Criticality::kSheddable, kNow), 0);
}

TEST(PressureLimiter, ConfigureKeepsTheReading) {
  PressureLimiter limiter({});
  Set(limiter, 0.5);
  EXPECT_EQ(limiter.Configure({.low = 0.1, .high = 0.2}, kNow), "");
  EXPECT_EQ(Refused(limiter, Criticality::kCritical, kNow), 1000);
  EXPECT_EQ(limiter.Configure({.low = 0.3, .high = 0.2}, kNow), "high: want above low, to 1e15");
  EXPECT_EQ(Refused(limiter, Criticality::kCritical, kNow), 1000);
}

TEST(PressureLimiter, ReachedThroughALimiter) {
  Limiter<PressureLimiter> limiter(PressureLimiterOptions{});
  const auto set = [](double reading) {
    return [reading](PressureLimiter& pressure, TimePoint now, Events& events) {
      return pressure.Set(reading, now, events);
    };
  };
  EXPECT_EQ(limiter.Apply<PressureLimiter>(set(1)), "");
  EXPECT_EQ(limiter.TryAdmit().rejection().reason(), Reason::kPressure);
  EXPECT_EQ(limiter.Apply<PressureLimiter>(set(0)), "");
  EXPECT_TRUE(limiter.TryAdmit());
}

// Half of one reading and half of another would be one that nobody made.
TEST(PressureLimiter, ThreadsReadingsAndConfigure) {
  PressureLimiter limiter({.low = 1, .high = 2, .valid_for = 1s});
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      // A reading of 0 is new, one of 5 is stale: none sheds.
      for (int i = 0; i < 20'000; ++i) {
        if (!limiter.Admit({.criticality = Criticality::kSheddable}, kNow).admitted()) ++refused;
      }
    });
  }
  threads.emplace_back([&] {
    for (int i = 0; i < 20'000; ++i) {
      Set(limiter, 0, kNow);
      Set(limiter, 5, kNow - 1h);
    }
  });
  threads.emplace_back([&] {
    for (int i = 0; i < 20'000; ++i) {
      const double low = 1 + i % 2;
      EXPECT_EQ(limiter.Configure({.low = low, .high = low + 1, .valid_for = 1s}, kNow), "");
    }
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused.load(), 0);
}

TEST(PressureLimiter, BadOptionsAreRefusedByName) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double bad : {kNan, kInfinity, -kInfinity, 1e16}) {
    EXPECT_EQ((O{.low = bad}.Problem()), "low: want -1e15 to 1e15");
    EXPECT_EQ((O{.high = bad}.Problem()), "high: want above low, to 1e15");
    EXPECT_THROW(PressureLimiter({.low = bad}), std::invalid_argument);
  }
  EXPECT_EQ((O{.low = 1, .high = 1}.Problem()), "high: want above low, to 1e15");
  for (const Duration bad : {Duration(0), Duration(-1), Duration(999), Duration::max()}) {
    EXPECT_EQ((O{.valid_for = bad}.Problem()), "valid_for: want 1 us to 24 h");
  }
  EXPECT_EQ((O{.sheddable = static_cast<Criticality>(4)}.Problem()),
            "sheddable: want one of the four classes");
  static_assert(O{}.Problem().empty());
}

}  // namespace
}  // namespace shed
