// What a soak knows of each kind of policy: options under which it refuses often, what an operator
// does to it meanwhile, and what must be true of it at any time and at the end.
#ifndef SHED_TESTS_SOAK_POLICIES_H_
#define SHED_TESTS_SOAK_POLICIES_H_

#include <gtest/gtest.h>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <random>

#include "shed/admission_controller.h"
#include "shed/circuit_breaker.h"
#include "shed/concurrency_limiter.h"
#include "shed/demerit_tracker.h"
#include "shed/gradient_limiter.h"
#include "shed/knee_limiter.h"
#include "shed/pressure_limiter.h"
#include "shed/queue_delay_limiter.h"
#include "shed/rate_limiter.h"
#include "shed/retry_budget.h"
#include "shed/retry_throttle.h"
#include "shed/usage_throttle.h"
#include "soak/counted.h"
#include "soak/tally.h"

namespace shed::soak {

// How time goes.
enum class Course {
  kReal,      // By itself.
  kStepping,  // As threads step it, forwards and back.
  kStanding,  // Not at all, and nothing is forced: every count can be told to the last one.
};

inline constexpr std::int64_t kMostInFlight = 24;
inline constexpr std::int64_t kBudget = 20;

template <class P>
typename P::Options OptionsFor(Course course) {
  using std::chrono::microseconds;
  using std::chrono::milliseconds;
  const bool standing = course == Course::kStanding;
  if constexpr (std::derived_from<P, RateLimiter>) {
    if (standing) return {.rate = 1000, .burst = 100'000'000'000};
    return {.rate = 1'000'000, .burst = 200};
  } else if constexpr (std::derived_from<P, ConcurrencyLimiter>) {
    return {.limit = 12, .usable = {0.25, 0.5, 0.75, 1}};
  } else if constexpr (std::derived_from<P, CircuitBreaker>) {
    return {.consecutive_failures = 6,
            .window = milliseconds(5),
            .min_calls = 5,
            .slow_call = milliseconds(2),
            .slow_ratio = 0.9,
            .open_for = microseconds(100),
            .max_open_for = microseconds(400),
            .probes = 3,
            .probe_timeout = milliseconds(2),
            .ramp = microseconds(300)};
  } else if constexpr (std::derived_from<P, AdmissionController>) {
    return {.window = milliseconds(5), .threshold = 0.9, .min_rps = 0};
  } else if constexpr (std::derived_from<P, DemeritTracker>) {
    return {.budget = kBudget,
            .window = milliseconds(1),
            .decay_per_second = 1000,
            .max_penalty = milliseconds(5),
            .max_callers = 6};
  } else if constexpr (std::derived_from<P, GradientLimiter>) {
    return {.interval = milliseconds(1),
            .min_samples = 5,
            .max_limit = kMostInFlight,
            .initial_limit = 12,
            .probe_samples = 10,
            .probe_interval = milliseconds(20),
            .probe_timeout = milliseconds(2)};
  } else if constexpr (std::derived_from<P, KneeLimiter>) {
    return {.max_limit = kMostInFlight,
            .initial_limit = 12,
            .headroom = 4,
            .dip_interval = milliseconds(100)};
  } else if constexpr (std::derived_from<P, QueueDelayLimiter>) {
    return {.target = milliseconds(1), .interval = milliseconds(2), .min_service = milliseconds(1)};
  } else if constexpr (std::derived_from<P, UsageThrottle>) {
    return {.soft = 20,
            .hard = 40,
            .window = milliseconds(1),
            .longest_wait = milliseconds(1),
            .max_delayed = 8,
            .max_callers = 6};
  } else if constexpr (std::derived_from<P, RetryBudget>) {
    return {.ratio = 0.1, .min_retries = 1};
  } else {
    static_assert(std::derived_from<P, RetryThrottle> || std::derived_from<P, PressureLimiter>);
    return {};
  }
}

// An operator at work on a limiter's policy P.
template <class P, class Limiter>
void Meddle(Limiter& limiter, std::mt19937_64& random) {
  if constexpr (std::derived_from<P, CircuitBreaker>) {
    const std::uint64_t what = random() % 8;
    limiter.template Apply<P>([&](CircuitBreaker& breaker, TimePoint now, Events& events) {
      if (what == 0) breaker.ForceOpen(now, events);
      if (what == 1) breaker.ForceClosed(now, events);
      if (what == 2 || breaker.Read(now).state == BreakerState::kForcedOpen) {
        breaker.Reset(now, events);
      }
    });
  } else if constexpr (std::derived_from<P, ConcurrencyLimiter>) {
    const auto limit = 1 + static_cast<std::int64_t>(random() % kMostInFlight);
    EXPECT_EQ(limiter.template Get<P>().SetLimit(limit, limiter.Now()), "");
  } else if constexpr (std::derived_from<P, DemeritTracker>) {
    EXPECT_LE(limiter.template Get<P>().ReadCaller("a", limiter.Now()).held, kBudget);
  } else if constexpr (std::derived_from<P, UsageThrottle>) {
    const auto state = limiter.template Get<P>().ReadCaller("a", limiter.Now());
    EXPECT_LE(state.remaining, 20u);
    EXPECT_LE(state.delay, std::chrono::milliseconds(1));
  } else if constexpr (std::derived_from<P, PressureLimiter>) {
    const double reading = static_cast<double>(random() % 1024) / 1024;
    limiter.template Apply<P>([&](PressureLimiter& pressure, TimePoint now, Events& events) {
      EXPECT_EQ(pressure.Set(reading, now, events), "");
    });
  }
  if constexpr (CanConfigure<P>) {
    EXPECT_EQ(limiter.template Get<P>().Configure(OptionsFor<P>(Course::kReal), limiter.Now()), "");
  }
}

// At any time.
template <class P>
void ExpectInBounds(const typename P::Snapshot& s) {
  if constexpr (std::derived_from<P, RateLimiter>) {
    EXPECT_GE(s.available, 0);
    EXPECT_LE(s.available, s.burst);
  } else if constexpr (std::derived_from<P, ConcurrencyLimiter>) {
    EXPECT_LE(s.in_flight, kMostInFlight);
  } else if constexpr (std::derived_from<P, CircuitBreaker>) {
    EXPECT_LE(s.probes_in_flight, 3u);
    EXPECT_LE(s.counts.failed, s.counts.calls);
  } else if constexpr (std::derived_from<P, AdmissionController>) {
    EXPECT_GE(s.probability, 0);
    EXPECT_LE(s.probability, 0.8);
  } else if constexpr (std::derived_from<P, DemeritTracker>) {
    EXPECT_LE(s.in_use, s.budget);
    EXPECT_LE(s.tracked, 6u);
  } else if constexpr (std::derived_from<P, UsageThrottle>) {
    EXPECT_LE(s.waiting, 8u);
    EXPECT_LE(s.tracked, 6u);
  } else if constexpr (std::derived_from<P, RetryBudget>) {
    EXPECT_LE(s.retries, s.in_flight);
  } else if constexpr (std::derived_from<P, RetryThrottle>) {
    EXPECT_GE(s.tokens, 0);
    EXPECT_LE(s.tokens, s.max_tokens);
  } else if constexpr (requires { s.limit; }) {
    EXPECT_LE(s.in_flight, kMostInFlight);
    EXPECT_GE(s.limit, 1u);
    EXPECT_LE(s.limit, kMostInFlight);
  }
}

// When every call has ended, at `now`. `behind` were refused by the policies behind this one.
template <class P, std::size_t kPolicies>
void ExpectSettled(const Counted<P>& policy, const Tally<kPolicies>& tally, std::uint64_t behind,
                   Course course, TimePoint now) {
  EXPECT_EQ(policy.admitted(), policy.completed() + policy.cancelled());
  EXPECT_EQ(policy.cancelled(), behind);
  std::uint64_t admitted = 0;
  for (const std::uint64_t n : tally.admitted) admitted += n;
  EXPECT_EQ(policy.completed(), admitted);

  const auto s = policy.Read(now);
  const bool standing = course == Course::kStanding;
  const std::uint64_t good = tally.Seen(Outcome::kSuccess);
  const std::uint64_t bad = tally.Seen(Outcome::kFailure) + tally.Seen(Outcome::kOverload);
  if constexpr (std::derived_from<P, RateLimiter>) {
    if (standing) {
      EXPECT_EQ(s.burst - s.available, tally.units);
    }
    const auto later = policy.Read(After(now, std::chrono::hours(24 * 366)));
    EXPECT_EQ(later.available, s.burst);
    EXPECT_EQ(later.full_in, Duration(0));
  } else if constexpr (std::derived_from<P, CircuitBreaker>) {
    EXPECT_EQ(s.probes_in_flight, 0u);
    if (standing) {
      EXPECT_EQ(s.counts.calls, good + bad);
      EXPECT_EQ(s.counts.failed, bad);
    }
  } else if constexpr (std::derived_from<P, AdmissionController>) {
    if (standing) {
      std::uint64_t arrived = 0;
      for (const std::uint64_t n : s.arrivals) arrived += n;
      EXPECT_EQ(arrived, policy.completed() + policy.refused());
      EXPECT_EQ(s.calls, good + bad);
      EXPECT_EQ(s.successes, good);
    }
  } else if constexpr (std::derived_from<P, DemeritTracker>) {
    EXPECT_EQ(s.in_use, 0u);
    EXPECT_EQ(s.overflow_in_use, 0u);
  } else if constexpr (std::derived_from<P, UsageThrottle>) {
    EXPECT_EQ(s.overflow_in_flight, 0u);
    // Nobody is in flight, and a window after the last start nothing is in use.
    EXPECT_TRUE(policy.AsNew(After(now, std::chrono::hours(24))));
  } else if constexpr (requires { s.in_flight; }) {
    EXPECT_EQ(s.in_flight, 0u);
  }
  if constexpr (std::derived_from<P, RetryBudget>) {
    EXPECT_EQ(s.retries, 0u);
  }
}

}  // namespace shed::soak

#endif  // SHED_TESTS_SOAK_POLICIES_H_
