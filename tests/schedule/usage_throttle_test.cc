// Callers that come, are forgotten and share the overflow, whatever the order: each unit is counted
// once and with its own caller, a place is free again when its call has ended, and nobody stays in
// flight.
#include "shed/usage_throttle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explore.h"
#include "same_places.h"
#include "scenario.h"
#include "scheduled_sync.h"
#include "shed/events.h"

namespace shed::schedule {
namespace {

using namespace std::chrono_literals;
using Throttle = BasicUsageThrottle<ScheduledSync>;

struct Call {
  std::string_view caller = "a";
  std::uint64_t cost = 1;
  std::uint64_t charge = cost;  // At least `cost`: what is given back depends on the order.
  bool cancel = false;
};
using Calls = std::vector<std::vector<Call>>;  // Of each thread, one after the other.

// All at one instant, so that nothing drains.
class Use : public Scenario {
 public:
  // Each letter of `known` is a caller that has been there before, and is idle.
  Use(const UsageThrottleOptions& options, Calls calls, std::string_view known = "")
      : Scenario(static_cast<int>(calls.size())),
        options_(options),
        throttle_(options),
        calls_(std::move(calls)) {
    places_.Close();
    for (const char& caller : known) {
      Throttle::Ticket ticket;
      Events events;
      throttle_.Admit({.caller = {&caller, 1}}, TimePoint(kBefore), ticket, events);
      throttle_.Complete(ticket, Outcome::kSuccess);
    }
  }

  void Run(int thread) override {
    const auto me = static_cast<std::size_t>(thread);
    for (std::size_t i = 0; i < calls_[me].size(); ++i) {
      Scheduler::Remember({i, used_[me]});
      const Call& call = calls_[me][i];
      Throttle::Ticket ticket;
      Events events;
      const Verdict verdict = throttle_.Admit(
          {.caller = call.caller, .cost = call.cost, .max_wait = 1h}, kNow, ticket, events);
      if (!verdict.admitted()) continue;
      waits_[me] = verdict.wait() > Duration(0) ? 1 : 0;
      Scheduler::Remember({i, used_[me], ticket.index, waits_[me]});
      Scheduler::Work();
      waits_[me] = 0;
      for (int twice = 0; twice < 2; ++twice) {  // The second does nothing.
        if (call.cancel) {
          throttle_.Cancel(ticket, Verdict::Refuse(Reason::kConcurrency), kNow);
        } else {
          throttle_.Charge(ticket, call.charge, kNow);
          throttle_.Complete(ticket, Outcome::kSuccess);
        }
      }
      if (!call.cancel) used_[me] += call.charge;
    }
  }

  std::string Check(int) override {
    const Throttle::Snapshot now = throttle_.Read(kNow);
    if (now.tracked > options_.max_callers) return "more callers than fit";
    std::uint32_t waiting = 0;
    for (const std::uint32_t waits : waits_) waiting += waits;
    if (waiting > now.max_delayed) return "more wait than may";
    if (waiting > now.waiting) return "a call waits without a place";
    return "";
  }
  std::string End() override {
    const Throttle::Snapshot now = throttle_.Read(kNow);
    std::uint64_t used = now.overflow_used;
    std::uint64_t wanted = 0;
    for (const char caller : {'a', 'b', 'c'}) {
      const auto state = throttle_.ReadCaller({&caller, 1}, kNow);
      if (state.tracked) used += state.used;
      if (state.in_flight != 0) return "in flight at the end";
    }
    for (const std::uint64_t of_thread : used_) wanted += of_thread;
    if (used != wanted) {
      return std::to_string(wanted) + " units used, " + std::to_string(used) + " counted";
    }
    if (now.waiting != 0) return "a place that is never given back";
    if (!throttle_.AsNew(kNow + options_.window + options_.longest_wait)) {
      return "a caller that is never new again";
    }
    return "";
  }

 private:
  static constexpr TimePoint kNow{24h};
  static constexpr Duration kBefore{0};

  const UsageThrottleOptions options_;
  SamePlaces places_;
  Throttle throttle_;
  const Calls calls_;
  std::array<std::uint64_t, kMaxThreads> used_{};   // Units settled, by each thread.
  std::array<std::uint32_t, kMaxThreads> waits_{};  // Whether it waits for a start.
};

// Two threads end one call, each with its copy of the ticket; the second then makes a call of
// another caller, which gets the entry.
class Copies : public Scenario {
 public:
  Copies() : Scenario(2), throttle_(kOne) {
    places_.Close();
    Events events;
    throttle_.Admit({.caller = "a"}, TimePoint(0ns), ticket_, events);
  }

  void Run(int thread) override {
    Throttle::Ticket copy = ticket_;
    Events events;
    Scheduler::Work();
    if (thread == 0) {
      throttle_.Charge(copy, 3, kLater);
      throttle_.Complete(copy, Outcome::kSuccess);
      return;
    }
    throttle_.Complete(copy, Outcome::kSuccess);
    Throttle::Ticket mine;
    if (!throttle_.Admit({.caller = "c"}, kLater, mine, events).admitted()) return;
    throttle_.Complete(mine, Outcome::kSuccess);
  }
  std::string Check(int) override { return ""; }
  std::string End() override {
    const auto c = throttle_.ReadCaller("c", kLater);
    if (c.in_flight != 0) return "in flight at the end";
    if (c.tracked && c.used != 1) return "use of another: " + std::to_string(c.used);
    return "";
  }

 private:
  static constexpr TimePoint kLater{1h};
  static constexpr UsageThrottleOptions kOne{
      .soft = 10, .hard = 20, .window = 1s, .max_delayed = 1, .max_callers = 1};

  SamePlaces places_;
  Throttle throttle_;
  Throttle::Ticket ticket_;
};

constexpr UsageThrottleOptions kOptions{
    .soft = 2, .hard = 100, .window = 2s, .max_delayed = 1, .max_callers = 1};

// One caller, with and without an entry that must be made first.
TEST(UsageThrottleSchedule, TwoThreadsOfOneCaller) {
  for (const std::string_view known : {"", "a"}) {
    ExpectFineInEveryOrder(ExploreAll<Use>(
        {}, kOptions, Calls{{{.charge = 3}, {.cost = 2}}, {{.cancel = true}, {.charge = 2}}},
        known));
  }
}

// A table that is full of one who is idle: both bring the same caller, or two.
TEST(UsageThrottleSchedule, StrangersMakeRoom) {
  ExpectFineInEveryOrder(
      ExploreAll<Use>({}, kOptions, Calls{{{.caller = "b"}}, {{.caller = "b", .charge = 2}}}, "a"));
  ExpectFineInEveryOrder(ExploreAll<Use>(
      {}, kOptions, Calls{{{.caller = "b"}}, {{.caller = "c", .cancel = true}, {.caller = "c"}}},
      "a"));
  // There is room for two, and it is one who comes.
  UsageThrottleOptions two = kOptions;
  two.max_callers = 2;
  ExpectFineInEveryOrder(
      ExploreAll<Use>({}, two, Calls{{{.caller = "b"}}, {{.caller = "b", .charge = 2}}}, "ac"));
  // And the one who is idle comes back.
  ExpectFineInEveryOrder(
      ExploreAll<Use>({}, kOptions, Calls{{{.caller = "b"}}, {{}, {.cancel = true}}}, "a"));
}

TEST(UsageThrottleSchedule, OneWaitingPlace) {
  UsageThrottleOptions options = kOptions;
  options.max_callers = 2;
  ExpectFineInEveryOrder(ExploreAll<Use>(
      {}, options, Calls{{{.cost = 2}, {.cancel = true}}, {{.cost = 2}, {.charge = 2}}}, "a"));
}

TEST(UsageThrottleSchedule, ACopiedTicketEndsOnce) {
  ExpectFineInEveryOrder(ExploreAll<Copies>({}));
}

}  // namespace
}  // namespace shed::schedule
