// The one source of chance of a simulation: a small seeded generator whose numbers are the same on
// every machine, compiler and library version.
#ifndef SHED_SIM_RANDOM_H_
#define SHED_SIM_RANDOM_H_

#include <bit>
#include <cstdint>

namespace shed::sim {

// xoshiro256++, seeded by splitmix64. Streams of one seed are independent of each other, so that a
// part of a simulation that draws more often does not change what another part draws.
//
// Source: Blackman and Vigna, "Scrambled linear pseudorandom number generators" (2021).
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed, std::uint64_t stream = 0) noexcept {
    std::uint64_t x = Mixed(seed) ^ Mixed(~stream);
    for (std::uint64_t& word : state_) word = Mixed(x += kGolden);
  }

  constexpr std::uint64_t Next() noexcept {
    const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // Returns a number in [0, n); `n` > 0. The bias of a multiplication instead of a rejection loop
  // is at most n / 2^32.
  constexpr std::uint32_t Below(std::uint32_t n) noexcept {
    return static_cast<std::uint32_t>(((Next() >> 32) * n) >> 32);
  }

  // Returns a number in [0, 1), a multiple of 2^-53.
  constexpr double Unit() noexcept { return static_cast<double>(Next() >> 11) * 0x1p-53; }

  // Returns an exponentially distributed number with mean 1, by von Neumann's comparison method:
  // it needs no logarithm, whose last bit differs between mathematical libraries. A run of falling
  // uniforms that starts with x has an odd length with probability e^-x.
  constexpr double Exponential() noexcept {
    for (double whole = 0;; whole += 1) {
      const std::uint64_t first = Next() >> 11;
      bool odd = true;
      for (std::uint64_t last = first;; odd = !odd) {
        const std::uint64_t next = Next() >> 11;
        if (next >= last) break;
        last = next;
      }
      if (odd) return whole + static_cast<double>(first) * 0x1p-53;
    }
  }

 private:
  static constexpr std::uint64_t kGolden = 0x9e37'79b9'7f4a'7c15;
  static constexpr std::uint64_t Mixed(std::uint64_t x) noexcept {
    x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9;
    x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11eb;
    return x ^ (x >> 31);
  }

  std::uint64_t state_[4];
};

}  // namespace shed::sim

#endif  // SHED_SIM_RANDOM_H_
