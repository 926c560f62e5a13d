// The smaller and the larger of two values, and a value held to a range.
#ifndef SHED_INTERNAL_BOUNDS_H_
#define SHED_INTERNAL_BOUNDS_H_

namespace shed::internal {

// As std::min, std::max and std::clamp, but by value. <algorithm> has those, and would cost every
// file that includes shed a fifth of what the rest of it costs.
template <class T>
constexpr T Min(T a, T b) noexcept {
  return b < a ? b : a;
}
template <class T>
constexpr T Max(T a, T b) noexcept {
  return a < b ? b : a;
}
// Requires low <= high.
template <class T>
constexpr T Clamp(T x, T low, T high) noexcept {
  return x < low ? low : high < x ? high : x;
}

}  // namespace shed::internal

#endif  // SHED_INTERNAL_BOUNDS_H_
