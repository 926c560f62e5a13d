#include "shed/internal/deadline_heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <random>

namespace shed::internal {
namespace {

TimePoint At(std::int64_t ns) { return TimePoint(Duration(ns)); }

TEST(DeadlineHeap, AnEmptyOneHasNoTime) {
  DeadlineHeap heap(1);
  EXPECT_TRUE(heap.empty());
  EXPECT_EQ(heap.earliest(), TimePoint::max());
  heap.Insert(0, TimePoint::min());
  EXPECT_EQ(heap.earliest(), TimePoint::min());
  heap.Remove(0);
  EXPECT_TRUE(heap.empty());
}

// Entries come, and leave from the front and from the middle, also by way of many equal times.
TEST(DeadlineHeap, AgreesWithAMap) {
  std::mt19937_64 random(1);
  for (const std::uint32_t places : {1u, 2u, 3u, 7u, 64u}) {
    for (const std::int64_t times : {2, 10, 1'000'000}) {
      DeadlineHeap heap(places);
      std::map<std::uint32_t, TimePoint> model;
      for (int i = 0; i < 20'000; ++i) {
        const auto place = static_cast<std::uint32_t>(random() % places);
        if (model.contains(place)) {
          heap.Remove(place);
          model.erase(place);
        } else {
          const TimePoint at =
              At(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(times)));
          heap.Insert(place, at);
          model[place] = at;
        }
        ASSERT_EQ(heap.empty(), model.empty());
        if (model.empty()) continue;
        const auto first =
            std::min_element(model.begin(), model.end(),
                             [](const auto& a, const auto& b) { return a.second < b.second; });
        ASSERT_EQ(heap.earliest(), first->second);
        ASSERT_EQ(model.at(heap.first()), first->second);
      }
    }
  }
}

}  // namespace
}  // namespace shed::internal
