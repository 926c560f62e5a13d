#include "shed/named.h"

#include <gtest/gtest.h>

#include <string_view>

#include "shed/concurrency_limiter.h"
#include "shed/limiter.h"
#include "shed/rate_limiter.h"

namespace shed {
namespace {

static_assert(FixedString("per-user").view() == "per-user");
static_assert(FixedString("").view().empty());
static_assert(Named<"a", RateLimiter>::kName == "a");
static_assert(!std::is_same_v<Named<"a", RateLimiter>, Named<"b", RateLimiter>>);
static_assert(std::is_same_v<Named<"a", RateLimiter>, Named<"a", RateLimiter>>);

// All that a policy declares is still there: a lost kHolds would let calls sleep on permits, a lost
// Hot would not build.
using Permits = Named<"permits", ConcurrencyLimiter>;
static_assert(Policy<Permits> && HasHot<Permits> && HasOptions<Permits> && Holds<Permits>);
static_assert(CanRead<Permits> && CanCancel<Permits> && CanComplete<Permits>);
static_assert(CanCharge<Named<"rate", RateLimiter>> && !Holds<Named<"rate", RateLimiter>>);
static_assert(std::is_same_v<TicketOf<Permits>, ConcurrencyLimiter::Ticket>);

// A policy without Options is handed over itself, under either type.
struct Refuser {
  static constexpr std::string_view kName = "refuser";
  Reason reason = Reason::kDenied;
  Verdict Admit(const Request&, TimePoint) noexcept { return Verdict::Refuse(reason); }
};
TEST(Named, TakesThePolicyItself) {
  Limiter<Named<"strict", Refuser>> limiter(Refuser{Reason::kUsage});
  auto guard = limiter.TryAdmit();
  EXPECT_EQ(guard.rejection().policy_name(), "strict");
  EXPECT_EQ(Limiter<Refuser>::PolicyName(0), "refuser");  // Its own name is still its own.
  EXPECT_EQ(guard.rejection().reason(), Reason::kUsage);
  EXPECT_EQ(limiter.Get<"strict">().reason, Reason::kUsage);
}

// Two limiters of one type are two policies, told apart everywhere.
using Global = Named<"global", RateLimiter>;
using PerUser = Named<"per-user", RateLimiter>;
TEST(Named, TellsTwoPoliciesOfOneTypeApart) {
  ManualClock clock;
  BasicLimiter<ManualClock, StdSync, Global, PerUser> limiter(
      clock, {.rate = 1, .per = std::chrono::hours(24), .burst = 3},
      {.rate = 1, .per = std::chrono::hours(24), .burst = 2});
  EXPECT_TRUE(limiter.TryAdmit());
  EXPECT_TRUE(limiter.TryAdmit());
  auto by_user = limiter.TryAdmit();
  EXPECT_EQ(by_user.rejection().policy_name(), "per-user");
  EXPECT_EQ(by_user.rejection().policy(), 1u);
  // The refused call gave its global unit back, and one that costs 3 meets the global limit first.
  auto by_global = limiter.TryAdmit({.cost = 3});
  EXPECT_EQ(by_global.rejection().policy_name(), "global");
  EXPECT_EQ(by_global.rejection().policy(), 0u);
  EXPECT_EQ(by_global.rejection().reason(), Reason::kRate);

  const auto snapshot = limiter.Snapshot();
  EXPECT_EQ(snapshot.kPolicyNames[0], "global");
  EXPECT_EQ(snapshot.kPolicyNames[1], "per-user");
  EXPECT_EQ(snapshot.RefusedBy(0), 1u);
  EXPECT_EQ(snapshot.RefusedBy(1), 1u);
  EXPECT_EQ(std::get<0>(snapshot.policies).available, 1);
  EXPECT_EQ(std::get<1>(snapshot.policies).available, 0);

  EXPECT_EQ(&limiter.Get<"per-user">(), &limiter.Get<1>());
  EXPECT_EQ(&limiter.Get<PerUser>(), &limiter.Get<1>());
  EXPECT_EQ(&limiter.Get<"global">(), &limiter.Get<Global>());
  EXPECT_NE(static_cast<const void*>(&limiter.Get<0>()),
            static_cast<const void*>(&limiter.Get<1>()));
  const auto& constant = limiter;
  EXPECT_EQ(&constant.Get<"global">(), &constant.Get<0>());
}

}  // namespace
}  // namespace shed
