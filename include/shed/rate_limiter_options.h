// What can be set of a RateLimiter.
#ifndef SHED_RATE_LIMITER_OPTIONS_H_
#define SHED_RATE_LIMITER_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <string_view>

#include "shed/internal/rate_in_ticks.h"
#include "shed/time.h"

namespace shed {

struct RateLimiterOptions {
  // Units per `per`, on average. Default 1000, range 1 to 2'000'000'000.
  std::int64_t rate = 1000;
  // Default 1 s, range 1 ns to 366 days.
  Duration per = std::chrono::seconds(1);
  // Units at once, after a pause. Default 100, range 1 to 2^58 / P, where P is `per` in ns divided
  // by its greatest common divisor with `rate`: 2.8e11 at 1000/s, 3335 at 1 per day.
  std::int64_t burst = 100;

  // Returns "" if every field is in range, else a sentence that names the field and the range.
  constexpr std::string_view Problem() const noexcept;
};

namespace internal {

inline constexpr std::int64_t kMaxRate = 2'000'000'000;
inline constexpr Duration kMaxPer = std::chrono::hours(24 * 366);
inline constexpr std::int64_t kMaxBurstTicks = std::int64_t{1} << 58;

}  // namespace internal

constexpr std::string_view RateLimiterOptions::Problem() const noexcept {
  if (rate < 1 || rate > internal::kMaxRate) return "rate: want 1 to 2000000000 units";
  if (per < Duration(1) || per > internal::kMaxPer) return "per: want 1 ns to 366 days";
  if (burst < 1) return "burst: want at least 1 unit";
  if (burst > internal::kMaxBurstTicks / internal::RateInTicks(rate, per).ticks_per_unit) {
    return "burst: want at most 2^58 / (per in ns / greatest common divisor of rate and per)";
  }
  return "";
}

}  // namespace shed

#endif  // SHED_RATE_LIMITER_OPTIONS_H_
