#include "shed/keyed.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "shed/admission_controller.h"
#include "shed/circuit_breaker.h"
#include "shed/concurrency_limiter.h"
#include "shed/gradient_limiter.h"
#include "shed/limiter.h"
#include "shed/rate_limiter.h"
#include "shed/switch.h"
#include "shed/usage_throttle.h"

namespace shed {
namespace {

using namespace std::chrono_literals;
using PerCaller = Keyed<RateLimiter, ByCaller>;
constexpr RateLimiterOptions kTenPerSecond{.rate = 10, .burst = 10};

TimePoint At(Duration since) { return TimePoint(1h + since); }

template <class K>
Verdict Ask(K& keyed, std::string_view caller, Duration at, std::uint64_t cost = 1) {
  Events events;
  typename K::Ticket ticket;
  const Verdict verdict = keyed.Admit({.caller = caller, .cost = cost}, At(at), ticket, events);
  keyed.Complete(ticket, Outcome::kSuccess, events);
  return verdict;
}

TEST(Keyed, EachKeyHasItsOwn) {
  PerCaller keyed({.policy = kTenPerSecond});
  EXPECT_TRUE(Ask(keyed, "ada", 0s, 10).admitted());
  const Verdict refused = Ask(keyed, "ada", 0s);
  EXPECT_FALSE(refused.admitted());
  // Its plan, and no trouble of the service.
  EXPECT_EQ(refused, Verdict::Refuse(Reason::kRate, 100ms, Scope::kCaller));
  EXPECT_TRUE(Ask(keyed, "bob", 0s, 10).admitted());
  EXPECT_EQ(keyed.ReadKey("ada", At(0s))->available, 0);
  EXPECT_EQ(keyed.ReadKey("eve", At(0s)), std::nullopt);
  EXPECT_EQ(keyed.Read(At(0s)).keys, 2u);
}

// P19, boinkor-net/governor#171: keyed state that is never dropped is memory for an attacker, and
// state that is dropped too soon is a new bucket.
TEST(Keyed, AFloodOfKeysNeitherFillsMemoryNorRefillsADrainedBucket) {
  constexpr std::size_t kMax = 1000;
  PerCaller keyed({.policy = kTenPerSecond, .max_keys = kMax});
  ASSERT_TRUE(Ask(keyed, "victim", 0s, 10).admitted());
  std::uint64_t most = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    Ask(keyed, "flood-" + std::to_string(i), 0s);
    if (i % 1000 == 0) most = std::max(most, keyed.Read(At(0s)).keys);
  }
  EXPECT_EQ(most, kMax);
  EXPECT_FALSE(Ask(keyed, "victim", 50ms).admitted());
  EXPECT_TRUE(Ask(keyed, "victim", 100ms).admitted());
  // What did not fit paid from one bucket.
  EXPECT_GT(keyed.Read(At(0s)).overflow_calls, 990'000u);
  EXPECT_EQ(keyed.Read(At(0s)).overflow.available, 0);
  // Two seconds later all are as good as new, and there is room again.
  EXPECT_TRUE(Ask(keyed, "late", 2s, 10).admitted());
  EXPECT_TRUE(keyed.ReadKey("late", At(2s)).has_value());
  EXPECT_LE(keyed.Read(At(2s)).keys, kMax);
}

TEST(Keyed, KeysThatAreAsGoodAsNewAreForgottenInTime) {
  PerCaller keyed({.policy = kTenPerSecond, .max_keys = 1000});
  for (int i = 0; i < 500; ++i) Ask(keyed, "caller-" + std::to_string(i), 0s);
  EXPECT_EQ(keyed.Read(At(0s)).keys, 500u);
  for (int i = 0; i < 300; ++i) Ask(keyed, "busy", 1s + i * 1s);
  EXPECT_EQ(keyed.Read(At(0s)).keys, 1u);
  EXPECT_EQ(keyed.Read(At(0s)).forgotten, 500u);
}

// A key that may not go must not keep those behind it.
TEST(Keyed, APenaltyIsKeptAndKeepsNobody) {
  PerCaller keyed({.policy = {.rate = 1, .per = 1h, .burst = 10}, .max_keys = 4});
  ASSERT_TRUE(Ask(keyed, "hog", 0s, 10).admitted());
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(Ask(keyed, "caller-" + std::to_string(i), i * 1h, 1).admitted()) << i;
    // It may ask once an hour, and does not get ten at once by being forgotten.
    ASSERT_FALSE(Ask(keyed, "hog", i * 1h, 10).admitted() && i < 10) << i;
  }
  EXPECT_EQ(keyed.Read(At(0s)).overflow_calls, 0u);
}

TEST(Keyed, CallsInFlightKeepTheirKey) {
  Keyed<ConcurrencyLimiter, ByCaller> keyed({.policy = {.limit = 1}, .max_keys = 2});
  Events events;
  std::array<Keyed<ConcurrencyLimiter, ByCaller>::Ticket, 3> tickets;
  ASSERT_TRUE(keyed.Admit({.caller = "a"}, At(0s), tickets[0], events).admitted());
  ASSERT_TRUE(keyed.Admit({.caller = "b"}, At(0s), tickets[1], events).admitted());
  for (int i = 0; i < 100; ++i) {
    Ask(keyed, "c", 1h);
    EXPECT_FALSE(Ask(keyed, "a", 1h).admitted());
    EXPECT_FALSE(Ask(keyed, "b", 1h).admitted());
  }
  EXPECT_FALSE(keyed.ReadKey("c", At(0s)).has_value());
  keyed.Complete(tickets[0], Outcome::kSuccess, events);
  keyed.Complete(tickets[0], Outcome::kSuccess, events);  // Ends once.
  Ask(keyed, "c", 1h);
  EXPECT_TRUE(keyed.ReadKey("c", At(0s)).has_value());
  EXPECT_FALSE(Ask(keyed, "b", 1h).admitted());
  keyed.Cancel(tickets[1], Verdict::Refuse(Reason::kRate), At(0s), events);
  EXPECT_TRUE(Ask(keyed, "b", 1h).admitted());
}

// Forgetting what a policy has not got over yet would be a fresh start for a dead dependency.
TEST(Keyed, AnOpenBreakerIsNotForgotten) {
  Keyed<CircuitBreaker, ByRoute> keyed({.max_keys = 1});
  Events events;
  const auto call = [&](std::string_view route, Duration at, Outcome outcome) {
    Keyed<CircuitBreaker, ByRoute>::Ticket ticket;
    const Verdict verdict = keyed.Admit({.route = route}, At(at), ticket, events);
    keyed.Complete(ticket, {.started = At(at), .now = At(at), .outcome = outcome}, events);
    return verdict;
  };
  for (int i = 0; i < 20; ++i) call("/dead", 0s, Outcome::kFailure);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(call("/fine", 1s, Outcome::kSuccess).admitted());
  EXPECT_EQ(call("/dead", 1s, Outcome::kSuccess),
            Verdict::Refuse(Reason::kCircuitOpen, 4s, Scope::kService));
}

// A policy that cannot say so is never as good as new.
TEST(Keyed, WithoutAsNewNothingIsForgotten) {
  static_assert(CanBeAsNew<RateLimiter> && CanBeAsNew<CircuitBreaker> &&
                CanBeAsNew<ConcurrencyLimiter> && CanBeAsNew<AdmissionController>);
  static_assert(!CanBeAsNew<GradientLimiter>);
  Limiter<Keyed<GradientLimiter, ByRoute>> limiter({.max_keys = 2});
  for (const char* route : {"/a", "/b", "/c", "/a", "/c"}) {
    limiter.TryAdmit({.route = route}).Complete(Outcome::kSuccess);
  }
  const auto snapshot = std::get<0>(limiter.Snapshot().policies);
  EXPECT_EQ(snapshot.keys, 2u);
  EXPECT_EQ(snapshot.overflow_calls, 2u);
}

struct ByPlan {
  std::string_view operator()(const Request& request) const {
    if (request.caller == "thrower") throw std::runtime_error("no plan");
    return request.caller;
  }
  RateLimiterOptions OptionsFor(std::string_view key, const RateLimiterOptions& usual) const {
    RateLimiterOptions options = usual;
    if (key == "gold") options.burst = 100;
    if (key == "broken") options.rate = -1;
    return options;
  }
};

TEST(Keyed, WhoPaysMoreGetsMore) {
  Keyed<RateLimiter, ByPlan> keyed({.policy = kTenPerSecond});
  EXPECT_TRUE(Ask(keyed, "gold", 0s, 100).admitted());
  EXPECT_EQ(Ask(keyed, "iron", 0s, 100).reason(), Reason::kCostTooLarge);
}

TEST(Keyed, ASelectorThatFailsRefusesTheCallAndLeaksNothing) {
  Limiter<Keyed<RateLimiter, ByPlan>> limiter({.policy = kTenPerSecond, .max_keys = 2});
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(limiter.TryAdmit({.caller = "thrower"}).rejection().reason(), Reason::kDenied);
    EXPECT_EQ(limiter.TryAdmit({.caller = "broken"}).rejection().reason(), Reason::kDenied);
  }
  auto snapshot = std::get<0>(limiter.Snapshot().policies);
  EXPECT_EQ(snapshot.denied, 20u);
  EXPECT_EQ(snapshot.keys, 0u);
  EXPECT_TRUE(limiter.TryAdmit({.caller = "ada"}));
  EXPECT_EQ(limiter.Snapshot().in_flight, 0u);
}

TEST(Keyed, AbsurdKeys) {
  PerCaller keyed({.policy = kTenPerSecond});
  const std::string huge(1 << 20, 'x');
  std::vector<std::string> names = {"",   std::string("\0", 1), std::string("\0\0", 2),
                                    huge, huge + "y",           "\xff\xfe"};
  for (const std::string& name : names) {
    EXPECT_TRUE(Ask(keyed, name, 0s, 10).admitted());
    EXPECT_FALSE(Ask(keyed, name, 0s).admitted());
  }
  EXPECT_EQ(keyed.Read(At(0s)).keys, names.size());
  Keyed<RateLimiter, ByTag> by_tag({.policy = kTenPerSecond});
  Events events;
  for (const std::uint64_t tag : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
    Keyed<RateLimiter, ByTag>::Ticket ticket;
    EXPECT_TRUE(by_tag.Admit({.cost = 10, .tag = tag}, At(0s), ticket, events).admitted());
    EXPECT_EQ(by_tag.ReadKey(tag, At(0s))->available, 0);
  }
}

TEST(Keyed, HasThePolicysMembers) {
  static_assert(Policy<PerCaller> && CanCharge<PerCaller>);
  static_assert(!CanCharge<Keyed<CircuitBreaker, ByRoute>>);
  static_assert(Holds<Keyed<ConcurrencyLimiter, ByCaller>> && !Holds<PerCaller>);
  static_assert(CompletesTimed<Keyed<CircuitBreaker, ByRoute>> && !CompletesTimed<PerCaller>);
  Limiter<PerCaller> limiter({.policy = kTenPerSecond});
  auto guard = limiter.TryAdmit({.caller = "ada"});
  guard.Charge(7);
  EXPECT_EQ(limiter.Get<0>().ReadKey("ada", limiter.Now())->available, 3);
}

// New options reach each key when it next asks, and what it used stays used.
TEST(Keyed, ConfigureReachesEachKeyWhenItNextAsks) {
  PerCaller keyed({.policy = kTenPerSecond, .max_keys = 3});
  ASSERT_TRUE(Ask(keyed, "ada", 0s, 10).admitted());
  ASSERT_TRUE(Ask(keyed, "bob", 0s, 4).admitted());
  ASSERT_TRUE(Ask(keyed, "eve", 0s, 1).admitted());
  ASSERT_TRUE(Ask(keyed, "overflow", 0s, 1).admitted());
  EXPECT_EQ(keyed.Configure({.policy = {.rate = 100, .burst = 20}, .max_keys = 4}, At(0s)), "");
  EXPECT_EQ(keyed.ReadKey("ada", At(0s))->burst, 10);
  EXPECT_EQ(Ask(keyed, "ada", 0s), Verdict::Refuse(Reason::kRate, 10ms, Scope::kCaller));
  EXPECT_EQ(keyed.ReadKey("ada", At(0s))->burst, 20);
  EXPECT_EQ(keyed.Read(At(0s)).overflow.burst, 20);
  EXPECT_EQ(keyed.Read(At(0s)).overflow.available, 9);
  EXPECT_TRUE(Ask(keyed, "new", 0s, 20).admitted());
  EXPECT_EQ(keyed.ReadKey("new", At(0s))->burst, 20);
  // Fewer keys: nobody is forgotten before its time.
  EXPECT_EQ(keyed.Configure({.policy = {.rate = 100, .burst = 20}, .max_keys = 1}, At(0s)), "");
  EXPECT_FALSE(Ask(keyed, "ada", 0s).admitted());
  EXPECT_EQ(keyed.Read(At(0s)).keys, 4u);
  for (int i = 0; i < 4; ++i) Ask(keyed, "ada", 10s);
  EXPECT_EQ(keyed.Read(At(10s)).keys, 1u);
  EXPECT_EQ(keyed.Configure({.policy = {.rate = 0}}, At(10s)), "rate: want 1 to 2000000000 units");
  EXPECT_EQ(keyed.Configure({.policy = {}, .max_keys = 0}, At(10s)), "max_keys: want 1 to 1000000");
  EXPECT_EQ(keyed.ReadKey("ada", At(10s))->burst, 20);
}

// Who pays more goes on to get more; what the selector makes of it is held to its range.
TEST(Keyed, ConfigureAsksTheSelectorAgain) {
  struct ByPlanAndLuck : ByCaller {
    RateLimiterOptions OptionsFor(std::string_view caller, const RateLimiterOptions& usual) const {
      RateLimiterOptions options = usual;
      if (caller == "gold") options.burst *= 10;
      if (caller == "broken") options.burst -= 10;
      return options;
    }
  };
  Keyed<RateLimiter, ByPlanAndLuck> keyed({.policy = {.rate = 10, .burst = 20}});
  ASSERT_TRUE(Ask(keyed, "gold", 0s).admitted());
  ASSERT_TRUE(Ask(keyed, "broken", 0s).admitted());
  EXPECT_EQ(keyed.Configure({.policy = {.rate = 10, .burst = 10}}, At(0s)), "");
  ASSERT_TRUE(Ask(keyed, "gold", 0s).admitted());
  EXPECT_EQ(keyed.ReadKey("gold", At(0s))->burst, 100);
  EXPECT_EQ(Ask(keyed, "broken", 0s), Verdict::Refuse(Reason::kDenied));
  EXPECT_EQ(keyed.Read(At(0s)).denied, 1u);
  EXPECT_EQ(keyed.ReadKey("broken", At(0s))->burst, 10);
}

TEST(Keyed, BadOptionsAreRefusedByName) {
  for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1'000'001}}) {
    EXPECT_EQ((KeyedOptions<RateLimiter>{.max_keys = bad}.Problem()),
              "max_keys: want 1 to 1000000");
    EXPECT_THROW(PerCaller({.max_keys = bad}), std::invalid_argument);
  }
  EXPECT_EQ((KeyedOptions<RateLimiter>{.policy = {.rate = 0}}.Problem()),
            "rate: want 1 to 2000000000 units");
}

// Each key's limit holds on many threads, while keys come and go.
TEST(Keyed, ThreadsNeverGetMoreThanAKeysLimit) {
  constexpr std::size_t kNames = 24;
  Keyed<ConcurrencyLimiter, ByCaller> keyed({.policy = {.limit = 1}, .max_keys = 16});
  std::array<std::atomic<int>, kNames> outside{};
  std::atomic<int> highest{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      std::uint64_t random = t + 1;
      for (int i = 0; i < 5'000; ++i) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const std::size_t name = (random >> 33) % kNames;
        Events events;
        Keyed<ConcurrencyLimiter, ByCaller>::Ticket ticket;
        const std::string caller = std::to_string(name);
        if (!keyed.Admit({.caller = caller}, At(0s), ticket, events).admitted()) continue;
        const int now = outside[name].fetch_add(1) + 1;
        int seen = highest.load();
        while (now > seen && !highest.compare_exchange_weak(seen, now)) {
        }
        outside[name].fetch_sub(1);
        keyed.Complete(ticket, Outcome::kSuccess, events);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // A name may have a call in the overflow, from when there was no room, beside one of its own.
  EXPECT_LE(highest.load(), 2);
  for (std::size_t name = 0; name < kNames; ++name) {
    const auto state = keyed.ReadKey(std::to_string(name), At(0s));
    EXPECT_TRUE(!state || state->in_flight == 0u);
  }
  EXPECT_EQ(keyed.Read(At(0s)).overflow.in_flight, 0u);
  EXPECT_LE(keyed.Read(At(0s)).keys, 16u);
}

// A key is forgotten a second after it has become as good as new: a thread whose clock lags by less
// must not find a new bucket.
TEST(Keyed, ALaggingClockFindsNoNewBucket) {
  PerCaller keyed({.policy = {.rate = 1000, .burst = 10}});
  ASSERT_TRUE(Ask(keyed, "k", 0s, 10).admitted());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(Ask(keyed, "other", 1009ms).admitted());
  EXPECT_TRUE(keyed.ReadKey("k", At(1009ms)).has_value());
  EXPECT_FALSE(Ask(keyed, "k", 0s).admitted());
  EXPECT_TRUE(Ask(keyed, "k", 10ms, 10).admitted());
  EXPECT_FALSE(Ask(keyed, "k", 10ms).admitted());
}

TEST(Keyed, ASwitchIsForgottenAsItsPolicyIs) {
  Keyed<Switch<RateLimiter>, ByCaller> keyed({.policy = kTenPerSecond, .max_keys = 2});
  for (const char* name : {"a", "b"}) Ask(keyed, name, 0s);
  Ask(keyed, "c", 10s);
  EXPECT_TRUE(keyed.ReadKey("c", At(10s)).has_value());
}

// What P does not take is not taken: no key is left with options that it refuses for good.
TEST(Keyed, ConfigureTakesNoMoreThanPTakes) {
  Keyed<UsageThrottle, ByCaller> keyed({.policy = {.max_delayed = 5}});
  ASSERT_TRUE(Ask(keyed, "a", 0s).admitted());
  EXPECT_NE(keyed.Configure({.policy = {.max_delayed = 1000}}, At(0s)), "");
  EXPECT_TRUE(Ask(keyed, "a", 0s).admitted());
  EXPECT_EQ(keyed.Read(At(0s)).denied, 0u);
}

}  // namespace
}  // namespace shed
