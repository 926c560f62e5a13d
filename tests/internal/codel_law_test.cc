#include "shed/internal/codel_law.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace shed::internal {
namespace {

using namespace std::chrono_literals;
constexpr Duration kTarget = 5ms;
constexpr Duration kInterval = 100ms;
constexpr TimePoint kStart{1h};

// The times, since `from`, at which items are dropped that come every 10 us and waited for 20 ms.
std::vector<Duration> Drops(CodelLaw& law, Duration from, Duration until) {
  std::vector<Duration> drops;
  for (Duration t = from; t < until; t += 10us) {
    if (law.Drop(20ms, kStart + t, kTarget, kInterval)) drops.push_back(t - from);
  }
  return drops;
}

// RFC 8289: interval / sqrt(n) between drops.
TEST(CodelLaw, KeepsThePublishedScheduleOfAStandingQueue) {
  CodelLaw law;
  const std::vector<Duration> drops = Drops(law, 0ms, 600ms);
  const double kSchedule[] = {100,    200,    270.71, 328.45, 378.45,
                              423.17, 463.99, 501.79, 537.15, 570.48};
  ASSERT_EQ(drops.size(), std::size(kSchedule));
  for (std::size_t i = 0; i < drops.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(drops[i].count()) / 1e6, kSchedule[i], 0.02) << i;
  }
}

TEST(CodelLaw, DropsNothingWhileTheQueueComesBelowTheTarget) {
  CodelLaw law;
  for (int i = 0; i < 100'000; ++i) {
    // One item in 90 ms waits for less.
    const Duration sojourn = i % 900 == 0 ? kTarget - 1ns : 1s;
    ASSERT_FALSE(law.Drop(sojourn, kStart + i * 100us, kTarget, kInterval));
  }
}

TEST(CodelLaw, EndsWithTheFirstItemBelowTheTarget) {
  CodelLaw law;
  ASSERT_EQ(Drops(law, 0ms, 250ms).size(), 2u);
  EXPECT_TRUE(law.dropping());
  EXPECT_FALSE(law.Drop(1ms, kStart + 250ms, kTarget, kInterval));
  EXPECT_FALSE(law.dropping());
  // A queue that stands again has a whole interval.
  EXPECT_TRUE(Drops(law, 251ms, 350ms).empty());
}

TEST(CodelLaw, GoesOnWhereItWasIfTheQueueStandsAgainSoon) {
  CodelLaw law;
  ASSERT_EQ(Drops(law, 0ms, 600ms).size(), 10u);
  ASSERT_FALSE(law.Drop(1ms, kStart + 600ms, kTarget, kInterval));
  // The tenth drop was the ninth after the first: the gap is 100 / sqrt(9) at once.
  const std::vector<Duration> soon = Drops(law, 700ms, 850ms);
  ASSERT_EQ(soon.size(), 2u);
  EXPECT_NEAR(static_cast<double>((soon[1] - soon[0]).count()) / 1e6, 33.3, 0.1);
  ASSERT_FALSE(law.Drop(1ms, kStart + 850ms, kTarget, kInterval));
  // Much later it begins anew.
  const std::vector<Duration> late = Drops(law, 10s, 10'250ms);
  ASSERT_EQ(late.size(), 2u);
  EXPECT_NEAR(static_cast<double>((late[1] - late[0]).count()) / 1e6, 100, 0.1);
}

TEST(CodelLaw, AClockThatGoesBackOrJumpsFarAhead) {
  CodelLaw law;
  EXPECT_FALSE(law.Drop(20ms, TimePoint::min(), kTarget, kInterval));
  // Nothing can have stood in the queue all the time.
  EXPECT_FALSE(law.Drop(20ms, TimePoint::max(), kTarget, kInterval));
  // What comes from before is now; time has stopped, and so have intervals.
  for (int i = 0; i < 100; ++i) law.Drop(20ms, TimePoint::min(), kTarget, kInterval);
  EXPECT_FALSE(law.Drop(0ms, TimePoint::min(), kTarget, kInterval));
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(law.Drop(20ms, TimePoint::max(), kTarget, kInterval));
  }
}

// An item that came when the one before it had gone found the queue empty, however long that is
// ago: it begins anew.
TEST(CodelLaw, AnEmptyQueueEndsDropping) {
  CodelLaw law;
  TimePoint now(std::chrono::hours(1));
  const auto drop = [&](Duration sojourn) {
    return law.Drop(sojourn, now, std::chrono::milliseconds(5), std::chrono::milliseconds(100));
  };
  int dropped = 0;
  for (int i = 0; i < 2000; ++i, now += std::chrono::milliseconds(1)) {
    dropped += drop(std::chrono::milliseconds(6)) ? 1 : 0;
  }
  EXPECT_GT(dropped, 10);
  now += std::chrono::hours(1);
  for (int i = 0; i < 2000; ++i, now += std::chrono::microseconds(49)) {
    EXPECT_FALSE(drop(std::chrono::milliseconds(6)))
        << "a burst that lasts for less than an interval";
  }
  // Two slow ones, an hour apart.
  CodelLaw other;
  for (int i = 0; i < 2; ++i, now += std::chrono::hours(1)) {
    EXPECT_FALSE(other.Drop(std::chrono::milliseconds(6), now, std::chrono::milliseconds(5),
                            std::chrono::milliseconds(100)));
  }
}

}  // namespace
}  // namespace shed::internal
