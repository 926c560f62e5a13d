// The composed limiter and its guards, whatever the order: a guard that is completed, dropped,
// refused by a later policy, or moved to another thread gives back once what each policy gave it,
// and every counter adds up.
#include "shed/limiter.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "explore.h"
#include "scenario.h"
#include "scheduled_sync.h"
#include "shed/admission_controller.h"
#include "shed/circuit_breaker.h"
#include "shed/clock.h"
#include "shed/concurrency_limiter.h"
#include "shed/demerit_tracker.h"
#include "shed/knee_limiter.h"
#include "shed/rate_limiter.h"

namespace shed::schedule {
namespace {

using namespace std::chrono_literals;
using Rate = BasicRateLimiter<ScheduledSync>;
using Concurrency = BasicConcurrencyLimiter<ScheduledSync>;
using Breaker = BasicCircuitBreaker<ScheduledSync>;
using KneeLimit = BasicAdaptiveLimiter<Knee, ScheduledSync>;
using Demerit = BasicDemeritTracker<ScheduledSync>;
using Admission = BasicAdmissionController<ScheduledSync>;

enum class Ends : std::uint8_t {
  kComplete,
  kTwice,  // Completed, then completed again, then dropped.
  kDrop,
  kNote,
  kAssign,  // Over another guard, which ends so.
  kPass,    // Left for another thread to end, with what was left there.
  kTake,    // No call: ends what was left.
};
using Calls = std::vector<std::vector<Ends>>;  // Of each thread, one after the other.

template <class... Policies>
class Guards : public Scenario {
  using Limiter = BasicLimiter<ManualClock, ScheduledSync, Policies...>;
  using Guard = typename Limiter::Guard;

 public:
  Guards(Calls calls, const typename Policies::Options&... options)
      : Scenario(static_cast<int>(calls.size())),
        limiter_(clock_, options...),
        calls_(std::move(calls)) {}

  void Run(int thread) override {
    const auto me = static_cast<std::size_t>(thread);
    Tally& mine = tally_[me];
    for (std::size_t i = 0; i < calls_[me].size(); ++i) {
      Scheduler::Remember({i, mine.admitted, mine.refused, mine.ended, mine.dropped});
      const Ends how = calls_[me][i];
      if (how == Ends::kTake) {
        EndLeft(Swap({}), mine);
        continue;
      }
      Guard guard = Ask(me);
      if (guard) End(how, std::move(guard), me);
    }
  }

  std::string Check(int) override {
    std::string wrong;
    if constexpr (kHas<Concurrency>) {
      const auto now = limiter_.template Get<Concurrency>().Read({});
      const auto was = std::exchange(in_flight_, now.in_flight);
      if (now.in_flight > was && now.in_flight > now.limit) wrong = "in flight above the limit";
      // A permit for each guard, and for each call that is on its way.
      std::uint64_t guards = 0;
      for (const Tally& tally : tally_) guards += tally.admitted - tally.begun_to_end;
      if (now.in_flight < guards) wrong = "a guard without a permit";
      if (now.in_flight > guards + static_cast<std::uint64_t>(threads())) {
        wrong = "permits that no guard holds";
      }
    }
    return wrong;
  }

  std::string End() override {
    if (Swap({})) {  // What nobody took is dropped.
      ++tally_[0].ended;
      ++tally_[0].dropped;
    }
    Tally all;
    for (const Tally& tally : tally_) {
      all.admitted += tally.admitted;
      all.refused += tally.refused;
      all.ended += tally.ended;
      all.dropped += tally.dropped;
    }
    const auto now = limiter_.Snapshot();
    if (now.TotalAdmitted() != all.admitted) return "admissions are not counted once each";
    if (now.TotalRefused() != all.refused) return "refusals are not counted once each";
    if (now.TotalCompleted() != all.ended) return "ends are not counted once each";
    if (now.dropped != all.dropped) return "drops are not counted once each";
    if (all.admitted != all.ended || now.in_flight != 0) return "in flight at the end";
    if constexpr (kHas<Concurrency>) {
      if (limiter_.template Get<Concurrency>().Read({}).in_flight != 0) return "a permit is lost";
    }
    if constexpr (kHas<KneeLimit>) {
      if (limiter_.template Get<KneeLimit>().Read({}).in_flight != 0) return "a call is lost";
    }
    if constexpr (kHas<Demerit>) {
      if (limiter_.template Get<Demerit>().Read({}).in_use != 0) return "a unit is lost";
    }
    if constexpr (kHas<Rate>) {
      // What later policies refused has been paid back.
      const auto rate = limiter_.template Get<Rate>().Read({});
      if (rate.available != rate.burst - static_cast<std::int64_t>(all.admitted)) {
        return std::to_string(rate.available) + " tokens left of " + std::to_string(rate.burst) +
               ", admitted " + std::to_string(all.admitted);
      }
    }
    if constexpr (kHas<Admission>) {
      if (limiter_.template Get<Admission>().Read({}).calls != all.ended - all.dropped) {
        return "ends that the admission controller does not know";
      }
    }
    return "";
  }

 private:
  template <class P>
  static constexpr bool kHas = (std::is_same_v<P, Policies> || ...);

  struct Tally {
    std::uint64_t admitted = 0;
    std::uint64_t refused = 0;
    std::uint64_t begun_to_end = 0;
    std::uint64_t ended = 0;
    std::uint64_t dropped = 0;  // Of those that ended.
  };

  Guard Ask(std::size_t me) {
    Guard guard = limiter_.TryAdmit({.caller = me == 0 ? "a" : "b"});
    ++(guard ? tally_[me].admitted : tally_[me].refused);
    if (guard) Scheduler::Work();
    return guard;
  }
  void End(Ends how, Guard guard, std::size_t me) {
    Tally& mine = tally_[me];
    switch (how) {
      case Ends::kComplete:
      case Ends::kTwice: {
        ++mine.begun_to_end;
        guard.Complete(Outcome::kSuccess);
        if (how == Ends::kTwice) {
          Guard other = std::move(guard);
          other.Complete(Outcome::kFailure);
          guard.Complete(Outcome::kFailure);
        }
        ++mine.ended;
        break;
      }
      case Ends::kNote:
        guard.Note(Outcome::kFailure);
        guard.Note(Outcome::kSuccess);
        ++mine.begun_to_end;
        ++mine.ended;
        break;  // Ends it.
      case Ends::kDrop:
        ++mine.begun_to_end;
        ++mine.ended;
        ++mine.dropped;
        break;  // Ends it.
      case Ends::kAssign: {
        Guard other = Ask(me);
        const bool both = static_cast<bool>(other);
        ++mine.begun_to_end;
        ++mine.ended;
        ++mine.dropped;
        guard = std::move(other);  // Ends what `guard` was.
        if (both) {
          ++mine.begun_to_end;
          guard.Complete(Outcome::kSuccess);
          ++mine.ended;
        }
        break;
      }
      case Ends::kPass:
        EndLeft(Swap(std::move(guard)), mine);
        break;
      case Ends::kTake:
        break;
    }
  }
  std::optional<Guard> Swap(std::optional<Guard> guard) {
    const MutexLock lock(mutex_);
    left_.swap(guard);
    return guard;
  }
  static void EndLeft(std::optional<Guard> left, Tally& mine) {
    if (!left) return;
    ++mine.begun_to_end;
    left->Complete(Outcome::kSuccess);
    ++mine.ended;
  }

  ManualClock clock_;
  Limiter limiter_;
  const Calls calls_;
  ScheduledSync::Mutex mutex_;
  std::optional<Guard> left_ SHED_GUARDED_BY(mutex_);
  std::array<Tally, kMaxThreads> tally_{};
  std::uint32_t in_flight_ = 0;
};

constexpr RateLimiterOptions kTokens{.rate = 1, .burst = 8};

using Two = Guards<Rate, Concurrency>;

TEST(LimiterSchedule, TwoThreads) {
  ExpectFineInEveryOrder(ExploreAll<Two>({.spurious = 0},
                                         Calls{{Ends::kTwice, Ends::kDrop}, {Ends::kNote}}, kTokens,
                                         ConcurrencyLimiterOptions{.limit = 1}));
  ExpectFineInEveryOrder(ExploreAll<Two>({.spurious = 0},
                                         Calls{{Ends::kAssign}, {Ends::kComplete, Ends::kDrop}},
                                         kTokens, ConcurrencyLimiterOptions{.limit = 2}));
}

TEST(LimiterSchedule, GuardsMoveBetweenThreads) {
  ExpectFineInEveryOrder(
      ExploreAll<Two>({}, Calls{{Ends::kPass, Ends::kPass}, {Ends::kTake, Ends::kPass}}, kTokens,
                      ConcurrencyLimiterOptions{.limit = 2}));
}

TEST(LimiterSchedule, ThreeThreads) {
  ExpectFineInEveryOrder(ExploreAll<Two>({.spurious = 0},
                                         Calls{{Ends::kComplete}, {Ends::kPass}, {Ends::kTake}},
                                         kTokens, ConcurrencyLimiterOptions{.limit = 1}));
}

TEST(LimiterSchedule, SixPoliciesAtRandom) {
  using Six = Guards<Demerit, Rate, Concurrency, KneeLimit, Breaker, Admission>;
  ExpectFine(ExploreRandom<Six>(100'000, 1,
                                Calls{{Ends::kTwice, Ends::kPass, Ends::kDrop},
                                      {Ends::kComplete, Ends::kAssign, Ends::kTake},
                                      {Ends::kPass, Ends::kNote}},
                                DemeritTrackerOptions{.budget = 3}, kTokens,
                                ConcurrencyLimiterOptions{.limit = 2},
                                KneeOptions{.min_limit = 1, .initial_limit = 1},
                                CircuitBreakerOptions{}, AdmissionControllerOptions{}));
}

}  // namespace
}  // namespace shed::schedule
