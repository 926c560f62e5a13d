#include "shed/sim/queue_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "shed/clock.h"
#include "shed/concurrency_limiter.h"
#include "shed/limiter.h"
#include "shed/sim/sync.h"

namespace shed::sim {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Policy = BasicConcurrencyLimiter<SimSync>;
using L = BasicLimiter<ManualClock, SimSync, Policy>;
struct Limit {
  double operator()(const L& limiter) const {
    return static_cast<double>(limiter.Get<Policy>().Read(limiter.Now()).limit);
  }
};

class QueueGateTest : public ::testing::Test {
 protected:
  // As text: "3+" was admitted, "3-" was refused.
  std::vector<std::string> Answers() {
    std::vector<std::string> texts;
    for (const Answer& answer : gate.TakeAnswers()) {
      texts.push_back(std::to_string(answer.slot) + (answer.admitted ? "+" : "-"));
    }
    return texts;
  }

  ManualClock clock;
  QueueGate<L, Limit> gate{
      {.max_waiting = 2, .max_wait = 100ms}, Limit{}, clock, ConcurrencyLimiterOptions{.limit = 1}};
};

TEST_F(QueueGateTest, AnswersAtOnceOrLater) {
  EXPECT_EQ(gate.limit(), 1);
  EXPECT_EQ(gate.Ask({}, 7), Said::kAdmitted);
  EXPECT_EQ(gate.next(), TimePoint::max());
  EXPECT_EQ(gate.Ask({}, 3), Said::kWaits);
  EXPECT_EQ(gate.Ask({}, 9), Said::kWaits);
  EXPECT_EQ(gate.Ask({}, 4), Said::kRefused);
  EXPECT_THAT(Answers(), IsEmpty());
  EXPECT_EQ(gate.next(), TimePoint(100ms));
  gate.Complete(7, Outcome::kSuccess);
  EXPECT_THAT(Answers(), ElementsAre("3+"));
  EXPECT_THAT(Answers(), IsEmpty());
  clock.Set(TimePoint(100ms));
  gate.Poll();
  EXPECT_THAT(Answers(), ElementsAre("9-"));
  // The slot is used again, by a call that ends the one before.
  EXPECT_EQ(gate.Ask({}, 9), Said::kWaits);
  gate.Complete(3, Outcome::kFailure);
  EXPECT_THAT(Answers(), ElementsAre("9+"));
  gate.Complete(9, Outcome::kSuccess);
}

TEST_F(QueueGateTest, OneCallTakesThePlaceOfAnother) {
  EXPECT_EQ(gate.Ask({}, 0), Said::kAdmitted);
  EXPECT_EQ(gate.Ask({.criticality = Criticality::kSheddable}, 1), Said::kWaits);
  EXPECT_EQ(gate.Ask({}, 2), Said::kWaits);
  EXPECT_EQ(gate.Ask({}, 3), Said::kWaits);
  EXPECT_THAT(Answers(), ElementsAre("1-"));
}

TEST_F(QueueGateTest, TryAdmitDoesNotWait) {
  EXPECT_TRUE(gate.TryAdmit({}, 0));
  EXPECT_FALSE(gate.TryAdmit({}, 1));
  EXPECT_EQ(gate.next(), TimePoint::max());
  gate.Complete(0, Outcome::kSuccess);
  EXPECT_TRUE(gate.TryAdmit({}, 1));
}

// With calls that run and calls that wait.
TEST_F(QueueGateTest, EndsInTheMiddleOfARun) {
  for (std::uint32_t slot = 0; slot < 3; ++slot) gate.Ask({}, slot);
}

}  // namespace
}  // namespace shed::sim
