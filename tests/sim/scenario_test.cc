#include "shed/sim/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace shed::sim {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

// An answer at the end of a span must not be counted in both the span and the next.
TEST(Span, HoldsItsStartAndNotItsEnd) {
  constexpr Span span{2s, 5s};
  static_assert(span.Contains(2s));
  static_assert(!span.Contains(5s));
  static_assert(span.Contains(5s - 1ns));
  static_assert(!Span{}.Contains(0s));
  EXPECT_EQ(span.seconds(), 3);
}

TEST(CallerNames, NumbersTheCallersOfASource) {
  Scenario s;
  s.sources = {Source{.name = "quiet", .callers = 2, .stages = {}, .bursts = {}},
               Source{.name = "loud", .callers = 1, .stages = {}, .bursts = {}}};
  EXPECT_THAT(CallerNames(s), ElementsAre("quiet0", "quiet1", "loud"));
}

TEST(CallerSources, SaysWhereEachCallerComesFrom) {
  Scenario s;
  s.sources = {Source{.name = "a", .callers = 2, .stages = {}, .bursts = {}},
               Source{.name = "b", .callers = 1, .stages = {}, .bursts = {}}};
  EXPECT_THAT(CallerSources(s), ElementsAre(0u, 0u, 1u));
}

}  // namespace
}  // namespace shed::sim
