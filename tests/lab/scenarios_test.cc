#include "scenarios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "stacks.h"

namespace lab {
namespace {

using namespace std::chrono_literals;
using shed::Duration;
using shed::sim::Phase;
using shed::sim::Scenario;
using shed::sim::Work;
using ::testing::ElementsAre;

template <class Item>
std::vector<std::string> Names(const std::vector<Item>& items) {
  std::vector<std::string> names;
  for (const Item& item : items) names.push_back(item.name);
  return names;
}

TEST(Scenarios, HaveTheirNames) {
  EXPECT_THAT(Names(Scenarios()),
              ElementsAre("spike", "degrade", "calm-then-degrade", "baseline", "slower-for-good",
                          "long-overload", "bimodal", "noisy-neighbour", "brown-out", "outage",
                          "spike-64", "degrade-64", "long-overload-64", "spike-1", "degrade-1",
                          "long-overload-1", "fast", "fast-failures", "criticality", "retry-storm",
                          "bulkhead", "hang", "per-route", "shadow", "fleet", "queue", "fair-use"));
  EXPECT_THAT(
      Names(Stacks()),
      ElementsAre("none", "rate", "concurrency", "concurrency-bad", "concurrency-classes", "queue",
                  "queue-fifo", "queue-knee", "knee", "knee-classes", "gradient", "gradient-envoy",
                  "gradient-in-step", "gradient-by-route", "shadow-gradient", "shadow-knee",
                  "shadow-vegas", "aimd", "vegas", "gradient2", "admission", "retry-budget",
                  "retry-throttle", "breaker", "breaker-slow", "demerit", "usage", "all"));
}

TEST(Scenarios, AreFoundByName) {
  ASSERT_NE(FindScenario("degrade-64"), nullptr);
  EXPECT_EQ(FindScenario("degrade-64")->workers, 64u);
  EXPECT_EQ(FindScenario("degrade-65"), nullptr);
  EXPECT_EQ(FindScenario(""), nullptr);
  EXPECT_EQ(FindStack("knees"), nullptr);
}

// What the simulator and the report take for granted.
TEST(Scenarios, AreMadeOfWholeSlicesAndWholeSeconds) {
  for (const Scenario& s : Scenarios()) {
    SCOPED_TRACE(s.name);
    for (const Phase& phase : s.phases) {
      double share = 0;
      for (const Work& work : phase.kinds) {
        EXPECT_EQ(work.time % s.slice, Duration(0));
        EXPECT_GT(work.time, Duration(0));
        share += work.share;
      }
      EXPECT_DOUBLE_EQ(share, 1);
    }
    for (const Duration at : {s.length, s.event.from, s.event.to, s.settle}) {
      EXPECT_EQ(at % 1s, Duration(0));
    }
    EXPECT_LT(s.event.from + s.settle, s.event.to);
    EXPECT_LE(s.event.to, s.length);
    for (std::size_t i = 1; i < s.phases.size(); ++i) {
      EXPECT_LT(s.phases[i - 1].from, s.phases[i].from);
    }
  }
}

TEST(Scenarios, EventsAreWhatTheFiguresAreAbout) {
  EXPECT_EQ(FindScenario("baseline")->event.seconds(), 600);
  EXPECT_EQ(FindScenario("slower-for-good")->event.from, 5min);
  EXPECT_EQ(FindScenario("slower-for-good")->event.to, 10min);
  EXPECT_EQ(FindScenario("long-overload")->event.from, 9min);
  EXPECT_EQ(FindScenario("calm-then-degrade")->event.from, 30min + 20s);
  EXPECT_EQ(FindScenario("calm-then-degrade")->length, 31min);
}

}  // namespace
}  // namespace lab
