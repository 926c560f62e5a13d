// NaN and the infinities in every option that takes a ratio, in a unit compiled with -ffast-math:
// the compiler may take for granted there that no comparison meets one. None may pass for "allow
// all" (P25, guava#2730).
#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "shed/admission_controller.h"
#include "shed/circuit_breaker.h"
#include "shed/concurrency_limiter.h"
#include "shed/demerit_tracker.h"
#include "shed/gradient_limiter.h"
#include "shed/knee_limiter.h"
#include "shed/rate_limiter.h"
#include "shed/solo.h"

#if !defined(__FAST_MATH__)
#error "compile this test with -ffast-math"
#endif

namespace shed {
namespace {

// From their bits, and not known when this is compiled, so that nothing is folded.
double FromBits(std::uint64_t bits) {
  volatile std::uint64_t hidden = bits;
  return std::bit_cast<double>(static_cast<std::uint64_t>(hidden));
}

struct NotANumber {
  std::string_view name;
  std::uint64_t bits;
};
constexpr NotANumber kNotNumbers[] = {
    {"quiet NaN", 0x7ff8'0000'0000'0000},      {"negative quiet NaN", 0xfff8'0000'0000'0000},
    {"signalling NaN", 0x7ff0'0000'0000'0001}, {"NaN, all ones", 0xffff'ffff'ffff'ffff},
    {"infinity", 0x7ff0'0000'0000'0000},       {"-infinity", 0xfff0'0000'0000'0000},
};

template <class P>
std::string Thrown(const typename P::Options& options) {
  try {
    const Solo<P> policy(options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

// `set` puts a number into the field `name` of otherwise good options.
template <class P>
void ExpectRefused(std::string_view name, auto set) {
  for (const NotANumber& bad : kNotNumbers) {
    typename P::Options options{};
    set(options, FromBits(bad.bits));
    const std::string problem(options.Problem());
    EXPECT_EQ(problem.substr(0, name.size() + 7), std::string(name) + ": want ") << bad.name;
    EXPECT_EQ(Thrown<P>(options), problem) << bad.name;
  }
  // Out of range by a lot, for comparison.
  typename P::Options options{};
  set(options, FromBits(0xffef'ffff'ffff'ffff));  // -DBL_MAX
  EXPECT_NE(options.Problem(), "") << name;
}
#define SHED_EXPECT_REFUSED(Policy, field) \
  ExpectRefused<Policy>(#field, [](Policy::Options& o, double x) { o.field = x; })

template <class P>
void ExpectSharesRefused() {
  for (std::size_t i = 0; i < kCriticalityCount; ++i) {
    ExpectRefused<P>("usable", [i](typename P::Options& o, double x) { o.usable[i] = x; });
  }
}

TEST(BadInputFastMathTest, ConcurrencyLimiter) { ExpectSharesRefused<ConcurrencyLimiter>(); }

TEST(BadInputFastMathTest, CircuitBreaker) {
  SHED_EXPECT_REFUSED(CircuitBreaker, failure_ratio);
  SHED_EXPECT_REFUSED(CircuitBreaker, slow_ratio);
}

TEST(BadInputFastMathTest, GradientLimiter) {
  SHED_EXPECT_REFUSED(GradientLimiter, percentile);
  SHED_EXPECT_REFUSED(GradientLimiter, buffer);
  SHED_EXPECT_REFUSED(GradientLimiter, probe_jitter);
  SHED_EXPECT_REFUSED(GradientLimiter, overload_shrink);
  ExpectSharesRefused<GradientLimiter>();
}

TEST(BadInputFastMathTest, KneeLimiter) {
  SHED_EXPECT_REFUSED(KneeLimiter, dip_jitter);
  ExpectSharesRefused<KneeLimiter>();
}

TEST(BadInputFastMathTest, AdmissionController) {
  SHED_EXPECT_REFUSED(AdmissionController, threshold);
  SHED_EXPECT_REFUSED(AdmissionController, aggression);
  SHED_EXPECT_REFUSED(AdmissionController, max_rejection);
  SHED_EXPECT_REFUSED(AdmissionController, min_rps);
}

TEST(BadInputFastMathTest, DemeritTracker) {
  SHED_EXPECT_REFUSED(DemeritTracker, demerit_per_denial);
  SHED_EXPECT_REFUSED(DemeritTracker, decay_per_second);
  SHED_EXPECT_REFUSED(DemeritTracker, hog_threshold);
}

// RateLimiter takes no fraction. What is good stays good.
TEST(BadInputFastMathTest, GoodOptionsAreTaken) {
  EXPECT_EQ(Thrown<RateLimiter>({}), "");
  EXPECT_EQ(Thrown<ConcurrencyLimiter>({}), "");
  EXPECT_EQ(Thrown<CircuitBreaker>({}), "");
  EXPECT_EQ(Thrown<GradientLimiter>({}), "");
  EXPECT_EQ(Thrown<KneeLimiter>({}), "");
  EXPECT_EQ(Thrown<AdmissionController>({}), "");
  EXPECT_EQ(Thrown<DemeritTracker>({}), "");
}

// The answers that a build with -ffast-math gives: those of whole numbers are exact.
TEST(BadInputFastMathTest, SharesOfALimitAreExact) {
  Solo<ConcurrencyLimiter> limiter({.limit = 100, .usable = {0.0, 0.29, 0.58, 1.0}});
  ConcurrencyLimiter::Ticket ticket;
  EXPECT_FALSE(
      limiter.Admit({.criticality = Criticality::kSheddable}, TimePoint(), ticket).admitted());
  int held = 0;
  while (
      limiter.Admit({.criticality = Criticality::kSheddablePlus}, TimePoint(), ticket).admitted()) {
    ++held;
  }
  EXPECT_EQ(held, 29);
}

}  // namespace
}  // namespace shed
