#include "shed/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "probe_policy.h"
#include "shed/concurrency_limiter.h"
#include "shed/rate_limiter.h"

namespace shed {
namespace {

using namespace std::chrono_literals;

using A = Probe<"a">;

std::string Text(const absl::Status& status) { return std::string(status.message()); }

TEST(ToStatus, SaysWhoWhyAndWhen) {
  const absl::Status status =
      ToStatus(Rejection(1, "rate_limiter", Verdict::Refuse(Reason::kRate, 5ms)));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Text(status), "refused by rate_limiter: rate; retry after 5000000 ns");
  // At once and unknown differ here too.
  EXPECT_EQ(Text(ToStatus(Rejection(0, "x", Verdict::Refuse(Reason::kDenied, 0ns)))),
            "refused by x: denied; retry after 0 ns");
  EXPECT_EQ(Text(ToStatus(Rejection(0, "x", Verdict::Refuse(Reason::kDenied)))),
            "refused by x: denied");
}

TEST(ToStatus, TellsTheCallersFaultFromTheServices) {
  const auto code = [](Scope scope) {
    return ToStatus(Rejection(0, "x", Verdict::Refuse(Reason::kUsage, {}, scope))).code();
  };
  EXPECT_EQ(code(Scope::kCaller), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code(Scope::kService), absl::StatusCode::kUnavailable);
  EXPECT_EQ(code(static_cast<Scope>(99)), absl::StatusCode::kUnavailable);
}

// A proxy that takes a server's refusal for its own would retry elsewhere what it must not.
TEST(IsRejection, IsTrueForOursAlone) {
  const absl::Status ours = ToStatus(Rejection(0, "x", Verdict::Refuse(Reason::kRate)));
  EXPECT_TRUE(IsRejection(ours));
  EXPECT_FALSE(IsRejection(absl::OkStatus()));
  EXPECT_FALSE(IsRejection(absl::UnavailableError(ours.message())));
  EXPECT_FALSE(IsRejection(absl::ResourceExhaustedError("quota")));
}

TEST(Classify, FollowsTheTable) {
  using Code = absl::StatusCode;
  const std::vector<std::pair<Code, Outcome>> table = {
      {Code::kOk, Outcome::kSuccess},
      {Code::kNotFound, Outcome::kSuccess},
      {Code::kAlreadyExists, Outcome::kSuccess},
      {Code::kFailedPrecondition, Outcome::kSuccess},
      {Code::kOutOfRange, Outcome::kSuccess},
      {Code::kPermissionDenied, Outcome::kSuccess},
      {Code::kUnauthenticated, Outcome::kSuccess},
      {Code::kUnimplemented, Outcome::kSuccess},
      {Code::kInvalidArgument, Outcome::kIgnored},
      {Code::kCancelled, Outcome::kIgnored},
      {Code::kUnavailable, Outcome::kOverload},
      {Code::kResourceExhausted, Outcome::kOverload},
      {Code::kDeadlineExceeded, Outcome::kOverload},
      {Code::kUnknown, Outcome::kFailure},
      {Code::kInternal, Outcome::kFailure},
      {Code::kAborted, Outcome::kFailure},
      {Code::kDataLoss, Outcome::kFailure},
  };
  EXPECT_EQ(table.size(), 17u);  // All that there are.
  for (const auto& [code, outcome] : table) {
    EXPECT_EQ(Classify(absl::Status(code, "x")), outcome) << absl::StatusCodeToString(code);
  }
  EXPECT_EQ(Classify(absl::Status(static_cast<Code>(77), "x")), Outcome::kFailure);
}

TEST(Create, BuildsOrGivesTheConstructorsSentence) {
  using L = Limiter<RateLimiter, ConcurrencyLimiter>;
  const absl::StatusOr<std::unique_ptr<L>> good =
      Create<L>({.rate = 500, .burst = 7}, {.limit = 3}, {.name = "front"});
  ASSERT_TRUE(good.ok());
  EXPECT_EQ((*good)->name(), "front");
  EXPECT_EQ(std::get<0>((*good)->Snapshot().policies).burst, 7);
  EXPECT_EQ(std::get<1>((*good)->Snapshot().policies).limit, 3u);
  EXPECT_TRUE(Create<L>({}, {}).ok());

  const absl::StatusOr<std::unique_ptr<L>> bad = Create<L>({}, {.limit = 0});
  EXPECT_EQ(bad.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Text(bad.status()), ConcurrencyLimiterOptions{.limit = 0}.Problem());
  EXPECT_FALSE(IsRejection(bad.status()));
#if defined(__cpp_exceptions)
  try {
    const L limiter({}, {.limit = 0});
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(error.what(), Text(bad.status()));
  }
#endif
}

TEST(Create, TakesAClockAndPoliciesWithoutOptions) {
  ManualClock clock(TimePoint(5s));
  Probed probed;
  using L = BasicLimiter<ManualClock, StdSync, A, RateLimiter>;
  const auto limiter = Create<L>(clock, A(probed), {.rate = 1, .burst = 1});
  ASSERT_TRUE(limiter.ok());
  clock.Advance(1s);
  EXPECT_EQ((*limiter)->Now(), TimePoint(6s));
  EXPECT_TRUE((*limiter)->TryAdmit());
  EXPECT_EQ(probed.tickets, 1);
  EXPECT_EQ(Text(Create<L>(clock, A(probed), {.per = 0s}).status()),
            RateLimiterOptions{.per = 0s}.Problem());
}

// --- Run ----------------------------------------------------------------------------------------

class RunTest : public testing::Test {
 protected:
  std::uint64_t Ended(Outcome outcome) { return limiter_.Snapshot().completed[IndexOf(outcome)]; }
  // `calls` ran, and each has ended by what it returned.
  void ExpectAllEnded(std::uint64_t calls) {
    const auto snapshot = limiter_.Snapshot();
    EXPECT_EQ(snapshot.TotalAdmitted(), calls);
    EXPECT_EQ(snapshot.TotalCompleted(), calls);
    EXPECT_EQ(snapshot.in_flight, 0u);
    EXPECT_EQ(snapshot.dropped, 0u);
    EXPECT_TRUE(probed_.EachTicketEndedOnce());
  }

  Probed probed_;
  Limiter<A> limiter_{A(probed_)};
};

TEST_F(RunTest, ReturnsEveryKindOfResult) {
  static_assert(std::is_same_v<decltype(shed::Run(limiter_, {}, [] {})), absl::Status>);
  EXPECT_TRUE(shed::Run(limiter_, {}, [] {}).ok());

  const auto status = shed::Run(limiter_, {}, [] { return absl::NotFoundError("no"); });
  static_assert(std::is_same_v<decltype(status), const absl::Status>);
  EXPECT_EQ(status, absl::NotFoundError("no"));

  const auto value = shed::Run(limiter_, {}, [] { return 7; });
  static_assert(std::is_same_v<decltype(value), const absl::StatusOr<int>>);
  EXPECT_EQ(*value, 7);

  const auto maybe =
      shed::Run(limiter_, {}, [] { return absl::StatusOr<int>(absl::AbortedError("x")); });
  static_assert(std::is_same_v<decltype(maybe), const absl::StatusOr<int>>);
  EXPECT_EQ(maybe.status(), absl::AbortedError("x"));

  auto moved = shed::Run(limiter_, {}, [] { return std::make_unique<int>(9); });
  static_assert(std::is_same_v<decltype(moved), absl::StatusOr<std::unique_ptr<int>>>);
  EXPECT_EQ(**moved, 9);
  auto both = shed::Run(limiter_, {}, []() -> absl::StatusOr<std::unique_ptr<int>> {
    return std::make_unique<int>(8);
  });
  EXPECT_EQ(**both, 8);

  const std::string text = "kept";
  const auto copied = shed::Run(limiter_, {}, [&]() -> const std::string& { return text; });
  static_assert(std::is_same_v<decltype(copied), const absl::StatusOr<std::string>>);
  EXPECT_EQ(*copied, "kept");

  ExpectAllEnded(7);
  EXPECT_EQ(Ended(Outcome::kSuccess), 6u);
  EXPECT_EQ(Ended(Outcome::kFailure), 1u);
}

TEST_F(RunTest, TakesHandlersThatAreMovedOrKept) {
  auto once = [p = std::make_unique<int>(3)]() mutable { return *p; };
  EXPECT_EQ(*shed::Run(limiter_, {}, once), 3);
  EXPECT_EQ(*shed::Run(limiter_, {}, std::move(once)), 3);
  struct OnlyOnce {
    int operator()() && { return 5; }
  };
  EXPECT_EQ(*shed::Run(limiter_, {}, OnlyOnce()), 5);
  int (*const function)() = +[] { return 6; };
  EXPECT_EQ(*shed::Run(limiter_, {}, function), 6);
}

TEST_F(RunTest, CountsWhatTheHandlerReturned) {
  const auto run = [&](absl::Status status) {
    EXPECT_EQ(shed::Run(limiter_, {}, [&] { return status; }), status);
  };
  run(absl::OkStatus());
  run(absl::CancelledError("x"));
  run(absl::UnavailableError("x"));
  run(absl::InternalError("x"));
  run(absl::DeadlineExceededError("x"));
  EXPECT_EQ(Ended(Outcome::kSuccess), 1u);
  EXPECT_EQ(Ended(Outcome::kIgnored), 1u);
  EXPECT_EQ(Ended(Outcome::kOverload), 2u);
  EXPECT_EQ(Ended(Outcome::kFailure), 1u);
  ExpectAllEnded(5);
}

TEST_F(RunTest, RefusesWithoutRunning) {
  probed_.answer = Verdict::Refuse(Reason::kBudget, 3ms, Scope::kCaller);
  bool ran = false;
  const absl::StatusOr<int> result = shed::Run(limiter_, {}, [&] {
    ran = true;
    return 1;
  });
  EXPECT_FALSE(ran);
  EXPECT_TRUE(IsRejection(result.status()));
  EXPECT_EQ(result.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Text(result.status()), "refused by a: budget; retry after 3000000 ns");
  EXPECT_TRUE(IsRejection(shed::Run(limiter_, {}, [] {})));
  // The same code from downstream is not ours.
  probed_.answer = Verdict::Admit();
  EXPECT_FALSE(IsRejection(shed::Run(limiter_, {}, [] { return absl::UnavailableError("down"); })));
}

// Run does not sleep, so that a wait it were given would be no wait at all.
TEST_F(RunTest, OffersNoWait) {
  EXPECT_TRUE(shed::Run(limiter_, {.max_wait = 5s}, [] {}).ok());
  EXPECT_EQ(probed_.max_waits, std::vector<Duration>{0s});
}

TEST_F(RunTest, FallsBackWhenRefused) {
  probed_.answer = Verdict::Refuse(Reason::kRate, 3ms);
  int called = 0;
  const auto fall_back = [&](const Rejection* rejection) {
    ++called;
    EXPECT_NE(rejection, nullptr);
    if (rejection == nullptr) return -1;
    EXPECT_EQ(rejection->policy_name(), "a");
    EXPECT_EQ(rejection->reason(), Reason::kRate);
    EXPECT_EQ(rejection->retry_after(), 3ms);
    return 42;
  };
  const absl::StatusOr<int> result = shed::Run(
      limiter_, {}, [] { return 1; }, fall_back);
  EXPECT_EQ(*result, 42);
  EXPECT_EQ(called, 1);
  ExpectAllEnded(0);
}

TEST_F(RunTest, FallsBackWhenFailed) {
  const auto run = [&](absl::Status status) {
    int calls = 0;
    const absl::StatusOr<int> result = shed::Run(
        limiter_, {}, [&] { return absl::StatusOr<int>(status); },
        [&](const Rejection* rejection) {
          EXPECT_EQ(rejection, nullptr);
          // The guard has ended: the fall-back holds no permit.
          EXPECT_EQ(limiter_.Snapshot().in_flight, 0u);
          ++calls;
          return 42;
        });
    EXPECT_EQ(result.ok(), calls == 1);
    if (!result.ok()) {
      EXPECT_EQ(result.status(), status);
    }
    return calls;
  };
  EXPECT_EQ(run(absl::InternalError("x")), 1);
  EXPECT_EQ(run(absl::UnavailableError("x")), 1);
  // What is the caller's, or no failure, is the answer.
  EXPECT_EQ(run(absl::NotFoundError("x")), 0);
  EXPECT_EQ(run(absl::InvalidArgumentError("x")), 0);
  ExpectAllEnded(4);
}

TEST_F(RunTest, FallBackMayReturnAStatusOrNothing) {
  probed_.answer = Verdict::Refuse(Reason::kRate);
  EXPECT_EQ(shed::Run(
                limiter_, {}, [] { return 1; },
                [](const Rejection* r) { return absl::StatusOr<int>(ToStatus(*r)); })
                .status()
                .code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(shed::Run(
                limiter_, {}, [] { return absl::OkStatus(); },
                [](const Rejection*) { return absl::AbortedError("fell back"); }),
            absl::AbortedError("fell back"));
  int called = 0;
  EXPECT_TRUE(shed::Run(
                  limiter_, {}, [] {}, [&](const Rejection*) { ++called; })
                  .ok());
  EXPECT_EQ(called, 1);
  auto moved = shed::Run(
      limiter_, {}, [] { return std::make_unique<int>(1); },
      [](const Rejection*) { return std::make_unique<int>(2); });
  EXPECT_EQ(**moved, 2);
}

TEST_F(RunTest, TakesAClassifier) {
  const auto strict = [](const absl::Status& status) {
    return status.ok() ? Outcome::kSuccess : Outcome::kFailure;
  };
  const absl::Status not_found = absl::NotFoundError("x");
  EXPECT_EQ(shed::Run(
                limiter_, {}, [&] { return not_found; }, NoFallBack(), strict),
            not_found);
  EXPECT_EQ(Ended(Outcome::kFailure), 1u);
  const NoFallBack none;
  EXPECT_EQ(shed::Run(
                limiter_, {}, [&] { return not_found; }, none, strict),
            not_found);
  // And it decides what falls back.
  EXPECT_EQ(*shed::Run(
                limiter_, {}, [&] { return absl::StatusOr<int>(not_found); },
                [](const Rejection*) { return 3; }, strict),
            3);
  ExpectAllEnded(3);
}

#if defined(__cpp_exceptions)
TEST_F(RunTest, ExceptionPassesThroughAndIsAFailure) {
  const auto run = [&] {
    return shed::Run(
        limiter_, {}, []() -> int { throw std::runtime_error("handler"); },
        [](const Rejection*) { return 1; });
  };
  EXPECT_THROW(static_cast<void>(run()), std::runtime_error);
  EXPECT_EQ(Ended(Outcome::kFailure), 1u);
  ExpectAllEnded(1);  // Nor is it dropped: Run never forgets.
}

// In a destructor that runs because of an exception: this call has nothing to do with it.
TEST_F(RunTest, AnotherExceptionIsNotTheHandlers) {
  struct Cleanup {
    Limiter<A>& limiter;
    ~Cleanup() {
      EXPECT_TRUE(shed::Run(limiter, {}, [] {}).ok());
    }
  };
  try {
    const Cleanup cleanup{limiter_};
    throw 1;
  } catch (int) {
  }
  EXPECT_EQ(Ended(Outcome::kSuccess), 1u);
}
#endif

}  // namespace
}  // namespace shed
