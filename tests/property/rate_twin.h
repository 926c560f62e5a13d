// A RateLimiter beside its oracle: what is done to one is done to both, and every answer of the one
// is compared with the other's.
#ifndef SHED_TESTS_PROPERTY_RATE_TWIN_H_
#define SHED_TESTS_PROPERTY_RATE_TWIN_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "property/differences.h"
#include "property/rate_oracle.h"
#include "shed/rate_limiter.h"
#include "shed/solo.h"

namespace shed {

// What is compared.
enum class RateCheck {
  kExact,  // Everything, to the nanosecond: for lags and waits within RateBounds.
  kSafe,   // Nothing is admitted too much and no hint is too short: for any lag.
};

// Compares the verdict on a call that would wait for `max_wait`.
inline void CompareRate(Differences& differences, const Verdict& got,
                        const RateOracle::Answer& right, std::int64_t max_wait, RateCheck check) {
  if (right.too_large) {
    differences.Same("reason", got.reason(), Reason::kCostTooLarge);
    differences.Same("has retry_after", got.retry_after().has_value(), false);
    return;
  }
  const bool admit = right.wait <= std::max<std::int64_t>(max_wait, 0);
  if (check == RateCheck::kSafe) {
    // A hint ends where time does.
    const RateOracle::Wide wait =
        std::min<RateOracle::Wide>(right.wait, std::numeric_limits<std::int64_t>::max());
    if (got.admitted()) {
      differences.Same("admitted", true, admit);
      differences.True("wait is enough", got.wait().count() >= right.wait);
    } else {
      differences.True("retry_after is enough", got.retry_after()->count() >= wait);
    }
    return;
  }
  if (!differences.Same("admitted", got.admitted(), admit)) return;
  if (admit) {
    differences.Same("wait", RateOracle::Wide{got.wait().count()}, right.wait);
  } else if (differences.Same("reason", got.reason(), Reason::kRate)) {
    differences.Same("retry_after", RateOracle::Wide{got.retry_after()->count()}, right.wait);
  }
}

// Compares what is read at `now`: a Snapshot of a limiter with any Sync.
template <class Snapshot>
void CompareRate(Differences& differences, const Snapshot& got, const RateOracle& oracle,
                 std::int64_t now) {
  differences.Same("available", got.available, oracle.Available(now));
  differences.Same("full_in", RateOracle::Wide{got.full_in.count()}, oracle.FullIn(now));
}

template <class Limiter>
class RateTwin {
 public:
  explicit RateTwin(const RateLimiterOptions& options, RateCheck check = RateCheck::kExact)
      : check_(check), bounds_(options), limiter_(options), oracle_(options) {}

  // Within RateBounds if the check is to be exact; see there for Charge and Read, too.
  Verdict Ask(std::int64_t now, std::uint64_t cost, std::int64_t max_wait) {
    const RateOracle::Answer right = oracle_.Look(now, cost);
    Held mine;
    const Verdict got =
        limiter_.Admit({.cost = cost, .max_wait = Duration(max_wait)}, At(now), mine.ticket);
    CompareRate(differences_, got, right, max_wait, check_);
    if (got.admitted() && !right.too_large) {
      mine.units = static_cast<std::int64_t>(std::max<std::uint64_t>(cost, 1));
      oracle_.Take(now, mine.units);
      held_.push_back(mine);
    }
    return got;
  }
  // Requires i < held(), as do the others.
  void Complete(std::size_t i) {
    limiter_.Complete(held_[i].ticket, Outcome::kSuccess);
    Forget(i);
  }
  void Cancel(std::size_t i, std::int64_t now) {
    limiter_.Cancel(held_[i].ticket, Verdict::Refuse(Reason::kConcurrency), At(now));
    oracle_.GiveBack(held_[i].units);
    Forget(i);
  }
  // Settles a call at `units`, if that is not too much to remember. Requires kExact.
  void Charge(std::size_t i, std::int64_t units, std::int64_t now) {
    Held& one = held_[i];
    units = oracle_.Chargeable(bounds_, now, one.units, units);
    limiter_.Charge(one.ticket, static_cast<std::uint64_t>(units), At(now));
    oracle_.Settle(now, one.units, units);
    one.units = units;
  }
  // Drops a ticket without a word: what it paid stays paid.
  void Forget(std::size_t i) { held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i)); }
  // New options, if what is owed is not too much to remember. Requires kExact.
  void Configure(const RateLimiterOptions& options, std::int64_t now) {
    if (!oracle_.CanConfigure(options, now)) return;
    differences_.True("configured", limiter_.Configure(options, At(now)).empty());
    oracle_.Configure(options, now);
    bounds_.Include(RateBounds(options));
  }
  // Compares what is read. Requires kExact.
  void Read(std::int64_t now) { CompareRate(differences_, limiter_.Read(At(now)), oracle_, now); }

  std::size_t held() const { return held_.size(); }
  std::int64_t units(std::size_t i) const { return held_[i].units; }
  const RateBounds& bounds() const { return bounds_; }
  // "" unless they differed.
  const std::string& difference() const { return differences_.first(); }

 private:
  struct Held {
    typename Limiter::Ticket ticket;
    std::int64_t units = 0;
  };
  static TimePoint At(std::int64_t ns) { return TimePoint(Duration(ns)); }

  const RateCheck check_;
  RateBounds bounds_;
  Solo<Limiter> limiter_;
  RateOracle oracle_;
  Differences differences_;
  std::vector<Held> held_;
};

}  // namespace shed

#endif  // SHED_TESTS_PROPERTY_RATE_TWIN_H_
