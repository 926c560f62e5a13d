// A limiter's counters, whatever the order: none is lost though threads claim their stripes at
// once, and nobody who reads them sees the end of a call without its admission.
#include "shed/internal/call_counts.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>

#include "explore.h"
#include "scenario.h"
#include "scheduled_sync.h"
#include "shed/outcome.h"
#include "shed/request.h"
#include "shed/verdict.h"

namespace shed::schedule {
namespace {

// What Read fills in.
struct Snapshot {
  std::array<std::uint64_t, kCriticalityCount> admitted{};
  std::array<std::array<std::array<std::uint64_t, kCriticalityCount>, kReasonCount>, 1> refused{};
  std::array<std::uint64_t, kOutcomeCount> completed{};
  std::uint64_t exempt = 0;
  std::uint64_t dropped = 0;
  std::uint64_t in_flight = 0;

  std::uint64_t TotalAdmitted() const {
    return std::accumulate(admitted.begin(), admitted.end(), std::uint64_t{0});
  }
  std::uint64_t TotalCompleted() const {
    return std::accumulate(completed.begin(), completed.end(), std::uint64_t{0});
  }
};

// Each thread begins calls; each call is ended by whoever comes first, its thread or the next one.
class Calls : public Scenario {
 public:
  Calls(int threads, unsigned stripes, int calls) : Scenario(threads, stripes), calls_(calls) {}

  void Run(int thread) override {
    const auto me = static_cast<std::size_t>(thread);
    const std::size_t other = (me + 1) % static_cast<std::size_t>(threads());
    for (int i = 0; i < calls_; ++i) {
      Scheduler::Remember({static_cast<std::uint64_t>(i)});
      counts_.Admitted(Criticality::kCritical);
      open_[me].store(1);
      for (const std::size_t place : {other, me}) {
        if (open_[place].exchange(0) == 1) counts_.Ended(Outcome::kSuccess);
      }
    }
    counts_.Refused(0, Reason::kRate, Criticality::kCritical);
  }
  std::string Check(int) override { return ""; }
  std::string End() override {
    Snapshot now;
    counts_.Read(now);
    const auto all = static_cast<std::uint64_t>(calls_ * threads());
    if (now.TotalAdmitted() != all) return "an admission lost, or counted twice";
    if (now.TotalCompleted() != all) return "an end lost, or counted twice";
    if (now.in_flight != 0) return "in flight at the end";
    if (now.refused[0][static_cast<std::size_t>(Reason::kRate)][IndexOf(Criticality::kCritical)] !=
        static_cast<std::uint64_t>(threads())) {
      return "a refusal lost, or counted twice";
    }
    return "";
  }

 protected:
  const int calls_;
  std::array<ScheduledSync::Atomic<int>, kMaxThreads> open_{};  // Begun by each, and not ended.
  shed::internal::CallCounts<ScheduledSync, 1> counts_;
};

// One more thread reads.
class ReadCalls : public Calls {
 public:
  ReadCalls(int threads, unsigned stripes, int calls)
      : Calls(threads, stripes, calls), reader_(threads - 1) {}
  void Run(int thread) override {
    if (thread != reader_) {
      // No thread ends another's call, so that the reader's is never looked for.
      for (int i = 0; i < calls_; ++i) {
        counts_.Admitted(Criticality::kCritical);
        counts_.Ended(Outcome::kSuccess);
      }
      return;
    }
    Snapshot seen;
    counts_.Read(seen);
    if (seen.TotalCompleted() > seen.TotalAdmitted()) {
      Scheduler::Fail("more ends than admissions");
    }
    if (seen.in_flight > static_cast<std::uint64_t>(calls_ * reader_)) {
      Scheduler::Fail("more in flight than there can be");
    }
  }
  std::string End() override { return ""; }

 private:
  const int reader_;
};

TEST(CallCountsSchedule, NoneIsLost) {
  ExpectFineInEveryOrder(ExploreAll<Calls>({}, 2, 2u, 2));
  ExpectFineInEveryOrder(ExploreAll<Calls>({}, 3, 3u, 1));
}

// Threads whose numbers are the same.
TEST(CallCountsSchedule, NoneIsLostInOneStripe) {
  ExpectFineInEveryOrder(ExploreAll<Calls>({}, 2, 1u, 2));
  ExpectFineInEveryOrder(ExploreAll<Calls>({}, 3, 1u, 1));
}

TEST(CallCountsSchedule, NoEndIsSeenWithoutItsAdmission) {
  ExpectFineInEveryOrder(ExploreAll<ReadCalls>({}, 2, 2u, 2));
  ExpectFineInEveryOrder(ExploreAll<ReadCalls>({}, 3, 1u, 1));
}

}  // namespace
}  // namespace shed::schedule
