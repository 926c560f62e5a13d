// The targets: what is measured against what, and the ratio that is still good enough.
#ifndef SHED_BENCH_TARGETS_H_
#define SHED_BENCH_TARGETS_H_

#include <array>
#include <string_view>

namespace shed::bench {

// The figure of `row` at `threads` is divided by that of `base` at `base_threads`, both from the
// same run. Rows are the names of benchmarks.
struct Target {
  std::string_view name;
  std::string_view row;
  std::string_view base;
  int threads = 1;
  int base_threads = 1;
  double limit = 0;
};

// Both threads: the floor has two as well.
inline constexpr Target Two(std::string_view name, std::string_view row, std::string_view base,
                            double limit) {
  return {name, row, base, 2, 2, limit};
}
// A second thread may slow the first one down by no more than this.
inline constexpr Target Scales(std::string_view name, std::string_view row, double limit) {
  return {name, row, row, 2, 1, limit};
}

inline constexpr std::array kTargets = {
    Target{"rate_admit", "RateAdmit", "RateAdmitFloor", 1, 1, 1.25},
    Two("rate_admit", "RateAdmit", "RateAdmitFloor", 1.25),
    Target{"rate_refuse", "RateRefuse", "RateRefuseFloor", 1, 1, 1.15},
    Two("rate_refuse", "RateRefuse", "RateRefuseFloor", 1.15),
    Target{"concurrency_pair", "ConcurrencyPair", "ConcurrencyPairFloor", 1, 1, 1.25},
    Two("concurrency_pair", "ConcurrencyPair", "ConcurrencyPairFloor", 1.25),
    Target{"concurrency_refuse", "ConcurrencyRefuse", "CompareExchangeFloor", 1, 1, 0.3},
    Scales("concurrency_refuse", "ConcurrencyRefuse", 1.3),
    Target{"gradient_refuse", "GradientRefuse", "CompareExchangeFloor", 1, 1, 0.3},
    Scales("gradient_refuse", "GradientRefuse", 1.3),
    Target{"knee_refuse", "KneeRefuse", "CompareExchangeFloor", 1, 1, 0.9},
    Scales("knee_refuse", "KneeRefuse", 1.3),
    Target{"breaker_pair", "BreakerPair", "BreakerPairFloor", 1, 1, 1.4},
    Scales("breaker_pair", "BreakerPair", 1.3),
    Target{"breaker_refuse", "BreakerRefuse", "ClockAndCountFloor", 1, 1, 1.15},
    Two("breaker_refuse", "BreakerRefuse", "ClockAndCountFloor", 1.15),
    Target{"admission_pair", "AdmissionPair", "AdmissionPairFloor", 1, 1, 1.3},
    Two("admission_pair", "AdmissionPair", "AdmissionPairFloor", 1.4),
    Target{"admission_refuse", "AdmissionRefuse", "ClockFloor", 1, 1, 1.4},
    Two("admission_refuse", "AdmissionRefuse", "ClockFloor", 1.5),
    Target{"gradient_pair", "GradientPair", "AdaptivePairFloor", 1, 1, 1.25},
    Two("gradient_pair", "GradientPair", "AdaptivePairFloor", 1.3),
    Target{"knee_pair", "KneePair", "AdaptivePairFloor", 1, 1, 1.25},
    Two("knee_pair", "KneePair", "AdaptivePairFloor", 1.3),
    Target{"five_pair", "FivePair", "FivePairFloor", 1, 1, 1.35},
    Two("five_pair", "FivePair", "FivePairFloor", 0.85),
    Target{"five_refuse_first", "FiveRefuseFirst", "ClockAndCountFloor", 1, 1, 1.25},
    Two("five_refuse_first", "FiveRefuseFirst", "ClockAndCountFloor", 1.25),
    Target{"five_refuse_last", "FiveRefuseLast", "FivePair", 1, 1, 1.0},
    Two("five_refuse_last", "FiveRefuseLast", "FivePair", 1.0),
    Target{"fair_share_10k", "FairShare10k", "FairShare10", 1, 1, 2.0},
    Target{"fair_share_100k", "FairShare100k", "FairShare10", 1, 1, 7.0},
    Target{"fair_share_1k", "FairShare1k", "ClockFloor", 1, 1, 3.3},
    Scales("fair_share_1k", "FairShare1k", 2.5),
    Target{"fair_share_refuse_10k", "FairShareRefuse10k", "FairShareRefuse10", 1, 1, 2.0},
    Target{"fair_use_10k", "FairUse10k", "FairUse10", 1, 1, 2.0},
    Scales("fair_use_1k", "FairUse1k", 2.5),
    Target{"tsc_five_pair", "TscFivePair", "FivePair", 1, 1, 0.8},
    Target{"no_sync_five_pair", "NoSyncFivePair", "FivePair", 1, 1, 0.9},
};

// What explains a figure above, and is no target: the floor of five_pair with its words on one
// line.
inline constexpr std::array kComparisons = {
    Two("five_floor_packed", "FivePackedFloor", "FivePairFloor", 0),
};

}  // namespace shed::bench

#endif  // SHED_BENCH_TARGETS_H_
