// RateLimiter against an exact oracle: millions of random operations at rates from one per day to
// 2'000'000'000 per second, and no answer differs by a call or a nanosecond.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "property/rate_oracle.h"
#include "property/rate_twin.h"
#include "shed/clock.h"
#include "shed/rate_limiter.h"
#include "shed/solo.h"
#include "shed/sync.h"

namespace shed {
namespace {

using namespace std::chrono_literals;

using Wide = RateOracle::Wide;
using Rng = std::mt19937_64;

constexpr Duration kYears100 = 24h * 36525;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kScale = 1;
#else
constexpr int kScale = 5;
#endif

// Where a run starts; a jump of 100 years, and a lag, fit on either side.
constexpr std::int64_t kLatestStart = std::int64_t{1} << 62;
constexpr std::int64_t kEarliestStart =
    std::numeric_limits<std::int64_t>::min() + (std::int64_t{1} << 57);

// Uniform in [low, high].
std::int64_t Between(Rng& rng, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(rng);
}
// Spread over the orders of magnitude from 0 to `high`.
std::int64_t AnyScale(Rng& rng, std::int64_t high) {
  if (high <= 0) return 0;
  const int bits = 64 - __builtin_clzll(static_cast<unsigned long long>(high));
  const std::int64_t top = (std::int64_t{1} << (Between(rng, 1, bits) - 1)) * 2 - 1;
  return Between(rng, 0, std::min(top, high));
}

std::vector<RateLimiterOptions> Rates() {
  constexpr Duration kDay = 24h;
  return {
      {.rate = 1, .per = kDay, .burst = 1},
      {.rate = 1, .per = kDay, .burst = 3335},
      {.rate = 7, .per = 366 * kDay, .burst = 9},
      {.rate = 1, .per = 1h, .burst = 2},
      {.rate = 10, .per = 13s, .burst = 5},
      {.rate = 5, .burst = 1},
      {.rate = 1000, .burst = 100},
      {.rate = 1500, .burst = 10},
      {.rate = 999'983, .burst = 1000},
      {.rate = 1'000'000'007, .per = 999'999'937ns, .burst = 288'230'000},
      {.rate = 1'999'999'993, .burst = 1},
      {.rate = 1'999'999'993, .burst = 50'000},
      {.rate = 1'999'999'993, .burst = 288'230'376},
      {.rate = 2'000'000'000, .burst = 100},
      {.rate = 2'000'000'000, .per = 1ns, .burst = std::int64_t{1} << 58},
      {.rate = 1, .per = 1ns, .burst = 1},
      {.rate = 3, .per = 7ns, .burst = 1'000'000},
  };
}

// One random run of a limiter beside its oracle.
template <class Limiter>
class Run {
 public:
  Run(const RateLimiterOptions& options, std::uint64_t seed)
      : options_(options),
        rng_(seed),
        bounds_(options),
        unit_ns_(std::max<std::int64_t>(options.per.count() / options.rate, 1)) {}

  // `others` are configured now and then.
  void Operate(int operations, const std::vector<RateLimiterOptions>& others = {}) {
    latest_ = Between(rng_, kEarliestStart, kLatestStart);
    now_options_ = options_;
    bounds_ = RateBounds(options_);
    RateTwin<Limiter> twin(options_);
    for (int i = 0; i < operations && twin.difference().empty(); ++i) {
      MoveClock();
      const std::int64_t now = latest_ - Lag();
      switch (Between(rng_, 0, 9)) {
        case 0:
          EndOne(twin, now);
          break;
        case 1:
          ChargeOne(twin, now);
          break;
        case 2:
          twin.Read(now);
          break;
        case 3:
          if (!others.empty() && Between(rng_, 0, 2) == 0) {
            Configure(twin, now, others);
            twin.Read(now);
            break;
          }
          [[fallthrough]];
        default:
          Ask(twin, now);
      }
      ASSERT_EQ(twin.difference(), "") << "now " << now << " latest " << latest_;
    }
  }

  int admitted() const { return admitted_; }
  int refused() const { return refused_; }
  int configured() const { return configured_; }

 private:
  void MoveClock() {
    std::int64_t step = 0;
    switch (Between(rng_, 0, 19)) {
      case 0:
        step = 1;
        break;
      case 1:
      case 2:
        step = AnyScale(rng_, bounds_.longest_lag);
        break;
      case 3:
      case 4:
      case 5:
        step = AnyScale(rng_, 3 * unit_ns_);
        break;
      case 6:
        if (Between(rng_, 0, 99) == 0) step = kYears100.count();
        break;
      case 7:
        if (Between(rng_, 0, 9) == 0) step = AnyScale(rng_, 16 * bounds_.longest_lag);
        break;
      case 8:
      case 9:  // Exactly when the last refused call is due, or a nanosecond before.
        if (due_ > latest_ && due_ < SaturatingAdd(latest_, std::int64_t{1} << 60)) {
          step = due_ - latest_ - Between(rng_, 0, 1);
        }
        break;
      default:  // It stands.
        break;
    }
    if (latest_ > kLatestStart) return;  // The end of the timeline is near: it stands.
    latest_ += step;
  }
  std::int64_t Lag() {
    if (Between(rng_, 0, 2) != 0) return 0;
    return Between(rng_, 0, 19) == 0 ? bounds_.longest_lag : AnyScale(rng_, bounds_.longest_lag);
  }
  void Configure(RateTwin<Limiter>& twin, std::int64_t now,
                 const std::vector<RateLimiterOptions>& others) {
    const auto last = static_cast<std::int64_t>(others.size()) - 1;
    now_options_ = others[static_cast<std::size_t>(Between(rng_, 0, last))];
    now_options_.burst = std::max<std::int64_t>(AnyScale(rng_, now_options_.burst), 1);
    twin.Configure(now_options_, now);
    bounds_.Include(RateBounds(now_options_));
    ++configured_;
  }
  std::uint64_t Cost() {
    const auto burst = static_cast<std::uint64_t>(now_options_.burst);
    switch (Between(rng_, 0, 15)) {
      case 0:
        return 0;
      case 1:
        return burst;
      case 2:
        return burst + 1;
      case 3:
        return std::numeric_limits<std::uint64_t>::max() -
               static_cast<std::uint64_t>(AnyScale(rng_, 1000));
      case 4:
      case 5:
        return static_cast<std::uint64_t>(Between(rng_, 0, now_options_.burst));
      case 6:
      case 7:
      case 8:
        return static_cast<std::uint64_t>(AnyScale(rng_, now_options_.burst));
      default:
        return 1;
    }
  }

  void Ask(RateTwin<Limiter>& twin, std::int64_t now) {
    const std::uint64_t cost = Cost();
    const std::int64_t max_wait =
        Between(rng_, 0, 5) == 0 ? AnyScale(rng_, bounds_.longest_wait) : -Between(rng_, 0, 1);
    const Verdict verdict = twin.Ask(now, cost, max_wait);
    if (verdict.admitted()) {
      ++admitted_;
      if (twin.held() > 20) twin.Forget(20);
    } else if (verdict.retry_after()) {
      due_ = SaturatingAdd(now, verdict.retry_after()->count());
      ++refused_;
    }
  }
  void EndOne(RateTwin<Limiter>& twin, std::int64_t now) {
    if (twin.held() == 0) return;
    const std::size_t i = Some(twin);
    if (Between(rng_, 0, 1) == 0) {
      twin.Complete(i);
    } else {
      twin.Cancel(i, now);
    }
  }
  void ChargeOne(RateTwin<Limiter>& twin, std::int64_t now) {
    if (twin.held() == 0) return;
    const std::size_t i = Some(twin);
    // As far above what was paid as a call may cost.
    const std::int64_t units = Between(rng_, 0, 2) == 0 ? 0 : AnyScale(rng_, 2 * twin.units(i));
    twin.Charge(i, units, now);
  }
  std::size_t Some(const RateTwin<Limiter>& twin) {
    return static_cast<std::size_t>(Between(rng_, 0, static_cast<std::int64_t>(twin.held()) - 1));
  }

  const RateLimiterOptions options_;
  Rng rng_;
  RateBounds bounds_;
  RateLimiterOptions now_options_ = options_;
  const std::int64_t unit_ns_;
  std::int64_t latest_ = 0;
  std::int64_t due_ = 0;
  int admitted_ = 0;
  int refused_ = 0;
  int configured_ = 0;
};

template <class Limiter>
class RateLimiterPropertyTest : public ::testing::Test {};
using Limiters = ::testing::Types<RateLimiter, BasicRateLimiter<NoSync>>;
struct SyncName {
  template <class Limiter>
  static std::string GetName(int) {
    return std::is_same_v<Limiter, RateLimiter> ? "StdSync" : "NoSync";
  }
};
TYPED_TEST_SUITE(RateLimiterPropertyTest, Limiters, SyncName);

// 17 rates, 3 seeds, 25 limiters of 1000 operations each: 1.3 million, for each Sync.
TYPED_TEST(RateLimiterPropertyTest, AgreesWithTheExactOracle) {
  for (const RateLimiterOptions& options : Rates()) {
    ASSERT_EQ(options.Problem(), "");
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      SCOPED_TRACE(testing::Message() << options.rate << " per " << options.per.count()
                                      << " ns, burst " << options.burst << ", seed " << seed);
      Run<TypeParam> run(options, seed);
      for (int i = 0; i < 5 * kScale; ++i) {
        run.Operate(1000);
        if (this->HasFatalFailure()) return;
      }
      // The run is worth something only if both answers are common.
      EXPECT_GT(run.admitted(), 200 * kScale);
      EXPECT_GT(run.refused(), 200 * kScale);
    }
  }
}

// The same while rate, time and burst are changed under it, to those whose lags are alike.
TYPED_TEST(RateLimiterPropertyTest, AgreesWithTheExactOracleWhileItIsConfigured) {
  for (const RateLimiterOptions& options : Rates()) {
    const std::int64_t lag = RateBounds(options).longest_lag;
    std::vector<RateLimiterOptions> others;
    for (const RateLimiterOptions& other : Rates()) {
      const std::int64_t its = RateBounds(other).longest_lag;
      if (its / 1000 <= lag && lag / 1000 <= its) others.push_back(other);
    }
    for (const std::uint64_t seed : {4u, 5u, 6u}) {
      SCOPED_TRACE(testing::Message() << options.rate << " per " << options.per.count()
                                      << " ns, burst " << options.burst << ", seed " << seed);
      Run<TypeParam> run(options, seed);
      for (int i = 0; i < 5 * kScale; ++i) {
        run.Operate(1000, others);
        if (this->HasFatalFailure()) return;
      }
      EXPECT_GT(run.admitted(), 100 * kScale);
      EXPECT_GT(run.refused(), 100 * kScale);
      EXPECT_GT(run.configured(), 50 * kScale);
    }
  }
}

// The most that any span of a sequence of calls had too much, in an accounting of its own: the
// largest, over all spans that end now, of what was admitted in it, less what was given back in it
// and what the rate allows for its length.
class Spans {
 public:
  Spans(const RateLimiterOptions& o, std::int64_t start)
      : last_(start), rate_(o.rate), per_(o.per.count()), burst_(Wide{o.burst} * per_) {}
  void Add(std::int64_t now, std::int64_t units) {
    worst_ = std::max<Wide>(worst_ - (Wide{now} - last_) * rate_, 0) + Wide{units} * per_;
    last_ = now;
  }
  bool Exceeded() const { return worst_ > burst_; }

 private:
  std::int64_t last_;
  const std::int64_t rate_;
  const std::int64_t per_;
  const Wide burst_;
  Wide worst_ = 0;
};

// In no span of time, whatever was cancelled when, is more admitted than the burst and what the
// rate adds. Greedy: the cost is often just what the bucket has left.
TYPED_TEST(RateLimiterPropertyTest, NoSpanHasTooMany) {
  for (const RateLimiterOptions& options : Rates()) {
    SCOPED_TRACE(testing::Message() << options.rate << " per " << options.per.count()
                                    << " ns, burst " << options.burst);
    Rng rng(11);
    Solo<TypeParam> limiter(options);
    std::vector<std::pair<typename TypeParam::Ticket, std::int64_t>> held;
    std::int64_t now = kEarliestStart;
    Spans spans(options, now);
    const std::int64_t step = RateBounds(options).longest_lag;
    for (int i = 0; i < 6'000 * kScale; ++i) {
      if (Between(rng, 0, 2) == 0 && now < kLatestStart) now += AnyScale(rng, step);
      const TimePoint at{Duration(now)};
      if (!held.empty() && Between(rng, 0, 9) == 0) {
        limiter.Cancel(held.back().first, Verdict::Refuse(Reason::kConcurrency), at);
        spans.Add(now, -held.back().second);
        held.pop_back();
      }
      std::int64_t units = limiter.Read(at).available;
      if (units == 0 || Between(rng, 0, 3) == 0) units = 1 + AnyScale(rng, options.burst - 1);
      typename TypeParam::Ticket ticket;
      const Request request{.cost = static_cast<std::uint64_t>(units)};
      if (!limiter.Admit(request, at, ticket).admitted()) continue;
      spans.Add(now, units);
      ASSERT_FALSE(spans.Exceeded()) << "admitted " << units << " at " << now;
      held.emplace_back(ticket, units);
    }
  }
}

// Lags of any length, also above the bound up to which answers are exact: a call too few is
// possible then, a call too many or a hint too short is not.
TYPED_TEST(RateLimiterPropertyTest, AnyLagNeverAdmitsTooMany) {
  for (const RateLimiterOptions& options : Rates()) {
    for (const std::uint64_t seed : {11u, 12u, 13u}) {
      SCOPED_TRACE(testing::Message() << options.rate << " per " << options.per.count()
                                      << " ns, burst " << options.burst << ", seed " << seed);
      Rng rng(seed);
      RateTwin<TypeParam> twin(options, RateCheck::kSafe);
      std::int64_t latest = kEarliestStart;
      const std::int64_t exact = twin.bounds().longest_lag;
      for (int i = 0; i < 4'000 * kScale; ++i) {
        if (Between(rng, 0, 3) == 0 && latest < kLatestStart) latest += AnyScale(rng, 4 * exact);
        std::int64_t now = latest;
        if (Between(rng, 0, 3) == 0) now = SaturatingAdd(now, -AnyScale(rng, kYears100.count()));
        if (twin.held() > 0 && Between(rng, 0, 9) == 0) twin.Cancel(twin.held() - 1, now);
        const std::int64_t units = 1 + AnyScale(rng, options.burst - 1);
        twin.Ask(now, static_cast<std::uint64_t>(units), 0);
        ASSERT_EQ(twin.difference(), "") << units << " at " << now;
      }
    }
  }
}

// Whoever waits as long as he was told is admitted, at any rate and any cost; a nanosecond earlier
// he is not.
TYPED_TEST(RateLimiterPropertyTest, WaitingExactlyTheHintIsEnough) {
  for (const RateLimiterOptions& options : Rates()) {
    Rng rng(21);
    Solo<TypeParam> limiter(options);
    std::int64_t now = 0;
    typename TypeParam::Ticket ticket;
    for (int i = 0; i < 5000; ++i) {
      const auto cost = static_cast<std::uint64_t>(1 + AnyScale(rng, options.burst - 1));
      const Verdict verdict = limiter.Admit({.cost = cost}, TimePoint(Duration(now)), ticket);
      if (verdict.admitted()) continue;
      const std::int64_t hint = verdict.retry_after()->count();
      ASSERT_GT(hint, 0);
      // The clock has 292 years; at one per day a single wait may take nine.
      if (now > std::numeric_limits<std::int64_t>::max() - hint) break;
      ASSERT_FALSE(
          limiter.Admit({.cost = cost}, TimePoint(Duration(now + hint - 1)), ticket).admitted());
      now += hint;
      ASSERT_TRUE(limiter.Admit({.cost = cost}, TimePoint(Duration(now)), ticket).admitted());
    }
  }
}

// Polling every microsecond changes nothing: 10 per 13 s, for 13 s, beside a limiter that is asked
// only when a call is due. (golang/go#46579: each poll loses a fraction.)
TYPED_TEST(RateLimiterPropertyTest, PollingEveryMicrosecondChangesNothing) {
  const RateLimiterOptions options{.rate = 10, .per = 13s, .burst = 3};
  Solo<TypeParam> limiter(options);
  typename TypeParam::Ticket ticket;
  ASSERT_TRUE(limiter.Admit({.cost = 3}, TimePoint(0s), ticket).admitted());
  std::vector<Duration> admitted;
  for (Duration now = 0us; now <= 13s; now += 1us) {
    if (limiter.Admit({}, TimePoint(now), ticket).admitted()) admitted.push_back(now);
  }
  ASSERT_EQ(admitted.size(), 10u);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(admitted[static_cast<std::size_t>(i)], (i + 1) * 1300ms);
}

// For an hour, one per hour: every microsecond of the first and the last second, and every
// millisecond between; the state is the same at every one.
TYPED_TEST(RateLimiterPropertyTest, AnHourOfPollingChangesNothing) {
  Solo<TypeParam> limiter({.rate = 1, .per = 1h, .burst = 1});
  typename TypeParam::Ticket ticket;
  ASSERT_TRUE(limiter.Admit({}, TimePoint(0s), ticket).admitted());
  for (Duration now = 0s; now < 1h;
       now += now < 1s || now >= 1h - 1s ? Duration(1us) : Duration(1ms)) {
    const Verdict verdict = limiter.Admit({}, TimePoint(now), ticket);
    ASSERT_FALSE(verdict.admitted()) << now.count();
    ASSERT_EQ(*verdict.retry_after(), 1h - now);
  }
  EXPECT_TRUE(limiter.Admit({}, TimePoint(1h), ticket).admitted());
}

// Eight threads whose clocks lag, at a rate whose epochs last 0.14 s of the clock: they turn some
// two hundred times under the threads' hands. The books must balance at the end: no unit too many,
// and, as demand never ceases, none lost.
TEST(RateLimiterThreadsTest, EpochsTurnUnderThreads) {
  const RateLimiterOptions options{.rate = 1'999'999'993, .burst = 200'000'000};
  Solo<RateLimiter> limiter(options);
  ManualClock clock;
  RateLimiter::Ticket first;
  ASSERT_TRUE(limiter.Admit({.cost = 200'000'000}, clock.Now(), first).admitted());

  std::atomic<std::int64_t> taken{options.burst};
  std::atomic<bool> too_many{false};
  const auto work = [&](std::uint64_t seed) {
    Rng rng(seed);
    for (int i = 0; i < 12'000 * kScale; ++i) {
      if (i % 8 == 0) clock.Advance(Duration(Between(rng, 0, 5'000'000 / kScale)));
      TimePoint now = clock.Now();
      // Up to 30 ms, below the exact bound of 36 ms.
      if (i % 4 == 0) now -= Duration(AnyScale(rng, 30'000'000));
      RateLimiter::Ticket ticket;
      const std::int64_t units = 1 + Between(rng, 0, 3'000'000);
      const Verdict verdict =
          limiter.Admit({.cost = static_cast<std::uint64_t>(units)}, now, ticket);
      if (!verdict.admitted()) continue;
      if (Between(rng, 0, 9) == 0) {
        limiter.Cancel(ticket, Verdict::Refuse(Reason::kConcurrency), now);
        continue;
      }
      // Counted before the clock is read, so that what it allows is never understated.
      const Wide total = taken.fetch_add(units) + units;
      const Wide allowed = Wide{options.burst} * options.per.count() +
                           Wide{options.rate} * clock.Now().time_since_epoch().count();
      if (total * options.per.count() > allowed) too_many.store(true);
    }
  };
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 8; ++t) threads.emplace_back(work, t + 1);
  for (std::thread& thread : threads) thread.join();

  EXPECT_FALSE(too_many.load());
  const Wide end = clock.Now().time_since_epoch().count();
  const Wide per = options.per.count();
  ASSERT_GT(end, Wide{144'000'000} * 50);  // Many epochs.
  const Wide owed = Wide{taken.load()} * per - end * options.rate;
  ASSERT_GT(owed, 0) << "the bucket was full: demand was too small to balance the books";
  EXPECT_EQ(limiter.Read(clock.Now()).available,
            static_cast<std::int64_t>((Wide{options.burst} * per - owed) / per));
}

}  // namespace
}  // namespace shed
