#include "shed/internal/waiting_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace shed::internal {
namespace {

struct Waiter {
  std::uint32_t place;
  std::size_t c;
  TimePoint until;
};

// The line as it is to be served: more critical ones first, and within a class by the order.
std::vector<Waiter> Sorted(std::vector<Waiter> by_arrival, LineOrder order) {
  if (order == LineOrder::kNewestFirst) std::reverse(by_arrival.begin(), by_arrival.end());
  std::stable_sort(by_arrival.begin(), by_arrival.end(),
                   [](const Waiter& a, const Waiter& b) { return a.c > b.c; });
  return by_arrival;
}

// A newcomer of class `c`, put in as the latest, stands at this place of the sorted line.
std::size_t Standing(std::vector<Waiter> by_arrival, std::size_t c, LineOrder order) {
  by_arrival.push_back({kNoIndex, c, {}});
  const std::vector<Waiter> sorted = Sorted(std::move(by_arrival), order);
  return static_cast<std::size_t>(
      std::find_if(sorted.begin(), sorted.end(),
                   [](const Waiter& w) { return w.place == kNoIndex; }) -
      sorted.begin());
}

TEST(WaitingLine, AgreesWithASortedVector) {
  std::mt19937_64 random(1);
  for (const std::uint32_t places : {1u, 2u, 5u, 20u}) {
    WaitingLine line(places);
    std::vector<Waiter> model;  // By arrival.
    for (int i = 0; i < 30'000; ++i) {
      // Fills up and empties in turn.
      const bool add = random() % 8 < (i / 100 % 2 == 0 ? 5u : 3u);
      if (add && model.size() < places) {
        const std::size_t c = random() % kCriticalityCount;
        const TimePoint until(Duration(static_cast<std::int64_t>(random() % 1000)));
        const std::uint32_t place = line.Add(c, until);
        ASSERT_LT(place, places);
        ASSERT_TRUE(std::none_of(model.begin(), model.end(),
                                 [&](const Waiter& w) { return w.place == place; }));
        model.push_back({place, c, until});
      } else if (!add && !model.empty()) {
        const auto at = model.begin() + static_cast<std::ptrdiff_t>(random() % model.size());
        line.Remove(at->place);
        model.erase(at);
      }
      ASSERT_EQ(line.size(), model.size());
      ASSERT_EQ(line.empty(), model.empty());
      std::array<std::uint32_t, kCriticalityCount> sizes{};
      TimePoint soonest = TimePoint::max();
      for (const Waiter& w : model) {
        ++sizes[w.c];
        soonest = std::min(soonest, w.until);
      }
      ASSERT_EQ(line.sizes(), sizes);
      ASSERT_EQ(line.NextDeadline(), soonest);
      for (const LineOrder order : {LineOrder::kOldestFirst, LineOrder::kNewestFirst}) {
        for (std::size_t c = 0; c < kCriticalityCount; ++c) {
          ASSERT_EQ(line.WouldBeFirst(c, order), Standing(model, c, order) == 0);
        }
        if (model.empty()) continue;
        const std::vector<Waiter> sorted = Sorted(model, order);
        ASSERT_EQ(line.First(order), sorted.front().place);
        ASSERT_EQ(line.Last(order), sorted.back().place);
        for (std::size_t c = 0; c < kCriticalityCount; ++c) {
          ASSERT_EQ(line.WouldNotBeLast(c, order), Standing(model, c, order) < model.size());
        }
      }
      if (model.empty()) continue;
      ASSERT_TRUE(std::any_of(model.begin(), model.end(), [&](const Waiter& w) {
        return w.place == line.Soonest() && w.until == soonest;
      }));
    }
  }
}

}  // namespace
}  // namespace shed::internal
