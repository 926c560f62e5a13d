// What can be set of a CircuitBreaker.
#ifndef SHED_CIRCUIT_BREAKER_OPTIONS_H_
#define SHED_CIRCUIT_BREAKER_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <string_view>

#include "shed/internal/validate.h"
#include "shed/time.h"

namespace shed {

struct CircuitBreakerOptions {
  // Opens when so many calls in a row failed. Default 20, range 0 (off) to 1'000'000.
  std::int64_t consecutive_failures = 20;
  // The time over which calls are counted. Default 10 s, range 1 us to 24 h.
  Duration window = std::chrono::seconds(10);
  // Not 0: count the last so many calls, however old, instead of those in `window`. Default 0,
  // range 0 to 4096.
  std::int64_t count_window = 0;
  // So many calls must have ended (or be slow, for that ratio) before a ratio is judged. Default
  // 20, range 1 to 1'000'000, at most `count_window` if that is not 0.
  std::int64_t min_calls = 20;
  // The share of failed calls that opens. Default 0.5, range 0.0001 to 1.
  double failure_ratio = 0.5;
  // A call is slow when it took longer, or is in flight for longer. Default 0 (none is), range 0 to
  // 24 h.
  Duration slow_call{0};
  // The share of slow calls that opens. Default 0.5, range 0.0001 to 1.
  double slow_ratio = 0.5;
  // How long it stays open. Default 5 s, range 1 ns to 366 days.
  Duration open_for = std::chrono::seconds(5);
  // Not 0: the open time doubles each time a probe fails, up to this; closing resets it. Default 0,
  // range 0, or open_for to 366 days.
  Duration max_open_for{0};
  // Calls let through at a time while half-open, and successes that close. Default 3, range 1 to
  // 1000.
  std::int64_t probes = 3;
  // A probe older than this, or than slow_call, counts as failed. More than your calls' own
  // time-out. Default 30 s, range 1 ns to 366 days.
  Duration probe_timeout = std::chrono::seconds(30);
  // How long the load takes to come back after closing. Default 0 (at once), range 0 to 366 days.
  Duration ramp{0};
  // Of the draws during the ramp. Any value; give each instance its own.
  std::uint64_t seed = 1;

  // Returns "" if every field is in range, else a sentence that names the field and the range.
  constexpr std::string_view Problem() const noexcept {
    constexpr Duration kYear = std::chrono::hours(24 * 366);
    if (consecutive_failures < 0 || consecutive_failures > 1'000'000) {
      return "consecutive_failures: want 0 to 1000000";
    }
    if (window < std::chrono::microseconds(1) || window > std::chrono::hours(24)) {
      return "window: want 1 us to 24 h";
    }
    if (count_window < 0 || count_window > 4096) return "count_window: want 0 to 4096";
    if (min_calls < 1 || min_calls > 1'000'000) return "min_calls: want 1 to 1000000";
    if (count_window != 0 && min_calls > count_window) {
      return "min_calls: want at most count_window, or it is never reached";
    }
    if (!internal::InRange(failure_ratio, 1e-4, 1)) return "failure_ratio: want 0.0001 to 1";
    if (slow_call < Duration(0) || slow_call > std::chrono::hours(24)) {
      return "slow_call: want 0 to 24 h";
    }
    if (!internal::InRange(slow_ratio, 1e-4, 1)) return "slow_ratio: want 0.0001 to 1";
    if (open_for < Duration(1) || open_for > kYear) return "open_for: want 1 ns to 366 days";
    if (max_open_for != Duration(0) && (max_open_for < open_for || max_open_for > kYear)) {
      return "max_open_for: want 0, or open_for to 366 days";
    }
    if (probes < 1 || probes > 1000) return "probes: want 1 to 1000";
    if (probe_timeout < Duration(1) || probe_timeout > kYear) {
      return "probe_timeout: want 1 ns to 366 days";
    }
    if (ramp < Duration(0) || ramp > kYear) return "ramp: want 0 to 366 days";
    return "";
  }
};

}  // namespace shed

#endif  // SHED_CIRCUIT_BREAKER_OPTIONS_H_
