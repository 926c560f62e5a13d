// What is measured: one class per row, whose call is one iteration. It returns false if the call
// did not go as the row's name says; the row is then an error and no figure.
#ifndef SHED_BENCH_SUBJECTS_H_
#define SHED_BENCH_SUBJECTS_H_

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/floors.h"
#include "shed/admission_controller.h"
#include "shed/circuit_breaker.h"
#include "shed/clock.h"
#include "shed/concurrency_limiter.h"
#include "shed/demerit_tracker.h"
#include "shed/gradient_limiter.h"
#include "shed/knee_limiter.h"
#include "shed/limiter.h"
#include "shed/rate_limiter.h"
#include "shed/solo.h"
#include "shed/tsc_clock.h"
#include "shed/usage_throttle.h"

namespace shed::bench {

// Never reached, and reached at once.
inline constexpr RateLimiterOptions kFastRate{.rate = 1'000'000'000, .burst = 1'000'000'000};
inline constexpr RateLimiterOptions kSlowRate{.rate = 1, .per = std::chrono::hours(24), .burst = 1};
inline constexpr ConcurrencyLimiterOptions kWide{.limit = 1000};
// A window in which no slice turns while it is measured.
inline constexpr Duration kLongWindow = std::chrono::hours(24);

// ---- Floors ----

struct ClockFloor {
  bool operator()() noexcept { return ReadClock() != 0; }
};
struct ClockAndCountFloor {
  OwnCount refused;
  bool operator()() noexcept {
    const bool ok = ReadClock() != 0;
    refused.Add();
    return ok;
  }
};
struct RateAdmitFloor {
  CallFloor counts;
  Padded<std::int64_t> rate;
  bool operator()() noexcept {
    const bool ok = TakeToken(rate.value, ReadClock());
    counts.admitted.Add();
    counts.completed.Add();
    return ok;
  }
};
struct RateRefuseFloor {
  Padded<std::int64_t> full_at{.value = std::int64_t{1} << 62};
  OwnCount refused;
  bool operator()() noexcept {
    const bool ok = ReadClock() < full_at.value.load(std::memory_order_relaxed);
    refused.Add();
    return ok;
  }
};
struct ConcurrencyPairFloor {
  Padded<std::uint64_t> in_flight;
  Padded<std::uint64_t> limit{.value = 1000};
  bool operator()() noexcept {
    const bool ok = TakePermit(in_flight.value, limit.value);
    GivePermit(in_flight.value);
    return ok;
  }
};
struct CompareExchangeFloor {
  ExchangeFloor word;
  // One that loses to another thread is a compare-exchange all the same.
  bool operator()() noexcept {
    benchmark::DoNotOptimize(word.Exchange());
    return true;
  }
};
struct BreakerPairFloor {
  BreakerFloor breaker;
  std::int64_t now = ReadClock();
  bool operator()() noexcept { return breaker.Closed() && breaker.End(now); }
};
struct AdmissionPairFloor {
  AdmissionFloor admission;
  bool operator()() noexcept {
    const bool ok = ReadClock() != 0 && admission.Admits();
    admission.End();
    return ok;
  }
};
struct AdaptivePairFloor {
  CallFloor counts;
  Padded<std::uint64_t> in_flight;
  Padded<std::uint64_t> limit{.value = 1000};
  bool operator()() noexcept {
    const std::int64_t start = ReadClock();
    const bool ok = TakePermit(in_flight.value, limit.value);
    counts.admitted.Add();
    const std::int64_t end = ReadClock();
    GivePermit(in_flight.value);
    counts.completed.Add();
    return ok && end >= start;
  }
};
// The words that every call changes, on a line each, or all on one.
struct PaddedWords {
  alignas(64) std::atomic<std::int64_t> rate{0};
  alignas(64) std::atomic<std::uint64_t> in_flight{0};
  alignas(64) std::atomic<std::uint64_t> adaptive{0};
};
struct alignas(64) PackedWords {
  std::atomic<std::int64_t> rate{0};
  std::atomic<std::uint64_t> in_flight{0};
  std::atomic<std::uint64_t> adaptive{0};
};
template <class Words>
struct FiveFloor {
  CallFloor counts;
  Words words;
  Padded<std::uint64_t> limit{.value = 1000};
  Sharded latencies;
  BreakerFloor breaker;
  AdmissionFloor admission;
  bool operator()() noexcept {
    const std::int64_t start = ReadClock();
    const bool ok = TakeToken(words.rate, start) && TakePermit(words.in_flight, limit.value) &&
                    TakePermit(words.adaptive, limit.value) && breaker.Closed() &&
                    admission.Admits();
    counts.admitted.Add();
    const std::int64_t end = ReadClock();
    admission.End();
    const bool counted = breaker.End(end);
    latencies.Add();
    GivePermit(words.adaptive);
    GivePermit(words.in_flight);
    counts.completed.Add();
    return ok && counted && end >= start;
  }
};
using FivePairFloor = FiveFloor<PaddedWords>;
using FivePackedFloor = FiveFloor<PackedWords>;

// ---- A limiter: admit and complete, or refuse ----

template <class L>
bool CallAndComplete(L& limiter, const Request& request = {}) noexcept {
  auto guard = limiter.TryAdmit(request);
  const bool ok = static_cast<bool>(guard);
  guard.Complete(Outcome::kSuccess);
  return ok;
}
template <class L>
bool IsRefused(L& limiter, std::size_t policy, const Request& request = {}) noexcept {
  const auto guard = limiter.TryAdmit(request);
  return !guard && guard.rejection().policy() == policy;
}

struct RateAdmit {
  Limiter<RateLimiter> limiter{kFastRate};
  bool operator()() noexcept { return CallAndComplete(limiter); }
};
struct RateRefuse {
  Limiter<RateLimiter> limiter{kSlowRate};
  RateRefuse() { CallAndComplete(limiter); }
  bool operator()() noexcept { return IsRefused(limiter, 0); }
};
struct BreakerRefuse {
  Limiter<CircuitBreaker> limiter{CircuitBreakerOptions{.open_for = kLongWindow}};
  BreakerRefuse() {
    for (int i = 0; i < 20; ++i) limiter.TryAdmit().Complete(Outcome::kFailure);
  }
  bool operator()() noexcept { return IsRefused(limiter, 0); }
};
struct GradientPair {
  Limiter<GradientLimiter> limiter{GradientLimiterOptions{}};
  bool operator()() noexcept { return CallAndComplete(limiter); }
};
struct KneePair {
  Limiter<KneeLimiter> limiter{KneeLimiterOptions{}};
  bool operator()() noexcept { return CallAndComplete(limiter); }
};

template <class ClockT, class Sync>
using FiveLimiter = BasicLimiter<ClockT, Sync, BasicRateLimiter<Sync>,
                                 BasicConcurrencyLimiter<Sync>, BasicGradientLimiter<Sync>,
                                 BasicCircuitBreaker<Sync>, BasicAdmissionController<Sync>>;
using Five = FiveLimiter<SteadyClock, StdSync>;

struct FivePair {
  Five limiter{kFastRate, kWide, {}, {}, {}};
  bool operator()() noexcept { return CallAndComplete(limiter); }
};
struct NoSyncFivePair {
  FiveLimiter<SteadyClock, NoSync> limiter{kFastRate, kWide, {}, {}, {}};
  bool operator()() noexcept { return CallAndComplete(limiter); }
};
struct TscFivePair {
  TscClock clock;
  FiveLimiter<TscClock, StdSync> limiter{clock, kFastRate, kWide, {}, {}, {}};
  bool operator()() noexcept { return CallAndComplete(limiter); }
};
struct FiveRefuseFirst {
  Five limiter{kSlowRate, kWide, {}, {}, {}};
  FiveRefuseFirst() { CallAndComplete(limiter); }
  bool operator()() noexcept { return IsRefused(limiter, 0); }
};
// The admission controller refuses every call of the least critical class: of so many calls that
// failed nearly all are to be refused, and that class is a small part of them.
struct FiveRefuseLast {
  Five limiter{kFastRate,
               kWide,
               {},
               {},
               {.window = kLongWindow, .aggression = 10, .max_rejection = 1, .min_rps = 0}};
  FiveRefuseLast() {
    auto& controller = limiter.Get<AdmissionController>();
    const TimePoint now = limiter.Now();
    for (int i = 0; i < 200'000; ++i) {
      AdmissionController::Ticket ticket;
      if (controller.Admit({}, now, ticket).admitted()) {
        controller.Complete(ticket, {.started = now, .now = now, .outcome = Outcome::kFailure});
      }
    }
  }
  bool operator()() noexcept {
    return IsRefused(limiter, 4, {.criticality = Criticality::kSheddable});
  }
};

// ---- A policy by itself ----

// `now` is given.
template <class P>
struct PolicyPair {
  Solo<P> policy;
  TimePoint now = SteadyClock::Now();
  Events events;  // Nothing that is measured here has any, or so few that they do not count.

  explicit PolicyPair(const typename P::Options& options = {}) : policy(options) {}
  bool operator()() noexcept { return At(now); }
  bool At(TimePoint at, const Request& request = {}) noexcept {
    typename P::Ticket ticket{};
    const bool ok = internal::Admit<P>(policy, request, at, ticket, events).admitted();
    internal::Complete<P>(policy, ticket, {.started = at, .now = at, .outcome = Outcome::kSuccess},
                          events);
    return ok;
  }
  bool Refuses(TimePoint at, const Request& request = {}) noexcept {
    typename P::Ticket ticket{};
    return !internal::Admit<P>(policy, request, at, ticket, events).admitted();
  }
  // Takes all that may be in flight.
  void Fill() noexcept {
    typename P::Ticket ticket{};
    while (internal::Admit<P>(policy, {}, now, ticket, events).admitted()) ticket = {};
  }
};
struct ConcurrencyPair : PolicyPair<ConcurrencyLimiter> {
  ConcurrencyPair() : PolicyPair(kWide) {}
};
struct BreakerPair : PolicyPair<CircuitBreaker> {
  // In its present slice all along: what a turn costs is a ten-millionth of it.
  BreakerPair() : PolicyPair({.window = kLongWindow}) {}
};
template <class P>
struct PolicyRefuse : PolicyPair<P> {
  PolicyRefuse() { this->Fill(); }
  bool operator()() noexcept { return this->Refuses(this->now); }
};
using ConcurrencyRefuse = PolicyRefuse<ConcurrencyLimiter>;
using GradientRefuse = PolicyRefuse<GradientLimiter>;
using KneeRefuse = PolicyRefuse<KneeLimiter>;

// The clock is read once.
struct AdmissionPair : PolicyPair<AdmissionController> {
  bool operator()() noexcept { return At(SteadyClock::Now()); }
};
struct AdmissionRefuse : PolicyPair<AdmissionController> {
  AdmissionRefuse()
      : PolicyPair({.window = kLongWindow, .aggression = 10, .max_rejection = 1, .min_rps = 0}) {
    for (int i = 0; i < 200'000; ++i) {
      AdmissionController::Ticket ticket;
      if (policy.Admit({}, now, ticket).admitted()) {
        policy.Complete(ticket, {.started = now, .now = now, .outcome = Outcome::kFailure});
      }
    }
  }
  bool operator()() noexcept {
    return Refuses(SteadyClock::Now(), {.criticality = Criticality::kSheddable});
  }
};

// ---- Fair share: `kCallers` active callers, in random order; the clock is read once ----

// The callers, and whose calls each thread makes: drawn at random, with replacement, so that with
// two threads the last call of a caller was as often one's own as the other's. The names of the
// calls lie one after the other, as those of a server's requests lie in memory that was just
// written.
template <std::size_t kCallers>
class Callers {
 public:
  Callers() {
    std::uint64_t random = 1;
    for (std::vector<Name>& calls : calls_) {
      calls.resize(std::max<std::size_t>(1000, 2 * kCallers));
      for (Name& name : calls) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        name = NameOf((random >> 33) % kCallers);
      }
    }
  }
  std::string_view Next() noexcept {
    const std::vector<Name>& calls = calls_[this_thread];
    std::size_t& at = at_[this_thread].at;
    if (++at == calls.size()) at = 0;
    return {calls[at].data(), calls[at].size()};
  }
  // Calls `known(name)` for each caller, in an order that has nothing to do with that of the calls.
  template <class Known>
  static void ForEach(Known known) {
    for (std::size_t i = 0; i < kCallers; ++i) {
      const Name name = NameOf(i);
      known(std::string_view(name.data(), name.size()));
    }
  }

 private:
  using Name = std::array<char, 19>;
  static Name NameOf(std::size_t i) {
    Name name;
    ("customer-" + std::to_string(1'000'000'000 + i)).copy(name.data(), name.size());
    return name;
  }
  struct alignas(64) Place {
    std::size_t at = 0;
  };
  std::array<std::vector<Name>, 2> calls_;
  std::array<Place, 2> at_{};
};

template <std::size_t kCallers>
struct FairShare : PolicyPair<DemeritTracker> {
  Callers<kCallers> callers;
  // All of them stay active while it is measured.
  FairShare()
      : PolicyPair({.budget = 1'000'000,
                    .window = kLongWindow,
                    .max_callers = static_cast<std::int64_t>(kCallers)}) {
    callers.ForEach([this](std::string_view name) { At(SteadyClock::Now(), {.caller = name}); });
  }
  bool operator()() noexcept { return At(SteadyClock::Now(), {.caller = callers.Next()}); }
};
// Callers that keep within their allowance.
template <std::size_t kCallers>
struct FairUse : PolicyPair<UsageThrottle> {
  Callers<kCallers> callers;
  FairUse()
      : PolicyPair({.soft = 1'000'000'000'000,
                    .hard = 1'000'000'000'000,
                    .window = kLongWindow,
                    .max_callers = static_cast<std::int64_t>(kCallers)}) {
    callers.ForEach([this](std::string_view name) { At(SteadyClock::Now(), {.caller = name}); });
  }
  bool operator()() noexcept { return At(SteadyClock::Now(), {.caller = callers.Next()}); }
};
// Everybody holds its share, and asks for more.
template <std::size_t kCallers>
struct FairShareRefuse : PolicyPair<DemeritTracker> {
  Callers<kCallers> callers;
  FairShareRefuse()
      : PolicyPair({.budget = static_cast<std::int64_t>(kCallers),
                    .window = kLongWindow,
                    .max_callers = static_cast<std::int64_t>(kCallers)}) {
    callers.ForEach([this](std::string_view name) {
      DemeritTracker::Ticket ticket;
      policy.Admit({.caller = name}, SteadyClock::Now(), ticket, events);
    });
  }
  bool operator()() noexcept { return Refuses(SteadyClock::Now(), {.caller = callers.Next()}); }
};

}  // namespace shed::bench

#endif  // SHED_BENCH_SUBJECTS_H_
