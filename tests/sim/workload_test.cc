#include "shed/sim/workload.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <vector>

namespace shed::sim {
namespace {

using namespace std::chrono_literals;

std::vector<Arrival> ArrivalsUntil(const std::vector<Source>& sources, std::uint64_t seed,
                                   Duration end) {
  Workload workload(sources, seed);
  std::vector<Arrival> arrivals;
  for (; workload.next().at < TimePoint(end); workload.Pop()) arrivals.push_back(workload.next());
  return arrivals;
}

int CountIn(const std::vector<Arrival>& arrivals, Duration from, Duration to) {
  int count = 0;
  for (const Arrival& arrival : arrivals) {
    count += arrival.at >= TimePoint(from) && arrival.at < TimePoint(to);
  }
  return count;
}

// 5 standard deviations of a Poisson count.
double Noise(double mean) { return 5 * std::sqrt(mean); }

TEST(Workload, ArrivesAtTheRateOfEachStageAndInOrder) {
  const std::vector<Source> sources = {
      Source{.stages = {{0s, 2000}, {20s, 3200}, {30s, 0}, {40s, 500}}, .bursts = {}}};
  const std::vector<Arrival> arrivals = ArrivalsUntil(sources, 1, 60s);
  EXPECT_NEAR(CountIn(arrivals, 0s, 20s), 40'000, Noise(40'000));
  EXPECT_NEAR(CountIn(arrivals, 20s, 30s), 32'000, Noise(32'000));
  EXPECT_EQ(CountIn(arrivals, 30s, 40s), 0);
  EXPECT_NEAR(CountIn(arrivals, 40s, 60s), 10'000, Noise(10'000));
  // The first second of a stage is as full as any: no draw reaches over from a slower stage.
  EXPECT_NEAR(CountIn(arrivals, 20s, 21s), 3200, Noise(3200));
  for (std::size_t i = 1; i < arrivals.size(); ++i) {
    ASSERT_LE(arrivals[i - 1].at, arrivals[i].at);
  }
}

// Poisson: the variance of the counts is their mean. Evenly spaced calls would have none, and show
// a limiter a service that never queues.
TEST(Workload, IsAsUnevenAsPoisson) {
  const std::vector<Source> sources = {Source{.stages = {{0s, 1000}}, .bursts = {}}};
  const std::vector<Arrival> arrivals = ArrivalsUntil(sources, 3, 200s);
  double sum = 0;
  double squares = 0;
  const int windows = 20'000;
  std::size_t next = 0;
  for (int i = 0; i < windows; ++i) {
    int count = 0;
    for (; next < arrivals.size() && arrivals[next].at < TimePoint((i + 1) * 10ms); ++next) ++count;
    sum += count;
    squares += count * count;
  }
  const double mean = sum / windows;
  EXPECT_NEAR(mean, 10, 0.2);
  EXPECT_NEAR((squares / windows - mean * mean) / mean, 1, 0.06);
}

TEST(Workload, BurstsArriveAtOnceAndCostNoOtherCall) {
  std::vector<Source> sources = {Source{.stages = {{0s, 100}}, .bursts = {{5s, 30}, {8s, 2}}}};
  const std::vector<Arrival> arrivals = ArrivalsUntil(sources, 1, 10s);
  int at_five = 0;
  int at_eight = 0;
  for (const Arrival& arrival : arrivals) {
    at_five += arrival.at == TimePoint(5s);
    at_eight += arrival.at == TimePoint(8s);
  }
  EXPECT_EQ(at_five, 30);
  EXPECT_EQ(at_eight, 2);
  EXPECT_NEAR(static_cast<double>(arrivals.size()), 1032, Noise(1000));
  // A burst alone, of a source that is silent.
  sources = {Source{.stages = {{0s, 0}}, .bursts = {{5s, 3}}}};
  EXPECT_EQ(ArrivalsUntil(sources, 1, 10s).size(), 3u);
}

TEST(Workload, NumbersCallersThroughAllSourcesAndSharesEvenly) {
  const std::vector<Source> sources = {Source{.callers = 4, .stages = {{0s, 400}}, .bursts = {}},
                                       Source{.callers = 1, .stages = {{0s, 1000}}, .bursts = {}}};
  std::vector<int> counts(5, 0);
  for (const Arrival& arrival : ArrivalsUntil(sources, 1, 100s)) ++counts.at(arrival.caller);
  for (int caller = 0; caller < 4; ++caller) {
    EXPECT_NEAR(counts[static_cast<std::size_t>(caller)], 10'000, Noise(10'000));
  }
  EXPECT_NEAR(counts[4], 100'000, Noise(100'000));
  EXPECT_EQ(Workload(sources, 1).callers(), 5u);
}

TEST(Workload, OneSourceDoesNotMoveAnother) {
  const Source first{.stages = {{0s, 100}}, .bursts = {}};
  const Source second{.stages = {{0s, 1000}}, .bursts = {}};
  const std::vector<Arrival> alone = ArrivalsUntil({first}, 9, 10s);
  std::vector<Arrival> both = ArrivalsUntil({first, second}, 9, 10s);
  std::erase_if(both, [](const Arrival& arrival) { return arrival.caller != 0; });
  ASSERT_EQ(alone.size(), both.size());
  for (std::size_t i = 0; i < alone.size(); ++i) ASSERT_EQ(alone[i].at, both[i].at);
}

TEST(Workload, NothingComesOfNothing) {
  EXPECT_EQ(Workload({}, 1).next().at, TimePoint::max());
  const std::vector<Source> silent = {Source{.stages = {}, .bursts = {}}};
  EXPECT_EQ(Workload(silent, 1).next().at, TimePoint::max());
}

}  // namespace
}  // namespace shed::sim
