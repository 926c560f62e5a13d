// A concurrency limit that follows latency against its own long average.
//
// Use it for a batch or a client whose latency has no fixed idea of healthy, and where slow growth
// of it is no trouble. Not against long overloads: the average follows the overload; use a
// KneeLimiter.
//
// Algorithm: after each window, with L the limit, s the window's latency and `long` the exponential
// average of s over `long_windows` windows (the plain mean of the first ten),
//   g = clamp(tolerance · long / s, 0.5, 1)
//   L' = L · (1 − smoothing) + smoothing · (L · g + queue)
// so that the limit grows by smoothing·queue a window while s is within tolerance, and shrinks in
// proportion beyond. A long average of more than twice s loses a twentieth each window: it comes
// down soon after an overload. Congestion, windows and the guards: internal/sampled_limit.h.
// Congested windows are no part of the average: a service that answers nothing but time-outs,
// however evenly, is not healthy.
//
// State: a histogram and the most in flight, which every success writes; the rest under the lock of
// the enforcement (adaptive_limiter.h).
//
// Source: Gradient2Limit of Netflix's concurrency-limits.
#ifndef SHED_GRADIENT2_H_
#define SHED_GRADIENT2_H_

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

struct Gradient2Options {
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
  // How far the latency may be above its long average. Default 1.5, range 1 to 100.
  double tolerance = 1.5;
  // Calls that may wait. Default 4, range 0 to 1'000'000.
  double queue = 4;
  // The long average to begin with, as one that was saved from a snapshot. Range 1 us to 1 h, or 0,
  // the default: none.
  Duration initial_baseline{0};
  // How much of the way to the new limit a window goes. Default 0.2, range 0.001 to 1.
  double smoothing = 0.2;
  // Windows that the long average is over. Default 600: a minute. Range 10 to 1'000'000.
  std::int64_t long_windows = 600;

  // Returns "" if every field is in range, else a sentence that names the field and the range.
  constexpr std::string_view Problem() const noexcept {
    if (const auto problem = internal::SampledProblem(*this); !problem.empty()) return problem;
    if (!internal::InRange(tolerance, 1.0, 100.0)) return "tolerance: want 1 to 100";
    if (!internal::InRange(queue, 0.0, 1e6)) return "queue: want 0 to 1000000 calls";
    if (!internal::InRange(smoothing, 0.001, 1.0)) return "smoothing: want 0.001 to 1";
    if (initial_baseline != Duration(0) && (initial_baseline < std::chrono::microseconds(1) ||
                                            initial_baseline > std::chrono::hours(1))) {
      return "initial_baseline: want 0, or 1 us to 1 h";
    }
    if (long_windows < 10 || long_windows > 1'000'000) return "long_windows: want 10 to 1000000";
    return "";
  }
};

struct Gradient2Snapshot {
  Duration long_average{0};  // 0 before the first window.
  Duration sample{0};        // Of the latest window; 0 before the first.
  double gradient = 1;       // Of the latest window.
  std::uint32_t wanted = 0;  // The limit that it wants.
};

// For BasicAdaptiveLimiter, under whose lock all but Sample runs.
template <class Sync = StdSync>
class BasicGradient2 : public internal::SampledLimit<BasicGradient2<Sync>, Gradient2Options, Sync> {
  using Base = internal::SampledLimit<BasicGradient2<Sync>, Gradient2Options, Sync>;

 public:
  using Snapshot = Gradient2Snapshot;
  static constexpr std::string_view kName = "gradient2_limiter";

  explicit BasicGradient2(const Gradient2Options& options) noexcept
      : Base(options),
        windows_(options.initial_baseline == Duration(0) ? 0 : kWarmUp),
        long_ns_(static_cast<double>(options.initial_baseline.count())) {}

  // The rules, pure. Latency 0 is legal (a coarse clock): it is no congestion.
  static constexpr double GradientOf(double long_ns, double tolerance, double sample_ns) noexcept {
    if (sample_ns <= 0) return 1;
    return internal::Clamp(tolerance * long_ns / sample_ns, 0.5, 1.0);
  }
  static constexpr double NextLimit(const Gradient2Options& options, double limit,
                                    double gradient) noexcept {
    const double wanted = limit * gradient + options.queue;
    return limit * (1 - options.smoothing) + wanted * options.smoothing;
  }

  double Next(double limit, const internal::SampledWindow& window) noexcept {
    const auto sample = static_cast<double>(window.latency.count());
    Learn(sample);
    gradient_ = GradientOf(long_ns_, this->options().tolerance, sample);
    return NextLimit(this->options(), limit, gradient_);
  }
  Snapshot Read() const noexcept {
    return {.long_average = Duration(static_cast<std::int64_t>(long_ns_)),
            .sample = this->sample(),
            .gradient = gradient_,
            .wanted = this->limit()};
  }

 private:
  static constexpr std::int64_t kWarmUp = 10;

  void Learn(double sample) noexcept {
    windows_ = internal::Min(windows_ + 1, kWarmUp + 1);
    const double weight = windows_ <= kWarmUp
                              ? 1 / static_cast<double>(windows_)
                              : 2 / (static_cast<double>(this->options().long_windows) + 1);
    long_ns_ += (sample - long_ns_) * weight;
    if (long_ns_ > 2 * sample) long_ns_ *= 0.95;
  }

  std::int64_t windows_;
  double long_ns_;
  double gradient_ = 1;
};

using Gradient2 = BasicGradient2<>;
template <class Sync = StdSync>
using BasicGradient2Limiter = BasicAdaptiveLimiter<BasicGradient2<Sync>, Sync>;
using Gradient2Limiter = BasicGradient2Limiter<>;
static_assert(Policy<Gradient2Limiter>);

}  // namespace shed

#endif  // SHED_GRADIENT2_H_
