#include "shed/verdict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string_view>

namespace shed {
namespace {

using namespace std::chrono_literals;

static_assert(Verdict::Admit().admitted() && Verdict::Admit().reason() == Reason::kNone);
static_assert(Verdict::Admit().wait() == 0ns && !Verdict::Admit().retry_after());
static_assert(Verdict::Admit(3ms).admitted() && Verdict::Admit(3ms).wait() == 3ms);
// The wait of an admission is no retry_after, and the other way round: they share their place.
static_assert(!Verdict::Admit(3ms).retry_after());
static_assert(Verdict::Refuse(Reason::kRate, 3ms).wait() == 0ns);
static_assert(Verdict::Admit(-3ms).wait() == 0ns && Verdict::Admit(Duration::min()).wait() == 0ns);
static_assert(Verdict::Admit(Duration::max()).wait() == Duration::max());

// "At once" and "cannot know" differ (the classic sentinel fault), negative hints count as the
// first and not as the second.
static_assert(!Verdict::Refuse(Reason::kConcurrency).retry_after());
static_assert(Verdict::Refuse(Reason::kConcurrency, 0ns).retry_after() == 0ns);
static_assert(Verdict::Refuse(Reason::kConcurrency, -1ns).retry_after() == 0ns);
static_assert(Verdict::Refuse(Reason::kRate, Duration::min()).retry_after() == 0ns);
static_assert(Verdict::Refuse(Reason::kRate, Duration::max()).retry_after() == Duration::max());
static_assert(Verdict::Refuse(Reason::kConcurrency) != Verdict::Refuse(Reason::kConcurrency, 0ns));

// A refusal never turns into an admission, nor into an index out of bounds, whatever its reason.
static_assert(!Verdict::Refuse(Reason::kNone).admitted());
static_assert(Verdict::Refuse(Reason::kNone).reason() == Reason::kDenied);
static_assert(Verdict::Refuse(static_cast<Reason>(kReasonCount)).reason() == Reason::kDenied);
static_assert(Verdict::Refuse(static_cast<Reason>(255)).reason() == Reason::kDenied);
static_assert(Verdict::Refuse(Reason::kPressure).reason() == Reason::kPressure);

static_assert(Verdict::Refuse(Reason::kRate).scope() == Scope::kService);
static_assert(Verdict::Refuse(Reason::kRate, 1s, Scope::kCaller).scope() == Scope::kCaller);

// Whose capacity it is decides whether a demerit tracker in front takes a Cancel for a refusal.
static_assert(Verdict::Refuse(Reason::kConcurrency).IsCapacity());
static_assert(Verdict::Refuse(Reason::kRate).IsCapacity());
static_assert(Verdict::Refuse(Reason::kBudget).IsCapacity());
static_assert(Verdict::Refuse(Reason::kQueueDelay).IsCapacity());
static_assert(Verdict::Refuse(Reason::kPressure).IsCapacity());
static_assert(Verdict::Refuse(Reason::kQueueFull).IsCapacity());
static_assert(!Verdict::Refuse(Reason::kConcurrency, {}, Scope::kCaller).IsCapacity());
static_assert(!Verdict::Refuse(Reason::kCircuitOpen).IsCapacity());
static_assert(!Verdict::Refuse(Reason::kDeadline).IsCapacity());
static_assert(!Verdict::Refuse(Reason::kCostTooLarge).IsCapacity());
static_assert(!Verdict::Refuse(Reason::kDenied).IsCapacity());
static_assert(!Verdict::Admit().IsCapacity());

constexpr Rejection kRejection(2, "rate_limiter",
                               Verdict::Refuse(Reason::kRate, 7ms, Scope::kCaller));
static_assert(kRejection.policy() == 2 && kRejection.policy_name() == "rate_limiter" &&
              kRejection.reason() == Reason::kRate && kRejection.retry_after() == 7ms &&
              kRejection.scope() == Scope::kCaller);

static_assert(Name(Reason::kNone) == "none" && Name(Reason::kDenied) == "denied");
static_assert(Name(Reason::kRate) == "rate" && Name(Reason::kCircuitOpen) == "circuit_open");
static_assert(Name(Reason::kFairShare) == "fair_share" && Name(Reason::kBudget) == "budget");
static_assert(Name(Reason::kRetryBudget) == "retry_budget" && Name(Reason::kUsage) == "usage");
static_assert(Name(static_cast<Reason>(kReasonCount)) == "unknown");
static_assert(static_cast<std::size_t>(Reason::kDenied) + 1 == kReasonCount);

// A reason added without its name would give it an empty one.
TEST(Reason, NamesDifferAndAreLabels) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kReasonCount; ++i) {
    const std::string_view name = Name(static_cast<Reason>(i));
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_FALSE(name.empty()) << i;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), name.npos) << name;
  }
}

// A fleet that was told 200 ms, and comes back after exactly that, comes back as one.
TEST(Rejection, RetryAfterIsSpreadAndNeverShorter) {
  using std::chrono::milliseconds;
  const Rejection rejection(0, "p", Verdict::Refuse(Reason::kRate, milliseconds(200)));
  EXPECT_EQ(rejection.RetryAfter(0, 1), milliseconds(200));
  int halves[2] = {};
  Duration least = Duration::max();
  Duration most{0};
  for (std::uint64_t id = 0; id < 10'000; ++id) {
    const Duration hint = *rejection.RetryAfter(0.5, id);
    least = std::min(least, hint);
    most = std::max(most, hint);
    ++halves[hint < milliseconds(250) ? 0 : 1];
  }
  EXPECT_GE(least, milliseconds(200));
  EXPECT_LT(least, milliseconds(201));
  EXPECT_LE(most, milliseconds(300));
  EXPECT_GT(most, milliseconds(299));
  EXPECT_NEAR(halves[0], halves[1], 400);
}

TEST(Rejection, RetryAfterAtItsEdges) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Rejection unknown(0, "p", Verdict::Refuse(Reason::kConcurrency));
  EXPECT_EQ(unknown.RetryAfter(0.5, 1), std::nullopt);
  const Rejection at_once(0, "p", Verdict::Refuse(Reason::kRate, Duration(0)));
  EXPECT_EQ(at_once.RetryAfter(1, 1), Duration(0));
  const Rejection never(0, "p", Verdict::Refuse(Reason::kRate, Duration::max()));
  for (std::uint64_t id = 0; id < 100; ++id) {
    EXPECT_EQ(never.RetryAfter(1, id), Duration::max());
    const Rejection hour(0, "p", Verdict::Refuse(Reason::kRate, std::chrono::hours(1)));
    for (const double bad : {-1.0, kNan, -kInfinity}) {
      EXPECT_EQ(hour.RetryAfter(bad, id), std::chrono::hours(1));
    }
    EXPECT_LE(*hour.RetryAfter(kInfinity, id), std::chrono::hours(2));
  }
}

}  // namespace
}  // namespace shed
