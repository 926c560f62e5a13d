#include "shed/sim/gate.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>

#include "shed/clock.h"
#include "shed/concurrency_limiter.h"
#include "shed/limiter.h"
#include "shed/rate_limiter.h"
#include "shed/sim/sync.h"

namespace shed::sim {
namespace {

using namespace std::chrono_literals;

using Policy = BasicConcurrencyLimiter<SimSync>;
using L = BasicLimiter<ManualClock, SimSync, Policy>;

struct Limit {
  double operator()(const L& limiter) const {
    return static_cast<double>(limiter.Get<Policy>().Read(limiter.Now()).limit);
  }
};

TEST(LimiterGate, HoldsThePermitOfEachSlotUntilItsEnd) {
  ManualClock clock;
  LimiterGate<L, Limit> gate(Limit{}, clock, ConcurrencyLimiterOptions{.limit = 2});
  EXPECT_EQ(gate.limit(), 2);
  // Slots in any order; the guards move while their table grows.
  EXPECT_TRUE(gate.TryAdmit({}, 0));
  EXPECT_TRUE(gate.TryAdmit({}, 100));
  EXPECT_FALSE(gate.TryAdmit({}, 1));
  gate.Complete(100, Outcome::kSuccess);
  EXPECT_TRUE(gate.TryAdmit({}, 1));
  EXPECT_FALSE(gate.TryAdmit({}, 2));
  gate.Complete(0, Outcome::kOverload);
  gate.Complete(1, Outcome::kFailure);
  EXPECT_TRUE(gate.TryAdmit({}, 0));
}

// What a limit says of itself reaches the gate.
struct LimitThatMeasures : Limit {
  bool Measuring(const L& limiter) const { return limiter.Get<Policy>().Read({}).in_flight > 0; }
};
TEST(LimiterGate, SaysWhetherTheLimitMeasures) {
  ManualClock clock;
  LimiterGate<L, LimitThatMeasures> gate(LimitThatMeasures{}, clock,
                                         ConcurrencyLimiterOptions{.limit = 2});
  EXPECT_FALSE(gate.measuring());
  EXPECT_TRUE(gate.TryAdmit({}, 0));
  EXPECT_TRUE(gate.measuring());
  LimiterGate<L, Limit> plain(Limit{}, clock, ConcurrencyLimiterOptions{.limit = 2});
  EXPECT_TRUE(plain.TryAdmit({}, 0));
  EXPECT_FALSE(plain.measuring());
}

// A wait that was granted, and what a call came to, go through the gate.
TEST(LimiterGate, TellsOfWaitsAndCharges) {
  using Rate = BasicRateLimiter<SimSync>;
  using RateLimited = BasicLimiter<ManualClock, SimSync, Rate>;
  const auto available = [](const RateLimited& limiter) {
    return static_cast<double>(limiter.Get<Rate>().Read(limiter.Now()).available);
  };
  ManualClock clock;
  LimiterGate<RateLimited, decltype(available)> gate(available, clock,
                                                     RateLimiterOptions{.rate = 1, .burst = 10});
  EXPECT_TRUE(gate.TryAdmit({.cost = 4}, 3));
  EXPECT_EQ(gate.wait(3), 0s);
  gate.Charge(3, 9);
  EXPECT_EQ(gate.limit(), 1);
  EXPECT_TRUE(gate.TryAdmit({.cost = 3, .max_wait = 2s}, 4));
  EXPECT_EQ(gate.wait(4), 2s);
}

TEST(OpenGate, AdmitsAll) {
  OpenGate gate;
  for (std::uint32_t slot = 0; slot < 1000; ++slot) EXPECT_TRUE(gate.TryAdmit({}, slot));
  EXPECT_EQ(gate.wait(5), 0s);
  gate.Charge(5, 100);
  gate.Complete(5, Outcome::kSuccess);
  EXPECT_EQ(gate.limit(), 0);
}

}  // namespace
}  // namespace shed::sim
