// The guards, for each algorithm that stands on them.
#include "shed/internal/sampled_limit.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "shed/aimd.h"
#include "shed/gradient2.h"
#include "shed/solo.h"
#include "shed/vegas.h"

namespace shed {
namespace {

using namespace std::chrono_literals;

// Drives an algorithm through the enforcement.
template <class P>
struct Driven {
  using Options = typename P::Options;
  Solo<P> limiter;
  Duration now = 1h;
  int events = 0;

  explicit Driven(const Options& options = {}) : limiter(options) {}

  std::uint32_t limit() { return limiter.Read(TimePoint(now)).limit; }

  // Batches of `width` calls at once, or as many as are admitted, that each take `latency`.
  void Run(Duration span, std::uint32_t width, Duration latency,
           Outcome outcome = Outcome::kSuccess) {
    const Duration end = now + span;
    while (now < end) {
      std::vector<typename P::Ticket> tickets;
      Events pushed;
      for (std::uint32_t i = 0; i < width; ++i) {
        typename P::Ticket ticket{};
        if (!limiter.Admit({}, TimePoint(now), ticket, pushed).admitted()) break;
        tickets.push_back(ticket);
      }
      const TimePoint started(now);
      now += latency;
      for (auto& ticket : tickets) {
        limiter.Complete(ticket, {.started = started, .now = TimePoint(now), .outcome = outcome},
                         pushed);
      }
      events += static_cast<int>(pushed.size());
    }
  }
};

template <class P>
class SampledLimit : public ::testing::Test {};
using Limiters = ::testing::Types<AimdLimiter, VegasLimiter, Gradient2Limiter>;
TYPED_TEST_SUITE(SampledLimit, Limiters);

constexpr std::uint32_t kAll = 1'000'000;

TYPED_TEST(SampledLimit, GrowsWhileItIsUsedAndNothingWaits) {
  Driven<TypeParam> driven;
  driven.Run(20s, kAll, 10ms);
  EXPECT_GT(driven.limit(), 30u);
  EXPECT_GT(driven.events, 0);
}

// Netflix/concurrency-limits#65 and others: hours of calm must not drift to the maximum.
TYPED_TEST(SampledLimit, DoesNotGrowWhileLessThanHalfOfItIsUsed) {
  Driven<TypeParam> driven;
  driven.Run(60s, 9, 10ms);
  EXPECT_EQ(driven.limit(), 20u);
  EXPECT_EQ(driven.events, 0);
}

TYPED_TEST(SampledLimit, OverloadShrinksItWhateverTheLatency) {
  Driven<TypeParam> driven;
  driven.Run(5s, kAll, 1ms, Outcome::kOverload);
  EXPECT_EQ(driven.limit(), 4u);
}

// Netflix/concurrency-limits#137: a steady time-out looks healthy to all who compare latencies.
TYPED_TEST(SampledLimit, AStableTimeOutShrinksIt) {
  Driven<TypeParam> driven({.timeout = 1s});
  driven.Run(1s, kAll, 10ms);
  driven.Run(120s, kAll, 1s);
  EXPECT_EQ(driven.limit(), 4u);
  // And is learned as nothing: it comes back.
  driven.Run(20s, kAll, 10ms);
  EXPECT_GT(driven.limit(), 20u);
}

// Fast errors are no proof of health.
TYPED_TEST(SampledLimit, FastFailuresMoveNothing) {
  Driven<TypeParam> driven;
  driven.Run(5s, kAll, 1ms, Outcome::kFailure);
  driven.Run(5s, kAll, 1ms, Outcome::kIgnored);
  EXPECT_EQ(driven.limit(), 20u);
}

// Netflix/concurrency-limits#37: one call that was answered from a cache must not collapse the
// limit.
TYPED_TEST(SampledLimit, OneLuckyCallDoesNotPoisonIt) {
  Driven<TypeParam> driven({.max_limit = 100});
  driven.Run(20s, kAll, 10ms);
  const std::uint32_t before = driven.limit();
  driven.Run(1us, 1, 1us);
  driven.Run(20s, kAll, 10ms);
  EXPECT_GE(driven.limit(), before);
}

TYPED_TEST(SampledLimit, AWindowWithFewSamplesDecidesNothing) {
  Driven<TypeParam> driven({.min_samples = 1000, .timeout = 10ms});
  driven.Run(400ms, 20, 10ms);  // 800 samples, all too late.
  EXPECT_EQ(driven.limit(), 20u);
  driven.Run(200ms, 20, 10ms);
  EXPECT_EQ(driven.limit(), 18u);
}

// apache/brpc#1006: a limit below one admits nobody for good.
TYPED_TEST(SampledLimit, NeverBelowOne) {
  Driven<TypeParam> driven({.min_limit = 1, .initial_limit = 1, .backoff = 0.1});
  driven.Run(10s, kAll, 1ms, Outcome::kOverload);
  EXPECT_EQ(driven.limit(), 1u);
  driven.Run(60s, kAll, 1ms);
  EXPECT_GT(driven.limit(), 1u);
}

// Latency 0 is legal; a clock that goes back or jumps spoils nothing.
TYPED_TEST(SampledLimit, OddClocks) {
  Driven<TypeParam> driven;
  for (int i = 0; i < 100; ++i) {
    driven.Run(1ns, kAll, 0ns + 1ns);
    driven.now -= 1s;
  }
  driven.now = 2h;
  driven.Run(1s, kAll, 10ms);
  driven.now = Duration::max() - 1s;
  driven.Run(500ms, kAll, 10ms);
  EXPECT_GE(driven.limit(), 4u);
  EXPECT_LE(driven.limit(), 1000u);
  EXPECT_EQ(driven.limiter.Read(TimePoint(driven.now)).in_flight, 0u);
}

TYPED_TEST(SampledLimit, BadOptionsAreRefusedByName) {
  using O = typename TypeParam::Options;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static_assert(O{}.Problem().empty());
  for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1'000'001},
                                 std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_EQ((O{.min_limit = bad}.Problem()), "min_limit: want 1 to max_limit");
    EXPECT_EQ((O{.max_limit = bad}.Problem()), "max_limit: want 1 to 1000000 calls");
    EXPECT_EQ((O{.initial_limit = bad}.Problem()), "initial_limit: want min_limit to max_limit");
    EXPECT_EQ((O{.min_samples = bad}.Problem()), "min_samples: want 1 to 1000000");
    EXPECT_THROW(Solo<TypeParam>(O{.min_limit = bad}), std::invalid_argument);
  }
  for (const double bad : {0.0, -1.0, 1.1, kNan, kInfinity}) {
    EXPECT_EQ((O{.percentile = bad}.Problem()), "percentile: want above 0 and at most 1");
    EXPECT_EQ((O{.backoff = bad}.Problem()), "backoff: want 0.1 to 0.99");
  }
  for (const Duration bad : {Duration(0), Duration(999), Duration(-1), Duration::max()}) {
    EXPECT_EQ((O{.interval = bad}.Problem()), "interval: want 1 us to 1 h");
    EXPECT_EQ((O{.timeout = bad}.Problem()), "timeout: want 1 us to 1 h");
  }
  EXPECT_EQ((O{.usable = {1, 1, 1, kNan}}.Problem()), "usable: want each share in 0 to 1");
}

TYPED_TEST(SampledLimit, ConfigureHoldsTheLimitToItsRangeAndTheTimeOutToTheNew) {
  Driven<TypeParam> driven;
  driven.Run(20s, kAll, 10ms);
  ASSERT_GT(driven.limit(), 30u);
  const TimePoint now(driven.now);
  EXPECT_EQ(driven.limiter.Configure({.max_limit = 25}, now), "");
  EXPECT_EQ(driven.limit(), 25u);
  EXPECT_EQ(driven.limiter.Configure({.backoff = 1}, now), "backoff: want 0.1 to 0.99");
  EXPECT_EQ(driven.limit(), 25u);
  EXPECT_EQ(driven.limiter.Configure({.min_limit = 50, .initial_limit = 50}, now), "");
  EXPECT_EQ(driven.limit(), 50u);
  EXPECT_EQ(driven.limiter.Configure({.min_limit = 5, .backoff = 0.5, .timeout = 10ms}, now), "");
  driven.Run(5s, kAll, 10ms);
  EXPECT_EQ(driven.limit(), 5u) << "what was an answer in time is none any more";
}

// Hours of fast failures do not outvote the overload that comes after them.
TYPED_TEST(SampledLimit, LongErrorsDoNotHideTheOverloadThatFollows) {
  Driven<TypeParam> driven;
  driven.Run(5s, kAll, 10ms);
  const std::uint32_t before = driven.limit();
  driven.Run(60s, 20, 10ms, Outcome::kFailure);
  ASSERT_GE(driven.limit(), before);
  driven.Run(3s, 20, 10ms, Outcome::kOverload);
  EXPECT_LT(driven.limit(), before * 0.9);
}

}  // namespace
}  // namespace shed
