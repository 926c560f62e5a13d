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

}  // namespace
}  // namespace shed::internal
