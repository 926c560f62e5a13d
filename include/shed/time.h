// The one timeline of shed: signed nanoseconds on a monotonic clock, and arithmetic on it that
// neither overflows nor goes negative, so that a clock that jumps by a century breaks nothing.
#ifndef SHED_TIME_H_
#define SHED_TIME_H_

#include <chrono>
#include <cstdint>
#include <limits>

namespace shed {

// A span of time in nanoseconds. Any std::chrono duration with whole nanoseconds converts to it.
using Duration = std::chrono::nanoseconds;
static_assert(sizeof(Duration::rep) == 8);

// The tag of shed's timeline. It has no now(): time comes from a Clock (clock.h), so a
// system_clock reading cannot be passed where a TimePoint is wanted.
struct Timeline {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Timeline, Duration>;
  static constexpr bool is_steady = true;
};

// A point on that timeline. Its zero has no meaning; only differences do.
using TimePoint = Timeline::time_point;

// Returns a + b, held at the ends of the int64 range.
constexpr std::int64_t SaturatingAdd(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? std::numeric_limits<std::int64_t>::min()
               : std::numeric_limits<std::int64_t>::max();
}

// Returns the time from `from` to `to`: never negative (an older `to` gives zero), and
// Duration::max() where the difference does not fit.
constexpr Duration Elapsed(TimePoint from, TimePoint to) noexcept {
  if (to <= from) return Duration::zero();
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(to.time_since_epoch().count(), from.time_since_epoch().count(),
                             &difference)) {
    return Duration::max();
  }
  return Duration(difference);
}

// Returns `at` moved by `by`, held at the ends of the timeline.
constexpr TimePoint After(TimePoint at, Duration by) noexcept {
  return TimePoint(Duration(SaturatingAdd(at.time_since_epoch().count(), by.count())));
}

}  // namespace shed

#endif  // SHED_TIME_H_
