// What can be set of a GradientLimiter.
#ifndef SHED_GRADIENT_OPTIONS_H_
#define SHED_GRADIENT_OPTIONS_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "shed/internal/criticality_share.h"
#include "shed/internal/validate.h"
#include "shed/time.h"

namespace shed {

// Where the latency of the unloaded service comes from.
enum class GradientBaseline : std::uint8_t {
  kFixed,  // `fixed_baseline`: you know it.
  kProbe,  // Measured now and then with the limit pinned to `probe_limit`.
  kLive,   // Measured now and then from live traffic: no call is refused for it, but under load it
           // comes out too high; set max_baseline.
};

struct GradientOptions {
  // The quantile of the latencies that is compared. Default 0.75: the median of a service with two
  // kinds of calls, half and half, jumps between them from window to window. Range above 0 to 1.
  double percentile = 0.75;
  // The share above the baseline that counts as healthy. Default 0.5: latency varies more at the
  // third quartile than at the median, for which 0.25 suits. Range 0 to 100.
  double buffer = 0.5;
  // A window closes after this time, and then after `min_samples`. Default 100 ms, range 1 us to
  // 1 h.
  Duration interval = std::chrono::milliseconds(100);
  // Successes without which a window decides nothing. Default 20, range 1 to 1'000'000.
  std::int64_t min_samples = 20;
  // The limit is never lower, probes apart. Calls; default 4, range 1 to max_limit.
  std::int64_t min_limit = 4;
  // The limit is never higher. Calls; default 1000, range 1 to 1'000'000.
  std::int64_t max_limit = 1000;
  // The limit before anything is known. Calls; default 20, range min_limit to max_limit.
  std::int64_t initial_limit = 20;
  // Keeps the limit from growing past twice the highest in-flight of the window. Default on.
  bool app_limited_guard = true;
  // Default kProbe.
  GradientBaseline baseline = GradientBaseline::kProbe;
  // The baseline of kFixed: range 1 us to max_baseline, as latencies below half a microsecond are
  // not told apart. Otherwise unused: 0, the default.
  Duration fixed_baseline{0};
  // A baseline to begin with (kProbe, kLive), as one that was saved from a snapshot: the first
  // measurement then comes after `probe_interval`, and not at once. Range 1 us to max_baseline, or
  // 0, the default: none.
  Duration initial_baseline{0};
  // The limit while a probe lasts; it never raises the limit. Calls; default 3, range 1 to
  // max_limit.
  std::int64_t probe_limit = 3;
  // Successes that make a baseline (kProbe, kLive). Default 50, range 1 to 1'000'000.
  std::int64_t probe_samples = 50;
  // Time between two measurements (kProbe, kLive). Default 60 s, range `interval` to 366 days.
  Duration probe_interval = std::chrono::seconds(60);
  // Up to this share of the interval is added, so that the servers of a fleet do not probe
  // together. Default 0.15, range 0 to 1.
  double probe_jitter = 0.15;
  // A probe lasts no longer, so that hung calls cannot hold it open; with a quarter of its samples
  // it counts. Default 5 s, range 1 ms to 1 h.
  Duration probe_timeout = std::chrono::seconds(5);
  // No more is ever called healthy. Default and maximum 1 h, range 1 us upwards.
  Duration max_baseline = std::chrono::hours(1);
  // Windows at the minimum after which the baseline is measured again (kProbe, kLive). Default 5,
  // range 0 (never) to 1'000'000.
  std::int64_t stuck_windows = 5;
  // The share taken off the limit by a window in which over a tenth of the calls ended with
  // kOverload. Default 0.1, range 0 to 0.9.
  double overload_shrink = 0.1;
  // The share of the limit up to which each class of criticality is admitted, least critical
  // first. Default 1 for all, range 0 to 1, none above that of a more critical class.
  std::array<double, kCriticalityCount> usable = internal::kUsableAll;
  // Of the jitter. Give each server of a fleet its own. Default 0, any value.
  std::uint64_t seed = 0;

  // Returns "" if every field is in range, else a sentence that names the field and the range.
  constexpr std::string_view Problem() const noexcept {
    if (const std::string_view problem = SamplesProblem(); !problem.empty()) return problem;
    if (const std::string_view problem = LimitsProblem(); !problem.empty()) return problem;
    if (const std::string_view problem = BaselineProblem(); !problem.empty()) return problem;
    if (!internal::InRange(overload_shrink, 0.0, 0.9)) return "overload_shrink: want 0 to 0.9";
    return internal::UsableProblem(usable);
  }

 private:
  static constexpr std::int64_t kMaxCount = 1'000'000;
  static constexpr bool IsCount(std::int64_t n) noexcept { return n >= 1 && n <= kMaxCount; }

  constexpr std::string_view SamplesProblem() const noexcept {
    if (!internal::InRange(percentile, 0.0, 1.0) || percentile == 0.0) {
      return "percentile: want above 0 and at most 1";
    }
    if (!internal::InRange(buffer, 0.0, 100.0)) return "buffer: want 0 to 100";
    if (interval < std::chrono::microseconds(1) || interval > std::chrono::hours(1)) {
      return "interval: want 1 us to 1 h";
    }
    return IsCount(min_samples) ? "" : "min_samples: want 1 to 1000000";
  }

  constexpr std::string_view LimitsProblem() const noexcept {
    if (!IsCount(max_limit)) return "max_limit: want 1 to 1000000 calls";
    if (min_limit < 1 || min_limit > max_limit) return "min_limit: want 1 to max_limit";
    if (initial_limit < min_limit || initial_limit > max_limit) {
      return "initial_limit: want min_limit to max_limit";
    }
    if (probe_limit < 1 || probe_limit > max_limit) return "probe_limit: want 1 to max_limit";
    return "";
  }

  constexpr std::string_view BaselineProblem() const noexcept {
    using std::chrono::hours;
    if (baseline > GradientBaseline::kLive) return "baseline: want kFixed, kProbe or kLive";
    if (max_baseline < std::chrono::microseconds(1) || max_baseline > hours(1)) {
      return "max_baseline: want 1 us to 1 h";
    }
    if (baseline != GradientBaseline::kFixed) {
      if (fixed_baseline != Duration::zero()) return "fixed_baseline: want 0 without kFixed";
      if (initial_baseline != Duration::zero() &&
          (initial_baseline < std::chrono::microseconds(1) || initial_baseline > max_baseline)) {
        return "initial_baseline: want 0, or 1 us to max_baseline";
      }
    } else if (fixed_baseline < std::chrono::microseconds(1) || fixed_baseline > max_baseline) {
      return "fixed_baseline: want 1 us to max_baseline with kFixed";
    } else if (initial_baseline != Duration::zero()) {
      return "initial_baseline: want 0 with kFixed";
    }
    if (!IsCount(probe_samples)) return "probe_samples: want 1 to 1000000";
    if (probe_interval < interval || probe_interval > hours(366 * 24)) {
      return "probe_interval: want interval to 366 days";
    }
    if (!internal::InRange(probe_jitter, 0.0, 1.0)) return "probe_jitter: want 0 to 1";
    if (probe_timeout < std::chrono::milliseconds(1) || probe_timeout > hours(1)) {
      return "probe_timeout: want 1 ms to 1 h";
    }
    if (stuck_windows < 0 || stuck_windows > kMaxCount) return "stuck_windows: want 0 to 1000000";
    return "";
  }
};

}  // namespace shed

#endif  // SHED_GRADIENT_OPTIONS_H_
