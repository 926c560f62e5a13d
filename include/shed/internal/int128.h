// A 128-bit integer, for products of two 64-bit ones.
#ifndef SHED_INTERNAL_INT128_H_
#define SHED_INTERNAL_INT128_H_

#include <cstdint>
#include <limits>

namespace shed::internal {

__extension__ using Int128 = __int128;

// Returns `x` held to the range of int64.
constexpr std::int64_t SaturateToInt64(Int128 x) noexcept {
  if (x > std::numeric_limits<std::int64_t>::max()) return std::numeric_limits<std::int64_t>::max();
  if (x < std::numeric_limits<std::int64_t>::min()) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(x);
}

}  // namespace shed::internal

#endif  // SHED_INTERNAL_INT128_H_
