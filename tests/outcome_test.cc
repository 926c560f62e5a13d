#include "shed/outcome.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace shed {
namespace {

using namespace std::chrono_literals;

static_assert(IndexOf(Outcome::kSuccess) == 0 && IndexOf(Outcome::kFailure) == 1 &&
              IndexOf(Outcome::kOverload) == 2 && IndexOf(Outcome::kIgnored) == 3);
// What nobody knows says nothing of the service.
static_assert(IndexOf(static_cast<Outcome>(4)) == IndexOf(Outcome::kIgnored));
static_assert(IndexOf(static_cast<Outcome>(255)) == IndexOf(Outcome::kIgnored));

static_assert(Name(Outcome::kSuccess) == "success" && Name(Outcome::kFailure) == "failure" &&
              Name(Outcome::kOverload) == "overload" && Name(Outcome::kIgnored) == "ignored");
static_assert(Name(static_cast<Outcome>(99)) == "unknown");

constexpr Completion Of(Duration started, Duration now) {
  return {.started = TimePoint(started), .now = TimePoint(now)};
}
static_assert(Of(3ms, 5ms).latency() == 2ms);
// A clock that went back, and a call that ended before its wait was over.
static_assert(Of(5ms, 3ms).latency() == 0ns);
static_assert(Of(Duration::min(), Duration::max()).latency() == Duration::max());
// Without a word a call says nothing, and it was not free.
static_assert(Completion().outcome == Outcome::kIgnored && Completion().cost == 1);

TEST(Outcome, NamesDiffer) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i <= kOutcomeCount; ++i) names.insert(Name(static_cast<Outcome>(i)));
  EXPECT_EQ(names.size(), kOutcomeCount + 1);  // And "unknown".
}

}  // namespace
}  // namespace shed
