#include "shed/solo.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "shed/concurrency_limiter.h"
#include "shed/named.h"
#include "shed/rate_limiter.h"

namespace shed {
namespace {

struct TwiceOptions {
  int factor = 2;
  constexpr std::string_view Problem() const { return ""; }
};
// A policy with Options and no Hot.
class Twice {
 public:
  static constexpr std::string_view kName = "twice";
  using Options = TwiceOptions;
  explicit Twice(const Options& options) : factor(options.factor) {}
  Verdict Admit(const Request& request, TimePoint) noexcept {
    return request.cost > static_cast<std::uint64_t>(factor) ? Verdict::Refuse(Reason::kDenied)
                                                             : Verdict::Admit();
  }
  const int factor;
};

// A policy keeps a reference to the Hot: it must exist before the policy is built, as it writes it
// in its constructor.
TEST(Solo, HoldsTheHotWords) {
  Solo<ConcurrencyLimiter> limiter({.limit = 1});
  ConcurrencyLimiter::Ticket first;
  ConcurrencyLimiter::Ticket second;
  EXPECT_TRUE(limiter.Admit({}, TimePoint(), first).admitted());
  EXPECT_EQ(limiter.Admit({}, TimePoint(), second).reason(), Reason::kConcurrency);
  limiter.Complete(first, Outcome::kSuccess);
  EXPECT_EQ(limiter.Read(TimePoint()).in_flight, 0u);
  EXPECT_TRUE(limiter.Admit({}, TimePoint(), second).admitted());
  // Two have nothing in common.
  Solo<ConcurrencyLimiter> other({.limit = 1});
  EXPECT_EQ(other.Read(TimePoint()).in_flight, 0u);
}

TEST(Solo, NeedsNoHotAndNoOptions) {
  Solo<Twice> by_default;
  EXPECT_EQ(by_default.factor, 2);
  Solo<Twice> thrice({.factor = 3});
  EXPECT_TRUE(thrice.Admit({.cost = 3}, TimePoint()).admitted());
  EXPECT_FALSE(thrice.Admit({.cost = 4}, TimePoint()).admitted());
  Solo<RateLimiter> rate;
  EXPECT_EQ(rate.Read(TimePoint()).burst, RateLimiterOptions().burst);
}

TEST(Solo, IsThePolicy) {
  static_assert(Policy<Solo<RateLimiter>> && Policy<Solo<Twice>>);
  static_assert(Solo<Named<"a", RateLimiter>>::kName == "a");
  EXPECT_THROW(Solo<RateLimiter>({.rate = 0}), std::invalid_argument);
}

}  // namespace
}  // namespace shed
