// A policy under a name of its own, so that two policies of one type can be told apart in one
// limiter: `Limiter<Named<"global", RateLimiter>, Named<"per-user", RateLimiter>>`.
#ifndef SHED_NAMED_H_
#define SHED_NAMED_H_

#include <cstddef>
#include <string_view>
#include <utility>

#include "shed/policy.h"

namespace shed {

// A string literal as a template argument.
template <std::size_t N>
struct FixedString {
  char text[N]{};
  // Implicit, so that a literal can be written where a FixedString is wanted.
  constexpr FixedString(const char (&literal)[N]) noexcept {  // NOLINT(google-explicit-constructor)
    for (std::size_t i = 0; i < N; ++i) text[i] = literal[i];
  }
  constexpr std::string_view view() const noexcept { return {text, N - 1}; }
};

// P, called kText. Everything else is P's.
template <FixedString kText, class P>
class Named : public P {
  static_assert(!kText.view().empty(), "shed: a policy's name must not be empty");

 public:
  static constexpr std::string_view kName = kText.view();

  using P::P;
  // For a policy that has no Options: the limiter is given the policy itself.
  Named(P policy)  // NOLINT(google-explicit-constructor)
      requires(!HasOptions<P>)
      : P(std::move(policy)) {}
};

}  // namespace shed

#endif  // SHED_NAMED_H_
