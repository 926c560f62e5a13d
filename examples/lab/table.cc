#include "table.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lab {
namespace {

using shed::sim::Report;

int WidthOf(std::string_view title, const std::vector<Report>& reports,
            std::string Report::*column) {
  std::size_t width = title.size();
  for (const Report& report : reports) width = std::max(width, (report.*column).size());
  return static_cast<int>(width);
}

double ValueOf(const Report& report, std::string_view figure) {
  return report.Find(figure).value_or(std::numeric_limits<double>::quiet_NaN());
}

// Latencies mean something only where there were answers.
void PrintLatency(std::FILE* out, const Report& report, std::string_view figure) {
  if (ValueOf(report, "goodput_per_s") > 0) {
    std::fprintf(out, "  %7.1f", ValueOf(report, figure));
  } else {
    std::fprintf(out, "  %7s", "-");
  }
}

int Length(std::string_view text) { return static_cast<int>(text.size()); }

}  // namespace

void PrintReports(std::FILE* out, const std::vector<Report>& reports) {
  const int scenario = WidthOf("scenario", reports, &Report::scenario);
  const int stack = WidthOf("stack", reports, &Report::stack);
  std::fprintf(out, "%-*s  %-*s  %7s  %7s  %7s  %7s  %7s  %7s  %7s  %7s\n", scenario, "scenario",
               stack, "stack", "offered", "goodput", "lowest", "after", "p50 ms", "p99 ms",
               "refused", "timeout");
  const Report* previous = nullptr;
  for (const Report& report : reports) {
    const bool new_group =
        previous != nullptr && (previous->scenario != report.scenario ||
                                previous->Find("target_per_s") != report.Find("target_per_s"));
    if (new_group) std::fprintf(out, "\n");
    previous = &report;
    std::fprintf(out, "%-*s  %-*s", scenario, report.scenario.c_str(), stack, report.stack.c_str());
    for (const char* figure :
         {"offered_per_s", "goodput_per_s", "goodput_min_1s", "goodput_after_per_s"}) {
      std::fprintf(out, "  %7.0f", ValueOf(report, figure));
    }
    PrintLatency(out, report, "p50_ms");
    PrintLatency(out, report, "p99_ms");
    std::fprintf(out, "  %7.0f  %7.0f\n", ValueOf(report, "refused_per_s"),
                 ValueOf(report, "timeouts_per_s"));
  }
}

void PrintResults(std::FILE* out, const std::vector<MustResult>& results) {
  std::fprintf(out, "%-17s  %-15s  %-19s  %4s  %10s  %10s\n", "scenario", "stack", "figure", "seed",
               "must be", "is");
  for (const MustResult& result : results) {
    const MustRow& row = *result.row;
    char bound[32];
    std::snprintf(bound, sizeof bound, "%s %g", Sign(row.is).data(), row.bound);
    std::fprintf(out, "%-17.*s  %-15.*s  %-19.*s  %4llu  %10s  %10.5g  %s\n", Length(row.scenario),
                 row.scenario.data(), Length(row.stack), row.stack.data(), Length(row.figure),
                 row.figure.data(), static_cast<unsigned long long>(result.seed), bound,
                 result.value, result.ok ? "ok" : "FAILS");
  }
}

}  // namespace lab
