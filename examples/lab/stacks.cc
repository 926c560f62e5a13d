#include "stacks.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "shed/clock.h"
#include "shed/concurrency_limiter.h"
#include "shed/limiter.h"
#include "shed/rate_limiter.h"
#include "shed/sim/sync.h"

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

// Reads the limit of policy P out of a limiter.
template <class P>
struct LimitOf {
  template <class L>
  double operator()(const L& limiter) const {
    return static_cast<double>(limiter.template Get<P>().Read(limiter.Now()).limit);
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
GateFactory ConcurrencyBad(const Scenario&, std::uint64_t) { return ConcurrencyOf(500); }

std::vector<Stack> MakeAll() {
  return {
      {"none", "no limiter", None},
      {"rate", "RateLimiter, 2500/s, burst 250", RateStack},
      {"concurrency", "ConcurrencyLimiter, 16 (noisy-neighbour: 40)", ConcurrencyStack},
      {"concurrency-bad", "ConcurrencyLimiter, 500: badly set", ConcurrencyBad},
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
