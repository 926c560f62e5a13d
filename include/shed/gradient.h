// Moves a limit by how far latency is from that of the unloaded service: the algorithm of
// GradientLimiter.
//
// Algorithm: once per window, with sample = a percentile of the latencies of its successes,
//   g      = clamp(baseline·(1 + buffer) / sample, 0.5, 2)
//   limit' = clamp(floor(limit·g + sqrt(limit·g)), min_limit, max_limit)
// The buffer is latency that counts as healthy; the root is room for a queue, without which the
// limit could never grow; the clamp of g makes one odd window harmless.
//   App-limited guard: the limit never grows past twice the highest in-flight of the window. Hours
//     of calm would let it drift to the maximum otherwise, and the next overload in whole.
//   Only successes are samples: a fast error is no proof of health. Where more than a tenth of the
//     calls end with kOverload, the limit also shrinks by `overload_shrink`.
//   The baseline is fixed, or measured again and again: pinned to `probe_limit` (kProbe), or from
//     live traffic (kLive). A measurement uses only calls that began in it: the ones before it ran
//     under load, and each measurement would come out higher than the one before.
//   At the minimum for `stuck_windows` in a row, the baseline is wrong: it is measured again.
//
// Known weakness: while a service is degraded and overloaded at once no window is uncongested, and
// until the next measurement the limit can settle at g/(1−g)², above the minimum and below what the
// service could do. KneeLimiter has no such state.
//
// State: atomics for what every success writes (histogram, highest in-flight), the rest under the
// lock of the enforcement (adaptive_limiter.h). A thread that is held up between its look at the
// epoch and its sample, for a whole measurement, adds one old sample to the next window.
// Source: Envoy's adaptive concurrency filter, after the gradient limits of Netflix's
// concurrency-limits.
#ifndef SHED_GRADIENT_H_
#define SHED_GRADIENT_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string_view>

#include "shed/gradient_options.h"
#include "shed/internal/bounds.h"
#include "shed/internal/histogram.h"
#include "shed/internal/split_mix.h"
#include "shed/limit_algorithm.h"
#include "shed/sync.h"

namespace shed {

enum class GradientMode : std::uint8_t {
  kFollow,  // The limit follows the latency.
  kProbe,   // The limit is pinned; a baseline is measured.
  kLive,    // A baseline is measured, from whatever is in flight.
};

struct GradientSnapshot {
  GradientMode mode = GradientMode::kFollow;
  Duration baseline{0};        // 0 while unknown.
  Duration sample{0};          // The percentile of the latest window; 0 before the first.
  double gradient = 1;         // Of the latest window.
  std::uint32_t wanted = 0;    // The limit outside probes.
  std::uint64_t measured = 0;  // Baselines so far.
  TimePoint next_probe{};      // TimePoint::max() with a fixed baseline.
};

// For BasicAdaptiveLimiter, under whose lock all but Sample runs.
template <class Sync = StdSync>
class BasicGradient {
 public:
  using Options = GradientOptions;
  using Snapshot = GradientSnapshot;
  static constexpr std::string_view kName = "gradient_limiter";
  static constexpr bool kIntegral = false;
  static constexpr bool kCountsRefusals = false;

  explicit BasicGradient(const Options& options) noexcept
      : options_(options),
        random_(options.seed),
        limit_(static_cast<std::uint32_t>(options.initial_limit)) {
    baseline_ = options.baseline == GradientBaseline::kFixed ? options.fixed_baseline
                                                             : options.initial_baseline;
  }

  // The rules, pure. -------------------------------------------------------------------------

  // Latency 0 is legal (a coarse clock): it is no congestion.
  static constexpr double GradientOf(Duration baseline, double buffer, Duration sample) noexcept {
    if (sample <= Duration::zero()) return kSteepest;
    const double ratio =
        static_cast<double>(baseline.count()) / static_cast<double>(sample.count());
    return internal::Clamp(ratio * (1 + buffer), 1 / kSteepest, kSteepest);
  }

  // floor(x + sqrt(x)), exact, for x in [0, 2^40]: the last n with (n − x)² <= x.
  static constexpr std::uint64_t PlusRoot(double x) noexcept {
    std::uint64_t root = 0;
    const auto whole = static_cast<std::uint64_t>(x);
    for (std::uint64_t bit = std::uint64_t{1} << 20; bit != 0; bit >>= 1) {
      if ((root + bit) * (root + bit) <= whole) root += bit;
    }
    std::uint64_t n = whole + root;
    const auto fits = [x](std::uint64_t next) {
      const double over = static_cast<double>(next) - x;
      return over * over <= x;
    };
    while (fits(n + 1)) ++n;
    return n;
  }

  // The limit after a window with gradient `g` in which at most `peak` calls were in flight.
  static constexpr std::uint32_t NextLimit(std::uint32_t limit, double g, std::uint32_t peak,
                                           const Options& options) noexcept {
    std::uint64_t next = PlusRoot(static_cast<double>(limit) * g);
    if (options.app_limited_guard && next > limit) {
      next = internal::Max<std::uint64_t>(limit, internal::Min(next, std::uint64_t{peak} * 2));
    }
    return static_cast<std::uint32_t>(
        internal::Clamp(next, static_cast<std::uint64_t>(options.min_limit),
                        static_cast<std::uint64_t>(options.max_limit)));
  }

  // The limit after a window in which what we depend on shed us.
  static constexpr std::uint32_t Shrunk(std::uint32_t limit, const Options& options) noexcept {
    const auto kept =
        static_cast<std::int64_t>(static_cast<double>(limit) * (1 - options.overload_shrink));
    return static_cast<std::uint32_t>(internal::Max(kept, options.min_limit));
  }

  static constexpr bool IsOverloaded(std::uint64_t overloaded, std::uint64_t completed) noexcept {
    return overloaded * 10 > completed;
  }

  // What the enforcement calls. --------------------------------------------------------------

  LimitPlan Start(TimePoint now) noexcept {
    if (options_.baseline == GradientBaseline::kFixed) return Follow(now);
    if (measured_ > 0 || baseline_ == Duration::zero()) return Measure(now);
    next_probe_ = NextProbe(now);  // It was told what to begin with.
    return Follow(now);
  }

  LimitPlan Configure(const Options& options, TimePoint now) noexcept {
    const Options before = options_;
    options_ = options;
    limit_ = internal::Clamp(limit_, static_cast<std::uint32_t>(options.min_limit),
                             static_cast<std::uint32_t>(options.max_limit));
    if (options.baseline == GradientBaseline::kFixed) {
      baseline_ = options.fixed_baseline;
      mode_ = GradientMode::kFollow;
      next_probe_ = TimePoint::max();
      return Follow(now);
    }
    baseline_ = internal::Min(baseline_, options.max_baseline);
    if (options.baseline != before.baseline) return Measure(now);
    if (mode_ != GradientMode::kFollow) return Gather(Missing());
    if (options.probe_interval != before.probe_interval ||
        options.probe_jitter != before.probe_jitter) {
      next_probe_ = NextProbe(now);
    }
    return Follow(now);
  }

  LimitPlan Close(const LimitWindow& window, Events& events) noexcept {
    completed_ += window.completed;
    overloaded_ += window.overloaded;
    if (mode_ != GradientMode::kFollow) return CloseMeasurement(window, events);
    // Where the timeline ends, even a probe that is never due would be.
    if (window.end >= next_probe_ && options_.baseline != GradientBaseline::kFixed) {
      return Remeasure(window, Cause::kTimeElapsed, events);
    }
    const bool overload = IsOverloaded(overloaded_, completed_);
    const bool sampled = histogram_.Count() >= MinSamples();
    if (!sampled && !(overload && completed_ >= MinSamples())) {
      // Those of long ago must not outvote those to come.
      if (completed_ >= MinSamples()) completed_ = overloaded_ = 0;
      return Follow(window.end);  // The samples stay, and the next closing has them too.
    }
    const std::uint32_t before = limit_;
    if (sampled) Step();
    if (overload) limit_ = internal::Min(limit_, Shrunk(before, options_));
    at_minimum_ = limit_ <= options_.min_limit && (gradient_ < 1 || overload) ? at_minimum_ + 1 : 0;
    if (options_.stuck_windows > 0 && at_minimum_ >= options_.stuck_windows &&
        options_.baseline != GradientBaseline::kFixed) {
      return Remeasure(window, Cause::kStuckAtMinimum, events);  // Reports where the limit goes.
    }
    Report(window, limit_, overload ? Cause::kOverloadOutcomes : Cause::kGradient, events);
    completed_ = overloaded_ = 0;
    return Follow(window.end);
  }

  // A success; any thread.
  void Sample(const Completion& completion, std::uint32_t in_flight) noexcept {
    // Relaxed: the epoch alone decides; see State for what that leaves.
    if (completion.started.time_since_epoch().count() < epoch_.load(std::memory_order_relaxed)) {
      return;
    }
    histogram_.Record(completion.latency());
    std::uint32_t peak = peak_.load(std::memory_order_relaxed);
    while (in_flight > peak &&
           !peak_.compare_exchange_weak(peak, in_flight, std::memory_order_relaxed)) {
    }
  }

  Snapshot Read() const noexcept {
    return {mode_, baseline_, sample_, gradient_, limit_, measured_, next_probe_};
  }

 private:
  static constexpr double kSteepest = 2;

  std::uint32_t MinSamples() const noexcept {
    return static_cast<std::uint32_t>(options_.min_samples);
  }
  std::uint32_t ProbeSamples() const noexcept {
    return static_cast<std::uint32_t>(options_.probe_samples);
  }

  // Ends the samples of a window with a new limit.
  void Step() noexcept {
    const internal::LatencyCounts counts = histogram_.Take();
    sample_ = counts.Quantile(options_.percentile);
    gradient_ = GradientOf(baseline_, options_.buffer, sample_);
    // Relaxed: a maximum of one window or the next; nothing else hangs on it.
    limit_ = NextLimit(limit_, gradient_, peak_.exchange(0, std::memory_order_relaxed), options_);
  }

  LimitPlan Follow(TimePoint now) const noexcept {
    return {.limit = limit_,
            .not_before = After(now, options_.interval),
            .completions = MinSamples(),
            .at_latest = next_probe_};
  }

  LimitPlan Remeasure(const LimitWindow& window, Cause cause, Events& events) noexcept {
    const std::int64_t windows = at_minimum_;
    const LimitPlan plan = Measure(window.end);
    if (plan.limit != window.limit) {
      events.Push({.kind = EventKind::kLimitChanged,
                   .cause = cause,
                   .before = static_cast<double>(window.limit),
                   .after = static_cast<double>(plan.limit),
                   .count = static_cast<std::uint64_t>(windows)});
    }
    return plan;
  }

  // Begins to measure a baseline, with calls that start from now on.
  LimitPlan Measure(TimePoint now) noexcept {
    epoch_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    histogram_.Clear();
    completed_ = overloaded_ = 0;
    at_minimum_ = 0;
    const bool pin = options_.baseline == GradientBaseline::kProbe;
    mode_ = pin ? GradientMode::kProbe : GradientMode::kLive;
    give_up_ = pin ? After(now, options_.probe_timeout) : TimePoint::max();
    return Gather(ProbeSamples());
  }

  // Samples without which a measurement is not complete: one at least, to look again then.
  std::uint32_t Missing() const noexcept {
    const std::uint64_t count = histogram_.Count();
    return count < ProbeSamples() ? ProbeSamples() - static_cast<std::uint32_t>(count) : 1;
  }
  LimitPlan Gather(std::uint32_t missing) const noexcept {
    // A probe never raises the limit.
    const bool pinned = mode_ == GradientMode::kProbe;
    return {.limit = pinned
                         ? internal::Min(limit_, static_cast<std::uint32_t>(options_.probe_limit))
                         : limit_,
            .not_before = TimePoint::min(),
            .completions = missing,
            .at_latest = give_up_};
  }

  LimitPlan CloseMeasurement(const LimitWindow& window, Events& events) noexcept {
    const std::uint64_t count = histogram_.Count();
    if (count >= ProbeSamples()) return Finish(window, events);
    if (window.end >= give_up_) {
      // A few are better than none, but not a handful.
      if (count >= internal::Max<std::uint64_t>(ProbeSamples() / 4, 1))
        return Finish(window, events);
      return GiveUp(window, events);
    }
    if (mode_ == GradientMode::kLive && completed_ >= MinSamples()) {
      // Nothing is pinned while it lasts, so the limit must still give way.
      if (IsOverloaded(overloaded_, completed_)) limit_ = Shrunk(limit_, options_);
      completed_ = overloaded_ = 0;
      Report(window, limit_, Cause::kOverloadOutcomes, events);
    }
    return Gather(Missing());
  }

  LimitPlan Finish(const LimitWindow& window, Events& events) noexcept {
    const internal::LatencyCounts counts = histogram_.Take();
    const Duration before = baseline_;
    baseline_ = internal::Min(counts.Quantile(options_.percentile), options_.max_baseline);
    ++measured_;
    events.Push({.kind = EventKind::kBaselineChanged,
                 .cause = Cause::kMeasured,
                 .before = static_cast<double>(before.count()),
                 .after = static_cast<double>(baseline_.count()),
                 .count = counts.total,
                 .value = static_cast<double>(baseline_.count())});
    return Resume(window, Cause::kMeasured, events);
  }

  // Too few calls ended in time: hung ones hold the permits, or hardly anyone asks. What was known
  // stays; where nothing was, live traffic must do.
  LimitPlan GiveUp(const LimitWindow& window, Events& events) noexcept {
    if (baseline_ != Duration::zero()) return Resume(window, Cause::kTimeElapsed, events);
    mode_ = GradientMode::kLive;
    give_up_ = TimePoint::max();
    Report(window, limit_, Cause::kTimeElapsed, events);
    return Gather(ProbeSamples());
  }

  LimitPlan Resume(const LimitWindow& window, Cause cause, Events& events) noexcept {
    mode_ = GradientMode::kFollow;
    completed_ = overloaded_ = 0;
    peak_.store(0, std::memory_order_relaxed);
    next_probe_ = NextProbe(window.end);
    Report(window, limit_, cause, events);
    return Follow(window.end);
  }

  TimePoint NextProbe(TimePoint now) noexcept {
    const double spread = random_.Uniform(0, options_.probe_jitter);
    const auto jitter =
        static_cast<std::int64_t>(static_cast<double>(options_.probe_interval.count()) * spread);
    return After(After(now, options_.probe_interval), Duration(jitter));
  }

  void Report(const LimitWindow& window, std::uint32_t limit, Cause cause,
              Events& events) const noexcept {
    if (limit == window.limit) return;
    events.Push(
        {.kind = EventKind::kLimitChanged,
         .cause = cause,
         .before = static_cast<double>(window.limit),
         .after = static_cast<double>(limit),
         .count = overloaded_,
         .total = completed_,
         .value = cause == Cause::kGradient ? gradient_ : static_cast<double>(baseline_.count())});
  }

  Options options_;
  internal::LatencyHistogram<Sync> histogram_;
  typename Sync::template Atomic<std::int64_t> epoch_{std::numeric_limits<std::int64_t>::min()};
  typename Sync::template Atomic<std::uint32_t> peak_{0};

  internal::SplitMix random_;
  GradientMode mode_ = GradientMode::kFollow;
  std::uint32_t limit_;  // Outside probes.
  Duration baseline_{0};
  Duration sample_{0};
  double gradient_ = 1;
  std::int64_t at_minimum_ = 0;   // Windows in a row.
  std::uint64_t completed_ = 0;   // Since the latest step.
  std::uint64_t overloaded_ = 0;  // Of these.
  std::uint64_t measured_ = 0;
  TimePoint next_probe_ = TimePoint::max();
  TimePoint give_up_ = TimePoint::max();
};

using Gradient = BasicGradient<>;

}  // namespace shed

#endif  // SHED_GRADIENT_H_
