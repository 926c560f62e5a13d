// ConcurrencyLimiter answers random calls, of random cost and class, under a limit that moves, as
// the sum of what every call holds says.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>

#include "property/concurrency_twin.h"
#include "shed/concurrency_limiter.h"

namespace shed {
namespace {

class Traffic {
 public:
  Traffic(const ConcurrencyLimiterOptions& options, std::uint64_t seed)
      : most_(options.limit), random_(seed), twin_(options) {}

  void Steps(int count) {
    for (int step = 0; step < count; ++step) {
      Step();
      ASSERT_EQ(twin_.difference(), "") << "step " << step;
    }
    EXPECT_GT(admitted_, count / 20);
    EXPECT_GT(refused_, count / 20);
  }

 private:
  void Step() {
    const std::uint64_t what = random_() % 100;
    if (what < 55 || twin_.held() == 0) {
      const bool admitted = twin_.Ask(Cost(), random_() % kCriticalityCount).admitted();
      (admitted ? admitted_ : refused_) += 1;
    } else if (what < 97) {
      const std::size_t i = random_() % twin_.held();
      const bool twice = random_() % 4 == 0;
      what % 3 == 0 ? twin_.Cancel(i, twice) : twin_.Complete(i, twice);
    } else {
      // Zero is refused, and changes nothing.
      twin_.SetLimit(static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most_ + 1)));
    }
  }
  std::uint64_t Cost() {
    const std::uint64_t r = random_() % 32;
    if (r == 0) return std::numeric_limits<std::uint64_t>::max();
    if (r == 1) return static_cast<std::uint64_t>(most_);
    return r < 20 ? r % 2 : random_() % (static_cast<std::uint64_t>(most_) / 8 + 2);
  }

  const std::int64_t most_;
  std::mt19937_64 random_;
  ConcurrencyTwin twin_;
  int admitted_ = 0;
  int refused_ = 0;
};

TEST(ConcurrencyLimiterProperty, AgreesWithTheSumOfAllThatIsHeld) {
  constexpr ConcurrencyLimiterOptions kOptions[] = {
      {.limit = 1},
      {.limit = 7, .usable = {0.3, 0.5, 0.9, 1}},
      {.limit = 100, .usable = {0, 0.29, 0.58, 1}},
      {.limit = 1'000'000'000, .usable = {1e-9, 0.333333, 0.999999, 1}},
  };
  for (const ConcurrencyLimiterOptions& options : kOptions) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(testing::Message() << "limit " << options.limit << ", seed " << seed);
      Traffic(options, seed).Steps(20'000);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace shed
