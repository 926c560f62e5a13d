// The explorer itself: it tries what it says, no less and no more, and finds what is there.
#include "explore.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduled_sync.h"
#include "shed/sync.h"

namespace shed::schedule {
namespace {

template <class T>
using Atomic = ScheduledSync::Atomic<T>;

// Threads given as functions.
struct Toy : Scenario {
  using Code = std::function<void(Toy&)>;
  using Judge = std::function<std::string(Toy&)>;
  Toy(const std::vector<Code>& code, Judge end)
      : Scenario(static_cast<int>(code.size())), code_(code), end_(std::move(end)) {}
  void Run(int thread) override { code_[static_cast<std::size_t>(thread)](*this); }
  std::string Check(int) override { return ""; }
  std::string End() override { return end_(*this); }

  Atomic<int> x{0};
  Atomic<int> y{0};
  std::array<Atomic<int>, 3> own{};
  ScheduledSync::Mutex a;
  ScheduledSync::Mutex b;
  std::array<int, 4> seen{};

  const std::vector<Code> code_;
  const Judge end_;
};

constexpr auto kFine = [](Toy&) { return std::string(); };
constexpr std::uint64_t kAll = 5'000'000;
constexpr Bounds kNotMerged{
    .spurious = 0, .max_schedules = kAll, .merge_states = false, .skip_private = false};

void LoseAnUpdate(Toy& toy) { toy.x.store(toy.x.load() + 1); }
void Add(Toy& toy) { toy.x.fetch_add(1); }
void AddInLoop(Toy& toy) {
  int seen = toy.x.load();
  while (!toy.x.compare_exchange_weak(seen, seen + 1)) {
  }
}
std::string WantTwo(Toy& toy) {
  return toy.x.load() == 2 ? "" : "x is " + std::to_string(toy.x.load());
}

// n threads of k accesses and one start each: (n·(k+1))! / (k+1)!^n orders.
TEST(ExploreAll, TriesEachOrderOnce) {
  const auto once = ExploreAll<Toy>(kNotMerged, std::vector<Toy::Code>{Add, Add}, kFine);
  EXPECT_TRUE(once.complete);
  EXPECT_EQ(once.schedules, 6u);
  const auto two =
      ExploreAll<Toy>(kNotMerged, std::vector<Toy::Code>{LoseAnUpdate, LoseAnUpdate}, kFine);
  EXPECT_EQ(two.schedules, 20u);
  const auto three = ExploreAll<Toy>(kNotMerged, std::vector<Toy::Code>{Add, Add, Add}, kFine);
  EXPECT_EQ(three.schedules, 90u);
}

TEST(ExploreAll, FindsALostUpdate) {
  const auto lost =
      ExploreAll<Toy>({}, std::vector<Toy::Code>{LoseAnUpdate, LoseAnUpdate}, WantTwo);
  EXPECT_EQ(lost.failure.substr(0, 7), "x is 1\n");
  // The accesses that led there.
  EXPECT_NE(lost.failure.find("thread 0 load #0: 0 -> 0\n"), std::string::npos) << lost;
  EXPECT_NE(lost.failure.find("thread 1 store #0"), std::string::npos) << lost;
  EXPECT_FALSE(lost.complete);
  for (const auto& code : {Add, AddInLoop}) {
    const auto kept = ExploreAll<Toy>({}, std::vector<Toy::Code>{code, code}, WantTwo);
    EXPECT_EQ(kept.failure, "");
    EXPECT_TRUE(kept.complete);
  }
}

// States that are merged, and choices that are left out where a place is private, hide no outcome:
// what each thread can have seen, all together.
TEST(ExploreAll, ShortcutsHideNoOutcome) {
  if (kMostSchedules < kAll) GTEST_SKIP() << "takes minutes here";
  using Outcome = std::array<int, 4>;
  const std::vector<Toy::Code> code = {[](Toy& toy) {
                                         toy.x.store(1);
                                         toy.seen[0] = toy.y.load();
                                         toy.x.fetch_add(2);
                                       },
                                       [](Toy& toy) {
                                         toy.y.store(1);
                                         toy.seen[1] = toy.x.load();
                                         const MutexLock lock(toy.a);
                                         toy.y.fetch_add(toy.x.load());
                                       },
                                       [](Toy& toy) {
                                         const bool got = toy.a.try_lock();
                                         toy.seen[2] = toy.y.exchange(7) + (got ? 100 : 0) +
                                                       toy.own[2].load();
                                         if (got) toy.a.unlock();
                                         int five = 3;
                                         toy.x.compare_exchange_weak(five, 50);
                                         toy.seen[3] = five;
                                       }};
  const Bounds bounds[] = {{.max_schedules = kAll, .merge_states = false, .skip_private = false},
                           {.max_schedules = kAll, .merge_states = true, .skip_private = false},
                           {.max_schedules = kAll, .merge_states = false, .skip_private = true},
                           {.max_schedules = kAll, .merge_states = true, .skip_private = true}};
  std::array<std::set<Outcome>, 4> outcomes;
  std::array<Explored, 4> explored;
  for (std::size_t i = 0; i < 4; ++i) {
    explored[i] = ExploreAll<Toy>(bounds[i], code, [&](Toy& toy) {
      Outcome outcome = toy.seen;
      outcome[3] = outcome[3] * 1000 + toy.x.load() * 100 + toy.y.load();
      outcomes[i].insert(outcome);
      return std::string();
    });
    EXPECT_TRUE(explored[i].complete);
    EXPECT_EQ(outcomes[i], outcomes[0]);
  }
  EXPECT_GT(outcomes[0].size(), 40u);
  EXPECT_LT(explored[1].schedules * 10, explored[0].schedules);
  EXPECT_LT(explored[2].schedules * 2, explored[0].schedules);
  EXPECT_LT(explored[3].schedules, explored[1].schedules);
}

// Both threads store first and load then: one of them at least sees the other's, as the orders are
// sequentially consistent.
TEST(ExploreAll, IsSequentiallyConsistent) {
  std::set<std::pair<int, int>> seen;
  const auto explored = ExploreAll<Toy>(kNotMerged,
                                        std::vector<Toy::Code>{[](Toy& toy) {
                                                                 toy.x.store(1);
                                                                 toy.seen[0] = toy.y.load();
                                                               },
                                                               [](Toy& toy) {
                                                                 toy.y.store(1);
                                                                 toy.seen[1] = toy.x.load();
                                                               }},
                                        [&seen](Toy& toy) {
                                          seen.emplace(toy.seen[0], toy.seen[1]);
                                          return std::string();
                                        });
  EXPECT_TRUE(explored.complete);
  const std::set<std::pair<int, int>> want = {{0, 1}, {1, 0}, {1, 1}};
  EXPECT_EQ(seen, want);
}

TEST(ExploreAll, WeakExchangesFailForNoReasonWithinTheBound) {
  const auto attempts = [](int spurious) {
    std::set<int> found;
    ExploreAll<Toy>({.spurious = spurious}, std::vector<Toy::Code>{[](Toy& toy) {
                      int seen = toy.x.load();
                      do {
                        ++toy.seen[0];
                      } while (!toy.x.compare_exchange_weak(seen, seen + 1));
                    }},
                    [&found](Toy& toy) {
                      found.insert(toy.seen[0]);
                      return std::string();
                    });
    return found;
  };
  EXPECT_EQ(attempts(0), (std::set<int>{1}));
  EXPECT_EQ(attempts(2), (std::set<int>{1, 2, 3}));
  // A strong one does not.
  const auto strong = ExploreAll<Toy>({.spurious = 2}, std::vector<Toy::Code>{[](Toy& toy) {
                                        int none = 0;
                                        if (!toy.x.compare_exchange_strong(none, 2)) {
                                          Scheduler::Fail("strong");
                                        }
                                      }},
                                      WantTwo);
  EXPECT_EQ(strong.failure, "");
}

TEST(ExploreAll, AMutexExcludes) {
  const Toy::Code locked = [](Toy& toy) {
    const MutexLock lock(toy.a);
    LoseAnUpdate(toy);
  };
  const auto explored =
      ExploreAll<Toy>(kNotMerged, std::vector<Toy::Code>{locked, locked}, WantTwo);
  EXPECT_EQ(explored.failure, "");
  EXPECT_TRUE(explored.complete);
  const Toy::Code tries = [](Toy& toy) {
    if (!toy.a.try_lock()) return;
    LoseAnUpdate(toy);
    toy.a.unlock();
  };
  std::set<int> found;
  ExploreAll<Toy>({}, std::vector<Toy::Code>{tries, tries}, [&found](Toy& toy) {
    found.insert(toy.x.load());
    return std::string();
  });
  EXPECT_EQ(found, (std::set<int>{1, 2}));
}

TEST(ExploreAll, FindsADeadlock) {
  const Toy::Code one = [](Toy& toy) {
    const MutexLock first(toy.a);
    const MutexLock second(toy.b);
  };
  const Toy::Code other = [](Toy& toy) {
    const MutexLock first(toy.b);
    const MutexLock second(toy.a);
  };
  const auto explored = ExploreAll<Toy>({}, std::vector<Toy::Code>{one, other}, kFine);
  EXPECT_EQ(explored.failure.substr(0, 11), "a deadlock\n") << explored;
  // The next schedule finds the threads at their beginning.
  EXPECT_EQ(ExploreAll<Toy>({}, std::vector<Toy::Code>{one, one}, kFine).failure, "");
  const auto twice = ExploreAll<Toy>({}, std::vector<Toy::Code>{[](Toy& toy) {
                                       const std::lock_guard first(toy.a);
                                       const std::lock_guard second(toy.a);
                                     }},
                                     kFine);
  EXPECT_EQ(twice.failure.substr(0, 11), "a deadlock\n") << twice;
}

TEST(ExploreAll, FindsAnUnlockByAnother) {
  const auto explored = ExploreAll<Toy>({}, std::vector<Toy::Code>{[](Toy& toy) {
                                          const std::lock_guard lock(toy.a, std::adopt_lock);
                                        }},
                                        kFine);
  EXPECT_EQ(explored.failure.substr(0, 7), "unlocks") << explored;
}

// A scenario's check sees every state, and may use what the threads hold.
TEST(ExploreAll, ChecksAfterEveryAccess) {
  struct Checked : Toy {
    Checked(const std::vector<Code>& code, std::set<int>* found)
        : Toy(code, kFine), found_(found) {}
    std::string Check(int) override {
      const MutexLock lock(a);
      found_->insert(x.load());
      return x.load() == 3 ? "three" : "";
    }
    std::set<int>* found_;
  };
  std::set<int> found;
  const Toy::Code locked = [](Toy& toy) {
    const MutexLock lock(toy.a);
    toy.x.store(1);
    toy.x.store(2);
  };
  EXPECT_EQ(ExploreAll<Checked>({}, std::vector<Toy::Code>{locked, locked}, &found).failure, "");
  EXPECT_EQ(found, (std::set<int>{0, 1, 2}));
  const auto explored = ExploreAll<Checked>(
      {}, std::vector<Toy::Code>{Add, [](Toy& toy) { toy.x.fetch_add(2); }}, &found);
  EXPECT_EQ(explored.failure.substr(0, 6), "three\n");
}

// A lost update that needs one change of threads at the right one of 200 accesses.
TEST(ExploreRandom, FindsARareOrderAndGivesTheSameAgain) {
  const Toy::Code slow = [](Toy& toy) {
    for (int i = 0; i < 100; ++i) toy.y.fetch_add(1);
    LoseAnUpdate(toy);
    for (int i = 0; i < 100; ++i) toy.y.fetch_add(1);
  };
  const std::vector<Toy::Code> code = {slow, slow};
  const auto found = ExploreRandom<Toy>(100'000, 1, code, WantTwo);
  EXPECT_EQ(found.failure.substr(0, 7), "x is 1\n") << found;
  const auto again = ExploreRandom<Toy>(100'000, 1, code, WantTwo);
  EXPECT_EQ(again.failure, found.failure);
  EXPECT_EQ(again.schedules, found.schedules);
  const auto fine = ExploreRandom<Toy>(1000, 1, code, kFine);
  EXPECT_EQ(fine.failure, "");
  EXPECT_EQ(fine.schedules, 1000u);
  EXPECT_GT(fine.longest, 400u);
}

TEST(ExploreRandom, FindsAnEndlessLoop) {
  const auto explored = ExploreRandom<Toy>(1, 1, std::vector<Toy::Code>{[](Toy& toy) {
                                             for (int i = 0; i < 250'000; ++i) toy.y.load();
                                           }},
                                           kFine);
  EXPECT_EQ(explored.failure.substr(0, 16), "an endless loop\n") << explored;
}

TEST(ScheduledSync, WordsWrapAndStripesDiffer) {
  Atomic<std::uint8_t> small{250};
  EXPECT_EQ(small.fetch_add(10), 250);
  EXPECT_EQ(small.load(), 4);
  EXPECT_EQ(small.fetch_sub(5), 4);
  EXPECT_EQ(small.load(), 255);
  EXPECT_EQ(small.fetch_and(0x3c), 255);
  EXPECT_EQ(small.fetch_or(1), 0x3c);
  EXPECT_EQ(small.exchange(9), 0x3d);
  Atomic<std::int64_t> word{INT64_MAX};
  word.fetch_add(1);
  EXPECT_EQ(word.load(), INT64_MIN);
  const Toy::Code stripe = [](Toy& toy) {
    toy.x.fetch_add(1 << (8 * static_cast<int>(ScheduledSync::Stripe())));
  };
  const auto explored =
      ExploreAll<Toy>({}, std::vector<Toy::Code>{stripe, stripe, stripe},
                      [](Toy& toy) { return toy.x.load() == 0x010101 ? "" : "not one each"; });
  EXPECT_EQ(explored.failure, "");
}

}  // namespace
}  // namespace shed::schedule
