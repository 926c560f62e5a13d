// Finds how many calls in flight a service needs to be busy, and no more: the algorithm of
// KneeLimiter.
//
// Algorithm: with K parallel workers, throughput rises with the calls in flight up to the knee K,
// and latency from there on. Latency alone cannot tell a queue from a slower service; throughput
// can. The knee is the full-load throughput times the mean service time (Little's law), and the
// service time is measured in a short *dip* of the limit to below the knee, from the integral of
// the calls in flight and the calls that ended, without a latency sample that a fast error could
// poison. No baseline steers the limit, so none can ratchet.
//   tight(K) = 1.25·K + headroom. The headroom is added, not a factor: one worker needs ten times
//     its knee to stay busy between random arrivals, a hundred need hardly more than theirs.
//   Calm: limit = 2·tight(K), so that chance crowds pass. K follows the mean in flight while
//     latency is near the reference (else it is a queue, no knee).
//   Overload, told by the *share refused* over two windows: limit = tight(K), and dips every
//     `dip_interval` measure K. Where calls are refused though the limiter is half empty on
//     average, traffic is bursty and the service is not overloaded.
//   Refusals while latency is near the reference: the limit is too small, and grows by half.
//   Overload outcomes in more than a tenth of the calls cut a cap by a tenth of what was in
//     flight; without them it grows by a fiftieth per window, and goes when it no longer binds.
//   A dip drains first (the service stays busy meanwhile), then counts 5 ends per call let in. If
//     it did not cost throughput the knee lies lower, and another, deeper dip follows soon.
//   Dips are jittered, so that the servers of a fleet do not dip together.
//
// Known weaknesses: a service whose throughput falls past the knee gets the headroom all the same;
// a mix of calls that changes between the full windows and the dip gives a wrong K for an interval;
// permits that leak and outnumber a dip's limit make each dip fail, and K stays what it was.
//
// State: plain numbers, under the lock of the enforcement (adaptive_limiter.h).
// Source: Little (1961), "A proof for the queuing formula L = λW"; the idea of measuring below
// saturation is BBR's (Cardwell et al. 2016).
#ifndef SHED_KNEE_H_
#define SHED_KNEE_H_

#include <chrono>
#include <cstdint>
#include <string_view>

#include "shed/internal/bounds.h"
#include "shed/internal/criticality_share.h"
#include "shed/internal/split_mix.h"
#include "shed/knee_options.h"
#include "shed/limit_algorithm.h"

namespace shed {

enum class KneeMode : std::uint8_t {
  kCalm,
  kFull,     // Overload.
  kDrain,    // A dip has begun: waits until few enough are in flight.
  kMeasure,  // In the dip.
};

// For BasicAdaptiveLimiter, under whose lock all of it runs.
class Knee {
 public:
  using Options = KneeOptions;
  static constexpr std::string_view kName = "knee_limiter";
  static constexpr bool kIntegral = true;
  static constexpr bool kCountsRefusals = true;

  struct Snapshot {
    KneeMode mode = KneeMode::kCalm;
    double knee = 0;               // Calls; 0 while unknown.
    double wanted = 0;             // The limit before the cap, in calls.
    double cap = 0;                // By overload outcomes, in calls; 1e18 without.
    double throughput = 0;         // At full load, per second; 0 while unknown.
    Duration reference_latency{};  // Near the service time; only a permission to grow.
    std::uint64_t dips = 0;        // Finished ones.
  };

  explicit Knee(const Options& options) noexcept : options_(options), random_(options.seed) {}

  LimitPlan Start(TimePoint now) noexcept {
    if (mode_ == KneeMode::kDrain || mode_ == KneeMode::kMeasure) AbortDip(now);
    return Steady(now);
  }

  LimitPlan Configure(const Options& options, TimePoint now) noexcept {
    options_ = options;
    wanted_ = InLimits(wanted_, options);
    return Start(now);
  }

  LimitPlan Close(const LimitWindow& window, Events& events) noexcept {
    if (mode_ == KneeMode::kDrain) return CloseDrain(window, events);
    if (mode_ == KneeMode::kMeasure) return CloseMeasure(window, events);
    return CloseSteady(window, events);
  }

  Snapshot Read() const noexcept {
    return {mode_, knee_, wanted_, cap_, full_rate_, ToDuration(reference_), dips_};
  }

  // The rules, pure. -------------------------------------------------------------------------

  // What keeps a service with this knee busy.
  static constexpr double Tight(double knee, double headroom) noexcept {
    return kGain * knee + headroom;
  }

  // The limit to enforce: `wanted` and `cap` in calls, rounded down.
  static constexpr std::uint32_t Enforced(double wanted, double cap,
                                          const Options& options) noexcept {
    return static_cast<std::uint32_t>(InLimits(internal::Min(wanted, cap), options));
  }

  // The limit of a dip: below the knee, above the floor, and below the limit in force; 0 if there
  // is no such number.
  static constexpr std::uint32_t DipLimit(double knee, bool deep, std::uint32_t limit) noexcept {
    const double depth = kDepth * (deep ? 0.5 : 1.0);
    const double below = internal::Clamp(depth * knee, double{kDipFloor}, 1e6);
    return internal::Min(static_cast<std::uint32_t>(below), limit - 1);
  }

  // The share of the calls that were refused; classes that may use nothing do not count.
  static constexpr double ShareRefused(const LimitWindow& window,
                                       const internal::UsableShares& usable) noexcept {
    double refused = 0;
    for (std::size_t i = 0; i < usable.size(); ++i) {
      if (usable[i] > 0) refused += static_cast<double>(window.refused[i]);
    }
    const double asked = refused + static_cast<double>(window.admitted);
    return asked > 0 ? refused / asked : 0;
  }

  // Refusals although the limiter is half empty on average: traffic is bursty, and the service is
  // not overloaded. A class that may use only a part of the limit finds that part full.
  static constexpr bool IsBurst(const LimitWindow& window, double mean_in_flight,
                                const internal::UsableShares& usable) noexcept {
    double share = 2;  // The smallest of those refused.
    for (std::size_t i = 0; i < usable.size(); ++i) {
      if (usable[i] > 0 && window.refused[i] > 0) share = internal::Min(share, usable[i]);
    }
    return share <= 1 && mean_in_flight < static_cast<double>(window.limit) * share / 2;
  }

 private:
  static constexpr double kGain = 1.25;
  static constexpr double kCalmFactor = 2;
  static constexpr Duration kWindow = std::chrono::milliseconds(100);
  static constexpr std::uint32_t kCompletions = 20;
  static constexpr double kOverloadBegins = 0.05;  // Shares refused.
  static constexpr double kOverloadEnds = 0.01;
  static constexpr int kPersist = 2;  // Windows.
  static constexpr double kOverloadOutcomes = 0.1;
  static constexpr double kNearInCalm = 1.5;  // Times the reference latency.
  static constexpr double kNearInFull = 1.1;
  static constexpr double kDepth = 0.7;
  static constexpr std::uint32_t kDipFloor = 3;
  static constexpr double kFree = 0.85;  // A dip with this share of the throughput cost nothing.
  static constexpr double kNoCap = 1e18;
  static constexpr Duration kDipPatience = std::chrono::milliseconds(50);

  struct Figures {  // Of one window.
    double seconds, rate, mean, latency, refused_share;
    bool refused, burst, limited, overload;
  };

  static constexpr double InLimits(double limit, const Options& options) noexcept {
    return internal::Clamp(limit, static_cast<double>(options.min_limit),
                           static_cast<double>(options.max_limit));
  }
  static constexpr double Seconds(Duration span) noexcept {
    return static_cast<double>(span.count()) * 1e-9;
  }
  static constexpr Duration ToDuration(double seconds) noexcept {
    return Duration(static_cast<std::int64_t>(internal::Clamp(seconds, 0.0, 9e9) * 1e9));
  }
  double TightLimit() const noexcept { return Tight(knee_, double(options_.headroom)); }

  Figures Measure(const LimitWindow& window) const noexcept {
    Figures f{};
    f.seconds = Seconds(Elapsed(window.begin, window.end));
    const auto completed = static_cast<double>(window.completed);
    f.rate = completed / f.seconds;
    f.mean = window.area / f.seconds;
    f.latency = window.area / completed;
    f.refused_share = ShareRefused(window, options_.usable);
    f.refused = f.refused_share > 0;
    f.burst = IsBurst(window, f.mean, options_.usable);
    f.overload = static_cast<double>(window.overloaded) > kOverloadOutcomes * completed;
    f.limited = f.overload || (f.refused_share > kOverloadBegins && !f.burst);
    return f;
  }

  LimitPlan Steady(TimePoint now) const noexcept {
    return {.limit = Enforced(wanted_, cap_, options_),
            .not_before = After(now, kWindow),
            .completions = kCompletions};
  }

  LimitPlan CloseSteady(const LimitWindow& window, Events& events) noexcept {
    // Only where the timeline ends can a window close before it is due.
    if (window.completed < kCompletions || window.end <= window.begin) return Steady(window.end);
    const Figures f = Measure(window);
    if (reference_ < 0) reference_ = f.latency;
    MoveCap(window, f);
    cause_ = f.overload ? Cause::kOverloadOutcomes : Cause::kGrowth;
    bool dip = false;
    if (mode_ == KneeMode::kFull) {
      dip = Full(f, window.end) && window.end >= next_dip_;
    } else if (f.limited) {
      CalmLimited(f, window.end);
    } else {
      CalmFree(f);
    }
    wanted_ = InLimits(wanted_, options_);
    if (dip) return StartDip(window, f.latency, events);
    const LimitPlan plan = Steady(window.end);
    Report(window, plan.limit, f.refused_share, events);
    return plan;
  }

  // What we depend on sheds us, or clients give up: fewer calls at once, whatever else is known.
  void MoveCap(const LimitWindow& window, const Figures& f) noexcept {
    if (f.overload) {
      cap_ = internal::Max(static_cast<double>(options_.min_limit),
                           0.9 * internal::Min(static_cast<double>(window.limit), 2 * f.mean));
    } else if (cap_ < kNoCap) {
      cap_ = 1.02 * cap_ + 0.1;
      if (cap_ > 2 * wanted_) cap_ = kNoCap;
    }
  }

  void CalmFree(const Figures& f) noexcept {
    over_ = 0;
    if (!f.refused) {
      // Down fast, up slowly: a queue must not pass for a slower service.
      const double follow = f.latency < reference_ ? 0.2 : internal::Min(1.0, f.seconds / 30);
      reference_ += follow * (f.latency - reference_);
    }
    const bool near = f.latency <= kNearInCalm * reference_;
    if (f.mean <= knee_) {
      knee_ += 0.01 * (f.mean - knee_);
    } else if (near) {
      knee_ += 0.3 * (f.mean - knee_);
    }
    const double target = kCalmFactor * TightLimit();
    const double most = internal::Min(1.1 * wanted_, 4 * target);
    const double wish = f.refused && (f.burst || near) ? internal::Max(target, most) : target;
    if (wish > wanted_) {
      wanted_ = wish;
    } else if (!f.refused) {
      wanted_ += 0.05 * (wish - wanted_);
    }
  }

  void CalmLimited(const Figures& f, TimePoint now) noexcept {
    if (!f.overload && f.latency <= kNearInCalm * reference_) {
      knee_ = internal::Max(knee_, f.mean);
      wanted_ *= 1.5;
      over_ = 0;
      return;
    }
    full_rate_ = over_ == 0 ? f.rate : (full_rate_ + f.rate) / 2;
    if (++over_ < kPersist) return;
    mode_ = KneeMode::kFull;
    cause_ = f.overload ? Cause::kOverloadOutcomes : Cause::kShareRefused;
    over_ = 0;
    off_ = 0;
    wanted_ = internal::Min(wanted_, TightLimit());
    DipWithinASecond(now);
  }

  // Returns true if a dip may begin.
  bool Full(const Figures& f, TimePoint now) noexcept {
    if (f.refused_share < kOverloadEnds || f.burst) {
      if (++off_ < kPersist) return false;
      mode_ = KneeMode::kCalm;
      cause_ = Cause::kCalm;
      over_ = 0;
      wanted_ = internal::Max(wanted_, kCalmFactor * TightLimit());
      return false;
    }
    off_ = 0;
    full_rate_ += 0.3 * (f.rate - full_rate_);
    if (f.limited && !f.overload && f.latency <= kNearInFull * reference_) {
      knee_ = internal::Max(knee_, f.mean);
      wanted_ *= 1.5;
    }
    if (f.overload) next_dip_ = internal::Min(next_dip_, NextDip(now));
    return true;
  }

  LimitPlan StartDip(const LimitWindow& window, double latency, Events& events) noexcept {
    dip_limit_ = DipLimit(knee_, deep_, Enforced(wanted_, cap_, options_));
    if (dip_limit_ == 0 || full_rate_ <= 0) {  // A limit of 1 leaves no room below.
      AbortDip(window.end);
      return Steady(window.end);
    }
    full_latency_ = latency;
    mode_ = KneeMode::kDrain;
    cause_ = Cause::kTimeElapsed;
    Report(window, dip_limit_, knee_, events);
    const double patience = 3 * static_cast<double>(window.in_flight) / full_rate_;
    return {.limit = dip_limit_,
            .completions = LimitPlan::kNever,
            .drained = dip_limit_,
            .at_latest = After(window.end, kDipPatience + ToDuration(patience))};
  }

  LimitPlan CloseDrain(const LimitWindow& window, Events& events) noexcept {
    if (window.in_flight > dip_limit_) {
      AbortDip(window.end);
      return Resume(window, events);
    }
    mode_ = KneeMode::kMeasure;
    const double patience = 3.0 * DipCompletions() / dip_limit_ * full_latency_;
    return {.limit = dip_limit_,
            .not_before = TimePoint::min(),
            .completions = DipCompletions(),
            .at_latest = After(window.end, internal::Max(kDipPatience, ToDuration(patience)))};
  }

  LimitPlan CloseMeasure(const LimitWindow& window, Events& events) noexcept {
    const double seconds = Seconds(Elapsed(window.begin, window.end));
    const auto completed = static_cast<double>(window.completed);
    // A clock that stood still measured nothing.
    if (window.completed < (DipCompletions() + 1) / 2 || seconds <= 0) {
      AbortDip(window.end);
      return Resume(window, events);
    }
    ++dips_;
    const double before = knee_;
    reference_ = window.area / completed;
    knee_ = internal::Min(full_rate_ * reference_, 1e6);
    wanted_ = InLimits(TightLimit(), options_);
    mode_ = KneeMode::kFull;
    cause_ = Cause::kMeasured;
    deep_ = completed / seconds > kFree * full_rate_ && dip_limit_ > kDipFloor;
    if (deep_ || knee_ > 1.25 * before) {
      DipWithinASecond(window.end);
    } else {
      // At most about 3 % of the time goes into dips.
      const Duration rest = internal::Max(options_.dip_interval, ToDuration(30 * seconds));
      next_dip_ = After(window.end, Jittered(rest));
    }
    return Resume(window, events);
  }

  LimitPlan Resume(const LimitWindow& window, Events& events) noexcept {
    const LimitPlan plan = Steady(window.end);
    Report(window, plan.limit, knee_, events);
    return plan;
  }

  void AbortDip(TimePoint now) noexcept {
    mode_ = KneeMode::kFull;
    cause_ = Cause::kTimeElapsed;
    next_dip_ = NextDip(now);
  }

  std::uint32_t DipCompletions() const noexcept { return 5 * (dip_limit_ + 1); }

  Duration Jittered(Duration interval) noexcept {
    const double factor = random_.Uniform(1 - options_.dip_jitter, 1 + options_.dip_jitter);
    return ToDuration(Seconds(interval) * factor);
  }
  TimePoint NextDip(TimePoint now) noexcept { return After(now, Jittered(options_.dip_interval)); }
  void DipWithinASecond(TimePoint now) noexcept {
    next_dip_ = After(now, ToDuration(random_.Uniform(0, 1)));
  }

  void Report(const LimitWindow& window, std::uint32_t limit, double value,
              Events& events) const noexcept {
    if (limit == window.limit) return;
    events.Push({.kind = EventKind::kLimitChanged,
                 .cause = cause_,
                 .before = static_cast<double>(window.limit),
                 .after = static_cast<double>(limit),
                 .count = window.overloaded,
                 .total = window.completed,
                 .value = value,
                 .threshold = kOverloadBegins});
  }

  Options options_;
  internal::SplitMix random_;
  KneeMode mode_ = KneeMode::kCalm;
  Cause cause_ = Cause::kNone;  // Of the latest change.
  double wanted_ = static_cast<double>(options_.initial_limit);
  double cap_ = kNoCap;
  double knee_ = options_.initial_knee;
  double reference_ = -1;  // Seconds; negative while unknown.
  double full_rate_ = 0;
  int over_ = 0;  // Windows in a row that looked like overload, or
  int off_ = 0;   // like its end.
  TimePoint next_dip_{};
  bool deep_ = false;  // The next dip goes to half the depth.
  std::uint32_t dip_limit_ = 0;
  double full_latency_ = 0;
  std::uint64_t dips_ = 0;
};

}  // namespace shed

#endif  // SHED_KNEE_H_
