#include "cell.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <string>
#include <string_view>
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

// What scenarios of several sources ask besides: the share of its calls that each source gets
// answered.
void AddSources(const Cell& cell, const Recorder& seen, Report& report) {
  const std::size_t from = Seconds(seen.measured().from);
  const std::size_t to = Seconds(seen.measured().to);
  std::uint32_t caller = 0;
  for (const shed::sim::Source& source : cell.scenario->sources) {
    report.fields.push_back({source.name + "_share", AnsweredShare(seen, caller, from, to)});
    caller += source.callers;
  }
}

// What `shadow` asks besides: the limit of a policy on trial (stack `shadow-P`) as a share of what
// it is where it is enforced (stack `P`).
void AddShadow(const Cell& cell, Report& report) {
  constexpr std::string_view kPrefix = "shadow-";
  if (!cell.stack->name.starts_with(kPrefix)) return;
  const Stack& enforced = *FindStack(std::string_view(cell.stack->name).substr(kPrefix.size()));
  Simulation simulation(*cell.scenario, enforced.make_factory(*cell.scenario, cell.seed),
                        cell.seed);
  const Report other = MakeReport(*cell.scenario, simulation.Run());
  for (const char* const when : {"limit_before", "limit_during", "limit_after"}) {
    report.fields.push_back({std::string(when) + "_of_enforced",
                             report.Find(when).value_or(0) / other.Find(when).value_or(0)});
  }
}

// What `fleet` asks besides: how many of ten servers measure at once, of which the cell is one.
void AddFleet(const Cell& cell, const Recorder& first, Report& report) {
  constexpr std::uint64_t kServers = 10;
  const Scenario& s = *cell.scenario;
  std::vector<std::uint32_t> measuring(static_cast<std::size_t>(s.length / s.look) + 1);
  std::vector<double> goodput(Seconds(s.length));
  double measured = 0;
  const auto add = [&](const Recorder& seen) {
    bool ever = false;
    for (const Recorder::Limit& limit : seen.limits()) {
      if (!limit.measuring || !s.event.Contains(limit.at)) continue;
      ++measuring[static_cast<std::size_t>(limit.at / s.look)];
      ever = true;
    }
    measured += ever ? 1 : 0;
    for (std::size_t i = 0; i < goodput.size(); ++i) {
      goodput[i] += static_cast<double>(seen.Sum(Count::kGood, i, i + 1));
    }
  };
  add(first);
  for (std::uint64_t server = 1; server < kServers; ++server) {
    const std::uint64_t seed = cell.seed * kServers + server;
    Simulation simulation(s, cell.stack->make_factory(s, seed), seed);
    add(simulation.Run());
  }
  report.fields.push_back({"servers_that_measured", measured});
  report.fields.push_back({"most_measuring", static_cast<double>(*std::max_element(
                                                 measuring.begin(), measuring.end()))});
  const auto begin = goodput.begin() + static_cast<std::ptrdiff_t>(Seconds(first.measured().from));
  const double mean =
      std::accumulate(begin, goodput.end(), 0.0) / static_cast<double>(goodput.end() - begin);
  report.fields.push_back(
      {"fleet_goodput_min_of_mean", *std::min_element(begin, goodput.end()) / mean});
}

// What `fair-use` asks of the users: whether they notice the tool, against the same traffic without
// it.
void AddUsers(const Cell& cell, const Recorder& seen, Report& report) {
  Scenario quiet = *cell.scenario;
  quiet.sources.back().stages.clear();
  Simulation simulation(quiet, cell.stack->make_factory(quiet, cell.seed), cell.seed);
  const Recorder& without = simulation.Run();
  const std::size_t from = Seconds(seen.measured().from);
  const std::size_t to = Seconds(seen.measured().to);
  double worst = 1;
  double good = 0;
  double good_without = 0;
  for (std::uint32_t user = 0; user < kUsers; ++user) {
    worst = std::min(worst, AnsweredShare(seen, user, from, to));
    good += static_cast<double>(seen.Sum(Count::kGood, from, to, user));
    good_without += static_cast<double>(without.Sum(Count::kGood, from, to, user));
  }
  const auto ratio = [&](double quantile) {
    using shed::sim::internal::QuantileMs;  // Their calls are the first kind.
    return QuantileMs(seen.latencies().front(), quantile) /
           QuantileMs(without.latencies().front(), quantile);
  };
  const auto of_users = [](const Recorder::Delay& delay) { return delay.caller < kUsers; };
  report.fields.push_back({"users_share_worst", worst});
  report.fields.push_back({"users_goodput_of_quiet", good / good_without});
  report.fields.push_back({"users_p50_of_quiet", ratio(0.5)});
  report.fields.push_back({"users_p99_of_quiet", ratio(0.99)});
  report.fields.push_back(
      {"users_delays",
       static_cast<double>(std::count_if(seen.delays().begin(), seen.delays().end(), of_users))});
}

// And of the tool: whether it is first slowed, more and more, and then blocked, and whether all is
// well when it comes back.
void AddTool(const Cell& cell, const Recorder& seen, Report& report) {
  const Scenario& s = *cell.scenario;
  const std::size_t from = Seconds(s.event.from);
  const std::size_t to = Seconds(s.event.to);
  std::size_t blocked = from;
  while (blocked < to && seen.Sum(Count::kRefused, blocked, blocked + 1, kUsers) == 0) ++blocked;

  std::vector<Recorder::Delay> slowed;  // Before it was first blocked.
  double longer = 0;                    // Those that were no shorter than the one before.
  double back = 0;                      // Delays when it has come back.
  for (const Recorder::Delay& delay : seen.delays()) {
    if (delay.caller != kUsers) continue;
    if (delay.at >= s.event.to) ++back;
    if (delay.at >= std::chrono::seconds(blocked)) continue;
    if (!slowed.empty() && delay.wait >= slowed.back().wait) ++longer;
    slowed.push_back(delay);
  }
  const auto seconds = [](Duration d) { return std::chrono::duration<double>(d).count(); };
  const double slowed_at = slowed.empty() ? seconds(s.event.to) : seconds(slowed.front().at);
  report.fields.push_back({"tool_slowed_after_s", slowed_at - seconds(s.event.from)});
  report.fields.push_back({"tool_slowed_for_s", static_cast<double>(blocked) - slowed_at});
  report.fields.push_back({"tool_first_wait_s", slowed.empty() ? 0 : seconds(slowed.front().wait)});
  report.fields.push_back({"tool_last_wait_s", slowed.empty() ? 0 : seconds(slowed.back().wait)});
  report.fields.push_back(
      {"tool_waits_grew_share",
       slowed.size() < 2 ? 0 : longer / static_cast<double>(slowed.size() - 1)});
  report.fields.push_back({"tool_share_at_its_worst", AnsweredShare(seen, kUsers, 60, to)});
  report.fields.push_back(
      {"tool_back_share", AnsweredShare(seen, kUsers, Seconds(kToolIsBack), Seconds(s.length))});
  report.fields.push_back({"tool_back_delays", back});
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
  if (cell.scenario->name == "bulkhead" || cell.scenario->name == "per-route") {
    AddSources(cell, seen, report);
  }
  if (cell.scenario->name == "fair-use") {
    AddUsers(cell, seen, report);
    AddTool(cell, seen, report);
  }
  if (cell.scenario->name == "shadow") AddShadow(cell, report);
  if (cell.scenario->name == "fleet") AddFleet(cell, seen, report);
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
