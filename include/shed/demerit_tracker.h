// Shares a budget fairly between callers, and holds down the one that keeps asking for more.
//
// Use it where many callers share one service and one of them can take it all. Not where names are
// free for the asking: each name gets a share, so `caller` must be an authenticated identity, or
// from a bounded set. Put this policy before the one that knows the service's capacity: it learns
// from what that one refuses (see Cancel), not from what never reaches it.
//
// Algorithm: a caller is active while it holds units or asked within `window`; the share of one
// that weighs w is ceil(budget · w / the weights of all active), where each weighs 1 unless you say
// otherwise (WeightedDemeritTracker: who pays more gets more). A call is admitted while the units
// in use fit the budget and those of its caller fit its cap:
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
// State: a table of `max_callers` entries, made once; a seeded 95-bit fingerprint of each caller,
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
//   - an older `now` is held against those of its own thread, not of all;
//   - a call beside a Configure may go by some of the old options and some of the new.
//
// Source: the idea is that of FairShareLimiter in Netflix Atlas, which scans all callers at each
// call, blames victims of a full budget, and never admits a cost of 2 to a cap of 1.
#ifndef SHED_DEMERIT_TRACKER_H_
#define SHED_DEMERIT_TRACKER_H_

#include <atomic>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "shed/demerit_tracker_options.h"
#include "shed/internal/bounds.h"
#include "shed/internal/caller_table.h"
#include "shed/internal/fingerprint.h"
#include "shed/internal/index_list.h"
#include "shed/internal/published.h"
#include "shed/internal/validate.h"
#include "shed/policy.h"
#include "shed/sync.h"

namespace shed {

// The rule, pure: what a caller may hold, what is admitted, whose fault a refusal is.
struct DemeritRule {
  // What one caller may hold, in units.
  struct Standing {
    std::uint32_t share = 0;  // An equal part of the budget for each active caller, rounded up.
    std::uint32_t part = 0;  // Above it a refusal is the caller's fault: the share, or a hog's cap.
    std::uint32_t cap = 0;   // Above it calls are refused: the part, or the budget.
    bool hog = false;
  };

  // Of a caller of this weight, where those that are active weigh so much together.
  static constexpr std::uint32_t Share(const DemeritTrackerOptions& options, std::uint32_t active,
                                       std::uint32_t weight = 1) noexcept {
    const auto budget = static_cast<std::uint64_t>(options.budget);
    if (active <= weight) return static_cast<std::uint32_t>(budget);
    return static_cast<std::uint32_t>((budget * weight - 1) / active + 1);
  }

  // Halves are rounded up.
  static constexpr std::uint64_t Rounded(double demerit) noexcept {
    const auto whole = static_cast<std::uint64_t>(demerit);
    return demerit - static_cast<double>(whole) >= 0.5 ? whole + 1 : whole;
  }

  // `another_waits`: a caller other than this one was refused lately, and was no hog.
  static constexpr Standing Stand(const DemeritTrackerOptions& options,
                                  internal::ActiveCallers active, double demerit,
                                  bool another_waits, std::uint32_t weight = 1) noexcept {
    const std::uint32_t share = Share(options, active.weight, weight);
    if (active.count <= 1) {
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

// Weighs every caller the same. A class of weights says what a caller weighs, 1 to 255 (0 counts as
// 1, more as 255), from the request, without throwing. It is asked when a caller comes, and again
// now and then, so that a change of plan takes effect within half a window.
struct EqualWeights {
  constexpr std::uint32_t operator()(const Request&) const noexcept { return 1; }
};

// Thread-safe: any member, any thread. Never allocates or throws after construction.
template <class Sync = StdSync, class Weights = EqualWeights>
class BasicDemeritTracker {
  static_assert(std::is_nothrow_invocable_r_v<std::uint32_t, const Weights&, const Request&>,
                "shed: weights are `std::uint32_t operator()(const Request&) const noexcept`");

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
    std::uint32_t weight = 0;           // Of the active, together.
    std::uint32_t share = 0;            // Units, of weight 1; the budget while nobody is active.
    bool contended = false;             // A caller that is no hog was refused within the window.
    std::uint64_t hogs_total = 0;       // How often a caller became a hog.
  };
  // One caller, as its next call will find it.
  struct CallerState {
    bool tracked = false;   // It has an entry of its own.
    bool overflow = false;  // It has none, and there is no room: the figures are the overflow's.
    bool hog = false;
    std::uint32_t held = 0;    // Units.
    std::uint32_t weight = 1;  // As it was last asked for.
    std::uint32_t share = 0;   // Units, this caller being one of the active.
    std::uint32_t cap = 0;     // Units that it may hold at once.
    double demerit = 0;
  };

  // Throws std::invalid_argument with options.Problem() unless that is "".
  explicit BasicDemeritTracker(const Options& options)
      : words_(WordsOf(internal::Checked(options))),
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
    const Options options = InForce();
    const auto cost = static_cast<std::uint32_t>(internal::Clamp<std::uint64_t>(
        request.cost, 1, static_cast<std::uint64_t>(options.budget)));
    Caller caller = callers_.Ask(internal::FingerprintOf(request.caller, key_), now,
                                 [&] { return WeightOf(request); });
    const std::uint32_t held = caller.held();
    // A first call is measured against the budget alone, whatever its standing.
    const Rule::Standing standing = held == 0 ? Rule::Standing{} : StandingOf(options, caller);
    if (Rule::Within(standing.cap, held, cost) && caller.TryTake(cost)) {
      ticket = {.index = caller.index(), .generation = caller.generation(), .units = cost};
      return Verdict::Admit();
    }
    const bool at_fault = !Rule::Within(standing.part, held, cost);
    const double demerit = CountRefusal(options, caller, at_fault, events);
    caller.Unlock();
    if (!at_fault) return Verdict::Refuse(Reason::kBudget);
    return Verdict::Refuse(Reason::kFairShare,
                           Rule::UntilCapAllows(options, demerit, standing.share, held + cost),
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
    const Options options = InForce();
    const std::uint32_t units = caller.Give(wanted);
    const bool within = Rule::Within(StandingOf(options, caller).part, caller.held(), units);
    CountRefusal(options, caller, !within, events);
  }

  void Complete(Ticket& ticket, Outcome) noexcept {
    if (ticket.units == 0) return;
    callers_.Release(ticket.index, ticket.generation, ticket.units);
    ticket.units = 0;
  }

  // Puts `options` in force, max_callers and the seed apart; what callers hold, their demerits, and
  // who waits stay. A budget below what is in use pre-empts nothing. Demerits go by the new decay
  // from their last refusal on; a caller that had ceased to be active by the old window stays so.
  // Costs a step for each caller that is tracked. Returns "" or, changing nothing,
  // options.Problem().
  std::string_view Configure(const Options& options, TimePoint now) noexcept {
    const std::string_view problem = options.Problem();
    if (!problem.empty()) return problem;
    const MutexLock lock(configuring_);
    words_.Write(WordsOf(options));
    callers_.Configure(static_cast<std::uint32_t>(options.budget), options.window,
                       {.per_second = options.decay_per_second, .longest = options.max_penalty},
                       now);
    return "";
  }

  // Costs O(1), a step for each caller that expired since the last call, and one for each of about
  // a hundredth of the others; changes nothing.
  Snapshot Read(TimePoint now) const noexcept {
    const Options options = InForce();
    const TimePoint at = callers_.Later(now);
    const auto counts = callers_.CountsAt(at);
    return {.budget = static_cast<std::uint32_t>(options.budget),
            .in_use = callers_.in_use(),
            .overflow_in_use = callers_.OverflowHeld(),
            .active = counts.active,
            .tracked = counts.tracked,
            .weight = counts.weight,
            .share = Rule::Share(options, counts.weight),
            .contended = AnotherWaits(options, internal::kNoIndex, at),
            .hogs_total = hogs_total_.load(std::memory_order_relaxed)};
  }
  CallerState ReadCaller(std::string_view caller, TimePoint now) const noexcept {
    const TimePoint at = callers_.Later(now);
    internal::CallerCounts counts;
    const auto state = callers_.StateAt(internal::FingerprintOf(caller, key_), at, counts);
    const Options options = InForce();
    const bool known = state.tracked || state.overflow;
    const std::uint32_t weight = known ? state.weight : WeightOf({.caller = caller});
    const std::uint32_t more = state.active ? 0 : 1;
    const Rule::Standing standing =
        Rule::Stand(options, {counts.active + more, counts.weight + more * weight}, state.demerit,
                    AnotherWaits(options, state.index, at), weight);
    return {.tracked = state.tracked,
            .overflow = state.overflow,
            .hog = standing.hog,
            .held = state.held,
            .weight = weight,
            .share = standing.share,
            .cap = standing.cap,
            .demerit = state.demerit};
  }

 private:
  using Callers = internal::CallerTable<Sync>;
  using Caller = typename Callers::Caller;

  // Whether a caller other than `self` was refused within the window, and was no hog then. The
  // entry of one that was is active, so its index has not been given to another caller since.
  bool AnotherWaits(const Options& options, std::uint32_t self, TimePoint at) const noexcept {
    return callers_.refusals().AnotherWithin(options.window, self, at);
  }
  Rule::Standing StandingOf(const Options& options, const Caller& caller) const noexcept {
    return Rule::Stand(options, callers_.active(), caller.demerit(),
                       AnotherWaits(options, caller.index(), caller.now()), caller.weight());
  }
  std::uint8_t WeightOf(const Request& request) const noexcept {
    return static_cast<std::uint8_t>(internal::Clamp<std::uint32_t>(weights_(request), 1, 255));
  }

  // Returns the caller's demerit after it.
  double CountRefusal(const Options& options, Caller& caller, bool at_fault,
                      Events& events) noexcept {
    const double before = caller.demerit();
    const double after = Rule::AfterRefusal(options, before, at_fault);
    caller.SetDemerit(after);
    if (after < options.hog_threshold) {
      callers_.refusals().Add(caller.index(), caller.now());
    } else if (before < options.hog_threshold) {
      hogs_total_.fetch_add(1, std::memory_order_relaxed);
      events.Push({.kind = EventKind::kCallerBecameHog,
                   .cause = Cause::kDemerit,
                   .before = before,
                   .after = after,
                   .value = after,
                   .threshold = options.hog_threshold,
                   .caller = caller.id()});
    }
    return after;
  }

  // What calls read of the options, as whole words, the doubles by their bits.
  struct Words {
    std::int64_t budget, window, max_penalty, blame_victims;
    std::uint64_t demerit_per_denial, decay_per_second, hog_threshold;
  };
  static constexpr Words WordsOf(const Options& o) noexcept {
    const auto bits = [](double x) { return std::bit_cast<std::uint64_t>(x); };
    return {o.budget,
            o.window.count(),
            o.max_penalty.count(),
            o.blame_victims ? 1 : 0,
            bits(o.demerit_per_denial),
            bits(o.decay_per_second),
            bits(o.hog_threshold)};
  }
  Options InForce() const noexcept {
    const Words words = words_.Read();
    const auto number = [](std::uint64_t bits) { return std::bit_cast<double>(bits); };
    Options o;
    o.budget = words.budget;
    o.window = Duration(words.window);
    o.demerit_per_denial = number(words.demerit_per_denial);
    o.decay_per_second = number(words.decay_per_second);
    o.max_penalty = Duration(words.max_penalty);
    o.hog_threshold = number(words.hog_threshold);
    o.blame_victims = words.blame_victims != 0;
    return o;
  }

  internal::Published<Sync, Words> words_;
  const internal::Fingerprint key_;
  [[no_unique_address]] const Weights weights_{};
  typename Sync::Mutex configuring_;
  Callers callers_;
  typename Sync::template Atomic<std::uint64_t> hogs_total_{0};
};

using DemeritTracker = BasicDemeritTracker<>;
template <class Weights>
using WeightedDemeritTracker = BasicDemeritTracker<StdSync, Weights>;
static_assert(Policy<DemeritTracker>);

}  // namespace shed

#endif  // SHED_DEMERIT_TRACKER_H_
