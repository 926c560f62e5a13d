// A window's counts, whatever the order: no event is lost, counted twice, or counted in a slice or
// a generation that is not its own.
#include "shed/internal/sliding_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "explore.h"
#include "scenario.h"
#include "scheduled_sync.h"

namespace shed::schedule {
namespace {

// One kind and two stripes: 20 words.
using Window = shed::internal::SlidingWindow<ScheduledSync, 1, 2>;
constexpr Duration kSlice{100};

struct Step {
  enum class Does : std::uint8_t { kAdd, kAddAndRemove, kAddAndSum, kClear };
  Does does = Does::kAdd;
  std::int64_t slice = 0;
  std::uint32_t generation = 0;
};
using Does = Step::Does;
using Steps = std::vector<std::vector<Step>>;  // Of each thread, one after the other.

class Counting : public Scenario {
 public:
  explicit Counting(Steps steps)
      : Scenario(static_cast<int>(steps.size()), 2), steps_(std::move(steps)) {
    window_.Add(At(0), 0, 0);  // The window has begun, with one event in it.
    for (const auto& of_thread : steps_) {
      for (const Step& step : of_thread) {
        newest_ = std::max(newest_, step.slice);
        generation_ = std::max(generation_, step.generation);
      }
    }
  }

  void Run(int thread) override {
    const auto me = static_cast<std::size_t>(thread);
    std::uint64_t i = 0;
    for (const Step& step : steps_[me]) {
      Scheduler::Remember({++i});
      if (step.does == Does::kClear) {
        window_.Clear(step.generation);
        continue;
      }
      const auto place = window_.Add(At(step.slice), 0, step.generation);
      if (place.slice != step.slice) Scheduler::Fail("in another slice");
      if (!place.counted && newest_ - step.slice < Window::kSlices &&
          step.generation == generation_) {
        Scheduler::Fail("an event of the window is not counted");
      }
      if (step.does == Does::kAddAndRemove && place.counted) {
        window_.Remove(place.slice, Window::MyStripe(), 0, step.generation);
      }
      if (step.does == Does::kAddAndSum) {
        best_sum_ = std::max(best_sum_, window_.Sum(At(newest_), generation_)[0]);
      }
    }
  }

  std::string Check(int) override { return ""; }
  std::string End() override {
    std::uint64_t want = newest_ < Window::kSlices && generation_ == 0 ? 1 : 0;
    std::uint64_t sums = 0;
    for (const auto& of_thread : steps_) {
      for (const Step& step : of_thread) {
        if (step.does == Does::kClear || step.does == Does::kAddAndRemove) continue;
        if (step.does == Does::kAddAndSum) ++sums;
        const bool in = newest_ - step.slice < Window::kSlices && step.generation == generation_;
        want += in ? 1 : 0;
      }
    }
    const std::uint64_t is = window_.Sum(At(newest_), generation_)[0];
    if (is != want) {
      return "counts " + std::to_string(is) + " events, not " + std::to_string(want);
    }
    if (sums > 1 && best_sum_ < want) return "no thread saw the events of all";
    return "";
  }
  std::uint64_t Ghost() const override { return best_sum_; }

 private:
  static TimePoint At(std::int64_t slice) { return TimePoint(slice * kSlice); }

  Window window_{Duration(kSlice * Window::kSlices)};
  const Steps steps_;
  std::int64_t newest_ = 0;
  std::uint32_t generation_ = 0;
  std::uint64_t best_sum_ = 0;
};

TEST(SlidingWindowSchedule, TheWindowTurns) {
  ExpectFineInEveryOrder(
      ExploreAll<Counting>({}, Steps{{{.slice = 0}, {.slice = 1}}, {{.slice = 2}, {.slice = 3}}}));
  // As far as a slot goes: what was in it is too old.
  ExpectFineInEveryOrder(ExploreAll<Counting>(
      {}, Steps{{{.slice = 0}, {.slice = 11}}, {{.slice = 1}, {.slice = 11}}}));
  ExpectFineInEveryOrder(
      ExploreAll<Counting>({}, Steps{{{.slice = 1}}, {{.slice = 11}}, {{.slice = 2}}}));
}

TEST(SlidingWindowSchedule, WhatIsTakenBack) {
  const Step first{.does = Does::kAddAndRemove};
  const Step later{.does = Does::kAddAndRemove, .slice = 11};
  ExpectFineInEveryOrder(ExploreAll<Counting>({}, Steps{{first, {.slice = 10}}, {first, later}}));
  ExpectFineInEveryOrder(
      ExploreAll<Counting>({.spurious = 0}, Steps{{first}, {{.slice = 10}}, {later}}));
}

// A new generation begins while calls of the old one end.
TEST(SlidingWindowSchedule, Generations) {
  ExpectFineInEveryOrder(ExploreAll<Counting>(
      {}, Steps{{{.slice = 0}, {.slice = 1}},
                {{.does = Does::kClear, .generation = 1}, {.slice = 1, .generation = 1}}}));
  ExpectFineInEveryOrder(ExploreAll<Counting>(
      {}, Steps{{{.slice = 0}},
                {{.does = Does::kClear, .generation = 1}, {.slice = 0, .generation = 1}},
                {{.slice = 1}}}));
}

// Of events that end at once, at least one thread's sum has all: the last to add.
TEST(SlidingWindowSchedule, SomebodySeesAll) {
  const Step sum{.does = Does::kAddAndSum};
  ExpectFineInEveryOrder(ExploreAll<Counting>({}, Steps{{sum}, {sum}}));
  ExpectFineInEveryOrder(ExploreAll<Counting>({}, Steps{{sum}, {sum}, {sum}}));
}

TEST(SlidingWindowSchedule, ThreeThreadsAtRandom) {
  ExpectFine(ExploreRandom<Counting>(
      100'000, 1,
      Steps{
          {{.slice = 0}, {.slice = 3}, {.slice = 9}, {.slice = 14}, {.slice = 8}},
          {{.slice = 2}, {.does = Does::kAddAndRemove, .slice = 11}, {.slice = 11}, {.slice = 12}},
          {{.slice = 1},
           {.slice = 13},
           {.does = Does::kAddAndRemove, .slice = 13},
           {.slice = 5}}}));
  ExpectFine(ExploreRandom<Counting>(
      100'000, 2,
      Steps{{{.slice = 0}, {.slice = 3}, {.slice = 12}},
            {{.slice = 2}, {.does = Does::kClear, .generation = 1}, {.slice = 4, .generation = 1}},
            {{.slice = 1}, {.slice = 13}, {.does = Does::kAddAndRemove, .slice = 13}}}));
}

}  // namespace
}  // namespace shed::schedule
