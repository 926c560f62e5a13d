// One cell of the lab's table: a scenario under a stack.
#ifndef SHED_LAB_CELL_H_
#define SHED_LAB_CELL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "shed/sim/report.h"
#include "shed/sim/scenario.h"
#include "stacks.h"

namespace lab {

struct Cell {
  const shed::sim::Scenario* scenario = nullptr;
  const Stack* stack = nullptr;
  std::uint64_t seed = 1;
};

// Runs the cell. The same cell gives the same report, always.
shed::sim::Report RunCell(const Cell& cell);

// Runs all cells on `threads` threads, the longest first. `progress(done, of, report)` is called
// after each, one at a time. Returns the reports in the order of the cells.
std::vector<shed::sim::Report> RunCells(
    const std::vector<Cell>& cells, unsigned threads,
    const std::function<void(std::size_t done, const shed::sim::Report& report)>& progress);

}  // namespace lab

#endif  // SHED_LAB_CELL_H_
