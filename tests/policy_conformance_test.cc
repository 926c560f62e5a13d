#include "shed/testing/policy_conformance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string_view>
#include <tuple>
#include <vector>

#include "shed/admission_controller.h"
#include "shed/aimd.h"
#include "shed/circuit_breaker.h"
#include "shed/concurrency_limiter.h"
#include "shed/demerit_tracker.h"
#include "shed/gradient2.h"
#include "shed/gradient_limiter.h"
#include "shed/keyed.h"
#include "shed/knee_limiter.h"
#include "shed/named.h"
#include "shed/pressure_limiter.h"
#include "shed/queue_delay_limiter.h"
#include "shed/rate_limiter.h"
#include "shed/retry_budget.h"
#include "shed/retry_throttle.h"
#include "shed/shadow.h"
#include "shed/switch.h"
#include "shed/usage_throttle.h"
#include "shed/vegas.h"

namespace shed {
namespace {

using namespace std::chrono_literals;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr Duration kForever = Duration::max();

struct RateTraits : ConformanceTraits<RateLimiter> {
  static RateLimiterOptions Free() { return {.rate = 1'000'000, .burst = 1000}; }
  static RateLimiterOptions Tight() { return {.rate = 10, .burst = 3}; }
  static constexpr RefusesWhen kRefuses = RefusesWhen::kHeld;
  // Ten calls a second, at the pace of the suite's good calls, would be too few.
  static constexpr Duration kPace = 100ms;
  static constexpr Duration kRecovery = 1s;
  static std::vector<RateLimiterOptions> Bad() {
    return {{.rate = 0},      {.rate = -1},
            {.rate = kMost},  {.per = 0s},
            {.per = -1s},     {.per = kForever},
            {.burst = 0},     {.burst = -1},
            {.burst = kMost}, {.rate = 1, .per = 24h, .burst = 3336}};
  }
  static auto State(const RateLimiter::Snapshot& s) { return std::tuple(s.available, s.full_in); }
};

struct NamedTraits : RateTraits {
  using Policy = Named<"per-user", RateLimiter>;
};

struct ConcurrencyTraits : ConformanceTraits<ConcurrencyLimiter> {
  static ConcurrencyLimiterOptions Tight() { return {.limit = 3}; }
  static constexpr RefusesWhen kRefuses = RefusesWhen::kHeld;
  static std::vector<ConcurrencyLimiterOptions> Bad() {
    return {{.limit = 0},
            {.limit = -1},
            {.limit = kMost},
            {.usable = {kInfinity, 1, 1, 1}},
            {.usable = {-1, 1, 1, 1}},
            {.usable = {0, 0, 0, 0}},
            {.usable = {kNan, 1, 1, 1}},
            {.usable = {1, 0.5, 1, 1}}};
  }
  static auto State(const ConcurrencyLimiter::Snapshot& s) {
    return std::tuple(s.limit, s.in_flight);
  }
  static std::uint64_t InFlight(const ConcurrencyLimiter::Snapshot& s) { return s.in_flight; }
};

struct BreakerTraits : ConformanceTraits<CircuitBreaker> {
  static constexpr RefusesWhen kRefuses = RefusesWhen::kFailed;
  static constexpr Duration kRecovery = 10s;
  static std::vector<CircuitBreakerOptions> Bad() {
    return {{.consecutive_failures = -1},
            {.window = 0s},
            {.failure_ratio = kNan},
            {.slow_ratio = kInfinity},
            {.open_for = -1ns},
            {.probes = 0},
            {.consecutive_failures = kMost},
            {.window = kForever},
            {.count_window = -1},
            {.count_window = 4097},
            {.min_calls = 0},
            {.min_calls = kMost},
            {.count_window = 10, .min_calls = 11},
            {.failure_ratio = 0},
            {.failure_ratio = 2},
            {.slow_call = -1ns},
            {.slow_call = kForever},
            {.slow_ratio = 0},
            {.open_for = kForever},
            {.max_open_for = 1s},
            {.max_open_for = kForever},
            {.probes = kMost},
            {.probe_timeout = 0s},
            {.probe_timeout = kForever},
            {.ramp = -1ns},
            {.ramp = kForever}};
  }
  static auto State(const CircuitBreaker::Snapshot& s) {
    return std::tuple(s.state, s.generation, s.counts, s.opens_total, s.open_since, s.retry_after,
                      s.open_for, s.probes_in_flight, s.probe_successes, s.admitted_share);
  }
  static std::uint64_t InFlight(const CircuitBreaker::Snapshot& s) { return s.probes_in_flight; }
};

// Half-open with a ramp behind it, the last calls counted instead of a window.
struct CountingBreakerTraits : BreakerTraits {
  static CircuitBreakerOptions Free() {
    return {.count_window = 100, .max_open_for = 8s, .ramp = 1s};
  }
  static CircuitBreakerOptions Tight() { return Free(); }
  static constexpr Duration kRecovery = 20s;
};

struct AdmissionTraits : ConformanceTraits<AdmissionController> {
  static AdmissionControllerOptions Tight() { return {.max_rejection = 1, .min_rps = 0}; }
  static constexpr RefusesWhen kRefuses = RefusesWhen::kFailed;
  static constexpr Duration kRecovery = 12s;
  static std::vector<AdmissionControllerOptions> Bad() {
    return {{.window = 0s},
            {.threshold = kNan},
            {.threshold = 0},
            {.aggression = -1},
            {.max_rejection = kInfinity},
            {.min_rps = -1},
            {.window = kForever},
            {.threshold = 2},
            {.threshold = kInfinity},
            {.aggression = 0},
            {.aggression = kNan},
            {.aggression = kInfinity},
            {.max_rejection = -1},
            {.max_rejection = kNan},
            {.max_rejection = 2},
            {.min_rps = kNan},
            {.min_rps = kInfinity}};
  }
  static auto State(const AdmissionController::Snapshot& s) {
    return std::tuple(s.calls, s.successes, s.probability, s.arrivals);
  }
  // Arrivals are what it is for: they say which class is refused first.
  static auto Trace(const AdmissionController::Snapshot& s) {
    return std::tuple(s.calls, s.successes, s.probability);
  }
};

struct DemeritTraits : ConformanceTraits<DemeritTracker> {
  static DemeritTrackerOptions Free() { return {.budget = 1000}; }
  static DemeritTrackerOptions Tight() { return {.budget = 3}; }
  static constexpr RefusesWhen kRefuses = RefusesWhen::kHeld;
  static constexpr Duration kRecovery = 61s;
  static std::vector<DemeritTrackerOptions> Bad() {
    return {{.budget = 0},
            {.window = -1s},
            {.demerit_per_denial = kNan},
            {.decay_per_second = kInfinity},
            {.max_penalty = 0s},
            {.hog_threshold = 0},
            {.max_callers = 0},
            {.budget = kMost},
            {.window = kForever},
            {.demerit_per_denial = -1},
            {.budget = 1, .demerit_per_denial = 5},
            {.decay_per_second = 0},
            {.max_penalty = kForever},
            {.hog_threshold = kNan},
            {.max_callers = kMost}};
  }
  // Demerit, who asked and who waits are what it is for.
  static auto State(const DemeritTracker::Snapshot& s) {
    return std::tuple(s.budget, s.in_use, s.overflow_in_use);
  }
  static std::uint64_t InFlight(const DemeritTracker::Snapshot& s) { return s.in_use; }
};

// Two callers fit the table, the others share the overflow.
struct CrowdedDemeritTraits : DemeritTraits {
  static DemeritTrackerOptions Free() { return {.budget = 1000, .max_callers = 2}; }
};

struct UsageTraits : ConformanceTraits<UsageThrottle> {
  static UsageThrottleOptions Free() { return {.soft = 1'000'000, .hard = 1'000'000}; }
  static UsageThrottleOptions Tight() { return {.soft = 3, .hard = 3, .window = 1s}; }
  static constexpr RefusesWhen kRefuses = RefusesWhen::kHeld;
  static constexpr Duration kRecovery = 1s;
  static constexpr Duration kPace = 100ms;  // Each of five callers twice a second.
  static std::vector<UsageThrottleOptions> Bad() {
    return {{.soft = 0},
            {.soft = -1},
            {.soft = kMost, .hard = kMost},
            {.hard = 199},
            {.hard = kMost},
            {.window = 0s},
            {.window = -1s},
            {.window = kForever},
            {.longest_wait = 0s},
            {.longest_wait = kForever},
            {.max_delayed = -1},
            {.max_delayed = kMost},
            {.max_callers = 0},
            {.max_callers = kMost}};
  }
  static auto State(const UsageThrottle::Snapshot& s) {
    return std::tuple(s.soft, s.hard, s.waiting, s.max_delayed, s.tracked, s.overflow_used,
                      s.overflow_in_flight, s.delayed_total, s.blocked_total);
  }
  static std::uint64_t InFlight(const UsageThrottle::Snapshot& s) { return s.overflow_in_flight; }
};
// Most callers share the overflow.
struct CrowdedUsageTraits : UsageTraits {
  static UsageThrottleOptions Free() {
    return {.soft = 1'000'000, .hard = 1'000'000, .max_callers = 1};
  }
};

struct GradientTraits : ConformanceTraits<GradientLimiter> {
  static GradientLimiterOptions Of(std::int64_t limit) {
    return {.min_limit = limit,
            .max_limit = limit,
            .initial_limit = limit,
            .baseline = GradientBaseline::kFixed,
            .fixed_baseline = 10ms,
            .probe_limit = std::min<std::int64_t>(limit, 3)};
  }
  static GradientLimiterOptions Free() { return Of(64); }
  static GradientLimiterOptions Tight() { return Of(3); }
  static constexpr RefusesWhen kRefuses = RefusesWhen::kHeld;
  static std::vector<GradientLimiterOptions> Bad() {
    return {{.percentile = kNan},
            {.buffer = kInfinity},
            {.interval = 0s},
            {.min_limit = 0},
            {.min_limit = 2000},
            {.probe_samples = -1},
            {.percentile = -1},
            {.buffer = -1},
            {.interval = kForever},
            {.min_samples = 0},
            {.max_limit = kMost},
            {.initial_limit = 0},
            {.initial_limit = kMost},
            {.baseline = GradientBaseline::kFixed},
            {.baseline = GradientBaseline::kFixed, .fixed_baseline = 999ns},
            {.baseline = GradientBaseline::kFixed, .fixed_baseline = 2s, .max_baseline = 1s},
            {.fixed_baseline = 3ms},
            {.probe_limit = 0},
            {.max_baseline = 0s},
            {.max_baseline = kForever}};
  }
  static auto State(const GradientLimiter::Snapshot& s) { return std::tuple(s.limit, s.in_flight); }
  static std::uint64_t InFlight(const GradientLimiter::Snapshot& s) { return s.in_flight; }
};

// As it comes: probes, and a limit that moves.
struct ProbingGradientTraits : GradientTraits {
  static GradientLimiterOptions Free() { return {.initial_limit = 64}; }
};

struct KneeTraits : ConformanceTraits<KneeLimiter> {
  static KneeLimiterOptions Of(std::int64_t limit) {
    return {.min_limit = limit, .max_limit = limit, .initial_limit = limit};
  }
  static KneeLimiterOptions Free() { return {.initial_limit = 64}; }
  static KneeLimiterOptions Tight() { return Of(3); }
  static constexpr RefusesWhen kRefuses = RefusesWhen::kHeld;
  static std::vector<KneeLimiterOptions> Bad() {
    return {{.min_limit = 0},
            {.max_limit = 1},
            {.headroom = -1},
            {.dip_interval = 0s},
            {.dip_jitter = kNan},
            {.min_limit = -1},
            {.min_limit = 11, .max_limit = 10},
            {.max_limit = kMost},
            {.initial_limit = 0},
            {.initial_limit = kMost},
            {.headroom = kMost},
            {.dip_interval = kForever},
            {.dip_jitter = -1},
            {.dip_jitter = kInfinity}};
  }
  static auto State(const KneeLimiter::Snapshot& s) {
    return std::tuple(s.mode, s.knee, s.wanted, s.cap, s.throughput, s.dips, s.limit, s.in_flight);
  }
  static std::uint64_t InFlight(const KneeLimiter::Snapshot& s) { return s.in_flight; }
};

// The three that share their windows and guards.
template <class P>
struct SampledTraits : ConformanceTraits<P> {
  using O = typename P::Options;
  static O Free() { return {.initial_limit = 64}; }
  static O Tight() { return {.min_limit = 3, .max_limit = 3, .initial_limit = 3}; }
  static constexpr RefusesWhen kRefuses = RefusesWhen::kHeld;
  static std::vector<O> Bad() {
    return {{.min_limit = 0},     {.max_limit = kMost},  {.initial_limit = 1001},
            {.percentile = kNan}, {.interval = 0s},      {.min_samples = -1},
            {.backoff = 1},       {.timeout = kForever}, {.usable = {kNan, 1, 1, 1}}};
  }
  static auto State(const typename P::Snapshot& s) { return std::tuple(s.limit, s.in_flight); }
  static std::uint64_t InFlight(const typename P::Snapshot& s) { return s.in_flight; }
};

// Nobody sets a reading: nothing is refused.
struct PressureTraits : ConformanceTraits<PressureLimiter> {
  static std::vector<PressureLimiterOptions> Bad() {
    return {
        {.low = kNan},       {.low = -kInfinity},     {.high = kNan},
        {.high = kInfinity}, {.high = 0.7},           {.valid_for = 0s},
        {.valid_for = -1ns}, {.valid_for = kForever}, {.sheddable = static_cast<Criticality>(9)}};
  }
  static auto State(const PressureLimiter::Snapshot& s) {
    return std::tuple(s.reading, s.valid, s.refused);
  }
};

// The suite's calls have waited nowhere; what one has waited is what the policy is for.
struct QueueDelayTraits : ConformanceTraits<QueueDelayLimiter> {
  static std::vector<QueueDelayLimiterOptions> Bad() {
    return {
        {.target = 0s},        {.target = -1s},           {.target = kForever},
        {.interval = 0s},      {.interval = 5ms},         {.interval = kForever},
        {.min_service = -1ns}, {.min_service = kForever}, {.law = static_cast<QueueDelayLaw>(7)}};
  }
};
struct ControlLawTraits : QueueDelayTraits {
  static QueueDelayLimiterOptions Free() { return {.law = QueueDelayLaw::kControl}; }
};

// The suite's calls are no retries, which always pass.
struct RetryBudgetTraits : ConformanceTraits<RetryBudget> {
  static std::vector<RetryBudgetOptions> Bad() {
    return {{.ratio = -1},        {.ratio = 1.5},      {.ratio = kNan},
            {.ratio = kInfinity}, {.min_retries = -1}, {.min_retries = kMost}};
  }
  static auto State(const RetryBudget::Snapshot& s) { return std::tuple(s.in_flight, s.retries); }
  static std::uint64_t InFlight(const RetryBudget::Snapshot& s) { return s.in_flight; }
};
struct RetryThrottleTraits : ConformanceTraits<RetryThrottle> {
  static std::vector<RetryThrottleOptions> Bad() {
    return {{.max_tokens = 0},         {.max_tokens = -1},        {.max_tokens = kNan},
            {.max_tokens = kInfinity}, {.token_ratio = 0},        {.token_ratio = -1},
            {.token_ratio = kNan},     {.token_ratio = kInfinity}};
  }
  static auto State(const RetryThrottle::Snapshot& s) {
    return std::tuple(s.tokens, s.max_tokens, s.retries_pass);
  }
};

// Five callers, each with a limiter of its own or, crowded, four of them with one in common.
template <std::int64_t kMaxKeys>
struct KeyedTraits : ConformanceTraits<Keyed<ConcurrencyLimiter, ByCaller>> {
  static Policy::Options Free() { return {.policy = {.limit = 100}, .max_keys = kMaxKeys}; }
  static Policy::Options Tight() { return {.policy = {.limit = 3}, .max_keys = kMaxKeys}; }
  static constexpr RefusesWhen kRefuses = RefusesWhen::kHeld;
  static std::vector<Policy::Options> Bad() {
    return {{.max_keys = 0}, {.max_keys = -1}, {.max_keys = kMost}, {.policy = {.limit = 0}}};
  }
};

// On, a switch is what it switches.
struct SwitchTraits : ConcurrencyTraits {
  using Policy = Switch<ConcurrencyLimiter>;
  static auto State(const Policy::Snapshot& s) { return ConcurrencyTraits::State(s.policy); }
  static std::uint64_t InFlight(const Policy::Snapshot& s) { return s.policy.in_flight; }
};
struct ShadowTraits : ConcurrencyTraits {
  using Policy = Shadow<ConcurrencyLimiter>;
  static constexpr RefusesWhen kRefuses = RefusesWhen::kNever;
  static auto State(const Policy::Snapshot& s) { return ConcurrencyTraits::State(s.policy); }
  static std::uint64_t InFlight(const Policy::Snapshot& s) { return s.policy.in_flight; }
};

// A user's policy with a ticket, which says nothing of its state: caps the retries that run.
struct RetryCapOptions {
  int limit = 100;
  constexpr std::string_view Problem() const {
    return limit < 1 ? "limit: want at least 1 call" : "";
  }
};
class SlotCap {
 public:
  using Options = RetryCapOptions;
  struct Ticket {
    bool counted = false;
  };
  static constexpr std::string_view kName = "slot_cap";
  static constexpr bool kHolds = true;

  explicit SlotCap(const Options& options) : limit_(internal::Checked(options).limit) {}

  Verdict Admit(const Request&, TimePoint, Ticket& ticket) noexcept {
    int seen = taken_.load();
    do {
      if (seen >= limit_) return Verdict::Refuse(Reason::kDenied);
    } while (!taken_.compare_exchange_weak(seen, seen + 1));
    ticket.counted = true;
    return Verdict::Admit();
  }
  void Cancel(Ticket& ticket, const Verdict&, TimePoint) noexcept { Release(ticket); }
  void Complete(Ticket& ticket, Outcome) noexcept { Release(ticket); }

 private:
  void Release(Ticket& ticket) noexcept {
    if (ticket.counted) taken_.fetch_sub(1);
    ticket.counted = false;
  }
  const int limit_;
  std::atomic<int> taken_{0};
};
struct SlotCapTraits : ConformanceTraits<SlotCap> {
  static RetryCapOptions Tight() { return {.limit = 3}; }
  static constexpr RefusesWhen kRefuses = RefusesWhen::kHeld;
  static std::vector<RetryCapOptions> Bad() { return {{.limit = 0}}; }
};

// The smallest there is: a name and an answer.
struct Open {
  static constexpr std::string_view kName = "open";
  Verdict Admit(const Request&, TimePoint) const noexcept { return Verdict::Admit(); }
};

}  // namespace

using Policies =
    ::testing::Types<RateTraits, NamedTraits, ConcurrencyTraits, BreakerTraits,
                     CountingBreakerTraits, AdmissionTraits, DemeritTraits, CrowdedDemeritTraits,
                     UsageTraits, CrowdedUsageTraits, GradientTraits, ProbingGradientTraits,
                     KneeTraits, RetryBudgetTraits, RetryThrottleTraits, QueueDelayTraits,
                     ControlLawTraits, PressureTraits, SwitchTraits, ShadowTraits,
                     SampledTraits<AimdLimiter>, SampledTraits<VegasLimiter>,
                     SampledTraits<Gradient2Limiter>, KeyedTraits<1000>, KeyedTraits<1>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Shed, PolicyConformance, Policies);
using UserPolicies = ::testing::Types<SlotCapTraits, ConformanceTraits<Open>>;
INSTANTIATE_TYPED_TEST_SUITE_P(User, PolicyConformance, UserPolicies);

}  // namespace shed
