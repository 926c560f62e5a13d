// What must come out of the lab: one row per requirement. `shed_lab must`, `shed_lab demo` and the
// tests read this table.
#ifndef SHED_LAB_MUST_TABLE_H_
#define SHED_LAB_MUST_TABLE_H_

#include <string_view>

namespace lab {

enum class Is { kAtLeast, kAtMost, kLessThan };

struct MustRow {
  std::string_view scenario;
  std::string_view stack;
  std::string_view figure;  // A field of the report.
  Is is;
  double bound;
};

// clang-format off
inline constexpr MustRow kMustTable[] = {
    // The lab does show the collapse, and that a rate cannot see a service that slows down.
    {"spike", "none", "goodput_min_1s", Is::kAtMost, 100},
    {"spike", "rate", "goodput_per_s", Is::kAtLeast, 2450},
    {"degrade", "rate", "goodput_per_s", Is::kAtMost, 50},

    {"spike", "concurrency", "goodput_per_s", Is::kAtLeast, 2550},
    {"spike", "concurrency", "p99_ms", Is::kAtMost, 12},
    {"spike", "gradient", "goodput_per_s", Is::kAtLeast, 2550},
    {"spike", "gradient", "p99_ms", Is::kAtMost, 30},
    {"spike", "knee", "goodput_per_s", Is::kAtLeast, 2550},
    {"spike", "knee", "p99_ms", Is::kAtMost, 30},
    {"spike", "all", "goodput_per_s", Is::kAtLeast, 2550},
    {"spike", "all", "p99_ms", Is::kAtMost, 30},

    {"degrade", "concurrency", "goodput_per_s", Is::kAtLeast, 780},
    {"degrade", "concurrency", "goodput_min_1s", Is::kAtLeast, 740},
    {"degrade", "concurrency", "p99_ms", Is::kAtMost, 60},
    {"degrade", "concurrency", "goodput_after_share", Is::kAtLeast, 0.98},
    {"degrade", "knee", "goodput_per_s", Is::kAtLeast, 780},
    {"degrade", "knee", "goodput_min_1s", Is::kAtLeast, 740},
    {"degrade", "knee", "p99_ms", Is::kAtMost, 60},
    {"degrade", "knee", "goodput_after_share", Is::kAtLeast, 0.98},
    {"degrade", "all", "goodput_per_s", Is::kAtLeast, 780},
    {"degrade", "all", "goodput_min_1s", Is::kAtLeast, 740},
    {"degrade", "all", "p99_ms", Is::kAtMost, 60},
    {"degrade", "all", "goodput_after_share", Is::kAtLeast, 0.98},
    {"degrade", "gradient", "goodput_per_s", Is::kAtLeast, 780},
    {"degrade", "gradient", "goodput_min_1s", Is::kAtLeast, 450},
    {"degrade", "gradient", "p99_ms", Is::kAtMost, 60},
    {"degrade", "concurrency-bad", "goodput_per_s", Is::kAtMost, 100},

    {"calm-then-degrade", "knee", "goodput_min_1s", Is::kAtLeast, 740},
    {"calm-then-degrade", "all", "goodput_min_1s", Is::kAtLeast, 740},
    {"calm-then-degrade", "gradient-envoy", "goodput_min_1s", Is::kLessThan, 500},

    // A baseline that is measured under load would ratchet up: the last minute is held against the
    // second.
    {"long-overload", "gradient", "goodput_per_s", Is::kAtLeast, 2550},
    {"long-overload", "gradient", "p99_ms", Is::kAtMost, 30},
    {"long-overload", "gradient", "p99_of_reference", Is::kAtMost, 1.3},
    {"long-overload", "knee", "goodput_per_s", Is::kAtLeast, 2550},
    {"long-overload", "knee", "p99_ms", Is::kAtMost, 30},
    {"long-overload", "knee", "p99_of_reference", Is::kAtMost, 1.3},
    {"long-overload", "all", "goodput_per_s", Is::kAtLeast, 2550},
    {"long-overload", "all", "p99_ms", Is::kAtMost, 30},
    {"long-overload", "all", "p99_of_reference", Is::kAtMost, 1.3},

    {"baseline", "gradient", "refused_share", Is::kAtMost, 0.001},
    {"baseline", "knee", "refused_share", Is::kAtMost, 0.0001},
    {"baseline", "all", "refused_share", Is::kAtMost, 0.001},

    {"slower-for-good", "knee", "refused_share", Is::kAtMost, 0.005},
    {"slower-for-good", "knee", "p99_ms", Is::kAtMost, 25},
    {"slower-for-good", "gradient", "refused_share", Is::kAtMost, 0.005},
    {"slower-for-good", "gradient", "p99_ms", Is::kAtMost, 25},

    {"bimodal", "knee", "goodput_of_capacity", Is::kAtLeast, 0.90},
    {"bimodal", "gradient", "goodput_of_capacity", Is::kAtLeast, 0.85},

    {"spike-64", "knee", "goodput_per_s", Is::kAtLeast, 20'400},
    {"degrade-64", "knee", "goodput_per_s", Is::kAtLeast, 6240},
    {"degrade-64", "knee", "goodput_min_1s", Is::kAtLeast, 5920},
    {"long-overload-64", "knee", "p99_ms", Is::kAtMost, 30},
    {"spike-1", "knee", "goodput_per_s", Is::kAtLeast, 318},
    {"degrade-1", "knee", "goodput_per_s", Is::kAtLeast, 97},
    {"degrade-1", "knee", "goodput_min_1s", Is::kAtLeast, 88},
    {"long-overload-1", "knee", "p99_ms", Is::kAtMost, 90},

    {"noisy-neighbour", "demerit", "quiet_share_worst", Is::kAtLeast, 0.99},
    {"noisy-neighbour", "concurrency", "quiet_share_best", Is::kLessThan, 0.5},
    {"noisy-neighbour", "demerit", "loud_back_share", Is::kAtLeast, 1},

    {"brown-out", "none", "reached_of_capacity", Is::kAtLeast, 3.6},
    {"brown-out", "none", "goodput_of_capacity", Is::kAtMost, 0.82},
    {"brown-out", "admission", "reached_of_capacity", Is::kAtMost, 2.4},
    {"brown-out", "admission", "goodput_of_capacity", Is::kAtLeast, 0.88},

    {"outage", "breaker", "reached_share", Is::kAtMost, 0.02},
    {"outage", "breaker", "normal_after_s", Is::kAtMost, 6},

    // It oscillates: alone in front of one server it is the wrong tool.
    {"spike", "admission", "weak_seconds", Is::kAtLeast, 2},

    {"fast-failures", "gradient", "refused_share", Is::kAtMost, 0.005},
    {"fast-failures", "gradient", "limit_factor", Is::kAtMost, 2},
    {"fast-failures", "knee", "refused_share", Is::kAtMost, 0.005},
    {"fast-failures", "knee", "limit_factor", Is::kAtMost, 2},
    {"fast-failures", "all", "refused_share", Is::kAtMost, 0.005},
    {"fast-failures", "all", "limit_factor", Is::kAtMost, 2},

    // Retries keep a service down for good after a fault of two seconds.
    {"retry-storm", "none", "goodput_after_share", Is::kAtMost, 0.05},
    {"retry-storm", "retry-budget", "normal_after_s", Is::kAtMost, 5},
    {"retry-storm", "retry-throttle", "normal_after_s", Is::kAtMost, 5},

    // Who is shed first.
    {"criticality", "knee-classes", "critical_plus_share", Is::kAtLeast, 0.985},
    {"criticality", "knee-classes", "critical_share", Is::kAtLeast, 0.92},
    {"criticality", "knee-classes", "least_step_between_classes", Is::kAtLeast, 0},
    {"criticality", "knee-classes", "goodput_per_s", Is::kAtLeast, 2578},
    {"criticality", "knee", "critical_plus_share", Is::kLessThan, 0.75},

    // Optional work never takes the last places, however much of it there is.
    {"bulkhead", "concurrency", "critical_share", Is::kAtMost, 0.5},
    {"bulkhead", "concurrency-classes", "critical_share", Is::kAtLeast, 0.99},
    {"bulkhead", "concurrency-classes", "goodput_per_s", Is::kAtLeast, 2500},
    {"bulkhead", "knee", "critical_share", Is::kAtMost, 0.5},
    {"bulkhead", "knee-classes", "critical_share", Is::kAtLeast, 0.99},
    {"bulkhead", "knee-classes", "goodput_per_s", Is::kAtLeast, 2550},

    // Half the calls of ten seconds never return. Without a limit their clients wait in vain; with
    // one, adaptive or not, its permits are gone for good, unless a breaker sees what hangs.
    {"hang", "none", "timeouts_per_s", Is::kAtLeast, 450},
    {"hang", "concurrency", "goodput_after_share", Is::kAtMost, 0.01},
    {"hang", "knee", "goodput_after_share", Is::kAtMost, 0.01},
    {"hang", "breaker-slow", "timeouts_per_s", Is::kAtMost, 10},
    {"hang", "breaker-slow", "reached_share", Is::kAtMost, 0.03},
    {"hang", "breaker-slow", "goodput_after_share", Is::kAtLeast, 0.99},
    {"hang", "breaker-slow", "normal_after_s", Is::kAtMost, 6},

    // A slow route does not lower the limit of a fast one that has its own.
    {"per-route", "gradient", "fast_share", Is::kAtMost, 0.85},
    {"per-route", "gradient-by-route", "fast_share", Is::kAtLeast, 0.9999},

    // A limit on trial is right in calm. Under load that it does not keep away, one that follows
    // the latency comes out too low, and one that measures the unloaded service much too high.
    {"shadow", "shadow-vegas", "limit_before_of_enforced", Is::kAtLeast, 0.8},
    {"shadow", "shadow-vegas", "limit_before_of_enforced", Is::kAtMost, 1.25},
    {"shadow", "shadow-vegas", "limit_during_of_enforced", Is::kAtMost, 0.5},
    {"shadow", "shadow-gradient", "limit_before_of_enforced", Is::kAtLeast, 0.8},
    {"shadow", "shadow-gradient", "limit_before_of_enforced", Is::kAtMost, 1.25},
    {"shadow", "shadow-gradient", "limit_during_of_enforced", Is::kAtLeast, 4},
    {"shadow", "shadow-knee", "limit_before_of_enforced", Is::kAtLeast, 0.8},
    {"shadow", "shadow-knee", "limit_before_of_enforced", Is::kAtMost, 1.25},
    {"shadow", "shadow-knee", "limit_during_of_enforced", Is::kAtLeast, 4},

    // A tool that hammers is first slowed, then blocked; nobody else notices; all is well later.
    {"fair-use", "none", "users_share_worst", Is::kAtMost, 0.5},
    {"fair-use", "knee", "users_share_worst", Is::kAtMost, 0.65},
    {"fair-use", "usage", "users_share_worst", Is::kAtLeast, 0.9999},
    {"fair-use", "usage", "users_goodput_of_quiet", Is::kAtLeast, 0.9999},
    {"fair-use", "usage", "users_p99_of_quiet", Is::kAtMost, 1.1},
    {"fair-use", "usage", "users_delays", Is::kAtMost, 0},
    {"fair-use", "usage", "tool_slowed_after_s", Is::kAtMost, 8},
    {"fair-use", "usage", "tool_slowed_for_s", Is::kAtLeast, 8},
    {"fair-use", "usage", "tool_first_wait_s", Is::kAtMost, 2},
    {"fair-use", "usage", "tool_last_wait_s", Is::kAtLeast, 30},
    {"fair-use", "usage", "tool_waits_grew_share", Is::kAtLeast, 0.95},
    {"fair-use", "usage", "tool_share_at_its_worst", Is::kAtMost, 0.03},
    {"fair-use", "usage", "tool_back_share", Is::kAtLeast, 1},
    {"fair-use", "usage", "tool_back_delays", Is::kAtMost, 0},

    // Ten servers that started together do not measure together (envoyproxy/envoy#8337).
    {"fleet", "gradient", "servers_that_measured", Is::kAtLeast, 10},
    {"fleet", "gradient", "most_measuring", Is::kAtMost, 3},
    {"fleet", "gradient", "fleet_goodput_min_of_mean", Is::kAtLeast, 0.98},
    {"fleet", "knee", "servers_that_measured", Is::kAtLeast, 10},
    {"fleet", "knee", "most_measuring", Is::kAtMost, 3},
    {"fleet", "knee", "fleet_goodput_min_of_mean", Is::kAtLeast, 0.98},
    {"fleet", "gradient-in-step", "most_measuring", Is::kAtLeast, 9},
    {"fleet", "gradient-in-step", "fleet_goodput_min_of_mean", Is::kAtMost, 0.97},

    // A burst that burns down is absorbed by a waiting room; a queue that stands is not let grow: it
    // would make everybody wait for as long as it may.
    {"queue", "concurrency", "refused_share", Is::kAtLeast, 0.04},
    {"queue", "queue", "refused_share", Is::kAtMost, 0},
    {"queue", "queue", "timeouts_per_s", Is::kAtMost, 0},
    {"queue", "queue", "p99_ms", Is::kAtMost, 40},
    {"queue", "queue-knee", "refused_share", Is::kAtMost, 0},
    {"spike", "queue", "goodput_per_s", Is::kAtLeast, 2640},
    {"spike", "queue", "p99_ms", Is::kAtMost, 20},
    {"spike", "queue-fifo", "p99_ms", Is::kAtLeast, 100},
    {"spike", "queue-knee", "goodput_per_s", Is::kAtLeast, 2640},
    {"spike", "queue-knee", "p99_ms", Is::kAtMost, 20},
    {"degrade", "queue", "goodput_per_s", Is::kAtLeast, 780},
    {"degrade", "queue", "p99_ms", Is::kAtMost, 30},

    {"fast", "gradient", "goodput_of_capacity", Is::kAtLeast, 0.95},
    {"fast", "knee", "goodput_of_capacity", Is::kAtLeast, 0.95},
};
// clang-format on

constexpr bool Holds(const MustRow& row, double value) {
  switch (row.is) {
    case Is::kAtLeast:
      return value >= row.bound;
    case Is::kAtMost:
      return value <= row.bound;
    case Is::kLessThan:
      return value < row.bound;
  }
  return false;
}

constexpr std::string_view Sign(Is is) {
  return is == Is::kAtLeast ? ">=" : is == Is::kAtMost ? "<=" : "<";
}

}  // namespace lab

#endif  // SHED_LAB_MUST_TABLE_H_
