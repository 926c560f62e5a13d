// Every policy alone, under eight threads.
#include <gtest/gtest.h>

#include "soak/soak.h"

namespace shed::soak {
namespace {

constexpr int kSoaks = 7 * 3;

TEST(SoakPolicies, AdmissionController) { SoakOnEveryCourse<AdmissionController>(kSoaks); }
TEST(SoakPolicies, CircuitBreaker) { SoakOnEveryCourse<CircuitBreaker>(kSoaks); }
TEST(SoakPolicies, ConcurrencyLimiter) { SoakOnEveryCourse<ConcurrencyLimiter>(kSoaks); }
TEST(SoakPolicies, DemeritTracker) { SoakOnEveryCourse<DemeritTracker>(kSoaks); }
TEST(SoakPolicies, GradientLimiter) { SoakOnEveryCourse<GradientLimiter>(kSoaks); }
TEST(SoakPolicies, KneeLimiter) { SoakOnEveryCourse<KneeLimiter>(kSoaks); }
TEST(SoakPolicies, RateLimiter) { SoakOnEveryCourse<RateLimiter>(kSoaks); }

}  // namespace
}  // namespace shed::soak
