// What one policy answers, and what the application sees of a refusal.
#ifndef SHED_VERDICT_H_
#define SHED_VERDICT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "shed/internal/random.h"
#include "shed/time.h"

namespace shed {

// Why a call was refused.
enum class Reason : std::uint8_t {
  kNone,            // It was not.
  kRate,            // More per second than the rate allows.
  kConcurrency,     // More in flight than the limit allows.
  kCircuitOpen,     // The breaker is open.
  kProbing,         // The breaker is half-open, and all its probes are out.
  kRecovering,      // The breaker has closed and lets the load come back slowly.
  kLowSuccessRate,  // Too few of the recent calls succeeded.
  kFairShare,       // The caller holds its share already.
  kBudget,          // The budget shared by all callers is in use.
  kCostTooLarge,    // The cost can never be admitted, whatever the load.
  kQueueDelay,      // It waited too long before it got here.
  kDeadline,        // It cannot be done in the time that is left.
  kUsage,           // The caller used up its allowance.
  kRetryBudget,     // Too many retries.
  kPressure,        // The service says that it is under pressure.
  kQueueFull,       // There is no room to wait in.
  kDenied,          // A rule of your own.
};
inline constexpr std::size_t kReasonCount = 17;

// Returns the reason in words for logs and metric labels: "rate", "circuit_open".
constexpr std::string_view Name(Reason reason) noexcept {
  constexpr std::string_view kNames[kReasonCount] = {
      "none",    "rate",           "concurrency",      "circuit_open",
      "probing", "recovering",     "low_success_rate", "fair_share",
      "budget",  "cost_too_large", "queue_delay",      "deadline",
      "usage",   "retry_budget",   "pressure",         "queue_full",
      "denied"};
  const auto index = static_cast<std::size_t>(reason);
  return index < kReasonCount ? kNames[index] : "unknown";
}

// Whose trouble a refusal is.
enum class Scope : std::uint8_t {
  kService,  // The service has too much to do, whoever asks: HTTP 503, gRPC UNAVAILABLE.
  kCaller,   // This caller asks for more than its part: HTTP 429, gRPC RESOURCE_EXHAUSTED.
};

// One policy's answer: admit after a `wait` (zero: now), or refuse with a reason. Sixteen bytes,
// returned in registers.
class Verdict {
 public:
  // `wait` must be at most `max_wait` and the time that is left; a negative one counts as zero.
  static constexpr Verdict Admit(Duration wait = Duration::zero()) noexcept {
    return Verdict(wait.count() > 0 ? wait.count() : 0, Reason::kNone, Scope::kService);
  }
  // `retry_after`: how long a caller should wait before it asks again; std::nullopt where the
  // policy cannot know. Zero says "at once", which is something else; a negative one counts as it.
  // A `reason` that is none counts as kDenied.
  static constexpr Verdict Refuse(Reason reason, std::optional<Duration> retry_after = std::nullopt,
                                  Scope scope = Scope::kService) noexcept {
    std::int64_t time = kUnknown;
    if (retry_after) time = retry_after->count() > 0 ? retry_after->count() : 0;
    return Verdict(time, IsRefusal(reason) ? reason : Reason::kDenied, scope);
  }

  constexpr bool admitted() const noexcept { return reason_ == Reason::kNone; }
  constexpr Reason reason() const noexcept { return reason_; }
  constexpr Scope scope() const noexcept { return scope_; }
  // Zero for a refusal.
  constexpr Duration wait() const noexcept { return admitted() ? Duration(time_) : Duration(0); }
  // std::nullopt for an admission, and for a refusal that cannot tell.
  constexpr std::optional<Duration> retry_after() const noexcept {
    if (admitted() || time_ == kUnknown) return std::nullopt;
    return Duration(time_);
  }
  // True for a refusal because the service's own capacity is in use, as opposed to a fault of the
  // caller, a broken dependency or a deadline.
  constexpr bool IsCapacity() const noexcept {
    return scope_ == Scope::kService &&
           (reason_ == Reason::kConcurrency || reason_ == Reason::kRate ||
            reason_ == Reason::kBudget || reason_ == Reason::kQueueDelay ||
            reason_ == Reason::kPressure || reason_ == Reason::kQueueFull);
  }

  friend constexpr bool operator==(const Verdict&, const Verdict&) = default;

 private:
  static constexpr std::int64_t kUnknown = -1;
  static constexpr bool IsRefusal(Reason reason) noexcept {
    return reason != Reason::kNone && static_cast<std::size_t>(reason) < kReasonCount;
  }
  constexpr Verdict(std::int64_t time, Reason reason, Scope scope) noexcept
      : time_(time), reason_(reason), scope_(scope) {}

  std::int64_t time_;  // Nanoseconds: the wait of an admission, the retry_after of a refusal.
  Reason reason_;
  Scope scope_;
};
static_assert(sizeof(Verdict) == 16);

// A refusal as the application sees it.
class Rejection {
 public:
  constexpr Rejection(std::size_t policy, std::string_view policy_name,
                      const Verdict& verdict) noexcept
      : policy_(policy), policy_name_(policy_name), verdict_(verdict) {}

  // The place of the policy in the limiter's list, from 0, and its name (static storage).
  constexpr std::size_t policy() const noexcept { return policy_; }
  constexpr std::string_view policy_name() const noexcept { return policy_name_; }
  constexpr Reason reason() const noexcept { return verdict_.reason(); }
  // Zero and unknown differ; see Verdict::Refuse.
  constexpr std::optional<Duration> retry_after() const noexcept { return verdict_.retry_after(); }
  constexpr Scope scope() const noexcept { return verdict_.scope(); }

  // The hint to send, spread so that a fleet of callers that were told the same does not come back
  // as one: retry_after() and up to `jitter` of it more, never less. `random` is any number that
  // differs between calls, a request's id or a draw; `jitter` in [0, 1], anything else counts as
  // the nearer end. Nothing where retry_after() is unknown.
  constexpr std::optional<Duration> RetryAfter(double jitter, std::uint64_t random) const noexcept {
    const std::optional<Duration> exact = retry_after();
    if (!exact || !(jitter > 0)) return exact;
    const double spread = static_cast<double>(internal::Mix(random) >> 11) * 0x1p-53;
    const double more = static_cast<double>(exact->count()) * (jitter < 1 ? jitter : 1) * spread;
    // 2^63 ns and more do not fit.
    if (more >= 0x1p63) return Duration::max();
    return Duration(SaturatingAdd(exact->count(), static_cast<std::int64_t>(more)));
  }

 private:
  std::size_t policy_;
  std::string_view policy_name_;
  Verdict verdict_;
};

}  // namespace shed

#endif  // SHED_VERDICT_H_
