#include "shed/internal/waiting_places.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

#include "shed/sync.h"

namespace shed::internal {
namespace {

using namespace std::chrono_literals;
using Places = WaitingPlaces<StdSync>;

constexpr TimePoint At(Duration d) { return TimePoint(d); }

TEST(WaitingPlaces, TakenUntilTheStart) {
  Places places(2);
  EXPECT_TRUE(places.Take(2, At(0s), At(5s)));
  EXPECT_TRUE(places.Take(2, At(0s), At(3s)));
  EXPECT_FALSE(places.Take(2, At(3s - 1ns), At(9s)));
  EXPECT_EQ(places.CountAt(At(2s)), 2u);
  EXPECT_EQ(places.CountAt(At(3s)), 1u);
  EXPECT_TRUE(places.Take(2, At(3s), At(9s)));
  EXPECT_FALSE(places.Take(2, At(3s), At(9s)));
  EXPECT_EQ(places.CountAt(At(9s)), 0u);
}

TEST(WaitingPlaces, NoneOfNone) {
  Places places(0);
  EXPECT_FALSE(places.Take(0, At(0s), At(1s)));
  EXPECT_EQ(places.CountAt(At(0s)), 0u);
}

// With fewer allowed than are taken, those who have a place keep it.
TEST(WaitingPlaces, FewerThanAreTaken) {
  Places places(3);
  const auto first = places.Take(3, At(0s), At(1s));
  places.Take(3, At(0s), At(2s));
  EXPECT_FALSE(places.Take(1, At(0s), At(3s)));
  places.GiveBack(first);
  EXPECT_FALSE(places.Take(1, At(0s), At(3s)));
  EXPECT_TRUE(places.Take(1, At(2s), At(3s)));
}

// A place that passed may be another's: giving it back late takes nothing away from it.
TEST(WaitingPlaces, GivenBackTwiceOrTooLate) {
  Places places(1);
  const auto old = places.Take(1, At(0s), At(1s));
  ASSERT_TRUE(places.Take(1, At(1s), At(5s)));
  places.GiveBack(old);
  EXPECT_EQ(places.CountAt(At(1s)), 1u);
  EXPECT_FALSE(places.Take(1, At(1s), At(5s)));
}

// Against a list that is searched from end to end.
TEST(WaitingPlaces, AgreesWithAPlainList) {
  struct Waiting {
    Places::Taken taken;
    TimePoint start;
  };
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    constexpr std::uint32_t kCapacity = 17;
    Places places(kCapacity);
    std::vector<Waiting> list;
    TimePoint now = At(0s);
    for (int i = 0; i < 20'000; ++i) {
      now = After(now, Duration(random() % 20));
      if (random() % 4 != 0) {
        const auto most = static_cast<std::uint32_t>(random() % (kCapacity + 1));
        const TimePoint start = After(now, Duration(1 + random() % 200));
        std::erase_if(list, [&](const Waiting& w) { return w.start <= now; });
        const auto taken = places.Take(most, now, start);
        ASSERT_EQ(static_cast<bool>(taken), list.size() < most);
        if (taken) list.push_back({taken, start});
      } else if (!list.empty()) {
        // Perhaps one whose time has passed.
        const auto at = static_cast<std::ptrdiff_t>(random() % list.size());
        places.GiveBack(list[static_cast<std::size_t>(at)].taken);
        list.erase(list.begin() + at);
      }
      const auto waiting =
          std::count_if(list.begin(), list.end(), [&](const Waiting& w) { return w.start > now; });
      ASSERT_EQ(places.CountAt(now), static_cast<std::uint32_t>(waiting));
    }
  }
}

}  // namespace
}  // namespace shed::internal
