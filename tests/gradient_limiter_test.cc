#include "shed/gradient_limiter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "shed/solo.h"
#include "shed/sync.h"

namespace shed {

// Every member compiles for one thread, too.
template class BasicAdaptiveLimiter<BasicGradient<NoSync>, NoSync>;

namespace {

using namespace std::chrono_literals;
using Options = GradientLimiterOptions;

// A limiter, and a service that gives each call the latency it is told.
class Bench {
 public:
  using Ticket = Solo<GradientLimiter>::Ticket;
  struct Call {
    Ticket ticket;
    TimePoint started;
  };

  explicit Bench(const Options& options) : limiter(options) {}

  bool Begin(std::vector<Call>& calls) {
    Call call{{}, now};
    if (!limiter.Admit({}, now, call.ticket, events).admitted()) return false;
    calls.push_back(call);
    return true;
  }
  void End(Call& call, Outcome outcome = Outcome::kSuccess) {
    Events own;
    limiter.Complete(call.ticket, {.started = call.started, .now = now, .outcome = outcome}, own);
    for (std::size_t i = 0; i < own.size(); ++i) log.push_back(own[i]);
  }
  // Fills the limit, or up to `crowd` of it, and lets all of it end after `latency`.
  void Round(Duration latency, std::size_t crowd = 5000, Outcome outcome = Outcome::kSuccess) {
    Mixed({latency}, crowd, outcome);
  }
  // As Round, each call with the next of `latencies` (sorted), which go round from where they were.
  void Mixed(const std::vector<Duration>& latencies, std::size_t crowd = 5000,
             Outcome outcome = Outcome::kSuccess) {
    std::vector<Call> calls;
    while (calls.size() < crowd && Begin(calls)) {
    }
    std::vector<std::pair<Duration, std::size_t>> ends;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      ends.emplace_back(latencies[next++ % latencies.size()], i);
    }
    std::sort(ends.begin(), ends.end());
    const TimePoint begun = now;
    for (const auto& [latency, i] : ends) {
      now = begun + latency;
      End(calls[i], outcome);
    }
  }
  void Rounds(int n, Duration latency, std::size_t crowd = 5000) {
    for (int i = 0; i < n; ++i) Round(latency, crowd);
  }
  // Rounds until the first baseline is there.
  void Learn(Duration latency) {
    while (Read().measured == 0) Round(latency);
  }
  Solo<GradientLimiter>::Snapshot Read() { return limiter.Read(now); }

  Solo<GradientLimiter> limiter;
  TimePoint now{Duration(1h)};
  Events events;
  std::vector<Event> log;
  std::size_t next = 0;
};

double Millis(Duration d) { return static_cast<double>(d.count()) * 1e-6; }

TEST(GradientLimiter, MeasuresTheBaselineInAProbe) {
  Bench bench({.probe_limit = 3});
  EXPECT_EQ(bench.Read().limit, 20u);
  bench.Round(10ms, 1);
  EXPECT_EQ(bench.Read().limit, 3u) << "pinned from the first completion on";
  EXPECT_EQ(bench.Read().mode, GradientMode::kProbe);
  bench.Learn(10ms);
  EXPECT_NEAR(Millis(bench.Read().baseline), 10, 0.2);
  EXPECT_EQ(bench.Read().limit, 20u) << "restored";
  EXPECT_EQ(bench.Read().mode, GradientMode::kFollow);
  bool reported = false;
  for (const Event& event : bench.log) {
    if (event.kind != EventKind::kBaselineChanged) continue;
    reported = true;
    EXPECT_EQ(event.cause, Cause::kMeasured);
    EXPECT_EQ(event.before, 0);
    EXPECT_NEAR(event.after, 10e6, 2e5);
    EXPECT_GE(event.count, 50u);
  }
  EXPECT_TRUE(reported);
}

TEST(GradientLimiter, GrowsWhileHealthyAndShrinksWhileSlow) {
  Bench bench({});
  bench.Learn(10ms);
  bench.Rounds(50, 10ms);
  const std::uint32_t healthy = bench.Read().limit;
  EXPECT_GT(healthy, 60u);
  bench.Rounds(30, 30ms);
  EXPECT_LT(bench.Read().limit, healthy / 4);
  ASSERT_FALSE(bench.log.empty());
  EXPECT_EQ(bench.log.back().kind, EventKind::kLimitChanged);
  EXPECT_EQ(bench.log.back().cause, Cause::kGradient);
  EXPECT_NEAR(bench.log.back().value, 0.5, 0.02);
}

// P14: {3, 6, 1, 1215, 7} ms and a minimum of 50 samples: five samples decide nothing.
TEST(GradientLimiter, TooFewSamplesDecideNothing) {
  Bench bench({.percentile = 0.99,
               .min_samples = 50,
               .baseline = GradientBaseline::kFixed,
               .fixed_baseline = 500ms});
  bench.Round(1ms, 1);
  for (const Duration latency : {3ms, 6ms, 1ms, 1215ms, 7ms}) bench.Round(latency, 1);
  bench.Rounds(40, 10s, 1);
  EXPECT_EQ(bench.Read().limit, 20u);
  EXPECT_EQ(bench.Read().sample, 0ns);
  bench.Rounds(10, 10s, 1);
  EXPECT_LT(bench.Read().limit, 20u) << "and enough of them do";
}

// P15, Netflix/concurrency-limits#37: with the smallest latency ever as baseline one lucky call in
// a hundred drives the limit down.
TEST(GradientLimiter, OneLuckyCallInAHundredIsNoBaseline) {
  std::vector<Duration> latencies(100, 300ms);
  latencies[50] = 150ms;
  Bench bench({.min_samples = 100});
  while (bench.Read().measured == 0) bench.Mixed(latencies);
  const std::uint32_t start = bench.Read().limit;
  for (int window = 0; window < 50; ++window) {
    for (int i = 0; i < 5; ++i) bench.Mixed(latencies);
  }
  EXPECT_GE(bench.Read().limit, start * 8 / 10);
}
// P15, second run: half 5 ms, half 200 ms, in random order, and never changing.
TEST(GradientLimiter, TwoKindsOfCallsAreNoCongestion) {
  std::mt19937_64 random(1);
  std::vector<Duration> latencies;
  for (int i = 0; i < 10'007; ++i) latencies.push_back(random() % 2 == 0 ? 5ms : 200ms);
  Bench bench({.min_samples = 100});
  while (bench.Read().measured == 0) bench.Mixed(latencies);
  const std::uint32_t start = bench.Read().limit;
  for (int i = 0; i < 250; ++i) {
    bench.Mixed(latencies, 100);
    ASSERT_GE(bench.Read().limit, bench.Read().mode == GradientMode::kProbe ? 3 : start * 8 / 10);
  }
}

// P16, Netflix/concurrency-limits#65: latency better than the baseline must not inflate a limit
// that nobody uses.
TEST(GradientLimiter, IdleDoesNotLiftTheLimit) {
  Bench bench({.probe_interval = 24h});
  while (bench.Read().measured == 0) bench.Round(10ms, 2);
  for (int window = 0; window < 1000; ++window) {
    bench.Rounds(20, 5ms, 2);
    ASSERT_LE(bench.Read().limit, 20u);
  }
}

// P17, apache/brpc#1006: 25 us calls at 10'000/s need a quarter of a call in flight; the limit must
// not go to 0, where no sample ever lifts it again.
TEST(GradientLimiter, FastCallsDoNotShutTheDoor) {
  Bench bench({.min_limit = 1});
  for (int i = 0; i < 100'000; ++i) {
    bench.Round(25us, 1);
    bench.now += 75us;
    ASSERT_GE(bench.Read().limit, 1u);
  }
  for (int i = 0; i < 2000 && bench.Read().limit < 25; ++i) bench.Round(2500us);
  EXPECT_GE(bench.Read().limit, 25u);
}

// P18, envoyproxy/envoy#8337: instances that measure together drop capacity together.
std::vector<Duration> ProbeIntervals(std::uint64_t seed, double jitter) {
  Bench bench({.probe_jitter = jitter, .seed = seed});
  std::vector<Duration> intervals;
  bench.Learn(10ms);
  while (intervals.size() < 4) {
    const TimePoint ended = bench.now;
    bench.Rounds(10, 10ms, 2);
    bench.now += 59s;
    while (bench.Read().mode != GradientMode::kProbe) bench.Round(10ms, 2);
    intervals.push_back(bench.now - ended);
    while (bench.Read().mode == GradientMode::kProbe) bench.Round(10ms, 2);
  }
  return intervals;
}
TEST(GradientLimiter, ProbesAreJittered) {
  std::set<Duration> first;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto intervals = ProbeIntervals(seed, 0.15);
    first.insert(intervals[0]);
    EXPECT_EQ(std::set<Duration>(intervals.begin(), intervals.end()).size(), intervals.size());
    for (const Duration interval : intervals) {
      EXPECT_GE(interval, 60s);
      EXPECT_LE(interval, 69s);
    }
  }
  EXPECT_GE(first.size(), 9u);
  for (const Duration interval : ProbeIntervals(1, 0)) EXPECT_EQ(interval, 60s);
}

// envoyproxy/envoy#11579: calls begun before the probe ran under load; with them in it each
// baseline comes out higher than the one before.
TEST(GradientLimiter, CallsFromBeforeTheProbeAreNoSamples) {
  Bench bench({.probe_limit = 3, .probe_samples = 30, .probe_interval = 1s});
  bench.Learn(10ms);
  std::vector<Bench::Call> old;
  while (bench.Begin(old)) {
  }
  ASSERT_EQ(old.size(), 20u);
  bench.now += 2s;  // So slow, under load.
  bench.End(old[0]);
  ASSERT_EQ(bench.Read().mode, GradientMode::kProbe);
  for (std::size_t i = 1; i < old.size(); ++i) bench.End(old[i]);
  while (bench.Read().mode == GradientMode::kProbe) bench.Round(10ms);
  EXPECT_EQ(bench.Read().measured, 2u);
  EXPECT_NEAR(Millis(bench.Read().baseline), 10, 0.2);
}

// envoyproxy/envoy#46532: the limit of a probe and the floor are two numbers, and a probe never
// raises the limit.
TEST(GradientLimiter, AProbeNeverRaisesTheLimit) {
  Bench bench({.min_limit = 2, .initial_limit = 4, .probe_limit = 50});
  std::uint32_t highest = 0;
  while (bench.Read().measured == 0) {
    bench.Round(10ms);
    if (bench.Read().mode == GradientMode::kProbe) highest = std::max(highest, bench.Read().limit);
  }
  EXPECT_EQ(highest, 4u);
}

// Found by fuzzing: a clock that stands at its end passes even a probe that is never due.
TEST(GradientLimiter, MeasuresNoFixedBaselineWhereTheTimelineEnds) {
  Bench bench({.min_samples = 1, .baseline = GradientBaseline::kFixed, .fixed_baseline = 10ms});
  bench.now = TimePoint::max();
  for (int i = 0; i < 10; ++i) {
    std::vector<Bench::Call> calls;
    ASSERT_TRUE(bench.Begin(calls));
    bench.End(calls[0]);
    ASSERT_EQ(bench.Read().mode, GradientMode::kFollow);
  }
  EXPECT_EQ(bench.Read().baseline, 10ms);
}

// At the minimum with a baseline that is not true any more: measured again after five windows, and
// not a minute later.
TEST(GradientLimiter, MeasuresAgainWhenStuckAtTheMinimum) {
  Bench bench({});
  bench.Learn(10ms);
  const TimePoint slower = bench.now;
  while (bench.Read().measured == 1 && bench.now < slower + 1h) bench.Round(100ms);
  EXPECT_LT(bench.now - slower, 20s);
  EXPECT_NEAR(Millis(bench.Read().baseline), 100, 2);
  bool told = false;
  for (const Event& event : bench.log) {
    if (event.cause == Cause::kStuckAtMinimum) {
      told = true;
      EXPECT_EQ(event.count, 5u);
    }
  }
  EXPECT_TRUE(told);
  bench.Rounds(50, 100ms);
  EXPECT_GT(bench.Read().limit, 20u);
}
// What is told is what comes into force: each change begins where the one before it ended, also
// where a window that takes the limit to its minimum finds it stuck there at once.
TEST(GradientLimiter, TellsOnlyWhatComesIntoForce) {
  Bench bench({.stuck_windows = 1});
  bench.Learn(10ms);
  const TimePoint slower = bench.now;
  while (bench.Read().measured == 1 && bench.now < slower + 1h) bench.Round(100ms);
  std::optional<double> limit;
  for (const Event& event : bench.log) {
    if (event.kind != EventKind::kLimitChanged) continue;
    EXPECT_EQ(event.before, limit.value_or(event.before));
    limit = event.after;
  }
  EXPECT_EQ(bench.Read().limit, limit);
}
TEST(GradientLimiter, AFixedBaselineIsNeverMeasured) {
  Bench bench({.baseline = GradientBaseline::kFixed, .fixed_baseline = 10ms});
  bench.Rounds(2000, 100ms);
  EXPECT_EQ(bench.Read().limit, 4u);
  EXPECT_EQ(bench.Read().baseline, 10ms);
  EXPECT_EQ(bench.Read().measured, 0u);
}
TEST(GradientLimiter, ALiveBaselinePinsNothing) {
  Bench bench({.baseline = GradientBaseline::kLive, .max_baseline = 50ms});
  while (bench.Read().measured == 0) {
    bench.Round(10ms);
    ASSERT_EQ(bench.Read().limit, 20u);
  }
  EXPECT_NEAR(Millis(bench.Read().baseline), 10, 0.2);
}
// A baseline measured in a long incident must not pass for healthy.
TEST(GradientLimiter, NothingAboveMaxBaselineIsHealthy) {
  Bench bench({.max_baseline = 50ms});
  bench.Learn(400ms);
  EXPECT_EQ(bench.Read().baseline, 50ms);
}

// Netflix/concurrency-limits#137: a service that lets every call time out has a constant latency
// and looks healthy, but for the outcomes. Not one success is a sample here.
TEST(GradientLimiter, TimeoutsShrinkTheLimit) {
  Bench bench({.probe_interval = 24h, .stuck_windows = 0});
  bench.Learn(10ms);
  bench.Rounds(20, 10ms);
  const std::uint32_t before = bench.Read().limit;
  for (int i = 0; i < 3; ++i) bench.Round(500ms, 5000, Outcome::kOverload);
  EXPECT_LT(bench.Read().limit, before);
  for (int i = 0; i < 300; ++i) bench.Round(500ms, 5000, Outcome::kOverload);
  EXPECT_EQ(bench.Read().limit, 4u);
  bench.Rounds(100, 10ms);
  EXPECT_GT(bench.Read().limit, 20u) << "and it comes back";
}
// A tenth is the cause of nothing.
TEST(GradientLimiter, AFewTimeoutsDoNot) {
  Bench bench({.probe_interval = 24h});
  bench.Learn(10ms);
  for (int i = 0; i < 200; ++i) {
    bench.Round(10ms);
    bench.Round(10ms, 1, Outcome::kOverload);
  }
  EXPECT_GT(bench.Read().limit, 20u);
}
// Envoy samples a fast error like any other call: a service that fails fast looks fast.
TEST(GradientLimiter, FailuresAreNoSamples) {
  Bench bench({.probe_interval = 24h});
  bench.Learn(10ms);
  const std::uint32_t before = bench.Read().limit;
  for (int i = 0; i < 1000; ++i) bench.Round(100us, 5000, Outcome::kFailure);
  for (int i = 0; i < 1000; ++i) bench.Round(100us, 5000, Outcome::kIgnored);
  EXPECT_EQ(bench.Read().limit, before);
  EXPECT_NEAR(Millis(bench.Read().baseline), 10, 0.2);
}

// Twenty samples, not twenty calls: one slow success among nineteen failures decides nothing.
TEST(GradientLimiter, FailuresDoNotMakeUpTheSamples) {
  Bench bench({.baseline = GradientBaseline::kFixed, .fixed_baseline = 10ms});
  bench.Round(10ms, 1);  // The first.
  for (int i = 0; i < 18; ++i) {
    bench.Round(100ms, 1);
    bench.Round(10ms, 19, Outcome::kFailure);
    ASSERT_EQ(bench.Read().limit, 20u) << i;
  }
  bench.Round(100ms, 1);
  for (int i = 0; i < 20; ++i) bench.Round(10ms, 19, Outcome::kFailure);
  EXPECT_EQ(bench.Read().limit, 13u) << "half, and the root";
}

// Permits that never come back, more than a probe lets in: the probe must not close the door for
// good, nor needs a completion to give up.
TEST(GradientLimiter, HungCallsDoNotHoldAProbeOpen) {
  Bench bench({});
  bench.Learn(10ms);
  std::vector<Bench::Call> hung;
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(bench.Begin(hung));
  bench.now += 70s;
  bench.Round(10ms, 1);
  ASSERT_EQ(bench.Read().mode, GradientMode::kProbe);
  std::vector<Bench::Call> calls;
  EXPECT_FALSE(bench.Begin(calls));
  bench.now += 5s;
  EXPECT_FALSE(bench.Begin(calls)) << "this one gives up the probe";
  EXPECT_TRUE(bench.Begin(calls));
  EXPECT_EQ(bench.Read().mode, GradientMode::kFollow);
  EXPECT_NEAR(Millis(bench.Read().baseline), 10, 0.2) << "what was known stays";
}
// The same before anything is known: then live traffic must do.
TEST(GradientLimiter, LearnsFromLiveTrafficWhereNoProbeCan) {
  Bench bench({});
  std::vector<Bench::Call> hung;
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(bench.Begin(hung));
  bench.Round(10ms, 1);
  std::vector<Bench::Call> calls;
  bench.now += 5s;
  EXPECT_FALSE(bench.Begin(calls));
  EXPECT_EQ(bench.Read().mode, GradientMode::kLive);
  EXPECT_EQ(bench.Read().limit, 20u);
  bench.Learn(10ms);
  EXPECT_NEAR(Millis(bench.Read().baseline), 10, 0.2);
}

// Latency 0 on a clock that stands still: no division by zero, no collapse.
TEST(GradientLimiter, AClockThatStandsStillCollapsesNothing) {
  Bench bench({});
  bench.Rounds(1000, 0ns);
  EXPECT_GE(bench.Read().limit, 3u);
  bench.now += 24h * 365 * 100;
  bench.Rounds(1000, 1ms);
  bench.now -= 24h * 365 * 200;
  bench.Rounds(1000, 1ms);
  const auto snapshot = bench.Read();
  EXPECT_GE(snapshot.limit, 3u);
  EXPECT_LE(snapshot.limit, 1000u);
  EXPECT_EQ(snapshot.in_flight, 0u);
}

// Vegas throws at a latency of 0, which on a coarse clock the baseline and the samples all are.
TEST(GradientLimiter, AClockTooCoarseForACallIsNoCongestion) {
  Bench bench({});
  for (int i = 0; i < 1000; ++i) {
    bench.Round(0ns);
    bench.now += 10ms;
  }
  const auto snapshot = bench.Read();
  EXPECT_GT(snapshot.measured, 0u);
  EXPECT_LT(snapshot.baseline, 1us);
  EXPECT_GE(snapshot.gradient, 1.0);
  EXPECT_LE(snapshot.gradient, 2.0);
  EXPECT_GE(snapshot.limit, 20u);
}

TEST(GradientLimiter, RefusesBadOptions) {
  EXPECT_THROW(Solo<GradientLimiter>({.buffer = -1}), std::invalid_argument);
}

TEST(GradientLimiter, SixteenThreadsNeverExceedTheLimit) {
  Solo<GradientLimiter> limiter({.interval = 10us,
                                 .min_samples = 5,
                                 .min_limit = 2,
                                 .max_limit = 10,
                                 .initial_limit = 10,
                                 .probe_samples = 10,
                                 .probe_interval = 1ms,
                                 .probe_timeout = 1ms});
  std::atomic<int> inside{0};
  std::atomic<int> peak{0};
  std::atomic<std::int64_t> clock{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        GradientLimiter::Ticket ticket;
        Events events;
        const TimePoint now{Duration(clock.fetch_add(500))};
        if (!limiter.Admit({}, now, ticket, events).admitted()) continue;
        const int in = inside.fetch_add(1) + 1;
        int seen = peak.load();
        while (in > seen && !peak.compare_exchange_weak(seen, in)) {
        }
        if (i % 8 == 0) std::this_thread::yield();
        inside.fetch_sub(1);
        limiter.Complete(ticket,
                         {.started = now,
                          .now = TimePoint(Duration(clock.fetch_add(500))),
                          .outcome = static_cast<Outcome>(i % 13 == 0 ? i % 4 : 0)},
                         events);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_LE(peak.load(), 10);
  EXPECT_EQ(limiter.Read(TimePoint{}).in_flight, 0u);
  EXPECT_GT(limiter.Read(TimePoint{}).measured, 0u);
}

// With a baseline that was saved the first measurement is due after the interval, and not at once.
TEST(GradientLimiter, BeginsWithTheBaselineThatItIsTold) {
  Bench first({.max_limit = 60});
  first.Learn(10ms);
  first.Rounds(100, 10ms);
  const auto learned = first.Read();
  ASSERT_EQ(learned.limit, 60u);
  Bench second({.max_limit = 60,
                .initial_limit = static_cast<std::int64_t>(learned.limit),
                .initial_baseline = learned.baseline});
  second.Rounds(20, 10ms);
  EXPECT_EQ(second.Read().mode, GradientMode::kFollow);
  EXPECT_EQ(second.Read().baseline, learned.baseline);
  EXPECT_EQ(second.Read().limit, 60u);
  EXPECT_EQ(second.Read().measured, 0u);
  EXPECT_GT(second.Read().next_probe, TimePoint(1h + 59s));
  second.now += 70s;
  second.Learn(12ms);
  EXPECT_NEAR(Millis(second.Read().baseline), 12, 0.3);
}

TEST(GradientLimiter, ConfigureHoldsTheLimitToItsRangeAndKeepsTheBaseline) {
  Bench bench({});
  bench.Learn(10ms);
  bench.Rounds(50, 10ms);
  const auto before = bench.Read();
  ASSERT_GT(before.limit, 100u);
  std::vector<Bench::Call> calls;
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(bench.Begin(calls));
  EXPECT_EQ(bench.limiter.Configure({.max_limit = 30}, bench.now), "");
  EXPECT_EQ(bench.Read().limit, 30u);
  EXPECT_EQ(bench.Read().in_flight, 50u);
  EXPECT_EQ(bench.Read().baseline, before.baseline);
  EXPECT_EQ(bench.Read().mode, GradientMode::kFollow);
  EXPECT_FALSE(bench.Begin(calls));
  for (Bench::Call& call : calls) bench.End(call);
  EXPECT_EQ(bench.Read().in_flight, 0u);
  EXPECT_EQ(bench.limiter.Configure({.percentile = 0}, bench.now),
            "percentile: want above 0 and at most 1");
  EXPECT_EQ(bench.Read().limit, 30u);
  // A baseline that is known from now on.
  EXPECT_EQ(bench.limiter.Configure({.baseline = GradientBaseline::kFixed, .fixed_baseline = 20ms},
                                    bench.now),
            "");
  EXPECT_EQ(bench.Read().baseline, Duration(20ms));
  EXPECT_EQ(bench.Read().next_probe, TimePoint::max());
  // And one that is to be measured: at once.
  EXPECT_EQ(bench.limiter.Configure({.probe_limit = 2}, bench.now), "");
  EXPECT_EQ(bench.Read().mode, GradientMode::kProbe);
  EXPECT_EQ(bench.Read().limit, 2u);
  // While it lasts, its own options can be changed.
  EXPECT_EQ(bench.limiter.Configure({.probe_limit = 5, .probe_samples = 10}, bench.now), "");
  EXPECT_EQ(bench.Read().limit, 5u);
  bench.Rounds(3, 40ms);
  EXPECT_EQ(bench.Read().mode, GradientMode::kFollow);
  EXPECT_NEAR(Millis(bench.Read().baseline), 40, 1);
}

// Before the first call, too.
TEST(GradientLimiter, ConfigureBeforeTheFirstCall) {
  Bench bench({.initial_limit = 500});
  EXPECT_EQ(bench.limiter.Configure({.max_limit = 40}, bench.now), "");
  EXPECT_EQ(bench.Read().limit, 40u);
  std::vector<Bench::Call> calls;
  while (bench.Begin(calls)) {
  }
  EXPECT_EQ(calls.size(), 40u);
  bench.now += 1ms;
  for (Bench::Call& call : calls) bench.End(call);
  EXPECT_EQ(bench.Read().mode, GradientMode::kProbe);
}

// Hours of fast failures do not outvote the overload that comes after them.
TEST(GradientLimiter, LongErrorsDoNotHideTheOverloadThatFollows) {
  Bench bench({.baseline = GradientBaseline::kFixed, .fixed_baseline = 10ms});
  bench.Rounds(20, 10ms);
  const std::uint32_t before = bench.Read().limit;
  for (int i = 0; i < 2000; ++i) bench.Round(10ms, 100, Outcome::kFailure);
  ASSERT_GE(bench.Read().limit, before);
  for (int i = 0; i < 200; ++i) bench.Round(10ms, 100, Outcome::kOverload);
  EXPECT_LT(bench.Read().limit, before * 0.9);
}

}  // namespace
}  // namespace shed
