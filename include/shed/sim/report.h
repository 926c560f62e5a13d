// The figures of a run.
#ifndef SHED_SIM_REPORT_H_
#define SHED_SIM_REPORT_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shed/sim/recorder.h"
#include "shed/sim/scenario.h"

namespace shed::sim {

struct Field {
  std::string name;
  double value = 0;
};

struct CallerFigures {
  std::string name;
  double offered_per_s = 0;
  double goodput_per_s = 0;
  double refused_per_s = 0;
};

struct KindFigures {
  double work_ms = 0;
  double goodput_per_s = 0;
  double p99_ms = 0;
};

// Named figures, in a fixed order, and tables where the scenario asks for them.
struct Report {
  std::string scenario;
  std::string stack;
  std::uint64_t seed = 0;
  std::vector<Field> fields;
  std::vector<CallerFigures> callers;
  std::vector<KindFigures> kinds;

  std::optional<double> Find(std::string_view name) const {
    for (const Field& field : fields) {
      if (field.name == name) return field.value;
    }
    return std::nullopt;
  }
};

namespace internal {

// Returns the `share` quantile (nearest rank) in milliseconds; 0 if there is nothing.
inline double QuantileMs(std::vector<Duration> latencies, double share) {
  if (latencies.empty()) return 0;
  const auto n = static_cast<double>(latencies.size());
  const auto rank = static_cast<std::size_t>(std::max(1.0, std::ceil(share * n)));
  const auto place = latencies.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::nth_element(latencies.begin(), place, latencies.end());
  return static_cast<double>(place->count()) * 1e-6;
}

inline double Ratio(double a, double b) { return b == 0 ? 0 : a / b; }

inline std::size_t WholeSeconds(Duration d) {
  return static_cast<std::size_t>(std::chrono::floor<std::chrono::seconds>(d).count());
}

// Makes a Report's fields from a Recorder.
class Figures {
 public:
  Figures(const Scenario& scenario, const Recorder& recorder)
      : scenario_(scenario), recorder_(recorder) {
    AddMain();
    AddShares();
    AddEvent();
    AddLimits();
    AddReference();
  }

  std::vector<Field> fields() && { return std::move(fields_); }

 private:
  void Add(std::string_view name, double value) { fields_.push_back({std::string(name), value}); }
  double Sum(Count what, const Span& span) const {
    return static_cast<double>(recorder_.Sum(what, WholeSeconds(span.from), WholeSeconds(span.to)));
  }
  double PerSecond(Count what, const Span& span) const {
    return Ratio(Sum(what, span), span.seconds());
  }
  std::vector<Duration> AllLatencies() const {
    std::vector<Duration> all;
    for (const auto& kind : recorder_.latencies()) all.insert(all.end(), kind.begin(), kind.end());
    return all;
  }
  Span LastSeconds() const {
    return {std::max(Duration(0), scenario_.length - std::chrono::seconds(15)), scenario_.length};
  }
  // What the server could answer per second during the event, if nothing else held it up.
  double Capacity() const {
    double mean_s = 0;
    for (const Phase& phase : scenario_.phases) {
      if (phase.from >= scenario_.event.to) break;
      mean_s = 0;
      for (const Work& work : phase.kinds) {
        mean_s += work.share * std::chrono::duration<double>(work.time).count();
      }
    }
    return Ratio(scenario_.workers, mean_s);
  }

  // The fields that every report has.
  void AddMain() {
    const Span& span = recorder_.measured();
    const std::vector<Duration> latencies = AllLatencies();
    double lowest = Sum(Count::kGood, {scenario_.event.from, scenario_.event.from + kSecond});
    for (Duration at = scenario_.event.from; at < scenario_.event.to; at += kSecond) {
      lowest = std::min(lowest, Sum(Count::kGood, {at, at + kSecond}));
    }
    Add("offered_per_s", PerSecond(Count::kOffered, span));
    Add("goodput_per_s", PerSecond(Count::kGood, span));
    Add("goodput_min_1s", lowest);
    Add("goodput_after_per_s", PerSecond(Count::kGood, LastSeconds()));
    Add("p50_ms", QuantileMs(latencies, 0.5));
    Add("p99_ms", QuantileMs(latencies, 0.99));
    Add("refused_per_s", PerSecond(Count::kRefused, span));
    Add("timeouts_per_s", PerSecond(Count::kTimedOut, span));
  }

  void AddShares() {
    const Span& span = recorder_.measured();
    const double offered = PerSecond(Count::kOffered, span);
    const double capacity = Capacity();
    Add("goodput_after_share",
        Ratio(Sum(Count::kGood, LastSeconds()), Sum(Count::kOffered, LastSeconds())));
    Add("refused_share", Ratio(PerSecond(Count::kRefused, span), offered));
    Add("failed_per_s", PerSecond(Count::kFailed, span));
    Add("capacity_per_s", capacity);
    Add("goodput_of_capacity", Ratio(PerSecond(Count::kGood, span), capacity));
    Add("reached_per_s", PerSecond(Count::kReached, span));
    Add("reached_of_capacity", Ratio(PerSecond(Count::kReached, span), capacity));
    // Of the whole event, its first seconds too.
    Add("reached_share",
        Ratio(Sum(Count::kReached, scenario_.event), Sum(Count::kOffered, scenario_.event)));
    if (scenario_.server_limit != 0) {
      Add("refused_by_server_per_s", PerSecond(Count::kRefusedByServer, span));
    }
  }

  void AddEvent() {
    double best = 0;
    for (Duration at = scenario_.event.from; at < scenario_.event.to; at += kSecond) {
      best = std::max(best, Sum(Count::kGood, {at, at + kSecond}));
    }
    double weak = 0;
    for (Duration at = scenario_.event.from; at < scenario_.event.to; at += kSecond) {
      if (Sum(Count::kGood, {at, at + kSecond}) < 0.5 * best) ++weak;
    }
    // Whole seconds of the event with less than half the goodput of its best.
    Add("weak_seconds", weak);
    if (scenario_.event.to >= scenario_.length) return;
    // Seconds from the end of the event until every second that follows has at least 95 % of what
    // is offered; the rest of the run if it never gets there.
    Duration normal = scenario_.length;
    while (normal > scenario_.event.to) {
      const Span second{normal - kSecond, normal};
      if (Sum(Count::kGood, second) < 0.95 * Sum(Count::kOffered, second)) break;
      normal -= kSecond;
    }
    Add("normal_after_s", Span{scenario_.event.to, normal}.seconds());
  }

  void AddLimits() {
    const Duration margin = std::chrono::seconds(10);
    const Span& event = scenario_.event;
    const Span before{std::max(Duration(0), event.from - margin), event.from};
    const Span after{event.to, std::min(event.to + margin, scenario_.length)};
    const double during = recorder_.MedianLimit(event);
    if (during == 0) return;
    Add("limit_during", during);
    const double limit_before = recorder_.MedianLimit(before);
    const double limit_after = recorder_.MedianLimit(after);
    if (limit_before == 0 || limit_after == 0) return;
    Add("limit_before", limit_before);
    Add("limit_after", limit_after);
    // How many times one is the other, whichever is higher.
    Add("limit_factor", std::max(limit_before, limit_after) / std::min(limit_before, limit_after));
  }

  void AddReference() {
    if (scenario_.reference.to == Duration(0)) return;
    const double reference = QuantileMs(recorder_.reference_latencies(), 0.99);
    Add("p99_reference_ms", reference);
    Add("p99_of_reference", Ratio(QuantileMs(AllLatencies(), 0.99), reference));
  }

  static constexpr Duration kSecond = std::chrono::seconds(1);
  const Scenario& scenario_;
  const Recorder& recorder_;
  std::vector<Field> fields_;
};

}  // namespace internal

// Returns the figures of what `recorder` saw in `scenario`. Latencies are those of answers that
// came in time, as the clients saw them; 0 where there was none.
inline Report MakeReport(const Scenario& scenario, const Recorder& recorder) {
  Report report;
  report.scenario = scenario.name;
  report.fields = internal::Figures(scenario, recorder).fields();
  const Span& span = recorder.measured();
  const auto per_second = [&](Count what, std::uint32_t caller) {
    return static_cast<double>(recorder.Sum(what, internal::WholeSeconds(span.from),
                                            internal::WholeSeconds(span.to), caller)) /
           span.seconds();
  };
  if (scenario.report_callers) {
    const std::vector<std::string> names = CallerNames(scenario);
    for (std::uint32_t caller = 0; caller < recorder.callers(); ++caller) {
      report.callers.push_back({names[caller], per_second(Count::kOffered, caller),
                                per_second(Count::kGood, caller),
                                per_second(Count::kRefused, caller)});
    }
  }
  if (scenario.report_kinds) {
    for (std::size_t kind = 0; kind < recorder.latencies().size(); ++kind) {
      const std::vector<Duration>& latencies = recorder.latencies()[kind];
      report.kinds.push_back(
          {static_cast<double>(scenario.phases.front().kinds[kind].time.count()) * 1e-6,
           static_cast<double>(latencies.size()) / span.seconds(),
           internal::QuantileMs(latencies, 0.99)});
    }
  }
  return report;
}

}  // namespace shed::sim

#endif  // SHED_SIM_REPORT_H_
