// Every policy alone, under eight threads.
#include <gtest/gtest.h>

#include "soak/soak.h"

namespace shed::soak {
namespace {

constexpr int kSoaks = 12 * 3;

TEST(SoakPolicies, AdmissionController) { SoakOnEveryCourse<AdmissionController>(kSoaks); }
TEST(SoakPolicies, CircuitBreaker) { SoakOnEveryCourse<CircuitBreaker>(kSoaks); }
TEST(SoakPolicies, ConcurrencyLimiter) { SoakOnEveryCourse<ConcurrencyLimiter>(kSoaks); }
TEST(SoakPolicies, DemeritTracker) { SoakOnEveryCourse<DemeritTracker>(kSoaks); }
TEST(SoakPolicies, GradientLimiter) { SoakOnEveryCourse<GradientLimiter>(kSoaks); }
TEST(SoakPolicies, KneeLimiter) { SoakOnEveryCourse<KneeLimiter>(kSoaks); }
TEST(SoakPolicies, PressureLimiter) { SoakOnEveryCourse<PressureLimiter>(kSoaks); }
TEST(SoakPolicies, QueueDelayLimiter) { SoakOnEveryCourse<QueueDelayLimiter>(kSoaks); }
TEST(SoakPolicies, RateLimiter) { SoakOnEveryCourse<RateLimiter>(kSoaks); }
TEST(SoakPolicies, RetryBudget) { SoakOnEveryCourse<RetryBudget>(kSoaks); }
TEST(SoakPolicies, RetryThrottle) { SoakOnEveryCourse<RetryThrottle>(kSoaks); }
TEST(SoakPolicies, UsageThrottle) { SoakOnEveryCourse<UsageThrottle>(kSoaks); }

}  // namespace
}  // namespace shed::soak
