// What limit algorithms that look at the latency of whole windows have in common: samples, windows,
// and the guards that no such algorithm should be without.
#ifndef SHED_INTERNAL_SAMPLED_LIMIT_H_
#define SHED_INTERNAL_SAMPLED_LIMIT_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "shed/internal/bounds.h"
#include "shed/internal/criticality_share.h"
#include "shed/internal/histogram.h"
#include "shed/internal/validate.h"
#include "shed/limit_algorithm.h"

namespace shed::internal {

// Of a window that has enough samples, or too many calls that ended with kOverload.
struct SampledWindow {
  TimePoint end{};
  Duration latency{0};     // The percentile of the window's successes; zero if there is none.
  std::uint32_t peak = 0;  // The most that were in flight.
  bool congested =
      false;  // What we depend on shed more than a tenth, or the latency is a time-out.
};

// The fields that the Options of such an algorithm share.
template <class Options>
constexpr std::string_view SampledProblem(const Options& o) noexcept {
  using std::chrono::hours;
  if (o.max_limit < 1 || o.max_limit > 1'000'000) return "max_limit: want 1 to 1000000 calls";
  if (o.min_limit < 1 || o.min_limit > o.max_limit) return "min_limit: want 1 to max_limit";
  if (o.initial_limit < o.min_limit || o.initial_limit > o.max_limit) {
    return "initial_limit: want min_limit to max_limit";
  }
  if (!InRange(o.percentile, 0.0, 1.0) || o.percentile == 0.0) {
    return "percentile: want above 0 and at most 1";
  }
  if (o.interval < std::chrono::microseconds(1) || o.interval > hours(1)) {
    return "interval: want 1 us to 1 h";
  }
  if (o.min_samples < 1 || o.min_samples > 1'000'000) return "min_samples: want 1 to 1000000";
  if (!InRange(o.backoff, 0.1, 0.99)) return "backoff: want 0.1 to 0.99";
  if (o.timeout < std::chrono::microseconds(1) || o.timeout > hours(1)) {
    return "timeout: want 1 us to 1 h";
  }
  return UsableProblem(o.usable);
}

// `Derived` has
//   double Next(double limit, const SampledWindow&) noexcept
// the limit that the algorithm wants after a window that was not congested. Here it is held to the
// guards:
//   a congested window takes 1 - backoff off the limit, whatever the algorithm says;
//   a limit of which less than half was used does not grow;
//   one sample decides nothing: a window has `min_samples` successes, or waits for more;
//   failures are no samples, so that fast errors prove nothing;
//   the limit stays in [min_limit, max_limit], and so is never below 1.
template <class Derived, class OptionsT, class Sync>
class SampledLimit {
 public:
  using Options = OptionsT;
  static constexpr bool kIntegral = false;
  static constexpr bool kCountsRefusals = false;

  LimitPlan Start(TimePoint now) noexcept { return Follow(now); }

  // The samples of the window so far stay.
  LimitPlan Configure(const Options& options, TimePoint now) noexcept {
    options_ = options;
    // Relaxed: samples that come at the same time may be held to either.
    timeout_.store(options.timeout.count(), std::memory_order_relaxed);
    limit_ = Clamp(limit_, static_cast<double>(options.min_limit),
                   static_cast<double>(options.max_limit));
    return Follow(now);
  }

  LimitPlan Close(const LimitWindow& window, Events& events) noexcept {
    completed_ += window.completed;
    overloaded_ += window.overloaded;
    const auto enough = static_cast<std::uint64_t>(options_.min_samples);
    const bool shed = overloaded_ * 10 > completed_ && completed_ >= enough;
    const bool sampled = histogram_.Count() >= enough;
    if (!sampled && !shed) {
      // Those of long ago must not outvote those to come.
      if (completed_ >= enough) completed_ = overloaded_ = 0;
      return Follow(window.end);  // The samples stay for the next closing.
    }

    const LatencyCounts counts = histogram_.Take();
    sample_ = counts.Quantile(options_.percentile);
    // Relaxed, both: of one window or the next; nothing else hangs on them.
    const std::uint32_t peak = peak_.exchange(0, std::memory_order_relaxed);
    const std::uint64_t late = late_.exchange(0, std::memory_order_relaxed);
    // Counted, as a bucket's middle may lie below a time-out that all its samples have reached.
    const bool timed_out =
        static_cast<double>(late) > (1 - options_.percentile) * static_cast<double>(counts.total);
    const bool congested = shed || timed_out;
    Step({.end = window.end, .latency = sample_, .peak = peak, .congested = congested});
    Report(window, shed, events);
    completed_ = overloaded_ = 0;
    return Follow(window.end);
  }

  // A success; any thread.
  void Sample(const Completion& completion, std::uint32_t in_flight) noexcept {
    const Duration latency = completion.latency();
    histogram_.Record(latency);
    if (latency.count() >= timeout_.load(std::memory_order_relaxed))
      late_.fetch_add(1, std::memory_order_relaxed);
    std::uint32_t peak = peak_.load(std::memory_order_relaxed);
    while (in_flight > peak &&
           !peak_.compare_exchange_weak(peak, in_flight, std::memory_order_relaxed)) {
    }
  }

  // The limit after a window, pure but for what `next` remembers.
  template <class NextLimit>
  static constexpr double Guarded(const Options& options, double limit, const SampledWindow& window,
                                  NextLimit next) noexcept {
    double wanted = 0;
    if (window.congested) {
      wanted = limit * options.backoff;
    } else {
      wanted = next(limit, window);
      const bool unused = 2.0 * window.peak < limit;
      if (wanted > limit && unused) wanted = limit;
    }
    return Clamp(wanted, static_cast<double>(options.min_limit),
                 static_cast<double>(options.max_limit));
  }

 protected:
  explicit SampledLimit(const Options& options) noexcept
      : options_(options),
        timeout_(options.timeout.count()),
        limit_(static_cast<double>(options.initial_limit)) {}

  const Options& options() const noexcept { return options_; }
  std::uint32_t limit() const noexcept { return static_cast<std::uint32_t>(limit_); }
  Duration sample() const noexcept { return sample_; }

 private:
  void Step(const SampledWindow& window) noexcept {
    limit_ = Guarded(options_, limit_, window, [&](double limit, const SampledWindow& w) {
      return static_cast<Derived*>(this)->Next(limit, w);
    });
  }

  LimitPlan Follow(TimePoint now) const noexcept {
    return {.limit = limit(),
            .not_before = After(now, options_.interval),
            .completions = static_cast<std::uint32_t>(options_.min_samples)};
  }

  void Report(const LimitWindow& window, bool shed, Events& events) const noexcept {
    if (limit() == window.limit) return;
    const bool grew = limit() > window.limit;
    events.Push({.kind = EventKind::kLimitChanged,
                 .cause = shed   ? Cause::kOverloadOutcomes
                          : grew ? Cause::kGrowth
                                 : Cause::kLatency,
                 .before = static_cast<double>(window.limit),
                 .after = static_cast<double>(limit()),
                 .count = overloaded_,
                 .total = completed_,
                 .value = static_cast<double>(sample_.count())});
  }

  Options options_;
  typename Sync::template Atomic<std::int64_t> timeout_;
  LatencyHistogram<Sync> histogram_;
  typename Sync::template Atomic<std::uint32_t> peak_{0};
  typename Sync::template Atomic<std::uint64_t> late_{0};  // Samples of `timeout` or longer.
  double limit_;
  Duration sample_{0};
  std::uint64_t completed_ = 0;   // Since the latest step.
  std::uint64_t overloaded_ = 0;  // Of these.
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_SAMPLED_LIMIT_H_
