// A rate in whole numbers.
#ifndef SHED_INTERNAL_RATE_IN_TICKS_H_
#define SHED_INTERNAL_RATE_IN_TICKS_H_

#include <cstdint>

#include "shed/time.h"

namespace shed::internal {

// With the units per nanosecond in lowest terms R / P: a tick is 1/R ns, so that R ticks are a
// nanosecond, P ticks are a unit, and nothing is ever rounded.
struct RateInTicks {
  std::int64_t ticks_per_ns = 1;    // R.
  std::int64_t ticks_per_unit = 1;  // P.

  // `rate` units per `per`. Requires positive arguments.
  constexpr RateInTicks(std::int64_t rate, Duration per) noexcept {
    std::int64_t a = rate;
    std::int64_t b = per.count();
    while (b != 0) {
      const std::int64_t rest = a % b;
      a = b;
      b = rest;
    }
    ticks_per_ns = rate / a;
    ticks_per_unit = per.count() / a;
  }
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_RATE_IN_TICKS_H_
