// What a call costs, as ratios to what cannot be avoided, all in one run.
//
//   shed_bench [--ratios=FILE] [Google Benchmark's own flags]
//
// Prints a table, and writes the ratios to FILE as JSON. Runs each row at least seven times, in
// random order, so that whatever else the machine does falls on all rows alike.
#include <benchmark/benchmark.h>
#include <pthread.h>
#include <sched.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/figures.h"
#include "bench/floors.h"
#include "bench/subjects.h"
#include "bench/targets.h"

namespace shed::bench {
namespace {

// Thread i runs on processor i, or where there is just one, anywhere.
void Pin(std::size_t thread, std::size_t threads) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (threads == 1 || cpu == thread) CPU_SET(cpu, &set);
  }
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

template <class Subject>
void Measure(benchmark::State& state) {
  static Subject subject;
  this_thread = static_cast<std::size_t>(state.thread_index());
  Pin(this_thread, static_cast<std::size_t>(state.threads()));
  bool ok = true;
  for (auto _ : state) ok &= subject();
  if (!ok) state.SkipWithError("a call was admitted that should be refused, or the reverse");
}

template <class Subject>
void Row(const char* name, bool two) {
  auto* row = benchmark::RegisterBenchmark(name, Measure<Subject>);
  row->Threads(1);
  if (two) row->Threads(2);
  row->UseRealTime();
}

void RegisterRows() {
#define SHED_BENCH_ROW(Name) Row<Name>(#Name, true)
  SHED_BENCH_ROW(ClockFloor);
  SHED_BENCH_ROW(ClockAndCountFloor);
  SHED_BENCH_ROW(RateAdmitFloor);
  SHED_BENCH_ROW(RateRefuseFloor);
  SHED_BENCH_ROW(ConcurrencyPairFloor);
  SHED_BENCH_ROW(CompareExchangeFloor);
  SHED_BENCH_ROW(BreakerPairFloor);
  SHED_BENCH_ROW(AdmissionPairFloor);
  SHED_BENCH_ROW(AdaptivePairFloor);
  SHED_BENCH_ROW(FivePairFloor);
  SHED_BENCH_ROW(FivePackedFloor);
  SHED_BENCH_ROW(RateAdmit);
  SHED_BENCH_ROW(RateRefuse);
  SHED_BENCH_ROW(ConcurrencyPair);
  SHED_BENCH_ROW(ConcurrencyRefuse);
  SHED_BENCH_ROW(GradientRefuse);
  SHED_BENCH_ROW(KneeRefuse);
  SHED_BENCH_ROW(BreakerPair);
  SHED_BENCH_ROW(BreakerRefuse);
  SHED_BENCH_ROW(AdmissionPair);
  SHED_BENCH_ROW(AdmissionRefuse);
  SHED_BENCH_ROW(GradientPair);
  SHED_BENCH_ROW(KneePair);
  SHED_BENCH_ROW(FivePair);
  SHED_BENCH_ROW(FiveRefuseFirst);
  SHED_BENCH_ROW(FiveRefuseLast);
#undef SHED_BENCH_ROW
  Row<TscFivePair>("TscFivePair", false);
  Row<NoSyncFivePair>("NoSyncFivePair", false);
  Row<FairShare<10>>("FairShare10", false);
  Row<FairShare<1'000>>("FairShare1k", true);
  Row<FairShare<10'000>>("FairShare10k", false);
  Row<FairShare<100'000>>("FairShare100k", false);
  Row<FairUse<10>>("FairUse10", false);
  Row<FairUse<1'000>>("FairUse1k", true);
  Row<FairUse<10'000>>("FairUse10k", false);
  Row<FairShareRefuse<10>>("FairShareRefuse10", false);
  Row<FairShareRefuse<10'000>>("FairShareRefuse10k", false);
}

// Returns the ratios as JSON, having printed them.
nlohmann::json Report(const Figures& figures) {
  nlohmann::json ratios = nlohmann::json::array();
  int missed = 0;
  int unmeasured = 0;
  std::printf("%-22s %7s %9s %9s %7s %7s  %s\n", "target", "threads", "floor ns", "shed ns",
              "ratio", "limit", "");
  for (const Target& target : kTargets) {
    const auto floor = figures.Median(std::string(target.base), target.base_threads);
    const auto shed = figures.Median(std::string(target.row), target.threads);
    const std::string name(target.name);
    nlohmann::json row = {{"target", name},      {"threads", target.threads},
                          {"floor_ns", nullptr}, {"shed_ns", nullptr},
                          {"ratio", nullptr},    {"limit", target.limit},
                          {"ok", nullptr}};
    if (floor && shed) {
      const double ratio = *shed / *floor;
      const bool ok = ratio <= target.limit;
      missed += ok ? 0 : 1;
      row["floor_ns"] = *floor;
      row["shed_ns"] = *shed;
      row["ratio"] = ratio;
      row["ok"] = ok;
      std::printf("%-22s %7d %9.1f %9.1f %7.2f %7.2f  %s\n", name.c_str(), target.threads, *floor,
                  *shed, ratio, target.limit, ok ? "ok" : "MISSED");
    } else {
      ++unmeasured;
      std::printf("%-22s %7d %9s %9s %7s %7.2f  %s\n", name.c_str(), target.threads, "-", "-", "-",
                  target.limit, "not measured");
    }
    ratios.push_back(std::move(row));
  }
  std::printf("%zu targets, %d missed, %d not measured\n", kTargets.size(), missed, unmeasured);
  for (const Target& comparison : kComparisons) {
    const auto base = figures.Median(std::string(comparison.base), comparison.base_threads);
    const auto row = figures.Median(std::string(comparison.row), comparison.threads);
    if (!base || !row) continue;
    std::printf("%-22s %7d %9.1f %9.1f %7.2f\n", std::string(comparison.name).c_str(),
                comparison.threads, *base, *row, *row / *base);
  }
  return ratios;
}

template <class P>
void PrintSize(const char* name) {
  std::printf("%-22s %7zu\n", name, sizeof(Solo<P>));
}

void PrintSizes() {
  std::printf("\n%-22s %7s\n", "bytes", "");
  PrintSize<RateLimiter>("RateLimiter");
  PrintSize<ConcurrencyLimiter>("ConcurrencyLimiter");
  PrintSize<CircuitBreaker>("CircuitBreaker");
  PrintSize<AdmissionController>("AdmissionController");
  PrintSize<KneeLimiter>("KneeLimiter");
  PrintSize<GradientLimiter>("GradientLimiter");
  std::printf("%-22s %7zu\n", "  of it its histogram", sizeof(internal::LatencyHistogram<StdSync>));
  PrintSize<DemeritTracker>("DemeritTracker");
  PrintSize<UsageThrottle>("UsageThrottle");
  std::printf("%-22s %7zu\n", "five in a limiter", sizeof(Five));
  std::printf("%-22s %7zu\n", "  and its guard", sizeof(Five::Guard));
}

// Takes --ratios=FILE out of the arguments.
std::optional<std::string> TakeRatiosFlag(std::vector<char*>& arguments) {
  constexpr std::string_view kFlag = "--ratios=";
  std::optional<std::string> file;
  std::erase_if(arguments, [&](char* argument) {
    const std::string_view text(argument);
    if (!text.starts_with(kFlag)) return false;
    file = text.substr(kFlag.size());
    return true;
  });
  return file;
}

int Main(int argc, char** argv) {
  // Before the user's own, so that those count.
  std::string defaults[] = {"--benchmark_repetitions=7",
                            "--benchmark_enable_random_interleaving=true",
                            "--benchmark_min_time=0.06"};
  std::vector<char*> arguments(argv, argv + argc);
  const auto file = TakeRatiosFlag(arguments);
  for (std::string& flag : defaults) arguments.insert(arguments.begin() + 1, flag.data());
  auto count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;

  RegisterRows();
  Figures figures;
  benchmark::RunSpecifiedBenchmarks(&figures);
  const nlohmann::json ratios = Report(figures);
  PrintSizes();
  if (file) {
    std::ofstream out(*file);
    out << ratios.dump(2) << '\n';
    if (!out.flush()) {
      std::cerr << *file << ": cannot be written\n";
      return 1;
    }
  }
  if (!figures.errors().empty()) {
    std::cerr << figures.errors();
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace shed::bench

int main(int argc, char** argv) { return shed::bench::Main(argc, argv); }
