// The shared budget, whatever the order: never more in use than it has, and what is given back is
// there again, once.
#include "shed/demerit_tracker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
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
using Tracker = BasicDemeritTracker<ScheduledSync>;

struct Call {
  std::string_view caller = "a";
  std::uint64_t cost = 1;
  Duration at{0};
  Duration ends_at = at;
  bool cancel = false;  // For want of capacity.
};
using Calls = std::vector<std::vector<Call>>;  // Of each thread, one after the other.

class Budget : public Scenario {
 public:
  // Each letter of `known` is a caller that has asked before, so that its calls are ordinary ones.
  Budget(const DemeritTrackerOptions& options, Calls calls, std::string_view known = "")
      : Scenario(static_cast<int>(calls.size())),
        options_(options),
        tracker_(options),
        calls_(std::move(calls)) {
    places_.Close();
    for (const char& caller : known) {
      Tracker::Ticket ticket;
      Events events;
      tracker_.Admit({.caller = {&caller, 1}}, TimePoint(0ns), ticket, events);
      tracker_.Complete(ticket, Outcome::kSuccess);
    }
    for (const auto& of_thread : calls_) {
      for (const Call& call : of_thread) latest_ = std::max(latest_, call.ends_at);
    }
  }

  void Run(int thread) override {
    const auto me = static_cast<std::size_t>(thread);
    for (std::size_t i = 0; i < calls_[me].size(); ++i) {
      Scheduler::Remember({i, hogs_[me]});
      const Call& call = calls_[me][i];
      Tracker::Ticket ticket;
      Events events;
      if (tracker_
              .Admit({.caller = call.caller, .cost = call.cost}, TimePoint(call.at), ticket, events)
              .admitted()) {
        held_[me] = ticket.units;
        Scheduler::Remember({i, hogs_[me], ticket.index, ticket.generation, ticket.units});
        Scheduler::Work();
        held_[me] = 0;
        for (int twice = 0; twice < 2; ++twice) {  // The second does nothing.
          if (call.cancel) {
            tracker_.Cancel(ticket, Verdict::Refuse(Reason::kConcurrency), TimePoint(call.ends_at),
                            events);
          } else {
            tracker_.Complete(ticket, Outcome::kSuccess);
          }
        }
      }
      for (std::size_t e = 0; e < events.size(); ++e) {
        if (events[e].kind == EventKind::kCallerBecameHog) ++hogs_[me];
      }
    }
  }

  std::string Check(int) override {
    const Tracker::Snapshot now = tracker_.Read(TimePoint(0ns));
    std::int64_t held = 0;
    for (const std::int64_t units : held_) held += units;
    if (held > options_.budget) return "held above the budget: " + std::to_string(held);
    if (now.in_use > now.budget) return "in use above the budget: " + std::to_string(now.in_use);
    if (now.in_use < held) return "held, and not in use";
    return "";
  }
  std::string End() override {
    const Tracker::Snapshot now = tracker_.Read(TimePoint(latest_));
    if (now.in_use != 0) return std::to_string(now.in_use) + " in use at the end";
    std::uint64_t hogs = 0;
    for (const std::uint64_t of_thread : hogs_) hogs += of_thread;
    if (now.hogs_total != hogs) return "callers that became hogs: not one event each";
    // Long after, nobody is known.
    const Tracker::Snapshot later = tracker_.Read(TimePoint(latest_ + 24h));
    if (later.active != 0 || later.tracked != 0) return "a caller that is never forgotten";
    return "";
  }

 private:
  const DemeritTrackerOptions options_;
  SamePlaces places_;
  Tracker tracker_;
  const Calls calls_;
  Duration latest_{0};
  std::array<std::int64_t, kMaxThreads> held_{};  // Units, by each thread.
  std::array<std::uint64_t, kMaxThreads> hogs_{};
};

// Two threads end one call, each with its copy of the ticket, when the caller's window is over; the
// second then makes a call of another caller, which gets the entry.
class Copies : public Scenario {
 public:
  explicit Copies(bool cancel) : Scenario(2), tracker_(kOne), cancel_(cancel) {
    places_.Close();
    Events events;
    tracker_.Admit({.caller = "a"}, TimePoint(0ns), ticket_, events);
    Tracker::Ticket other;  // Of the overflow: the time moves on.
    tracker_.Admit({.caller = "b"}, TimePoint(20ms), other, events);
    tracker_.Complete(other, Outcome::kSuccess);
  }

  void Run(int thread) override {
    Tracker::Ticket copy = ticket_;
    Events events;
    Scheduler::Work();
    if (thread == 0 && cancel_) {
      tracker_.Cancel(copy, Verdict::Refuse(Reason::kConcurrency), TimePoint(20ms), events);
      return;
    }
    tracker_.Complete(copy, Outcome::kSuccess);
    if (thread == 0) return;
    Tracker::Ticket mine;
    if (!tracker_.Admit({.caller = "c"}, TimePoint(20ms), mine, events).admitted()) return;
    holds_ = 1;
    Scheduler::Remember({1, mine.index, mine.generation});
    Scheduler::Work();
    holds_ = 0;
    tracker_.Complete(mine, Outcome::kSuccess);
  }
  std::string Check(int) override {
    return tracker_.Read(TimePoint(0ns)).in_use < holds_ ? "held, and not in use" : "";
  }
  std::string End() override {
    return tracker_.Read(TimePoint(0ns)).in_use != 0 ? "in use at the end" : "";
  }

 private:
  static constexpr DemeritTrackerOptions kOne{
      .budget = 2, .window = 10ms, .max_penalty = 1ms, .max_callers = 1};

  SamePlaces places_;
  Tracker tracker_;
  const bool cancel_;
  Tracker::Ticket ticket_;
  std::uint32_t holds_ = 0;
};

constexpr DemeritTrackerOptions kOptions{
    .budget = 2, .window = 10ms, .max_penalty = 1s, .hog_threshold = 1, .max_callers = 2};

// Callers come and go, and a window ends.
TEST(DemeritTrackerSchedule, TwoThreads) {
  ExpectFineInEveryOrder(ExploreAll<Budget>(
      {.spurious = 0}, kOptions,
      Calls{{{.cost = 2}, {.caller = "b"}}, {{.caller = "b"}, {.cost = 2, .cancel = true}}}));
  ExpectFineInEveryOrder(ExploreAll<Budget>(
      {}, kOptions, Calls{{{.cost = 2}, {.caller = "b", .cancel = true}}, {{.caller = "b"}}}));
  ExpectFineInEveryOrder(
      ExploreAll<Budget>({.spurious = 0}, kOptions,
                         Calls{{{.cost = 2}, {.at = 20ms, .ends_at = 40ms}},
                               {{.caller = "b"}, {.cost = 2, .at = 5ms, .cancel = true}}}));
}

TEST(DemeritTrackerSchedule, ACopiedTicketReleasesOnce) {
  ExpectFineInEveryOrder(ExploreAll<Copies>({}, false));
  ExpectFineInEveryOrder(ExploreAll<Copies>({}, true));
}

// Callers that are known already; in the last, they are, or have been, looked at beside their
// calls.
TEST(DemeritTrackerSchedule, ThreeThreads) {
  ExpectFineInEveryOrder(
      ExploreAll<Budget>({}, kOptions, Calls{{{}}, {{}}, {{.caller = "b", .cost = 2}}}, "ab"));
  ExpectFineInEveryOrder(ExploreAll<Budget>(
      {}, kOptions, Calls{{{.cancel = true}}, {{.cost = 2}}, {{.caller = "b", .cancel = true}}},
      "ab"));
  ExpectFineInEveryOrder(ExploreAll<Budget>(
      {.spurious = 0}, kOptions, Calls{{{.cost = 2}}, {{.cancel = true}}, {{.caller = "b"}}}, "a"));
  ExpectFineInEveryOrder(
      ExploreAll<Budget>({.spurious = 0}, kOptions,
                         Calls{{{.at = 30ms}}, {{.ends_at = 40ms}, {.caller = "b"}}}, "ab"));
}

// More callers than there are entries: the third shares the overflow.
TEST(DemeritTrackerSchedule, ThreeThreadsAtRandom) {
  ExpectFine(ExploreRandom<Budget>(
      100'000, 1, kOptions,
      Calls{
          {{.cost = 2}, {.at = 1ms}, {.at = 5ms, .ends_at = 20ms}, {.caller = "d", .at = 30ms}},
          {{.caller = "b"}, {.caller = "c", .at = 2ms, .cancel = true}, {.caller = "b", .at = 3ms}},
          {{.caller = "c", .cost = 3},
           {.caller = "b", .at = 9ms, .ends_at = 11ms},
           {.at = 15ms}}}));
}

// Enough units for threads to keep some.
TEST(DemeritTrackerSchedule, ThreeThreadsThatKeepUnitsAtRandom) {
  ExpectFine(ExploreRandom<Budget>(
      100'000, 2, DemeritTrackerOptions{.budget = 40, .window = 10ms, .max_callers = 2},
      Calls{{{.cost = 1}, {.cost = 20}, {.cost = 1}, {.cost = 30}},
            {{.caller = "b", .cost = 1}, {.caller = "b", .cost = 20, .cancel = true}, {.cost = 1}},
            {{.caller = "b", .cost = 1}, {.cost = 39}, {.caller = "b", .cost = 20}}}));
}

}  // namespace
}  // namespace shed::schedule
