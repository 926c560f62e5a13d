#include "shed/event_text.h"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "shed/circuit_breaker.h"
#include "shed/limiter.h"

namespace shed {
namespace {

TEST(EventText, EveryKindAndCauseHasANameOfItsOwn) {
  std::set<std::string_view> kinds;
  for (int i = 0; i <= static_cast<int>(EventKind::kCallerRecovered); ++i) {
    kinds.insert(Name(static_cast<EventKind>(i)));
  }
  EXPECT_EQ(kinds.size(), static_cast<std::size_t>(EventKind::kCallerRecovered) + 1);
  EXPECT_EQ(kinds.count("unknown"), 0u);
  std::set<std::string_view> causes;
  for (int i = 0; i <= static_cast<int>(Cause::kUsage); ++i) {
    causes.insert(Name(static_cast<Cause>(i)));
  }
  EXPECT_EQ(causes.size(), static_cast<std::size_t>(Cause::kUsage) + 1);
  EXPECT_EQ(causes.count("unknown"), 0u);
  static_assert(Name(EventKind::kBreakerOpened) == "breaker_opened");
  static_assert(Name(EventKind::kPressureFell) == "pressure_fell");
  static_assert(Name(EventKind::kCallerRecovered) == "caller_recovered");
  static_assert(Name(Cause::kUsage) == "usage");
  static_assert(Name(Cause::kDemerit) == "demerit" && Name(Cause::kQueueDelay) == "queue_delay");
  static_assert(Name(static_cast<EventKind>(200)) == "unknown");
  static_assert(Name(static_cast<Cause>(200)) == "unknown");
}

TEST(EventText, SaysWhichRuleFiredAndWithWhat) {
  struct Lines : Observer {
    std::vector<std::string> lines;
    void OnEvent(const Event& event) noexcept override { lines.push_back(ToString(event)); }
  } observer;
  ManualClock clock(TimePoint(std::chrono::seconds(1)));
  BasicLimiter<ManualClock, StdSync, CircuitBreaker> limiter(
      clock, {.consecutive_failures = 0}, {.name = "api", .observer = &observer});
  for (int i = 0; i < 8; ++i) limiter.TryAdmit().Complete(Outcome::kSuccess);
  for (int i = 0; i < 12; ++i) limiter.TryAdmit().Complete(Outcome::kFailure);
  ASSERT_EQ(observer.lines.size(), 1u);
  EXPECT_EQ(observer.lines[0],
            "limiter=api policy=circuit_breaker event=breaker_opened cause=failure_ratio "
            "at_ns=1000000000 count=12 total=20 value=0.6 threshold=0.5");
}

TEST(EventText, AnOddNameLeavesItOneLine) {
  const std::string line = ToString({.limiter = "a b\n\"c\"\\=\xff", .policy = ""});
  EXPECT_EQ(line,
            "limiter=\"a b\\x0a\\\"c\\\"\\\\=\\xff\" policy=\"\" event=limit_changed cause=none "
            "at_ns=0");
}

TEST(EventText, ExtremeFigures) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::string line = ToString({.before = kNan,
                                     .after = -std::numeric_limits<double>::max(),
                                     .count = std::numeric_limits<std::uint64_t>::max(),
                                     .value = std::numeric_limits<double>::infinity(),
                                     .at = TimePoint::min(),
                                     .limiter = "l",
                                     .policy = "p"});
  EXPECT_EQ(line,
            "limiter=l policy=p event=limit_changed cause=none at_ns=-9223372036854775808 "
            "before=nan after=-1.7976931348623157e+308 count=18446744073709551615 value=inf");
}

}  // namespace
}  // namespace shed
