// The token bucket of RateLimiter in exact numbers, without its ticks and epochs.
#ifndef SHED_TESTS_PROPERTY_RATE_ORACLE_H_
#define SHED_TESTS_PROPERTY_RATE_ORACLE_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include "shed/rate_limiter.h"

namespace shed {

// What the limiter promises for a rate, by its own terms: a tick is the greatest time of which a
// nanosecond and a unit are both whole multiples.
struct RateBounds {
  std::int64_t most_burst = 0;
  // Up to here it is exact. In whole nanoseconds.
  std::int64_t longest_lag = 0;   // Of a `now` behind the latest.
  std::int64_t longest_wait = 0;  // That is reserved for.

  explicit RateBounds(const RateLimiterOptions& o) {
    std::int64_t a = o.rate;
    std::int64_t b = o.per.count();
    while (b != 0) {
      a %= b;
      std::swap(a, b);
    }
    const std::int64_t ticks_per_ns = o.rate / a;
    most_burst = (std::int64_t{1} << 58) / (o.per.count() / a);
    longest_lag = (std::int64_t{1} << 56) / ticks_per_ns;
    longest_wait = (std::int64_t{1} << 57) / ticks_per_ns;
  }
  // After a change of options: what either allows.
  void Include(const RateBounds& other) {
    most_burst = std::min(most_burst, other.most_burst);
    longest_lag = std::min(longest_lag, other.longest_lag);
    longest_wait = std::min(longest_wait, other.longest_wait);
  }
};

// A bucket that holds a rational number of units, kept as a line. At `at_` it held `held_ / per`
// units; a nanosecond later it holds rate/per more. No greatest common divisor, no ticks, no
// epochs, nothing rounded: every figure is a whole number of 1/per units in 128 bits.
class RateOracle {
 public:
  __extension__ using Wide = __int128;

  explicit RateOracle(const RateLimiterOptions& o)
      : rate_(o.rate), per_(o.per.count()), top_(Wide{o.burst} * per_), burst_(o.burst) {}

  struct Answer {
    bool too_large = false;
    Wide wait = 0;  // Nanoseconds until the cost is there; 0 is now.
  };
  Answer Look(std::int64_t now, std::uint64_t cost) const {
    cost = std::max<std::uint64_t>(cost, 1);
    if (cost > static_cast<std::uint64_t>(burst_)) return {.too_large = true};
    const Wide lacks = Wide{cost} * per_ - Held(now);
    if (lacks <= 0) return {};
    const Wide wait = lacks / rate_ + (lacks % rate_ != 0 ? 1 : 0);
    return {.wait = wait};
  }
  // Takes units that are there, or will be.
  void Take(std::int64_t now, std::int64_t units) {
    held_ = Held(now) - Wide{units} * per_;
    at_ = now;
  }
  void GiveBack(std::int64_t units) { held_ += Wide{units} * per_; }
  // Settles a call that paid `paid` at `units`.
  void Settle(std::int64_t now, std::int64_t paid, std::int64_t units) {
    units > paid ? Take(now, units - paid) : GiveBack(paid - units);
  }
  // Returns `units`, or `paid` where a charge of more is not sure to fit what the limiter can
  // remember: debts above 2^59 ticks are cut.
  std::int64_t Chargeable(const RateBounds& bounds, std::int64_t now, std::int64_t paid,
                          std::int64_t units) const {
    return FullIn(now) > 2 * bounds.longest_lag ? std::min(units, paid)
                                                : std::min(units, paid + bounds.most_burst);
  }
  // Whether what is owed by `now` is not too much to remember after a change to `o`.
  bool CanConfigure(const RateLimiterOptions& o, std::int64_t now) const {
    return -Held(now) / per_ < RateBounds(o).most_burst / 2;
  }
  // As the limiter keeps whole ticks, a tick of the new options may be lost where the bucket is not
  // full by them.
  void Configure(const RateLimiterOptions& o, std::int64_t now) {
    const std::int64_t per = o.per.count();
    const Wide top = Wide{o.burst} * per;
    const Wide enough = Wide{o.burst} * per_;
    const Wide lacks = enough - held_;
    const Wide since = at_ + lacks / rate_ + (lacks % rate_ > 0 ? 1 : 0);
    if (enough <= top_ && since <= now) {
      held_ = top;
      at_ = since < std::numeric_limits<std::int64_t>::min()
                ? std::numeric_limits<std::int64_t>::min()
                : static_cast<std::int64_t>(since);
    } else {
      const std::int64_t old_gcd = std::gcd(rate_, per_);
      const std::int64_t gcd = std::gcd(o.rate, per);
      const Wide have = Held(now) / old_gcd * (per / gcd);  // Divides: `held` is whole ticks.
      const Wide unit = per_ / old_gcd;
      held_ = std::min((have / unit - (have % unit < 0 ? 1 : 0)) * gcd, top);
      at_ = now;
    }
    rate_ = o.rate;
    per_ = per;
    top_ = top;
    burst_ = o.burst;
  }
  std::int64_t Available(std::int64_t now) const {
    return static_cast<std::int64_t>(std::max<Wide>(Held(now), 0) / per_);
  }
  Wide FullIn(std::int64_t now) const { return (top_ - Held(now) + rate_ - 1) / rate_; }

 private:
  // In 1/per units. Before `at_` the line goes down: an older time finds less, never more.
  Wide Held(std::int64_t now) const { return std::min(top_, held_ + (Wide{now} - at_) * rate_); }

  std::int64_t rate_;
  std::int64_t per_;
  Wide top_;
  std::int64_t burst_;
  Wide held_ = Wide{1} << 120;  // Full since the beginning of time.
  std::int64_t at_ = 0;
};

}  // namespace shed

#endif  // SHED_TESTS_PROPERTY_RATE_ORACLE_H_
