// AdmissionController reports, at every step of random traffic, what the formula gives over a list
// of every call; and refuses as many calls, of the classes, as it reports.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include "property/admission_twin.h"
#include "shed/admission_controller.h"

namespace shed {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Options = AdmissionControllerOptions;

class Traffic {
 public:
  Traffic(const Options& options, std::uint64_t seed) : twin_(options), random_(seed) {}

  void Steps(int count) {
    for (int step = 0; step < count; ++step) {
      Step();
      ASSERT_EQ(twin_.difference(), "") << "step " << step;
    }
    // As many as reported: each draw has a variance of at most a quarter.
    for (std::size_t k = 0; k < kCriticalityCount; ++k) {
      EXPECT_NEAR(refused_[k], expected_[k], 5 * std::sqrt(draws_[k] / 4) + 0.02 * expected_[k] + 1)
          << k;
    }
    EXPECT_GT(expected_[0], 0);
  }

 private:
  std::int64_t Below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }

  void Step() {
    clock_us_ += Below(30'000);
    if (Below(500) == 0) clock_us_ += Below(15'000'000);
    if (Below(20'000) == 0) clock_us_ += 3'155'760'000'000 * Below(30);
    if (Below(1000) == 0) health_ = Below(101);
    if (Below(1000) == 0) mix_ = Below(4) + 1;
    const std::int64_t lag = Below(8) == 0 ? Below(Below(8) == 0 ? 15'000'000 : 100'000) : 0;
    const TimePoint now{microseconds(clock_us_ - lag)};
    const std::int64_t what = Below(16);
    if (what < 9 || twin_.held() == 0) {
      Ask(now);
    } else if (what < 15) {
      EndOne(now);
    } else {
      twin_.Read(now);
    }
  }

  void Ask(TimePoint now) {
    const auto k = static_cast<std::size_t>(Below(mix_));
    const auto said = twin_.controller().Read(now);
    const Verdict verdict = twin_.Ask(now, k);
    // Compared only where the arrival itself does not decide.
    if (said.arrivals[k] >= 20) {
      expected_[k] += said.class_probability[k];
      draws_[k] += said.class_probability[k] > 0 ? 1 : 0;
      refused_[k] += verdict.admitted() ? 0 : 1;
    }
  }
  void EndOne(TimePoint now) {
    if (Below(10) == 0) return twin_.Cancel(0, now);
    const bool success = Below(100) < health_;
    const Outcome outcome = Below(10) == 0  ? Outcome::kIgnored
                            : success       ? Outcome::kSuccess
                            : Below(2) == 0 ? Outcome::kFailure
                                            : Outcome::kOverload;
    twin_.Complete(0, now, outcome);
  }

  AdmissionTwin twin_;
  std::mt19937_64 random_;
  std::int64_t clock_us_ = -100'000'000;
  std::int64_t health_ = 100;
  std::int64_t mix_ = 4;
  std::array<double, kCriticalityCount> expected_{};
  std::array<double, kCriticalityCount> draws_{};
  std::array<double, kCriticalityCount> refused_{};
};

Options Choose(int which) {
  switch (which) {
    case 0:
      return {};
    case 1:
      return {.window = seconds(3), .threshold = 0.6, .aggression = 2, .min_rps = 2, .seed = 9};
    case 2:
      return {.window = milliseconds(2001),
              .threshold = 1,
              .aggression = 0.5,
              .max_rejection = 0.3,
              .min_rps = 0};
    default:
      return {.window = seconds(20), .threshold = 0.5, .max_rejection = 1, .seed = 77};
  }
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kSteps = 9'000;  // Each of its many loads costs as much as a call.
#else
constexpr int kSteps = 90'000;
#endif

TEST(AdmissionControllerProperty, AgreesWithAnOracleThatKeepsEveryCall) {
  for (int which = 0; which < 4; ++which) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE("options " + std::to_string(which) + ", seed " + std::to_string(seed));
      Traffic(Choose(which), seed).Steps(kSteps);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace shed
