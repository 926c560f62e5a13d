// The integral over time of the calls in flight, in one word that each call changes twice.
#ifndef SHED_INTERNAL_FLIGHT_INTEGRAL_H_
#define SHED_INTERNAL_FLIGHT_INTEGRAL_H_

#include <cstdint>

#include "shed/time.h"

namespace shed::internal {

// With sum = Σ t_done − Σ t_admit and count = calls in flight, the integral at T is
// sum + count·T: each call that ended contributes its duration, each other one its age. The upper
// 44 bits hold the sum in ticks of 1.024 µs, modulo; the lower 20 the count. Both in one word: read
// from two, they belong to different instants, and a window's area comes out impossible.
//
// A window's area is the difference of two readings. It is exact while it stays below half the
// modulus; see Measurable.
class FlightIntegral {
 public:
  // Additions to the word (modulo 2^64). Subtracting what a call's start added undoes it exactly.
  static constexpr std::uint64_t Start(TimePoint at) noexcept {
    return 1 - (static_cast<std::uint64_t>(Ticks(at)) << kCountBits);
  }
  static constexpr std::uint64_t End(TimePoint at) noexcept {
    return (static_cast<std::uint64_t>(Ticks(at)) << kCountBits) - 1;
  }

  // The integral at `at`, in call-ticks modulo 2^44.
  static constexpr std::uint64_t ReadingAt(std::uint64_t word, TimePoint at) noexcept {
    const std::uint64_t count = word & ((std::uint64_t{1} << kCountBits) - 1);
    return ((word >> kCountBits) + count * static_cast<std::uint64_t>(Ticks(at))) & kSumMask;
  }

  // True if the area of `span` with at most `calls` in flight fits half the modulus: 2^43 ticks are
  // 104 call-days. A longer window could show any area at all.
  static constexpr bool Measurable(std::uint32_t calls, Duration span) noexcept {
    return calls == 0 || span.count() / kTickNanos < kHalf / calls;
  }

  // The area between two readings in call-seconds, for a window that is Measurable. Held in
  // [0, calls·span]: threads whose `now` lags, and ticks, may put it a little outside.
  static constexpr double Area(std::uint64_t from, std::uint64_t to, std::uint32_t calls,
                               Duration span) noexcept {
    const std::uint64_t difference = (to - from) & kSumMask;
    if (difference >= static_cast<std::uint64_t>(kHalf)) return 0;  // Negative.
    const double area = static_cast<double>(difference) * (kTickNanos * 1e-9);
    const double most = static_cast<double>(calls) * (static_cast<double>(span.count()) * 1e-9);
    return area < most ? area : most;
  }

 private:
  static constexpr int kCountBits = 20;
  static constexpr std::int64_t kTickNanos = 1024;
  static constexpr std::int64_t kHalf = std::int64_t{1} << 43;
  static constexpr std::uint64_t kSumMask = (std::uint64_t{1} << 44) - 1;

  // Rounds down, also before the clock's zero.
  static constexpr std::int64_t Ticks(TimePoint at) noexcept {
    return at.time_since_epoch().count() >> 10;
  }
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_FLIGHT_INTEGRAL_H_
