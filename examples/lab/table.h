// What the lab prints.
#ifndef SHED_LAB_TABLE_H_
#define SHED_LAB_TABLE_H_

#include <cstdio>
#include <vector>

#include "must.h"
#include "shed/sim/report.h"

namespace lab {

// Prints the main figures, one report per line.
void PrintReports(std::FILE* out, const std::vector<shed::sim::Report>& reports);

// Prints one line per result.
void PrintResults(std::FILE* out, const std::vector<MustResult>& results);

}  // namespace lab

#endif  // SHED_LAB_TABLE_H_
