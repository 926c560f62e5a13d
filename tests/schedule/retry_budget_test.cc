// Retries as a share of what is in flight, whatever the order: no retry is admitted above the
// share, and none refused below it; each call that ended is out of both counts, once.
#include "shed/retry_budget.h"

#include <gtest/gtest.h>

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

using Budget = BasicRetryBudget<ScheduledSync>;

struct Call {
  bool retry = false;
  bool cancel = false;
};
using Calls = std::vector<std::vector<Call>>;  // Of each thread, one after the other.

class Retries : public Scenario {
 public:
  Retries(const RetryBudgetOptions& options, Calls calls)
      : Scenario(static_cast<int>(calls.size())),
        budget_(options, hot_),
        calls_(std::move(calls)) {}

  void Run(int thread) override {
    const auto me = static_cast<std::size_t>(thread);
    for (std::size_t i = 0; i < calls_[me].size(); ++i) {
      Scheduler::Remember({i});
      const Call& call = calls_[me][i];
      Budget::Ticket ticket;
      if (!budget_.Admit({.retry = call.retry}, {}, ticket).admitted()) {
        // Its last access has just found no room.
        const Scheduler::Look look;
        const Budget::Snapshot now = budget_.Read({});
        if (!call.retry || now.retries < now.allowed) Scheduler::Fail("refused with room for it");
        continue;
      }
      held_[me] = 1;
      retries_[me] = call.retry ? 1 : 0;
      Scheduler::Remember({i, 1});
      End(call, ticket);
      held_[me] = retries_[me] = 0;
      End(call, ticket);  // Does nothing.
    }
  }

  std::string Check(int) override {
    const Budget::Snapshot now = budget_.Read({});
    const Budget::Snapshot was = std::exchange(before_, now);
    std::uint32_t held = 0;
    std::uint32_t retries = 0;
    for (std::size_t i = 0; i < held_.size(); ++i) {
      held += held_[i];
      retries += retries_[i];
    }
    if (now.in_flight != held || now.retries != retries) {
      return std::to_string(held) + " calls held, in flight " + std::to_string(now.in_flight) +
             "; retries " + std::to_string(retries) + ", counted " + std::to_string(now.retries);
    }
    // What was allowed when it was admitted: it is one of those in flight now.
    if (now.retries > was.retries && now.retries > was.allowed) return "a retry above the share";
    return "";
  }
  std::string End() override { return Check(0); }

 private:
  void End(const Call& call, Budget::Ticket& ticket) {
    if (call.cancel) {
      budget_.Cancel(ticket, Verdict::Refuse(Reason::kRate), {});
    } else {
      budget_.Complete(ticket, Outcome::kSuccess);
    }
  }

  Budget::Hot hot_;
  Budget budget_;
  const Calls calls_;
  std::array<std::uint32_t, kMaxThreads> held_{};     // Calls of each thread in flight,
  std::array<std::uint32_t, kMaxThreads> retries_{};  // and of these, retries.
  Budget::Snapshot before_ = budget_.Read({});
};

constexpr Call kCall{};
constexpr Call kRetry{.retry = true};
constexpr Call kCancelled{.retry = true, .cancel = true};

TEST(RetryBudgetSchedule, TwoThreads) {
  for (const std::int64_t floor : {0, 1}) {
    ExpectFineInEveryOrder(
        ExploreAll<Retries>({.spurious = 2}, RetryBudgetOptions{.ratio = 0.5, .min_retries = floor},
                            Calls{{kCall, kRetry, kCall, kCancelled}, {kRetry, kCall, kRetry}}));
  }
}

TEST(RetryBudgetSchedule, ThreeThreads) {
  for (const std::int64_t floor : {0, 1}) {
    ExpectFineInEveryOrder(
        ExploreAll<Retries>({}, RetryBudgetOptions{.ratio = 0.3, .min_retries = floor},
                            Calls{{kCall, kRetry}, {kRetry, kCall}, {kCancelled, kRetry}}));
  }
}

}  // namespace
}  // namespace shed::schedule
