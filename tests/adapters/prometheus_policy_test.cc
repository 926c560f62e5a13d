#include "shed/adapters/prometheus_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "shed/adapters/prometheus.h"
#include "shed/limiter.h"
#include "shed/shed.h"

namespace shed {
namespace {

using namespace std::chrono_literals;
using ::testing::IsSupersetOf;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// What a snapshot gives, as "name" or "name{label}" for one more label than limiter and policy.
template <class Snapshot>
std::map<std::string, double> Shown(const Snapshot& snapshot) {
  internal::MetricFamilies families;
  PolicyMetrics(families, "api", "p").Export(snapshot);
  std::map<std::string, double> shown;
  for (const prometheus::MetricFamily& family : std::move(families).Take()) {
    EXPECT_FALSE(family.help.empty()) << family.name;
    const bool counter = family.type == prometheus::MetricType::Counter;
    for (const prometheus::ClientMetric& metric : family.metric) {
      std::string name = family.name;
      EXPECT_GE(metric.label.size(), 2u);
      EXPECT_EQ(metric.label[0], (prometheus::ClientMetric::Label{"limiter", "api"}));
      EXPECT_EQ(metric.label[1], (prometheus::ClientMetric::Label{"policy", "p"}));
      if (metric.label.size() > 2) name += "{" + metric.label[2].value + "}";
      EXPECT_TRUE(shown.emplace(name, counter ? metric.counter.value : metric.gauge.value).second)
          << name << " twice";
    }
  }
  return shown;
}

// The snapshot of a policy with all defaults, at its start.
template <class P>
typename P::Snapshot Fresh() {
  Limiter<P> limiter(typename P::Options{});
  return std::get<0>(limiter.Snapshot().policies);
}

TEST(PrometheusPolicy, ShowsLimitsAndWhatIsInUse) {
  EXPECT_THAT(
      Shown(ConcurrencyLimiter::Snapshot{.limit = 16, .in_flight = 3}),
      UnorderedElementsAre(Pair("shed_concurrency_limit", 16), Pair("shed_concurrency_in_use", 3)));
  DemeritTracker::Snapshot demerit;
  demerit.budget = 40;
  demerit.in_use = 7;
  demerit.share = 4;
  demerit.active = 10;
  demerit.tracked = 12;
  demerit.contended = true;
  demerit.hogs_total = 2;
  EXPECT_THAT(
      Shown(demerit),
      UnorderedElementsAre(Pair("shed_concurrency_limit", 40), Pair("shed_concurrency_in_use", 7),
                           Pair("shed_caller_share_units", 4), Pair("shed_active_callers", 10),
                           Pair("shed_tracked_callers", 12), Pair("shed_contended", 1),
                           Pair("shed_hogs_total", 2)));
  UsageThrottle::Snapshot usage;
  usage.waiting = 3;
  usage.tracked = 12;
  usage.blocked_total = 2;
  EXPECT_THAT(Shown(usage), UnorderedElementsAre(Pair("shed_delayed_requests", 3),
                                                 Pair("shed_tracked_callers", 12),
                                                 Pair("shed_callers_blocked_total", 2)));
}

TEST(PrometheusPolicy, ShowsWhatAdaptiveLimitsMeasure) {
  GradientLimiter::Snapshot gradient;
  gradient.limit = 12;
  gradient.in_flight = 5;
  gradient.baseline = 3ms;
  gradient.sample = 4500us;
  gradient.gradient = 0.75;
  gradient.wanted = 11;
  gradient.measured = 6;
  EXPECT_THAT(Shown(gradient),
              UnorderedElementsAre(
                  Pair("shed_concurrency_limit", 12), Pair("shed_concurrency_in_use", 5),
                  Pair("shed_baseline_latency_seconds", 0.003),
                  Pair("shed_sample_latency_seconds", 0.0045), Pair("shed_gradient_ratio", 0.75),
                  Pair("shed_wanted_limit", 11), Pair("shed_baseline_measurements_total", 6)));
  KneeLimiter::Snapshot knee;
  knee.limit = 40;
  knee.knee = 8.5;
  knee.wanted = 20.5;
  knee.throughput = 2600;
  knee.reference_latency = 2ms;
  knee.dips = 3;
  EXPECT_THAT(
      Shown(knee),
      UnorderedElementsAre(Pair("shed_concurrency_limit", 40), Pair("shed_concurrency_in_use", 0),
                           Pair("shed_knee_requests", 8.5), Pair("shed_wanted_limit", 20.5),
                           Pair("shed_full_load_requests_per_second", 2600),
                           Pair("shed_reference_latency_seconds", 0.002),
                           Pair("shed_knee_measurements_total", 3)));
  VegasLimiter::Snapshot vegas;
  vegas.queued = 2.5;
  EXPECT_THAT(Shown(vegas), IsSupersetOf({Pair("shed_queued_requests", 2.5)}));
  Gradient2Limiter::Snapshot gradient2;
  gradient2.long_average = 20ms;
  EXPECT_THAT(Shown(gradient2), IsSupersetOf({Pair("shed_average_latency_seconds", 0.02)}));
}

TEST(PrometheusPolicy, ShowsABreakersStateAsOneOfAll) {
  CircuitBreaker::Snapshot breaker;
  breaker.state = BreakerState::kHalfOpen;
  breaker.counts = {.calls = 20, .failed = 9, .slow = 4};
  breaker.opens_total = 3;
  breaker.retry_after = 1500ms;
  breaker.probes_in_flight = 2;
  breaker.admitted_share = 0.25;
  EXPECT_THAT(
      Shown(breaker),
      UnorderedElementsAre(Pair("shed_circuit_breaker_state{closed}", 0),
                           Pair("shed_circuit_breaker_state{open}", 0),
                           Pair("shed_circuit_breaker_state{half_open}", 1),
                           Pair("shed_circuit_breaker_state{forced_open}", 0),
                           Pair("shed_circuit_breaker_state{forced_closed}", 0),
                           Pair("shed_circuit_breaker_opens_total", 3),
                           Pair("shed_circuit_breaker_retry_after_seconds", 1.5),
                           Pair("shed_circuit_breaker_probes_in_flight", 2),
                           Pair("shed_circuit_breaker_admitted_ratio", 0.25),
                           Pair("shed_window_requests", 20), Pair("shed_window_failed_requests", 9),
                           Pair("shed_window_slow_requests", 4)));
  breaker.state = BreakerState::kForcedClosed;
  EXPECT_THAT(Shown(breaker), IsSupersetOf({Pair("shed_circuit_breaker_state{forced_closed}", 1.0),
                                            Pair("shed_circuit_breaker_state{half_open}", 0.0)}));
}

TEST(PrometheusPolicy, ShowsRatesRetriesQueuesAndPressure) {
  EXPECT_THAT(Shown(RateLimiter::Snapshot{.available = 7, .burst = 50, .full_in = 1s}),
              UnorderedElementsAre(Pair("shed_rate_available_units", 7),
                                   Pair("shed_rate_burst_units", 50)));
  EXPECT_THAT(
      Shown(RetryBudget::Snapshot{.in_flight = 30, .retries = 4, .allowed = 6}),
      UnorderedElementsAre(Pair("shed_retries_in_flight", 4), Pair("shed_retries_allowed", 6)));
  EXPECT_THAT(
      Shown(RetryThrottle::Snapshot{.tokens = 4.5, .max_tokens = 10}),
      UnorderedElementsAre(Pair("shed_retry_tokens", 4.5), Pair("shed_retry_tokens_max", 10)));
  EXPECT_THAT(Shown(QueueDelayLimiter::Snapshot{.overloaded = true, .least_wait = 12ms}),
              UnorderedElementsAre(Pair("shed_queue_standing", 1),
                                   Pair("shed_queue_least_wait_seconds", 0.012)));
  // Unknown is no zero.
  EXPECT_THAT(Shown(QueueDelayLimiter::Snapshot{}),
              UnorderedElementsAre(Pair("shed_queue_standing", 0)));
  EXPECT_THAT(
      Shown(PressureLimiter::Snapshot{.reading = 0.9, .valid = true, .refused = {1, 0.5, 0.25, 0}}),
      UnorderedElementsAre(Pair("shed_pressure", 0.9), Pair("shed_pressure_valid", 1),
                           Pair("shed_rejection_ratio{sheddable}", 1),
                           Pair("shed_rejection_ratio{sheddable_plus}", 0.5),
                           Pair("shed_rejection_ratio{critical}", 0.25),
                           Pair("shed_rejection_ratio{critical_plus}", 0)));
  AdmissionController::Snapshot admission;
  admission.calls = 100;
  admission.successes = 40;
  admission.class_probability = {0.8, 0.6, 0, 0};
  EXPECT_THAT(Shown(admission),
              UnorderedElementsAre(Pair("shed_window_requests", 100),
                                   Pair("shed_window_successful_requests", 40),
                                   Pair("shed_rejection_ratio{sheddable}", 0.8),
                                   Pair("shed_rejection_ratio{sheddable_plus}", 0.6),
                                   Pair("shed_rejection_ratio{critical}", 0),
                                   Pair("shed_rejection_ratio{critical_plus}", 0)));
}

TEST(PrometheusPolicy, ShowsWhatAWrapperHoldsUnderItsName) {
  Switch<ConcurrencyLimiter>::Snapshot off{.on = false, .policy = {.limit = 5, .in_flight = 1}};
  EXPECT_THAT(Shown(off),
              UnorderedElementsAre(Pair("shed_enabled", 0), Pair("shed_concurrency_limit", 5),
                                   Pair("shed_concurrency_in_use", 1)));
  Shadow<RateLimiter>::Snapshot shadow;
  shadow.admitted = 10;
  shadow.refused[static_cast<std::size_t>(Reason::kRate)] = 4;
  shadow.policy.burst = 9;
  EXPECT_THAT(Shown(shadow), UnorderedElementsAre(Pair("shed_shadow_requests_total{}", 10),
                                                  Pair("shed_shadow_requests_total{rate}", 4),
                                                  Pair("shed_rate_available_units", 0),
                                                  Pair("shed_rate_burst_units", 9)));
  Keyed<RateLimiter, ByCaller>::Snapshot keyed{
      .keys = 3, .made = 10, .forgotten = 7, .overflow_calls = 2, .denied = 1, .overflow = {}};
  EXPECT_THAT(Shown(keyed),
              UnorderedElementsAre(Pair("shed_keys", 3), Pair("shed_keys_made_total", 10),
                                   Pair("shed_keys_forgotten_total", 7),
                                   Pair("shed_key_overflow_requests_total", 2),
                                   Pair("shed_key_denied_requests_total", 1)));
}

// A member that is renamed would be shown no more, and nobody would notice.
template <class P>
class EveryPolicy : public ::testing::Test {};
using Policies =
    ::testing::Types<AdmissionController, AimdLimiter, CircuitBreaker, ConcurrencyLimiter,
                     DemeritTracker, Gradient2Limiter, GradientLimiter, Keyed<RateLimiter, ByRoute>,
                     KneeLimiter, PressureLimiter, QueueDelayLimiter, RateLimiter, RetryBudget,
                     RetryThrottle, Shadow<RateLimiter>, Switch<RateLimiter>, UsageThrottle,
                     VegasLimiter>;
TYPED_TEST_SUITE(EveryPolicy, Policies);
TYPED_TEST(EveryPolicy, ShowsSomething) { EXPECT_FALSE(Shown(Fresh<TypeParam>()).empty()); }

// Policies of a user.
struct Unknown {
  static constexpr std::string_view kName = "unknown";
  struct Snapshot {
    std::string text = "x";
    // Names that are known, of kinds that are not: a string, a struct, a class of its own.
    std::string limit = "3";
    int in_flight = 3;
    struct {
      int calls = 1;
    } counts;
    int state = 1;
    int baseline = 3;
  };
  Verdict Admit(const Request&, TimePoint) noexcept { return Verdict::Admit(); }
  Snapshot Read(TimePoint) const noexcept { return {}; }
};
struct Mine {
  static constexpr std::string_view kName = "mine";
  struct Snapshot {
    double limit = 2.5;
    std::int16_t in_flight = 2;
  };
  Verdict Admit(const Request&, TimePoint) noexcept { return Verdict::Admit(); }
  Snapshot Read(TimePoint) const noexcept { return {}; }
};
struct Special {
  static constexpr std::string_view kName = "special";
  struct Snapshot {
    std::uint32_t limit = 4;
    std::uint32_t in_flight = 1;
    Duration oldest{250'000'000};
    std::uint64_t gold = 7;
    bool ready = true;
  };
  Verdict Admit(const Request&, TimePoint) noexcept { return Verdict::Admit(); }
  Snapshot Read(TimePoint) const noexcept { return {}; }
};
void ExportMetrics(const Special::Snapshot& snapshot, PolicyMetrics& metrics) {
  metrics.Gauge<"my_oldest_seconds">("The oldest.", snapshot.oldest);
  metrics.Gauge<"my_ready">("Whether it is ready.", snapshot.ready);
  metrics.Counter<"my_calls_total", "tier">("Calls.", snapshot.gold, "gold");
  metrics.Counter<"my_calls_total", "tier">("Calls.", 1, "lead");
}
struct Silent {
  static constexpr std::string_view kName = "silent";
  Verdict Admit(const Request&, TimePoint) noexcept { return Verdict::Admit(); }
};

TEST(PrometheusPolicy, ShowsAUsersSnapshotByWhatItHas) {
  EXPECT_THAT(Shown(Unknown::Snapshot{}), UnorderedElementsAre());
  EXPECT_THAT(Shown(Mine::Snapshot{}), UnorderedElementsAre(Pair("shed_concurrency_limit", 2.5),
                                                            Pair("shed_concurrency_in_use", 2)));
  // Its own function, and nothing else.
  EXPECT_THAT(
      Shown(Special::Snapshot{}),
      UnorderedElementsAre(Pair("my_oldest_seconds", 0.25), Pair("my_ready", 1),
                           Pair("my_calls_total{gold}", 7), Pair("my_calls_total{lead}", 1)));
  // Within a wrapper, too.
  EXPECT_THAT(Shown(Switch<Special>::Snapshot{}),
              IsSupersetOf({Pair("shed_enabled", 1.0), Pair("my_ready", 1.0)}));
  EXPECT_THAT(Shown(SnapshotOf<Silent>{}), UnorderedElementsAre());
}

// They are read out of a limiter, and told apart by their names.
TEST(PrometheusPolicy, ShowsAUsersPoliciesInALimiter) {
  const Limiter<Unknown, Mine, Special, Silent> limiter(Unknown{}, Mine{}, Special{}, Silent{});
  PrometheusCollector collector;
  collector.Add(limiter);
  std::map<std::string, std::string> policy_of;
  for (const prometheus::MetricFamily& family : collector.Collect()) {
    const auto& labels = family.metric.front().label;
    if (family.name != "shed_requests_total" && labels.size() > 1 && labels[1].name == "policy") {
      policy_of[family.name] = labels[1].value;
    }
  }
  EXPECT_THAT(policy_of,
              UnorderedElementsAre(Pair("shed_concurrency_limit", "mine"),
                                   Pair("shed_concurrency_in_use", "mine"),
                                   Pair("my_oldest_seconds", "special"),
                                   Pair("my_ready", "special"), Pair("my_calls_total", "special")));
}

TEST(PrometheusPolicy, AFamilyTakesMetricsOfSeveralPolicies) {
  internal::MetricFamilies families;
  PolicyMetrics(families, "api", "a").Export(ConcurrencyLimiter::Snapshot{.limit = 1});
  PolicyMetrics(families, "api", "b").Export(ConcurrencyLimiter::Snapshot{.limit = 2});
  const auto taken = std::move(families).Take();
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0].metric.size(), 2u);
  EXPECT_EQ(taken[0].metric[1].gauge.value, 2);
  EXPECT_EQ(taken[0].metric[1].label[1].value, "b");
}

static_assert(internal::IsMetricName("shed_requests_total") && internal::IsMetricName("_a1"));
static_assert(!internal::IsMetricName("") && !internal::IsMetricName("1a"));
static_assert(!internal::IsMetricName("a-b") && !internal::IsMetricName("a b"));
// promtool warns of capitals, and of colons, which are for recording rules.
static_assert(!internal::IsMetricName("aB") && !internal::IsMetricName("a:b"));
static_assert(internal::IsLabelName("tier") && !internal::IsLabelName("__tier"));
static_assert(!internal::IsLabelName("policy") && !internal::IsLabelName("limiter"));

}  // namespace
}  // namespace shed
