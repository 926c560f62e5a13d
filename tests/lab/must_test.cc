// What must come out of the lab, row by row, for several seeds.

#include "must_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

#include "cell.h"
#include "must.h"
#include "scenarios.h"
#include "stacks.h"

namespace lab {
namespace {

TEST(MustTable, NamesWhatThereIs) {
  for (const MustRow& row : kMustTable) {
    EXPECT_NE(FindScenario(row.scenario), nullptr) << row.scenario;
    EXPECT_NE(FindStack(row.stack), nullptr) << row.stack;
  }
}

// A figure that is missing, or a report, must not count as one that holds.
TEST(MustTable, WhatIsMissingDoesNotHold) {
  shed::sim::Report empty;
  empty.scenario = kMustTable[0].scenario;
  empty.stack = kMustTable[0].stack;
  empty.seed = 1;
  for (const MustResult& result : HoldAgainst({empty}, {1})) EXPECT_FALSE(result.ok);
}

class MustHold : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(MustHold, EveryRow) {
  const std::vector<std::uint64_t> seeds = {GetParam()};
  const auto reports = RunCells(MustCells(seeds), std::thread::hardware_concurrency(),
                                [](std::size_t, const shed::sim::Report&) {});
  const std::vector<MustResult> results = HoldAgainst(reports, seeds);
  EXPECT_EQ(results.size(), std::size(kMustTable));
  for (const MustResult& result : results) {
    const MustRow& row = *result.row;
    EXPECT_TRUE(result.ok) << row.scenario << ", " << row.stack << ", seed " << result.seed << ": "
                           << row.figure << " is " << result.value << ", must be " << Sign(row.is)
                           << " " << row.bound;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, MustHold, ::testing::Range<std::uint64_t>(1, 6));

}  // namespace
}  // namespace lab
