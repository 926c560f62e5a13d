// Tokens, whatever the order: an oracle, told of each call when its last access is made, holds what
// the limiter should hold. So no more than burst + rate·T is admitted in any time T, and a refund
// gives back what was paid, and never more than the burst.
#include "shed/rate_limiter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "explore.h"
#include "scenario.h"
#include "scheduled_sync.h"
#include "shed/internal/int128.h"

namespace shed::schedule {
namespace {

using namespace std::chrono_literals;
using shed::internal::Int128;
using Limiter = BasicRateLimiter<ScheduledSync>;

// One call: asks at a time, then ends at another.
struct Call {
  Duration at{0};
  std::uint64_t cost = 1;
  Duration max_wait{0};
  std::optional<std::uint64_t> charge{};  // Settled at.
  bool cancel = false;
  Duration ends_at = at;
  // Its clock reading may come long after those of others: it may be refused what is there.
  bool lags = false;
};
using Calls = std::vector<std::vector<Call>>;  // Of each thread, one after the other.

// The rule without epochs: ticks since the clock's zero.
class Bucket {
 public:
  explicit Bucket(const RateLimiterOptions& options)
      : ticks_(options.rate, options.per),
        burst_ticks_(Int128{options.burst} * ticks_.ticks_per_unit) {}

  // How long the call would have to wait.
  Duration Wait(Duration now, std::uint64_t cost) const {
    const Int128 over = Next(now, cost) - burst_ticks_ - Ticks(now);
    if (over <= 0) return Duration(0);
    return Duration(
        static_cast<std::int64_t>((over + ticks_.ticks_per_ns - 1) / ticks_.ticks_per_ns));
  }
  void Take(Duration now, std::uint64_t cost) { full_at_ = Next(now, cost); }
  void GiveBack(std::uint64_t units) { full_at_ -= Int128(units) * ticks_.ticks_per_unit; }
  Duration FullIn(Duration now) const {
    const Int128 missing = std::max<Int128>(full_at_ - Ticks(now), 0);
    return Duration(
        static_cast<std::int64_t>((missing + ticks_.ticks_per_ns - 1) / ticks_.ticks_per_ns));
  }
  std::uint64_t Hash() const {
    return MixBits(static_cast<std::uint64_t>(full_at_) ^
                   MixBits(static_cast<std::uint64_t>(full_at_ >> 64)));
  }

 private:
  Int128 Ticks(Duration at) const { return Int128{at.count()} * ticks_.ticks_per_ns; }
  Int128 Next(Duration now, std::uint64_t cost) const {
    return std::max(full_at_, Ticks(now)) + Int128(cost) * ticks_.ticks_per_unit;
  }

  const shed::internal::RateInTicks ticks_;
  const Int128 burst_ticks_;
  Int128 full_at_ = -(Int128{1} << 100);
};

class Tokens : public Scenario {
 public:
  Tokens(const RateLimiterOptions& options, Calls calls)
      : Scenario(static_cast<int>(calls.size())),
        limiter_(options, hot_),
        bucket_(options),
        calls_(std::move(calls)) {
    for (const auto& of_thread : calls_) {
      for (const Call& call : of_thread) {
        latest_ = std::max({latest_, call.at, call.ends_at});
        exact_ = exact_ && !call.lags;
      }
    }
  }

  void Run(int thread) override {
    const auto me = static_cast<std::size_t>(thread);
    std::uint64_t done = 0;
    for (const Call& call : calls_[me]) {
      Scheduler::Remember({++done});
      Limiter::Ticket ticket;
      asks_[me] = &call;
      may_refuse_[me] = MayRefuse(call);
      const Verdict verdict = limiter_.Admit({.cost = call.cost, .max_wait = call.max_wait},
                                             TimePoint(call.at), ticket);
      asks_[me] = nullptr;
      const bool may_refuse = std::exchange(may_refuse_[me], false);
      if (!verdict.admitted()) {
        if (!call.lags && !may_refuse) Scheduler::Fail("refused what was there all the time");
        continue;
      }
      const Duration wait = bucket_.Wait(call.at, call.cost);
      if (wait > verdict.wait()) Scheduler::Fail("admitted above burst + rate * T");
      if (!call.lags && wait < verdict.wait()) Scheduler::Fail("waits longer than it must");
      bucket_.Take(call.at, call.cost);
      Scheduler::Remember({done, 1});
      End(call, ticket);
    }
  }

  std::string Check(int) override {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (asks_[i] != nullptr) may_refuse_[i] = may_refuse_[i] || MayRefuse(*asks_[i]);
    }
    const Limiter::Snapshot now = limiter_.Read(TimePoint(latest_));
    const Duration want = bucket_.FullIn(latest_);
    if (now.full_in < want) return "more tokens than there should be";
    if (exact_ && now.full_in > want) return "fewer tokens than there should be";
    if (now.available > now.burst) return "more tokens than the burst";
    return "";
  }
  std::string End() override { return Check(0); }
  std::uint64_t Ghost() const override {
    std::uint64_t hash = bucket_.Hash();
    for (const bool may : may_refuse_) hash = hash * 2 + (may ? 1 : 0);
    return hash;
  }

 private:
  bool MayRefuse(const Call& call) const {
    return bucket_.Wait(call.at, call.cost) > call.max_wait;
  }
  void End(const Call& call, Limiter::Ticket& ticket) {
    const auto paid = static_cast<std::uint64_t>(ticket.units);
    const std::uint64_t costs = call.charge.value_or(paid);
    if (call.charge) {
      limiter_.Charge(ticket, costs, TimePoint(call.ends_at));
      if (costs > paid) {
        bucket_.Take(call.ends_at, costs - paid);
      } else {
        bucket_.GiveBack(paid - costs);
      }
    }
    if (call.cancel) {
      limiter_.Cancel(ticket, kCause, TimePoint(call.ends_at));
      bucket_.GiveBack(costs);
    } else {
      limiter_.Complete(ticket, Outcome::kSuccess);
    }
    // It has ended: this does nothing.
    limiter_.Cancel(ticket, kCause, TimePoint(call.ends_at));
  }

  static constexpr Verdict kCause = Verdict::Refuse(Reason::kConcurrency);

  Limiter::Hot hot_;
  Limiter limiter_;
  Bucket bucket_;
  bool exact_ = true;
  const Calls calls_;
  Duration latest_{0};
  std::array<const Call*, kMaxThreads> asks_{};
  std::array<bool, kMaxThreads> may_refuse_{};  // At some time since it asked.
};

constexpr RateLimiterOptions kPerSecond{.rate = 1000, .burst = 3};

// All at the same instant. The first calls open the first epoch.
TEST(RateLimiterSchedule, TwoThreadsAtOneInstant) {
  const Calls calls = {{{.cost = 2}, {.cost = 2, .cancel = true}, {}},
                       {{.cancel = true}, {}, {.cost = 3}}};
  ExpectFineInEveryOrder(ExploreAll<Tokens>({.spurious = 2}, kPerSecond, calls));
}

TEST(RateLimiterSchedule, ThreeThreadsAtOneInstant) {
  const Calls calls = {{{.cost = 2}}, {{.cancel = true}, {}}, {{.cost = 2}}};
  ExpectFineInEveryOrder(ExploreAll<Tokens>({.spurious = 0}, kPerSecond, calls));
}

// Threads whose clock readings lie apart; refunds that come when the bucket is full again.
TEST(RateLimiterSchedule, ClocksApart) {
  const Calls calls = {
      {{.at = 0ms, .cost = 3, .cancel = true, .ends_at = 4ms}, {.at = 4ms, .cost = 3}},
      {{.at = 4ms, .cost = 2}, {.at = 1ms}, {.at = 5ms, .cost = 2}}};
  ExpectFineInEveryOrder(ExploreAll<Tokens>({.spurious = 2}, kPerSecond, calls));
}

TEST(RateLimiterSchedule, ReservationsAndCharges) {
  const Calls calls = {{{.cost = 3, .max_wait = 2ms, .charge = 1}, {.at = 1ms, .max_wait = 1ms}},
                       {{.charge = 5, .cancel = true}, {.cost = 2, .max_wait = 10ms, .charge = 0}}};
  ExpectFineInEveryOrder(ExploreAll<Tokens>({.spurious = 1}, kPerSecond, calls));
}

// At this rate an epoch is over after 0.144 s. A thread that stops may find that several have
// passed; each has its own anchor, and takes over what is left in the bucket.
constexpr RateLimiterOptions kFast{.rate = 1'999'999'993, .burst = 3};

Call Lags(Duration at, std::uint64_t cost, bool cancel = false) {
  return {.at = at, .cost = cost, .cancel = cancel, .ends_at = at, .lags = true};
}

TEST(RateLimiterSchedule, TwoThreadsTurnEpochs) {
  const Calls calls = {{Lags(0s, 2), Lags(200ms, 3), Lags(400ms, 2)},
                       {Lags(200ms, 2, true), {.at = 400ms, .cost = 2}}};
  ExpectFineInEveryOrder(ExploreAll<Tokens>({.spurious = 0}, kFast, calls));
}

TEST(RateLimiterSchedule, ThreeThreadsTurnEpochs) {
  const Calls calls = {{{.at = 200ms, .cost = 2}}, {{.at = 200ms, .cost = 2}}, {Lags(0s, 2)}};
  ExpectFineInEveryOrder(ExploreAll<Tokens>({.spurious = 0}, kFast, calls));
}

// A thread sleeps between two of its accesses while epochs pass, until the place of its epoch's
// anchor is another's.
TEST(RateLimiterSchedule, AThreadSleepsThroughEpochs) {
  Calls calls = {{{.at = 1000ms, .cost = 2}}, {Lags(200ms, 3)}};
  for (const Duration at : {400ms, 600ms, 800ms, 1000ms}) calls[1].push_back(Lags(at, 1));
  ExpectFineInEveryOrder(ExploreAll<Tokens>({.spurious = 0}, kFast, calls));
}

// What is in the bucket when an epoch opens is there afterwards, exactly; also what is taken while
// it opens, by a thread that still finds the old one long enough.
TEST(RateLimiterSchedule, AnEpochKeepsWhatIsThere) {
  const Calls first = {{{.at = 200ms, .cost = 2, .max_wait = 1us}, {.at = 200ms}},
                       {{.at = 200ms, .cost = 2, .cancel = true}, {.at = 200ms, .cost = 3}}};
  ExpectFineInEveryOrder(ExploreAll<Tokens>({.spurious = 1}, kFast, first));
  constexpr RateLimiterOptions kWide{.rate = 1'999'999'993, .burst = 200'000'000};  // 0.1 s.
  const Calls second = {{{.at = 290ms}, {.at = 390ms, .cost = 200'000'000}},
                        {{.at = 400ms, .cost = 100'000'000, .cancel = true}, {.at = 400ms}}};
  ExpectFineInEveryOrder(ExploreAll<Tokens>({.spurious = 1}, kWide, second));
}

TEST(RateLimiterSchedule, ThreeThreadsAtRandom) {
  const Calls slow = {
      {{.cost = 2}, {.at = 1ms, .charge = 3}, {.at = 2ms, .cost = 3}, {.at = 4ms, .cancel = true}},
      {{.cancel = true, .ends_at = 3ms},
       {.at = 4ms, .cost = 3},
       {.at = 1ms},
       {.at = 3ms, .charge = 0}},
      {{.at = 3ms, .cost = 3, .cancel = true},
       {.at = 1ms},
       {.max_wait = 3ms},
       {.at = 2ms, .cost = 2}}};
  ExpectFine(ExploreRandom<Tokens>(100'000, 1, kPerSecond, slow));
  const Calls fast = {{Lags(0s, 2), Lags(200ms, 3), Lags(400ms, 2), Lags(600ms, 1)},
                      {Lags(200ms, 2, true), Lags(100ms, 1), Lags(1000ms, 3)},
                      {Lags(800ms, 2), Lags(800ms, 2), {.at = 1200ms, .cost = 3, .cancel = true}}};
  ExpectFine(ExploreRandom<Tokens>(100'000, 2, kFast, fast));
}

}  // namespace
}  // namespace shed::schedule
