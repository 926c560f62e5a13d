#include "shed/sim/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace shed::sim {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

TimePoint At(Duration since_start) { return TimePoint(since_start); }

Scenario TenSeconds() {
  Scenario s;
  s.length = 10s;
  s.phases = {{0s, {{0.5, 1ms, false}, {0.5, 2ms, false}}}};
  s.event = {2s, 8s};
  s.settle = 1s;
  s.reference = {0s, 2s};
  return s;
}

TEST(Recorder, CountsBySecondAndCaller) {
  const Scenario scenario = TenSeconds();
  Recorder recorder(scenario, 2);
  recorder.Add(Count::kGood, At(3s), 0);
  recorder.Add(Count::kGood, At(4s - 1ns), 1);
  recorder.Add(Count::kGood, At(4s), 1);
  recorder.Add(Count::kRefused, At(3s), 0);
  recorder.Add(Count::kGood, At(10s), 0);  // After the end: not of this run.
  EXPECT_EQ(recorder.Sum(Count::kGood, 3, 4), 2u);
  EXPECT_EQ(recorder.Sum(Count::kGood, 3, 4, 1), 1u);
  EXPECT_EQ(recorder.Sum(Count::kGood, 0, 100), 3u);
  EXPECT_EQ(recorder.Sum(Count::kRefused, 0, 10), 1u);
}

TEST(Recorder, KeepsDelaysInTheirOrder) {
  const Scenario scenario = TenSeconds();
  Recorder recorder(scenario, 2);
  recorder.AddDelay(At(3s), 1, 20ms);
  recorder.AddDelay(At(4s), 0, 10ms);
  ASSERT_EQ(recorder.delays().size(), 2u);
  EXPECT_EQ(recorder.delays()[0].at, 3s);
  EXPECT_EQ(recorder.delays()[0].caller, 1u);
  EXPECT_EQ(recorder.delays()[1].wait, 10ms);
}

TEST(Recorder, KeepsLatenciesOfTheEventWithoutItsFirstSeconds) {
  const Scenario scenario = TenSeconds();
  Recorder recorder(scenario, 1);
  recorder.AddAnswer(At(1s), 1ms, 0, 0);        // The reference.
  recorder.AddAnswer(At(3s - 1ns), 2ms, 0, 0);  // Settling.
  recorder.AddAnswer(At(3s), 3ms, 0, 0);
  recorder.AddAnswer(At(8s - 1ns), 4ms, 0, 1);
  recorder.AddAnswer(At(8s), 5ms, 0, 1);  // After.
  EXPECT_THAT(recorder.latencies(), ElementsAre(ElementsAre(3ms), ElementsAre(4ms)));
  EXPECT_THAT(recorder.reference_latencies(), ElementsAre(1ms));
  EXPECT_EQ(recorder.Sum(Count::kGood, 0, 10), 5u);
}

// The table is as wide as the widest of the sources' own kinds, too.
TEST(Recorder, KeepsLatenciesOfASourcesOwnKinds) {
  Scenario scenario = TenSeconds();
  scenario.sources = {Source{.phases = {{0s, {{0.2, 1ms}, {0.3, 2ms}, {0.5, 3ms}}}}}};
  Recorder recorder(scenario, 1);
  recorder.AddAnswer(At(4s), 3ms, 0, 2);
  EXPECT_THAT(recorder.latencies(), ElementsAre(ElementsAre(), ElementsAre(), ElementsAre(3ms)));
}

// A median, since a probe that pins the limit for a moment says nothing of where it stands.
TEST(Recorder, MedianLimitIgnoresAProbe) {
  const Scenario scenario = TenSeconds();
  Recorder recorder(scenario, 1);
  recorder.AddLimit(At(1s), 100);
  recorder.AddLimit(At(3s), 20);
  recorder.AddLimit(At(4s), 3);
  recorder.AddLimit(At(5s), 22);
  EXPECT_EQ(recorder.MedianLimit({2s, 8s}), 20);
  EXPECT_EQ(recorder.MedianLimit({8s, 9s}), 0);
}

}  // namespace
}  // namespace shed::sim
