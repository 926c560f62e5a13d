// Seeded randomness without state of its own: a hash that turns a counter into a draw.
#ifndef SHED_INTERNAL_RANDOM_H_
#define SHED_INTERNAL_RANDOM_H_

#include <cstdint>

namespace shed::internal {

// The step of splitmix64: 2^64 divided by the golden ratio, odd.
inline constexpr std::uint64_t kGolden = 0x9e37'79b9'7f4a'7c15;

// Returns a hash of `x` whose bits all depend on all of x's: the finaliser of splitmix64 after one
// step. Mix(0) is not 0, and Mix(seed + n * kGolden) for n = 0, 1, 2 ... is splitmix64 itself.
constexpr std::uint64_t Mix(std::uint64_t x) noexcept {
  x += kGolden;
  x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9;
  x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11eb;
  return x ^ (x >> 31);
}

}  // namespace shed::internal

#endif  // SHED_INTERNAL_RANDOM_H_
