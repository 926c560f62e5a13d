// The breaker's states, whatever the order: at most `probes` probes, each transition once, told
// once and for cause, and no result of an earlier generation opens or closes a later one.
#include "shed/circuit_breaker.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "explore.h"
#include "scenario.h"
#include "scheduled_sync.h"
#include "shed/events.h"

namespace shed::schedule {
namespace {

using namespace std::chrono_literals;
using Breaker = BasicCircuitBreaker<ScheduledSync>;

enum class Does : std::uint8_t { kCall, kForceOpen, kForceClosed, kReset };

struct Step {
  Does does = Does::kCall;
  Duration at{0};
  Duration ends_at = at;
  Outcome outcome = Outcome::kSuccess;
  bool cancel = false;
};
using Steps = std::vector<std::vector<Step>>;  // Of each thread, one after the other.

// How often things happen in all threads; kAny: not always as often.
struct Want {
  static constexpr std::uint64_t kAny = ~std::uint64_t{0};
  std::uint64_t opened = kAny;
  std::uint64_t half_opened = kAny;
  std::uint64_t closed = kAny;
};

class Circuit : public Scenario {
 public:
  // `before`: what is done before the threads begin.
  Circuit(const CircuitBreakerOptions& options, const std::vector<Step>& before, Steps steps,
          Want want = {})
      : Scenario(static_cast<int>(steps.size())),
        options_(options),
        want_(want),
        breaker_(options),
        steps_(std::move(steps)) {
    for (const Step& step : before) Do(step, 0, kNobody);
    before_ = breaker_.Read(Looks());
    resets_of_closed_ = 0;
    failed_ = succeeded_ = {};
  }

  void Run(int thread) override {
    const auto me = static_cast<std::size_t>(thread);
    for (std::size_t i = 0; i < steps_[me].size(); ++i) Do(steps_[me][i], i, me);
  }

  std::string Check(int thread) override {
    const Breaker::Snapshot now = breaker_.Read(Looks());
    const Breaker::Snapshot was = std::exchange(before_, now);
    std::uint32_t probes = 0;
    for (const Breaker::Ticket& ticket : held_) {
      if (ticket.probe() != 0 && ticket.generation() == now.generation) ++probes;
    }
    if (probes > options_.probes) return "more probes than there may be";
    if (probes > now.probes_in_flight) return "a probe whose slot is free";
    if (now.generation == was.generation) {
      return now.state == was.state ? "" : "another state in the same generation";
    }
    if (now.generation != was.generation + 1) return "two transitions at once";
    return Transition(was, now, static_cast<std::size_t>(thread));
  }

  std::string End() override {
    Count told;
    for (const Count& of_thread : told_) {
      told.opened += of_thread.opened;
      told.half_opened += of_thread.half_opened;
      told.closed += of_thread.closed;
    }
    if (told.opened != made_.opened) return "openings and what was told of them differ";
    if (told.half_opened != made_.half_opened) {
      return "half-openings and what was told of them differ";
    }
    // The reset of a closed breaker is told to nobody.
    if (told.closed + resets_of_closed_ != made_.closed) {
      return "closings and what was told of them differ";
    }
    const auto differs = [](std::uint64_t want, std::uint64_t is) {
      return want != Want::kAny && want != is;
    };
    if (differs(want_.opened, made_.opened)) return "not opened as often as it should be";
    if (differs(want_.half_opened, made_.half_opened)) {
      return "not half-opened as often as it should be";
    }
    if (differs(want_.closed, made_.closed)) return "not closed as often as it should be";
    if (breaker_.Read(Looks()).probes_in_flight != 0) return "a probe's slot is lost";
    return "";
  }
  std::uint64_t Ghost() const override {
    std::uint64_t hash =
        made_.opened + (made_.half_opened << 8) + (made_.closed << 16) + (resets_of_closed_ << 24);
    for (std::size_t i = 0; i < kGenerations; ++i) {
      hash = MixBits(hash + failed_[i] * std::uint64_t{256} + succeeded_[i]);
    }
    return hash;
  }

 private:
  static constexpr std::size_t kNobody = kMaxThreads;
  static constexpr std::size_t kGenerations = 64;

  // No probe is overdue at that time; and, where calls are counted over time, none is in the
  // window, so that a look costs little.
  TimePoint Looks() const { return TimePoint(options_.count_window != 0 ? -1h : 100 * 24h); }

  struct Count {
    std::uint64_t opened = 0;
    std::uint64_t half_opened = 0;
    std::uint64_t closed = 0;
  };

  // What `thread` has just done to the state, and why.
  std::string Transition(const Breaker::Snapshot& was, const Breaker::Snapshot& now,
                         std::size_t thread) {
    const Breaker::Ticket& ends = ends_[thread];
    const bool its_own = ends.generation() == was.generation;
    const std::size_t generation = was.generation % kGenerations;
    switch (now.state) {
      case BreakerState::kOpen:
        ++made_.opened;
        if (now.opens_total != was.opens_total + 1) return "an opening that is not counted";
        if (was.state == BreakerState::kClosed) {
          if (!its_own) return "opened by a result of another generation";
          if (failed_[generation] < options_.consecutive_failures) {
            return "opened by fewer failures than it takes";
          }
          return "";
        }
        if (was.state != BreakerState::kHalfOpen) return "opened from a state that does not open";
        if (options_.probe_timeout < kNoTimeout) return "";
        return its_own && ends.probe() != 0 ? "" : "opened again by a result of another generation";
      case BreakerState::kHalfOpen:
        ++made_.half_opened;
        return was.state == BreakerState::kOpen ? "" : "half-opened what was not open";
      case BreakerState::kClosed:
        ++made_.closed;
        if (does_[thread] == Does::kReset) return "";
        if (was.state != BreakerState::kHalfOpen) return "closed what was not half-open";
        if (!its_own || ends.probe() == 0) return "closed by a result of another generation";
        return succeeded_[generation] >= options_.probes ? "" : "closed by too few successes";
      case BreakerState::kForcedOpen:
        ++made_.opened;
        return does_[thread] == Does::kForceOpen ? "" : "forced open by nobody";
      case BreakerState::kForcedClosed:
        ++made_.closed;
        return does_[thread] == Does::kForceClosed ? "" : "forced closed by nobody";
    }
    return "";
  }

  void Do(const Step& step, std::uint64_t index, std::size_t me) {
    const TimePoint at{step.at};
    const Count& told = told_[me];
    Scheduler::Remember({index, told.opened, told.half_opened, told.closed});
    does_[me] = step.does;
    Events events;
    if (step.does == Does::kForceOpen) breaker_.ForceOpen(at, events);
    if (step.does == Does::kForceClosed) breaker_.ForceClosed(at, events);
    if (step.does == Does::kReset) {
      breaker_.Reset(at, events);
      if (events.empty()) ++resets_of_closed_;
    }
    if (step.does != Does::kCall) return Note(events, me);

    Breaker::Ticket ticket;
    const bool admitted = breaker_.Admit({}, at, ticket, events).admitted();
    Note(events, me);
    if (!admitted) return;
    held_[me] = ticket;
    Scheduler::Remember(
        {index, ticket.generation(), ticket.probe(), told.opened, told.half_opened, told.closed});
    Scheduler::Work();
    End(step, ticket, me);
  }
  void End(const Step& step, Breaker::Ticket& ticket, std::size_t me) {
    ends_[me] = std::exchange(held_[me], {});
    if (!step.cancel && step.outcome != Outcome::kIgnored) {
      auto& counts = step.outcome == Outcome::kSuccess ? succeeded_ : failed_;
      ++counts[ticket.generation() % kGenerations];
    }
    for (int twice = 0; twice < 2; ++twice) {  // The second does nothing.
      Events events;
      if (step.cancel) {
        breaker_.Cancel(ticket, Verdict::Refuse(Reason::kRate), TimePoint(step.ends_at), events);
      } else {
        breaker_.Complete(ticket,
                          {.started = TimePoint(step.at),
                           .now = TimePoint(step.ends_at),
                           .outcome = step.outcome},
                          events);
      }
      Note(events, me);
    }
    ends_[me] = {};
  }
  void Note(const Events& events, std::size_t me) {
    if (me == kNobody) return;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events[i].kind == EventKind::kBreakerOpened) ++told_[me].opened;
      if (events[i].kind == EventKind::kBreakerHalfOpened) ++told_[me].half_opened;
      if (events[i].kind == EventKind::kBreakerClosed) ++told_[me].closed;
    }
  }

  static constexpr Duration kNoTimeout = 1s;

  const CircuitBreakerOptions options_;
  const Want want_;
  Breaker breaker_;
  const Steps steps_;
  std::array<Breaker::Ticket, kMaxThreads + 1> held_{};  // By each thread,
  std::array<Breaker::Ticket, kMaxThreads + 1> ends_{};  // or about to be given back.
  std::array<Does, kMaxThreads + 1> does_{};
  std::array<Count, kMaxThreads + 1> told_{};
  Breaker::Snapshot before_;
  Count made_;
  std::uint64_t resets_of_closed_ = 0;
  // Calls that have ended so, or are about to, by generation.
  std::array<std::uint8_t, kGenerations> failed_{};
  std::array<std::uint8_t, kGenerations> succeeded_{};
};

constexpr Step kOk{};
constexpr Step kFails{.outcome = Outcome::kFailure};
constexpr Step kIgnored{.outcome = Outcome::kIgnored};
constexpr Step kForceOpen{.does = Does::kForceOpen};
constexpr Step kForceClosed{.does = Does::kForceClosed};
constexpr Step kReset{.does = Does::kReset};

// Counts the last calls under the lock.
constexpr CircuitBreakerOptions kCounted{
    .consecutive_failures = 2, .count_window = 4, .min_calls = 4, .open_for = 10ms, .probes = 2};
// Counts over time: a window of 160 words, without the lock.
constexpr CircuitBreakerOptions kTimed{.consecutive_failures = 2,
                                       .min_calls = 100,
                                       .open_for = 10ms,
                                       .probes = 2,
                                       .probe_timeout = 300 * 24h};

// The window has begun.
const std::vector<Step> kWarm = {kOk};

TEST(CircuitBreakerSchedule, ThreeFailuresOpenOnce) {
  ExpectFineInEveryOrder(ExploreAll<Circuit>({}, kCounted, std::vector<Step>{},
                                             Steps{{kFails}, {kFails}, {kFails}},
                                             Want{.opened = 1, .half_opened = 0, .closed = 0}));
}

TEST(CircuitBreakerSchedule, FailuresOverTimeOpenOnce) {
  ExpectFineInEveryOrder(ExploreAll<Circuit>({}, kTimed, kWarm, Steps{{kFails}, {kFails}},
                                             Want{.opened = 1, .half_opened = 0, .closed = 0}));
}

// Open, and the open time is over.
const std::vector<Step> kOpened = {kFails, kFails};
constexpr Step kProbe{.at = 10ms};
constexpr Step kBadProbe{.at = 10ms, .outcome = Outcome::kOverload};
constexpr Step kIgnoredProbe{.at = 10ms, .outcome = Outcome::kIgnored};
constexpr Step kCancelledProbe{.at = 10ms, .cancel = true};

TEST(CircuitBreakerSchedule, GoodProbesCloseOnce) {
  ExpectFineInEveryOrder(ExploreAll<Circuit>({}, kCounted, kOpened, Steps{{kProbe}, {kProbe}},
                                             Want{.opened = 0, .half_opened = 1, .closed = 1}));
}

TEST(CircuitBreakerSchedule, ABadProbeOpensOnce) {
  ExpectFineInEveryOrder(ExploreAll<Circuit>({}, kCounted, kOpened,
                                             Steps{{kBadProbe}, {kBadProbe}, {kBadProbe}},
                                             Want{.opened = 1, .half_opened = 1, .closed = 0}));
}

TEST(CircuitBreakerSchedule, SlotsComeBack) {
  ExpectFineInEveryOrder(ExploreAll<Circuit>(
      {}, kCounted, kOpened, Steps{{kIgnoredProbe}, {kCancelledProbe}, {kIgnoredProbe}},
      Want{.opened = 0, .half_opened = 1, .closed = 0}));
}

// A probe that is overdue counts as failed; when it ends in spite of that, the next half-open time
// has probes of its own.
TEST(CircuitBreakerSchedule, OverdueProbes) {
  constexpr CircuitBreakerOptions kImpatient{.consecutive_failures = 2,
                                             .count_window = 4,
                                             .min_calls = 4,
                                             .open_for = 10ms,
                                             .probes = 1,
                                             .probe_timeout = 5ms};
  ExpectFineInEveryOrder(ExploreAll<Circuit>(
      {}, kImpatient, kOpened,
      Steps{{{.at = 10ms, .ends_at = 40ms}},
            {{.at = 40ms, .ends_at = 41ms, .outcome = Outcome::kIgnored}, {.at = 41ms}}}));
}

// What began in one closed time ends in another, in which a single failure opens.
TEST(CircuitBreakerSchedule, LateResults) {
  CircuitBreakerOptions counted = kCounted;
  counted.consecutive_failures = 1;
  ExpectFineInEveryOrder(
      ExploreAll<Circuit>({}, counted, kWarm, Steps{{kFails}, {kReset, kReset}}));
  ExpectFineInEveryOrder(
      ExploreAll<Circuit>({}, counted, kWarm, Steps{{kFails}, {kOk}, {kForceOpen, kReset}}));
  CircuitBreakerOptions timed = kTimed;
  timed.consecutive_failures = 1;
  ExpectFine(ExploreRandom<Circuit>(30'000, 1, timed, kWarm, Steps{{kFails}, {kReset, kReset}}));
}

// Probes of one half-open time end in the next.
TEST(CircuitBreakerSchedule, LateProbes) {
  CircuitBreakerOptions options = kCounted;
  options.probes = 1;
  ExpectFineInEveryOrder(ExploreAll<Circuit>(
      {}, options, kOpened,
      Steps{{kProbe}, {kReset}, {kFails, kFails, {.at = 10ms, .outcome = Outcome::kIgnored}}}));
}

TEST(CircuitBreakerSchedule, Forced) {
  ExpectFineInEveryOrder(
      ExploreAll<Circuit>({.spurious = 0}, kCounted, kOpened,
                          Steps{{kProbe, kFails}, {kForceOpen, kReset}, {kForceClosed}}));
}

TEST(CircuitBreakerSchedule, ThreeThreadsAtRandom) {
  const Steps steps = {
      {kFails, {.at = 12ms, .ends_at = 30ms}, {.at = 50ms, .cancel = true}},
      {kFails, {.at = 11ms}, {.at = 30ms, .outcome = Outcome::kFailure}, {.at = 51ms}},
      {kIgnored, kFails, kReset, {.at = 12ms, .outcome = Outcome::kFailure}, {.at = 52ms}}};
  CircuitBreakerOptions counted = kCounted;
  counted.probe_timeout = 15ms;
  ExpectFine(ExploreRandom<Circuit>(100'000, 1, counted, kWarm, steps));
  CircuitBreakerOptions timed = kTimed;
  timed.window = 20ms;
  timed.ramp = 2ms;
  const Steps few = {{kFails, {.at = 12ms}, {.at = 15ms}},
                     {kFails, kFails, {.at = 12ms, .outcome = Outcome::kFailure}},
                     {kIgnored, kReset, {.at = 11ms}}};
  ExpectFine(ExploreRandom<Circuit>(100'000, 2, timed, kWarm, few));
}

}  // namespace
}  // namespace shed::schedule
