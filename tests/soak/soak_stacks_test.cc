// Stacks of policies, under eight threads.
#include <gtest/gtest.h>

#include "shed/named.h"
#include "shed/tsc_clock.h"
#include "soak/soak.h"

namespace shed::soak {
namespace {

constexpr int kSoaks = 5 * 3 + 1;

TEST(SoakStacks, AllSeven) {
  SoakOnEveryCourse<RateLimiter, DemeritTracker, CircuitBreaker, AdmissionController,
                    ConcurrencyLimiter, GradientLimiter, KneeLimiter>(kSoaks);
}
// What refuses most stands last, so that everything before it is undone.
TEST(SoakStacks, AllSevenTheOtherWayRound) {
  SoakOnEveryCourse<KneeLimiter, GradientLimiter, ConcurrencyLimiter, AdmissionController,
                    CircuitBreaker, DemeritTracker, RateLimiter>(kSoaks);
}
TEST(SoakStacks, AllThatThereAre) {
  SoakOnEveryCourse<QueueDelayLimiter, PressureLimiter, RateLimiter, RetryThrottle, RetryBudget,
                    UsageThrottle, DemeritTracker, CircuitBreaker, AdmissionController,
                    ConcurrencyLimiter, GradientLimiter, KneeLimiter>(kSoaks);
}
TEST(SoakStacks, Five) {
  SoakOnEveryCourse<RateLimiter, ConcurrencyLimiter, GradientLimiter, CircuitBreaker,
                    AdmissionController>(kSoaks);
}
TEST(SoakStacks, FiveOnTheCounter) {
  Soak<TscClock, RateLimiter, ConcurrencyLimiter, GradientLimiter, CircuitBreaker,
       AdmissionController>(Course::kReal)
      .Run(Budget(kSoaks));
}
TEST(SoakStacks, TwoOfAKind) {
  SoakOnEveryCourse<Named<"fast", RateLimiter>, Named<"slow", RateLimiter>,
                    Named<"wide", ConcurrencyLimiter>, Named<"narrow", ConcurrencyLimiter>>(kSoaks);
}

}  // namespace
}  // namespace shed::soak
