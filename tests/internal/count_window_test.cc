#include "shed/internal/count_window.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <utility>

namespace shed::internal {
namespace {

TEST(CountWindow, TheOldestCallLeavesFirst) {
  CountWindow window(3);
  window.Add(true, false);
  window.Add(false, true);
  window.Add(true, true);
  EXPECT_EQ(window.counts(), (BreakerCounts{.calls = 3, .failed = 2, .slow = 2}));
  window.Add(false, false);
  EXPECT_EQ(window.counts(), (BreakerCounts{.calls = 3, .failed = 1, .slow = 2}));
  window.Add(false, false);
  EXPECT_EQ(window.counts(), (BreakerCounts{.calls = 3, .failed = 1, .slow = 1}));
}

// Bits left over from before must not be subtracted from the new totals.
TEST(CountWindow, ClearForgetsAll) {
  CountWindow window(2);
  window.Add(true, true);
  window.Add(true, true);
  window.Clear();
  EXPECT_EQ(window.counts(), BreakerCounts{});
  for (int i = 0; i < 5; ++i) window.Add(false, false);
  EXPECT_EQ(window.counts(), (BreakerCounts{.calls = 2}));
}

TEST(CountWindow, AgreesWithAnOracleThatKeepsEveryCall) {
  std::mt19937_64 random(1);
  for (const std::size_t size : {1u, 2u, 31u, 32u, 33u, 100u, 4096u}) {
    CountWindow window(size);
    std::deque<std::pair<bool, bool>> calls;
    BreakerCounts want;
    for (int step = 0; step < 200'000; ++step) {
      if (random() % 20'000 == 0) {
        window.Clear();
        calls.clear();
        want = {};
      }
      const bool failed = random() % 3 == 0;
      const bool slow = random() % 5 == 0;
      window.Add(failed, slow);
      calls.emplace_back(failed, slow);
      ++want.calls;
      want.failed += failed;
      want.slow += slow;
      if (calls.size() > size) {
        --want.calls;
        want.failed -= calls.front().first;
        want.slow -= calls.front().second;
        calls.pop_front();
      }
      ASSERT_EQ(window.counts(), want) << size << " " << step;
    }
  }
}

// Another length keeps the latest calls, in their order.
TEST(CountWindow, AnotherLengthKeepsTheLatestCalls) {
  std::mt19937_64 random(2);
  for (const std::size_t had : {0u, 1u, 5u, 40u, 300u}) {
    for (const std::size_t from : {1u, 32u, 100u}) {
      for (const std::size_t to : {0u, 1u, 31u, 64u, 1000u}) {
        CountWindow window(from);
        std::deque<std::pair<bool, bool>> calls;
        const auto add = [&](CountWindow& w) {
          const bool failed = random() % 3 == 0;
          const bool slow = random() % 5 == 0;
          w.Add(failed, slow);
          calls.emplace_back(failed, slow);
        };
        for (std::size_t i = 0; i < had; ++i) add(window);
        CountWindow other(window, to);
        while (calls.size() > std::min(from, to)) calls.pop_front();
        for (int step = 0; step < 200; ++step) {
          BreakerCounts want{.calls = calls.size()};
          for (const auto& [failed, slow] : calls) {
            want.failed += failed;
            want.slow += slow;
          }
          ASSERT_EQ(other.counts(), want) << had << " " << from << " " << to << " " << step;
          if (to == 0) break;
          add(other);
          if (calls.size() > to) calls.pop_front();
        }
      }
    }
  }
}

}  // namespace
}  // namespace shed::internal
