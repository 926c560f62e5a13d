// Calls through an adaptive limiter whose algorithm has no oracle: what must hold whatever limit it
// chooses, and what it may choose.
#ifndef SHED_TESTS_FUZZ_LIMIT_RUN_H_
#define SHED_TESTS_FUZZ_LIMIT_RUN_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "fuzz/bytes.h"
#include "fuzz/target.h"
#include "property/differences.h"
#include "shed/events.h"
#include "shed/outcome.h"
#include "shed/request.h"
#include "shed/solo.h"
#include "shed/time.h"

namespace shed::fuzz {

// `Limiter` is an AdaptiveLimiter. Time goes in any direction.
template <class Limiter>
class LimitRun {
 public:
  using Options = typename Limiter::Options;
  using Snapshot = typename Limiter::Snapshot;

  LimitRun(Bytes& bytes, const Options& options)
      : bytes_(bytes), options_(options), limiter_(options) {}

  // `check(differences, before, after)` is given every pair of readings, one operation apart.
  template <class Check>
  void All(Check check) {
    Snapshot before = limiter_.Read(Now());
    differences_.Same("first limit", before.limit, options_.initial_limit);
    while (!bytes_.empty()) {
      Step(before);
      const Snapshot after = limiter_.Read(Now());
      differences_.Same("in flight", after.in_flight, held_.size());
      differences_.True("limit >= 1", after.limit >= 1);
      differences_.True("limit <= max_limit", after.limit <= options_.max_limit);
      check(differences_, before, after);
      MustAgree(differences_.first());
      before = after;
    }
  }
  std::size_t refused() const { return refused_; }

 private:
  struct Held {
    typename Limiter::Ticket ticket;
    TimePoint started;
  };

  TimePoint Now() const { return TimePoint(Duration(clock_)); }

  void Step(const Snapshot& before) {
    const std::uint64_t what = bytes_.Below(16);
    if (what >= 8) MoveClock();
    Events events;
    if (what < 6 || held_.empty()) {
      Ask(before, events);
    } else {
      const auto i = static_cast<std::size_t>(bytes_.Below(held_.size()));
      Held held = held_[i];
      held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
      if (what == 6) {
        limiter_.Cancel(held.ticket, Verdict::Refuse(Reason::kRate), Now());
      } else {
        const Outcome outcome =
            what < 12 ? Outcome::kSuccess : static_cast<Outcome>(bytes_.Below(kOutcomeCount));
        limiter_.Complete(held.ticket, {.started = held.started, .now = Now(), .outcome = outcome},
                          events);
      }
    }
    CheckEvents(events);
  }

  void Ask(const Snapshot& before, Events& events) {
    const auto k = static_cast<std::size_t>(bytes_.Below(kCriticalityCount));
    Held held{{}, Now()};
    const Verdict verdict =
        limiter_.Admit({.criticality = static_cast<Criticality>(k)}, Now(), held.ticket, events);
    // The shares are whole or nothing but for one, which is exact in tenths.
    const std::int64_t tenths = std::llround(options_.usable[k] * 10);
    std::int64_t usable = before.limit * tenths / 10;
    if (tenths > 0) usable = std::max<std::int64_t>(usable, 1);
    const bool room = static_cast<std::int64_t>(held_.size()) < usable;
    differences_.Same("verdict", verdict,
                      room ? Verdict::Admit() : Verdict::Refuse(Reason::kConcurrency));
    if (verdict.admitted()) {
      held_.push_back(held);
    } else {
      ++refused_;
    }
  }

  // Mostly a little forward; by orders of magnitude, and back.
  void MoveClock() {
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
    std::int64_t step = bytes_.AnyScale(1'000'000'000);
    if (step > 900'000'000) step = bytes_.Flag() ? bytes_.AnyScale(kMax) : -bytes_.AnyScale(kMax);
    clock_ = SaturatingAdd(clock_, step);
  }

  void CheckEvents(const Events& events) {
    differences_.Same("events lost", events.lost(), 0u);
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Event& e = events[i];
      for (const double number : {e.before, e.after, e.value, e.threshold}) {
        differences_.True("an event's number is finite", std::isfinite(number));
      }
      if (e.kind != EventKind::kLimitChanged || i + 1 != events.size()) continue;
      differences_.Same("after of the last change", e.after,
                        static_cast<double>(limiter_.Read(Now()).limit));
    }
  }

  Bytes& bytes_;
  const Options options_;
  Solo<Limiter> limiter_;
  Differences differences_;
  std::int64_t clock_ = 0;
  std::vector<Held> held_;
  std::size_t refused_ = 0;
};

// Shares in tenths, each at least the one before, the last above 0.
inline std::array<double, kCriticalityCount> SomeShares(Bytes& bytes) {
  std::array<double, kCriticalityCount> shares{};
  std::uint64_t tenths = 0;
  for (double& share : shares) {
    tenths += bytes.Below(11 - tenths);
    share = static_cast<double>(tenths) / 10;
  }
  if (tenths == 0) shares.back() = 1;
  return shares;
}

// Fills in the limits that both algorithms have.
template <class Options>
void SomeLimits(Bytes& bytes, Options& options) {
  options.max_limit = 1 + bytes.AnyScale(bytes.Flag() ? 40 : 1'000'000 - 1);
  options.min_limit = 1 + bytes.AnyScale(options.max_limit - 1);
  options.initial_limit = options.min_limit + bytes.AnyScale(options.max_limit - options.min_limit);
  if (bytes.Flag()) options.usable = SomeShares(bytes);
  options.seed = bytes.Below(4);
}

}  // namespace shed::fuzz

#endif  // SHED_TESTS_FUZZ_LIMIT_RUN_H_
