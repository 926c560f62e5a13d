// The waiting room, whatever the order of its callers: who waits gets the permit that comes free,
// who leaves does not, and whose time is over never does; each is answered once.
#include "shed/admission_queue.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "explore.h"
#include "scenario.h"
#include "scheduled_sync.h"
#include "shed/clock.h"
#include "shed/concurrency_limiter.h"
#include "shed/limiter.h"

namespace shed::schedule {
namespace {

using namespace std::chrono_literals;
using Concurrency = BasicConcurrencyLimiter<ScheduledSync>;
using L = BasicLimiter<ManualClock, ScheduledSync, Concurrency>;
using Queue = AdmissionQueue<L>;

enum class Step : std::uint8_t {
  kEnter,  // A call that ends after some work, on the thread that lets it in.
  kLeave,  // The thread's latest call of those that enter, or that waited from the start, leaves.
  kEnd,    // A permit that was held from the start.
  kPoll,
};
using Steps = std::vector<std::vector<Step>>;  // Of each thread, one after the other.

struct Start {
  std::uint32_t limit = 1;
  std::uint32_t held = 1;  // Permits.
  // Of each thread, until when its first call waits that has waited from the start; 0: it has none.
  // The time is 1 s when the threads start.
  std::vector<Duration> waits{};
  std::uint32_t max_waiting = 4;
};

class Room : public Scenario {
 public:
  Room(const Start& start, Steps steps)
      : Scenario(static_cast<int>(steps.size())),
        limiter_(clock_, {.limit = start.limit}),
        queue_(limiter_, {.max_waiting = start.max_waiting, .max_wait = 1h, .interval = 1h}),
        may_be_full_(start.max_waiting < 4),
        steps_(std::move(steps)) {
    for (std::uint32_t i = 0; i < start.held; ++i) {
      queue_.Enter({}, [this](Queue::Guard guard) { held_.emplace_back(std::move(guard)); });
    }
    for (std::size_t thread = 0; thread < start.waits.size(); ++thread) {
      if (start.waits[thread] != Duration(0)) Enter(thread, {.max_wait = start.waits[thread]});
    }
    clock_.Set(TimePoint(1s));
  }
  ~Room() override { held_.clear(); }

  void Run(int thread) override {
    const auto me = static_cast<std::size_t>(thread);
    for (std::size_t i = 0; i < steps_[me].size(); ++i) {
      Scheduler::Remember(
          {i, latest_[me] ? latest_[me]->place : 99, latest_[me] ? latest_[me]->number : 99});
      switch (steps_[me][i]) {
        case Step::kEnter:
          Enter(me, {});
          break;
        case Step::kLeave:
          if (queue_.Leave(*latest_[me])) {
            Call& call = calls_[call_of_[me]];
            if (++call.left + call.admitted + call.refused != 1) {
              Scheduler::Fail("it left, and was answered");
            }
          }
          break;
        case Step::kEnd: {
          Queue::Guard guard = std::move(held_[me]);
          guard.Complete(Outcome::kSuccess);
          break;
        }
        case Step::kPoll:
          queue_.Poll();
          break;
      }
    }
  }

  std::string Check(int) override {
    const auto now = limiter_.Get<Concurrency>().Read({});
    if (now.in_flight > now.limit) return "in flight above the limit";
    if (working_ > now.in_flight) return "a call works without a permit";
    return "";
  }
  std::string End() override {
    const AdmissionQueueSnapshot seen = queue_.Read();
    if (seen.TotalWaiting() != 0) return "somebody still waits";
    std::uint64_t admitted = held_.size();
    for (const Call& call : calls_) {
      if (call.admitted + call.refused + call.left != call.entered) {
        return "a call that is not answered once";
      }
      if (call.must_expire && call.admitted != 0) return "it ran after its time";
      if (!call.must_expire && call.refused != 0 && !may_be_full_) {
        return "refused, though it had time";
      }
      admitted += call.admitted;
    }
    if (seen.admitted_at_once + seen.admitted_after_wait != admitted) return "counts do not add up";
    if (limiter_.Get<Concurrency>().Read({}).in_flight != 0) return "a permit is lost";
    return "";
  }
  // What a callback notes, it notes for another thread's call.
  std::uint64_t Ghost() const override {
    std::uint64_t ghost = working_;
    for (const Call& call : calls_) {
      ghost = MixBits(ghost + call.entered * 1000 + call.admitted * 100 + call.refused * 10 +
                      call.left + 1);
    }
    return ghost;
  }

 private:
  struct Call {
    unsigned entered = 0, admitted = 0, refused = 0, left = 0;
    bool must_expire = false;
  };

  void Enter(std::size_t me, const Request& request) {
    // Each thread has a few calls of its own.
    const std::size_t place = me * kCallsEach + next_[me]++;
    calls_[place].entered = 1;
    calls_[place].must_expire = request.max_wait != Duration(0) && request.max_wait <= 1s;
    call_of_[me] = place;
    latest_[me] = queue_.Enter(request, [this, place](Queue::Guard guard) {
      Call& call = calls_[place];
      if (!guard) {
        ++call.refused;
        return;
      }
      ++call.admitted;
      ++working_;
      Scheduler::Work();
      --working_;
      guard.Complete(Outcome::kSuccess);
    });
  }

  static constexpr std::size_t kCallsEach = 3;
  ManualClock clock_;
  L limiter_;
  Queue queue_;
  std::vector<Queue::Guard> held_;
  const bool may_be_full_;
  const Steps steps_;
  std::array<Call, kMaxThreads * kCallsEach> calls_{};
  std::array<std::size_t, kMaxThreads> next_{};
  std::array<std::size_t, kMaxThreads> call_of_{};  // The latest of each thread.
  std::array<std::optional<Queue::Ticket>, kMaxThreads> latest_{};
  std::uint32_t working_ = 0;
};

using enum Step;

// A permit that comes free between the refusal and the place in line.
TEST(AdmissionQueueSchedule, AnEndWhileSomebodyEnters) {
  ExpectFineInEveryOrder(ExploreAll<Room>({}, Start{}, Steps{{kEnd}, {kEnter}}));
  ExpectFineInEveryOrder(ExploreAll<Room>({}, Start{}, Steps{{kEnd, kEnter}, {kEnter}}));
  ExpectFineInEveryOrder(
      ExploreAll<Room>({.spurious = 0}, Start{}, Steps{{kEnd}, {kEnter}, {kEnter}}));
}

// Nobody holds one: the calls meet each other.
TEST(AdmissionQueueSchedule, CallsThatEnterTogether) {
  ExpectFineInEveryOrder(ExploreAll<Room>({}, Start{.held = 0}, Steps{{kEnter}, {kEnter}}));
  ExpectFineInEveryOrder(
      ExploreAll<Room>({.spurious = 0}, Start{.held = 0}, Steps{{kEnter, kEnter}, {kEnter}}));
  ExpectFineInEveryOrder(
      ExploreAll<Room>({.spurious = 0}, Start{.held = 0}, Steps{{kEnter}, {kEnter}, {kEnter}}));
}

// A permit that is given at the moment of leaving.
TEST(AdmissionQueueSchedule, AnEndWhileSomebodyLeaves) {
  ExpectFineInEveryOrder(ExploreAll<Room>({}, Start{.waits = {0ns, 1h}}, Steps{{kEnd}, {kLeave}}));
  // Another waits behind.
  ExpectFineInEveryOrder(ExploreAll<Room>({.spurious = 0}, Start{.waits = {0ns, 1h, 1h}},
                                          Steps{{kEnd}, {kLeave}, {kPoll}}));
  ExpectFineInEveryOrder(ExploreAll<Room>({.spurious = 0}, Start{.waits = {0ns, 1h}},
                                          Steps{{kEnd}, {kLeave, kEnter}, {kEnter}}));
  ExpectFineInEveryOrder(
      ExploreAll<Room>({.spurious = 0}, Start{}, Steps{{kEnd}, {kEnter, kLeave}, {kPoll}}));
}

// Who leaves too late does not take away the place of who has it now.
TEST(AdmissionQueueSchedule, AnotherHasThePlaceOfWhoLeaves) {
  ExpectFineInEveryOrder(ExploreAll<Room>({.spurious = 0},
                                          Start{.waits = {0ns, 1h}, .max_waiting = 1},
                                          Steps{{kEnd}, {kLeave}, {kEnter, kEnter}}));
}

// Whose time is over, at the moment at which a permit comes free: it is never let in, and whoever
// stands behind it is.
TEST(AdmissionQueueSchedule, AnEndWhileSomebodyExpires) {
  ExpectFineInEveryOrder(ExploreAll<Room>({}, Start{.waits = {0ns, 1s}}, Steps{{kEnd}, {kPoll}}));
  ExpectFineInEveryOrder(ExploreAll<Room>({.spurious = 0}, Start{.waits = {0ns, 1s, 1h}},
                                          Steps{{kEnd}, {kPoll}, {kEnter}}));
  ExpectFineInEveryOrder(ExploreAll<Room>({.spurious = 0}, Start{.waits = {0ns, 1s, 1s}},
                                          Steps{{kEnd}, {kLeave}, {kEnter}}));
}

// Two permits, two that end, two that wait.
TEST(AdmissionQueueSchedule, TwoEndsAtOnce) {
  ExpectFineInEveryOrder(ExploreAll<Room>(
      {.spurious = 0}, Start{.limit = 2, .held = 2, .waits = {1h, 1h}}, Steps{{kEnd}, {kEnd}}));
  ExpectFineInEveryOrder(ExploreAll<Room>({.spurious = 0},
                                          Start{.limit = 2, .held = 2, .waits = {1h}},
                                          Steps{{kEnd}, {kEnd}, {kEnter}}));
}

TEST(AdmissionQueueSchedule, FourThreadsAtRandom) {
  ExpectFine(ExploreRandom<Room>(
      50'000, 1, Start{.limit = 2, .held = 2, .waits = {1h, 1s, 1h}},
      Steps{{kEnd, kEnter, kLeave}, {kEnd, kEnter}, {kLeave, kEnter, kPoll}, {kEnter, kEnter}}));
}

}  // namespace
}  // namespace shed::schedule
