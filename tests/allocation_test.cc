// No call of a limiter takes memory: every operator new of this binary is counted, and malloc with
// it where that can be replaced.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <optional>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "shed/admission_controller.h"
#include "shed/admission_queue.h"
#include "shed/any_guard.h"
#include "shed/circuit_breaker.h"
#include "shed/concurrency_limiter.h"
#include "shed/demerit_tracker.h"
#include "shed/gradient_limiter.h"
#include "shed/knee_limiter.h"
#include "shed/limiter.h"
#include "shed/rate_limiter.h"
#include "shed/tsc_clock.h"
#include "shed/usage_throttle.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SHED_COUNTS_MALLOC 0  // Sanitizers have a malloc of their own.
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define SHED_COUNTS_MALLOC 0
#endif
#endif
#if !defined(SHED_COUNTS_MALLOC)
#if defined(__GLIBC__)
#define SHED_COUNTS_MALLOC 1
#else
#define SHED_COUNTS_MALLOC 0
#endif
#endif

namespace {

std::atomic<std::uint64_t> allocations{0};
void CountOne() noexcept { allocations.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

#if SHED_COUNTS_MALLOC
// glibc lets a program have its own malloc, and keeps the real one under these names.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* at, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) noexcept {
  CountOne();
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  CountOne();
  return __libc_calloc(count, size);
}
void* realloc(void* at, std::size_t size) noexcept {
  CountOne();
  return __libc_realloc(at, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  CountOne();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** at, std::size_t alignment, std::size_t size) noexcept {
  CountOne();
  *at = __libc_memalign(alignment, size);
  return *at != nullptr ? 0 : ENOMEM;
}
}  // extern "C"
#endif

// Every form, as a sanitizer's own would not call each other. Never inline: GCC would see a
// mismatch of new and free.
namespace {

[[gnu::noinline]] void* Take(std::size_t size, std::size_t alignment) noexcept {
  CountOne();
  if (alignment <= alignof(std::max_align_t)) return std::malloc(size != 0 ? size : 1);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}
[[gnu::noinline]] void* TakeOrThrow(std::size_t size, std::size_t alignment = 1) {
  if (void* const at = Take(size, alignment)) return at;
  throw std::bad_alloc();
}
[[gnu::noinline]] void Give(void* at) noexcept { std::free(at); }
constexpr std::size_t Of(std::align_val_t alignment) { return static_cast<std::size_t>(alignment); }

}  // namespace

void* operator new(std::size_t n) { return TakeOrThrow(n); }
void* operator new(std::size_t n, std::align_val_t a) { return TakeOrThrow(n, Of(a)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return Take(n, 1); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return Take(n, Of(a));
}
void operator delete(void* at) noexcept { Give(at); }
void operator delete(void* at, std::size_t) noexcept { Give(at); }
void operator delete(void* at, std::align_val_t) noexcept { Give(at); }
void operator delete(void* at, std::size_t, std::align_val_t) noexcept { Give(at); }
void operator delete(void* at, const std::nothrow_t&) noexcept { Give(at); }
void operator delete(void* at, std::align_val_t, const std::nothrow_t&) noexcept { Give(at); }
void* operator new[](std::size_t n) { return TakeOrThrow(n); }
void* operator new[](std::size_t n, std::align_val_t a) { return TakeOrThrow(n, Of(a)); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return Take(n, 1); }
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return Take(n, Of(a));
}
void operator delete[](void* at) noexcept { Give(at); }
void operator delete[](void* at, std::size_t) noexcept { Give(at); }
void operator delete[](void* at, std::align_val_t) noexcept { Give(at); }
void operator delete[](void* at, std::size_t, std::align_val_t) noexcept { Give(at); }
void operator delete[](void* at, const std::nothrow_t&) noexcept { Give(at); }
void operator delete[](void* at, std::align_val_t, const std::nothrow_t&) noexcept { Give(at); }

namespace shed {
namespace {

using namespace std::chrono_literals;

// Allocations of `run`.
template <class Run>
std::uint64_t AllocationsOf(const Run& run) {
  const std::uint64_t before = allocations.load();
  run();
  return allocations.load() - before;
}

// A count that cannot count would let everything pass.
TEST(Allocation, IsCounted) {
  EXPECT_EQ(AllocationsOf([] {}), 0U);
  // Called by name, so that no compiler may leave the pair out.
  EXPECT_GE(AllocationsOf([] { ::operator delete(::operator new(1)); }), 1U);
  EXPECT_GE(AllocationsOf([] { ::operator delete[](::operator new[](1)); }), 1U);
  EXPECT_GE(AllocationsOf([] { ::operator delete(::operator new(1, std::nothrow)); }), 1U);
  constexpr std::align_val_t kLine{64};
  EXPECT_GE(AllocationsOf([] { ::operator delete(::operator new(64, kLine), kLine); }), 1U);
  EXPECT_GE(AllocationsOf([] { ::operator delete[](::operator new[](64, kLine), kLine); }), 1U);
  std::vector<int> grown;
  EXPECT_GE(AllocationsOf([&] { grown.resize(100); }), 1U);
#if SHED_COUNTS_MALLOC
  const auto keep = [](void* at) {
    static void* volatile kept;
    kept = at;
    std::free(kept);
  };
  EXPECT_EQ(AllocationsOf([&] { keep(std::malloc(10)); }), 1U);
  EXPECT_EQ(AllocationsOf([&] { keep(std::calloc(1, 10)); }), 1U);
  EXPECT_EQ(AllocationsOf([&] { keep(std::realloc(nullptr, 10)); }), 1U);
  EXPECT_EQ(AllocationsOf([&] { keep(std::aligned_alloc(64, 64)); }), 1U);
  void* at = nullptr;
  EXPECT_EQ(AllocationsOf([&] { EXPECT_EQ(posix_memalign(&at, 64, 64), 0); }), 1U);
  std::free(at);
#endif
}

// Refuses every seventh call, behind the others: they get Cancel.
class Fickle {
 public:
  static constexpr std::string_view kName = "fickle";
  Fickle() = default;
  Fickle(const Fickle&) noexcept {}
  Verdict Admit(const Request&, TimePoint) noexcept {
    return calls_.fetch_add(1, std::memory_order_relaxed) % 7 == 6
               ? Verdict::Refuse(Reason::kConcurrency)
               : Verdict::Admit();
  }

 private:
  std::atomic<std::uint64_t> calls_{0};
};
static_assert(Policy<Fickle>);

class CountingObserver : public Observer {
 public:
  void OnEvent(const Event&) noexcept override { events.fetch_add(1); }
  std::atomic<std::uint64_t> events{0};
};

// What a drive went through.
struct Seen {
  std::uint64_t admitted = 0;
  std::uint64_t refused = 0;
  std::uint64_t cancelled = 0;
};

// Calls of every kind, on guards of type G: named and nameless callers, all classes, costs, waits,
// exempt calls; every outcome, notes, drops, charges, moves; while the time moves within slices,
// past slices, windows, penalties and whole days, and now and then back.
template <class G, class L>
Seen Drive(L& limiter, ManualClock& clock, std::uint32_t seed, int steps) {
  constexpr std::string_view kCallers[] = {
      "", "alice", "bob", "a caller with a name that is longer than any small string holds",
      "dora"};
  constexpr Duration kMoves[] = {0ns, 1ns, 1us, 50us, 1ms, 1ms, 3ms, 20ms, 100ms, 1s};
  std::array<std::optional<G>, 32> guards;
  Seen seen;
  std::uint32_t random = seed;
  const auto draw = [&](std::uint32_t n) {
    random = random * 1664525 + 1013904223;
    return (random >> 8) % n;
  };
  for (int step = 0; step < steps; ++step) {
    std::optional<G>& guard = guards[draw(guards.size())];
    if (guard.has_value()) {
      switch (draw(8)) {
        case 0:
          break;  // Dropped.
        case 1:
          guard->Note(Outcome::kSuccess);
          break;
        case 2:
          guard->Charge(draw(5));
          [[fallthrough]];
        default:
          // Spells of failures and of health, so that breakers and controllers turn.
          guard->Complete(step / 2'000 % 2 == 0 ? Outcome::kSuccess
                                                : static_cast<Outcome>(draw(kOutcomeCount)));
      }
      guard.reset();
    } else {
      Request request;
      // Spells in which one caller asks for most of it.
      request.caller = kCallers[draw(4) == 0 ? draw(5) : step / 500 % 2 == 0 ? 1 : 2];
      request.route = "/route";
      request.cost = draw(4);
      request.criticality = static_cast<Criticality>(draw(kCriticalityCount));
      request.retry = draw(4) == 0;
      request.exempt = draw(50) == 0;
      if (draw(8) == 0) request.max_wait = 5ms;
      if (draw(8) == 0) request.queued_for = 2ms;
      if (draw(8) == 0) request.time_left = 50ms;
      G made = limiter.TryAdmit(request);
      if (made) {
        ++seen.admitted;
        guard.emplace(std::move(made));
      } else {
        ++seen.refused;
        if (made.rejection().policy_name() == Fickle::kName) ++seen.cancelled;
      }
    }
    // Mostly small moves, at a few thousand calls per second.
    clock.Advance(draw(10) == 0 ? kMoves[draw(std::size(kMoves))] : Duration(draw(200'000)));
    if (draw(3'000) == 0) clock.Advance(11s);
    if (draw(5'000) == 0) clock.Advance(25h);
    if (draw(500) == 0) clock.Advance(-3ms);
  }
  return seen;
}

// Options with which every policy both admits and refuses, and turns its windows often.
constexpr RateLimiterOptions kRate{.rate = 3'000, .burst = 30};
constexpr ConcurrencyLimiterOptions kConcurrency{.limit = 24, .usable = {0.5, 0.8, 1, 1}};
constexpr CircuitBreakerOptions kBreaker{
    .window = 1s, .slow_call = 40ms, .open_for = 100ms, .max_open_for = 1s, .ramp = 100ms};
constexpr CircuitBreakerOptions kCountingBreaker{.count_window = 200, .open_for = 100ms};
constexpr GradientLimiterOptions kGradient{.max_limit = 20};
constexpr KneeLimiterOptions kKnee{.max_limit = 20};
constexpr AdmissionControllerOptions kAdmission{.window = 1s};
constexpr UsageThrottleOptions kUsage{
    .soft = 20, .hard = 40, .window = 50ms, .max_delayed = 5, .max_callers = 4};
constexpr DemeritTrackerOptions kDemerit{.budget = 30, .window = 1s, .max_callers = 4};

template <class... Policies>
using LimiterOf = BasicLimiter<ManualClock, StdSync, Policies...>;

// Drives a limiter with `policy` in front of Fickle, by its own guards and by AnyGuards.
template <class P>
void ExpectNone(const internal::ParameterOf<P>& options, bool refuses, bool has_events) {
  using L = LimiterOf<P, Fickle>;
  SCOPED_TRACE(P::kName);
  ManualClock clock(TimePoint(100h));
  CountingObserver observer;
  L limiter(clock, options, Fickle(), {.name = "limiter", .observer = &observer});
  Seen own;
  Seen any;
  EXPECT_EQ(AllocationsOf([&] { own = Drive<typename L::Guard>(limiter, clock, 1, 40'000); }), 0U);
  EXPECT_EQ(AllocationsOf([&] { any = Drive<AnyGuard>(limiter, clock, 2, 40'000); }), 0U);
  // It went through what it is to show.
  for (const Seen& seen : {own, any}) {
    EXPECT_GT(seen.admitted, 5'000U);
    EXPECT_GT(seen.cancelled, 500U);
    if (refuses) {
      EXPECT_GT(seen.refused - seen.cancelled, 100U);
    }
  }
  if (has_events) {
    EXPECT_GT(observer.events.load(), 5U);
  }
}

TEST(Allocation, NoneInRateLimiter) { ExpectNone<RateLimiter>(kRate, true, false); }
TEST(Allocation, NoneInConcurrencyLimiter) {
  ExpectNone<ConcurrencyLimiter>(kConcurrency, true, false);
}
TEST(Allocation, NoneInCircuitBreaker) { ExpectNone<CircuitBreaker>(kBreaker, true, true); }
TEST(Allocation, NoneInCircuitBreakerByCount) {
  ExpectNone<CircuitBreaker>(kCountingBreaker, true, true);
}
TEST(Allocation, NoneInGradientLimiter) { ExpectNone<GradientLimiter>(kGradient, true, true); }
TEST(Allocation, NoneInKneeLimiter) { ExpectNone<KneeLimiter>(kKnee, true, true); }
TEST(Allocation, NoneInAdmissionController) {
  ExpectNone<AdmissionController>(kAdmission, true, false);
}
// Four callers fit, five ask: known ones, and those that have come and gone.
TEST(Allocation, NoneInDemeritTracker) { ExpectNone<DemeritTracker>(kDemerit, true, true); }

TEST(Allocation, NoneInUsageThrottle) { ExpectNone<UsageThrottle>(kUsage, true, true); }

TEST(Allocation, NoneInNamed) {
  ExpectNone<Named<"per-user", RateLimiter>>(kRate, true, false);
  ExpectNone<Named<"own", DemeritTracker>>(kDemerit, true, true);
}

using All = LimiterOf<DemeritTracker, RateLimiter, CircuitBreaker, AdmissionController,
                      Named<"slots", ConcurrencyLimiter>, GradientLimiter, KneeLimiter, Fickle>;

TEST(Allocation, NoneInAStackOfAllPolicies) {
  constexpr RateLimiterOptions kLower{.rate = 1'500, .burst = 8};
  ManualClock clock(TimePoint(100h));
  CountingObserver observer;
  All limiter(clock, kDemerit, kLower, kBreaker, kAdmission, kConcurrency, kGradient, kKnee,
              Fickle(), {.observer = &observer});
  EXPECT_EQ(AllocationsOf([&] { Drive<All::Guard>(limiter, clock, 3, 60'000); }), 0U);
  EXPECT_EQ(AllocationsOf([&] { Drive<AnyGuard>(limiter, clock, 4, 60'000); }), 0U);
  const auto snapshot = limiter.Snapshot();
  for (std::size_t i = 0; i < All::kPolicyCount; ++i) {
    EXPECT_GT(snapshot.RefusedBy(i), 0U) << All::PolicyName(i);
  }
  EXPECT_GT(observer.events.load(), 20U);
}

// Calls wait, leave, expire, are evicted and are let in.
TEST(Allocation, NoneInAdmissionQueue) {
  using L = LimiterOf<ConcurrencyLimiter>;
  using Queue = AdmissionQueue<L>;
  ManualClock clock(TimePoint(100h));
  L limiter(clock, {.limit = 8});
  std::array<std::optional<Queue::Guard>, 32> guards;
  Queue queue(limiter, {.max_waiting = 12, .max_wait = 20ms, .interval = 50ms});
  std::array<Queue::Ticket, 32> tickets;
  std::uint32_t random = 1;
  const auto draw = [&](std::uint32_t n) {
    random = random * 1664525 + 1013904223;
    return (random >> 8) % n;
  };
  EXPECT_EQ(AllocationsOf([&] {
              for (int step = 0; step < 100'000; ++step) {
                std::optional<Queue::Guard>& guard = guards[draw(guards.size())];
                Queue::Ticket& ticket = tickets[draw(tickets.size())];
                if (draw(9) == 0) {
                  queue.Leave(ticket);
                } else if (guard) {
                  auto ended = *std::exchange(guard, std::nullopt);
                  ended.Complete(Outcome::kSuccess);
                } else {
                  ticket =
                      queue.Enter({.criticality = static_cast<Criticality>(draw(4)),
                                   .time_left = draw(4) == 0 ? Duration(5ms) : Duration::max()},
                                  [&guard](Queue::Guard made) {
                                    if (made) guard = std::move(made);
                                  });
                }
                clock.Advance(Duration(draw(2'000'000)));
                if (draw(20) == 0) queue.Poll();
                if (step % 200 == 0) {  // Calm again.
                  for (auto& held : guards) {
                    const auto ended = std::exchange(held, std::nullopt);
                  }
                  clock.Advance(1s);
                }
              }
            }),
            0U);
  const AdmissionQueueSnapshot seen = queue.Read();
  for (const std::uint64_t n : {seen.admitted_at_once, seen.admitted_after_wait, seen.expired,
                                seen.timed_out, seen.left, seen.full, seen.evicted}) {
    EXPECT_GT(n, 100U);
  }
}

// Several threads at once, each of them new: what a thread first does takes no memory either.
TEST(Allocation, NoneOnAnyThread) {
  ManualClock clock(TimePoint(100h));
  All limiter(clock, kDemerit, kRate, kBreaker, kAdmission, kConcurrency, kGradient, kKnee,
              Fickle());
  constexpr unsigned kThreads = 3;
  std::atomic<unsigned> ready{0};
  std::atomic<unsigned> done{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  for (unsigned id = 0; id < kThreads; ++id) {
    threads.emplace_back([&, id] {
      ++ready;
      while (!go) std::this_thread::yield();
      Drive<All::Guard>(limiter, clock, 10 + id, 10'000);
      ++done;
    });
  }
  while (ready != kThreads) std::this_thread::yield();
  EXPECT_EQ(AllocationsOf([&] {
              go = true;
              while (done != kThreads) std::this_thread::yield();
            }),
            0U);
  for (std::thread& thread : threads) thread.join();
}

// A clock that measures itself, from its construction on.
TEST(Allocation, NoneInTscClock) {
  EXPECT_EQ(AllocationsOf([] {
              const TscClock clock;
              for (int i = 0; i < 1'000'000; ++i) static_cast<void>(clock.Now());
            }),
            0U);
}

}  // namespace
}  // namespace shed
