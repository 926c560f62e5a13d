// When a closed circuit breaker opens: the whole rule, pure.
#ifndef SHED_INTERNAL_BREAKER_RULE_H_
#define SHED_INTERNAL_BREAKER_RULE_H_

#include <cstdint>

#include "shed/events.h"
#include "shed/time.h"

namespace shed {

// What a circuit breaker looks at: the calls that ended in its window, the failures since the last
// success, and the calls that have not ended and are slow already.
struct BreakerCounts {
  std::uint64_t calls = 0;
  std::uint64_t failed = 0;
  std::uint64_t slow = 0;
  std::uint32_t failed_in_a_row = 0;
  std::uint32_t overdue = 0;  // In neither of the first three.

  friend constexpr bool operator==(const BreakerCounts&, const BreakerCounts&) = default;
};

namespace internal {

// A quotient, not a product: 7 / 100 is the double that 0.07 is, but 0.07 · 100 is more than 7.
constexpr double Ratio(std::uint64_t part, std::uint64_t whole) noexcept {
  return static_cast<double>(part) / static_cast<double>(whole);
}

// Returns which part of the rule says that the breaker should open; kNone if none does.
template <class Options>
constexpr Cause JudgeBreaker(const Options& options, const BreakerCounts& counts) noexcept {
  const auto reached = [](std::uint64_t have, std::int64_t want) {
    return have >= static_cast<std::uint64_t>(want);
  };
  if (options.consecutive_failures != 0 &&
      reached(counts.failed_in_a_row, options.consecutive_failures)) {
    return Cause::kConsecutiveFailures;
  }
  if (reached(counts.calls, options.min_calls) &&
      Ratio(counts.failed, counts.calls) >= options.failure_ratio) {
    return Cause::kFailureRatio;
  }
  // Those that hang are as slow as those that ended late.
  const std::uint64_t calls = counts.calls + counts.overdue;
  if (options.slow_call != Duration(0) && reached(calls, options.min_calls) &&
      Ratio(counts.slow + counts.overdue, calls) >= options.slow_ratio) {
    return Cause::kSlowRatio;
  }
  return Cause::kNone;
}

// Returns the event that says so, with the numbers. `cause` is one that JudgeBreaker gives.
template <class Options>
constexpr Event BreakerOpened(const Options& options, Cause cause,
                              const BreakerCounts& counts) noexcept {
  Event event{.kind = EventKind::kBreakerOpened, .cause = cause, .total = counts.calls};
  if (cause == Cause::kConsecutiveFailures) {
    event.count = counts.failed_in_a_row;
    event.value = static_cast<double>(event.count);
    event.threshold = static_cast<double>(options.consecutive_failures);
    return event;
  }
  const bool slow = cause == Cause::kSlowRatio;
  if (slow) event.total += counts.overdue;
  event.count = slow ? counts.slow + counts.overdue : counts.failed;
  event.value = Ratio(event.count, event.total);
  event.threshold = slow ? options.slow_ratio : options.failure_ratio;
  return event;
}

}  // namespace internal
}  // namespace shed

#endif  // SHED_INTERNAL_BREAKER_RULE_H_
