// Checks of options: what Problem() needs, and what a constructor does with its answer.
#ifndef SHED_INTERNAL_VALIDATE_H_
#define SHED_INTERNAL_VALIDATE_H_

#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace shed::internal {

// Returns false for NaN and the infinities. Looks at the bits: under -ffast-math a compiler may
// take any comparison with NaN for granted, and lets it through.
constexpr bool IsFinite(double x) noexcept {
  constexpr std::uint64_t kExponent = 0x7ff0'0000'0000'0000;
  return (std::bit_cast<std::uint64_t>(x) & kExponent) != kExponent;
}

// Returns true if `x` is a number in [low, high].
constexpr bool InRange(double x, double low, double high) noexcept {
  return IsFinite(x) && x >= low && x <= high;
}

// Throws std::invalid_argument with `problem` unless it is empty; without exceptions prints it and
// aborts.
inline void RequireNoProblem(std::string_view problem) {
  if (problem.empty()) return;
#if defined(__cpp_exceptions)
  throw std::invalid_argument(std::string(problem));
#else
  std::fprintf(stderr, "shed: invalid options: %.*s\n", static_cast<int>(problem.size()),
               problem.data());
  std::abort();
#endif
}

// Returns `options`; for constructors that must check before they initialise. As RequireNoProblem.
template <class Options>
const Options& Checked(const Options& options) {
  RequireNoProblem(options.Problem());
  return options;
}

}  // namespace shed::internal

#endif  // SHED_INTERNAL_VALIDATE_H_
