#include "shed/internal/check_policy.h"

#include <gtest/gtest.h>

#include <string_view>

#include "shed/clock.h"
#include "shed/concurrency_limiter.h"
#include "shed/limiter.h"
#include "shed/named.h"
#include "shed/rate_limiter.h"
#include "shed/sync.h"

// What it refuses, and in which words, is in tests/compile. Here: what it must not refuse.
namespace shed::internal {
namespace {

static_assert(CheckPolicy<RateLimiter>::kOk && CheckPolicy<ConcurrencyLimiter>::kOk);
static_assert(CheckPolicy<Named<"x", RateLimiter>>::kOk);
static_assert(CheckPolicy<BasicRateLimiter<NoSync>>::kOk);

// A name may be any text; nothing but kName and Admit is asked for.
struct Literal {
  static constexpr const char* kName = "literal";
  Verdict Admit(const Request&, TimePoint) noexcept { return Verdict::Admit(); }
};
static_assert(CheckPolicy<Literal>::kOk);

// Options without Hot, and a Hot of exactly the size there is.
struct FullOptions {
  constexpr std::string_view Problem() const { return ""; }
};
struct Full : Literal {
  using Options = FullOptions;
  struct alignas(16) Hot {
    char bytes[16];
  };
  Full(const Options&, Hot&) {}
};
struct NoHot : Literal {
  using Options = FullOptions;
  explicit NoHot(const Options&) {}
  NoHot(const NoHot&) = delete;  // With Options it is built in place.
};
static_assert(CheckPolicy<Full>::kOk && CheckPolicy<NoHot>::kOk);

// Atomics that do more than a number, for a Sync that is not for real threads.
struct LargeSync : NoSync {
  template <class T>
  struct Atomic : NoSync::Atomic<T> {
    using NoSync::Atomic<T>::Atomic;
    char label[32] = {};
  };
};
using LargeConcurrencyLimiter = BasicConcurrencyLimiter<LargeSync>;
static_assert(sizeof(LargeConcurrencyLimiter::Hot) > kMaxHotBytes);
static_assert(CheckPolicy<LargeConcurrencyLimiter, LargeSync>::kOk);

TEST(CheckPolicy, AtomicsOfAnotherSyncMayBeLarger) {
  BasicLimiter<SteadyClock, LargeSync, LargeConcurrencyLimiter, BasicRateLimiter<LargeSync>>
      limiter({.limit = 1}, {});
  auto guard = limiter.TryAdmit();
  EXPECT_TRUE(guard);
  EXPECT_EQ(limiter.Get<0>().Read(TimePoint{}).in_flight, 1u);
}

TEST(CheckPolicy, IsCheckedAtCompileTime) { SUCCEED(); }

}  // namespace
}  // namespace shed::internal
