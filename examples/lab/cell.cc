#include "cell.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <thread>

#include "scenarios.h"
#include "shed/sim/simulation.h"

namespace lab {
namespace {

using namespace std::chrono_literals;
using shed::Duration;
using shed::sim::Count;
using shed::sim::MakeReport;
using shed::sim::Recorder;
using shed::sim::Report;
using shed::sim::Scenario;
using shed::sim::Simulation;

std::size_t Seconds(Duration d) {
  return static_cast<std::size_t>(std::chrono::floor<std::chrono::seconds>(d).count());
}

// Returns the share of its calls that a caller saw answered, of those that ended in [from, to).
double AnsweredShare(const Recorder& seen, std::uint32_t caller, std::size_t from, std::size_t to) {
  const auto sum = [&](Count what) {
    return static_cast<double>(seen.Sum(what, from, to, caller));
  };
  const double good = sum(Count::kGood);
  const double bad = sum(Count::kRefused) + sum(Count::kTimedOut) + sum(Count::kFailed);
  return good == 0 ? 0 : good / (good + bad);
}

// Returns the share of its calls that the loud caller sees answered from the moment it is back,
// a minute after it fell silent.
double LoudBackShare(const Scenario& noisy, const Recorder& seen) {
  return AnsweredShare(seen, kLoudCaller, Seconds(noisy.event.to + 60s), Seconds(noisy.length));
}

// What `noisy-neighbour` asks besides: how the worst and the best of the well-behaved callers fare,
// and whether the loud one is forgiven, the same after other bursts.
void AddNoisy(const Cell& cell, const Recorder& seen, Report& report) {
  const std::size_t from = Seconds(seen.measured().from);
  const std::size_t to = Seconds(seen.measured().to);
  double worst = 1;
  double best = 0;
  for (std::uint32_t caller = 0; caller < kLoudCaller; ++caller) {
    const double share = AnsweredShare(seen, caller, from, to);
    worst = std::min(worst, share);
    best = std::max(best, share);
  }
  report.fields.push_back({"quiet_share_worst", worst});
  report.fields.push_back({"quiet_share_best", best});
  report.fields.push_back({"loud_share", AnsweredShare(seen, kLoudCaller, from, to)});
  double back = LoudBackShare(*cell.scenario, seen);
  for (const Scenario& burst : {NoisyNeighbour(500, 5s), NoisyNeighbour(20'000, 60s)}) {
    Simulation simulation(burst, cell.stack->make_factory(burst, cell.seed), cell.seed);
    back = std::min(back, LoudBackShare(burst, simulation.Run()));
  }
  report.fields.push_back({"loud_back_share", back});
}

// What `criticality` asks besides: the share of its calls that each class gets answered.
void AddClasses(const Recorder& seen, Report& report) {
  const std::size_t from = Seconds(seen.measured().from);
  const std::size_t to = Seconds(seen.measured().to);
  const char* const names[] = {"sheddable_share", "sheddable_plus_share", "critical_share",
                               "critical_plus_share"};
  double least_step = 1;
  double before = 0;
  for (std::uint32_t caller = 0; caller < std::size(names); ++caller) {
    const double share = AnsweredShare(seen, caller, from, to);
    report.fields.push_back({names[caller], share});
    least_step = std::min(least_step, share - before);
    before = share;
  }
  // Negative if a class gets less than one that matters less.
  report.fields.push_back({"least_step_between_classes", least_step});
}

// About how long a cell takes, in any unit.
double Effort(const Cell& cell) {
  const Scenario& s = *cell.scenario;
  return static_cast<double>(s.length / s.slice) * s.workers;
}

}  // namespace

Report RunCell(const Cell& cell) {
  Simulation simulation(*cell.scenario, cell.stack->make_factory(*cell.scenario, cell.seed),
                        cell.seed);
  const Recorder& seen = simulation.Run();
  Report report = MakeReport(*cell.scenario, seen);
  report.stack = cell.stack->name;
  report.seed = cell.seed;
  if (cell.scenario->name == "noisy-neighbour") AddNoisy(cell, seen, report);
  if (cell.scenario->name == "criticality") AddClasses(seen, report);
  return report;
}

std::vector<Report> RunCells(
    const std::vector<Cell>& cells, unsigned threads,
    const std::function<void(std::size_t done, const Report& report)>& progress) {
  std::vector<std::size_t> order(cells.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return Effort(cells[a]) > Effort(cells[b]);
  });
  std::vector<Report> reports(cells.size());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::size_t done = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < order.size(); i = next++) {
      Report report = RunCell(cells[order[i]]);
      const std::lock_guard<std::mutex> lock(mutex);
      progress(++done, report);
      reports[order[i]] = std::move(report);
    }
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < std::max(threads, 1u); ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  return reports;
}

}  // namespace lab
