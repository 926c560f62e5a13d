// What the lab prints.
#ifndef SHED_LAB_TABLE_H_
#define SHED_LAB_TABLE_H_

#include <cstdio>
#include <vector>

#include "must_table.h"
#include "shed/sim/report.h"

namespace lab {

// Prints the main figures, one report per line.
void PrintReports(std::FILE* out, const std::vector<shed::sim::Report>& reports);

// One row of the must-table, held against a run.
struct MustResult {
  const MustRow* row = nullptr;
  std::uint64_t seed = 1;
  double value = 0;
  bool ok = false;
};

// Returns the result of every row of the table for every seed that `reports` has. A report that is
// missing, or lacks the figure, is a row that does not hold.
std::vector<MustResult> HoldAgainst(const std::vector<shed::sim::Report>& reports,
                                    const std::vector<std::uint64_t>& seeds);

// Prints one line per result.
void PrintResults(std::FILE* out, const std::vector<MustResult>& results);

}  // namespace lab

#endif  // SHED_LAB_TABLE_H_
