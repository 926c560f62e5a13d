#include "must.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "scenarios.h"
#include "stacks.h"

namespace lab {
namespace {

using shed::sim::Report;

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

}  // namespace

std::vector<Cell> MustCells(const std::vector<std::uint64_t>& seeds) {
  std::vector<Cell> cells;
  for (const auto& scenario : Scenarios()) {
    for (const Stack& stack : Stacks()) {
      const bool needed =
          std::any_of(std::begin(kMustTable), std::end(kMustTable), [&](const MustRow& row) {
            return row.scenario == scenario.name && row.stack == stack.name;
          });
      if (!needed) continue;
      for (const std::uint64_t seed : seeds) cells.push_back({&scenario, &stack, seed});
    }
  }
  return cells;
}

std::vector<MustResult> HoldAgainst(const std::vector<Report>& reports,
                                    const std::vector<std::uint64_t>& seeds) {
  std::vector<MustResult> results;
  for (const MustRow& row : kMustTable) {
    for (const std::uint64_t seed : seeds) {
      const auto found = std::find_if(reports.begin(), reports.end(), [&](const Report& report) {
        return report.scenario == row.scenario && report.stack == row.stack && report.seed == seed;
      });
      MustResult result{&row, seed, kNothing, false};
      if (found != reports.end()) result.value = found->Find(row.figure).value_or(kNothing);
      result.ok = !std::isnan(result.value) && Holds(row, result.value);
      results.push_back(result);
    }
  }
  return results;
}

}  // namespace lab
