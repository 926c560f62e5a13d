#include "cell.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "json.h"
#include "scenarios.h"
#include "shed/circuit_breaker.h"
#include "shed/demerit_tracker.h"
#include "shed/limiter.h"
#include "shed/sim/simulation.h"
#include "shed/sim/sync.h"
#include "stacks.h"

namespace lab {
namespace {

using namespace std::chrono_literals;
using shed::Duration;
using shed::ManualClock;
using shed::sim::Count;
using shed::sim::Gate;
using shed::sim::GateFactory;
using shed::sim::Recorder;
using shed::sim::Report;
using shed::sim::Scenario;
using shed::sim::SimSync;
using shed::sim::Simulation;

// A minute each; every stack, those that draw at random too.
std::vector<Cell> EveryStack(std::uint64_t seed) {
  std::vector<Cell> cells;
  for (const Stack& stack : Stacks()) {
    for (const char* name : {"spike", "brown-out", "fast-failures"}) {
      cells.push_back({FindScenario(name), &stack, seed});
    }
  }
  return cells;
}

std::string Json(std::uint64_t seed, unsigned threads) {
  return ToJson(RunCells(EveryStack(seed), threads, [](std::size_t, const Report&) {}));
}

// To the byte, however many threads share the cells: a policy that draws by thread, or a table in
// the order of completion, would differ.
TEST(RunCells, TheSameSeedGivesTheSameBytes) {
  const std::string once = Json(1, 1);
  EXPECT_EQ(once, Json(1, 1));
  EXPECT_EQ(once, Json(1, 3));
  EXPECT_NE(once, Json(2, 1));
}

TEST(RunCells, ReportsProgressOncePerCellAndNothingForNothing) {
  std::vector<std::size_t> done;
  const Cell cell{FindScenario("spike-1"), FindStack("none"), 1};
  RunCells({cell, cell, cell}, 2, [&](std::size_t n, const Report&) { done.push_back(n); });
  EXPECT_EQ(done, (std::vector<std::size_t>{1, 2, 3}));
  EXPECT_TRUE(RunCells({}, 2, [](std::size_t, const Report&) { FAIL(); }).empty());
}

template <class P>
struct NoLimit {
  template <class L>
  double operator()(const L&) const {
    return 0;
  }
};

template <class P>
GateFactory Alone(typename P::Options options) {
  using L = shed::BasicLimiter<ManualClock, SimSync, P>;
  return [options](const ManualClock& clock, std::uint32_t) -> std::unique_ptr<Gate> {
    return std::make_unique<shed::sim::LimiterGate<L, NoLimit<P>>>(NoLimit<P>{}, clock, options);
  };
}

// Refusals of the loud caller in the first second after its return.
std::uint64_t RefusedAtReturn(const Scenario& noisy, Duration max_penalty) {
  using Demerit = shed::BasicDemeritTracker<SimSync>;
  Simulation simulation(noisy, Alone<Demerit>({.budget = 40, .max_penalty = max_penalty}), 1);
  const Recorder& seen = simulation.Run();
  const auto back = static_cast<std::size_t>((noisy.event.to + 60s) / 1s);
  return seen.Sum(Count::kRefused, back, back + 1, kLoudCaller);
}

// A demerit that only decays would hold it down for minutes: 43 at 0.3 per second.
TEST(NoisyNeighbour, TheLoudCallerIsForgivenAMinuteAfterItFellSilentHoweverLoud) {
  for (const double rate : {500.0, 2000.0, 50'000.0}) {
    for (const Duration length : {Duration(5s), Duration(30s)}) {
      const Scenario noisy = NoisyNeighbour(rate, length);
      EXPECT_EQ(RefusedAtReturn(noisy, 60s), 0u) << rate;
      // The scenario does tell the difference.
      EXPECT_GT(RefusedAtReturn(noisy, 1h), 0u) << rate;
    }
  }
}

// Wherever in the breaker's cycle of 5 s the dependency returns.
TEST(Outage, IsOverWithinSixSecondsOfItsEnd) {
  for (const Duration end : {36s, 37s, 38s, 39s, 40s}) {
    Scenario outage = *FindScenario("outage");
    outage.event.to = end;
    outage.phases.back().from = end;
    using Breaker = shed::BasicCircuitBreaker<SimSync>;
    Simulation simulation(outage, Alone<Breaker>({}), 1);
    const Report report = shed::sim::MakeReport(outage, simulation.Run());
    EXPECT_LE(report.Find("normal_after_s").value_or(99), 6) << end / 1s;
    EXPECT_LE(report.Find("reached_share").value_or(1), 0.02);
  }
}

}  // namespace
}  // namespace lab
