// absl::Status at the edge: limiters from options that may be bad, refusals as statuses, and a
// wrapper that runs a handler under a guard.
#ifndef SHED_STATUS_H_
#define SHED_STATUS_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "shed/limiter.h"

namespace shed {

namespace internal {

// std and Abseil string views are different types in some builds of Abseil.
inline absl::string_view AbslView(std::string_view text) noexcept {
  return {text.data(), text.size()};
}

template <class L>
struct CreateFunction;
template <class ClockT, class Sync, class... Policies>
struct CreateFunction<BasicLimiter<ClockT, Sync, Policies...>> {
  using L = BasicLimiter<ClockT, Sync, Policies...>;

  absl::StatusOr<std::unique_ptr<L>> operator()(const ParameterOf<Policies>&... parameters,
                                                const LimiterOptions& options = {}) const
      requires(std::is_empty_v<ClockT>) {
    const std::string_view problem = L::Problem(parameters...);
    if (!problem.empty()) return absl::InvalidArgumentError(AbslView(problem));
    return std::make_unique<L>(parameters..., options);
  }
  absl::StatusOr<std::unique_ptr<L>> operator()(const ClockT& clock,
                                                const ParameterOf<Policies>&... parameters,
                                                const LimiterOptions& options = {}) const
      requires(!std::is_empty_v<ClockT>) {
    const std::string_view problem = L::Problem(parameters...);
    if (!problem.empty()) return absl::InvalidArgumentError(AbslView(problem));
    return std::make_unique<L>(clock, parameters..., options);
  }
};

inline constexpr const char* kRejectionUrl = "shed/rejection";

}  // namespace internal

// Create<L>(options...) returns a new L, or InvalidArgument with the sentence that its constructor
// would throw. Takes what the constructor takes:
// `shed::Create<shed::Limiter<shed::RateLimiter>>({.rate = 500})`.
template <class L>
inline constexpr internal::CreateFunction<L> Create{};

// Returns the refusal as a status: ResourceExhausted for the caller's own fault, else Unavailable.
// The message names the policy, the reason and, if known, the time to wait. IsRejection tells it
// from a status of the handler's.
inline absl::Status ToStatus(const Rejection& rejection) {
  std::string text = absl::StrCat("refused by ", internal::AbslView(rejection.policy_name()), ": ",
                                  internal::AbslView(Name(rejection.reason())));
  if (const std::optional<Duration> after = rejection.retry_after()) {
    absl::StrAppend(&text, "; retry after ", after->count(), " ns");
  }
  absl::Status status = rejection.scope() == Scope::kCaller ? absl::ResourceExhaustedError(text)
                                                            : absl::UnavailableError(text);
  status.SetPayload(internal::kRejectionUrl, absl::Cord(text));
  return status;
}

// True for a status that ToStatus made, and so for a refusal of our own; false for one from
// downstream, whatever its code.
inline bool IsRejection(const absl::Status& status) {
  return status.GetPayload(internal::kRejectionUrl).has_value();
}

// How Run counts what a handler returned. Codes that only say what the caller asked for are
// successes of the service; what less load would cure is overload.
inline Outcome Classify(const absl::Status& status) noexcept {
  switch (status.code()) {
    case absl::StatusCode::kOk:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kUnimplemented:
      return Outcome::kSuccess;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kCancelled:
      return Outcome::kIgnored;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDeadlineExceeded:
      return Outcome::kOverload;
    default:
      return Outcome::kFailure;
  }
}

// Run's fall-back for who wants none, but a classifier.
struct NoFallBack {};

namespace internal {

template <class T>
struct RunResult {
  using type = absl::StatusOr<T>;
};
template <>
struct RunResult<void> {
  using type = absl::Status;
};
template <>
struct RunResult<absl::Status> {
  using type = absl::Status;
};
template <class T>
struct RunResult<absl::StatusOr<T>> {
  using type = absl::StatusOr<T>;
};

inline const absl::Status& StatusOf(const absl::Status& result) { return result; }
template <class T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

template <class Result, class FallBack>
Result FallBackOr(FallBack& fall_back, const Rejection* rejection, Result otherwise) {
  if constexpr (std::is_same_v<std::remove_cv_t<FallBack>, NoFallBack>) {
    static_cast<void>(fall_back);
    static_cast<void>(rejection);
    return otherwise;
  } else if constexpr (std::is_void_v<std::invoke_result_t<FallBack&, const Rejection*>>) {
    static_assert(std::is_same_v<Result, absl::Status>,
                  "shed: the fall-back must return what the handler returns");
    fall_back(rejection);
    return absl::OkStatus();
  } else {
    return Result(fall_back(rejection));
  }
}

}  // namespace internal

// Asks `limiter`, runs `handler()` if it may, and completes the guard. Returns absl::Status for a
// handler that returns void or Status, absl::StatusOr<T> for one that returns T or StatusOr<T>.
//
// A refusal is returned as ToStatus gives it. `fall_back(const Rejection*)`, if given, is called
// instead when the call was refused (with the rejection) or when the handler's result counts as
// kFailure or kOverload (with nullptr); its result, a T or a Status, is returned. `classify(const
// absl::Status&)` turns the handler's status into an Outcome; the default is Classify. An exception
// of the handler's passes through, and counts as kFailure. Run does not sleep, so it offers the
// limiter no `max_wait`, whatever the request says.
template <class L, class Handler, class FallBack = NoFallBack,
          class Classifier = Outcome (*)(const absl::Status&) noexcept>
auto Run(L& limiter, const Request& request, Handler&& handler, FallBack&& fall_back = {},
         Classifier&& classify = &Classify) ->
    typename internal::RunResult<std::remove_cvref_t<std::invoke_result_t<Handler>>>::type {
  using Returned = std::remove_cvref_t<std::invoke_result_t<Handler>>;
  using Result = typename internal::RunResult<Returned>::type;
  std::remove_reference_t<FallBack>& fall = fall_back;

  Request at_once = request;
  at_once.max_wait = Duration::zero();
  auto guard = limiter.TryAdmit(at_once);
  if (!guard) {
    const Rejection rejection = guard.rejection();
    if constexpr (std::is_same_v<std::remove_cvref_t<FallBack>, NoFallBack>) {
      return Result(ToStatus(rejection));
    } else {
      return internal::FallBackOr<Result>(fall, &rejection, Result(absl::UnknownError("")));
    }
  }
  guard.Note(Outcome::kFailure);  // What an exception makes of it; the end below says otherwise.
  if constexpr (std::is_void_v<Returned>) {
    std::forward<Handler>(handler)();
    guard.Complete(Outcome::kSuccess);
    return absl::OkStatus();
  } else {
    Result result(std::forward<Handler>(handler)());
    const Outcome outcome = classify(internal::StatusOf(result));
    guard.Complete(outcome);
    if (outcome == Outcome::kFailure || outcome == Outcome::kOverload) {
      return internal::FallBackOr<Result>(fall, nullptr, std::move(result));
    }
    return result;
  }
}

}  // namespace shed

#endif  // SHED_STATUS_H_
