#include "shed/admission_controller.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

#include "shed/concurrency_limiter.h"
#include "shed/limiter.h"
#include "watched_sync.h"

namespace shed {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Options = AdmissionControllerOptions;
using PerClass = AdmissionController::PerClass;

TimePoint At(Duration since_zero) { return TimePoint(since_zero); }

// ---- The rule ----

// p = (n - s / threshold) / (n + 1), from the formula (algorithms: 28).
static_assert(AdmissionController::Probability({.threshold = 0.5}, 99, 0) == 0.8);
static_assert(AdmissionController::Probability({.threshold = 0.5}, 99, 25) == 0.49);
static_assert(AdmissionController::Probability({.threshold = 0.5}, 99, 49) == 0.01);
static_assert(AdmissionController::Probability({.threshold = 0.5}, 99, 50) == 0);
static_assert(AdmissionController::Probability({.threshold = 0.5}, 99, 99) == 0);
static_assert(AdmissionController::Probability({.max_rejection = 1}, 99, 0) == 0.99);
// P14: below 5 per second of the whole 60 s, however young the window is.
constexpr Options kMinute{.window = seconds(60)};
static_assert(AdmissionController::Probability(kMinute, 299, 0) == 0);
static_assert(AdmissionController::Probability(kMinute, 300, 0) > 0);
static_assert(AdmissionController::Probability({.min_rps = 0}, 0, 0) == 0);
static_assert(AdmissionController::Probability({.min_rps = 0}, 1, 0) == 0.5);

// A negative number to a broken power is NaN, and every comparison with NaN admits, or none does
// (algorithms: 5).
TEST(AdmissionController, APowerOfANegativeNumberIsNeverTaken) {
  for (const double aggression : {0.1, 0.5, 1.5, 2.0, 3.0, 10.0}) {
    for (std::uint64_t s = 0; s <= 1000; ++s) {
      const double p = AdmissionController::Probability({.aggression = aggression}, 1000, s);
      ASSERT_GE(p, 0) << aggression << " " << s;
      ASSERT_LE(p, 0.8) << aggression << " " << s;
      const double base = std::max(0.0, (1000.0 - static_cast<double>(s) / 0.95) / 1001.0);
      ASSERT_NEAR(p, std::min(0.8, std::pow(base, 1 / aggression)), 1e-12);
    }
  }
}

// ---- Who is refused ----

constexpr PerClass Spread(double p, AdmissionController::Arrivals arrivals) {
  return AdmissionController::Spread(p, arrivals);
}
static_assert(Spread(0.25, {10, 10, 10, 10}) == PerClass{1, 0, 0, 0});
static_assert(Spread(0.5, {10, 10, 10, 10}) == PerClass{1, 1, 0, 0});
static_assert(Spread(0.125, {10, 10, 10, 10}) == PerClass{0.5, 0, 0, 0});
static_assert(Spread(0.8, {0, 0, 100, 0}) == PerClass{1, 1, 0.8, 0});
static_assert(Spread(0, {10, 10, 10, 10}) == PerClass{0, 0, 0, 0});
static_assert(Spread(0.3, {0, 0, 0, 0}) == PerClass{0.3, 0.3, 0.3, 0.3});

// Classes steer who is refused, never how many.
TEST(AdmissionController, TheClassesTogetherLoseExactlyP) {
  for (std::uint64_t a = 0; a < 6; ++a) {
    for (std::uint64_t b = 0; b < 6; ++b) {
      for (std::uint64_t c = 0; c < 6; ++c) {
        for (std::uint64_t d = 0; d < 6; ++d) {
          const AdmissionController::Arrivals arrivals{a * 7, b * 11, c * c, d};
          double all = 0;
          for (const std::uint64_t n : arrivals) all += static_cast<double>(n);
          for (double p = 0; p <= 1; p += 0.0625) {
            const PerClass share = Spread(p, arrivals);
            double refused = 0;
            for (std::size_t k = 0; k < 4; ++k) {
              ASSERT_GE(share[k], 0);
              ASSERT_LE(share[k], 1);
              ASSERT_LE(share[k], k > 0 && all > 0 ? share[k - 1] : 1);
              refused += share[k] * static_cast<double>(arrivals[k]);
            }
            ASSERT_NEAR(refused, p * all, 1e-9);
          }
        }
      }
    }
  }
}

// ---- In time ----

class Controller {
 public:
  explicit Controller(const Options& options) : controller(options) {}

  // A call; false if it was refused.
  bool Do(TimePoint now, Outcome outcome, Criticality criticality = Criticality::kCritical) {
    AdmissionController::Ticket ticket;
    const Verdict verdict = controller.Admit({.criticality = criticality}, now, ticket);
    if (!verdict.admitted()) {
      EXPECT_EQ(verdict, Verdict::Refuse(Reason::kLowSuccessRate));
      return false;
    }
    controller.Complete(ticket, {.started = now, .now = now, .outcome = outcome});
    return true;
  }
  // How many of `times` were refused.
  int Refused(int times, TimePoint now, Outcome outcome,
              Criticality criticality = Criticality::kCritical) {
    int refused = 0;
    for (int i = 0; i < times; ++i) refused += Do(now, outcome, criticality) ? 0 : 1;
    return refused;
  }
  double P(TimePoint now) const { return controller.Read(now).probability; }

  AdmissionController controller;
};

// P14, envoyproxy/envoy#33739: a handful of failures just after the start proves nothing.
TEST(AdmissionController, TheRateIsOverTheWholeWindow) {
  Controller c(kMinute);
  for (int i = 0; i < 299; ++i) {
    ASSERT_TRUE(c.Do(At(milliseconds(10) * i), Outcome::kFailure)) << i;
    ASSERT_EQ(c.P(At(milliseconds(10) * i)), 0) << i;
  }
  ASSERT_TRUE(c.Do(At(seconds(3)), Outcome::kFailure));
  // From the very next call on.
  EXPECT_EQ(c.P(At(seconds(3))), 0.8);
  EXPECT_NEAR(c.Refused(1000, At(seconds(3)), Outcome::kFailure), 800, 40);
  const auto read = c.controller.Read(At(seconds(3)));
  EXPECT_EQ(read.arrivals[2], 1300u);
  EXPECT_DOUBLE_EQ(read.rps, static_cast<double>(read.calls) / 60);
}

// Its own refusals must not keep it refusing: the dependency is well again, and within a window
// everything is let through (algorithms: 8, 13).
TEST(AdmissionController, OwnRefusalsAreNoEvidence) {
  Controller c({});
  for (int ms = 0; ms < 5000; ++ms) c.Do(At(milliseconds(ms)), Outcome::kOverload);
  const auto read = c.controller.Read(At(seconds(5)));
  EXPECT_LT(read.calls, 1500u);
  EXPECT_EQ(read.arrivals[2], 5000u);
  EXPECT_EQ(read.probability, 0.8);
  for (int ms = 5000; ms < 15'000; ++ms) c.Do(At(milliseconds(ms)), Outcome::kSuccess);
  EXPECT_EQ(c.P(At(seconds(15))), 0);
  EXPECT_EQ(c.Refused(1000, At(seconds(15)), Outcome::kSuccess), 0);
}

// Idle for a window, then a burst: nothing is known, nothing is refused, from the first call on
// (algorithms: 9). The probability in force must not be that of the last call long ago.
TEST(AdmissionController, AnIdleWindowForgets) {
  for (const Duration idle :
       {Duration(seconds(10)), Duration(seconds(60)), Duration(hours(24 * 36'525))}) {
    Controller c({});
    c.Refused(1000, At(seconds(3)), Outcome::kFailure);
    EXPECT_EQ(c.P(At(seconds(3))), 0.8);
    EXPECT_EQ(c.P(At(seconds(3) + idle)), 0);
    EXPECT_EQ(c.Refused(40, At(seconds(3) + idle), Outcome::kFailure), 0);
  }
}

TEST(AdmissionController, IgnoredCallsCountForNothing) {
  Controller c({.min_rps = 0});
  EXPECT_EQ(c.Refused(100, At(seconds(1)), Outcome::kIgnored), 0);
  EXPECT_EQ(c.controller.Read(At(seconds(1))).calls, 0u);
  EXPECT_EQ(c.controller.Read(At(seconds(1))).arrivals[2], 100u);
}

TEST(AdmissionController, FailureAndOverloadAreBothNoSuccess) {
  for (const Outcome outcome : {Outcome::kFailure, Outcome::kOverload}) {
    Controller c({.min_rps = 1000});
    c.Refused(10, At(seconds(1)), outcome);
    c.Refused(5, At(seconds(1)), Outcome::kSuccess);
    EXPECT_EQ(c.controller.Read(At(seconds(1))).calls, 15u);
    EXPECT_EQ(c.controller.Read(At(seconds(1))).successes, 5u);
  }
}

TEST(AdmissionController, LessCriticalCallsAreRefusedFirst) {
  // Half of the calls fail, a quarter are sheddable: p is about 0.47, so all sheddable calls and a
  // third of the others are refused.
  Controller c({});
  int refused[2] = {};
  int asked[2] = {};
  for (int i = 0; i < 40'000; ++i) {
    const TimePoint now = At(milliseconds(i));
    const bool sheddable = i % 4 == 0;
    const bool admitted = c.Do(now, i / 4 % 2 == 0 ? Outcome::kSuccess : Outcome::kFailure,
                               sheddable ? Criticality::kSheddable : Criticality::kCriticalPlus);
    if (i < 10'000) continue;
    ++asked[sheddable];
    refused[sheddable] += admitted ? 0 : 1;
  }
  EXPECT_EQ(refused[1], asked[1]);
  EXPECT_GT(refused[0], asked[0] / 4);
  EXPECT_LT(refused[0], asked[0] * 2 / 5);
}

TEST(AdmissionController, TheSameSeedRefusesTheSameCalls) {
  const auto run = [](std::uint64_t seed) {
    Controller c({.seed = seed});
    std::vector<bool> admitted;
    for (int i = 0; i < 3000; ++i) {
      admitted.push_back(
          c.Do(At(milliseconds(i)), i % 3 == 0 ? Outcome::kSuccess : Outcome::kFailure));
    }
    return admitted;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

// With many calls the probability in force is computed for one end in many, and must still be that
// of the window.
TEST(AdmissionController, TheProbabilityInForceKeepsUpWithTheWindow) {
  Controller c({});
  for (int i = 0; i < 100'000; ++i) c.Do(At(seconds(1)), Outcome::kSuccess);
  // The n-th failure is refused with p(n): add up what should be.
  double want = 0;
  int refused = 0;
  for (int i = 0; i < 100'000; ++i) {
    want += c.P(At(seconds(1)));
    refused += c.Do(At(seconds(1)), Outcome::kFailure) ? 0 : 1;
  }
  EXPECT_GT(want, 10'000);
  EXPECT_NEAR(refused, want, want * 0.03);
}

// ---- Undoing ----

TEST(AdmissionController, ACancelledCallLeavesNoTrace) {
  Controller c({.min_rps = 0});
  for (int i = 0; i < 100; ++i) {
    AdmissionController::Ticket ticket;
    ASSERT_TRUE(c.controller.Admit({}, At(seconds(1)), ticket).admitted());
    c.controller.Cancel(ticket, Verdict::Refuse(Reason::kRate), At(seconds(1)));
    c.controller.Cancel(ticket, Verdict::Refuse(Reason::kRate), At(seconds(1)));
    c.controller.Complete(ticket, {.now = At(seconds(1)), .outcome = Outcome::kFailure});
  }
  const auto read = c.controller.Read(At(seconds(1)));
  EXPECT_EQ(read.calls, 0u);
  EXPECT_EQ(read.arrivals, AdmissionController::Arrivals{});
}

// Its arrival has left the window: the one of another call must not be taken back instead.
TEST(AdmissionController, ACancelAfterAWindowTakesNothingBack) {
  Controller c({});
  AdmissionController::Ticket ticket;
  ASSERT_TRUE(c.controller.Admit({}, At(seconds(1)), ticket).admitted());
  c.Do(At(seconds(11)), Outcome::kSuccess);
  c.controller.Cancel(ticket, Verdict::Refuse(Reason::kRate), At(seconds(11)));
  EXPECT_EQ(c.controller.Read(At(seconds(11))).arrivals[2], 1u);
}

TEST(AdmissionController, ATicketEndsOnce) {
  Controller c({});
  AdmissionController::Ticket ticket;
  ASSERT_TRUE(c.controller.Admit({}, At(seconds(1)), ticket).admitted());
  for (int i = 0; i < 3; ++i) {
    c.controller.Complete(ticket, {.now = At(seconds(1)), .outcome = Outcome::kFailure});
  }
  EXPECT_EQ(c.controller.Read(At(seconds(1))).calls, 1u);
}

// envoyproxy/envoy#25487 once more: what a later policy refuses is no evidence here either.
TEST(AdmissionController, RefusalsByALaterPolicyAreNoEvidence) {
  ManualClock clock;
  BasicLimiter<ManualClock, StdSync, AdmissionController, ConcurrencyLimiter> limiter(
      clock, {.min_rps = 0}, {.limit = 1});
  auto held = limiter.TryAdmit();
  ASSERT_TRUE(held);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(limiter.TryAdmit().rejection().policy(), 1u);
  EXPECT_EQ(limiter.template Get<AdmissionController>().Read(clock.Now()).calls, 0u);
}

// ---- Threads ----

TEST(AdmissionController, ThreadsLoseNoCall) {
  AdmissionController controller(Options{.min_rps = 1e9});
  std::vector<std::thread> threads;
  for (int id = 0; id < 4; ++id) {
    threads.emplace_back([&, id] {
      for (int i = 0; i < 20'000; ++i) {
        // All within one window, through its turns.
        const TimePoint now = At(milliseconds(i % 9000));
        AdmissionController::Ticket ticket;
        const auto criticality = static_cast<Criticality>(id);
        ASSERT_TRUE(controller.Admit({.criticality = criticality}, now, ticket).admitted());
        if (i % 4 == 0) {
          controller.Cancel(ticket, Verdict::Refuse(Reason::kRate), now);
        } else {
          controller.Complete(
              ticket, {.now = now, .outcome = i % 2 == 0 ? Outcome::kSuccess : Outcome::kFailure});
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto read = controller.Read(At(milliseconds(8999)));
  EXPECT_EQ(read.calls, 60'000u);
  EXPECT_EQ(read.successes, 20'000u);
  for (const std::uint64_t arrivals : read.arrivals) EXPECT_EQ(arrivals, 15'000u);
}

// One thread computes the shares to refuse; the others are admitted, refused and completed by those
// in force, past turns of the window, too.
TEST(AdmissionController, OneThreadComputesAndTheOthersGoOnWithTheOldShares) {
  BasicAdmissionController<WatchedSync> controller(Options{.min_rps = 0});
  TimePoint now = At(seconds(1));
  const auto call = [&](Outcome outcome) {
    BasicAdmissionController<WatchedSync>::Ticket ticket;
    const bool admitted = controller.Admit({}, now, ticket).admitted();
    if (admitted) controller.Complete(ticket, {.now = now, .outcome = outcome});
    return admitted;
  };
  int computations = 0;
  int admitted = 0;
  int refused = 0;
  WatchedSync::waits = 0;
  WatchedSync::while_held = [&] {
    if (++computations % 100 == 0) now += seconds(1);
    for (int i = 0; i < 10; ++i) ++(call(Outcome::kFailure) ? admitted : refused);
  };
  for (int i = 0; i < 5'000; ++i) call(Outcome::kFailure);
  WatchedSync::while_held = nullptr;
  EXPECT_GT(computations, 100);
  EXPECT_EQ(WatchedSync::waits, 0);
  EXPECT_GT(admitted, 500);
  EXPECT_GT(refused, 500);
}

// The old ones until then, the new ones from then on.
TEST(AdmissionController, TheSharesInForceMoveAtOnce) {
  BasicAdmissionController<WatchedSync> controller(Options{.min_rps = 0});
  const TimePoint now = At(seconds(1));
  std::vector<int> admitted;
  WatchedSync::while_held = [&] {
    admitted.push_back(0);
    for (int i = 0; i < 1'000; ++i) {
      BasicAdmissionController<WatchedSync>::Ticket ticket;
      if (!controller.Admit({}, now, ticket).admitted()) continue;
      controller.Complete(ticket, {.now = now, .outcome = Outcome::kFailure});
      ++admitted.back();
    }
  };
  BasicAdmissionController<WatchedSync>::Ticket ticket;
  controller.Admit({}, now, ticket);
  WatchedSync::while_held = nullptr;
  ASSERT_EQ(admitted.size(), 2u);
  EXPECT_EQ(admitted[0], 1'000);
  EXPECT_NEAR(admitted[1], 200, 60);  // max_rejection is 0.8.
}

// ---- Bad input ----

template <class F>
std::string_view ProblemOf(F change) {
  Options options;
  change(options);
  const std::string_view problem = options.Problem();
  if (problem.empty()) {
    EXPECT_NO_THROW(AdmissionController{options});
  } else {
    EXPECT_THROW(AdmissionController{options}, std::invalid_argument);
  }
  return problem;
}

TEST(AdmissionController, BadOptionsAreRefusedByName) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {-1.0, 1e300, kInf, -kInf, kNaN}) {
    EXPECT_EQ(ProblemOf([=](Options& o) { o.threshold = bad; }), "threshold: want 0.01 to 1");
    EXPECT_EQ(ProblemOf([=](Options& o) { o.aggression = bad; }), "aggression: want 0.1 to 10");
    EXPECT_EQ(ProblemOf([=](Options& o) { o.max_rejection = bad; }),
              "max_rejection: want 0.01 to 1");
    EXPECT_EQ(ProblemOf([=](Options& o) { o.min_rps = bad; }), "min_rps: want 0 to 1000000000");
  }
  EXPECT_EQ(ProblemOf([](Options& o) { o.threshold = 0; }), "threshold: want 0.01 to 1");
  EXPECT_EQ(ProblemOf([](Options& o) { o.aggression = 0; }), "aggression: want 0.1 to 10");
  EXPECT_EQ(ProblemOf([](Options& o) { o.max_rejection = 0; }), "max_rejection: want 0.01 to 1");
  EXPECT_EQ(ProblemOf([](Options& o) { o.min_rps = 0; }), "");
  for (const Duration bad : {Duration(0), Duration(-1), Duration(999), Duration::min(),
                             Duration::max(), Duration(hours(24)) + Duration(1)}) {
    EXPECT_EQ(ProblemOf([=](Options& o) { o.window = bad; }), "window: want 1 us to 24 h");
  }
}

// A class cast from outside the four is the least critical: a caller who lies gains nothing, and
// reads no memory that is not there.
TEST(AdmissionController, AnUnknownClassIsTheLeastCritical) {
  Controller c({});
  c.Do(At(seconds(1)), Outcome::kSuccess, static_cast<Criticality>(200));
  EXPECT_EQ(c.controller.Read(At(seconds(1))).arrivals[0], 1u);
}

TEST(AdmissionController, AClockThatLagsAndTheEndsOfTime) {
  Controller c({.min_rps = 0});
  for (const TimePoint now :
       {TimePoint::min(), At(seconds(0)), At(seconds(-5)), TimePoint::max(), At(seconds(1))}) {
    c.Do(now, Outcome::kSuccess);
  }
  EXPECT_EQ(c.controller.Read(TimePoint::max()).calls, 1u);
  EXPECT_EQ(c.controller.Read(TimePoint::min()).calls, 1u);
}

// ---- Configure ----

TEST(AdmissionController, ConfigureActsAtOnceAndKeepsWhatWasCounted) {
  AdmissionController controller({.min_rps = 0});
  AdmissionController::Ticket ticket;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(controller.Admit({}, At(seconds(1)), ticket).admitted() || i > 0);
    controller.Complete(ticket, {.now = At(seconds(1)), .outcome = Outcome::kFailure});
  }
  const std::uint64_t calls = controller.Read(At(seconds(1))).calls;
  ASSERT_GT(calls, 10u);
  ASSERT_NEAR(controller.Read(At(seconds(1))).probability, 0.8, 1e-9);
  EXPECT_EQ(controller.Configure({.max_rejection = 0.3, .min_rps = 0}, At(seconds(1))), "");
  EXPECT_EQ(controller.Read(At(seconds(1))).calls, calls);
  EXPECT_EQ(controller.Read(At(seconds(1))).probability, 0.3);
  // What is in force, and not what is read alone: no call has computed it since.
  EXPECT_EQ(controller.Configure({.min_rps = 1e9}, At(seconds(1))), "");
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(controller.Admit({}, At(seconds(1)), ticket).admitted());
  }
  EXPECT_EQ(controller.Configure({.max_rejection = 1, .min_rps = 0}, At(seconds(1))), "");
  int refused = 0;
  for (int i = 0; i < 100; ++i) {
    refused += controller.Admit({}, At(seconds(1)), ticket).admitted() ? 0 : 1;
  }
  EXPECT_GT(refused, 80);
  EXPECT_EQ(controller.Configure({.threshold = 0, .min_rps = 1e9}, At(seconds(1))),
            "threshold: want 0.01 to 1");
  EXPECT_GT(controller.Read(At(seconds(1))).probability, 0.9);
}

// Slices are numbered by their width: a wider one must not stop the share from being computed.
TEST(AdmissionController, ConfigureOfTheWindow) {
  AdmissionController controller({.window = milliseconds(1), .min_rps = 0});
  AdmissionController::Ticket ticket;
  const auto fail = [&](TimePoint now) {
    if (controller.Admit({}, now, ticket).admitted()) {
      controller.Complete(ticket, {.now = now, .outcome = Outcome::kFailure});
    }
  };
  for (int i = 0; i < 50; ++i) fail(At(seconds(100)));
  EXPECT_EQ(controller.Configure({.window = seconds(10), .min_rps = 0}, At(seconds(100))), "");
  EXPECT_GT(controller.Read(At(seconds(105))).calls, 5u);
  EXPECT_EQ(controller.Read(At(seconds(111))).calls, 0u);
  // Nothing has failed for a window: the next call finds out, and is let in.
  EXPECT_TRUE(controller.Admit({}, At(seconds(120)), ticket).admitted());
  EXPECT_EQ(controller.Configure({.window = seconds(1)}, At(seconds(120))), "");
  EXPECT_TRUE(controller.AsNew(At(seconds(122))));
}

}  // namespace
}  // namespace shed
