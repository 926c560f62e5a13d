// A small seeded generator for jitter.
#ifndef SHED_INTERNAL_SPLIT_MIX_H_
#define SHED_INTERNAL_SPLIT_MIX_H_

#include <cstdint>

#include "shed/internal/random.h"

namespace shed::internal {

// SplitMix64 (Steele, Lea, Flood 2014): one word of state, and neighbouring seeds give unrelated
// streams, so that instances numbered 1, 2, 3 do not move together. Not thread-safe.
class SplitMix {
 public:
  constexpr explicit SplitMix(std::uint64_t seed) noexcept : state_(Mix(seed)) {}

  constexpr std::uint64_t Next() noexcept {
    const std::uint64_t draw = Mix(state_);
    state_ += kGolden;
    return draw;
  }
  // Uniform in [low, high).
  constexpr double Uniform(double low, double high) noexcept {
    return low + (high - low) * (static_cast<double>(Next() >> 11) * 0x1.0p-53);
  }

 private:
  std::uint64_t state_;
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_SPLIT_MIX_H_
