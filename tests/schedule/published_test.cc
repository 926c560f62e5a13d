// Options that change while they are read, whatever the order: a reader gets all of what one writer
// wrote, and nothing older than what was in force when it began.
#include "shed/internal/published.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "explore.h"
#include "scenario.h"
#include "scheduled_sync.h"

namespace shed::schedule {
namespace {

struct Pair {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

// Thread 0 reads; the others write, each its own numbers, so many times.
class Writes : public Scenario {
 public:
  Writes(int threads, std::uint64_t writes) : Scenario(threads), writes_(writes) {}

  void Run(int thread) override {
    const auto me = static_cast<std::uint64_t>(thread);
    if (me == 0) {
      for (std::uint64_t i = 0; i < 2; ++i) {
        Scheduler::Remember({i});
        oldest_ = latest_;
        const Pair pair = options_.Read();
        if (pair.first != pair.second) Scheduler::Fail("half of one and half of another");
        if (threads() == 2 && pair.first < oldest_[1]) Scheduler::Fail("older than it began");
      }
      return;
    }
    for (std::uint64_t i = 1; i <= writes_; ++i) {
      Scheduler::Remember({i});
      options_.Write({Number(me, i), Number(me, i)});
      latest_[me] = Number(me, i);
    }
  }
  std::string Check(int) override { return ""; }
  std::string End() override {
    const Pair pair = options_.Read();
    const bool last = pair.first % kMost == writes_ && pair.first == pair.second;
    return last ? "" : "the last is lost";
  }
  std::uint64_t Ghost() const override {
    std::uint64_t hash = 0;
    for (const std::uint64_t number : latest_) hash = MixBits(hash + number);
    for (const std::uint64_t number : oldest_) hash = MixBits(hash + number);
    return hash;
  }

 private:
  static constexpr std::uint64_t kMost = 100;
  static constexpr std::uint64_t Number(std::uint64_t writer, std::uint64_t write) {
    return writer * kMost + write;
  }

  const std::uint64_t writes_;
  shed::internal::Published<ScheduledSync, Pair> options_{Pair{}};
  std::array<std::uint64_t, kMaxThreads> latest_{};  // What each writer has put in force;
  std::array<std::uint64_t, kMaxThreads> oldest_{};  // and had, when the reader began.
};

TEST(PublishedSchedule, AReaderGetsAllOfOne) {
  ExpectFineInEveryOrder(ExploreAll<Writes>({}, 2, std::uint64_t{4}));
  ExpectFineInEveryOrder(ExploreAll<Writes>({}, 3, std::uint64_t{2}));
}

}  // namespace
}  // namespace shed::schedule
