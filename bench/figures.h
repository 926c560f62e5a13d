// Collects what Google Benchmark measures, and what of it counts.
#ifndef SHED_BENCH_FIGURES_H_
#define SHED_BENCH_FIGURES_H_

#include <benchmark/benchmark.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shed::bench {

// Nanoseconds per iteration, by row and number of threads.
class Figures : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override;

  // The median of the repetitions: of one thread its CPU time, which other work on the machine does
  // not add to; of two the time that passes for each of them per iteration. nullopt if fewer than
  // kEnough repetitions count.
  std::optional<double> Median(const std::string& row, int threads) const;
  // The repetitions that count.
  std::size_t Count(const std::string& row, int threads) const;
  // What went wrong, one line per row; empty if nothing did.
  const std::string& errors() const noexcept { return errors_; }

  // Two threads that ran one after the other disturb each other not at all, so a repetition counts
  // only if their CPU time is this many times the time that passed.
  static constexpr double kBothRan = 1.85;
  static constexpr std::size_t kEnough = 3;

 private:
  std::map<std::pair<std::string, int>, std::vector<double>> figures_;
  std::string errors_;
};

}  // namespace shed::bench

#endif  // SHED_BENCH_FIGURES_H_
