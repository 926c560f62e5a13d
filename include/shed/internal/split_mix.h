// A small seeded generator for jitter.
#ifndef SHED_INTERNAL_SPLIT_MIX_H_
#define SHED_INTERNAL_SPLIT_MIX_H_

#include <cstdint>

namespace shed::internal {

// SplitMix64 (Steele, Lea, Flood 2014): one word of state, and neighbouring seeds give unrelated
// streams, so that instances numbered 1, 2, 3 do not move together. Not thread-safe.
class SplitMix {
 public:
  constexpr explicit SplitMix(std::uint64_t seed) noexcept : state_(seed) {}

  constexpr std::uint64_t Next() noexcept {
    state_ += 0x9e37'79b9'7f4a'7c15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58'476d'1ce4'e5b9;
    z = (z ^ (z >> 27)) * 0x94d0'49bb'1331'11eb;
    return z ^ (z >> 31);
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
