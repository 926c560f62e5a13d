// One run: clients, limiter and server on one virtual timeline.
#ifndef SHED_SIM_SIMULATION_H_
#define SHED_SIM_SIMULATION_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "shed/clock.h"
#include "shed/sim/client.h"
#include "shed/sim/gate.h"
#include "shed/sim/random.h"
#include "shed/sim/recorder.h"
#include "shed/sim/scenario.h"
#include "shed/sim/server.h"
#include "shed/sim/workload.h"
#include "shed/time.h"

namespace shed::sim {

// Runs a scenario from its start to its end. The same scenario, gates and seed give the same
// figures, always. Which calls arrive when, and what work they are, depends on the seed alone and
// not on the limiter, so that stacks are compared on the same traffic; retries come on top of it.
class Simulation {
 public:
  // `scenario` must outlive the simulation.
  Simulation(const Scenario& scenario, const GateFactory& make_gate, std::uint64_t seed)
      : scenario_(scenario),
        names_(CallerNames(scenario)),
        source_of_(CallerSources(scenario)),
        phases_(scenario.sources.size()),
        workload_(scenario.sources, seed),
        clients_(scenario.timeout),
        server_(scenario.workers, scenario.slice, Random(seed, kServerStream)),
        kinds_(seed, kKindStream),
        backoffs_(seed, kBackoffStream),
        recorder_(scenario, workload_.callers()) {
    const std::uint32_t gates = scenario.place == Place::kCaller ? workload_.callers() : 1;
    for (std::uint32_t i = 0; i < gates; ++i) gates_.push_back(make_gate(clock_, i));
  }
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  const Recorder& Run() {
    const TimePoint end{scenario_.length};
    for (;;) {
      const TimePoint arrival = workload_.next().at;
      const TimePoint timeout = clients_.next();
      const TimePoint retry = retries_.empty() ? TimePoint::max() : retries_.top().at;
      const TimePoint ready = waiting_.empty() ? TimePoint::max() : waiting_.top().at;
      const TimePoint poll = NextPoll();
      const TimePoint next = std::min({arrival, timeout, retry, ready, poll});
      // Who is answered at the very end of his patience is answered.
      server_.RunUntil(std::min(next, end),
                       [this](std::uint32_t slot, TimePoint at) { OnDone(slot, at); });
      if (next >= end) break;
      if (poll == next) {
        if (NextPoll() <= next) Poll(next);  // Unless whoever waited has been answered.
      } else if (timeout == next) {
        if (clients_.next() == timeout) OnTimeout(timeout);
      } else if (ready == next) {
        const Waiting call = waiting_.top();
        waiting_.pop();
        server_.Submit(call.slot, call.slices, call.at);
      } else if (retry == next) {
        const Retry again = retries_.top();
        retries_.pop();
        OnArrival(retry, again.caller, again.tries_before);
      } else {
        const std::uint32_t caller = workload_.next().caller;
        workload_.Pop();
        OnArrival(arrival, caller, 0);
      }
    }
    return recorder_;
  }

  const Server& server() const { return server_; }

 private:
  static constexpr std::uint64_t kServerStream = 1;
  static constexpr std::uint64_t kKindStream = 2;
  static constexpr std::uint64_t kBackoffStream = 3;

  Gate& GateOf(std::uint32_t caller) {
    return *gates_[scenario_.place == Place::kCaller ? caller : 0];
  }

  // Draws what work a call of `caller` is that arrives `now`.
  std::uint8_t DrawKind(TimePoint now, std::uint32_t caller) {
    const std::vector<Phase>& phases = PhasesOf(caller);
    std::size_t& phase = phases_[source_of_[caller]];
    while (phase + 1 < phases.size() && TimePoint(phases[phase + 1].from) <= now) ++phase;
    const std::vector<Work>& kinds = phases[phase].kinds;
    double u = kinds_.Unit();
    std::size_t kind = 0;
    while (kind + 1 < kinds.size() && u >= kinds[kind].share) u -= kinds[kind++].share;
    return static_cast<std::uint8_t>(kind);
  }
  const Source& SourceOf(std::uint32_t caller) const {
    return scenario_.sources[source_of_[caller]];
  }
  const std::vector<Phase>& PhasesOf(std::uint32_t caller) const {
    const Source& source = SourceOf(caller);
    return source.phases.empty() ? scenario_.phases : source.phases;
  }

  // A call that waits for something else before its work. Those that never return are not here.
  struct Waiting {
    TimePoint at;
    std::uint64_t serial;  // Of those at one time, the first comes first.
    std::uint32_t slot;
    std::uint32_t slices;

    friend bool operator>(const Waiting& a, const Waiting& b) {
      return a.at != b.at ? a.at > b.at : a.serial > b.serial;
    }
  };

  // A client that will try again.
  struct Retry {
    TimePoint at;
    std::uint64_t serial;  // Of those at one time, the first comes first.
    std::uint32_t caller;
    std::uint32_t tries_before;

    friend bool operator>(const Retry& a, const Retry& b) {
      return a.at != b.at ? a.at > b.at : a.serial > b.serial;
    }
  };
  void MayRetry(std::uint32_t caller, std::uint32_t tries_before, TimePoint now) {
    if (tries_before >= scenario_.retries) return;
    const double wait = static_cast<double>(scenario_.backoff.count()) * (0.5 + backoffs_.Unit());
    retries_.push({now + Duration(static_cast<std::int64_t>(wait)), retry_serial_++, caller,
                   tries_before + 1});
  }

  void OnArrival(TimePoint now, std::uint32_t caller, std::uint32_t tries_before) {
    clock_.Set(now);
    SampleLimit(now);
    recorder_.Add(Count::kOffered, now, caller);
    const std::uint32_t slot = clients_.Open(now, caller);
    const std::uint8_t kind = DrawKind(now, caller);
    clients_[slot].kind = kind;
    clients_[slot].tries_before = tries_before;
    const Source& source = SourceOf(caller);
    Gate& gate = GateOf(caller);
    const Said said = gate.Ask({.caller = names_[caller],
                                .route = source.route,
                                .cost = source.cost,
                                .criticality = source.criticality,
                                .retry = tries_before > 0,
                                .time_left = source.max_wait + scenario_.timeout,
                                .max_wait = source.max_wait},
                               slot);
    if (said == Said::kRefused) {
      OnRefused(slot, now);
    } else {
      const Duration wait = said == Said::kAdmitted ? gate.wait(slot) : Duration(0);
      clients_.Wait(slot, wait);
      clients_[slot].waits = said == Said::kWaits;
      if (said == Said::kAdmitted) OnAdmitted(slot, now, wait);
    }
    OnAnswers(gate, now);
  }

  // To start `wait` from now.
  void OnAdmitted(std::uint32_t slot, TimePoint now, Duration wait) {
    const std::uint32_t caller = clients_[slot].caller;
    if (wait > Duration(0)) recorder_.AddDelay(now, caller, wait);
    recorder_.Add(Count::kReached, After(now, wait), caller);
    Submit(slot, clients_[slot].kind, now, wait);
  }
  void OnRefused(std::uint32_t slot, TimePoint now) {
    const Call call = clients_[slot];
    clients_.Close(slot);
    if (call.given_up) return;  // It has been counted, and may have tried again.
    recorder_.Add(Count::kRefused, now, call.caller);
    MayRetry(call.caller, call.tries_before, now);
  }
  // Of calls that have waited.
  void OnAnswers(Gate& gate, TimePoint now) {
    for (const Answer& answer : gate.TakeAnswers()) {
      clients_[answer.slot].waits = false;
      answer.admitted ? OnAdmitted(answer.slot, now, Duration(0)) : OnRefused(answer.slot, now);
    }
  }
  TimePoint NextPoll() const {
    TimePoint next = TimePoint::max();
    for (const auto& gate : gates_) next = std::min(next, gate->next());
    return next;
  }
  void Poll(TimePoint now) {
    clock_.Set(std::max(now, clock_.Now()));
    for (const auto& gate : gates_) {
      if (gate->next() > now) continue;
      gate->Poll();
      OnAnswers(*gate, now);
    }
  }

  // Hands in a call that is to start `wait` from now.
  void Submit(std::uint32_t slot, std::uint8_t kind, TimePoint now, Duration wait) {
    Call& call = clients_[slot];
    const Work& work = PhasesOf(call.caller)[phases_[source_of_[call.caller]]].kinds[kind];
    call.kind = kind;
    call.fails = work.fails;
    call.work = work.time;
    call.refused_by_server =
        scenario_.server_limit != 0 && accepted_by_server_ >= scenario_.server_limit;
    if (!call.refused_by_server) ++accepted_by_server_;
    const Duration time = call.refused_by_server ? scenario_.refusal_work : work.time;
    const auto slices =
        static_cast<std::uint32_t>(std::max<std::int64_t>(1, time / scenario_.slice));
    const Duration waits = call.refused_by_server ? Duration(0) : work.waits;
    if (waits == kForEver) return;
    if (wait + waits == Duration(0)) {
      server_.Submit(slot, slices, now);
    } else {
      waiting_.push({After(now, wait + waits), waiting_serial_++, slot, slices});
    }
  }

  void OnDone(std::uint32_t slot, TimePoint now) {
    const Call& call = clients_[slot];
    if (!call.refused_by_server) --accepted_by_server_;
    Outcome outcome = Outcome::kSuccess;
    if (call.given_up || call.refused_by_server) {
      outcome = Outcome::kOverload;
      if (!call.given_up) recorder_.Add(Count::kRefusedByServer, now, call.caller);
    } else if (call.fails) {
      outcome = Outcome::kFailure;
      recorder_.Add(Count::kFailed, now, call.caller);
    } else {
      recorder_.AddAnswer(now, Elapsed(call.arrived, now), call.caller, call.kind);
    }
    // A limiter in the caller has heard of the time-out already.
    if (!(call.given_up && scenario_.place == Place::kCaller)) {
      clock_.Set(now);
      if (scenario_.unit > Duration(0)) {
        const auto units = (call.work + scenario_.unit - Duration(1)) / scenario_.unit;
        GateOf(call.caller).Charge(slot, static_cast<std::uint64_t>(units));
      }
      GateOf(call.caller).Complete(slot, outcome);
      OnAnswers(GateOf(call.caller), now);
    }
    if (!call.given_up && outcome != Outcome::kSuccess) {
      MayRetry(call.caller, call.tries_before, now);
    }
    clients_.Close(slot);
  }

  void OnTimeout(TimePoint now) {
    const std::uint32_t slot = clients_.GiveUp();
    const std::uint32_t caller = clients_[slot].caller;
    recorder_.Add(Count::kTimedOut, now, caller);
    MayRetry(caller, clients_[slot].tries_before, now);
    if (scenario_.place == Place::kCaller && !clients_[slot].waits) {
      clock_.Set(now);
      GateOf(caller).Complete(slot, Outcome::kOverload);
      OnAnswers(GateOf(caller), now);
    }
  }

  void SampleLimit(TimePoint now) {
    if (now < next_limit_) return;
    next_limit_ = now + scenario_.look;
    recorder_.AddLimit(now, gates_.front()->limit(), gates_.front()->measuring());
  }

  const Scenario& scenario_;
  std::vector<std::string> names_;        // By caller,
  std::vector<std::uint32_t> source_of_;  // as are these.
  std::vector<std::size_t> phases_;       // By source: the phase that it is in.
  ManualClock clock_;
  std::vector<std::unique_ptr<Gate>> gates_;
  Workload workload_;
  Clients clients_;
  Server server_;
  Random kinds_;
  Random backoffs_;
  std::priority_queue<Retry, std::vector<Retry>, std::greater<>> retries_;
  std::uint64_t retry_serial_ = 0;
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;
  std::uint64_t waiting_serial_ = 0;
  Recorder recorder_;
  std::uint32_t accepted_by_server_ = 0;
  TimePoint next_limit_{};
};

}  // namespace shed::sim

#endif  // SHED_SIM_SIMULATION_H_
