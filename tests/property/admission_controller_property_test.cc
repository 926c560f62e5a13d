// AdmissionController reports, at every step of random traffic, what the formula gives over a list
// of every call; and refuses as many calls, of the classes, as it reports.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "shed/admission_controller.h"

namespace shed {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Options = AdmissionControllerOptions;

class Oracle {
 public:
  explicit Oracle(const Options& options) : o_(options) {}

  void Arrive(TimePoint now, std::size_t criticality, int call) {
    Add(arrivals_, now, criticality, call);
  }
  void Cancel(int call) {
    const auto it = std::find_if(arrivals_.begin(), arrivals_.end(),
                                 [&](const Sample& sample) { return sample.call == call; });
    if (it != arrivals_.end()) arrivals_.erase(it);
  }
  void End(TimePoint now, bool success) { Add(ends_, now, success ? 1 : 0, 0); }

  AdmissionController::Snapshot Read(TimePoint now) const {
    AdmissionController::Snapshot s;
    for (const Sample& sample : ends_) {
      if (!In(sample, now)) continue;
      ++s.calls;
      s.successes += sample.what;
    }
    for (const Sample& sample : arrivals_) {
      if (In(sample, now)) ++s.arrivals[sample.what];
    }
    const double n = static_cast<double>(s.calls);
    const double window = static_cast<double>(o_.window.count()) / 1e9;
    s.rps = n / window;
    if (s.rps < o_.min_rps) return s;
    const double base = (n - static_cast<double>(s.successes) / o_.threshold) / (n + 1);
    s.probability = std::min(o_.max_rejection, std::pow(std::max(base, 0.0), 1 / o_.aggression));
    // The least critical first, call by call.
    double all = 0;
    for (const std::uint64_t calls : s.arrivals) all += static_cast<double>(calls);
    double below = 0;
    for (std::size_t k = 0; k < kCriticalityCount; ++k) {
      const double calls = static_cast<double>(s.arrivals[k]);
      const double left = s.probability * all - below;
      below += calls;
      s.class_probability[k] = all == 0     ? s.probability
                               : calls == 0 ? (left > 0 ? 1 : 0)
                                            : std::clamp(left / calls, 0.0, 1.0);
    }
    return s;
  }

 private:
  struct Sample {
    std::int64_t slice;
    std::size_t what;
    int call;
  };
  std::int64_t Slice(TimePoint at) const {
    const std::int64_t width = o_.window.count() / 10;
    const std::int64_t ns = at.time_since_epoch().count();
    return ns >= 0 ? ns / width : -((-ns + width - 1) / width);
  }
  bool In(const Sample& sample, TimePoint now) const {
    return sample.slice > std::max(latest_, Slice(now)) - 10;
  }
  void Add(std::deque<Sample>& samples, TimePoint now, std::size_t what, int call) {
    latest_ = std::max(latest_, Slice(now));
    samples.push_back({Slice(now), what, call});
    while (!samples.empty() && samples.front().slice <= latest_ - 10) samples.pop_front();
  }

  Options o_;
  std::int64_t latest_ = std::numeric_limits<std::int64_t>::min() / 2;
  std::deque<Sample> arrivals_;
  std::deque<Sample> ends_;
};

class Traffic {
 public:
  Traffic(const Options& options, std::uint64_t seed)
      : controller_(options), oracle_(options), random_(seed) {}

  void Steps(int count) {
    for (step_ = 0; step_ < count && !::testing::Test::HasFatalFailure(); ++step_) Step();
    // As many as reported: each draw has a variance of at most a quarter.
    for (std::size_t k = 0; k < kCriticalityCount; ++k) {
      EXPECT_NEAR(refused_[k], expected_[k], 5 * std::sqrt(draws_[k] / 4) + 0.02 * expected_[k] + 1)
          << k;
    }
    EXPECT_GT(expected_[0], 0);
  }

 private:
  struct Held {
    AdmissionController::Ticket ticket;
    int call;
  };
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
    if (what < 9 || held_.empty()) {
      Ask(now);
    } else if (what < 15) {
      EndOne(now);
    } else {
      Check(now);
    }
  }

  void Ask(TimePoint now) {
    const auto k = static_cast<std::size_t>(Below(mix_));
    Held held{{}, ++calls_};
    oracle_.Arrive(now, k, held.call);
    const auto said = controller_.Read(now);
    const Verdict verdict =
        controller_.Admit({.criticality = static_cast<Criticality>(k)}, now, held.ticket);
    // Compared only where the arrival itself does not decide.
    if (said.arrivals[k] >= 20) {
      expected_[k] += said.class_probability[k];
      draws_[k] += said.class_probability[k] > 0 ? 1 : 0;
      refused_[k] += verdict.admitted() ? 0 : 1;
    }
    if (verdict.admitted()) {
      held_.push_back(held);
    } else {
      ASSERT_EQ(verdict, Verdict::Refuse(Reason::kLowSuccessRate));
    }
  }
  void EndOne(TimePoint now) {
    const Held held = held_.front();
    held_.erase(held_.begin());
    auto ticket = held.ticket;
    if (Below(10) == 0) {
      controller_.Cancel(ticket, Verdict::Refuse(Reason::kRate), now);
      return oracle_.Cancel(held.call);
    }
    const bool success = Below(100) < health_;
    const Outcome outcome = Below(10) == 0  ? Outcome::kIgnored
                            : success       ? Outcome::kSuccess
                            : Below(2) == 0 ? Outcome::kFailure
                                            : Outcome::kOverload;
    controller_.Complete(ticket, {.started = now, .now = now, .outcome = outcome});
    if (outcome != Outcome::kIgnored) oracle_.End(now, success);
  }
  void Check(TimePoint now) {
    const auto got = controller_.Read(now);
    const auto want = oracle_.Read(now);
    ASSERT_EQ(got.calls, want.calls) << "step " << step_;
    ASSERT_EQ(got.successes, want.successes) << "step " << step_;
    ASSERT_EQ(got.arrivals, want.arrivals) << "step " << step_;
    ASSERT_NEAR(got.rps, want.rps, 1e-9 * want.rps) << "step " << step_;
    ASSERT_NEAR(got.probability, want.probability, 1e-12) << "step " << step_;
    for (std::size_t k = 0; k < kCriticalityCount; ++k) {
      if (want.arrivals[k] == 0 && want.probability > 0) continue;  // 0 or 1, at a rounding.
      ASSERT_NEAR(got.class_probability[k], want.class_probability[k], 1e-9) << "step " << step_;
    }
  }

  AdmissionController controller_;
  Oracle oracle_;
  std::mt19937_64 random_;
  std::int64_t clock_us_ = -100'000'000;
  std::int64_t health_ = 100;
  std::int64_t mix_ = 4;
  int step_ = 0;
  int calls_ = 0;
  std::vector<Held> held_;
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
