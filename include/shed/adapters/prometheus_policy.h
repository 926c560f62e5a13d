// What a policy's snapshot shows to Prometheus. Needs prometheus-cpp; see prometheus.h.
//
// Which metrics a policy has follows from the members of its Snapshot, at compile time: one with
// `limit` and `in_flight` gets shed_concurrency_limit and shed_concurrency_in_use, whoever wrote
// it. A Snapshot without a member that is known gives none.
//
// A Snapshot of your own says more with a function beside it, which is then called instead:
//
//   void ExportMetrics(const MyPolicy::Snapshot& snapshot, shed::PolicyMetrics& metrics) {
//     metrics.Members(snapshot);  // What would be shown without this function, if you want that.
//     metrics.Gauge<"my_queue_depth">("Calls that wait.", snapshot.depth);
//     metrics.Counter<"my_calls_total", "tier">("Calls by tier.", snapshot.gold, "gold");
//   }
//
// Names are checked when this is compiled. Times are in seconds.
#ifndef SHED_ADAPTERS_PROMETHEUS_POLICY_H_
#define SHED_ADAPTERS_PROMETHEUS_POLICY_H_

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "shed/circuit_breaker.h"
#include "shed/named.h"
#include "shed/outcome.h"
#include "shed/request.h"
#include "shed/time.h"
#include "shed/verdict.h"

namespace shed {

namespace internal {

// A label's name and its value.
using MetricLabel = std::pair<std::string_view, std::string_view>;

// Metrics by family: each name once, as an exposition wants it, in the order in which they came.
class MetricFamilies {
 public:
  void Add(std::string_view name, std::string_view help, prometheus::MetricType type, double value,
           std::initializer_list<MetricLabel> labels) {
    prometheus::ClientMetric metric;
    metric.label.reserve(labels.size());
    for (const auto& [label, text] : labels) {
      metric.label.push_back({std::string(label), std::string(text)});
    }
    (type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
    Find(name, help, type).metric.push_back(std::move(metric));
  }
  std::vector<prometheus::MetricFamily> Take() && { return std::move(families_); }

 private:
  prometheus::MetricFamily& Find(std::string_view name, std::string_view help,
                                 prometheus::MetricType type) {
    for (prometheus::MetricFamily& family : families_) {
      if (family.name == name) return family;
    }
    families_.push_back({std::string(name), std::string(help), type, {}});
    return families_.back();
  }

  std::vector<prometheus::MetricFamily> families_;
};

// [a-z_][a-z0-9_]*, of what Prometheus allows the part that its own checks do not warn of.
constexpr bool IsMetricName(std::string_view name) noexcept {
  for (const char c : name) {
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) return false;
  }
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9');
}
constexpr bool IsLabelName(std::string_view name) noexcept {
  return IsMetricName(name) && !name.starts_with("__") && name != "limiter" && name != "policy";
}

template <class T>
concept MetricFlag = std::same_as < std::remove_cvref_t<T>,
bool > ;
template <class T>
concept MetricNumber = std::is_arithmetic_v<std::remove_cvref_t<T>> && !MetricFlag<T>;
template <class T>
concept MetricTime = std::same_as<std::remove_cvref_t<T>, Duration>;
template <class T>
concept MetricBreakerState = std::same_as<std::remove_cvref_t<T>, BreakerState>;
template <class T>
concept MetricByClass = std::tuple_size<std::remove_cvref_t<T>>::value == kCriticalityCount;
template <class T>
concept MetricByReason = std::tuple_size<std::remove_cvref_t<T>>::value == kReasonCount;

}  // namespace internal

// A number, a truth (1 or 0) or a time (in seconds). Counts above 2^53 lose their last digits.
class MetricValue {
 public:
  template <class T>
  requires std::is_arithmetic_v<T>
  constexpr MetricValue(T value) noexcept  // NOLINT(google-explicit-constructor)
      : value_(static_cast<double>(value)) {}
  constexpr MetricValue(Duration time) noexcept  // NOLINT(google-explicit-constructor)
      : value_(std::chrono::duration<double>(time).count()) {}
  constexpr double value() const noexcept { return value_; }

 private:
  double value_;
};

// Where one policy of one limiter puts its metrics: each gets the labels `limiter` and `policy`,
// and one more where you name it. Give no name twice with the same label. Used by one thread, while
// metrics are collected.
class PolicyMetrics {
 public:
  PolicyMetrics(internal::MetricFamilies& families, std::string_view limiter,
                std::string_view policy) noexcept
      : families_(families), limiter_(limiter), policy_(policy) {}

  // What goes up and down.
  template <FixedString kName>
  void Gauge(std::string_view help, MetricValue value) {
    CheckGauge<kName>();
    Add(kName.view(), help, prometheus::MetricType::Gauge, value);
  }
  template <FixedString kName, FixedString kLabel>
  void Gauge(std::string_view help, MetricValue value, std::string_view label) {
    CheckGauge<kName>();
    Add<kLabel>(kName.view(), help, prometheus::MetricType::Gauge, value, label);
  }
  // What only grows.
  template <FixedString kName>
  void Counter(std::string_view help, MetricValue value) {
    CheckCounter<kName>();
    Add(kName.view(), help, prometheus::MetricType::Counter, value);
  }
  template <FixedString kName, FixedString kLabel>
  void Counter(std::string_view help, MetricValue value, std::string_view label) {
    CheckCounter<kName>();
    Add<kLabel>(kName.view(), help, prometheus::MetricType::Counter, value, label);
  }

  // Whatever is known of the snapshot's members.
  template <class Snapshot>
  void Members(const Snapshot& snapshot);

  // What a limiter calls: ExportMetrics(snapshot, *this) if there is one, else Members.
  template <class Snapshot>
  void Export(const Snapshot& snapshot) {
    if constexpr (requires { ExportMetrics(snapshot, *this); }) {
      ExportMetrics(snapshot, *this);
    } else {
      Members(snapshot);
    }
  }

 private:
  template <FixedString kName>
  static constexpr void CheckGauge() {
    static_assert(internal::IsMetricName(kName.view()) && !kName.view().ends_with("_total"),
                  "shed: a gauge's name is of a-z, 0-9 and _, and does not end in _total");
  }
  template <FixedString kName>
  static constexpr void CheckCounter() {
    static_assert(internal::IsMetricName(kName.view()) && kName.view().ends_with("_total"),
                  "shed: a counter's name is of a-z, 0-9 and _, and ends in _total");
  }

  void Add(std::string_view name, std::string_view help, prometheus::MetricType type,
           MetricValue value) {
    families_.Add(name, help, type, value.value(), {{"limiter", limiter_}, {"policy", policy_}});
  }
  template <FixedString kLabel>
  void Add(std::string_view name, std::string_view help, prometheus::MetricType type,
           MetricValue value, std::string_view label) {
    static_assert(internal::IsLabelName(kLabel.view()),
                  "shed: a label's name is of a-z, 0-9 and _, and neither limiter nor policy");
    families_.Add(name, help, type, value.value(),
                  {{"limiter", limiter_}, {"policy", policy_}, {kLabel.view(), label}});
  }

  template <class ByClass>
  void Rejection(const ByClass& share) {
    for (std::size_t i = 0; i < kCriticalityCount; ++i) {
      Gauge<"shed_rejection_ratio", "criticality">("Share of the calls that are refused now.",
                                                   share[i], Name(static_cast<Criticality>(i)));
    }
  }
  template <class Snapshot>
  void Adaptive(const Snapshot& s);
  template <class Snapshot>
  void Breaker(const Snapshot& s);
  template <class Snapshot>
  void Window(const Snapshot& s);
  template <class Snapshot>
  void Callers(const Snapshot& s);
  template <class Snapshot>
  void Wrapper(const Snapshot& s);

  internal::MetricFamilies& families_;
  std::string_view limiter_;
  std::string_view policy_;
};

// Whether the snapshot `s` has two members, each of its kind.
#define SHED_INTERNAL_HAS_BOTH(first, First, second, Second) \
  requires {                                                 \
    { s.first } -> internal::Metric##First;                  \
    { s.second } -> internal::Metric##Second;                \
  }
// Shows member `field` of the snapshot `s` if it has one of kind `Kind`.
#define SHED_INTERNAL_METRIC(Shape, Kind, name, field, help) \
  if constexpr (requires {                                   \
                  { s.field } -> internal::Metric##Kind;     \
                })                                           \
  Shape<name>(help, s.field)

template <class Snapshot>
void PolicyMetrics::Members(const Snapshot& s) {
  constexpr std::string_view kLimit = "Most calls or units of the policy in flight at once.";
  constexpr std::string_view kInUse = "Calls or units that the policy has in flight.";
  if constexpr (SHED_INTERNAL_HAS_BOTH(limit, Number, in_flight, Number)) {
    Gauge<"shed_concurrency_limit">(kLimit, s.limit);
    Gauge<"shed_concurrency_in_use">(kInUse, s.in_flight);
  } else if constexpr (SHED_INTERNAL_HAS_BOTH(budget, Number, in_use, Number)) {
    Gauge<"shed_concurrency_limit">(kLimit, s.budget);
    Gauge<"shed_concurrency_in_use">(kInUse, s.in_use);
  }
  if constexpr (SHED_INTERNAL_HAS_BOTH(available, Number, burst, Number)) {
    Gauge<"shed_rate_available_units">("Units that could be admitted now.", s.available);
    Gauge<"shed_rate_burst_units">("Units that can be admitted at once.", s.burst);
  }
  if constexpr (SHED_INTERNAL_HAS_BOTH(retries, Number, allowed, Number)) {
    Gauge<"shed_retries_in_flight">("Retries in flight.", s.retries);
    Gauge<"shed_retries_allowed">("Retries that may be in flight now.", s.allowed);
  }
  if constexpr (SHED_INTERNAL_HAS_BOTH(tokens, Number, max_tokens, Number)) {
    Gauge<"shed_retry_tokens">("Tokens that the retry throttle has.", s.tokens);
    Gauge<"shed_retry_tokens_max">("Tokens that it can have.", s.max_tokens);
  }
  if constexpr (SHED_INTERNAL_HAS_BOTH(reading, Number, valid, Flag)) {
    Gauge<"shed_pressure">("The latest reading of the service's pressure.", s.reading);
    Gauge<"shed_pressure_valid">("1 if that reading is new enough to act upon.", s.valid);
    if constexpr (requires {
                    { s.refused } -> internal::MetricByClass;
                  })
      Rejection(s.refused);
  }
  SHED_INTERNAL_METRIC(Gauge, Flag, "shed_queue_standing", overloaded,
                       "1 while every call waits for too long.");
  if constexpr (requires {
                  { *s.least_wait } -> internal::MetricTime;
                  { s.least_wait.has_value() } -> internal::MetricFlag;
                }) {
    if (s.least_wait.has_value()) {
      Gauge<"shed_queue_least_wait_seconds">("The least that a call of the latest interval waited.",
                                             *s.least_wait);
    }
  }
  Adaptive(s);
  Breaker(s);
  Window(s);
  Callers(s);
  Wrapper(s);
}

// Of adaptive limits: what they measure.
template <class Snapshot>
void PolicyMetrics::Adaptive([[maybe_unused]] const Snapshot& s) {
  SHED_INTERNAL_METRIC(Gauge, Time, "shed_baseline_latency_seconds", baseline,
                       "Latency without load, as the limit takes it; 0 while unknown.");
  SHED_INTERNAL_METRIC(Gauge, Time, "shed_sample_latency_seconds", sample,
                       "Latency of the latest window; 0 before the first.");
  SHED_INTERNAL_METRIC(Gauge, Time, "shed_average_latency_seconds", long_average,
                       "Latency averaged over a long time; 0 before the first window.");
  SHED_INTERNAL_METRIC(Gauge, Time, "shed_reference_latency_seconds", reference_latency,
                       "Latency near the service time; 0 while unknown.");
  SHED_INTERNAL_METRIC(Gauge, Number, "shed_gradient_ratio", gradient,
                       "What the latest window scaled the limit by.");
  SHED_INTERNAL_METRIC(Gauge, Number, "shed_wanted_limit", wanted,
                       "The limit that the algorithm wants outside of its measurements.");
  SHED_INTERNAL_METRIC(Gauge, Number, "shed_knee_requests", knee,
                       "Calls that the service can work on at once; 0 while unknown.");
  SHED_INTERNAL_METRIC(Gauge, Number, "shed_full_load_requests_per_second", throughput,
                       "Calls per second at full load; 0 while unknown.");
  SHED_INTERNAL_METRIC(Gauge, Number, "shed_queued_requests", queued,
                       "Calls in flight that wait, by the latest window.");
  SHED_INTERNAL_METRIC(Counter, Number, "shed_baseline_measurements_total", measured,
                       "Measurements of the latency without load.");
  SHED_INTERNAL_METRIC(Counter, Number, "shed_knee_measurements_total", dips,
                       "Dips in which the knee was measured.");
}

template <class Snapshot>
void PolicyMetrics::Breaker([[maybe_unused]] const Snapshot& s) {
  if constexpr (requires {
                  { s.state } -> internal::MetricBreakerState;
                }) {
    constexpr std::string_view kStates[] = {"closed", "open", "half_open", "forced_open",
                                            "forced_closed"};
    for (std::size_t i = 0; i < std::size(kStates); ++i) {
      Gauge<"shed_circuit_breaker_state", "state">("1 for the state that the breaker is in.",
                                                   static_cast<std::size_t>(s.state) == i,
                                                   kStates[i]);
    }
    SHED_INTERNAL_METRIC(Counter, Number, "shed_circuit_breaker_opens_total", opens_total,
                         "Times that the breaker opened.");
    SHED_INTERNAL_METRIC(Gauge, Time, "shed_circuit_breaker_retry_after_seconds", retry_after,
                         "What is left of the open time; 0 in other states.");
    SHED_INTERNAL_METRIC(Gauge, Number, "shed_circuit_breaker_probes_in_flight", probes_in_flight,
                         "Probes in flight.");
    SHED_INTERNAL_METRIC(Gauge, Number, "shed_circuit_breaker_admitted_ratio", admitted_share,
                         "Share of the calls admitted while the load comes back; else 1.");
  }
}

// Of what ended within a window.
template <class Snapshot>
void PolicyMetrics::Window([[maybe_unused]] const Snapshot& s) {
  constexpr std::string_view kHelp = "Calls that ended within the window.";
  if constexpr (requires {
                  { s.counts.calls } -> internal::MetricNumber;
                  { s.counts.failed } -> internal::MetricNumber;
                  { s.counts.slow } -> internal::MetricNumber;
                }) {
    Gauge<"shed_window_requests">(kHelp, s.counts.calls);
    Gauge<"shed_window_failed_requests">("Those that failed.", s.counts.failed);
    Gauge<"shed_window_slow_requests">("Those that were slow.", s.counts.slow);
  } else if constexpr (SHED_INTERNAL_HAS_BOTH(calls, Number, successes, Number)) {
    Gauge<"shed_window_requests">(kHelp, s.calls);
    Gauge<"shed_window_successful_requests">("Those that succeeded.", s.successes);
  }
  if constexpr (requires {
                  { s.class_probability } -> internal::MetricByClass;
                }) {
    Rejection(s.class_probability);
  }
}

// Of policies that know callers or keys. None of their names is a label.
template <class Snapshot>
void PolicyMetrics::Callers([[maybe_unused]] const Snapshot& s) {
  SHED_INTERNAL_METRIC(Gauge, Number, "shed_caller_share_units", share,
                       "Units that each caller has for sure.");
  SHED_INTERNAL_METRIC(Gauge, Number, "shed_active_callers", active, "Callers that are active.");
  SHED_INTERNAL_METRIC(Gauge, Number, "shed_tracked_callers", tracked,
                       "Callers with an entry of their own.");
  SHED_INTERNAL_METRIC(Gauge, Flag, "shed_contended", contended,
                       "1 while a caller that takes no more than its share had to be refused.");
  SHED_INTERNAL_METRIC(Counter, Number, "shed_hogs_total", hogs_total,
                       "Times that a caller became a hog.");
  SHED_INTERNAL_METRIC(Gauge, Number, "shed_delayed_requests", waiting, "Calls told to wait.");
  SHED_INTERNAL_METRIC(Counter, Number, "shed_callers_blocked_total", blocked_total,
                       "Times that a caller used more than is delayed.");
  if constexpr (SHED_INTERNAL_HAS_BOTH(keys, Number, made, Number)) {
    Gauge<"shed_keys">("Keys that have a policy of their own.", s.keys);
    Counter<"shed_keys_made_total">("Keys that got one.", s.made);
  }
  SHED_INTERNAL_METRIC(Counter, Number, "shed_keys_forgotten_total", forgotten,
                       "Keys that lost it.");
  SHED_INTERNAL_METRIC(Counter, Number, "shed_key_overflow_requests_total", overflow_calls,
                       "Calls whose key found no room, and shared one policy.");
  SHED_INTERNAL_METRIC(Counter, Number, "shed_key_denied_requests_total", denied,
                       "Calls whose key could not be told.");
}

// Of policies around another one, whose own metrics are under the same name.
template <class Snapshot>
void PolicyMetrics::Wrapper([[maybe_unused]] const Snapshot& s) {
  SHED_INTERNAL_METRIC(Gauge, Flag, "shed_enabled", on, "1 while the policy is switched on.");
  if constexpr (requires {
                  { s.admitted } -> internal::MetricNumber;
                  { s.refused } -> internal::MetricByReason;
                  s.policy;
                }) {
    constexpr std::string_view kHelp = "Calls by what a policy on trial would have said.";
    Counter<"shed_shadow_requests_total", "reason">(kHelp, s.admitted, "");
    for (std::size_t i = 0; i < kReasonCount; ++i) {
      if (s.refused[i] == 0) continue;
      Counter<"shed_shadow_requests_total", "reason">(kHelp, s.refused[i],
                                                      Name(static_cast<Reason>(i)));
    }
  }
  if constexpr (requires { s.policy; }) Export(s.policy);
}
#undef SHED_INTERNAL_METRIC
#undef SHED_INTERNAL_HAS_BOTH

}  // namespace shed

#endif  // SHED_ADAPTERS_PROMETHEUS_POLICY_H_
