#include "shed/sim/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shed/sim/report.h"

namespace shed::sim {
namespace {

using namespace std::chrono_literals;

// A gate of a few lines, so that the simulator is judged without any of the library's limiters.
class PlainLimit final : public Gate {
 public:
  explicit PlainLimit(std::uint32_t limit) : limit_(limit) {}
  bool TryAdmit(const Request&, std::uint32_t) override {
    return in_flight_ < limit_ && ++in_flight_ > 0;
  }
  void Complete(std::uint32_t, Outcome outcome) override {
    --in_flight_;
    ++ended[outcome];
  }
  double limit() const override { return limit_; }

  std::map<Outcome, int> ended;

 private:
  std::uint32_t limit_;
  std::uint32_t in_flight_ = 0;
};

// As PlainLimit, but calls wait, first come, first served, for `patience` at most.
class PlainQueue final : public Gate {
 public:
  PlainQueue(const ManualClock& clock, std::uint32_t limit, Duration patience)
      : clock_(clock), limit_(limit), patience_(patience) {}
  bool TryAdmit(const Request&, std::uint32_t) override { return false; }
  Said Ask(const Request&, std::uint32_t slot) override {
    Look();
    if (in_flight_ < limit_) {
      ++in_flight_;
      return Said::kAdmitted;
    }
    line_.push_back({slot, clock_.Now() + patience_});
    return Said::kWaits;
  }
  void Complete(std::uint32_t, Outcome) override {
    Look();
    --in_flight_;
    if (line_.empty()) return;
    ++in_flight_;
    answers_.push_back({line_.front().slot, true});
    line_.pop_front();
  }
  std::vector<Answer> TakeAnswers() override { return std::exchange(answers_, {}); }
  TimePoint next() const override { return line_.empty() ? TimePoint::max() : line_.front().until; }
  void Poll() override {
    Look();
    while (next() <= clock_.Now()) {
      answers_.push_back({line_.front().slot, false});
      line_.pop_front();
    }
  }

 private:
  struct Waiter {
    std::uint32_t slot;
    TimePoint until;
  };
  // Everything comes in its time.
  void Look() {
    EXPECT_GE(clock_.Now(), latest_);
    latest_ = clock_.Now();
  }
  const ManualClock& clock_;
  TimePoint latest_{};
  std::uint32_t limit_;
  Duration patience_;
  std::uint32_t in_flight_ = 0;
  std::deque<Waiter> line_;
  std::vector<Answer> answers_;
};

GateFactory Open() {
  return [](const ManualClock&, std::uint32_t) { return std::make_unique<OpenGate>(); };
}
GateFactory Limited(std::uint32_t limit) {
  return [=](const ManualClock&, std::uint32_t) { return std::make_unique<PlainLimit>(limit); };
}

std::vector<Source> Rate(std::vector<Stage> stages) {
  return {Source{.name = "client", .callers = 1, .stages = std::move(stages), .bursts = {}}};
}

Scenario Spike() {
  Scenario s;
  s.name = "spike";
  s.sources = Rate({{0s, 2000}, {20s, 3200}, {30s, 2000}});
  s.phases = {{0s, {{1, 3ms, false}}}};
  s.event = {20s, 30s};
  return s;
}

Scenario Degrade() {
  Scenario s;
  s.name = "degrade";
  s.sources = Rate({{0s, 2000}});
  s.phases = {{0s, {{1, 3ms, false}}}, {20s, {{1, 10ms, false}}}, {40s, {{1, 3ms, false}}}};
  s.event = {20s, 40s};
  return s;
}

Report RunReport(const Scenario& scenario, const GateFactory& gate, std::uint64_t seed = 1) {
  Simulation simulation(scenario, gate, seed);
  return MakeReport(scenario, simulation.Run());
}

double Figure(const Report& report, const char* name) { return report.Find(name).value_or(-1); }

// Two independent simulators of the same model gave these figures.
TEST(Simulation, CollapsesUnderASpikeWithoutALimiter) {
  const Report report = RunReport(Spike(), Open());
  EXPECT_LT(Figure(report, "goodput_per_s"), 40);
  EXPECT_EQ(Figure(report, "goodput_min_1s"), 0);
  // And for some 8 s after the spike is over.
  EXPECT_GE(Figure(report, "normal_after_s"), 6);
  EXPECT_GE(Figure(report, "goodput_after_share"), 0.99);
}

TEST(Simulation, KeepsItsGoodputBehindALimit) {
  const Report spike = RunReport(Spike(), Limited(16));
  EXPECT_NEAR(Figure(spike, "goodput_per_s"), 2600, 15);
  EXPECT_NEAR(Figure(spike, "goodput_min_1s"), 2575, 25);
  EXPECT_NEAR(Figure(spike, "p99_ms"), 7, 0.5);
  const Report degrade = RunReport(Degrade(), Limited(16));
  EXPECT_NEAR(Figure(degrade, "goodput_per_s"), 800, 2);
  EXPECT_NEAR(Figure(degrade, "goodput_min_1s"), 794, 8);
  EXPECT_NEAR(Figure(degrade, "p99_ms"), 23, 1);
}

TEST(Simulation, ALimitThatIsTooHighDoesNothingForASlowService) {
  const Report spike = RunReport(Spike(), Limited(500));
  EXPECT_NEAR(Figure(spike, "goodput_per_s"), 2666, 5);
  EXPECT_NEAR(Figure(spike, "goodput_min_1s"), 2430, 20);
  EXPECT_NEAR(Figure(spike, "p99_ms"), 272, 5);
  const Report degrade = RunReport(Degrade(), Limited(500));
  EXPECT_NEAR(Figure(degrade, "goodput_per_s"), 13, 5);
}

TEST(Simulation, AHealthyServiceAnswersAll) {
  Scenario s = Spike();
  s.sources = Rate({{0s, 1000}});
  Simulation simulation(s, Open(), 1);
  const Recorder& seen = simulation.Run();
  EXPECT_EQ(seen.Sum(Count::kTimedOut, 0, 60), 0u);
  EXPECT_NEAR(static_cast<double>(seen.Sum(Count::kGood, 0, 60)),
              static_cast<double>(seen.Sum(Count::kOffered, 0, 60)), 20);
  // Utilisation: 1000/s of 3 ms on 8 workers.
  const double worked = static_cast<double>(simulation.server().slices_worked()) * 1e-4 / 60 / 8;
  EXPECT_NEAR(worked, 0.375, 0.01);
}

TEST(Simulation, TheSameSeedGivesTheSameFigures) {
  const auto values = [](std::uint64_t seed) {
    std::vector<double> all;
    for (const Field& field : RunReport(Spike(), Limited(16), seed).fields) {
      all.push_back(field.value);
    }
    return all;
  };
  EXPECT_EQ(values(1), values(1));
  EXPECT_NE(values(1), values(2));
}

// Stacks are compared on the same traffic.
TEST(Simulation, TheLimiterDoesNotMoveTheTraffic) {
  const Report open = RunReport(Spike(), Open());
  const Report limited = RunReport(Spike(), Limited(3));
  EXPECT_EQ(Figure(open, "offered_per_s"), Figure(limited, "offered_per_s"));
}

// One call of 200 ms, a client that waits 50 ms.
Scenario OneLateCall() {
  Scenario s;
  s.length = 1s;
  s.sources = {Source{.name = "c", .callers = 1, .stages = {}, .bursts = {{100ms, 1}}}};
  s.phases = {{0s, {{1, 200ms, false}}}};
  s.timeout = 50ms;
  s.event = {0s, 1s};
  s.settle = 0s;
  return s;
}

// Keeps what it was told, and when.
class Spy final : public Gate {
 public:
  struct Seen {
    std::vector<std::pair<Outcome, Duration>> ended;
  };
  Spy(const ManualClock& clock, Seen& seen) : clock_(clock), seen_(seen) {}
  bool TryAdmit(const Request&, std::uint32_t) override { return true; }
  void Complete(std::uint32_t, Outcome outcome) override {
    seen_.ended.emplace_back(outcome, clock_.Now().time_since_epoch());
  }

 private:
  const ManualClock& clock_;
  Seen& seen_;
};

Spy::Seen Spied(const Scenario& scenario) {
  Spy::Seen seen;
  Simulation(
      scenario,
      [&](const ManualClock& clock, std::uint32_t) { return std::make_unique<Spy>(clock, seen); },
      1)
      .Run();
  return seen;
}

using ::testing::ElementsAre;
using ::testing::Pair;

// A permit that is given back at the time-out would let in calls that the service has no room for.
TEST(Simulation, InFrontOfTheServiceAPermitIsHeldUntilTheWorkIsDone) {
  EXPECT_THAT(Spied(OneLateCall()).ended, ElementsAre(Pair(Outcome::kOverload, 300ms)));
}

TEST(Simulation, InTheCallerAPermitEndsAtTheTimeOutAndOnce) {
  Scenario s = OneLateCall();
  s.place = Place::kCaller;
  EXPECT_THAT(Spied(s).ended, ElementsAre(Pair(Outcome::kOverload, 150ms)));
}

TEST(Simulation, AnAnswerAtTheVeryEndOfThePatienceCounts) {
  Scenario s = OneLateCall();
  s.timeout = 200ms;
  EXPECT_THAT(Spied(s).ended, ElementsAre(Pair(Outcome::kSuccess, 300ms)));
  Simulation simulation(s, Open(), 1);
  const Recorder& seen = simulation.Run();
  EXPECT_EQ(seen.Sum(Count::kGood, 0, 1), 1u);
  EXPECT_EQ(seen.Sum(Count::kTimedOut, 0, 1), 0u);
}

TEST(Simulation, FailuresAreToldAsSuch) {
  Scenario s = OneLateCall();
  s.timeout = 500ms;
  s.phases = {{0s, {{1, 200ms, true}}}};
  EXPECT_THAT(Spied(s).ended, ElementsAre(Pair(Outcome::kFailure, 300ms)));
}

TEST(Simulation, TheServersOwnRefusalCostsItWorkAndIsAnOverload) {
  Scenario s = OneLateCall();
  s.sources.front().bursts = {{100ms, 3}};
  s.timeout = 500ms;
  s.server_limit = 2;
  s.refusal_work = 10ms;
  // The first has begun its slice when the others, of the same instant, come.
  for (const Place place : {Place::kServer, Place::kCaller}) {
    s.place = place;
    EXPECT_THAT(Spied(s).ended,
                ElementsAre(Pair(Outcome::kOverload, 110100us), Pair(Outcome::kSuccess, 300ms),
                            Pair(Outcome::kSuccess, 300100us)));
  }
  Simulation simulation(s, Open(), 1);
  const Recorder& seen = simulation.Run();
  EXPECT_EQ(seen.Sum(Count::kRefusedByServer, 0, 1), 1u);
  EXPECT_EQ(seen.Sum(Count::kReached, 0, 1), 3u);
  EXPECT_EQ(seen.Sum(Count::kGood, 0, 1), 2u);
}

TEST(Simulation, EachCallerHasItsOwnLimiterThere) {
  Scenario s = OneLateCall();
  s.place = Place::kCaller;
  s.sources = {Source{.name = "c", .callers = 20, .stages = {{0s, 1000}}, .bursts = {}}};
  std::vector<std::uint32_t> made;
  Simulation simulation(
      s,
      [&](const ManualClock&, std::uint32_t caller) {
        made.push_back(caller);
        return std::make_unique<PlainLimit>(1);
      },
      1);
  const Recorder& seen = simulation.Run();
  EXPECT_EQ(made.size(), 20u);
  // One at a time each, for 50 ms: at most 20 callers, 20 calls a second.
  EXPECT_LE(seen.Sum(Count::kReached, 0, 1), 400u);
  for (std::uint32_t caller = 0; caller < 20; ++caller) {
    EXPECT_GE(seen.Sum(Count::kReached, 0, 1, caller), 5u);
  }
}

// Every call that arrives is refused, or reaches the server and ends in one of the known ways.
TEST(Simulation, LosesNoCall) {
  Scenario s = Degrade();
  s.server_limit = 100;
  s.refusal_work = 1ms;
  s.phases[1].kinds = {{0.3, 200us, true}, {0.7, 10ms, false}};
  Simulation simulation(s, Limited(150), 4);
  const Recorder& seen = simulation.Run();
  const auto sum = [&](Count what) { return seen.Sum(what, 0, 60); };
  EXPECT_EQ(sum(Count::kOffered), sum(Count::kRefused) + sum(Count::kReached));
  const std::uint64_t ended = sum(Count::kGood) + sum(Count::kFailed) + sum(Count::kTimedOut) +
                              sum(Count::kRefusedByServer);
  EXPECT_LE(ended, sum(Count::kReached));
  EXPECT_GE(ended + 150, sum(Count::kReached));  // Those still in flight.
}

// A call that waits for something else holds its permit, and no worker.
TEST(Simulation, ACallThatWaitsNeedsNoWorkerMeanwhile) {
  Scenario s = OneLateCall();
  s.timeout = 500ms;
  s.workers = 1;
  s.sources = {Source{.name = "c", .callers = 1, .stages = {}, .bursts = {{100ms, 3}}}};
  s.phases = {{0s, {{.time = 10ms, .waits = 200ms}}}};
  // All three are ready at 300 ms, and then share one worker: 30 ms for the last of them.
  Spy::Seen seen = Spied(s);
  ASSERT_EQ(seen.ended.size(), 3u);
  EXPECT_GE(seen.ended.front().second, 310ms);
  EXPECT_THAT(seen.ended.back(), Pair(Outcome::kSuccess, 330ms));
  // Whoever does not wait does not wait for them.
  s.sources.push_back(Source{.name = "d",
                             .callers = 1,
                             .stages = {},
                             .bursts = {{100ms, 1}},
                             .phases = {{0s, {{.time = 10ms}}}}});
  EXPECT_THAT(Spied(s).ended.front(), Pair(Outcome::kSuccess, 110ms));
}

TEST(Simulation, ACallThatNeverReturnsHoldsItsPermitForGood) {
  Scenario s = OneLateCall();
  s.sources.front().bursts = {{100ms, 4}, {900ms, 1}};
  s.phases = {{0s, {{.time = 10ms, .waits = kForEver}}}, {500ms, {{.time = 10ms}}}};
  Simulation simulation(s, Limited(4), 1);
  const Recorder& seen = simulation.Run();
  EXPECT_EQ(seen.Sum(Count::kReached, 0, 1), 4u);
  EXPECT_EQ(seen.Sum(Count::kTimedOut, 0, 1), 4u);  // Their clients do not hang.
  EXPECT_EQ(seen.Sum(Count::kRefused, 0, 1), 1u);
  EXPECT_EQ(simulation.server().slices_worked(), 0u);
  // In the caller it ends at the time-out.
  s.place = Place::kCaller;
  EXPECT_THAT(Spied(s).ended, ::testing::SizeIs(5));
}

// A call that was admitted with a wait starts after it, and is charged when its work is done, at
// the price of the work that it was.
TEST(Simulation, ACallThatIsDelayedStartsLaterAndIsCharged) {
  struct Delays final : Gate {
    bool TryAdmit(const Request& request, std::uint32_t slot) override {
      asked.push_back(request);
      waits[slot] = std::min(request.max_wait, Duration(700ms));
      return true;
    }
    Duration wait(std::uint32_t slot) const override { return waits.at(slot); }
    void Charge(std::uint32_t slot, std::uint64_t units) override { charged[slot] += units; }
    void Complete(std::uint32_t slot, Outcome) override { ended.push_back(charged[slot]); }
    std::vector<Request> asked;
    std::map<std::uint32_t, Duration> waits;
    std::map<std::uint32_t, std::uint64_t> charged;
    std::vector<std::uint64_t> ended;
  };
  Scenario s = OneLateCall();
  s.timeout = 100ms;
  s.length = 2s;
  s.unit = 4ms;
  s.sources = {Source{.name = "a", .callers = 1, .bursts = {{100ms, 1}}, .cost = 3, .max_wait = 5s},
               Source{.name = "b", .callers = 1, .bursts = {{200ms, 1}}}};
  s.phases = {{0s, {{.time = 10ms}}}};
  Delays* gate = nullptr;
  Simulation simulation(
      s,
      [&](const ManualClock&, std::uint32_t) {
        auto made = std::make_unique<Delays>();
        gate = made.get();
        return made;
      },
      1);
  const Recorder& seen = simulation.Run();
  EXPECT_EQ(gate->asked[0].max_wait, 5s);
  EXPECT_EQ(gate->asked[0].time_left, 5100ms);
  EXPECT_EQ(gate->asked[0].cost, 3u);
  EXPECT_EQ(gate->asked[1].max_wait, 0s);
  EXPECT_EQ(gate->asked[1].time_left, 100ms);
  // The one that was delayed is the last to be done, in time by its client's patience.
  EXPECT_THAT(gate->ended, ElementsAre(3u, 3u));
  EXPECT_EQ(seen.Sum(Count::kGood, 0, 2), 2u);
  ASSERT_EQ(seen.delays().size(), 1u);
  EXPECT_EQ(seen.delays()[0].wait, 700ms);
  EXPECT_EQ(seen.delays()[0].at, 100ms);
  EXPECT_EQ(simulation.server().slices_worked(), 200u);
  // Patience begins at the start, and has an end: work of 110 ms is given up.
  s.phases = {{0s, {{.time = 110ms}}}};
  Simulation late(
      s, [](const ManualClock&, std::uint32_t) { return std::make_unique<Delays>(); }, 1);
  EXPECT_EQ(late.Run().Sum(Count::kTimedOut, 0, 2), 2u);
}

TEST(Simulation, CallsAreOfTheirSourcesRouteAndWork) {
  // Counts what comes by route.
  struct Routes final : Gate {
    explicit Routes(std::map<std::string, int>& routes) : seen(routes) {}
    bool TryAdmit(const Request& request, std::uint32_t) override {
      return ++seen[std::string(request.route)] > 0;
    }
    void Complete(std::uint32_t, Outcome) override {}
    std::map<std::string, int>& seen;
  };
  Scenario s = OneLateCall();
  s.timeout = 500ms;
  s.sources = {
      Source{.name = "a", .callers = 2, .stages = {}, .bursts = {{100ms, 5}}, .route = "x"},
      Source{.name = "b",
             .callers = 1,
             .stages = {},
             .bursts = {{100ms, 3}, {300ms, 3}},
             .route = "y",
             .phases = {{0s, {{.time = 1ms}}}, {200ms, {{.time = 1ms, .fails = true}}}}}};
  std::map<std::string, int> seen;
  Simulation simulation(
      s, [&](const ManualClock&, std::uint32_t) { return std::make_unique<Routes>(seen); }, 1);
  const Recorder& recorder = simulation.Run();
  EXPECT_THAT(seen, ElementsAre(Pair("x", 5), Pair("y", 6)));
  EXPECT_EQ(recorder.Sum(Count::kGood, 0, 1, 2), 3u);
  EXPECT_EQ(recorder.Sum(Count::kFailed, 0, 1, 2), 3u);
  EXPECT_EQ(recorder.Sum(Count::kGood, 0, 1), 8u);
}

// Looks at the limit as often as the scenario says, and whether it measures.
TEST(Simulation, LooksAtTheLimit) {
  struct Measures final : Gate {
    bool TryAdmit(const Request&, std::uint32_t) override { return ++calls > 0; }
    void Complete(std::uint32_t, Outcome) override {}
    double limit() const override { return 7; }
    bool measuring() const override { return calls > 300; }
    int calls = 0;
  };
  Scenario s = Spike();
  s.length = 1s;
  s.look = 10ms;
  Simulation simulation(
      s, [](const ManualClock&, std::uint32_t) { return std::make_unique<Measures>(); }, 1);
  const std::vector<Recorder::Limit>& limits = simulation.Run().limits();
  EXPECT_GT(limits.size(), 90u);
  EXPECT_LE(limits.size(), 100u);
  EXPECT_EQ(limits.front().value, 7);
  EXPECT_FALSE(limits.front().measuring);
  EXPECT_TRUE(limits.back().measuring);
}

// Counts the calls by whether they are retries.
class CountingGate final : public Gate {
 public:
  CountingGate(int* first, int* again, bool admits)
      : first_(first), again_(again), admits_(admits) {}
  bool TryAdmit(const Request& request, std::uint32_t) override {
    ++(request.retry ? *again_ : *first_);
    return admits_;
  }
  void Complete(std::uint32_t, Outcome) override {}

 private:
  int* first_;
  int* again_;
  bool admits_;
};

// Refused, failed and timed out alike: a client tries so many times more, and no answer is wanted
// twice.
TEST(Retries, EachCallIsTriedSoManyTimesMore) {
  Scenario s;
  s.length = 20s;
  s.sources = Rate({{0s, 100}, {10s, 0}});
  s.timeout = 50ms;
  s.retries = 3;
  s.event = {0s, 10s};
  const auto tries = [&](Work work, bool admits) {
    s.phases = {{0s, {work}}};
    int first = 0;
    int again = 0;
    const GateFactory gate = [&](const ManualClock&, std::uint32_t) {
      return std::make_unique<CountingGate>(&first, &again, admits);
    };
    Simulation simulation(s, gate, 1);
    simulation.Run();
    EXPECT_GT(first, 900);
    return static_cast<double>(again) / first;
  };
  EXPECT_EQ(tries({1, 1ms, false}, false), 3);
  EXPECT_EQ(tries({1, 1ms, true}, true), 3);
  EXPECT_EQ(tries({1, 1ms, false}, true), 0);
  s.workers = 64;
  EXPECT_EQ(tries({1, 60ms, false}, true), 3);
}

TEST(Retries, FirstTriesAreTheSameWithAndWithoutThem) {
  Scenario s = Degrade();
  const Report without = RunReport(s, Limited(16));
  const double offered = without.Find("offered_per_s").value();
  s.retries = 1;
  const Report with = RunReport(s, Limited(16));
  EXPECT_GT(with.Find("offered_per_s").value(), 1.3 * offered);
  s.backoff = 10min;  // None comes within the run.
  EXPECT_EQ(RunReport(s, Limited(16)).Find("offered_per_s").value(), offered);
}

// Calls that wait for the limiter: answered in order, without a worker that stands idle meanwhile;
// one whose client gives up first counts once.
TEST(Simulation, CallsMayWaitForTheLimiter) {
  Scenario s;
  s.name = "burst";
  s.workers = 2;
  s.length = 10s;
  s.timeout = 105ms;
  s.sources = {Source{.name = "client", .callers = 1, .stages = {}, .bursts = {{1s, 29}, {5s, 1}}}};
  s.phases = {{0s, {{1, 10ms, false}}}};
  s.event = {0s, 10s};
  s.settle = 0s;
  const auto sums = [&](Duration patience) {
    Simulation simulation(
        s,
        [patience](const ManualClock& clock, std::uint32_t) {
          return std::make_unique<PlainQueue>(clock, 2, patience);
        },
        1);
    const Recorder& seen = simulation.Run();
    std::map<Count, std::uint64_t> counts;
    for (const Count count :
         {Count::kOffered, Count::kRefused, Count::kReached, Count::kGood, Count::kTimedOut}) {
      counts[count] = seen.Sum(count, 0, 10);
    }
    return counts;
  };
  // Two each 10 ms; the clients wait for 105 ms, and the nine calls behind are worked on in vain.
  auto counts = sums(1s);
  EXPECT_EQ(counts[Count::kOffered], 30u);
  EXPECT_EQ(counts[Count::kGood], 21u);
  EXPECT_EQ(counts[Count::kTimedOut], 9u);
  EXPECT_EQ(counts[Count::kReached], 30u);
  EXPECT_EQ(counts[Count::kRefused], 0u);
  // Those that have waited for 45 ms are refused, and cost nothing.
  counts = sums(45ms);
  EXPECT_EQ(counts[Count::kGood], 11u);
  EXPECT_EQ(counts[Count::kReached], 11u);
  EXPECT_EQ(counts[Count::kRefused], 19u);
  EXPECT_EQ(counts[Count::kTimedOut], 0u);
  // Clients that have given up while they waited are not refused besides.
  counts = sums(107ms);
  EXPECT_EQ(counts[Count::kGood], 21u);
  EXPECT_EQ(counts[Count::kTimedOut], 9u);
  EXPECT_EQ(counts[Count::kRefused], 0u);
}

// A wait that was to end by itself at 1.05 s ends with a permit before; what comes next is what is
// next then.
TEST(Simulation, AWaitThatEndsBeforeItsTimeBringsNothingForward) {
  Scenario s;
  s.name = "two";
  s.workers = 1;
  s.length = 10s;
  s.sources = {Source{.name = "client", .callers = 1, .stages = {}, .bursts = {{1s, 2}, {5s, 1}}}};
  s.phases = {{0s, {{1, 40ms, false}}}};
  s.event = {0s, 10s};
  s.settle = 0s;
  Simulation simulation(
      s,
      [](const ManualClock& clock, std::uint32_t) {
        return std::make_unique<PlainQueue>(clock, 1, 50ms);
      },
      1);
  EXPECT_EQ(simulation.Run().Sum(Count::kGood, 0, 10), 3u);
}

}  // namespace
}  // namespace shed::sim
