#include "json.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace lab {
namespace {

using nlohmann::ordered_json;

// Six decimals are more than a figure means.
double Rounded(double value) { return std::round(value * 1e6) / 1e6; }

ordered_json ToObject(const shed::sim::Report& report) {
  ordered_json object;
  object["scenario"] = report.scenario;
  object["stack"] = report.stack;
  object["seed"] = report.seed;
  for (const shed::sim::Field& field : report.fields) object[field.name] = Rounded(field.value);
  for (const shed::sim::CallerFigures& caller : report.callers) {
    object["callers"].push_back({{"caller", caller.name},
                                 {"offered_per_s", Rounded(caller.offered_per_s)},
                                 {"goodput_per_s", Rounded(caller.goodput_per_s)},
                                 {"refused_per_s", Rounded(caller.refused_per_s)}});
  }
  for (const shed::sim::KindFigures& kind : report.kinds) {
    object["kinds"].push_back({{"work_ms", Rounded(kind.work_ms)},
                               {"goodput_per_s", Rounded(kind.goodput_per_s)},
                               {"p99_ms", Rounded(kind.p99_ms)}});
  }
  return object;
}

}  // namespace

std::string ToJson(const std::vector<shed::sim::Report>& reports) {
  ordered_json array = ordered_json::array();
  for (const shed::sim::Report& report : reports) array.push_back(ToObject(report));
  return array.dump(2) + "\n";
}

std::string WriteFile(const std::string& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  return out ? "" : "cannot write " + file + ": " + std::strerror(errno);
}

}  // namespace lab
