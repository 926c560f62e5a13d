// Reports as JSON.
#ifndef SHED_LAB_JSON_H_
#define SHED_LAB_JSON_H_

#include <string>
#include <vector>

#include "shed/sim/report.h"

namespace lab {

// Returns an array with one object per report: scenario, stack, seed, then its figures as numbers.
// The same reports give the same bytes.
std::string ToJson(const std::vector<shed::sim::Report>& reports);

// Writes `text` to `file`. Returns "" or a sentence that says what went wrong.
std::string WriteFile(const std::string& file, const std::string& text);

}  // namespace lab

#endif  // SHED_LAB_JSON_H_
