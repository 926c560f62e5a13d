#include "live.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "shed/sim/report.h"

namespace lab {
namespace {

using namespace std::chrono_literals;

// How fast the machine is decides the figures; that every call is accounted for does not depend on
// it.
TEST(Live, AccountsForEveryCallUnderEveryStack) {
  const LiveOptions options{.rates = {6000}, .length = 1s};
  std::size_t progress = 0;
  const auto reports = RunLive(options, [&](const shed::sim::Report&) { ++progress; });
  ASSERT_EQ(reports.size(), options.stacks.size());
  EXPECT_EQ(progress, reports.size());
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const auto figure = [&](const char* name) { return reports[i].Find(name).value_or(-1); };
    EXPECT_EQ(reports[i].scenario, "live");
    EXPECT_EQ(reports[i].stack, options.stacks[i]);
    // Open loop: the generator offers all of its calls, whatever the answers. 6 standard
    // deviations.
    EXPECT_NEAR(figure("offered_per_s"), 6000, 470);
    EXPECT_EQ(figure("offered_per_s"), figure("refused_per_s") + figure("reached_per_s"));
    EXPECT_LE(figure("goodput_per_s") + figure("timeouts_per_s"), figure("reached_per_s"));
    EXPECT_LE(figure("p99_ms"), 50);
    EXPECT_GT(figure("capacity_per_s"), 0);
  }
}

}  // namespace
}  // namespace lab
