// Sheds by a number that the service measures itself: processor time, memory, a pool in use, the
// length of a queue.
//
// Use it for what no limiter can see from its calls. Not as the only guard: it acts on the latest
// reading, which is as old as you let it be; put a limiter of calls in flight beside it.
//
// Algorithm: below `low` nothing is refused, from `high` on every call of the classes up to
// `sheddable`. Between them the less critical go first: the way from low to high is cut into as
// many equal parts as there are such classes, and in each part the share refused of one class grows
// from 0 to 1. So with one class alone in use the load falls in step with the reading, and there is
// no threshold at which everything flips. A reading older than `valid_for` sheds nothing: a service
// that has stopped measuring must not go on refusing.
//
// State: the latest reading and its time, read whole; draws from `seed`, striped.
//
// Locking: none for calls; a mutex in Set and Configure.
//
// Source: the overload manager of Envoy (a scaled trigger), and load shedding by utilisation in
// "Handling Overload" in the Google SRE book.
#ifndef SHED_PRESSURE_LIMITER_H_
#define SHED_PRESSURE_LIMITER_H_

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shed/internal/draws.h"
#include "shed/internal/published.h"
#include "shed/internal/validate.h"
#include "shed/policy.h"
#include "shed/sync.h"

namespace shed {

struct PressureLimiterOptions {
  // Below this reading nothing is refused. In the unit of your readings. Default 0.7, range -1e15
  // to 1e15.
  double low = 0.7;
  // From this reading on all that may be shed is. Default 0.9, range above low to 1e15.
  double high = 0.9;
  // How long a reading counts. Default 5 s, range 1 us to 24 h. A few times the time between two.
  Duration valid_for = std::chrono::seconds(5);
  // The most critical class that is shed. Default kCritical, so that kCriticalPlus always passes.
  Criticality sheddable = Criticality::kCritical;
  // Of the draws. Any value; give each instance its own.
  std::uint64_t seed = 1;

  // Returns "" if every field is in range, else a sentence that names the field and the range.
  constexpr std::string_view Problem() const noexcept {
    if (!internal::InRange(low, -1e15, 1e15)) return "low: want -1e15 to 1e15";
    if (!internal::InRange(high, -1e15, 1e15) || high <= low) {
      return "high: want above low, to 1e15";
    }
    if (valid_for < std::chrono::microseconds(1) || valid_for > std::chrono::hours(24)) {
      return "valid_for: want 1 us to 24 h";
    }
    if (sheddable > Criticality::kCriticalPlus) return "sheddable: want one of the four classes";
    return "";
  }
};

// Thread-safe: any member, any thread. Never allocates or throws after construction.
template <class Sync = StdSync>
class BasicPressureLimiter {
 public:
  using Options = PressureLimiterOptions;
  using PerClass = std::array<double, kCriticalityCount>;  // Least critical first.
  static constexpr std::string_view kName = "pressure_limiter";

  struct Snapshot {
    double reading = 0;  // The latest.
    bool valid = false;  // There is one, and it is no older than valid_for.
    PerClass refused{};  // The share of each class that is refused now.
  };

  // Throws std::invalid_argument with options.Problem() unless that is "".
  explicit BasicPressureLimiter(const Options& options)
      : rule_(RuleOf(internal::Checked(options))), reading_(Reading{}), draws_(options.seed) {}
  BasicPressureLimiter(const BasicPressureLimiter&) = delete;
  BasicPressureLimiter& operator=(const BasicPressureLimiter&) = delete;

  // The rule, pure: the share to refuse of calls of a class.
  static constexpr double Share(const Options& options, double reading,
                                Criticality criticality) noexcept {
    return ShareOf(RuleOf(options), reading, IndexOf(criticality));
  }

  // A new reading, whatever its time. Reports when refusing begins and ends by it; a reading that
  // goes stale is reported by none. Returns "" or, changing nothing, the sentence that says what is
  // wrong with it.
  std::string_view Set(double reading, TimePoint now, Events& events) noexcept {
    if (!internal::InRange(reading, -1e300, 1e300)) return "reading: want a finite number";
    const MutexLock lock(mutex_);
    const Rule rule = rule_.Read();
    const double before = ShareOf(rule, Valid(rule, reading_.Read(), now), 0);
    const double after = ShareOf(rule, reading, 0);
    reading_.Write({std::bit_cast<std::uint64_t>(reading), now.time_since_epoch().count(), 1});
    if ((before > 0) != (after > 0)) {
      events.Push({.kind = after > 0 ? EventKind::kPressureRose : EventKind::kPressureFell,
                   .cause = Cause::kPressure,
                   .before = before,
                   .after = after,
                   .value = reading,
                   .threshold = Low(rule)});
    }
    return "";
  }

  // Refuses with Reason::kPressure; for how long the pressure lasts cannot be known, so there is no
  // retry_after. A refusal writes nothing that another thread writes.
  Verdict Admit(const Request& request, TimePoint now) noexcept {
    const Rule rule = rule_.Read();
    const double share =
        ShareOf(rule, Valid(rule, reading_.Read(), now), IndexOf(request.criticality));
    if (share <= 0) return Verdict::Admit();
    if (draws_.Next() < draws_.Threshold(share)) return Verdict::Refuse(Reason::kPressure);
    return Verdict::Admit();
  }

  // Puts `options` in force, its seed apart; the reading stays. Returns "" or, changing nothing,
  // options.Problem().
  std::string_view Configure(const Options& options, TimePoint) noexcept {
    const std::string_view problem = options.Problem();
    if (problem.empty()) rule_.Write(RuleOf(options));
    return problem;
  }

  Snapshot Read(TimePoint now) const noexcept {
    const Rule rule = rule_.Read();
    const Reading reading = reading_.Read();
    Snapshot snapshot{.reading = std::bit_cast<double>(reading.value),
                      .valid = IsValid(rule, reading, now)};
    for (std::size_t i = 0; i < kCriticalityCount; ++i) {
      snapshot.refused[i] = ShareOf(rule, Valid(rule, reading, now), i);
    }
    return snapshot;
  }

 private:
  // As whole words, the doubles by their bits.
  struct Rule {
    std::uint64_t low, high;
    std::int64_t valid_for;
    std::uint64_t classes;  // How many are shed.
  };
  struct Reading {
    std::uint64_t value = 0;
    std::int64_t at = 0;
    std::uint64_t known = 0;  // 0 before the first.
  };

  static constexpr Rule RuleOf(const Options& o) noexcept {
    return {std::bit_cast<std::uint64_t>(o.low), std::bit_cast<std::uint64_t>(o.high),
            o.valid_for.count(), IndexOf(o.sheddable) + 1};
  }
  static constexpr double Low(const Rule& rule) noexcept { return std::bit_cast<double>(rule.low); }

  static bool IsValid(const Rule& rule, const Reading& reading, TimePoint now) noexcept {
    return reading.known != 0 &&
           Elapsed(TimePoint(Duration(reading.at)), now).count() <= rule.valid_for;
  }
  // The reading, or one that sheds nothing.
  static double Valid(const Rule& rule, const Reading& reading, TimePoint now) noexcept {
    return IsValid(rule, reading, now) ? std::bit_cast<double>(reading.value) : Low(rule);
  }

  static constexpr double ShareOf(const Rule& rule, double reading, std::size_t index) noexcept {
    if (index >= rule.classes) return 0;
    const double low = Low(rule);
    const double part =
        (std::bit_cast<double>(rule.high) - low) / static_cast<double>(rule.classes);
    const double share = (reading - low) / part - static_cast<double>(index);
    return share <= 0 ? 0 : share < 1 ? share : 1;
  }

  internal::Published<Sync, Rule> rule_;
  internal::Published<Sync, Reading> reading_;
  typename Sync::Mutex mutex_;
  internal::Draws<Sync> draws_;
};

using PressureLimiter = BasicPressureLimiter<>;
static_assert(Policy<PressureLimiter>);

}  // namespace shed

#endif  // SHED_PRESSURE_LIMITER_H_
