#include "shed/internal/failure_row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

#include "shed/sync.h"

namespace shed::internal {
namespace {

TEST(FailureRow, ASuccessBeginsANewRow) {
  FailureRow<StdSync> row;
  row.Clear(4);
  EXPECT_EQ(row.Add(true, 4), 1u);
  EXPECT_EQ(row.Add(true, 4), 2u);
  EXPECT_EQ(row.Add(false, 4), 0u);
  EXPECT_EQ(row.Add(true, 4), 1u);
}

TEST(FailureRow, AnotherGenerationNeitherAddsNorResets) {
  FailureRow<StdSync> row;
  row.Clear(4);
  row.Add(true, 4);
  EXPECT_EQ(row.Add(true, 3), 0u);
  EXPECT_EQ(row.Add(false, 3), 0u);
  EXPECT_EQ(row.Read(), 1u);
  row.Clear(5);
  EXPECT_EQ(row.Read(), 0u);
}

// Of two threads that fail at once each must see a row of its own, or the one that completes the
// row is missed.
TEST(FailureRow, EveryFailureGetsItsOwnNumber) {
  FailureRow<StdSync> row;
  row.Clear(1);
  std::vector<std::uint32_t> got[2];
  std::thread threads[2];
  for (int id = 0; id < 2; ++id) {
    threads[id] = std::thread([&, id] {
      for (int i = 0; i < 50'000; ++i) got[id].push_back(row.Add(true, 1));
    });
  }
  for (std::thread& thread : threads) thread.join();
  got[0].insert(got[0].end(), got[1].begin(), got[1].end());
  std::sort(got[0].begin(), got[0].end());
  for (std::uint32_t i = 0; i < 100'000; ++i) ASSERT_EQ(got[0][i], i + 1);
}

}  // namespace
}  // namespace shed::internal
