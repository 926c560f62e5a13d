// Calls in flight, whatever the order: none is lost or counted twice while slots are given to later
// slices and generations begin.
#include "shed/internal/overdue_calls.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "explore.h"
#include "scenario.h"
#include "scheduled_sync.h"

namespace shed::schedule {
namespace {

using Calls = shed::internal::OverdueCalls<ScheduledSync>;
constexpr Duration kSlice{1000};
constexpr Duration kLongest = 8 * kSlice;

struct Step {
  enum class Does : std::uint8_t { kBeginAndEnd, kHang, kClear };
  Does does = Does::kBeginAndEnd;
  std::int64_t slice = 0;
  std::uint32_t generation = 1;
};
using Does = Step::Does;
using Steps = std::vector<std::vector<Step>>;  // Of each thread, one after the other.

class Flights : public Scenario {
 public:
  explicit Flights(Steps steps)
      : Scenario(static_cast<int>(steps.size())), steps_(std::move(steps)) {
    calls_.SetLongest(kLongest, 1);
    calls_.Begin(At(0), 1);  // One hangs already.
    for (const auto& of_thread : steps_) {
      for (const Step& step : of_thread) {
        if (step.generation > generation_) generation_ = step.generation;
      }
    }
  }

  void Run(int thread) override {
    std::uint64_t i = 0;
    for (const Step& step : steps_[static_cast<std::size_t>(thread)]) {
      Scheduler::Remember({++i});
      if (step.does == Does::kClear) {
        calls_.Clear(step.generation);
        continue;
      }
      const std::uint32_t place = calls_.Begin(At(step.slice), step.generation);
      if (place == 0 && step.generation == generation_ && generation_ == 1) {
        Scheduler::Fail("a call of the only generation is not counted");
      }
      if (step.does == Does::kBeginAndEnd) {
        Scheduler::Remember({i, place});
        calls_.End(place);
      }
    }
  }

  std::string Check(int) override { return ""; }
  std::string End() override {
    std::uint32_t want = generation_ == 1 ? 1 : 0;
    for (const auto& of_thread : steps_) {
      for (const Step& step : of_thread) {
        want += step.does == Does::kHang && step.generation == generation_ ? 1 : 0;
      }
    }
    const std::uint32_t is = calls_.Count(At(1000));
    if (is == want) return "";
    return "counts " + std::to_string(is) + " calls, not " + std::to_string(want);
  }

 private:
  static TimePoint At(std::int64_t slice) { return TimePoint(slice * kSlice); }

  Calls calls_;
  const Steps steps_;
  std::uint32_t generation_ = 1;
};

TEST(OverdueCallsSchedule, ASlotIsGivenAwayWhileItsCallsBeginAndEnd) {
  ExpectFineInEveryOrder(ExploreAll<Flights>({}, Steps{{{}}, {{.slice = 16}}}));
  ExpectFineInEveryOrder(ExploreAll<Flights>(
      {}, Steps{{{}, {.does = Does::kHang}}, {{.does = Does::kHang, .slice = 16}}}));
  ExpectFineInEveryOrder(ExploreAll<Flights>(
      {.spurious = 0}, Steps{{{}}, {{.slice = 16}}, {{.does = Does::kHang, .slice = 32}}}));
}

TEST(OverdueCallsSchedule, AGenerationBeginsMeanwhile) {
  // What hangs in the new one began after it; what is of the old one counts nowhere.
  ExpectFineInEveryOrder(
      ExploreAll<Flights>({}, Steps{{{}, {.does = Does::kHang}},
                                    {{.does = Does::kClear, .generation = 2},
                                     {.does = Does::kHang, .slice = 1, .generation = 2},
                                     {.slice = 17, .generation = 2}}}));
}

TEST(OverdueCallsSchedule, ThreeThreadsAtRandom) {
  ExpectFine(ExploreRandom<Flights>(
      50'000, 1,
      Steps{{{}, {.does = Does::kHang, .slice = 1}, {.slice = 17}},
            {{.does = Does::kHang, .slice = 16}, {}, {.slice = 2}},
            {{.slice = 33}, {.does = Does::kHang, .slice = 17}, {.does = Does::kHang}}}));
}

}  // namespace
}  // namespace shed::schedule
