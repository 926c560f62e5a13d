#include "shed/internal/own_stripes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

#include "shed/sync.h"

namespace shed::internal {
namespace {

// A Sync whose thread and number a test chooses, and whose additions it can tell apart.
struct FakeSync {
  static inline unsigned number = 0;
  static inline std::uintptr_t thread = 1;
  static inline int locked_additions = 0;

  template <class T>
  class Atomic : public NoSync::Atomic<T> {
   public:
    using NoSync::Atomic<T>::Atomic;
    T fetch_add(T value, std::memory_order = std::memory_order_seq_cst) noexcept {
      ++locked_additions;
      return NoSync::Atomic<T>::fetch_add(value);
    }
  };
  static unsigned Stripe() noexcept { return number; }
  static std::uintptr_t Thread() noexcept { return thread; }
};

template <class Sync>
struct Counters {
  typename Sync::template Atomic<std::uint64_t> count{0};
};

template <class Sync, unsigned kOwn, unsigned kShared>
std::uint64_t Total(const OwnStripes<Sync, Counters<Sync>, kOwn, kShared>& stripes) {
  std::uint64_t total = 0;
  stripes.ForEach([&](const Counters<Sync>& counters) { total += counters.count.load(); });
  return total;
}

using Fake = OwnStripes<FakeSync, Counters<FakeSync>, 4, 2>;
void AddAs(Fake& stripes, std::uintptr_t thread, unsigned number) {
  FakeSync::thread = thread;
  FakeSync::number = number;
  stripes.Add([](Counters<FakeSync> & counters) -> auto& { return counters.count; });
}
int LockedSince(int before) { return FakeSync::locked_additions - before; }

TEST(OwnStripes, ItsOwnerAddsWithoutALock) {
  Fake stripes;
  const int before = FakeSync::locked_additions;
  for (int i = 0; i < 10; ++i) {
    for (unsigned thread = 1; thread <= 4; ++thread) AddAs(stripes, thread, thread);
  }
  EXPECT_EQ(LockedSince(before), 0);
  EXPECT_EQ(Total(stripes), 40u);
}

// Two shared libraries may each give the number 3: the second thread must not write the first one's
// stripe.
TEST(OwnStripes, WhoeverComesToATakenStripeLocks) {
  Fake stripes;
  AddAs(stripes, 7, 3);
  const int before = FakeSync::locked_additions;
  AddAs(stripes, 8, 3);
  AddAs(stripes, 8, 3);
  EXPECT_EQ(LockedSince(before), 2);
  AddAs(stripes, 7, 3);
  EXPECT_EQ(LockedSince(before), 2);
  EXPECT_EQ(Total(stripes), 4u);
}

TEST(OwnStripes, TakesAnyNumber) {
  Fake stripes;
  unsigned thread = 1;
  for (const unsigned number : {0u, 4u, 5u, 1'000'003u, std::numeric_limits<unsigned>::max()}) {
    AddAs(stripes, thread++, number);
  }
  EXPECT_EQ(Total(stripes), 5u);
}

// Load, add and store in three steps would lose counts where threads share a stripe.
TEST(OwnStripes, LosesNoneWhateverTheThreadsAndNumbers) {
  struct OneNumber : StdSync {
    static unsigned Stripe() noexcept { return 3; }
  };
  const auto run = [](auto& stripes, auto* sync) {
    using Sync = std::remove_pointer_t<decltype(sync)>;
    constexpr int kThreads = 12;
    constexpr int kEach = 5'000;
    for (int round = 0; round < 2; ++round) {  // The second finds stripes whose owners are gone.
      std::vector<std::thread> threads;
      for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&stripes] {
          for (int n = 0; n < kEach; ++n) {
            stripes.Add([](Counters<Sync> & counters) -> auto& { return counters.count; });
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
    }
    EXPECT_EQ(Total(stripes), 2u * kThreads * kEach);
  };
  OwnStripes<StdSync, Counters<StdSync>, 4, 2> counted;
  run(counted, static_cast<StdSync*>(nullptr));
  OwnStripes<OneNumber, Counters<OneNumber>, 4, 2> same;
  run(same, static_cast<OneNumber*>(nullptr));
}

// A stripe is on lines of its own.
TEST(OwnStripes, SharesNoLine) {
  static_assert(alignof(OwnStripes<StdSync, Counters<StdSync>, 4, 2>) == 64);
  static_assert(sizeof(OwnStripes<StdSync, Counters<StdSync>, 4, 2>) == 6 * 64);
}

}  // namespace
}  // namespace shed::internal
