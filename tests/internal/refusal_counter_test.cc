#include "shed/internal/refusal_counter.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "shed/sync.h"

namespace shed::internal {
namespace {

// A stripe per thread must lose nothing where there are more threads than stripes.
TEST(RefusalCounter, LosesNoneWithMoreThreadsThanStripes) {
  RefusalCounter<StdSync> counter;
  constexpr int kThreads = 20;
  constexpr std::uint64_t kEach = 2000;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&counter, i] {
      for (std::uint64_t n = 0; n < kEach; ++n) counter.Add(static_cast<Criticality>(i % 4));
    });
  }
  for (auto& thread : threads) thread.join();
  for (const std::uint64_t count : counter.Sum()) EXPECT_EQ(count, kThreads / 4 * kEach);
}

// A class cast from outside the four is the least critical one, and not past the array.
TEST(RefusalCounter, TakesAnyClass) {
  RefusalCounter<NoSync> counter;
  counter.Add(static_cast<Criticality>(200));
  EXPECT_EQ(counter.Sum()[0], 1u);
}

}  // namespace
}  // namespace shed::internal
