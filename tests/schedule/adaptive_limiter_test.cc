// The adaptive limit, whatever the order: no admission raises what is in flight above the limit in
// force, each permit comes back once, one thread at a time closes a window, and each window's
// counts add up. With a small algorithm in every order, with the real ones in random orders.
#include "shed/adaptive_limiter.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explore.h"
#include "scenario.h"
#include "scheduled_sync.h"
#include "shed/gradient.h"
#include "shed/internal/criticality_share.h"
#include "shed/internal/limit_word.h"
#include "shed/knee.h"

namespace shed::schedule {
namespace {

using namespace std::chrono_literals;

struct TinyOptions {
  std::int64_t initial_limit = 2;
  std::array<double, kCriticalityCount> usable = shed::internal::kUsableAll;
  std::vector<std::uint32_t> limits = {1, 2};  // Of the windows, in turn.
  std::uint32_t completions = 1;               // That close a window.
  std::uint64_t cancelled = 0;                 // Calls, at most.
  Duration at_latest = Duration::max();
  constexpr std::string_view Problem() const noexcept { return ""; }
};

// Moves the limit at every closing, whatever happened, and complains of windows that do not add up.
template <bool kAll>
class Tiny {
 public:
  using Options = TinyOptions;
  struct Snapshot {
    std::uint64_t windows = 0;
    std::uint64_t admitted = 0;  // And so on: in all windows closed.
    std::uint64_t completed = 0;
    std::uint64_t overloaded = 0;
    std::uint64_t refused = 0;
  };
  static constexpr std::string_view kName = "tiny";
  static constexpr bool kIntegral = kAll;
  static constexpr bool kCountsRefusals = kAll;

  explicit Tiny(const Options& options) : options_(options) {}
  Tiny(Tiny&& other) noexcept : options_(other.options_) {}

  LimitPlan Start(TimePoint now) noexcept { return Plan(now); }
  LimitPlan Close(const LimitWindow& window, Events&) noexcept {
    // Two threads in here would see each other.
    if (inside_.exchange(1) != 0) Scheduler::Fail("two threads close a window");
    if (window.limit != limit_) Scheduler::Fail("a window under another limit than planned");
    if (window.begin != begin_ || window.end < begin_) {
      Scheduler::Fail("a window that does not begin where the last one ended");
    }
    if (window.overloaded > window.completed) Scheduler::Fail("more overloads than completions");
    // What was in flight at its begin and is cancelled later makes a window's admissions too many.
    const std::uint64_t left = in_flight_ + window.admitted - window.in_flight - window.completed;
    if (now_.windows > 0 && left > options_.cancelled) {
      Scheduler::Fail("a window's admissions, completions and calls in flight do not add up");
    }
    if (kAll && !(window.area >= 0)) Scheduler::Fail("a negative area");
    in_flight_ = window.in_flight;
    ++now_.windows;
    now_.admitted += window.admitted;
    now_.completed += window.completed;
    now_.overloaded += window.overloaded;
    for (const std::uint64_t refused : window.refused) now_.refused += refused;
    const LimitPlan plan = Plan(window.end);
    inside_.store(0);
    return plan;
  }
  Snapshot Read() const noexcept { return now_; }

 private:
  LimitPlan Plan(TimePoint now) noexcept {
    begin_ = now;
    limit_ = options_.limits[now_.windows % options_.limits.size()];
    return {.limit = limit_,
            .not_before = TimePoint::min(),
            .completions = options_.completions,
            .at_latest = After(now, options_.at_latest)};
  }

  const Options options_;
  ScheduledSync::Atomic<int> inside_{0};
  Snapshot now_;
  TimePoint begin_{};
  std::uint32_t limit_ = 0;
  std::uint64_t in_flight_ = 0;
};

struct Call {
  Duration at{0};
  Duration ends_at = at;
  Outcome outcome = Outcome::kSuccess;
  Criticality criticality = Criticality::kCritical;
  bool cancel = false;
};
using Calls = std::vector<std::vector<Call>>;  // Of each thread, one after the other.

template <class Algorithm>
class Flights : public Scenario {
  using Limiter = BasicAdaptiveLimiter<Algorithm, ScheduledSync>;
  using Word = shed::internal::LimitWord;

 public:
  Flights(const typename Algorithm::Options& options, Calls calls)
      : Scenario(static_cast<int>(calls.size())),
        limiter_(options, hot_),
        share_(options.usable),
        calls_(std::move(calls)),
        before_(hot_.word.load()) {}

  void Run(int thread) override {
    const auto me = static_cast<std::size_t>(thread);
    Tally& mine = tally_[me];
    for (std::size_t i = 0; i < calls_[me].size(); ++i) {
      const Call& call = calls_[me][i];
      Scheduler::Remember({i, mine.refused, mine.cancelled});
      typename Limiter::Ticket ticket;
      Events events;
      asks_[me] = call.criticality;
      mine.open = 1;
      const bool admitted =
          limiter_.Admit({.criticality = call.criticality}, TimePoint(call.at), ticket, events)
              .admitted();
      mine.open = 0;
      if (!admitted) {
        ++mine.refused;
        continue;
      }
      mine.held = 1;
      Scheduler::Remember({i, mine.refused, mine.cancelled, 1});
      Scheduler::Work();
      mine.open = 1;
      mine.held = 0;
      End(call, ticket, events);
      mine.open = 0;
      End(call, ticket, events);  // Does nothing.
      if (call.cancel) {
        ++mine.cancelled;
      } else {
        ++mine.completed;
        if (call.outcome == Outcome::kOverload) ++mine.overloaded;
      }
    }
  }

  std::string Check(int thread) override {
    const Word now(hot_.word.load());
    const Word before = std::exchange(before_, now);
    std::uint32_t held = 0;
    std::uint32_t open = 0;
    for (const Tally& tally : tally_) {
      held += tally.held;
      open += tally.open;
    }
    if (now.in_flight() < held || now.in_flight() > held + open) {
      return std::to_string(held) + " held, in flight " + std::to_string(now.in_flight());
    }
    if (now.limit() != before.limit()) ++limit_moved_;
    if (now.in_flight() > before.in_flight()) {
      const std::uint32_t usable =
          share_.Usable(now.limit(), asks_[static_cast<std::size_t>(thread)]);
      if (now.in_flight() > usable) {
        return "in flight above the limit: " + std::to_string(now.in_flight()) + " of " +
               std::to_string(usable);
      }
      if (now.in_flight() != before.in_flight() + 1) return "one call, more than one permit";
    }
    return "";
  }
  // Times that the limit moved, in all schedules so far: windows that never close prove nothing.
  static std::uint64_t limit_moved() noexcept { return limit_moved_; }

  std::string End() override {
    const auto now = limiter_.Read({});
    if (now.in_flight != 0) return std::to_string(now.in_flight) + " in flight at the end";
    if constexpr (Algorithm::kIntegral) {
      if ((hot_.integral.load() & 0xfffff) != 0) return "calls left in the integral";
    }
    if constexpr (requires { now.windows; }) return EndOfWindows(now);
    return "";
  }

 private:
  struct Tally {
    std::uint32_t held = 0;  // Permits that the thread has,
    std::uint32_t open = 0;  // or is about to get or to give back.
    std::uint64_t refused = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t completed = 0;
    std::uint64_t overloaded = 0;
  };

  // What ended before the first window opened, or after the last one closed, is in none.
  std::string EndOfWindows(const typename Limiter::Snapshot& now) const {
    Tally all;
    for (const Tally& tally : tally_) {
      all.refused += tally.refused;
      all.completed += tally.completed;
      all.overloaded += tally.overloaded;
    }
    if (now.completed > all.completed) return "more completions in windows than there were";
    if (now.overloaded > all.overloaded) return "more overloads in windows than there were";
    if (now.refused > all.refused) return "more refusals in windows than there were";
    if (now.admitted > all.completed) return "a cancelled call in a window";
    return "";
  }
  void End(const Call& call, typename Limiter::Ticket& ticket, Events& events) {
    if (call.cancel) {
      limiter_.Cancel(ticket, Verdict::Refuse(Reason::kRate), TimePoint(call.ends_at));
    } else {
      limiter_.Complete(
          ticket,
          {.started = TimePoint(call.at), .now = TimePoint(call.ends_at), .outcome = call.outcome},
          events);
    }
  }

  static inline std::uint64_t limit_moved_ = 0;

  typename Limiter::Hot hot_;
  Limiter limiter_;
  const shed::internal::CriticalityShare share_;
  const Calls calls_;
  std::array<Tally, kMaxThreads> tally_{};
  std::array<Criticality, kMaxThreads> asks_{};  // The class of each thread's call.
  Word before_;
};

constexpr Call kCall{};
constexpr Call kCancelled{.cancel = true};
constexpr Call kOverload{.outcome = Outcome::kOverload};

TEST(AdaptiveLimiterSchedule, TwoThreads) {
  ExpectFineInEveryOrder(ExploreAll<Flights<Tiny<false>>>(
      {.spurious = 0}, TinyOptions{}, Calls{{kCall, kOverload}, {kCall, kCall}}));
}

TEST(AdaptiveLimiterSchedule, ThreeThreads) {
  ExpectFineInEveryOrder(ExploreAll<Flights<Tiny<false>>>(
      {.spurious = 0}, TinyOptions{.cancelled = 1}, Calls{{kCall}, {kOverload}, {kCancelled}}));
}

TEST(AdaptiveLimiterSchedule, WithIntegralAndRefusals) {
  ExpectFineInEveryOrder(ExploreAll<Flights<Tiny<true>>>(
      {.spurious = 0}, TinyOptions{.initial_limit = 1},
      Calls{{{.at = 0ms, .ends_at = 1ms}, {.at = 2ms, .ends_at = 3ms}},
            {{.at = 1ms, .ends_at = 2ms}}}));
}

// A refusal closes a window that is overdue, and so does a completion.
TEST(AdaptiveLimiterSchedule, RefusalsCloseOverdueWindows) {
  ExpectFineInEveryOrder(ExploreAll<Flights<Tiny<false>>>(
      {.spurious = 0},
      TinyOptions{.initial_limit = 1, .limits = {1}, .completions = 3, .at_latest = 2ms},
      Calls{{kCall, {.at = 5ms, .ends_at = 6ms}}, {{.at = 4ms, .ends_at = 4ms}}}));
}

TEST(AdaptiveLimiterSchedule, Classes) {
  constexpr Call kLow{.criticality = Criticality::kSheddable};
  ExpectFineInEveryOrder(ExploreAll<Flights<Tiny<false>>>(
      {.spurious = 0},
      TinyOptions{.initial_limit = 3, .usable = {0.5, 0.5, 1, 1}, .limits = {2, 3}},
      Calls{{kLow, kLow}, {kCall, kLow}}));
}

// Threads that take turns at long sequences of calls, half a millisecond or so each.
Calls ManyCalls(std::size_t threads, std::size_t each, Duration apart) {
  constexpr Outcome kOutcomes[] = {Outcome::kSuccess, Outcome::kSuccess, Outcome::kOverload,
                                   Outcome::kSuccess, Outcome::kFailure, Outcome::kIgnored};
  Calls calls(threads);
  for (std::size_t t = 0; t < threads; ++t) {
    for (std::size_t i = 0; i < each; ++i) {
      const std::size_t n = i * threads + t;
      const Duration at = apart * static_cast<std::int64_t>(i);
      calls[t].push_back({.at = at,
                          .ends_at = at + apart / 2 * static_cast<std::int64_t>(1 + n % 3),
                          .outcome = kOutcomes[n % std::size(kOutcomes)],
                          .cancel = n % 7 == 3});
    }
  }
  return calls;
}

TEST(AdaptiveLimiterSchedule, ThreeThreadsAtRandom) {
  ExpectFine(ExploreRandom<Flights<Tiny<false>>>(
      100'000, 1,
      TinyOptions{.limits = {1, 3, 2}, .completions = 2, .cancelled = 9, .at_latest = 2ms},
      ManyCalls(3, 6, 1ms)));
  ExpectFine(ExploreRandom<Flights<Tiny<true>>>(
      100'000, 2,
      TinyOptions{.limits = {1, 3, 2}, .completions = 2, .cancelled = 9, .at_latest = 2ms},
      ManyCalls(3, 3, 1ms)));
}

TEST(AdaptiveLimiterSchedule, KneeAtRandom) {
  const Explored explored = ExploreRandom<Flights<Knee>>(
      100'000, 3, KneeOptions{.min_limit = 1, .initial_limit = 2, .headroom = 1},
      ManyCalls(3, 12, 30ms));
  ExpectFine(explored);
  EXPECT_GT(Flights<Knee>::limit_moved(), explored.schedules / 5);
}

TEST(AdaptiveLimiterSchedule, GradientAtRandom) {
  const Explored explored = ExploreRandom<Flights<BasicGradient<ScheduledSync>>>(
      100'000, 4,
      GradientOptions{.interval = 1ms,
                      .min_samples = 2,
                      .min_limit = 1,
                      .initial_limit = 2,
                      .baseline = GradientBaseline::kFixed,
                      .fixed_baseline = 1ms},
      ManyCalls(3, 2, 1ms));
  ExpectFine(explored);
  EXPECT_GT(Flights<BasicGradient<ScheduledSync>>::limit_moved(), explored.schedules / 5);
}

}  // namespace
}  // namespace shed::schedule
