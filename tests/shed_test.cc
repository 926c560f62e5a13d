#include "shed/shed.h"

#include <gtest/gtest.h>

#include "shed/shed.h"  // Twice is once.

namespace {

// The umbrella has all that the README's example needs: a name that it does not bring would not
// compile here. Written as a user writes it, outside the namespace.
TEST(Umbrella, BringsWhatAUserNeeds) {
  static_assert(SHED_VERSION_MAJOR * 10'000 + SHED_VERSION_MINOR * 100 + SHED_VERSION_PATCH > 0);
  shed::ManualClock clock;
  using Limiter = shed::BasicLimiter<shed::ManualClock, shed::StdSync, shed::RateLimiter,
                                     shed::Named<"slots", shed::ConcurrencyLimiter>>;
  const auto limiter = shed::Create<Limiter>(clock, {.rate = 500, .burst = 50}, {.limit = 1});
  ASSERT_TRUE(limiter.ok());
  shed::AnyGuard guard = (*limiter)->TryAdmit({.caller = "alice", .cost = 2});
  ASSERT_TRUE(guard);
  const absl::Status refused = shed::Run(**limiter, {.caller = "bob"}, [] {});
  EXPECT_TRUE(shed::IsRejection(refused));
  guard.Complete(shed::Outcome::kSuccess);
  EXPECT_TRUE(shed::Run(**limiter, {.caller = "bob"}, [] {}).ok());
  EXPECT_EQ((*limiter)->Snapshot().RefusedFor(shed::Reason::kConcurrency), 1u);
  const shed::Solo<shed::RateLimiter> alone({.rate = 1});
  EXPECT_EQ(alone.Read(shed::SteadyClock::Now()).available, 100);
}

}  // namespace
