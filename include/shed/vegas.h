// A concurrency limit from an estimate of the calls that queue, as TCP Vegas has it.
//
// Use it where the latency under no load is one number and shows up every now and then. Not where
// calls of several kinds mix, nor in front of a service that is never idle: its idea of latency
// under no load follows what it sees; use a KneeLimiter.
//
// Algorithm: with L the limit, base the latency under no load and s the window's latency,
//   q = L · (1 − base/s)    the calls that wait, if the others are served as under no load
//
//   if                      the next limit is
//   q <= log                L + beta, as it is far from full
//   q < alpha               L + log
//   q > beta                L − log
//   else                    L
//
// with log = max(1, log10 L), alpha = `alpha`·log, beta = `beta`·log. `base` is the least latency
// of the windows of this and the previous `baseline_interval`, and never above `max_baseline`: a
// window's percentile, so that one lucky call sets nothing, and of two intervals, so that it is
// never taken from a single congested moment. Congestion, windows and the guards:
// internal/sampled_limit.h. Congested windows set no base.
//
// Known weakness: after two intervals of unbroken overload the latency of the overload is the base.
//
// State: a histogram and the most in flight, which every success writes; the rest under the lock of
// the enforcement (adaptive_limiter.h).
//
// Source: VegasLimit of Netflix's concurrency-limits, which takes its base from one sample.
#ifndef SHED_VEGAS_H_
#define SHED_VEGAS_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "shed/adaptive_limiter.h"
#include "shed/internal/bounds.h"
#include "shed/internal/criticality_share.h"
#include "shed/internal/sampled_limit.h"
#include "shed/internal/validate.h"
#include "shed/sync.h"

namespace shed {

struct VegasOptions {
  // The limit is never lower. Calls; default 4, range 1 to max_limit.
  std::int64_t min_limit = 4;
  // The limit is never higher. Calls; default 1000, range 1 to 1'000'000.
  std::int64_t max_limit = 1000;
  // The limit before anything is known. Calls; default 20, range min_limit to max_limit.
  std::int64_t initial_limit = 20;
  // The quantile of a window's latencies that is looked at. Default 0.75, range above 0 to 1.
  double percentile = 0.75;
  // A window closes after this time, and then after `min_samples`. Default 100 ms, range 1 us to
  // 1 h.
  Duration interval = std::chrono::milliseconds(100);
  // Successes without which a window decides nothing. Default 20, range 1 to 1'000'000.
  std::int64_t min_samples = 20;
  // What is left of the limit after a congested window: one in which over a tenth of the calls
  // ended with kOverload, or whose latency reached `timeout`. Default 0.9, range 0.1 to 0.99.
  double backoff = 0.9;
  // A latency that is no answer in time, however steady it is. Default 5 s, range 1 us to 1 h.
  Duration timeout = std::chrono::seconds(5);
  // The share of the limit up to which each class of criticality is admitted, least critical
  // first. Default 1 for all, range 0 to 1, none above that of a more critical class.
  std::array<double, kCriticalityCount> usable = internal::kUsableAll;
  // Below alpha·log10(limit) waiting calls the limit grows. Default 3, range 1 to 1000.
  double alpha = 3;
  // Above beta·log10(limit) it shrinks. Default 6, range alpha to 1000.
  double beta = 6;
  // Such a latency to begin with, as one that was saved from a snapshot. Range 1 us to
  // max_baseline, or 0, the default: none.
  Duration initial_baseline{0};
  // How long a latency under no load is remembered, twice at most. Default 30 s, range `interval`
  // to 366 days.
  Duration baseline_interval = std::chrono::seconds(30);
  // No more is ever called the latency under no load. Default and maximum 1 h, range 1 us upwards.
  Duration max_baseline = std::chrono::hours(1);

  // Returns "" if every field is in range, else a sentence that names the field and the range.
  constexpr std::string_view Problem() const noexcept {
    using std::chrono::hours;
    if (const auto problem = internal::SampledProblem(*this); !problem.empty()) return problem;
    if (!internal::InRange(alpha, 1.0, 1000.0)) return "alpha: want 1 to 1000";
    if (!internal::InRange(beta, 1.0, 1000.0) || beta < alpha) return "beta: want alpha to 1000";
    if (baseline_interval < interval || baseline_interval > hours(24 * 366)) {
      return "baseline_interval: want interval to 366 days";
    }
    if (max_baseline < std::chrono::microseconds(1) || max_baseline > hours(1)) {
      return "max_baseline: want 1 us to 1 h";
    }
    if (initial_baseline != Duration(0) &&
        (initial_baseline < std::chrono::microseconds(1) || initial_baseline > max_baseline)) {
      return "initial_baseline: want 0, or 1 us to max_baseline";
    }
    return "";
  }
};

struct VegasSnapshot {
  Duration baseline{0};      // 0 while unknown.
  Duration sample{0};        // Of the latest window; 0 before the first.
  double queued = 0;         // Calls that wait, by the latest window.
  std::uint32_t wanted = 0;  // The limit that it wants.
};

// For BasicAdaptiveLimiter, under whose lock all but Sample runs.
template <class Sync = StdSync>
class BasicVegas : public internal::SampledLimit<BasicVegas<Sync>, VegasOptions, Sync> {
  using Base = internal::SampledLimit<BasicVegas<Sync>, VegasOptions, Sync>;

 public:
  using Snapshot = VegasSnapshot;
  static constexpr std::string_view kName = "vegas_limiter";

  explicit BasicVegas(const VegasOptions& options) noexcept
      : Base(options),
        least_(options.initial_baseline),
        least_before_(options.initial_baseline),
        told_(options.initial_baseline != Duration(0)) {}

  // The rules, pure. Latency 0 is legal (a coarse clock): nothing waits.
  static constexpr double QueuedOf(double limit, Duration baseline, Duration sample) noexcept {
    if (sample <= baseline) return 0;
    return limit *
           (1 - static_cast<double>(baseline.count()) / static_cast<double>(sample.count()));
  }
  static double NextLimit(const VegasOptions& options, double limit, double queued) noexcept {
    const double log = internal::Max(1.0, __builtin_log10(limit));
    if (queued <= log) return limit + options.beta * log;
    if (queued < options.alpha * log) return limit + log;
    if (queued > options.beta * log) return limit - log;
    return limit;
  }

  double Next(double limit, const internal::SampledWindow& window) noexcept {
    Learn(window);
    queued_ = QueuedOf(limit, Baseline(), window.latency);
    return NextLimit(this->options(), limit, queued_);
  }
  Snapshot Read() const noexcept {
    return {.baseline = known_ || told_ ? Baseline() : Duration(0),
            .sample = this->sample(),
            .queued = queued_,
            .wanted = this->limit()};
  }

 private:
  Duration Baseline() const noexcept { return internal::Min(least_, least_before_); }

  void Learn(const internal::SampledWindow& window) noexcept {
    const Duration latency = internal::Min(window.latency, this->options().max_baseline);
    if (!known_ || Elapsed(since_, window.end) >= this->options().baseline_interval) {
      // What it was told is like an interval before the first.
      least_before_ = known_ || told_ ? least_ : latency;
      least_ = latency;
      since_ = window.end;
      known_ = true;
      return;
    }
    least_ = internal::Min(least_, latency);
  }

  bool known_ = false;
  TimePoint since_{};      // When this interval began.
  Duration least_;         // In it,
  Duration least_before_;  // and in the one before.
  bool told_;              // Of a baseline to begin with.
  double queued_ = 0;
};

using Vegas = BasicVegas<>;
template <class Sync = StdSync>
using BasicVegasLimiter = BasicAdaptiveLimiter<BasicVegas<Sync>, Sync>;
using VegasLimiter = BasicVegasLimiter<>;
static_assert(Policy<VegasLimiter>);

}  // namespace shed

#endif  // SHED_VEGAS_H_
