#include "shed/adaptive_limiter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "shed/gradient.h"
#include "shed/knee.h"
#include "shed/solo.h"
#include "watched_sync.h"

namespace shed {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint At(Duration since) { return TimePoint(since); }
constexpr std::uint32_t kNever = LimitPlan::kNever;

// What a scripted algorithm was asked, and what it answers next.
struct Script {
  std::vector<LimitWindow> windows;
  std::vector<TimePoint> starts;
  std::vector<std::uint32_t> samples;
  LimitPlan next;
};

struct ScriptedOptions {
  std::int64_t initial_limit = 10;
  std::array<double, kCriticalityCount> usable = internal::kUsableAll;
  Script* script = nullptr;
  constexpr std::string_view Problem() const noexcept {
    return initial_limit > 0 ? "" : "initial_limit: want above 0";
  }
};

class Scripted {
 public:
  using Options = ScriptedOptions;
  struct Snapshot {
    std::size_t windows = 0;
  };
  static constexpr std::string_view kName = "scripted";
  static constexpr bool kIntegral = true;
  static constexpr bool kCountsRefusals = true;

  explicit Scripted(const Options& options) noexcept : script_(options.script) {}
  LimitPlan Start(TimePoint now) noexcept {
    script_->starts.push_back(now);
    return script_->next;
  }
  LimitPlan Close(const LimitWindow& window, Events& events) noexcept {
    script_->windows.push_back(window);
    events.Push({.kind = EventKind::kLimitChanged});
    return script_->next;
  }
  void Sample(const Completion&, std::uint32_t in_flight) noexcept {
    script_->samples.push_back(in_flight);
  }
  Snapshot Read() const noexcept { return {script_->windows.size()}; }

 private:
  Script* script_;
};

using Limiter = Solo<AdaptiveLimiter<Scripted>>;
static_assert(Policy<AdaptiveLimiter<Scripted>>);
static_assert(Holds<AdaptiveLimiter<Scripted>>);
static_assert(sizeof(AdaptiveLimiter<Scripted>::Hot) == 16);

class AdaptiveLimiterTest : public testing::Test {
 protected:
  using Ticket = Limiter::Ticket;

  // The first completion opens the first window; this one gets it out of the way, at time 0.
  void Open(LimitPlan plan) {
    script_.next = plan;
    Ticket ticket = Admitted(0ns);
    End(ticket, 0ns);
    ASSERT_EQ(script_.starts.size(), 1u);
    script_.samples.clear();
  }
  Verdict Ask(Duration now, Ticket& ticket, Criticality criticality = Criticality::kCritical) {
    return limiter_.Admit({.criticality = criticality}, At(now), ticket, events_);
  }
  Ticket Admitted(Duration now) {
    Ticket ticket;
    EXPECT_TRUE(Ask(now, ticket).admitted());
    return ticket;
  }
  bool Refused(Duration now, Criticality criticality = Criticality::kCritical) {
    Ticket ticket;
    return !Ask(now, ticket, criticality).admitted();
  }
  void End(Ticket& ticket, Duration now, Outcome outcome = Outcome::kSuccess) {
    const TimePoint started{Duration(ticket.admitted)};
    limiter_.Complete(ticket, {.started = started, .now = At(now), .outcome = outcome}, events_);
  }
  std::uint32_t InFlight() { return limiter_.Read(At(0ns)).in_flight; }

  Script script_;
  Limiter limiter_{{.initial_limit = 3, .script = &script_}};
  Events events_;
};

TEST_F(AdaptiveLimiterTest, AdmitsUpToTheLimitAndNoFurther) {
  Open({.limit = 3, .not_before = At(1h)});
  std::vector<Ticket> held;
  for (int i = 0; i < 3; ++i) held.push_back(Admitted(1s));
  Ticket ticket;
  const Verdict verdict = Ask(1s, ticket);
  EXPECT_FALSE(verdict.admitted());
  EXPECT_EQ(verdict.reason(), Reason::kConcurrency);
  EXPECT_EQ(verdict.retry_after(), std::nullopt);
  EXPECT_EQ(verdict.scope(), Scope::kService);
  End(held[0], 2s);
  EXPECT_FALSE(Refused(2s));
}

// grpc/grpc#41531: ending a call that was refused, or one twice, must not free a permit that
// someone else holds.
TEST_F(AdaptiveLimiterTest, EndsEachCallOnce) {
  Open({.limit = 3, .not_before = At(1h)});
  Ticket held = Admitted(0s);
  Ticket refused;
  End(refused, 0s);
  limiter_.Cancel(refused, Verdict::Refuse(Reason::kRate), At(0s));
  EXPECT_EQ(InFlight(), 1u);
  End(held, 1s);
  End(held, 1s);
  limiter_.Cancel(held, Verdict::Refuse(Reason::kRate), At(1s));
  EXPECT_EQ(InFlight(), 0u);
  EXPECT_EQ(limiter_.Read(At(1s)).limit, script_.next.limit);
}

// Little's law needs every departure; only successes are samples (a fast error is no proof of
// health); the in-flight of a sample includes the call itself.
TEST_F(AdaptiveLimiterTest, TellsWhatHappenedInAWindow) {
  Open({.limit = 3, .not_before = At(4s), .completions = 4});
  Ticket a = Admitted(0s);
  Ticket b = Admitted(1s);
  Ticket c = Admitted(1s);
  EXPECT_TRUE(Refused(1s));
  EXPECT_TRUE(Refused(1s, Criticality::kSheddable));
  EXPECT_TRUE(Refused(1s, Criticality::kSheddable));
  End(a, 2s);
  End(b, 2s, Outcome::kOverload);
  End(c, 3s, Outcome::kFailure);
  Ticket d = Admitted(3s);
  Ticket e = Admitted(3s);
  EXPECT_TRUE(script_.windows.empty());
  End(d, 5s, Outcome::kIgnored);
  ASSERT_EQ(script_.windows.size(), 1u);
  const LimitWindow& window = script_.windows[0];
  EXPECT_EQ(window.begin, At(0s));
  EXPECT_EQ(window.end, At(5s));
  EXPECT_EQ(window.limit, 3u);
  EXPECT_EQ(window.in_flight, 1u);
  EXPECT_EQ(window.admitted, 5u);
  EXPECT_EQ(window.completed, 4u);
  EXPECT_EQ(window.overloaded, 1u);
  EXPECT_EQ(window.refused, (std::array<std::uint64_t, 4>{2, 0, 1, 0}));
  EXPECT_NEAR(window.area, 2 + 1 + 2 + 2 + 2, 1e-4);
  EXPECT_EQ(script_.samples, std::vector<std::uint32_t>{3});
  EXPECT_EQ(events_.size(), 1u);
  // What was counted once is not counted again.
  script_.next.not_before = At(6s);
  script_.next.completions = 1;
  End(e, 6s);
  ASSERT_EQ(script_.windows.size(), 1u) << "the plan of the window before asks for 4";
}

TEST_F(AdaptiveLimiterTest, NextWindowStartsFromNothing) {
  Open({.limit = 3, .not_before = At(1s)});
  Ticket a = Admitted(0s);
  Ticket held = Admitted(0s);
  script_.next = {.limit = 2, .not_before = At(3s)};
  End(a, 1s, Outcome::kOverload);
  Ticket b = Admitted(2s);
  EXPECT_TRUE(Refused(2s));
  End(b, 3s);
  ASSERT_EQ(script_.windows.size(), 2u);
  const LimitWindow& window = script_.windows[1];
  EXPECT_EQ(window.begin, At(1s));
  EXPECT_EQ(window.limit, 2u);
  EXPECT_EQ(window.admitted, 1u);
  EXPECT_EQ(window.completed, 1u);
  EXPECT_EQ(window.overloaded, 0u);
  EXPECT_EQ(window.refused[2], 1u);
  EXPECT_NEAR(window.area, 2 + 1, 1e-4);
  End(held, 3s);
}

// A call that a later policy refused leaves no sample, no completion and no area: brpc counts
// refused attempts as in flight.
TEST_F(AdaptiveLimiterTest, CancelLeavesNoTrace) {
  Open({.limit = 3, .not_before = At(9s)});
  Ticket cancelled = Admitted(1s);
  EXPECT_EQ(InFlight(), 1u);
  limiter_.Cancel(cancelled, Verdict::Refuse(Reason::kRate), At(5s));
  EXPECT_EQ(InFlight(), 0u);
  Ticket real = Admitted(8s);
  End(real, 9s);
  ASSERT_EQ(script_.windows.size(), 1u);
  EXPECT_EQ(script_.windows[0].admitted, 1u);
  EXPECT_EQ(script_.windows[0].completed, 1u);
  EXPECT_NEAR(script_.windows[0].area, 1, 1e-4);
  EXPECT_EQ(script_.samples, std::vector<std::uint32_t>{1});
}

// Shrinking below what is in flight pre-empts nothing, admits nothing until it has drained, and
// never underflows.
TEST_F(AdaptiveLimiterTest, ShrinksBelowWhatIsInFlight) {
  Open({.limit = 100, .not_before = At(1s)});
  std::vector<Ticket> held;
  for (int i = 0; i < 100; ++i) held.push_back(Admitted(0s));
  script_.next = {.limit = 2, .not_before = At(1h)};
  for (int i = 0; i < 98; ++i) {
    End(held[static_cast<std::size_t>(i)], 1s);
    EXPECT_TRUE(Refused(1s)) << i;
  }
  EXPECT_EQ(limiter_.Read(At(1s)).in_flight, 2u);
  End(held[98], 2s);
  EXPECT_FALSE(Refused(2s));
  EXPECT_TRUE(Refused(2s));
}

TEST_F(AdaptiveLimiterTest, ClosesWhenTimeAndCompletionsAreBothReached) {
  Open({.limit = 9, .not_before = At(1s), .completions = 3});
  std::vector<Ticket> held;
  for (int i = 0; i < 6; ++i) held.push_back(Admitted(0s));
  for (std::size_t i = 0; i < 4; ++i) End(held[i], 999ms);
  EXPECT_EQ(script_.windows.size(), 0u) << "before its time";
  script_.next = {.limit = 9, .not_before = At(1s), .completions = 2};
  End(held[4], 1s);
  EXPECT_EQ(script_.windows.size(), 1u);
  End(held[5], 2s);
  EXPECT_EQ(script_.windows.size(), 1u) << "one completion short";
}

TEST_F(AdaptiveLimiterTest, ClosesWhenDrained) {
  Open({.limit = 4, .completions = kNever, .drained = 1});
  Ticket a = Admitted(0s);
  Ticket b = Admitted(0s);
  Ticket c = Admitted(0s);
  End(a, 1s);
  EXPECT_EQ(script_.windows.size(), 0u);
  End(b, 1s);
  EXPECT_EQ(script_.windows.size(), 1u);
  End(c, 1s);
}

// Permits that never come back: with completions alone a lowered limit would stay in force for
// good. One refusal closes the window, the others only read.
TEST_F(AdaptiveLimiterTest, ARefusalClosesAnOverdueWindowOnce) {
  Open({.limit = 1, .completions = kNever, .drained = 0, .at_latest = At(5s)});
  Admitted(0s);  // And never ended.
  EXPECT_TRUE(Refused(4999ms));
  EXPECT_EQ(script_.windows.size(), 0u);
  script_.next = {.limit = 2, .not_before = At(1h)};
  EXPECT_TRUE(Refused(5s));
  ASSERT_EQ(script_.windows.size(), 1u);
  EXPECT_EQ(script_.windows[0].refused[2], 2u);
  EXPECT_EQ(events_.size(), 1u) << "reported by the call that was refused";
  EXPECT_FALSE(Refused(5s));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(Refused(6s));
  EXPECT_EQ(script_.windows.size(), 1u);
}

// One thread computes the next limit; the others go on with the one in force. Here they come in the
// middle of the computation, when its own window is due for them, too.
struct BusyOptions : ScriptedOptions {
  std::function<void()>* during_close = nullptr;
};
class Busy : public Scripted {
 public:
  using Options = BusyOptions;
  explicit Busy(const Options& options) noexcept
      : Scripted(options), during_close_(options.during_close) {}
  LimitPlan Close(const LimitWindow& window, Events& events) noexcept {
    if (*during_close_) std::exchange(*during_close_, nullptr)();
    return Scripted::Close(window, events);
  }

 private:
  std::function<void()>* during_close_;
};

TEST(AdaptiveLimiter, OneThreadComputesAndTheOthersGoOnWithTheOldLimit) {
  Script script;
  script.next = {.limit = 5, .completions = 1};
  std::function<void()> during_close;
  BusyOptions options;
  options.initial_limit = 3;
  options.script = &script;
  options.during_close = &during_close;
  Solo<BasicAdaptiveLimiter<Busy, WatchedSync>> limiter(options);
  using Ticket = BasicAdaptiveLimiter<Busy, WatchedSync>::Ticket;
  Events events;
  const auto admit = [&](Ticket& ticket) {
    return limiter.Admit({}, At(1s), ticket, events).admitted();
  };
  const auto end = [&](Ticket& ticket) {
    limiter.Complete(ticket, {.started = At(1s), .now = At(1s), .outcome = Outcome::kSuccess},
                     events);
  };
  Ticket ticket;
  ASSERT_TRUE(admit(ticket));
  end(ticket);  // Opens the first window, with a limit of 5.

  int others = 0;
  WatchedSync::waits = 0;
  script.next.limit = 2;
  during_close = [&] {
    Ticket tickets[6];
    for (int round = 0; round < 100; ++round) {
      for (int i = 0; i < 5; ++i) EXPECT_TRUE(admit(tickets[i])) << i;
      EXPECT_FALSE(admit(tickets[5]));
      for (int i = 0; i < 5; ++i) end(tickets[i]);
      others += 5;
    }
  };
  ASSERT_TRUE(admit(ticket));
  end(ticket);
  EXPECT_EQ(others, 500);
  EXPECT_EQ(WatchedSync::waits, 0);
  EXPECT_EQ(script.windows.size(), 1u);  // Nobody else computed.
  EXPECT_EQ(limiter.Read(At(1s)).limit, 2u);
  // What ended meanwhile is the next window's.
  ASSERT_TRUE(admit(ticket));
  end(ticket);
  ASSERT_EQ(script.windows.size(), 2u);
  EXPECT_EQ(script.windows[0].completed, 1u);
  EXPECT_EQ(script.windows[1].completed, 501u);
  EXPECT_EQ(script.windows[1].admitted, 501u);
}

// The same of the algorithms that ship, at both ends of what is done under the lock, at every
// window: nobody waits, and nobody is decided by anything but the limit in force.
template <class Algorithm>
void GoOnWhileOthersCompute(const typename Algorithm::Options& options) {
  Solo<BasicAdaptiveLimiter<Algorithm, WatchedSync>> limiter(options);
  using Ticket = typename BasicAdaptiveLimiter<Algorithm, WatchedSync>::Ticket;
  Events events;
  TimePoint now(1s);
  int computations = 0;
  const auto call = [&](Duration latency) {
    Ticket ticket;
    const bool admitted = limiter.Admit({}, now, ticket, events).admitted();
    if (admitted) {
      limiter.Complete(ticket, {.started = now - latency, .now = now, .outcome = Outcome::kSuccess},
                       events);
    }
    return admitted;
  };
  WatchedSync::waits = 0;
  WatchedSync::while_held = [&] {
    ++computations;
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(call(1ms));
    // As many as the limit has room for, and not one more.
    std::vector<Ticket> full;
    for (;;) {
      Ticket ticket;
      if (!limiter.Admit({}, now, ticket, events).admitted()) break;
      full.push_back(ticket);
    }
    EXPECT_GE(full.size(), 1u);
    EXPECT_LE(full.size(), 100u);
    for (Ticket& ticket : full) {
      limiter.Cancel(ticket, Verdict::Refuse(Reason::kRate), now);
    }
  };
  for (int i = 0; i < 40'000; ++i) {
    now += 500us;
    // Slow spells, so that limits move.
    call(i / 5'000 % 2 == 0 ? 1ms : 20ms);
  }
  WatchedSync::while_held = nullptr;
  EXPECT_GT(computations, 50);
  EXPECT_EQ(WatchedSync::waits, 0);
  EXPECT_EQ(limiter.Read(now).in_flight, 0u);
}
TEST(AdaptiveLimiter, OthersGoOnWhileAGradientIsComputed) {
  GoOnWhileOthersCompute<BasicGradient<WatchedSync>>({.max_limit = 100});
}
TEST(AdaptiveLimiter, OthersGoOnWhileAKneeIsComputed) {
  GoOnWhileOthersCompute<Knee>({.max_limit = 100});
}

TEST_F(AdaptiveLimiterTest, ClassesHaveTheirShare) {
  Limiter limiter({.initial_limit = 10, .usable = {0.0, 0.29, 0.5, 1.0}, .script = &script_});
  const auto admits = [&](Criticality criticality) {
    int n = 0;
    Ticket ticket;
    while (limiter.Admit({.criticality = criticality}, At(0s), ticket, events_).admitted()) ++n;
    return n;
  };
  EXPECT_EQ(admits(Criticality::kSheddable), 0);
  EXPECT_EQ(admits(Criticality::kSheddablePlus), 2);
  EXPECT_EQ(admits(Criticality::kCritical), 3);
  EXPECT_EQ(admits(Criticality::kCriticalPlus), 5);
}

// A clock that stands still and one that goes back: no negative time, no window that moves back.
TEST_F(AdaptiveLimiterTest, TheClockMayStandStillOrGoBack) {
  Open({.limit = 3, .not_before = TimePoint::min()});
  Ticket a = Admitted(0s);
  End(a, 0s);
  ASSERT_EQ(script_.windows.size(), 1u);
  EXPECT_EQ(script_.windows[0].area, 0.0);
  Ticket b = Admitted(5s);
  End(b, 1s);
  Ticket c = Admitted(-100h);
  End(c, -200h);
  ASSERT_EQ(script_.windows.size(), 3u);
  EXPECT_EQ(script_.windows[1].end, At(1s));
  for (const LimitWindow& window : script_.windows) {
    EXPECT_GE(window.end, window.begin);
    EXPECT_GE(window.area, 0.0);
    EXPECT_EQ(window.admitted, window.completed);
  }
}

// A hundred years with a call in flight would turn the integral's 44 bits over hundreds of times:
// such a window is not told at all, and the next one is right again.
TEST_F(AdaptiveLimiterTest, AJumpOfTheClockMakesNoNonsense) {
  Open({.limit = 3, .not_before = At(1s)});
  const Duration later = 24h * 365 * 100;
  Ticket across = Admitted(0s);
  script_.next = {.limit = 3, .not_before = At(later + 2s)};
  End(across, later);
  EXPECT_EQ(script_.windows.size(), 0u);
  ASSERT_EQ(script_.starts.size(), 2u);
  EXPECT_EQ(script_.starts[1], At(later));
  Ticket after = Admitted(later + 1s);
  End(after, later + 2s);
  ASSERT_EQ(script_.windows.size(), 1u);
  EXPECT_NEAR(script_.windows[0].area, 1, 1e-4);
  EXPECT_EQ(script_.windows[0].completed, 1u);
}

TEST_F(AdaptiveLimiterTest, TheEndOfTheTimelineIsATime) {
  Open({.limit = 3, .not_before = At(1s)});
  for (int i = 0; i < 5; ++i) {
    Ticket ticket;
    ASSERT_TRUE(limiter_.Admit({}, TimePoint::max(), ticket, events_).admitted());
    limiter_.Complete(ticket, {.started = TimePoint::max(), .now = TimePoint::max()}, events_);
    ASSERT_TRUE(limiter_.Admit({}, TimePoint::min(), ticket, events_).admitted());
    limiter_.Complete(ticket, {.started = TimePoint::min(), .now = TimePoint::min()}, events_);
  }
  EXPECT_EQ(InFlight(), 0u);
}

// The counter of completions has 24 bits; a window may have more.
TEST(AdaptiveLimiter, CountsPastTheCounter) {
  Script script;
  script.next = {.limit = 3, .not_before = At(1s), .completions = 1000};
  Solo<BasicAdaptiveLimiter<Scripted, NoSync>> limiter({.script = &script});
  script.samples.reserve(1u << 25);
  Events events;
  constexpr std::uint64_t kCalls = (1u << 24) + (1u << 23) + 77;
  for (std::uint64_t i = 0; i <= kCalls; ++i) {
    decltype(limiter)::Ticket ticket;
    ASSERT_TRUE(limiter.Admit({}, At(0s), ticket, events).admitted());
    const bool last = i == kCalls;
    limiter.Complete(ticket, {.started = At(0s), .now = last ? At(2s) : At(0s)}, events);
  }
  ASSERT_EQ(script.windows.size(), 1u);
  EXPECT_EQ(script.windows[0].completed, kCalls);
  EXPECT_EQ(script.windows[0].admitted, kCalls);
}

TEST(AdaptiveLimiter, RefusesBadOptions) {
  EXPECT_THROW(Limiter({.initial_limit = 0}), std::invalid_argument);
}

// An algorithm for threads: it moves the limit between 3 and 10 at each window, and asks for the
// impossible in none.
class Restless {
 public:
  struct Options {
    std::int64_t initial_limit = 10;
    std::array<double, kCriticalityCount> usable = internal::kUsableAll;
    std::atomic<std::uint64_t>* impossible = nullptr;
    bool moves = true;
    constexpr std::string_view Problem() const noexcept { return ""; }
  };
  struct Snapshot {};
  static constexpr std::string_view kName = "restless";
  static constexpr bool kIntegral = true;
  static constexpr bool kCountsRefusals = true;
  explicit Restless(const Options& options) noexcept
      : impossible_(options.impossible), moves_(options.moves) {}
  LimitPlan Start(TimePoint now) noexcept {
    return {.limit = moves_ ? 3u : 10u, .not_before = now};
  }
  LimitPlan Close(const LimitWindow& window, Events&) noexcept {
    if (window.in_flight > 10 || window.completed == 0 || window.admitted > window.completed + 10 ||
        window.overloaded > window.completed) {
      impossible_->fetch_add(1);
    }
    const std::uint32_t limit = moves_ ? 3 + (turn_++ * 5) % 8 : 10;
    return {.limit = limit, .not_before = window.end, .completions = 7};
  }
  Snapshot Read() const noexcept { return {}; }

 private:
  std::atomic<std::uint64_t>* impossible_;
  bool moves_;
  std::uint32_t turn_ = 0;
};

// Netflix/concurrency-limits#140: check-then-increment lets threads exceed the limit. An outside
// counter never sees more than the highest limit, whether it moves or not.
void HammerWithSixteenThreads(bool moves) {
  std::atomic<std::uint64_t> impossible{0};
  Solo<AdaptiveLimiter<Restless>> limiter(
      {.initial_limit = 10, .impossible = &impossible, .moves = moves});
  std::atomic<int> inside{0};
  std::atomic<int> peak{0};
  std::atomic<std::int64_t> clock{0};
  std::atomic<std::uint64_t> admitted{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20'000; ++i) {
        decltype(limiter)::Ticket ticket;
        Events events;
        const TimePoint now{Duration(clock.fetch_add(1000))};
        if (!limiter.Admit({}, now, ticket, events).admitted()) continue;
        const int in = inside.fetch_add(1) + 1;
        int seen = peak.load();
        while (in > seen && !peak.compare_exchange_weak(seen, in)) {
        }
        admitted.fetch_add(1);
        if (i % 16 == t) std::this_thread::yield();
        inside.fetch_sub(1);
        if (i % 50 == 0) {
          limiter.Cancel(ticket, Verdict::Refuse(Reason::kRate), now);
        } else {
          limiter.Complete(ticket,
                           {.started = now,
                            .now = TimePoint(Duration(clock.fetch_add(1000))),
                            .outcome = i % 3 == 0 ? Outcome::kOverload : Outcome::kSuccess},
                           events);
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_LE(peak.load(), 10);
  EXPECT_GT(admitted.load(), 0u);
  EXPECT_EQ(impossible.load(), 0u);
  EXPECT_EQ(limiter.Read(At(0s)).in_flight, 0u);
}
TEST(AdaptiveLimiter, SixteenThreadsNeverExceedAFixedLimit) { HammerWithSixteenThreads(false); }
TEST(AdaptiveLimiter, SixteenThreadsNeverExceedAMovingLimit) { HammerWithSixteenThreads(true); }

}  // namespace
}  // namespace shed
