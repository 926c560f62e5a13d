#include "shed/rate_limiter_options.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

#include "shed/rate_limiter.h"
#include "shed/solo.h"

namespace shed {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kMin64 = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();
constexpr Duration kDay = 24h;

static_assert(RateLimiterOptions{}.Problem().empty());
static_assert(!RateLimiterOptions{.rate = 0}.Problem().empty());

std::string Thrown(const RateLimiterOptions& options) {
  try {
    Solo<RateLimiter> limiter(options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}
// P25, guava#2730, and every field at 0, negative, maximum and in contradiction to its neighbours:
// never "allow all", never a repair.
TEST(RateLimiterOptionsTest, BadOptionsAreRefusedWithTheSentence) {
  struct Case {
    RateLimiterOptions options;
    std::string_view field;
  };
  const Case cases[] = {
      {{.rate = 0}, "rate: want 1 to 2000000000 units"},
      {{.rate = -1}, "rate: want 1 to 2000000000 units"},
      {{.rate = kMin64}, "rate: want 1 to 2000000000 units"},
      {{.rate = 2'000'000'001}, "rate: want 1 to 2000000000 units"},
      {{.rate = kMax64}, "rate: want 1 to 2000000000 units"},
      {{.per = 0s}, "per: want 1 ns to 366 days"},
      {{.per = -1ns}, "per: want 1 ns to 366 days"},
      {{.per = Duration::min()}, "per: want 1 ns to 366 days"},
      {{.per = kDay * 366 + 1ns}, "per: want 1 ns to 366 days"},
      {{.per = Duration::max()}, "per: want 1 ns to 366 days"},
      {{.burst = 0}, "burst: want at least 1 unit"},
      {{.burst = -1}, "burst: want at least 1 unit"},
      {{.burst = kMin64}, "burst: want at least 1 unit"},
      {{.burst = kMax64}, "burst: want at most"},
      // Contradictory: what does not fit the state at this rate.
      {{.rate = 1, .per = kDay, .burst = 3336}, "burst: want at most"},
      {{.rate = 1, .per = kDay * 366, .burst = 10}, "burst: want at most"},
      {{.rate = 1, .per = 1ns, .burst = (std::int64_t{1} << 58) + 1}, "burst: want at most"},
      {{.rate = 1'999'999'993, .burst = 288'230'377}, "burst: want at most"},
  };
  for (const Case& c : cases) {
    const std::string_view problem = c.options.Problem();
    EXPECT_EQ(problem.substr(0, c.field.size()), c.field);
    EXPECT_EQ(Thrown(c.options), problem);
  }
}

TEST(RateLimiterOptionsTest, RangesAreInclusive) {
  for (const RateLimiterOptions& options :
       {RateLimiterOptions{}, RateLimiterOptions{.rate = 1, .burst = 1},
        RateLimiterOptions{.rate = 2'000'000'000, .burst = 1},
        RateLimiterOptions{.rate = 1, .per = 1ns, .burst = std::int64_t{1} << 58},
        RateLimiterOptions{.rate = 1, .per = kDay * 366, .burst = 9},
        RateLimiterOptions{.rate = 2'000'000'000, .per = kDay * 366, .burst = 1}}) {
    EXPECT_EQ(options.Problem(), "");
    EXPECT_EQ(Thrown(options), "");
  }
}

}  // namespace
}  // namespace shed
