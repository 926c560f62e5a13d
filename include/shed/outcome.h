// How a call ended, and what a policy is told of it.
#ifndef SHED_OUTCOME_H_
#define SHED_OUTCOME_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shed/time.h"

namespace shed {

enum class Outcome : std::uint8_t {
  kSuccess,   // It worked.
  kFailure,   // It was tried, and failed.
  kOverload,  // What we depend on shed it, or it timed out.
  kIgnored,   // Says nothing of the service: the caller cancelled, or its input was bad.
};
inline constexpr std::size_t kOutcomeCount = 4;

// Returns the place of `outcome` in a table of kOutcomeCount. A value cast from outside the four
// counts as kIgnored.
constexpr std::size_t IndexOf(Outcome outcome) noexcept {
  const auto index = static_cast<std::size_t>(outcome);
  return index < kOutcomeCount ? index : static_cast<std::size_t>(Outcome::kIgnored);
}

// Returns "success", "failure", "overload" or "ignored".
constexpr std::string_view Name(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::kSuccess:
      return "success";
    case Outcome::kFailure:
      return "failure";
    case Outcome::kOverload:
      return "overload";
    case Outcome::kIgnored:
      return "ignored";
  }
  return "unknown";
}

// The end of one admitted call, as policies see it.
struct Completion {
  TimePoint started{};  // The admission plus its wait.
  TimePoint now{};      // The end. May be before `started` where a clock went back.
  Outcome outcome = Outcome::kIgnored;
  std::uint64_t cost = 1;  // Units, at least 1: as in the Request.

  // How long it took; never negative.
  constexpr Duration latency() const noexcept { return Elapsed(started, now); }
};

}  // namespace shed

#endif  // SHED_OUTCOME_H_
