// The controller's counts, whatever the order: each arrival and each end once, what was cancelled
// not at all.
#include "shed/admission_controller.h"

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

namespace shed::schedule {
namespace {

using namespace std::chrono_literals;
using Controller = BasicAdmissionController<ScheduledSync>;

struct Call {
  Duration at{0};
  Outcome outcome = Outcome::kSuccess;
  bool cancel = false;
};
using Calls = std::vector<std::vector<Call>>;  // Of each thread, one after the other.

// Everything happens within one window.
class Ends : public Scenario {
 public:
  Ends(const AdmissionControllerOptions& options, Calls calls)
      : Scenario(static_cast<int>(calls.size())), controller_(options), calls_(std::move(calls)) {
    Do(Call{}, tally_[0]);  // The window has begun.
  }

  void Run(int thread) override {
    const auto me = static_cast<std::size_t>(thread);
    for (const Call& call : calls_[me]) Do(call, tally_[me]);
  }
  std::string Check(int) override { return ""; }
  std::string End() override {
    Tally all;
    for (const Tally& tally : tally_) {
      all.asked += tally.asked;
      all.ended += tally.ended;
      all.succeeded += tally.succeeded;
    }
    const Controller::Snapshot now = controller_.Read(TimePoint(9ms));
    if (now.arrivals[IndexOf(Criticality::kCritical)] != all.asked) {
      return "arrivals: " + std::to_string(now.arrivals[IndexOf(Criticality::kCritical)]) +
             " counted of " + std::to_string(all.asked);
    }
    if (now.calls != all.ended) return "an end lost, or counted twice";
    if (now.successes != all.succeeded) return "a success lost, or counted twice";
    return "";
  }

 private:
  struct Tally {
    std::uint64_t asked = 0;
    std::uint64_t ended = 0;
    std::uint64_t succeeded = 0;
  };

  void Do(const Call& call, Tally& mine) {
    Controller::Ticket ticket;
    ++mine.asked;
    if (!controller_.Admit({}, TimePoint(call.at), ticket).admitted()) return;
    for (int twice = 0; twice < 2; ++twice) {  // The second does nothing.
      if (call.cancel) {
        controller_.Cancel(ticket, Verdict::Refuse(Reason::kRate), TimePoint(call.at));
      } else {
        controller_.Complete(ticket, {.now = TimePoint(call.at), .outcome = call.outcome});
      }
    }
    if (call.cancel) {
      --mine.asked;
    } else if (call.outcome != Outcome::kIgnored) {
      ++mine.ended;
      if (call.outcome == Outcome::kSuccess) ++mine.succeeded;
    }
  }

  Controller controller_;
  const Calls calls_;
  std::array<Tally, kMaxThreads> tally_{};
};

constexpr AdmissionControllerOptions kOptions{.window = 10ms, .max_rejection = 1, .min_rps = 0};

TEST(AdmissionControllerSchedule, TwoThreads) {
  ExpectFineInEveryOrder(
      ExploreAll<Ends>({}, kOptions,
                       Calls{{{.outcome = Outcome::kFailure}, {.outcome = Outcome::kOverload}},
                             {{.cancel = true}, {}}}));
}

TEST(AdmissionControllerSchedule, ThreeThreads) {
  ExpectFineInEveryOrder(ExploreAll<Ends>(
      {}, kOptions, Calls{{{.outcome = Outcome::kFailure}}, {{.cancel = true}}, {{}}}));
}

TEST(AdmissionControllerSchedule, ThreeThreadsAtRandom) {
  ExpectFine(ExploreRandom<Ends>(
      100'000, 1, kOptions,
      Calls{{{}, {.at = 2ms, .outcome = Outcome::kFailure}},
            {{.cancel = true}, {.at = 2ms, .outcome = Outcome::kOverload}},
            {{.at = 1ms, .outcome = Outcome::kFailure}, {.at = 3ms, .cancel = true}}}));
}

}  // namespace
}  // namespace shed::schedule
