// How a counter of unknown frequency becomes a clock: a line through the last measurement, good for
// a short span, and the rule that gives the next line. Pure.
//
// Lines follow each other without going back, whoever reads which of them when: no reading of a
// line is above its `end`, and no later line begins below it.
#ifndef SHED_INTERNAL_CLOCK_LINE_H_
#define SHED_INTERNAL_CLOCK_LINE_H_

#include <cstdint>
#include <limits>

#include "shed/internal/bounds.h"
#include "shed/internal/int128.h"
#include "shed/time.h"

namespace shed::internal {

// The counter and the reference clock, read together.
struct ClockSample {
  std::uint64_t count = 0;
  std::int64_t at = 0;     // the reference then, in ns, give or take width / 2
  std::int64_t width = 0;  // in ns, >= 0
};

struct ClockLine {
  // The counts [count, count + span) are on the line, `begin` ns and on, at `slope` per count, in
  // units of 2^-32 ns. A span of 0: the line is the reference clock itself, held within [begin,
  // end], while the rate of the counter is being measured.
  std::uint64_t count = 0;
  std::uint64_t span = 0;
  std::int64_t begin = 0;
  std::uint64_t slope = 0;
  std::int64_t end = 0;
  // The measurement from which the next rate is taken; its count is `count`.
  std::int64_t at = 0;
  std::int64_t width = 0;
  // As last measured, in 2^-32 ns per count; 0: not yet. `slope` is below it to wait for the
  // reference.
  std::uint64_t rate = 0;

  constexpr bool on_counter() const noexcept { return span != 0; }
  // Requires offset <= span. The product fits: it is at most kLongest << kShift.
  constexpr std::int64_t At(std::uint64_t offset) const noexcept {
    return begin + static_cast<std::int64_t>((offset * slope) >> kShift);
  }

  static constexpr int kShift = 32;
  // How long a line lasts: twice the time its rate was measured over, within these. A jump of the
  // counter does harm for this long at most.
  static constexpr std::int64_t kShortest = 2'000'000;
  static constexpr std::int64_t kLongest = 50'000'000;
  // A rate is used when it is known to 1 / kExact, over a line's time or less (so that the line is
  // no further off than that either), and two in a row differ by no more than 1 / kAgree: a virtual
  // machine that moved, or a suspended one, fits no rate.
  static constexpr std::int64_t kExact = 20'000;
  static constexpr std::int64_t kAgree = 2'000;

  // The line on the reference clock with which a clock starts.
  static constexpr ClockLine First(const ClockSample& now) noexcept {
    return OnReference(now, std::numeric_limits<std::int64_t>::min(), now.at, 0);
  }

  // The line after this one, given a measurement made past its end (or with a counter that went
  // back).
  constexpr ClockLine Next(const ClockSample& now) const noexcept {
    const std::uint64_t counts = now.count - count;
    const std::int64_t taken =
        Elapsed(TimePoint(Duration(at)), TimePoint(Duration(now.at))).count();
    const bool forward = counts - 1 < kMaxCounts && taken > 0;
    if (forward && kExact * Uncertainty(now, counts, taken) <= Min(taken, kLongest)) {
      const Int128 exact = (Int128{taken} << kShift) / counts;
      const std::uint64_t measured = exact <= kMaxRate ? static_cast<std::uint64_t>(exact) : 0;
      if (rate != 0 && Agrees(measured)) {
        const ClockLine line = OnCounter(now, measured, taken);
        if (line.on_counter()) return line;
      }
      return OnReference(now, end, now.at, measured);
    }
    // Too coarse a measurement, or a counter that went back. The better of the two stays, for a
    // while.
    if (forward && width <= now.width && taken <= kLongestWait) {
      return OnReference({.count = count, .at = at, .width = width}, end, now.at, rate);
    }
    return OnReference(now, end, now.at, forward ? rate : 0);
  }

 private:
  static constexpr std::uint64_t kMaxCounts = std::uint64_t{1} << 63;
  // A million counts per second is the slowest counter that is of use; this is 1000 times slower.
  static constexpr std::uint64_t kMaxRate = std::uint64_t{1'000'000} << kShift;
  static constexpr std::int64_t kLongestWait = 1'000'000'000;

  // Of the time between this line's measurement and `now`, in ns: the two brackets, and one count.
  constexpr Int128 Uncertainty(const ClockSample& now, std::uint64_t counts,
                               std::int64_t taken) const noexcept {
    return (Int128{width} + now.width) / 2 + taken / static_cast<Int128>(counts) + 1;
  }
  constexpr bool Agrees(std::uint64_t measured) const noexcept {
    const Int128 difference = Int128{measured} - rate;
    return (difference < 0 ? -difference : difference) * kAgree <= rate;
  }

  // Through the measurement; from `end`, and less steep until it meets the reference, where the
  // readings are ahead of it. On the reference if they are too far ahead.
  constexpr ClockLine OnCounter(const ClockSample& now, std::uint64_t measured,
                                std::int64_t taken) const noexcept {
    const std::int64_t lasts = Clamp(SaturatingAdd(taken, taken), kShortest, kLongest);
    const std::int64_t ahead =
        Elapsed(TimePoint(Duration(now.at)), TimePoint(Duration(end))).count();
    ClockLine line;
    if (ahead > lasts / 8) return line;
    line.count = now.count;
    line.span = static_cast<std::uint64_t>((Int128{lasts} << kShift) / measured);
    line.begin = Max(now.at, end);
    line.slope = static_cast<std::uint64_t>(Int128{measured} * (lasts - ahead) / lasts);
    line.end = line.At(line.span);
    line.at = now.at;
    line.width = now.width;
    line.rate = measured;
    return line;
  }

  // Until the rate over the time from `anchor` can be exact, and `floor` is past.
  static constexpr ClockLine OnReference(const ClockSample& anchor, std::int64_t floor,
                                         std::int64_t now, std::uint64_t rate) noexcept {
    const Int128 uncertainty = Int128{anchor.width} + (rate >> kShift) + 1;
    const std::int64_t wait =
        SaturateToInt64(Clamp<Int128>(2 * kExact * uncertainty, kShortest, kLongestWait));
    ClockLine line;
    line.count = anchor.count;
    line.begin = floor;
    line.end = Max(SaturatingAdd(now, wait), floor);
    line.at = anchor.at;
    line.width = anchor.width;
    line.rate = rate;
    return line;
  }
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_CLOCK_LINE_H_
