#include "shed/sim/sync.h"

#include <gtest/gtest.h>

#include <thread>
#include <type_traits>

namespace shed::sim {
namespace {

// A policy that draws by stripe would give other figures on another thread.
TEST(SimSync, HasOneStripeOnEveryThread) {
  unsigned elsewhere = 1;
  std::thread([&] { elsewhere = SimSync::Stripe(); }).join();
  EXPECT_EQ(SimSync::Stripe(), 0u);
  EXPECT_EQ(elsewhere, 0u);
}

// The lab proves what users run.
static_assert(std::is_same_v<SimSync::Atomic<int>, StdSync::Atomic<int>>);
static_assert(std::is_same_v<SimSync::Mutex, StdSync::Mutex>);

}  // namespace
}  // namespace shed::sim
