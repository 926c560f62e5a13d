// Shares a budget fairly between callers, and holds down the one that keeps asking for more.
//
// Use it where many callers share one service and one of them can take it all. Not where names are
// free for the asking: each name gets a share, so `caller` must be an authenticated identity, or
// from a bounded set. Put this policy before the one that knows the service's capacity: it learns
// from what that one refuses (see Cancel), not from what never reaches it.
//
// Algorithm: a caller is active while it holds units or asked within `window`; the share is
// ceil(budget / active). A call is admitted while the units in use fit the budget and those of its
// caller fit its cap:
//   no other caller is active         budget: there is nobody to be fair to
//   demerit >= hog_threshold          max(1, share - round(demerit)); it is a hog
//   else, another is waiting          share
//   else                              budget: what nobody wants may be borrowed
// "Another is waiting": some other caller was refused within `window`, and was no hog after it. A
// hog's refusals must not count, or it would stop everybody's borrowing by hammering.
// A caller that holds nothing is measured against the budget alone: a call that costs more than the
// cap would otherwise never run, however long it waited.
// A refusal above the caller's own part (the share, or a hog's cap) is its fault, Scope::kCaller,
// and adds `demerit_per_denial`. One within it, because the budget is full, is the service's, and
// adds nothing unless `blame_victims`; both mark the caller as waiting. One that is alone is never
// at fault, nor held down for what it did before. Demerit decays by `decay_per_second`. It never
// exceeds hog_threshold + budget, where the cap is at its lowest anyway, and is dropped
// `max_penalty` after the last refusal: how long a hog stays one depends on how long it hammers,
// never on how fast. Nothing in flight is pre-empted.
//
// State: a table of `max_callers` entries, made once; a seeded 96-bit fingerprint of each caller,
// never its name. A caller that is no longer active is forgotten at once if its demerit is zero,
// else `max_penalty` later, so that no penalty is lost by waiting or by a flood of other names.
// While the table is full, callers without an entry share one, the overflow, as if they were one
// caller. A caller that gets an entry while it holds units of the overflow gives those back there.
// Entries stand in queues by the time when they must be looked at, so a call costs O(1) amortised,
// with ten callers or a million. The latest refusals of two different callers say whether another
// than the one in hand is waiting. Time is the latest `now` that any call brought; an older one
// moves nothing back.
//
// Locking: a call locks its caller's entry, for about thirty instructions, and writes nothing else
// that other threads write as long as there are units for all: those that a call gives back stay
// with its thread, up to a point, and are gathered when they run out. A mutex is taken a few times
// per caller and window, when callers come, expire, or have asked for half a window. On one thread
// all is exact. With several,
//   - what each caller holds is exact, the units in use never exceed the budget, and a refusal for
//     want of units is one that some order of the calls gives;
//   - how many are active, and whether another waits, are as they were at some instant of the call,
//     not necessarily the same one for both;
//   - an older `now` is held against those of its own thread, not of all.
//
// Source: the idea is that of FairShareLimiter in Netflix Atlas, which scans all callers at each
// call, blames victims of a full budget, and never admits a cost of 2 to a cap of 1.
#ifndef SHED_DEMERIT_TRACKER_H_
#define SHED_DEMERIT_TRACKER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "shed/internal/bounds.h"
#include "shed/internal/caller_table.h"
#include "shed/internal/fingerprint.h"
#include "shed/internal/index_list.h"
#include "shed/internal/validate.h"
#include "shed/policy.h"
#include "shed/sync.h"

namespace shed {

struct DemeritTrackerOptions {
  // Units that all callers together may hold. Set it to what the service can have in flight: lower
  // refuses for nothing, much higher leaves fairness to what a later policy refuses. Default 100,
  // as many as a ConcurrencyLimiter admits by default. Range 1 to 1'000'000'000.
  std::int64_t budget = 100;
  // How long a caller that asked counts as active, and one that was refused as waiting. Default
  // 5 s, range 1 ns to 366 days.
  Duration window = std::chrono::seconds(5);
  // What one refusal at fault adds. Default 1, range 0.000001 to 1'000'000, and no more than
  // hog_threshold + budget, which is the most that demerit can be.
  double demerit_per_denial = 1.0;
  // What a second takes away. Default 0.3, so that one refusal in 3.3 s is forgiven for ever. Range
  // 0.000001 to 1'000'000.
  double decay_per_second = 0.3;
  // The longest that demerit lasts after the last refusal. Default 60 s, range 1 ns to 366 days.
  Duration max_penalty = std::chrono::seconds(60);
  // The demerit from which a caller is a hog. Default 3, range 0.000001 to 1'000'000.
  double hog_threshold = 3.0;
  // How many callers are told apart; 112 bytes each, and 12 KB for all, taken when the tracker is
  // made. Default 1000, range 1 to 1'000'000.
  std::int64_t max_callers = 1000;
  // Whether a refusal within the caller's own part adds demerit, too. Default false.
  bool blame_victims = false;
  // Keys the fingerprints. Any value. Where callers can choose their names, a secret one, drawn
  // when the service starts. Default 0.
  std::uint64_t seed = 0;

  // Returns "" if every field is in range, else a sentence that names the field and the range.
  constexpr std::string_view Problem() const noexcept {
    constexpr Duration kLongest = std::chrono::hours(24 * 366);
    const auto in_range = [](double x) { return internal::InRange(x, 0.000001, 1'000'000.0); };
    if (budget < 1 || budget > 1'000'000'000) return "budget: want 1 to 1000000000 units";
    if (window < Duration(1) || window > kLongest) return "window: want 1 ns to 366 days";
    if (!in_range(demerit_per_denial)) return "demerit_per_denial: want 0.000001 to 1000000";
    if (!in_range(decay_per_second)) return "decay_per_second: want 0.000001 to 1000000";
    if (max_penalty < Duration(1) || max_penalty > kLongest) {
      return "max_penalty: want 1 ns to 366 days";
    }
    if (!in_range(hog_threshold)) return "hog_threshold: want 0.000001 to 1000000";
    if (demerit_per_denial > hog_threshold + static_cast<double>(budget)) {
      return "demerit_per_denial: want at most hog_threshold + budget";
    }
    if (max_callers < 1 || max_callers > 1'000'000) return "max_callers: want 1 to 1000000";
    return "";
  }
};

// The rule, pure: what a caller may hold, what is admitted, whose fault a refusal is.
struct DemeritRule {
  // What one caller may hold, in units.
  struct Standing {
    std::uint32_t share = 0;  // An equal part of the budget for each active caller, rounded up.
    std::uint32_t part = 0;  // Above it a refusal is the caller's fault: the share, or a hog's cap.
    std::uint32_t cap = 0;   // Above it calls are refused: the part, or the budget.
    bool hog = false;
  };

  static constexpr std::uint32_t Share(const DemeritTrackerOptions& options,
                                       std::uint32_t active) noexcept {
    const auto budget = static_cast<std::uint32_t>(options.budget);
    return active == 0 ? budget : (budget - 1) / active + 1;
  }

  // Halves are rounded up.
  static constexpr std::uint64_t Rounded(double demerit) noexcept {
    const auto whole = static_cast<std::uint64_t>(demerit);
    return demerit - static_cast<double>(whole) >= 0.5 ? whole + 1 : whole;
  }

  // `another_waits`: a caller other than this one was refused lately, and was no hog.
  static constexpr Standing Stand(const DemeritTrackerOptions& options, std::uint32_t active,
                                  double demerit, bool another_waits) noexcept {
    const std::uint32_t share = Share(options, active);
    if (active <= 1) {
      return {.share = share,
              .part = std::numeric_limits<std::uint32_t>::max(),
              .cap = share,
              .hog = demerit >= options.hog_threshold};
    }
    if (demerit >= options.hog_threshold) {
      const std::uint64_t less = Rounded(demerit);
      const std::uint32_t cap = less < share ? share - static_cast<std::uint32_t>(less) : 1;
      return {.share = share, .part = cap, .cap = cap, .hog = true};
    }
    const auto budget = static_cast<std::uint32_t>(options.budget);
    return {.share = share, .part = share, .cap = another_waits ? share : budget};
  }

  // Whether a caller that holds `held` stays within `limit` with `cost` more. A first call always
  // does: one that costs more than the limit could never run otherwise.
  static constexpr bool Within(std::uint32_t limit, std::uint32_t held,
                               std::uint32_t cost) noexcept {
    return held == 0 || held + cost <= limit;
  }

  static constexpr double AfterRefusal(const DemeritTrackerOptions& options, double demerit,
                                       bool at_fault) noexcept {
    const double added = at_fault || options.blame_victims ? options.demerit_per_denial : 0;
    return internal::Min(demerit + added,
                         options.hog_threshold + static_cast<double>(options.budget));
  }

  // How long until a caller whose refusal has just left it at `demerit` may hold `want` units, if
  // the share stays as it is: right to about a nanosecond, and never too short. Unknown for more
  // than the share, which is for others to leave free.
  static constexpr std::optional<Duration> UntilCapAllows(const DemeritTrackerOptions& options,
                                                          double demerit, std::uint32_t share,
                                                          std::uint32_t want) noexcept {
    if (want > share) return std::nullopt;
    const internal::DemeritDecay decay{options.decay_per_second, options.max_penalty};
    // Either it is no hog any more, or what is taken off the share leaves `want`.
    const double below =
        internal::Max(options.hog_threshold, static_cast<double>(share - want) + 0.5);
    const double ns = (demerit - below) / options.decay_per_second * 1e9;
    if (ns >= static_cast<double>(options.max_penalty.count())) return options.max_penalty;
    Duration wait(ns > 0 ? static_cast<std::int64_t>(ns) : 0);
    // A few steps: this quotient and the product in After() round differently.
    for (Duration step(1); decay.After(demerit, wait) >= below; step *= 2) wait += step;
    return internal::Min(wait, options.max_penalty);
  }
};

// Thread-safe: any member, any thread. Never allocates or throws after construction.
template <class Sync = StdSync>
class BasicDemeritTracker {
 public:
  using Options = DemeritTrackerOptions;
  using Rule = DemeritRule;
  static constexpr std::string_view kName = "demerit_tracker";
  static constexpr bool kHolds = true;

  struct Ticket {
    std::uint32_t index = 0;
    std::uint32_t generation = 0;  // Of the entry: a copy kept too long releases nothing.
    std::uint32_t units = 0;       // Held; 0 once given back.
  };
  struct Snapshot {
    std::uint32_t budget = 0;
    std::uint32_t in_use = 0;           // Units.
    std::uint32_t overflow_in_use = 0;  // Units of in_use held by callers without an entry.
    std::uint32_t active = 0;           // Callers; the overflow counts as one.
    std::uint32_t tracked = 0;          // Callers with an entry, at most max_callers.
    std::uint32_t share = 0;            // Units; the budget while nobody is active.
    bool contended = false;             // A caller that is no hog was refused within the window.
    std::uint64_t hogs_total = 0;       // How often a caller became a hog.
  };
  // One caller, as its next call will find it.
  struct CallerState {
    bool tracked = false;   // It has an entry of its own.
    bool overflow = false;  // It has none, and there is no room: the figures are the overflow's.
    bool hog = false;
    std::uint32_t held = 0;   // Units.
    std::uint32_t share = 0;  // Units, this caller being one of the active.
    std::uint32_t cap = 0;    // Units that it may hold at once.
    double demerit = 0;
  };

  // Throws std::invalid_argument with options.Problem() unless that is "".
  explicit BasicDemeritTracker(const Options& options)
      : options_(internal::Checked(options)),
        key_(internal::FingerprintKey(options.seed)),
        callers_(static_cast<std::uint32_t>(options.budget),
                 static_cast<std::uint32_t>(options.max_callers), options.window,
                 {.per_second = options.decay_per_second, .longest = options.max_penalty}) {}
  BasicDemeritTracker(const BasicDemeritTracker&) = delete;
  BasicDemeritTracker& operator=(const BasicDemeritTracker&) = delete;

  // The cost counts as at least 1 and at most `budget` units. Refuses with kFairShare and
  // Scope::kCaller above the caller's own part, with kBudget otherwise. `retry_after` is known for
  // a hog refused within the share: by then, its demerit alone refuses the call no more.
  Verdict Admit(const Request& request, TimePoint now, Ticket& ticket, Events& events) noexcept {
    const auto cost = static_cast<std::uint32_t>(internal::Clamp<std::uint64_t>(
        request.cost, 1, static_cast<std::uint64_t>(options_.budget)));
    Caller caller = callers_.Ask(internal::FingerprintOf(request.caller, key_), now);
    const std::uint32_t held = caller.held();
    // A first call is measured against the budget alone, whatever its standing.
    const Rule::Standing standing = held == 0 ? Rule::Standing{} : StandingOf(caller);
    if (Rule::Within(standing.cap, held, cost) && caller.TryTake(cost)) {
      ticket = {.index = caller.index(), .generation = caller.generation(), .units = cost};
      return Verdict::Admit();
    }
    const bool at_fault = !Rule::Within(standing.part, held, cost);
    const double demerit = CountRefusal(caller, at_fault, events);
    caller.Unlock();
    if (!at_fault) return Verdict::Refuse(Reason::kBudget);
    return Verdict::Refuse(Reason::kFairShare,
                           Rule::UntilCapAllows(options_, demerit, standing.share, held + cost),
                           Scope::kCaller);
  }

  // Gives the units back. If a later policy refused for want of capacity, the caller asked and did
  // not get: that is a refusal like one of this policy's own, at fault if with this call it held
  // more than its part. After any other cause no more is left than that it asked.
  void Cancel(Ticket& ticket, const Verdict& cause, TimePoint now, Events& events) noexcept {
    if (ticket.units == 0) return;
    if (!cause.IsCapacity()) {
      callers_.AdvanceTo(now);
      return Complete(ticket, Outcome::kIgnored);
    }
    Caller caller = callers_.AskAgain(ticket.index, ticket.generation, now);
    const std::uint32_t wanted = std::exchange(ticket.units, 0);
    if (!caller) return;
    const std::uint32_t units = caller.Give(wanted);
    CountRefusal(caller, !Rule::Within(StandingOf(caller).part, caller.held(), units), events);
  }

  void Complete(Ticket& ticket, Outcome) noexcept {
    if (ticket.units == 0) return;
    callers_.Release(ticket.index, ticket.generation, ticket.units);
    ticket.units = 0;
  }

  // Costs O(1), a step for each caller that expired since the last call, and one for each of about
  // a hundredth of the others; changes nothing.
  Snapshot Read(TimePoint now) const noexcept {
    const TimePoint at = callers_.Later(now);
    const auto counts = callers_.CountsAt(at);
    return {.budget = static_cast<std::uint32_t>(options_.budget),
            .in_use = callers_.in_use(),
            .overflow_in_use = callers_.OverflowHeld(),
            .active = counts.active,
            .tracked = counts.tracked,
            .share = Rule::Share(options_, counts.active),
            .contended = AnotherWaits(internal::kNoIndex, at),
            .hogs_total = hogs_total_.load(std::memory_order_relaxed)};
  }
  CallerState ReadCaller(std::string_view caller, TimePoint now) const noexcept {
    const TimePoint at = callers_.Later(now);
    internal::CallerCounts counts;
    const auto state = callers_.StateAt(internal::FingerprintOf(caller, key_), at, counts);
    const Rule::Standing standing = Rule::Stand(options_, counts.active + (state.active ? 0 : 1),
                                                state.demerit, AnotherWaits(state.index, at));
    return {.tracked = state.tracked,
            .overflow = state.overflow,
            .hog = standing.hog,
            .held = state.held,
            .share = standing.share,
            .cap = standing.cap,
            .demerit = state.demerit};
  }

 private:
  using Callers = internal::CallerTable<Sync>;
  using Caller = typename Callers::Caller;

  // Whether a caller other than `self` was refused within the window, and was no hog then. The
  // entry of one that was is active, so its index has not been given to another caller since.
  bool AnotherWaits(std::uint32_t self, TimePoint at) const noexcept {
    return callers_.refusals().AnotherWithin(options_.window, self, at);
  }
  Rule::Standing StandingOf(const Caller& caller) const noexcept {
    return Rule::Stand(options_, callers_.active(), caller.demerit(),
                       AnotherWaits(caller.index(), caller.now()));
  }

  // Returns the caller's demerit after it.
  double CountRefusal(Caller& caller, bool at_fault, Events& events) noexcept {
    const double before = caller.demerit();
    const double after = Rule::AfterRefusal(options_, before, at_fault);
    caller.SetDemerit(after);
    if (after < options_.hog_threshold) {
      callers_.refusals().Add(caller.index(), caller.now());
    } else if (before < options_.hog_threshold) {
      hogs_total_.fetch_add(1, std::memory_order_relaxed);
      events.Push({.kind = EventKind::kCallerBecameHog,
                   .cause = Cause::kDemerit,
                   .before = before,
                   .after = after,
                   .value = after,
                   .threshold = options_.hog_threshold,
                   .caller = caller.id()});
    }
    return after;
  }

  const Options options_;
  const internal::Fingerprint key_;
  Callers callers_;
  typename Sync::template Atomic<std::uint64_t> hogs_total_{0};
};

using DemeritTracker = BasicDemeritTracker<>;
static_assert(Policy<DemeritTracker>);

}  // namespace shed

#endif  // SHED_DEMERIT_TRACKER_H_
