// The formula of AdmissionController over a list of every call.
#ifndef SHED_TESTS_PROPERTY_ADMISSION_ORACLE_H_
#define SHED_TESTS_PROPERTY_ADMISSION_ORACLE_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>

#include "shed/admission_controller.h"

namespace shed {

// Says what is counted and what share of calls is to be refused; the draw is the policy's own.
class AdmissionOracle {
 public:
  explicit AdmissionOracle(const AdmissionControllerOptions& options) : o_(options) {}

  void Arrive(TimePoint now, std::size_t criticality, int call) {
    Add(arrivals_, now, criticality, call);
  }
  void Cancel(int call) {
    const auto it = std::find_if(arrivals_.begin(), arrivals_.end(),
                                 [&](const Sample& sample) { return sample.call == call; });
    if (it != arrivals_.end()) arrivals_.erase(it);
  }
  void End(TimePoint now, bool success) { Add(ends_, now, success ? 1 : 0, 0); }
  // Whether what happens at `now` is too old to be counted.
  bool IsTooOld(TimePoint now) const { return Slice(now) <= latest_ - 10; }
  std::int64_t Slice(TimePoint at) const {
    const std::int64_t width = o_.window.count() / 10;
    const std::int64_t ns = at.time_since_epoch().count();
    return ns >= 0 ? ns / width : -((-ns + width - 1) / width);
  }

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
    const auto window = static_cast<long double>(o_.window.count());
    s.rps = static_cast<double>(n * 1e9L / window);
    if (n * 1e9L < o_.min_rps * window) return s;
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
  bool In(const Sample& sample, TimePoint now) const {
    return sample.slice > std::max(latest_, Slice(now)) - 10;
  }
  void Add(std::deque<Sample>& samples, TimePoint now, std::size_t what, int call) {
    latest_ = std::max(latest_, Slice(now));
    samples.push_back({Slice(now), what, call});
    while (!samples.empty() && samples.front().slice <= latest_ - 10) samples.pop_front();
  }

  AdmissionControllerOptions o_;
  std::int64_t latest_ = std::numeric_limits<std::int64_t>::min() / 2;
  std::deque<Sample> arrivals_;
  std::deque<Sample> ends_;
};

}  // namespace shed

#endif  // SHED_TESTS_PROPERTY_ADMISSION_ORACLE_H_
