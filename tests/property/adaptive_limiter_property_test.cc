// Every verdict and every window of the enforcement agree with a plain account of the same calls.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>

#include "property/limit_account.h"
#include "shed/adaptive_limiter.h"

namespace shed {
namespace {

using namespace std::chrono_literals;

class Traffic {
 public:
  explicit Traffic(std::uint64_t seed)
      : random_(seed),
        plans_(seed + 1),
        account_(TimePoint(Duration(random_() % (1u << 30))),
                 [this](TimePoint now) { return RandomPlan(now); }) {}

  void Run(int operations) {
    for (int i = 0; i < operations; ++i) {
      Step();
      ASSERT_EQ(account_.difference(), "") << "step " << i;
    }
    EXPECT_GT(account_.windows(), operations / 200) << "or it showed nothing";
  }

 private:
  void Step() {
    const std::uint64_t dice = random_() % 100;
    if (dice < 60) account_.Pass(Duration(random_() % 1'000'000));
    if (random_() % 200'000 == 0) account_.Pass(24h * 365 * 30);
    if (dice % 2 == 0 || account_.held() == 0) {
      return account_.Ask(static_cast<Criticality>(random_() % 4));
    }
    const std::size_t i = random_() % account_.held();
    if (random_() % 8 == 0) return account_.Cancel(i);
    account_.Complete(i, random_() % 10 == 0 ? Outcome::kOverload : Outcome::kSuccess);
  }

  std::uint32_t Below(std::uint32_t n) { return static_cast<std::uint32_t>(plans_() % n); }
  LimitPlan RandomPlan(TimePoint now) {
    LimitPlan plan{.limit = 1 + Below(Below(4) == 0 ? 200 : 12)};
    plan.not_before = Below(4) == 0 ? TimePoint::min() : now + Duration(Below(20'000'000));
    plan.completions = Below(8) == 0 ? LimitPlan::kNever : Below(50);
    if (plan.completions == LimitPlan::kNever || Below(4) == 0) plan.drained = Below(5);
    if (plan.completions == LimitPlan::kNever || Below(4) == 0) {
      plan.at_latest = now + Duration(Below(60'000'000));
    }
    return plan;
  }

  std::mt19937_64 random_;
  std::mt19937_64 plans_;
  LimitAccount account_;
};

TEST(AdaptiveLimiterProperty, AgreesWithAPlainAccount) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    Traffic(seed).Run(250'000);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace shed
