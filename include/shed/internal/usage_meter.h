// What one caller has used of its allowance, and how that goes away with time.
//
// Algorithm: a leaky meter. What is used is added at once and drains evenly, the allowance in a
// window; a window after the latest use began, what is left is gone outright. So
//   - whoever uses no more than the allowance's rate stays below the allowance, and what is used
//     above it adds up for as long as it goes on;
//   - whatever was used, a window of calm makes a caller new.
// The error against a true sum over the last window: of the use of that window, as much as the
// allowance may have drained already, so that within one window twice the allowance can be used
// below it (all at once, and what drains meanwhile); and what was too much in earlier windows still
// counts while use goes on. That is wanted: the sum of a caller that keeps asking for half as much
// again as it may stands still, and its delay would, too, for ever. And it takes 48 bytes, not some
// for each slice of a window.
//
// It is exact: for an allowance of R units in P ns, in lowest terms, a tick is 1/R ns. A unit is P
// ticks and a nanosecond drains R of them, so nothing is rounded, and what is taken back leaves
// exactly what was there before.
//
// Not synchronised: the owner locks.
#ifndef SHED_INTERNAL_USAGE_METER_H_
#define SHED_INTERNAL_USAGE_METER_H_

#include <cstdint>

#include "shed/internal/bounds.h"
#include "shed/internal/int128.h"
#include "shed/internal/rate_in_ticks.h"
#include "shed/time.h"

namespace shed::internal {

// The options of a UsageThrottle, as whole words.
struct UsageTerms {
  std::int64_t soft;            // Units.
  std::int64_t hard;            // Units.
  std::int64_t window;          // Nanoseconds.
  std::int64_t longest_wait;    // Nanoseconds.
  std::int64_t max_delayed;     // Admissions.
  std::int64_t ticks_per_ns;    // Soft units in a window, in lowest terms.
  std::int64_t ticks_per_unit;  // At most `window`.

  constexpr Int128 Ticks(std::uint64_t units) const noexcept {
    return Int128{units} * ticks_per_unit;
  }
  // The most that may be in use, in ticks, for a call of `cost` units to be within `limit`. A
  // caller that has used nothing always is: a call that costs more could never run otherwise.
  constexpr Int128 Within(std::int64_t limit, std::uint64_t cost) const noexcept {
    const auto units = static_cast<std::uint64_t>(limit);
    return cost < units ? Ticks(units - cost) : 0;
  }
};

class UsageMeter {
 public:
  // More is not counted: a charge of any size, a million years of the largest allowance.
  static constexpr std::uint64_t kMostUnits = std::uint64_t{1} << 62;

  // What is in use, in ticks. An older `now` sees it as it was at the latest change.
  constexpr Int128 LevelAt(const UsageTerms& terms, TimePoint now) const noexcept {
    if (level_ == 0 || Elapsed(used_at_, now).count() >= terms.window) return 0;
    const Int128 drained = Int128{terms.ticks_per_ns} * Elapsed(at_, now).count();
    return Max<Int128>(LevelIn(terms) - drained, 0);
  }
  // The same in units, rounded up.
  constexpr std::uint64_t UnitsAt(const UsageTerms& terms, TimePoint now) const noexcept {
    return static_cast<std::uint64_t>(CeilDiv(LevelAt(terms, now), terms.ticks_per_unit));
  }
  // How long from `now` on until no more than `level` ticks are in use, if nothing is added;
  // rounded up to whole nanoseconds, zero if that is so already.
  constexpr Duration Until(const UsageTerms& terms, Int128 level, TimePoint now) const noexcept {
    const Int128 seen = LevelAt(terms, now);
    if (seen <= level) return Duration(0);
    const Int128 drained = CeilDiv(seen - level, terms.ticks_per_ns) + Elapsed(now, at_).count();
    const Int128 gone =
        Int128{used_at_.time_since_epoch().count()} + terms.window - now.time_since_epoch().count();
    return Duration(SaturateToInt64(Min(drained, gone)));
  }

  constexpr TimePoint used_at() const noexcept { return used_at_; }
  // All units ever added, modulo 2^64.
  constexpr std::uint64_t added() const noexcept { return added_; }

  // Adds `units` at `now` for work that begins at `begins`. Returns how many were added: all,
  // unless that would be more than kMostUnits in use.
  constexpr std::uint64_t Add(const UsageTerms& terms, std::uint64_t units, TimePoint now,
                              TimePoint begins) noexcept {
    MoveTo(terms, now);
    const Int128 room = Max<Int128>(terms.Ticks(kMostUnits) - level_, 0);
    if (terms.Ticks(units) > room) {
      units = static_cast<std::uint64_t>(room / terms.ticks_per_unit);
    }
    level_ += terms.Ticks(units);
    used_at_ = Max(used_at_, begins);
    added_ += units;
    return units;
  }

  // Takes back `units` of what was added when added() became `mark`, but only as much as has not
  // drained since: what was added first drains first, so that of what is in use now all but what
  // was added later may be it. More would pay for the use of other calls.
  constexpr void TakeBack(const UsageTerms& terms, std::uint64_t units, std::uint64_t mark,
                          TimePoint now) noexcept {
    MoveTo(terms, now);
    const Int128 left = Max<Int128>(level_ - terms.Ticks(added_ - mark), 0);
    level_ -= Min(terms.Ticks(units), left);
  }

  // As if the `units` that were added when added() became `mark`, at this `now`, had never been.
  // `used_before` is what used_at() was before.
  constexpr void Undo(const UsageTerms& terms, std::uint64_t units, std::uint64_t mark,
                      TimePoint used_before, TimePoint now) noexcept {
    MoveTo(terms, now);
    level_ -= Min(terms.Ticks(units), level_);
    if (added_ != mark) return;  // Others were added since, and used_at_ is theirs.
    added_ -= units;
    used_at_ = used_before;
  }

 private:
  static constexpr Int128 CeilDiv(Int128 a, std::int64_t b) noexcept { return (a + b - 1) / b; }

  // The level in the ticks of `terms`: options may have changed since it was written.
  constexpr Int128 LevelIn(const UsageTerms& terms) const noexcept {
    if (terms.ticks_per_unit == ticks_per_unit_) return level_;
    return level_ / ticks_per_unit_ * terms.ticks_per_unit +
           CeilDiv(level_ % ticks_per_unit_ * terms.ticks_per_unit, ticks_per_unit_);
  }
  constexpr void MoveTo(const UsageTerms& terms, TimePoint now) noexcept {
    level_ = LevelAt(terms, now);
    ticks_per_unit_ = terms.ticks_per_unit;
    at_ = Max(at_, now);
  }

  Int128 level_ = 0;  // As of at_.
  std::int64_t ticks_per_unit_ = 1;
  TimePoint at_ = TimePoint::min();
  TimePoint used_at_ = TimePoint::min();  // When the latest use began, or will.
  std::uint64_t added_ = 0;
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_USAGE_METER_H_
