#include "shed/sim/report.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

namespace shed::sim {
namespace {

using namespace std::chrono_literals;

TimePoint At(Duration since_start) { return TimePoint(since_start); }

// 30 s; the event is from 5 to 10 s, and its first second is left out.
Scenario Thirty() {
  Scenario s;
  s.name = "thirty";
  s.length = 30s;
  s.workers = 4;
  s.phases = {{0s, {{1, 1ms, false}}}, {5s, {{1, 4ms, false}}}, {10s, {{1, 1ms, false}}}};
  s.event = {5s, 10s};
  s.settle = 1s;
  return s;
}

void AddMany(Recorder& recorder, Count what, Duration second, int n) {
  for (int i = 0; i < n; ++i) recorder.Add(what, At(second + 1ms * i), 0);
}

double Figure(const Scenario& scenario, const Recorder& recorder, const char* name) {
  return MakeReport(scenario, recorder).Find(name).value_or(-1);
}

TEST(Quantile, IsTheNearestRank) {
  std::vector<Duration> latencies;
  for (int i = 100; i >= 1; --i) latencies.push_back(1ms * i);
  EXPECT_EQ(internal::QuantileMs(latencies, 0.99), 99);
  EXPECT_EQ(internal::QuantileMs(latencies, 0.5), 50);
  EXPECT_EQ(internal::QuantileMs({7ms}, 0.99), 7);
  EXPECT_EQ(internal::QuantileMs({}, 0.99), 0);
}

TEST(Report, GoodputIsOfTheEventWithoutItsStartAndTheLowestSecondOfAllOfIt) {
  const Scenario scenario = Thirty();
  Recorder recorder(scenario, 1);
  for (int second = 0; second < 30; ++second) {
    // The lowest second of the event is in what is left out; lower ones are outside the event.
    const int n = second == 5 ? 10 : second >= 6 && second < 10 ? 40 : 5;
    AddMany(recorder, Count::kGood, 1s * second, n);
    AddMany(recorder, Count::kOffered, 1s * second, 50);
  }
  EXPECT_EQ(Figure(scenario, recorder, "goodput_per_s"), 40);
  EXPECT_EQ(Figure(scenario, recorder, "goodput_min_1s"), 10);
  EXPECT_EQ(Figure(scenario, recorder, "offered_per_s"), 50);
  // The last 15 s of the run.
  EXPECT_EQ(Figure(scenario, recorder, "goodput_after_per_s"), 5);
  EXPECT_EQ(Figure(scenario, recorder, "goodput_after_share"), 0.1);
  // One second of the event is below half of its best.
  EXPECT_EQ(Figure(scenario, recorder, "weak_seconds"), 1);
}

TEST(Report, CapacityIsThatOfTheEvent) {
  const Scenario scenario = Thirty();
  Recorder recorder(scenario, 1);
  for (int second = 6; second < 10; ++second) {
    AddMany(recorder, Count::kGood, 1s * second, 500);
    AddMany(recorder, Count::kReached, 1s * second, 800);
    AddMany(recorder, Count::kOffered, 1s * second, 1000);
    AddMany(recorder, Count::kRefused, 1s * second, 200);
  }
  AddMany(recorder, Count::kOffered, 5s, 1000);
  EXPECT_EQ(Figure(scenario, recorder, "capacity_per_s"), 1000);
  EXPECT_EQ(Figure(scenario, recorder, "goodput_of_capacity"), 0.5);
  EXPECT_EQ(Figure(scenario, recorder, "reached_of_capacity"), 0.8);
  EXPECT_EQ(Figure(scenario, recorder, "refused_share"), 0.2);
  // Of the whole event, its first second too.
  EXPECT_EQ(Figure(scenario, recorder, "reached_share"), 0.64);
}

TEST(Report, NormalIsWhatStaysNormal) {
  const Scenario scenario = Thirty();
  Recorder recorder(scenario, 1);
  for (int second = 0; second < 30; ++second) {
    AddMany(recorder, Count::kOffered, 1s * second, 100);
    // A good second (11) before a bad one (12) is no return to normal.
    const bool bad = (second >= 5 && second < 11) || second == 12;
    AddMany(recorder, Count::kGood, 1s * second, bad ? 94 : 95);
  }
  EXPECT_EQ(Figure(scenario, recorder, "normal_after_s"), 3);
}

TEST(Report, NormalAtOnceIsZeroAndNeverIsTheRestOfTheRun) {
  const Scenario scenario = Thirty();
  Recorder good(scenario, 1);
  Recorder bad(scenario, 1);
  for (int second = 0; second < 30; ++second) {
    for (Recorder* recorder : {&good, &bad}) {
      AddMany(*recorder, Count::kOffered, 1s * second, 100);
    }
    AddMany(good, Count::kGood, 1s * second, second >= 10 ? 100 : 0);
    AddMany(bad, Count::kGood, 1s * second, 50);
  }
  EXPECT_EQ(Figure(scenario, good, "normal_after_s"), 0);
  EXPECT_EQ(Figure(scenario, bad, "normal_after_s"), 20);
  // Where nothing returns to normal there is no such figure.
  Scenario to_the_end = scenario;
  to_the_end.event = {5s, 30s};
  EXPECT_EQ(Figure(to_the_end, bad, "normal_after_s"), -1);
}

TEST(Report, LimitFactorIsTheSameInBothDirections) {
  const Scenario scenario = Thirty();
  for (const bool up : {true, false}) {
    Recorder recorder(scenario, 1);
    recorder.AddLimit(At(2s), up ? 10 : 30);
    recorder.AddLimit(At(7s), 5);
    recorder.AddLimit(At(12s), up ? 30 : 10);
    EXPECT_EQ(Figure(scenario, recorder, "limit_factor"), 3);
  }
  Recorder none(scenario, 1);
  none.AddLimit(At(7s), 0);
  EXPECT_EQ(Figure(scenario, none, "limit_factor"), -1);
}

TEST(Report, ComparesWithTheReference) {
  Scenario scenario = Thirty();
  scenario.reference = {1s, 2s};
  Recorder recorder(scenario, 1);
  recorder.AddAnswer(At(1500ms), 10ms, 0, 0);
  recorder.AddAnswer(At(7s), 25ms, 0, 0);
  EXPECT_EQ(Figure(scenario, recorder, "p99_reference_ms"), 10);
  EXPECT_EQ(Figure(scenario, recorder, "p99_of_reference"), 2.5);
}

TEST(Report, ListsCallersAndKindsWhereTheScenarioAsks) {
  Scenario scenario = Thirty();
  scenario.sources = {Source{.name = "a", .callers = 2, .stages = {}, .bursts = {}}};
  scenario.report_callers = true;
  scenario.report_kinds = true;
  Recorder recorder(scenario, 2);
  for (int i = 0; i < 8; ++i) recorder.AddAnswer(At(7s), 5ms, 1, 0);
  const Report report = MakeReport(scenario, recorder);
  ASSERT_EQ(report.callers.size(), 2u);
  EXPECT_EQ(report.callers[1].name, "a1");
  EXPECT_EQ(report.callers[0].goodput_per_s, 0);
  EXPECT_EQ(report.callers[1].goodput_per_s, 2);
  ASSERT_EQ(report.kinds.size(), 1u);
  EXPECT_EQ(report.kinds[0].work_ms, 1);
  EXPECT_EQ(report.kinds[0].p99_ms, 5);
}

}  // namespace
}  // namespace shed::sim
