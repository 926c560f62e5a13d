// Permits, whatever the order: never above the limit, never below zero, each given back once, and
// none refused that is there.
#include "shed/concurrency_limiter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "explore.h"
#include "scenario.h"
#include "scheduled_sync.h"

namespace shed::schedule {
namespace {

using Limiter = BasicConcurrencyLimiter<ScheduledSync>;

struct Call {
  std::uint64_t cost = 1;
  Criticality criticality = Criticality::kCritical;
  bool cancel = false;
};
using Calls = std::vector<std::vector<Call>>;  // Of each thread, one after the other.

class Permits : public Scenario {
 public:
  // One more thread configures `changes`, one after the other, if there are any; each has a limit
  // of its own. Those with the usual shares go through SetLimit.
  Permits(const ConcurrencyLimiterOptions& options, Calls calls,
          std::vector<ConcurrencyLimiterOptions> changes = {})
      : Scenario(static_cast<int>(calls.size() + (changes.empty() ? 0 : 1))),
        limiter_(options, hot_),
        options_(options),
        calls_(std::move(calls)),
        changes_(std::move(changes)) {}

  void Run(int thread) override {
    const auto me = static_cast<std::size_t>(thread);
    if (me == calls_.size()) {
      std::uint64_t next = 0;
      for (const ConcurrencyLimiterOptions& change : changes_) {
        Scheduler::Remember({++next});
        if (change.usable == options_.usable) {
          limiter_.SetLimit(change.limit, {});
        } else {
          limiter_.Configure(change, {});
        }
      }
      return;
    }
    std::uint64_t calls = 0;
    for (const Call& call : calls_[me]) {
      Scheduler::Remember({++calls});
      const Request request{.cost = call.cost, .criticality = call.criticality};
      asks_[me] = call.criticality;
      Limiter::Ticket ticket;
      asking_[me] = &call;
      may_refuse_[me] = MayRefuse(call);
      const bool admitted = limiter_.Admit(request, {}, ticket).admitted();
      asking_[me] = nullptr;
      const bool may_refuse = std::exchange(may_refuse_[me], false);
      if (!admitted) {
        if (!may_refuse) Scheduler::Fail("refused with room for it");
        continue;
      }
      held_[me] = ticket.units;
      Scheduler::Remember({calls, held_[me]});
      End(call, ticket);
      held_[me] = 0;
      End(call, ticket);  // Does nothing.
    }
  }

  std::string Check(int thread) override {
    const Limiter::Snapshot now = limiter_.Read({});
    const Limiter::Snapshot before = before_;
    before_ = now;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (asking_[i] != nullptr) may_refuse_[i] = may_refuse_[i] || MayRefuse(*asking_[i]);
    }
    std::uint32_t held = 0;
    for (const std::uint32_t units : held_) held += units;
    if (now.in_flight != held) {
      return std::to_string(held) + " held, in flight " + std::to_string(now.in_flight);
    }
    if (now.in_flight > before.in_flight) {
      const std::uint32_t usable = Usable(now.limit, asks_[static_cast<std::size_t>(thread)]);
      if (now.in_flight > usable) {
        return "in flight above the limit: " + std::to_string(now.in_flight) + " of " +
               std::to_string(usable);
      }
    }
    return "";
  }
  std::string End() override {
    const Limiter::Snapshot now = limiter_.Read({});
    if (now.in_flight != 0) return std::to_string(now.in_flight) + " in flight at the end";
    if (!changes_.empty() && now.limit != changes_.back().limit) return "a limit set is lost";
    return "";
  }
  std::uint64_t Ghost() const override {
    std::uint64_t hash = 0;
    for (const bool may : may_refuse_) hash = hash * 2 + (may ? 1 : 0);
    return hash;
  }

 private:
  bool MayRefuse(const Call& call) {
    const Scheduler::Look look;
    const Limiter::Snapshot now = limiter_.Read({});
    const std::uint32_t usable = Usable(now.limit, call.criticality);
    return now.in_flight + std::min<std::uint64_t>(call.cost, usable) > usable;
  }
  // By the options in force, which their limit tells.
  std::uint32_t Usable(std::uint32_t limit, Criticality criticality) const {
    const auto* in_force = &options_;
    for (const ConcurrencyLimiterOptions& change : changes_) {
      if (change.limit == limit) in_force = &change;
    }
    return shed::internal::CriticalityShare(in_force->usable).Usable(limit, criticality);
  }
  void End(const Call& call, Limiter::Ticket& ticket) {
    if (call.cancel) {
      limiter_.Cancel(ticket, Verdict::Refuse(Reason::kRate), {});
    } else {
      limiter_.Complete(ticket, Outcome::kSuccess);
    }
  }

  Limiter::Hot hot_;
  Limiter limiter_;
  const ConcurrencyLimiterOptions options_;
  const Calls calls_;
  const std::vector<ConcurrencyLimiterOptions> changes_;
  std::array<std::uint32_t, kMaxThreads> held_{};  // Units, by each thread.
  std::array<Criticality, kMaxThreads> asks_{};    // The class of each thread's call.
  std::array<const Call*, kMaxThreads> asking_{};
  std::array<bool, kMaxThreads> may_refuse_{};  // At some time since it asked.
  Limiter::Snapshot before_ = limiter_.Read({});
};

constexpr Call kOne{};
constexpr Call kCancelled{.cancel = true};
constexpr Call kTwo{.cost = 2};
constexpr Call kHuge{.cost = 1'000'000};

TEST(ConcurrencyLimiterSchedule, TwoThreads) {
  const Calls calls = {{kOne, kTwo, kCancelled, kOne}, {kTwo, kOne, kHuge, kOne}};
  for (const std::int64_t limit : {1, 2, 3}) {
    ExpectFineInEveryOrder(
        ExploreAll<Permits>({.spurious = 2}, ConcurrencyLimiterOptions{.limit = limit}, calls));
  }
}

TEST(ConcurrencyLimiterSchedule, ThreeThreads) {
  const Calls calls = {{kOne, kTwo}, {kCancelled, kOne}, {kTwo, kOne}};
  for (const std::int64_t limit : {1, 2, 3}) {
    ExpectFineInEveryOrder(ExploreAll<Permits>({.spurious = limit < 3 ? 1 : 0},
                                               ConcurrencyLimiterOptions{.limit = limit}, calls));
  }
}

// The last slots are kept for the critical.
TEST(ConcurrencyLimiterSchedule, Classes) {
  const Call low{.criticality = Criticality::kSheddable};
  const Calls calls = {{low}, {low, low}, {kOne, kTwo}};
  ExpectFineInEveryOrder(ExploreAll<Permits>(
      {}, ConcurrencyLimiterOptions{.limit = 4, .usable = {0.5, 0.5, 1, 1}}, calls));
}

TEST(ConcurrencyLimiterSchedule, TheLimitMoves) {
  const Calls calls = {{kOne, kTwo}, {kHuge, kOne}};
  ExpectFineInEveryOrder(
      ExploreAll<Permits>({}, ConcurrencyLimiterOptions{.limit = 2}, calls,
                          std::vector<ConcurrencyLimiterOptions>{{.limit = 1}, {.limit = 3}}));
}

// A call is judged by a limit and a share that were in force together: 2 of 4, or 3 of 3, and never
// 3 of 4 or 2 of 3.
TEST(ConcurrencyLimiterSchedule, LimitAndSharesChangeTogether) {
  const Call low{.criticality = Criticality::kSheddable};
  const ConcurrencyLimiterOptions options{.limit = 4, .usable = {0.5, 0.5, 1, 1}};
  const ConcurrencyLimiterOptions other{.limit = 3, .usable = {0.125, 1, 1, 1}};
  ExpectFineInEveryOrder(ExploreAll<Permits>({}, options, Calls{{low}, {low}}, std::vector{other}));
  ExpectFineInEveryOrder(ExploreAll<Permits>(
      {}, options, Calls{{low, low}},
      std::vector<ConcurrencyLimiterOptions>{other, {.limit = 2, .usable = options.usable}}));
}

}  // namespace
}  // namespace shed::schedule
