// The calls that arrive: open loop, they come whether or not earlier ones were answered.
#ifndef SHED_SIM_WORKLOAD_H_
#define SHED_SIM_WORKLOAD_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shed/sim/random.h"
#include "shed/sim/scenario.h"
#include "shed/time.h"

namespace shed::sim {

struct Arrival {
  TimePoint at = TimePoint::max();
  std::uint32_t caller = 0;
};

// One Source's calls in the order of time: Poisson, at the rate of the stage.
class SourceStream {
 public:
  // Its callers are numbered from `first_caller`. `source` must outlive the stream.
  SourceStream(const Source& source, std::uint32_t first_caller, Random random)
      : source_(&source), first_caller_(first_caller), random_(random) {
    DrawNext(TimePoint{});
  }

  // The next call; its `at` is TimePoint::max() when there is none.
  const Arrival& next() const { return next_; }

  void Pop() {
    const TimePoint at = next_.at;
    if (from_burst_) {
      if (++burst_taken_ >= source_->bursts[burst_].count) {
        ++burst_;
        burst_taken_ = 0;
      }
      Choose();
    } else {
      DrawNext(at);
    }
  }

 private:
  // Draws the Poisson call that follows `at`.
  void DrawNext(TimePoint at) {
    const std::vector<Stage>& stages = source_->stages;
    poisson_ = TimePoint::max();
    for (; stage_ < stages.size(); ++stage_) {
      const TimePoint end =
          stage_ + 1 < stages.size() ? TimePoint(stages[stage_ + 1].from) : TimePoint::max();
      if (at < TimePoint(stages[stage_].from)) at = TimePoint(stages[stage_].from);
      if (stages[stage_].rate > 0) {
        const double gap = random_.Exponential() * (1e9 / stages[stage_].rate);
        const TimePoint drawn = After(at, Duration(static_cast<std::int64_t>(gap + 0.5)));
        if (drawn < end) {
          poisson_ = drawn;
          break;
        }
      }
      // Poisson arrivals have no memory: past the end of the stage the draw starts anew.
      at = end;
    }
    Choose();
  }

  void Choose() {
    from_burst_ =
        burst_ < source_->bursts.size() && TimePoint(source_->bursts[burst_].at) <= poisson_;
    next_.at = from_burst_ ? TimePoint(source_->bursts[burst_].at) : poisson_;
    next_.caller = first_caller_ + (source_->callers > 1 ? random_.Below(source_->callers) : 0);
  }

  const Source* source_;
  std::uint32_t first_caller_;
  Random random_;
  std::size_t stage_ = 0;
  std::size_t burst_ = 0;
  std::uint32_t burst_taken_ = 0;
  bool from_burst_ = false;
  TimePoint poisson_ = TimePoint::max();
  Arrival next_;
};

// The calls of all sources, in the order of time.
class Workload {
 public:
  // `sources` must outlive the workload.
  Workload(const std::vector<Source>& sources, std::uint64_t seed) {
    std::uint64_t stream = kFirstStream;
    for (const Source& source : sources) {
      streams_.emplace_back(source, callers_, Random(seed, stream++));
      callers_ += source.callers;
    }
    Choose();
  }

  const Arrival& next() const { return next_; }
  void Pop() {
    streams_[chosen_].Pop();
    Choose();
  }
  std::uint32_t callers() const { return callers_; }

 private:
  static constexpr std::uint64_t kFirstStream = 100;

  void Choose() {
    chosen_ = 0;
    for (std::size_t i = 1; i < streams_.size(); ++i) {
      if (streams_[i].next().at < streams_[chosen_].next().at) chosen_ = i;
    }
    next_ = streams_.empty() ? Arrival{} : streams_[chosen_].next();
  }

  std::vector<SourceStream> streams_;
  std::uint32_t callers_ = 0;
  std::size_t chosen_ = 0;
  Arrival next_;
};

}  // namespace shed::sim

#endif  // SHED_SIM_WORKLOAD_H_
