// What a limiter has done so far, and the state of each of its policies, as plain data.
#ifndef SHED_LIMITER_SNAPSHOT_H_
#define SHED_LIMITER_SNAPSHOT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "shed/outcome.h"
#include "shed/policy.h"
#include "shed/request.h"
#include "shed/verdict.h"

namespace shed {

namespace internal {
template <class P>
struct SnapshotOfImpl {
  struct type {};
};
template <CanRead P>
struct SnapshotOfImpl<P> {
  using type = typename P::Snapshot;
};
}  // namespace internal

// P::Snapshot, or an empty struct.
template <class P>
using SnapshotOf = typename internal::SnapshotOfImpl<P>::type;

// Calls by the class of criticality that asked.
using CallsByCriticality = std::array<std::uint64_t, kCriticalityCount>;

// Counts since the limiter was made. Taken while calls go on, the counts are those of one moment
// within a few calls; `in_flight` is never below zero.
template <class... Policies>
struct LimiterSnapshot {
  std::string_view name;  // The limiter's; valid as long as it lives.
  CallsByCriticality admitted{};
  std::uint64_t exempt = 0;  // Passed without being asked about; not in `admitted`.
  // refused[policy][reason][criticality].
  std::array<std::array<CallsByCriticality, kReasonCount>, sizeof...(Policies)> refused{};
  std::array<std::uint64_t, kOutcomeCount> completed{};  // By outcome; exempt ones too.
  // Guards that went without an outcome: they are in `completed` too, as kFailure or kIgnored.
  std::uint64_t dropped = 0;
  std::uint64_t in_flight = 0;  // Admitted and exempt calls that have not ended.
  // The policies' own snapshots in the limiter's order; an empty struct for one that has none.
  std::tuple<SnapshotOf<Policies>...> policies{};

  static constexpr std::array<std::string_view, sizeof...(Policies)> kPolicyNames = {
      std::string_view(Policies::kName)...};

  std::uint64_t TotalAdmitted() const noexcept {
    std::uint64_t sum = 0;
    for (const std::uint64_t n : admitted) sum += n;
    return sum;
  }
  std::uint64_t TotalCompleted() const noexcept {
    std::uint64_t sum = 0;
    for (const std::uint64_t n : completed) sum += n;
    return sum;
  }
  // What one policy refused. Requires policy < sizeof...(Policies).
  std::uint64_t RefusedBy(std::size_t policy) const noexcept {
    std::uint64_t sum = 0;
    for (const CallsByCriticality& by_class : refused[policy]) {
      for (const std::uint64_t n : by_class) sum += n;
    }
    return sum;
  }
  // What all of them refused for one reason; 0 for a value cast from outside the enumeration.
  std::uint64_t RefusedFor(Reason reason) const noexcept {
    if (static_cast<std::size_t>(reason) >= kReasonCount) return 0;
    std::uint64_t sum = 0;
    for (const auto& by_reason : refused) {
      for (const std::uint64_t n : by_reason[static_cast<std::size_t>(reason)]) sum += n;
    }
    return sum;
  }
  std::uint64_t TotalRefused() const noexcept {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < refused.size(); ++i) sum += RefusedBy(i);
    return sum;
  }
};

}  // namespace shed

#endif  // SHED_LIMITER_SNAPSHOT_H_
