// What policies and guards weigh. Growth past these limits is a decision, and changes this file.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "shed/admission_controller.h"
#include "shed/admission_queue.h"
#include "shed/any_guard.h"
#include "shed/circuit_breaker.h"
#include "shed/concurrency_limiter.h"
#include "shed/demerit_tracker.h"
#include "shed/gradient_limiter.h"
#include "shed/internal/histogram.h"
#include "shed/knee_limiter.h"
#include "shed/limiter.h"
#include "shed/rate_limiter.h"
#include "shed/tsc_clock.h"
#include "shed/usage_throttle.h"

namespace {
std::atomic<std::size_t> taken{0};  // Bytes, since the start.

// Never inline: GCC would see a mismatch of new and free.
[[gnu::noinline]] void* Take(std::size_t size, std::size_t alignment) {
  taken.fetch_add(size, std::memory_order_relaxed);
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  if (void* const at = std::aligned_alloc(alignment, rounded)) return at;
  throw std::bad_alloc();
}
[[gnu::noinline]] void Give(void* at) noexcept { std::free(at); }
}  // namespace

void* operator new(std::size_t n) { return Take(n, alignof(std::max_align_t)); }
void* operator new[](std::size_t n) { return Take(n, alignof(std::max_align_t)); }
void* operator new(std::size_t n, std::align_val_t a) {
  return Take(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a) {
  return Take(n, static_cast<std::size_t>(a));
}
void operator delete(void* at) noexcept { Give(at); }
void operator delete[](void* at) noexcept { Give(at); }
void operator delete(void* at, std::size_t) noexcept { Give(at); }
void operator delete[](void* at, std::size_t) noexcept { Give(at); }
void operator delete(void* at, std::align_val_t) noexcept { Give(at); }
void operator delete[](void* at, std::align_val_t) noexcept { Give(at); }
void operator delete(void* at, std::size_t, std::align_val_t) noexcept { Give(at); }
void operator delete[](void* at, std::size_t, std::align_val_t) noexcept { Give(at); }

namespace shed {
namespace {

// A policy with the words that a limiter holds for it.
template <class P>
constexpr std::size_t SizeOf() {
  if constexpr (HasHot<P>) {
    return sizeof(P) + sizeof(typename P::Hot);
  } else {
    return sizeof(P);
  }
}

constexpr std::size_t kHistogram = sizeof(internal::LatencyHistogram<StdSync>);
constexpr std::size_t kGradient = SizeOf<GradientLimiter>() - kHistogram;
constexpr std::size_t kPerCaller = 128;
constexpr std::size_t kPerWaiter = 320;

using Five =
    Limiter<RateLimiter, ConcurrencyLimiter, GradientLimiter, CircuitBreaker, AdmissionController>;
using All = Limiter<DemeritTracker, RateLimiter, ConcurrencyLimiter, GradientLimiter, KneeLimiter,
                    CircuitBreaker, AdmissionController>;

static_assert(SizeOf<ConcurrencyLimiter>() <= 128);
static_assert(SizeOf<CircuitBreaker>() <= 2048, "with a window of time");
static_assert(kGradient <= 1024, "without its histogram");
static_assert(kHistogram <= 8192);
static_assert(sizeof(Five::Guard) <= 256 && sizeof(All::Guard) <= 256);
static_assert(sizeof(All::Guard) <= AnyGuard::kCapacity);

// Bytes that a tracker or a throttle takes, itself included.
template <class P>
std::size_t BytesFor(std::int64_t callers) {
  const std::size_t before = taken.load();
  const P policy(typename P::Options{.max_callers = callers});
  return taken.load() - before + sizeof(policy);
}
std::size_t TrackerBytes(std::int64_t callers) { return BytesFor<DemeritTracker>(callers); }
std::size_t ThrottleBytes(std::int64_t callers) { return BytesFor<UsageThrottle>(callers); }

TEST(Size, ATrackedCallerIsSmall) {
  // At powers of two and just past them, where a table that doubles is at its largest.
  for (const std::int64_t callers : {1'000, 1'024, 1'025, 10'000, 16'385, 100'000, 131'073}) {
    const std::size_t bytes = TrackerBytes(callers);
    const auto count = static_cast<std::size_t>(callers);
    EXPECT_GT(bytes, 40 * count);  // They are somewhere.
    EXPECT_LE(bytes, kPerCaller * count) << callers;
  }
}

// Bytes that a queue takes for a call that may wait, and all it takes before any does.
std::size_t QueueBytes(std::uint32_t places) {
  using L = Limiter<ConcurrencyLimiter>;
  L limiter({});
  const std::size_t before = taken.load();
  const AdmissionQueue<L> queue(limiter, {.max_waiting = places});
  return taken.load() - before + sizeof(queue);
}

TEST(Size, ACallThatWaitsIsSmall) {
  EXPECT_LE(QueueBytes(1), 1400U);
  for (const std::uint32_t places : {1'000u, 100'000u}) {
    EXPECT_GT(QueueBytes(places), 100 * places);  // They are somewhere.
    EXPECT_LE(QueueBytes(places), kPerWaiter * places);
  }
}

// As its comment says: 88 bytes each, up to 5 KB beside them, and 20 for each that may wait.
TEST(Size, AThrottledCallerIsSmall) {
  for (const std::int64_t callers : {1, 10, 1'000, 1'024, 1'025, 10'000, 16'385, 100'000}) {
    const auto count = static_cast<std::size_t>(callers);
    EXPECT_GT(ThrottleBytes(callers), 80 * count);
    EXPECT_LE(ThrottleBytes(callers), 88 * count + 5 * 1024 + 20 * 100) << callers;
  }
  static_assert(sizeof(UsageThrottle::Ticket) <= 40);
}

TEST(Size, Table) {
  const auto row = [](const char* what, std::size_t bytes, std::size_t limit) {
    std::printf("%-44s %8zu", what, bytes);
    if (limit != 0) std::printf(" %8zu", limit);
    std::printf("\n");
    if (limit != 0) {
      EXPECT_LE(bytes, limit) << what;
    }
  };
  std::printf("%-44s %8s %8s\n", "what", "bytes", "limit");
  row("RateLimiter", SizeOf<RateLimiter>(), 0);
  row("ConcurrencyLimiter", SizeOf<ConcurrencyLimiter>(), 128);
  row("CircuitBreaker, time window", SizeOf<CircuitBreaker>(), 2048);
  row("GradientLimiter, without its histogram", kGradient, 1024);
  row("its histogram", kHistogram, 8192);
  row("KneeLimiter", SizeOf<KneeLimiter>(), 0);
  row("AdmissionController", SizeOf<AdmissionController>(), 0);
  row("DemeritTracker, per caller of 1000", TrackerBytes(1'000) / 1'000, kPerCaller);
  row("DemeritTracker, per caller of 100000", TrackerBytes(100'000) / 100'000, kPerCaller);
  row("AdmissionQueue, per call of 1000 that may wait", QueueBytes(1'000) / 1'000, kPerWaiter);
  row("UsageThrottle, per caller of 1000", ThrottleBytes(1'000) / 1'000, 0);
  row("UsageThrottle, per caller of 100000", ThrottleBytes(100'000) / 100'000, 88);
  row("guard of five policies", sizeof(Five::Guard), 256);
  row("guard of all policies", sizeof(All::Guard), 256);
  row("AnyGuard", sizeof(AnyGuard), 0);
  row("TscClock", sizeof(TscClock), 0);
}

}  // namespace
}  // namespace shed
