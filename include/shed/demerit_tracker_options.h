// What can be set of a DemeritTracker.
#ifndef SHED_DEMERIT_TRACKER_OPTIONS_H_
#define SHED_DEMERIT_TRACKER_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <string_view>

#include "shed/internal/validate.h"
#include "shed/time.h"

namespace shed {

struct DemeritTrackerOptions {
  // Units that all callers together may hold. Set it to what the service can have in flight: lower
  // refuses for nothing, much higher leaves fairness to what a later policy refuses. Default 100,
  // as many as a ConcurrencyLimiter admits by default. Range 1 to 1'000'000'000.
  std::int64_t budget = 100;
  // How long a caller that asked counts as active, and one that was refused as waiting. Default
  // 5 s, range 1 ns to 366 days.
  Duration window = std::chrono::seconds(5);
  // What one refusal at fault adds. Default 1, range 0.000001 to 1'000'000, and no more than
  // hog_threshold + budget, which is the most that demerit can be.
  double demerit_per_denial = 1.0;
  // What a second takes away. Default 0.3, so that one refusal in 3.3 s is forgiven for ever. Range
  // 0.000001 to 1'000'000.
  double decay_per_second = 0.3;
  // The longest that demerit lasts after the last refusal. Default 60 s, range 1 ns to 366 days.
  Duration max_penalty = std::chrono::seconds(60);
  // The demerit from which a caller is a hog. Default 3, range 0.000001 to 1'000'000.
  double hog_threshold = 3.0;
  // How many callers are told apart; 112 bytes each, and 15 KB for all, taken when the tracker is
  // made. Default 1000, range 1 to 1'000'000.
  std::int64_t max_callers = 1000;
  // Whether a refusal within the caller's own part adds demerit, too. Default false.
  bool blame_victims = false;
  // Keys the fingerprints. Any value. Where callers can choose their names, a secret one, drawn
  // when the service starts. Default 0.
  std::uint64_t seed = 0;

  // Returns "" if every field is in range, else a sentence that names the field and the range.
  constexpr std::string_view Problem() const noexcept {
    constexpr Duration kLongest = std::chrono::hours(24 * 366);
    const auto in_range = [](double x) { return internal::InRange(x, 0.000001, 1'000'000.0); };
    if (budget < 1 || budget > 1'000'000'000) return "budget: want 1 to 1000000000 units";
    if (window < Duration(1) || window > kLongest) return "window: want 1 ns to 366 days";
    if (!in_range(demerit_per_denial)) return "demerit_per_denial: want 0.000001 to 1000000";
    if (!in_range(decay_per_second)) return "decay_per_second: want 0.000001 to 1000000";
    if (max_penalty < Duration(1) || max_penalty > kLongest) {
      return "max_penalty: want 1 ns to 366 days";
    }
    if (!in_range(hog_threshold)) return "hog_threshold: want 0.000001 to 1000000";
    if (demerit_per_denial > hog_threshold + static_cast<double>(budget)) {
      return "demerit_per_denial: want at most hog_threshold + budget";
    }
    if (max_callers < 1 || max_callers > 1'000'000) return "max_callers: want 1 to 1000000";
    return "";
  }
};

}  // namespace shed

#endif  // SHED_DEMERIT_TRACKER_OPTIONS_H_
