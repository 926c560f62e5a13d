// Tries a scenario in every order of its accesses, or in many random ones.
#ifndef SHED_TESTS_SCHEDULE_EXPLORE_H_
#define SHED_TESTS_SCHEDULE_EXPLORE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "scheduler.h"

namespace shed::schedule {

// AddressSanitizer makes a change of threads cost forty times as much; what it finds, it finds
// soon.
#ifdef SHED_SCHEDULE_ASAN
inline constexpr std::uint64_t kMostSchedules = 1'000;
// Nor does it give out again what was freed: what is shared lies elsewhere in each schedule, and
// would have to be learned anew for ever.
inline constexpr bool kSharesByPlace = false;
#else
inline constexpr std::uint64_t kMostSchedules = ~std::uint64_t{0};
inline constexpr bool kSharesByPlace = true;
#endif

struct Bounds {
  // Times that compare_exchange_weak may fail for no reason, per thread.
  int spurious = 1;
  // Gives up after so many schedules.
  std::uint64_t max_schedules = std::min(std::uint64_t{5'000'000}, kMostSchedules);
  // A schedule that reaches a state seen before is not followed further. Off: every order is.
  bool merge_states = true;
  // Choices only at places that are shared. Off: at every access.
  bool skip_private = kSharesByPlace;
};

// What was tried.
struct Explored {
  std::string failure;  // What is wrong, and the accesses that led there; "" if nothing is.
  bool complete = false;
  std::uint64_t schedules = 0;
  std::uint64_t states = 0;   // 0 for random schedules.
  std::uint32_t longest = 0;  // Accesses of one schedule.

  friend std::ostream& operator<<(std::ostream& out, const Explored& e) {
    if (!e.failure.empty()) return out << e.failure;
    return out << (e.complete ? "every order: " : "") << e.schedules << " schedules of up to "
               << e.longest << " accesses, " << e.states << " states";
  }
};

// A set of hashes.
class HashSet {
 public:
  // Returns false if it was there.
  bool Insert(std::uint64_t hash) {
    if (hash == 0) hash = 1;
    if (size_ * 2 >= slots_.size()) Grow();
    std::uint64_t& slot = Find(hash);
    if (slot != 0) return false;
    slot = hash;
    ++size_;
    return true;
  }
  std::size_t size() const noexcept { return size_; }

 private:
  std::uint64_t& Find(std::uint64_t hash) {
    std::size_t i = hash & (slots_.size() - 1);
    while (slots_[i] != 0 && slots_[i] != hash) i = (i + 1) & (slots_.size() - 1);
    return slots_[i];
  }
  void Grow() {
    std::vector<std::uint64_t> old = std::move(slots_);
    slots_.assign(old.empty() ? 1024 : old.size() * 2, 0);
    for (const std::uint64_t hash : old) {
      if (hash != 0) Find(hash) = hash;
    }
  }

  std::size_t size_ = 0;
  std::vector<std::uint64_t> slots_;
};

// Depth first: each schedule follows the one before up to the last place where another way is left.
class EveryWay : public Chooser {
 public:
  explicit EveryWay(bool merge) : merge_(merge) {}

  int Choose(int count, bool) override {
    if (depth_ == path_.size()) {
      if (merge_ && !seen_.Insert(Scheduler::Instance().State())) return kEnough;
      path_.push_back({0, count});
    }
    return path_[depth_++].way;
  }
  // Goes to the next schedule; false if there is none.
  bool Next() {
    depth_ = 0;
    while (!path_.empty() && ++path_.back().way == path_.back().count) path_.pop_back();
    return !path_.empty();
  }
  // Begins from the beginning.
  void Restart() {
    depth_ = 0;
    path_.clear();
    seen_ = {};
  }
  std::uint64_t states() const noexcept { return seen_.size(); }
  std::vector<int> Ways() const {
    std::vector<int> ways;
    for (const Step& step : path_) ways.push_back(step.way);
    return ways;
  }

 private:
  struct Step {
    int way = 0;
    int count = 0;
  };

  const bool merge_;
  std::size_t depth_ = 0;
  std::vector<Step> path_;
  HashSet seen_;
};

// Each schedule has its own inclination to change threads: some faults need a long run of one.
class RandomWay : public Chooser {
 public:
  explicit RandomWay(std::uint64_t seed) : state_(seed) {}

  // Begins another schedule.
  void Begin() { longest_stay_ = 1u << Draw(8); }
  int Choose(int count, bool) override {
    return static_cast<int>(Draw(static_cast<unsigned>(count)));
  }
  std::uint32_t Stay() override { return Draw(longest_stay_); }

 private:
  unsigned Draw(unsigned below) {
    state_ += 0x9e3779b97f4a7c15;
    return static_cast<unsigned>((MixBits(state_) >> 32) * below >> 32);
  }

  std::uint64_t state_;
  unsigned longest_stay_ = 1;
};

// Goes a way known before.
class KnownWay : public Chooser {
 public:
  explicit KnownWay(std::vector<int> ways) : ways_(std::move(ways)) {}
  int Choose(int, bool) override { return next_ < ways_.size() ? ways_[next_++] : kEnough; }

 private:
  const std::vector<int> ways_;
  std::size_t next_ = 0;
};

// Runs the failed schedule once more, and writes down its accesses.
inline std::string Describe(const std::string& failure, Scenario& scenario, Chooser& again,
                            Scheduler::Options options) {
  std::string trace;
  options.trace = &trace;
  Scheduler::Instance().Run(scenario, again, options);
  constexpr std::size_t kMost = 12'000;
  if (trace.size() > kMost) {
    trace = "  ...\n" + trace.substr(trace.find('\n', trace.size() - kMost) + 1);
  }
  return failure + "\nafter\n" + trace;
}

// Tries S(args...) in every order of its accesses, with every choice of spurious failures within
// the bounds.
template <class S, class... Args>
Explored ExploreAll(const Bounds& bounds, const Args&... args) {
  Explored explored;
  Sharing sharing;
  const Scheduler::Options options{.spurious = bounds.spurious,
                                   .sharing = bounds.skip_private ? &sharing : nullptr};
  EveryWay every(bounds.merge_states);
  std::optional<S> scenario;
  do {
    scenario.emplace(args...);
    ++explored.schedules;
    const std::string failure = Scheduler::Instance().Run(*scenario, every, options);
    explored.longest = std::max(explored.longest, Scheduler::Instance().accesses());
    if (!failure.empty()) {
      scenario.emplace(args...);  // In the same place, so that the same is shared.
      KnownWay again(every.Ways());
      explored.failure = Describe(failure, *scenario, again, options);
      break;
    }
    if (sharing.Learn()) {
      every.Restart();
      explored.schedules = 0;
      continue;
    }
    explored.complete = !every.Next();
  } while (!explored.complete && explored.schedules < bounds.max_schedules);
  explored.states = every.states();
  return explored;
}

// Tries S(args...) in `schedules` random orders. The same seed gives the same ones.
template <class S, class... Args>
Explored ExploreRandom(std::uint64_t schedules, std::uint64_t seed, const Args&... args) {
  const Scheduler::Options options{.spurious = 3};
  Explored explored;
  RandomWay random(seed);
  std::optional<S> scenario;
  while (explored.schedules < std::min(schedules, kMostSchedules)) {
    scenario.emplace(args...);
    random.Begin();
    RandomWay again = random;
    ++explored.schedules;
    const std::string failure = Scheduler::Instance().Run(*scenario, random, options);
    explored.longest = std::max(explored.longest, Scheduler::Instance().accesses());
    if (!failure.empty()) {
      scenario.emplace(args...);
      explored.failure = Describe(failure, *scenario, again, options);
      break;
    }
  }
  return explored;
}

// Nothing is wrong; and what was tried is said, for the reader of a log.
inline void ExpectFine(const Explored& explored) {
  if (!explored.failure.empty()) {
    ADD_FAILURE() << explored;
  } else {
    std::cout << "  " << explored << "\n";
  }
}
// Nothing is wrong in any order.
inline void ExpectFineInEveryOrder(const Explored& explored) {
  ExpectFine(explored);
  const bool gave_up = !explored.complete && explored.failure.empty();
  EXPECT_FALSE(gave_up && explored.schedules < kMostSchedules) << explored;
}

}  // namespace shed::schedule

#endif  // SHED_TESTS_SCHEDULE_EXPLORE_H_
