// What the threads of a soak know of their calls, to be compared with what a limiter counts.
#ifndef SHED_TESTS_SOAK_TALLY_H_
#define SHED_TESTS_SOAK_TALLY_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "shed/limiter_snapshot.h"
#include "shed/outcome.h"
#include "shed/request.h"
#include "shed/verdict.h"

namespace shed::soak {

// Of one thread, or of all added up. For a limiter of kPolicies.
template <std::size_t kPolicies>
struct Tally {
  CallsByCriticality admitted{};
  std::uint64_t exempt = 0;
  std::array<std::array<CallsByCriticality, kReasonCount>, kPolicies> refused{};
  std::array<std::uint64_t, kOutcomeCount> completed{};
  std::array<std::uint64_t, kOutcomeCount> completed_exempt{};  // Of these, what no policy saw.
  std::uint64_t dropped = 0;
  std::int64_t units = 0;  // That calls that have ended were admitted with, or charged in the end.

  Tally& operator+=(const Tally& other) {
    for (std::size_t k = 0; k < kCriticalityCount; ++k) admitted[k] += other.admitted[k];
    for (std::size_t p = 0; p < kPolicies; ++p) {
      for (std::size_t r = 0; r < kReasonCount; ++r) {
        for (std::size_t k = 0; k < kCriticalityCount; ++k) {
          refused[p][r][k] += other.refused[p][r][k];
        }
      }
    }
    for (std::size_t i = 0; i < kOutcomeCount; ++i) {
      completed[i] += other.completed[i];
      completed_exempt[i] += other.completed_exempt[i];
    }
    exempt += other.exempt;
    dropped += other.dropped;
    units += other.units;
    return *this;
  }

  // Ends that policies saw.
  std::uint64_t Seen(Outcome outcome) const {
    return completed[IndexOf(outcome)] - completed_exempt[IndexOf(outcome)];
  }
};

}  // namespace shed::soak

#endif  // SHED_TESTS_SOAK_TALLY_H_
