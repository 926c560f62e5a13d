// What happened in a simulation: counts per second and caller, and the latencies that a report
// needs.
#ifndef SHED_SIM_RECORDER_H_
#define SHED_SIM_RECORDER_H_

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "shed/sim/scenario.h"
#include "shed/time.h"

namespace shed::sim {

enum class Count : std::uint8_t {
  kOffered,          // Calls that arrived.
  kRefused,          // By the limiter.
  kReached,          // Calls that reached the server.
  kRefusedByServer,  // By the server's own limit; the answer came in time.
  kFailed,           // The service failed them; the answer came in time.
  kGood,             // Answers that came in time: the goodput.
  kTimedOut,         // Clients that gave up.
};
inline constexpr std::size_t kCounts = 7;

class Recorder {
 public:
  // What the limit was, and whether it was held down to measure something.
  struct Limit {
    Duration at;
    double value;
    bool measuring;
  };

  // A call that was admitted `at`, to start `wait` later.
  struct Delay {
    Duration at;
    std::uint32_t caller;
    Duration wait;
  };

  Recorder(const Scenario& scenario, std::uint32_t callers)
      : event_{scenario.event.from + scenario.settle, scenario.event.to},
        reference_(scenario.reference),
        seconds_(static_cast<std::size_t>(
            std::chrono::ceil<std::chrono::seconds>(scenario.length).count())),
        callers_(callers),
        counts_(seconds_ * callers) {
    std::size_t kinds = 1;
    for (const Phase& phase : scenario.phases) kinds = std::max(kinds, phase.kinds.size());
    for (const Source& source : scenario.sources) {
      for (const Phase& phase : source.phases) kinds = std::max(kinds, phase.kinds.size());
    }
    latencies_.resize(kinds);
  }

  void Add(Count what, TimePoint at, std::uint32_t caller) {
    const auto second = static_cast<std::size_t>(at.time_since_epoch().count() / 1'000'000'000);
    if (second < seconds_) ++counts_[second * callers_ + caller][static_cast<std::size_t>(what)];
  }
  // An answer that came in time, `latency` after the call, of the given kind of work.
  void AddAnswer(TimePoint at, Duration latency, std::uint32_t caller, std::uint8_t kind) {
    Add(Count::kGood, at, caller);
    const Duration since_start = at.time_since_epoch();
    if (event_.Contains(since_start)) latencies_[kind].push_back(latency);
    if (reference_.Contains(since_start)) reference_latencies_.push_back(latency);
  }
  void AddLimit(TimePoint at, double limit, bool measuring = false) {
    limits_.push_back({at.time_since_epoch(), limit, measuring});
  }
  void AddDelay(TimePoint at, std::uint32_t caller, Duration wait) {
    delays_.push_back({at.time_since_epoch(), caller, wait});
  }

  // Returns the sum over whole seconds [from, to) of a run, of one caller or of all.
  std::uint64_t Sum(Count what, std::size_t from, std::size_t to) const {
    std::uint64_t sum = 0;
    for (std::uint32_t caller = 0; caller < callers_; ++caller) sum += Sum(what, from, to, caller);
    return sum;
  }
  std::uint64_t Sum(Count what, std::size_t from, std::size_t to, std::uint32_t caller) const {
    std::uint64_t sum = 0;
    for (std::size_t second = from; second < std::min(to, seconds_); ++second) {
      sum += counts_[second * callers_ + caller][static_cast<std::size_t>(what)];
    }
    return sum;
  }

  // Returns the median of the limits seen in `span`; 0 if there are none.
  double MedianLimit(const Span& span) const {
    std::vector<double> seen;
    for (const Limit& limit : limits_) {
      if (span.Contains(limit.at)) seen.push_back(limit.value);
    }
    if (seen.empty()) return 0;
    const auto middle = seen.begin() + static_cast<std::ptrdiff_t>(seen.size() / 2);
    std::nth_element(seen.begin(), middle, seen.end());
    return *middle;
  }

  const std::vector<Limit>& limits() const { return limits_; }
  // In the order of admission.
  const std::vector<Delay>& delays() const { return delays_; }
  // The span that the figures are about: the event without its first seconds.
  const Span& measured() const { return event_; }
  std::size_t seconds() const { return seconds_; }
  std::uint32_t callers() const { return callers_; }
  // Of the answers in measured(), by kind of work.
  const std::vector<std::vector<Duration>>& latencies() const { return latencies_; }
  const std::vector<Duration>& reference_latencies() const { return reference_latencies_; }

 private:
  Span event_;
  Span reference_;
  std::size_t seconds_;
  std::uint32_t callers_;
  std::vector<std::array<std::uint32_t, kCounts>> counts_;  // By second, then by caller.
  std::vector<std::vector<Duration>> latencies_;
  std::vector<Duration> reference_latencies_;
  std::vector<Limit> limits_;
  std::vector<Delay> delays_;
};

}  // namespace shed::sim

#endif  // SHED_SIM_RECORDER_H_
