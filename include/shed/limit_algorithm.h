// What an algorithm owes that moves the limit of an AdaptiveLimiter: the concept, and what the two
// tell each other.
#ifndef SHED_LIMIT_ALGORITHM_H_
#define SHED_LIMIT_ALGORITHM_H_

#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>

#include "shed/events.h"
#include "shed/outcome.h"
#include "shed/request.h"
#include "shed/time.h"

namespace shed {

// What happened between two closings.
struct LimitWindow {
  TimePoint begin{};
  TimePoint end{};               // Never before `begin`.
  std::uint32_t limit = 0;       // In force all through the window.
  std::uint32_t in_flight = 0;   // At its end.
  std::uint64_t admitted = 0;    // Without those cancelled.
  std::uint64_t completed = 0;   // Whatever the outcome.
  std::uint64_t overloaded = 0;  // Of these, the ones that ended with Outcome::kOverload.
  // By class of criticality; zero unless the algorithm has kCountsRefusals.
  std::array<std::uint64_t, kCriticalityCount> refused{};
  // The integral of the calls in flight, in call-seconds; zero unless the algorithm has kIntegral.
  double area = 0;
};

// The limit for the next window, and when that one closes: when `not_before` and `completions` are
// both reached; or when a completion leaves at most `drained` calls in flight; or at `at_latest`.
struct LimitPlan {
  static constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t limit = 1;         // 1 to 2^20 - 1.
  TimePoint not_before{};          // TimePoint::min() where `completions` alone decides.
  std::uint32_t completions = 1;   // kNever, or below 2^22.
  std::uint32_t drained = kNever;  // kNever, or below 2^20.
  TimePoint at_latest = TimePoint::max();
};

// What an algorithm owes, beside `static constexpr bool kIntegral, kCountsRefusals`: an Options
// aggregate with `initial_limit` and `usable`, a Snapshot aggregate that is not final, and
//
//   LimitPlan Start(TimePoint)                     the first window; also after one that could not
//                                                  be measured (a clock that jumped by years)
//   LimitPlan Close(const LimitWindow&, Events&)   under the lock, as is Start
//   Snapshot Read() const                          under the lock
//   void Sample(const Completion&, std::uint32_t in_flight)   optional: each success, without the
//                                                  lock, with the calls in flight including it
//   LimitPlan Configure(const Options&, TimePoint)  optional: new options, and the window that
//                                                  begins with them; under the lock
template <class A>
concept LimitAlgorithm = requires(A& algorithm, const A& constant, const typename A::Options& o,
                                  TimePoint now, const LimitWindow& window, Events& events) {
  { A(o) } -> std::same_as<A>;
  { A::kName } -> std::convertible_to<std::string_view>;
  requires std::same_as<decltype(A::kIntegral), const bool>;
  requires std::same_as<decltype(A::kCountsRefusals), const bool>;
  { algorithm.Start(now) }
  noexcept->std::same_as<LimitPlan>;
  { algorithm.Close(window, events) }
  noexcept->std::same_as<LimitPlan>;
  { constant.Read() }
  noexcept->std::same_as<typename A::Snapshot>;
};

template <class A>
concept ReconfigurableLimit = requires(A& algorithm, const typename A::Options& o, TimePoint now) {
  { algorithm.Configure(o, now) }
  noexcept->std::same_as<LimitPlan>;
};

}  // namespace shed

#endif  // SHED_LIMIT_ALGORITHM_H_
