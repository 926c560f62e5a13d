// CircuitBreaker gives, at every step of random traffic, the verdict, the events and the snapshot
// of the same rules written plainly over a list of every call.

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include "property/breaker_twin.h"
#include "shed/circuit_breaker.h"

namespace shed {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Options = CircuitBreakerOptions;

class Traffic {
 public:
  Traffic(const Options& options, std::uint64_t seed) : twin_(options), random_(seed) {}

  void Steps(int count) {
    for (int step = 0; step < count && twin_.difference().empty(); ++step) {
      Step();
      ASSERT_EQ(twin_.difference(), "") << "step " << step;
    }
    EXPECT_GT(twin_.opened(), 0u);
    EXPECT_GT(twin_.closed_by_probes(), 0u);
  }

 private:
  std::int64_t Below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  TimePoint Now() {
    // One reading in eight lags: a little, or by windows.
    const std::int64_t lag = Below(8) == 0 ? Below(Below(4) == 0 ? 30'000 : 500) : 0;
    return TimePoint(milliseconds(clock_ms_ - lag) + Duration(Below(2)));
  }

  void Step() {
    if (Below(2) == 0) clock_ms_ += Below(60);
    if (Below(300) == 0) clock_ms_ += Below(20'000);
    if (Below(20'000) == 0) clock_ms_ += 3'155'760'000 * Below(30);  // Decades.
    if (Below(2000) == 0) health_ = static_cast<double>(Below(100)) / 100;
    const TimePoint now = Now();
    const std::int64_t what = Below(100);
    if (what < 45 || twin_.held() == 0) {
      if (twin_.held() > 40) twin_.Forget(static_cast<std::size_t>(Below(40)));
      twin_.Ask(now);
    } else if (what < 92) {
      EndOne(now);
    } else if (what < 99 || Below(20) != 0) {
      twin_.Read(now);
    } else {
      Force(now);
    }
  }

  void EndOne(TimePoint now) {
    // Mostly the newest, so that few are stale.
    const auto size = static_cast<std::int64_t>(twin_.held());
    const auto i = static_cast<std::size_t>(Below(4) == 0 ? Below(size) : size - 1);
    if (Below(12) == 0) return twin_.Cancel(i, now);
    const bool good = static_cast<double>(Below(1000)) < health_ * 1000;
    const Outcome outcome = Below(10) == 0  ? Outcome::kIgnored
                            : good          ? Outcome::kSuccess
                            : Below(2) == 0 ? Outcome::kFailure
                                            : Outcome::kOverload;
    twin_.Complete(i, now, outcome);
  }
  void Force(TimePoint now) {
    switch (Below(6)) {
      case 0:
        return twin_.ForceOpen(now);
      case 1:
        return twin_.ForceClosed(now);
      default:
        return twin_.Reset(now);
    }
  }

  BreakerTwin twin_;
  std::mt19937_64 random_;
  std::int64_t clock_ms_ = -100'000;
  double health_ = 1;
};

Options Choose(int which) {
  switch (which) {
    case 0:
      return {};
    case 1:  // Ratios alone.
      return {
          .consecutive_failures = 0, .window = seconds(3), .min_calls = 5, .failure_ratio = 0.3};
    case 2:
      return {.window = seconds(1),
              .min_calls = 3,
              .slow_call = milliseconds(90),
              .slow_ratio = 0.4,
              .probes = 1,
              .probe_timeout = seconds(1)};
    case 3:  // The last n calls.
      return {.consecutive_failures = 0,
              .count_window = 37,
              .min_calls = 7,
              .slow_call = milliseconds(400),
              .open_for = milliseconds(100),
              .max_open_for = seconds(1),
              .probes = 5,
              .probe_timeout = milliseconds(700)};
    default:
      return {.consecutive_failures = 6,
              .open_for = milliseconds(500),
              .max_open_for = seconds(9),
              .probes = 2,
              .probe_timeout = seconds(2),
              .ramp = seconds(4)};
  }
}

TEST(CircuitBreakerProperty, AgreesWithAnOracleThatKeepsEveryCall) {
  for (int which = 0; which < 5; ++which) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE("options " + std::to_string(which) + ", seed " + std::to_string(seed));
      Traffic(Choose(which), seed).Steps(80'000);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace shed
