// What can be set of a KneeLimiter.
#ifndef SHED_KNEE_OPTIONS_H_
#define SHED_KNEE_OPTIONS_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "shed/internal/criticality_share.h"
#include "shed/internal/validate.h"
#include "shed/time.h"

namespace shed {

struct KneeOptions {
  // The limit is never lower, dips apart. Calls; default 4, range 1 to max_limit.
  std::int64_t min_limit = 4;
  // The limit is never higher. Calls; default 1000, range 1 to 1'000'000.
  std::int64_t max_limit = 1000;
  // The limit before anything is known. Calls; default 20, range min_limit to max_limit.
  std::int64_t initial_limit = 20;
  // The knee to begin with, in calls, as one that was saved from a snapshot: with a limit alone, it
  // would be found anew. Default 0, which is unknown; range 0 to 1'000'000.
  double initial_knee = 0;
  // Calls in flight above what the knee needs. Default 10, range 1 to 100'000. Half of it costs
  // goodput on small servers, twice as much costs them latency; lower it for one slow worker whose
  // clients wait less than 10 service times.
  std::int64_t headroom = 10;
  // Time between two dips in overload, each jittered. Default 5 s, range 100 ms to 1 h.
  Duration dip_interval = std::chrono::seconds(5);
  // The interval varies by this share in either direction. Default 0.5, range 0 to 0.9.
  double dip_jitter = 0.5;
  // The share of the limit up to which each class of criticality is admitted, least critical
  // first. Default 1 for all, range 0 to 1, none above that of a more critical class.
  std::array<double, kCriticalityCount> usable = internal::kUsableAll;
  // Of the jitter. Give each server of a fleet its own. Default 0, any value.
  std::uint64_t seed = 0;

  // Returns "" if every field is in range, else a sentence that names the field and the range.
  constexpr std::string_view Problem() const noexcept {
    using internal::InRange;
    if (max_limit < 1 || max_limit > 1'000'000) return "max_limit: want 1 to 1000000 calls";
    if (min_limit < 1 || min_limit > max_limit) return "min_limit: want 1 to max_limit";
    if (initial_limit < min_limit || initial_limit > max_limit) {
      return "initial_limit: want min_limit to max_limit";
    }
    if (!InRange(initial_knee, 0.0, 1e6)) return "initial_knee: want 0 to 1000000 calls";
    if (headroom < 1 || headroom > 100'000) return "headroom: want 1 to 100000 calls";
    if (dip_interval < std::chrono::milliseconds(100) || dip_interval > std::chrono::hours(1)) {
      return "dip_interval: want 100 ms to 1 h";
    }
    if (!InRange(dip_jitter, 0.0, 0.9)) return "dip_jitter: want 0 to 0.9";
    return internal::UsableProblem(usable);
  }
};

}  // namespace shed

#endif  // SHED_KNEE_OPTIONS_H_
