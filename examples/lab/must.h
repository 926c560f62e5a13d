// Holds the lab's figures against the must-table.
#ifndef SHED_LAB_MUST_H_
#define SHED_LAB_MUST_H_

#include <cstdint>
#include <vector>

#include "cell.h"
#include "must_table.h"
#include "shed/sim/report.h"

namespace lab {

// Returns the cells that the table needs, each for every seed.
std::vector<Cell> MustCells(const std::vector<std::uint64_t>& seeds);

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

}  // namespace lab

#endif  // SHED_LAB_MUST_H_
