#include "scenarios.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace lab {
namespace {

using namespace std::chrono_literals;
using shed::Duration;
using shed::sim::Phase;
using shed::sim::Place;
using shed::sim::Scenario;
using shed::sim::Source;
using shed::sim::Span;
using shed::sim::Stage;
using shed::sim::Work;

// A service of another size: so many workers, and so many times the traffic.
struct Size {
  std::string suffix;
  std::uint32_t workers;
  double load;
};
const Size kUsual{"", 8, 1};
const Size kLarge{"-64", 64, 8};
const Size kSmall{"-1", 1, 0.125};

std::vector<Source> From(std::vector<Stage> stages) {
  return {Source{.name = "client", .callers = 1, .stages = std::move(stages), .bursts = {}}};
}

std::vector<Work> Takes(Duration time) { return {Work{.share = 1, .time = time, .fails = false}}; }

Scenario Sized(const Size& size, std::string name, std::string about) {
  Scenario s;
  s.name = std::move(name) + size.suffix;
  s.about = std::move(about);
  s.workers = size.workers;
  return s;
}

Scenario Spike(const Size& size) {
  Scenario s = Sized(size, "spike", "a fifth more than the service can do, from 20 to 30 s");
  s.sources = From({{0s, 2000 * size.load}, {20s, 3200 * size.load}, {30s, 2000 * size.load}});
  s.phases = {{0s, Takes(3ms)}};
  s.event = {20s, 30s};
  return s;
}

Scenario Degrade(const Size& size) {
  Scenario s = Sized(size, "degrade", "each call takes 10 ms instead of 3 from 20 to 40 s");
  s.sources = From({{0s, 2000 * size.load}});
  s.phases = {{0s, Takes(3ms)}, {20s, Takes(10ms)}, {40s, Takes(3ms)}};
  s.event = {20s, 40s};
  return s;
}

Scenario LongOverload(const Size& size) {
  Scenario s = Sized(size, "long-overload", "a fifth more than the service can do, for 10 minutes");
  s.length = 10min;
  s.sources = From({{0s, 3200 * size.load}});
  s.phases = {{0s, Takes(3ms)}};
  s.event = {9min, 10min};
  s.reference = {1min, 2min};
  return s;
}

Scenario CalmThenDegrade() {
  Scenario s = Degrade(kUsual);
  s.name = "calm-then-degrade";
  s.about = "as degrade, after 30 minutes at a quarter of the traffic";
  const Duration calm = 30min;
  s.length += calm;
  s.sources = From({{0s, 500}, {calm, 2000}});
  for (std::size_t i = 1; i < s.phases.size(); ++i) s.phases[i].from += calm;
  s.event = {s.event.from + calm, s.event.to + calm};
  return s;
}

Scenario Baseline() {
  Scenario s = Sized(kUsual, "baseline", "nothing happens for 10 minutes");
  s.length = 10min;
  s.sources = From({{0s, 2000}});
  s.phases = {{0s, Takes(3ms)}};
  s.event = {0s, 10min};
  return s;
}

Scenario SlowerForGood() {
  Scenario s = Sized(kUsual, "slower-for-good", "each call takes 6 ms instead of 3 from 60 s on");
  s.length = 10min;
  s.sources = From({{0s, 1000}});
  s.phases = {{0s, Takes(3ms)}, {60s, Takes(6ms)}};
  s.event = {5min, 10min};
  return s;
}

Scenario Bimodal() {
  Scenario s = Sized(kUsual, "bimodal",
                     "half the calls take 1 ms, half 20; a fifth too many from 20 to 40 s");
  s.sources = From({{0s, 570}, {20s, 914}, {40s, 570}});
  s.phases = {{0s, {{0.5, 1ms, false}, {0.5, 20ms, false}}}};
  s.event = {20s, 40s};
  s.report_kinds = true;
  return s;
}

Scenario BrownOut() {
  Scenario s =
      Sized(kUsual, "brown-out",
            "50 clients, each with a limiter; the server refuses, which costs it work, and "
            "has a fifth of its speed from 20 to 40 s");
  s.sources = {Source{.name = "client", .callers = 50, .stages = {{0s, 2000}}, .bursts = {}}};
  s.phases = {{0s, Takes(3ms)}, {20s, Takes(15ms)}, {40s, Takes(3ms)}};
  s.place = Place::kCaller;
  s.server_limit = 16;
  s.refusal_work = 1ms;
  s.event = {20s, 40s};
  return s;
}

Scenario Outage() {
  Scenario s = Sized(kUsual, "outage", "what the service depends on fails every call, 20 to 40 s");
  s.sources = From({{0s, 2000}});
  s.phases = {{0s, Takes(3ms)}, {20s, {{1, 3ms, true}}}, {40s, Takes(3ms)}};
  s.event = {20s, 40s};
  return s;
}

Scenario Fast() {
  Scenario s = Sized(kUsual, "fast", "calls of 50 us; a fifth too many from 20 to 22 s");
  s.slice = 5us;
  s.sources = From({{0s, 120'000}, {20s, 192'000}, {22s, 120'000}});
  s.phases = {{0s, Takes(50us)}};
  s.event = {20s, 22s};
  s.settle = 0s;  // The event is as short as what is left out elsewhere.
  return s;
}

Scenario FastFailures() {
  Scenario s = Sized(kUsual, "fast-failures", "40 % of the calls fail within 0.2 ms, 20 to 30 s");
  s.sources = From({{0s, 2000}});
  s.phases = {{0s, Takes(3ms)}, {20s, {{0.4, 200us, true}, {0.6, 3ms, false}}}, {30s, Takes(3ms)}};
  s.event = {20s, 30s};
  return s;
}

Scenario Classes() {
  Scenario s =
      Sized(kUsual, "criticality",
            "four classes at equal rates; half as much again as the service can do, 20 to 50 s");
  const auto source = [](std::string name, shed::Criticality criticality) {
    return Source{.name = std::move(name),
                  .callers = 1,
                  .stages = {{0s, 500}, {20s, 1000}, {50s, 500}},
                  .bursts = {},
                  .criticality = criticality};
  };
  s.sources = {source("sheddable", shed::Criticality::kSheddable),
               source("sheddable-plus", shed::Criticality::kSheddablePlus),
               source("critical", shed::Criticality::kCritical),
               source("critical-plus", shed::Criticality::kCriticalPlus)};
  s.phases = {{0s, Takes(3ms)}};
  s.event = {20s, 50s};
  s.report_callers = true;
  return s;
}

Scenario RetryStorm() {
  Scenario s =
      Sized(kUsual, "retry-storm",
            "each call takes 10 ms instead of 3 from 20 to 22 s; clients try three times more");
  s.sources = From({{0s, 1300}});
  s.phases = {{0s, Takes(3ms)}, {20s, Takes(10ms)}, {22s, Takes(3ms)}};
  s.retries = 3;
  s.event = {20s, 22s};
  s.settle = 0s;  // The event is as short as what is left out elsewhere.
  return s;
}

Scenario Bulkhead() {
  Scenario s = Sized(kUsual, "bulkhead",
                     "optional work floods the service, twice what it can do, from 20 to 40 s");
  s.sources = {Source{.name = "optional",
                      .callers = 1,
                      .stages = {{0s, 200}, {20s, 5000}, {40s, 200}},
                      .criticality = shed::Criticality::kSheddable},
               Source{.name = "critical", .callers = 1, .stages = {{0s, 1500}}}};
  s.phases = {{0s, Takes(3ms)}};
  s.event = {20s, 40s};
  s.report_callers = true;
  return s;
}

Scenario Hang() {
  Scenario s = Sized(kUsual, "hang",
                     "half the calls of 20 to 30 s never return, and never give their permit back");
  s.sources = From({{0s, 1000}});
  s.phases = {
      {0s, Takes(3ms)},
      {20s,
       {{.share = 0.5, .time = 3ms, .waits = shed::sim::kForEver}, {.share = 0.5, .time = 3ms}}},
      {30s, Takes(3ms)}};
  s.budget = 200;
  s.event = {20s, 30s};
  return s;
}

Scenario PerRoute() {
  Scenario s =
      Sized(kUsual, "per-route",
            "two routes; what one of them waits for takes 300 ms instead of 20, 20 to 50 s");
  const auto waits = [](Duration time) {
    return std::vector<Work>{Work{.share = 1, .time = 1ms, .waits = time}};
  };
  s.sources = {
      Source{.name = "fast", .callers = 1, .stages = {{0s, 1000}}, .route = "fast"},
      Source{.name = "slow",
             .callers = 1,
             .stages = {{0s, 600}},
             .route = "slow",
             .phases = {{0s, waits(20ms)}, {20s, waits(300ms)}, {50s, waits(20ms)}}},
  };
  s.phases = {{0s, Takes(3ms)}};
  s.event = {20s, 50s};
  s.settle = 0s;
  s.report_callers = true;
  return s;
}

Scenario ShadowedLimit() {
  Scenario s = Sized(kUsual, "shadow",
                     "a fifth more than the service can do, 20 to 40 s, behind a limit of 64");
  s.sources = From({{0s, 2000}, {20s, 3200}, {40s, 2000}});
  s.phases = {{0s, Takes(3ms)}};
  s.budget = 64;
  s.event = {20s, 40s};
  return s;
}

Scenario Fleet() {
  Scenario s =
      Sized(kUsual, "fleet", "ten servers that started together, a fifth overloaded from 55 s on");
  s.sources = From({{0s, 500}, {55s, 3200}});
  s.phases = {{0s, Takes(3ms)}};
  s.length = 70s;
  s.event = {55s, 70s};
  s.look = 10ms;
  return s;
}

Scenario Queue() {
  Scenario s = Sized(kUsual, "queue",
                     "80 calls at once in each second from 20 to 40 s, beside 1500/s: enough for "
                     "70 ms of work");
  s.sources = From({{0s, 1500}});
  for (Duration at = 20s; at < 40s; at += 1s) {
    s.sources.front().bursts.push_back({at, 80});
  }
  s.phases = {{0s, Takes(3ms)}};
  s.event = {20s, 40s};
  s.settle = 0s;  // It is the same from the first second on.
  return s;
}

// Twenty users, and a tool whose calls are work for two workers, then for twenty: it goes harder
// when it is slowed. Much later it comes back, and takes its time.
Scenario FairUse() {
  Scenario s = Sized(kUsual, "fair-use",
                     "a tool among 20 users takes 2 workers from 30 s on, 20 from 60 to 120 s; it "
                     "comes back at 240 s, calmly");
  // The tool's work is of another kind, so that latencies are told apart.
  s.sources = {
      Source{.name = "user", .callers = kUsers, .stages = {{0s, 600}}},
      Source{.name = "tool",
             .callers = 1,
             .stages = {{30s, 20}, {60s, 200}, {120s, 0}, {kToolIsBack, 1}},
             .phases = {{0s, {Work{.share = 0, .time = 3ms}, Work{.share = 1, .time = 100ms}}}},
             .cost = 50,  // They come to twice that.
             .max_wait = 30s},
  };
  s.phases = {{0s, Takes(3ms)}};
  s.unit = 1ms;
  s.length = 300s;
  s.event = {30s, 120s};
  s.settle = 0s;
  s.report_callers = true;
  return s;
}

std::vector<Scenario> MakeAll() {
  return {Spike(kUsual),
          Degrade(kUsual),
          CalmThenDegrade(),
          Baseline(),
          SlowerForGood(),
          LongOverload(kUsual),
          Bimodal(),
          NoisyNeighbour(2000, 60s),
          BrownOut(),
          Outage(),
          Spike(kLarge),
          Degrade(kLarge),
          LongOverload(kLarge),
          Spike(kSmall),
          Degrade(kSmall),
          LongOverload(kSmall),
          Fast(),
          FastFailures(),
          Classes(),
          RetryStorm(),
          Bulkhead(),
          Hang(),
          PerRoute(),
          ShadowedLimit(),
          Fleet(),
          Queue(),
          FairUse()};
}

}  // namespace

Scenario NoisyNeighbour(double loud_rate, Duration loud_for) {
  const std::uint32_t budget = 40;
  const std::uint32_t callers = kLoudCaller + 1;
  const std::uint32_t share = (budget + callers - 1) / callers;
  const Duration back = loud_for + 60s;
  Scenario s;
  s.name = "noisy-neighbour";
  s.about =
      "one of ten callers asks 40 times more than all others for 60 s; a minute later it "
      "comes back";
  s.workers = 40;
  s.budget = budget;
  s.length = back + 15s;
  s.sources = {Source{.name = "quiet", .callers = kLoudCaller, .stages = {{0s, 45}}, .bursts = {}},
               Source{.name = "loud",
                      .callers = 1,
                      .stages = {{0s, loud_rate}, {loud_for, 0}, {back, 30}},
                      .bursts = {{back, share}}}};
  s.phases = {{0s, Takes(100ms)}};
  s.event = {0s, loud_for};
  s.report_callers = true;
  return s;
}

const std::vector<Scenario>& Scenarios() {
  static const std::vector<Scenario> all = MakeAll();
  return all;
}

const Scenario* FindScenario(std::string_view name) {
  const auto& all = Scenarios();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Scenario& s) { return s.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace lab
