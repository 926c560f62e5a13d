// A histogram that is emptied while samples come, whatever the order: each sample is in what one
// Take returns, once, or still there for the next.
#include "shed/internal/histogram.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "explore.h"
#include "scenario.h"
#include "scheduled_sync.h"

namespace shed::schedule {
namespace {

using namespace std::chrono_literals;
using shed::internal::LatencyBuckets;
using shed::internal::LatencyCounts;

// Thread 0 empties it, `takes` times; the others record.
class Recording : public Scenario {
 public:
  Recording(int threads, int takes, int records)
      : Scenario(threads), takes_(takes), records_(records) {}

  void Run(int thread) override {
    if (thread == 0) {
      for (int i = 0; i < takes_; ++i) Add(histogram_.Take());
      return;
    }
    for (int i = 0; i < records_; ++i)
      histogram_.Record(kLatencies[static_cast<std::size_t>(i % 2)]);
  }

  std::string Check(int) override { return ""; }
  std::string End() override {
    Add(histogram_.Take());
    const int each = (threads() - 1) * records_;
    for (std::size_t i = 0; i < kLatencies.size(); ++i) {
      const int want = each / 2 + (i == 0 ? each % 2 : 0);
      if (taken_[i] != static_cast<std::uint64_t>(want)) {
        return "a sample lost or counted twice: " + std::to_string(taken_[i]) + " of " +
               std::to_string(want);
      }
    }
    return "";
  }

 private:
  static constexpr std::array<Duration, 2> kLatencies = {1ms, 20ms};

  void Add(const LatencyCounts& counts) {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < kLatencies.size(); ++i) {
      const std::uint64_t count = counts.counts[LatencyBuckets::IndexOf(kLatencies[i])];
      taken_[i] += count;
      total += count;
    }
    if (total != counts.total) Scheduler::Fail("the total is not the sum of the buckets");
  }

  const int takes_;
  const int records_;
  shed::internal::LatencyHistogram<ScheduledSync> histogram_;
  std::array<std::uint64_t, 2> taken_{};  // By thread 0.
};

TEST(HistogramSchedule, ASampleIsTakenOnce) {
  ExpectFineInEveryOrder(ExploreAll<Recording>({}, 2, 3, 4));
  ExpectFineInEveryOrder(ExploreAll<Recording>({}, 3, 2, 2));
}

}  // namespace
}  // namespace shed::schedule
