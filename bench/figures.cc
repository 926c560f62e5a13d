#include "bench/figures.h"

#include <algorithm>

namespace shed::bench {

void Figures::ReportRuns(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    if (run.run_type != Run::RT_Iteration) continue;
    const std::string& row = run.run_name.function_name;
    if (run.error_occurred) {
      errors_ += row + ": " + run.error_message + "\n";
      continue;
    }
    const auto iterations = static_cast<double>(run.iterations);  // Of all threads.
    const auto threads = static_cast<int>(run.threads);
    if (threads == 1) {
      figures_[{row, 1}].push_back(run.cpu_accumulated_time / iterations * 1e9);
      continue;
    }
    if (run.cpu_accumulated_time < kBothRan * run.real_accumulated_time) continue;
    figures_[{row, threads}].push_back(run.real_accumulated_time * threads / iterations * 1e9);
  }
}

std::size_t Figures::Count(const std::string& row, int threads) const {
  const auto found = figures_.find({row, threads});
  return found == figures_.end() ? 0 : found->second.size();
}

std::optional<double> Figures::Median(const std::string& row, int threads) const {
  if (Count(row, threads) < kEnough) return std::nullopt;
  std::vector<double> sorted = figures_.at({row, threads});
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

}  // namespace shed::bench
