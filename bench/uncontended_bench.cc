// What one call costs on one thread, beside the clock reads that are part of it.
//
// Compare the rows of one run with each other, as ratios: an absolute time says more of the machine
// and of its other load than of shed. A call reads the clock once to be admitted, and once more to
// complete if a policy needs the time, so the clock rows are the floor under the others.
#include <benchmark/benchmark.h>

#include "shed/clock.h"
#include "shed/concurrency_limiter.h"
#include "shed/limiter.h"
#include "shed/rate_limiter.h"

namespace {

void ClockRead(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(shed::SteadyClock::Now());
}
BENCHMARK(ClockRead);

void ManualClockRead(benchmark::State& state) {
  const shed::ManualClock clock;
  for (auto _ : state) benchmark::DoNotOptimize(clock.Now());
}
BENCHMARK(ManualClockRead);

// Runs one call after the other through `limiter`; `admits` is what must come of each of them, so
// that a row measures what its name says.
template <class Limiter>
void Calls(benchmark::State& state, Limiter& limiter, bool admits) {
  for (auto _ : state) {
    auto guard = limiter.TryAdmit();
    if (static_cast<bool>(guard) != admits) {
      state.SkipWithError("a call was admitted that should be refused, or the reverse");
      break;
    }
    guard.Complete(shed::Outcome::kSuccess);
  }
}

constexpr shed::RateLimiterOptions kNeverReached{.rate = 1'000'000'000, .burst = 1'000'000};

void RateAdmits(benchmark::State& state) {
  shed::Limiter<shed::RateLimiter> limiter(kNeverReached);
  Calls(state, limiter, true);
}
BENCHMARK(RateAdmits);

void RateRefuses(benchmark::State& state) {
  shed::Limiter<shed::RateLimiter> limiter(
      shed::RateLimiterOptions{.rate = 1, .per = std::chrono::hours(24), .burst = 1});
  limiter.TryAdmit().Complete(shed::Outcome::kSuccess);
  Calls(state, limiter, false);
}
BENCHMARK(RateRefuses);

void ConcurrencyAdmits(benchmark::State& state) {
  shed::Limiter<shed::ConcurrencyLimiter> limiter(shed::ConcurrencyLimiterOptions{.limit = 16});
  Calls(state, limiter, true);
}
BENCHMARK(ConcurrencyAdmits);

void ConcurrencyRefuses(benchmark::State& state) {
  shed::Limiter<shed::ConcurrencyLimiter> limiter(shed::ConcurrencyLimiterOptions{.limit = 1});
  auto held = limiter.TryAdmit();
  Calls(state, limiter, false);
  held.Complete(shed::Outcome::kSuccess);
}
BENCHMARK(ConcurrencyRefuses);

void RateAndConcurrencyAdmit(benchmark::State& state) {
  shed::Limiter<shed::RateLimiter, shed::ConcurrencyLimiter> limiter(
      kNeverReached, shed::ConcurrencyLimiterOptions{.limit = 16});
  Calls(state, limiter, true);
}
BENCHMARK(RateAndConcurrencyAdmit);

}  // namespace
