#include "stacks.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <type_traits>
#include <utility>

#include "shed/admission_controller.h"
#include "shed/aimd.h"
#include "shed/circuit_breaker.h"
#include "shed/clock.h"
#include "shed/concurrency_limiter.h"
#include "shed/demerit_tracker.h"
#include "shed/gradient2.h"
#include "shed/gradient_limiter.h"
#include "shed/keyed.h"
#include "shed/knee_limiter.h"
#include "shed/limiter.h"
#include "shed/rate_limiter.h"
#include "shed/retry_budget.h"
#include "shed/retry_throttle.h"
#include "shed/shadow.h"
#include "shed/sim/queue_gate.h"
#include "shed/sim/sync.h"
#include "shed/usage_throttle.h"
#include "shed/vegas.h"

namespace lab {
namespace {

using namespace std::chrono_literals;
using shed::ManualClock;
using shed::sim::Gate;
using shed::sim::GateFactory;
using shed::sim::Scenario;
using shed::sim::SimSync;

template <class... Policies>
using SimLimiter = shed::BasicLimiter<ManualClock, SimSync, Policies...>;

using Rate = shed::BasicRateLimiter<SimSync>;
using Concurrency = shed::BasicConcurrencyLimiter<SimSync>;
using Gradient = shed::BasicGradientLimiter<SimSync>;
using Knee = shed::BasicKneeLimiter<SimSync>;
using Breaker = shed::BasicCircuitBreaker<SimSync>;
using Demerit = shed::BasicDemeritTracker<SimSync>;

// Reads the limit of policy P out of a limiter.
template <class P>
struct LimitOf {
  template <class L>
  double operator()(const L& limiter) const {
    return static_cast<double>(Seen(limiter).limit);
  }
  template <class L>
  bool Measuring(const L& limiter) const {
    const auto seen = Seen(limiter);
    if constexpr (std::is_base_of_v<shed::GradientSnapshot, decltype(seen)>) {
      return seen.mode == shed::GradientMode::kProbe;
    } else if constexpr (std::is_base_of_v<shed::Knee::Snapshot, decltype(seen)>) {
      return seen.mode == shed::KneeMode::kDrain || seen.mode == shed::KneeMode::kMeasure;
    } else {
      return false;
    }
  }

 private:
  template <class L>
  static auto Seen(const L& limiter) {
    return limiter.template Get<P>().Read(limiter.Now());
  }
};
// Of P behind Shadow<P>.
template <class P>
struct LimitOfShadow {
  template <class L>
  double operator()(const L& limiter) const {
    using Shadow = shed::Shadow<P, SimSync>;
    return static_cast<double>(limiter.template Get<Shadow>().Read(limiter.Now()).policy.limit);
  }
};
struct NoLimit {
  template <class L>
  double operator()(const L&) const {
    return 0;
  }
};

template <class L, class Limit, class... Args>
std::unique_ptr<Gate> MakeGate(Limit limit, const ManualClock& clock, const Args&... args) {
  return std::make_unique<shed::sim::LimiterGate<L, Limit>>(limit, clock, args...);
}

GateFactory None(const Scenario&, std::uint64_t) {
  return [](const ManualClock&, std::uint32_t) { return std::make_unique<shed::sim::OpenGate>(); };
}

GateFactory RateStack(const Scenario&, std::uint64_t) {
  return [](const ManualClock& clock, std::uint32_t) {
    return MakeGate<SimLimiter<Rate>>(NoLimit{}, clock,
                                      shed::RateLimiterOptions{.rate = 2500, .burst = 250});
  };
}

GateFactory ConcurrencyOf(std::uint32_t limit) {
  return [limit](const ManualClock& clock, std::uint32_t) {
    return MakeGate<SimLimiter<Concurrency>>(LimitOf<Concurrency>{}, clock,
                                             shed::ConcurrencyLimiterOptions{.limit = limit});
  };
}
GateFactory ConcurrencyStack(const Scenario& scenario, std::uint64_t) {
  return ConcurrencyOf(scenario.budget == 0 ? 16 : scenario.budget);
}
// Optional work may use half of it.
GateFactory ConcurrencyClasses(const Scenario&, std::uint64_t) {
  return [](const ManualClock& clock, std::uint32_t) {
    return MakeGate<SimLimiter<Concurrency>>(
        LimitOf<Concurrency>{}, clock,
        shed::ConcurrencyLimiterOptions{.limit = 16, .usable = {0.5, 0.5, 1, 1}});
  };
}
GateFactory ConcurrencyBad(const Scenario&, std::uint64_t) { return ConcurrencyOf(500); }

GateFactory KneeStack(const Scenario&, std::uint64_t seed) {
  return [seed](const ManualClock& clock, std::uint32_t caller) {
    return MakeGate<SimLimiter<Knee>>(LimitOf<Knee>{}, clock,
                                      shed::KneeLimiterOptions{.seed = seed + caller});
  };
}

// A waiting room in front of the same 16; or of a KneeLimiter.
GateFactory QueueOf(shed::AdmissionQueueOptions options) {
  return [options](const ManualClock& clock, std::uint32_t) {
    return std::make_unique<shed::sim::QueueGate<SimLimiter<Concurrency>, LimitOf<Concurrency>>>(
        options, LimitOf<Concurrency>{}, clock, shed::ConcurrencyLimiterOptions{.limit = 16});
  };
}
GateFactory QueueStack(const Scenario&, std::uint64_t) { return QueueOf({}); }
// Never under pressure: the oldest first, whatever happens.
GateFactory QueueFifo(const Scenario&, std::uint64_t) { return QueueOf({.interval = 24h}); }
GateFactory QueueKnee(const Scenario&, std::uint64_t seed) {
  return [seed](const ManualClock& clock, std::uint32_t caller) {
    return std::make_unique<shed::sim::QueueGate<SimLimiter<Knee>, LimitOf<Knee>>>(
        shed::AdmissionQueueOptions{}, LimitOf<Knee>{}, clock,
        shed::KneeLimiterOptions{.seed = seed + caller});
  };
}

// Optional work may use half of the limit, and only what matters most all of it.
GateFactory KneeClasses(const Scenario&, std::uint64_t seed) {
  return [seed](const ManualClock& clock, std::uint32_t caller) {
    return MakeGate<SimLimiter<Knee>>(
        LimitOf<Knee>{}, clock,
        shed::KneeLimiterOptions{.usable = {0.5, 0.7, 0.9, 1}, .seed = seed + caller});
  };
}

GateFactory GradientOf(shed::GradientLimiterOptions options) {
  return [options](const ManualClock& clock, std::uint32_t caller) {
    shed::GradientLimiterOptions own = options;
    own.seed += caller;
    return MakeGate<SimLimiter<Gradient>>(LimitOf<Gradient>{}, clock, own);
  };
}
GateFactory GradientStack(const Scenario&, std::uint64_t seed) {
  return GradientOf({.seed = seed});
}
// Without jitter: all servers of a fleet measure together.
GateFactory GradientInStep(const Scenario&, std::uint64_t seed) {
  return GradientOf({.probe_jitter = 0, .seed = seed});
}
GateFactory GradientByRoute(const Scenario&, std::uint64_t seed) {
  return [seed](const ManualClock& clock, std::uint32_t) {
    using ByRoute = shed::Keyed<Gradient, shed::ByRoute, SimSync>;
    return MakeGate<SimLimiter<ByRoute>>(
        NoLimit{}, clock,
        shed::KeyedOptions<Gradient>{.policy = shed::GradientLimiterOptions{.seed = seed}});
  };
}
// On trial beside a limit that is set too high.
template <class P>
GateFactory ShadowOf(const Scenario& scenario, std::uint64_t seed) {
  typename P::Options options;
  if constexpr (requires { options.seed; }) options.seed = seed;
  const std::uint32_t limit = scenario.budget == 0 ? 16 : scenario.budget;
  return [=](const ManualClock& clock, std::uint32_t) {
    return MakeGate<SimLimiter<shed::Shadow<P, SimSync>, Concurrency>>(
        LimitOfShadow<P>{}, clock, options, shed::ConcurrencyLimiterOptions{.limit = limit});
  };
}

// As Envoy does it: nothing keeps the limit down in calm, and time-outs do not shrink it.
GateFactory GradientEnvoy(const Scenario&, std::uint64_t seed) {
  return GradientOf({.percentile = 0.5,
                     .buffer = 0.25,
                     .interval = 100ms,
                     .min_limit = 3,
                     .max_limit = 1000,
                     .app_limited_guard = false,
                     .baseline = shed::GradientBaseline::kProbe,
                     .probe_limit = 3,
                     .overload_shrink = 0,
                     .seed = seed});
}
// An algorithm with all defaults.
template <class P>
GateFactory LimitStack(const Scenario&, std::uint64_t) {
  return [](const ManualClock& clock, std::uint32_t) {
    return MakeGate<SimLimiter<P>>(LimitOf<P>{}, clock, typename P::Options{});
  };
}
using Admission = shed::BasicAdmissionController<SimSync>;
GateFactory AdmissionStack(const Scenario&, std::uint64_t seed) {
  return [seed](const ManualClock& clock, std::uint32_t caller) {
    return MakeGate<SimLimiter<Admission>>(NoLimit{}, clock,
                                           shed::AdmissionControllerOptions{.seed = seed + caller});
  };
}

using Budget = shed::BasicRetryBudget<SimSync>;
GateFactory RetryBudgetStack(const Scenario&, std::uint64_t) {
  return [](const ManualClock& clock, std::uint32_t) {
    return MakeGate<SimLimiter<Budget>>(NoLimit{}, clock, shed::RetryBudgetOptions{});
  };
}
using Throttle = shed::BasicRetryThrottle<SimSync>;
GateFactory RetryThrottleStack(const Scenario&, std::uint64_t) {
  return [](const ManualClock& clock, std::uint32_t) {
    return MakeGate<SimLimiter<Throttle>>(NoLimit{}, clock, shed::RetryThrottleOptions{});
  };
}

GateFactory BreakerStack(const Scenario&, std::uint64_t seed) {
  return [seed](const ManualClock& clock, std::uint32_t caller) {
    return MakeGate<SimLimiter<Breaker>>(NoLimit{}, clock,
                                         shed::CircuitBreakerOptions{.seed = seed + caller});
  };
}

// Sees calls that hang before all permits are gone.
GateFactory BreakerSlow(const Scenario& scenario, std::uint64_t seed) {
  return [seed, limit = scenario.budget == 0 ? 16 : scenario.budget](const ManualClock& clock,
                                                                     std::uint32_t caller) {
    return MakeGate<SimLimiter<Breaker, Concurrency>>(
        NoLimit{}, clock,
        shed::CircuitBreakerOptions{.count_window = 50,
                                    .slow_call = 32ms,
                                    .slow_ratio = 0.3,
                                    .open_for = 2s,
                                    .ramp = 2s,
                                    .seed = seed + caller},
        shed::ConcurrencyLimiterOptions{.limit = limit});
  };
}

// A budget that is the service's capacity where that is known, else the default.
shed::DemeritTrackerOptions DemeritOptions(const Scenario& scenario, std::uint64_t seed) {
  shed::DemeritTrackerOptions options{.seed = seed};
  if (scenario.budget != 0) options.budget = scenario.budget;
  return options;
}
GateFactory DemeritStack(const Scenario& scenario, std::uint64_t seed) {
  return [options = DemeritOptions(scenario, seed)](const ManualClock& clock, std::uint32_t) {
    return MakeGate<SimLimiter<Demerit>>(NoLimit{}, clock, options);
  };
}

// A fifth of a worker for each caller, in milliseconds of work.
using Usage = shed::BasicUsageThrottle<SimSync>;
GateFactory UsageStack(const Scenario&, std::uint64_t seed) {
  return [seed](const ManualClock& clock, std::uint32_t) {
    return MakeGate<SimLimiter<Usage>>(
        NoLimit{}, clock,
        shed::UsageThrottleOptions{
            .soft = 12'000, .hard = 24'000, .window = 60s, .max_delayed = 1000, .seed = seed});
  };
}

// What refuses for the caller's sake first, what holds the service's permits last. Where the size
// of the service is unknown the tracker's budget is as much as the KneeLimiter may ever admit:
// then it holds nobody back by itself, and learns who asks too much from what is refused behind it.
GateFactory All(const Scenario& scenario, std::uint64_t seed) {
  const shed::KneeLimiterOptions knee{.seed = seed};
  shed::DemeritTrackerOptions demerit = DemeritOptions(scenario, seed);
  if (scenario.budget == 0) demerit.budget = knee.max_limit;
  return [=](const ManualClock& clock, std::uint32_t) {
    return MakeGate<SimLimiter<Demerit, Breaker, Knee>>(
        LimitOf<Knee>{}, clock, demerit, shed::CircuitBreakerOptions{.seed = seed}, knee);
  };
}

std::vector<Stack> MakeAll() {
  return {
      {"none", "no limiter", None},
      {"rate", "RateLimiter, 2500/s, burst 250", RateStack},
      {"concurrency", "ConcurrencyLimiter, 16 (noisy-neighbour: 40)", ConcurrencyStack},
      {"concurrency-bad", "ConcurrencyLimiter, 500: badly set", ConcurrencyBad},
      {"concurrency-classes", "ConcurrencyLimiter, 16, of which optional work may use half",
       ConcurrencyClasses},
      {"queue", "AdmissionQueue, all defaults, in front of ConcurrencyLimiter, 16", QueueStack},
      {"queue-fifo", "the same without pressure: first in, first out", QueueFifo},
      {"queue-knee", "AdmissionQueue, all defaults, in front of KneeLimiter", QueueKnee},
      {"knee", "KneeLimiter, all defaults", KneeStack},
      {"knee-classes", "KneeLimiter, shares of the limit by criticality: 0.5, 0.7, 0.9, 1",
       KneeClasses},
      {"gradient", "GradientLimiter, all defaults", GradientStack},
      {"gradient-envoy", "GradientLimiter, set as Envoy's: no app-limited guard", GradientEnvoy},
      {"gradient-in-step", "GradientLimiter, no jitter: a fleet measures together", GradientInStep},
      {"gradient-by-route", "Keyed<GradientLimiter, ByRoute>, all defaults", GradientByRoute},
      {"shadow-gradient", "Shadow<GradientLimiter> beside ConcurrencyLimiter, 16 (shadow: 64)",
       ShadowOf<Gradient>},
      {"shadow-knee", "Shadow<KneeLimiter> beside ConcurrencyLimiter, 16 (shadow: 64)",
       ShadowOf<Knee>},
      {"shadow-vegas", "Shadow<VegasLimiter> beside ConcurrencyLimiter, 16 (shadow: 64)",
       ShadowOf<shed::BasicVegasLimiter<SimSync>>},
      {"aimd", "AimdLimiter, all defaults", LimitStack<shed::BasicAimdLimiter<SimSync>>},
      {"vegas", "VegasLimiter, all defaults", LimitStack<shed::BasicVegasLimiter<SimSync>>},
      {"gradient2", "Gradient2Limiter, all defaults",
       LimitStack<shed::BasicGradient2Limiter<SimSync>>},
      {"admission", "AdmissionController, all defaults", AdmissionStack},
      {"retry-budget", "RetryBudget, all defaults", RetryBudgetStack},
      {"retry-throttle", "RetryThrottle, all defaults", RetryThrottleStack},
      {"breaker", "CircuitBreaker, all defaults", BreakerStack},
      {"breaker-slow",
       "CircuitBreaker that sees calls of 32 ms, ConcurrencyLimiter, 16 (hang: 200)", BreakerSlow},
      {"demerit", "DemeritTracker, defaults (noisy-neighbour: budget 40)", DemeritStack},
      {"usage", "UsageThrottle, 12 s of work a minute, refused above 24 s", UsageStack},
      {"all", "DemeritTracker, CircuitBreaker, KneeLimiter", All},
  };
}

}  // namespace

const std::vector<Stack>& Stacks() {
  static const std::vector<Stack> all = MakeAll();
  return all;
}

const Stack* FindStack(std::string_view name) {
  const auto& all = Stacks();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Stack& s) { return s.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace lab
