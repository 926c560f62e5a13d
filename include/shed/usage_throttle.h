// Holds each caller to an allowance: first its calls are delayed, more and more, then refused.
//
// Use it where one caller's tool must not crowd out the others over minutes, and where what a call
// costs is known only when it is done: database time, bytes, pages. Tell callers where they stand
// (ReadCaller), so that they can slow down before they are slowed. Not for the second's overload:
// put a limit of what is in flight behind it. Not where names are free for the asking: each name
// has an allowance, so `caller` must be an authenticated identity, or from a bounded set.
//
// Algorithm: a call's cost is in use from its admission on, and settled by Charge when it is known.
// Use drains evenly, `soft` units per `window`, and a window after the caller's latest call began
// it is gone altogether (usage_meter.h says what that differs in from a true sum). With `used`
// units in use, a call of `cost` is
//   admitted at once   if used + cost <= soft, or nothing is in use
//   refused            if used + cost > hard
//   delayed            else, until used + cost will be no more than soft, by what drains, and
//                      `longest_wait` at most
// So one delayed call begins after another, in the time that their cost takes to drain, and the
// delay grows for as long as a caller asks for more than its rate. A call that does not accept the
// delay (Request::max_wait), or finds `max_delayed` admissions waiting, is refused. A refused call
// uses nothing, and puts off nobody.
//
// Until a call is settled it counts at its cost: give an estimate. Where that is far too low, a
// caller that asks for much at once is not seen to use it until the first of its calls are done,
// which for delayed ones may be `longest_wait` later. (In the lab's `fair-use` a tool's calls come
// to twice what it said, and users do not notice it.)
//
// The library never sleeps: a delayed call is admitted now and told when to begin
// (AdmissionGuard::wait). In a limiter with a policy that holds calls in flight no wait is offered,
// so there all delays are refusals with a hint: for delays, put this one in a limiter of its own
// and ask that one first.
//
// State: usage_callers.h: 88 bytes for each of max_callers, and up to 5 KB; 20 bytes for each of
// max_delayed; all taken when it is made. Time is the `now` of the call; where it is older than
// what the caller's entry has seen, nothing has drained and nothing moves back.
//
// Locking: a mutex for each of up to 64 parts of the callers, held for about fifty instructions; so
// callers seldom wait for each other, and calls of one caller do. A mutex for the waiting places,
// where a call is delayed; one where a caller comes or is forgotten. Options are read whole,
// without a lock.
//
// Source: Azure DevOps' rate limits (delay, then refusal; limit, remaining and reset told before);
// the leaky bucket as a meter, J. Turner, 1986.
#ifndef SHED_USAGE_THROTTLE_H_
#define SHED_USAGE_THROTTLE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>

#include "shed/internal/bounds.h"
#include "shed/internal/fingerprint.h"
#include "shed/internal/int128.h"
#include "shed/internal/published.h"
#include "shed/internal/rate_in_ticks.h"
#include "shed/internal/usage_callers.h"
#include "shed/internal/usage_meter.h"
#include "shed/internal/validate.h"
#include "shed/internal/waiting_places.h"
#include "shed/policy.h"
#include "shed/sync.h"

namespace shed {

struct UsageThrottleOptions {
  // The allowance: units that a caller may use per `window` without a delay, all at once or evenly.
  // Default 200, range 1 to 1'000'000'000'000.
  std::int64_t soft = 200;
  // Units in use above which calls are refused. Default 400, range soft to 1'000'000'000'000.
  std::int64_t hard = 400;
  // In which `soft` units drain, and after which nothing is held against a caller that has stopped.
  // Default 5 min, range 1 us to 366 days.
  Duration window = std::chrono::minutes(5);
  // The longest delay. Default 30 s, range 1 us to 24 h. Where calls accept less (max_wait), they
  // are refused above that.
  Duration longest_wait = std::chrono::seconds(30);
  // How many admissions, of all callers, may wait for their start at once. Default 100, range 0 to
  // 1'000'000. One caller can have them all; whoever else would be delayed is then refused, with
  // the hint. With 0 there are no delays.
  std::int64_t max_delayed = 100;
  // How many callers are told apart. Default 1000, range 1 to 1'000'000.
  std::int64_t max_callers = 1000;
  // Keys the fingerprints. Any value. Where callers can choose their names, a secret one, drawn
  // when the service starts. Default 0.
  std::uint64_t seed = 0;

  // Returns "" if every field is in range, else a sentence that names the field and the range.
  constexpr std::string_view Problem() const noexcept {
    constexpr std::int64_t kMostUnits = 1'000'000'000'000;
    if (soft < 1 || soft > kMostUnits) return "soft: want 1 to 1000000000000 units";
    if (hard < soft || hard > kMostUnits) return "hard: want soft to 1000000000000 units";
    if (window < std::chrono::microseconds(1) || window > std::chrono::hours(24 * 366)) {
      return "window: want 1 us to 366 days";
    }
    if (longest_wait < std::chrono::microseconds(1) || longest_wait > std::chrono::hours(24)) {
      return "longest_wait: want 1 us to 24 h";
    }
    if (max_delayed < 0 || max_delayed > 1'000'000) return "max_delayed: want 0 to 1000000";
    if (max_callers < 1 || max_callers > 1'000'000) return "max_callers: want 1 to 1000000";
    return "";
  }
};

// Thread-safe: any member, any thread. Never allocates or throws after construction.
template <class Sync = StdSync>
class BasicUsageThrottle {
 public:
  using Options = UsageThrottleOptions;
  static constexpr std::string_view kName = "usage_throttle";

  struct Ticket {
    Ticket() noexcept = default;  // As that of a std::chrono::time_point is, too.

    std::uint32_t index = internal::kNoIndex;  // Of the entry; kNoIndex once it has ended.
    std::uint32_t generation = 0;  // Of the entry: a copy kept too long changes nothing.
    std::uint64_t units = 0;       // What the call is settled at.
    std::uint64_t mark = 0;        // What had been added in all, this call's own included.
    TimePoint used_before{};       // What used_at was before the call.
    typename internal::WaitingPlaces<Sync>::Taken place{};
  };
  struct Snapshot {
    std::uint64_t soft = 0;           // Units.
    std::uint64_t hard = 0;           // Units.
    std::uint32_t waiting = 0;        // Admissions whose start has not come.
    std::uint32_t max_delayed = 0;    // As many may be.
    std::uint32_t tracked = 0;        // Callers with an entry of their own, at most max_callers.
    std::uint64_t overflow_used = 0;  // Units in use by callers without one,
    std::uint32_t overflow_in_flight = 0;  // and their calls in flight.
    std::uint64_t delayed_total = 0;       // How often a caller began to be delayed,
    std::uint64_t blocked_total = 0;       // began to be blocked,
    std::uint64_t recovered_total = 0;     // and was seen at no more than half of soft again.
  };
  // One caller, as its next call will find it: what a service tells it, with every answer.
  struct CallerState {
    bool tracked = false;     // It has an entry of its own.
    bool overflow = false;    // It has none, and there is no room: the figures are the overflow's.
    std::uint64_t limit = 0;  // Units: soft.
    std::uint64_t used = 0;   // Units in use, rounded up; what is in flight is at its cost.
    std::uint64_t remaining = 0;  // Units that it may use at once without a delay.
    Duration reset{0};            // Until nothing is in use, if it stops.
    Duration delay{0};        // What a call of one unit would have to wait; zero if it is blocked.
    bool blocked = false;     // A call of one unit would be refused whatever it accepts.
    Duration retry_after{0};  // Until a call of one unit would be admitted at once.
    std::uint32_t in_flight = 0;  // Calls.
  };

  // Throws std::invalid_argument with options.Problem() unless that is "".
  explicit BasicUsageThrottle(const Options& options)
      : terms_(TermsOf(internal::Checked(options))),
        key_(internal::FingerprintKey(options.seed)),
        callers_(static_cast<std::uint32_t>(options.max_callers)),
        places_(static_cast<std::uint32_t>(options.max_delayed)) {}
  BasicUsageThrottle(const BasicUsageThrottle&) = delete;
  BasicUsageThrottle& operator=(const BasicUsageThrottle&) = delete;

  // Refuses with Reason::kUsage, Scope::kCaller, and the exact time until the same call would be
  // admitted at once if its caller asks for nothing else meanwhile. A cost of 0 counts as 1.
  Verdict Admit(const Request& request, TimePoint now, Ticket& ticket, Events& events) noexcept {
    const std::uint64_t cost = internal::Max<std::uint64_t>(request.cost, 1);
    const Terms terms = terms_.Read();
    Held caller = callers_.Ask(internal::FingerprintOf(request.caller, key_), terms, now);
    const Decision decision = Decide(terms, caller->meter, cost, now);
    NoteStage(caller, terms, decision, cost, events);
    Taken place;
    if (decision.wait > Duration(0)) {
      if (!decision.blocked && decision.wait <= request.max_wait) {
        place = places_.Take(static_cast<std::uint32_t>(terms.max_delayed), now,
                             After(now, decision.wait));
      }
      if (!place) return Verdict::Refuse(Reason::kUsage, decision.until_free, Scope::kCaller);
    }
    ticket.index = caller.index();
    ticket.generation = caller->generation;
    ticket.used_before = caller->meter.used_at();
    ticket.units = caller->meter.Add(terms, cost, now, After(now, decision.wait));
    ticket.mark = caller->meter.added();
    ticket.place = place;
    ++caller->in_flight;
    return Verdict::Admit(decision.wait);
  }

  // As if the call had never been: it has used nothing, and its waiting place is free.
  void Cancel(Ticket& ticket, const Verdict&, TimePoint now) noexcept {
    Held caller = End(ticket);
    if (!caller) return;
    const Terms terms = terms_.Read();
    caller->meter.Undo(terms, ticket.units, ticket.mark, ticket.used_before, now);
    caller.ForgetIfNew(terms, now);
  }

  // What was settled stays in use, and drains; what was not charged counts at its cost. One that
  // ends before its start gives its waiting place back: Charge(0) first if nothing was done.
  void Complete(Ticket& ticket, Outcome) noexcept { End(ticket); }

  // Settles the call at `units`, 0 for nothing: more than before is added now, whatever is in use
  // (a caller may come to stand far above `hard`, and is refused until that has drained, a window
  // at most); less is taken back, as far as it has not drained since. The last Charge counts. After
  // the end it does nothing.
  void Charge(Ticket& ticket, std::uint64_t units, TimePoint now) noexcept {
    if (ticket.index == internal::kNoIndex) return;
    const Held caller = callers_.Of(ticket.index, ticket.generation);
    if (!caller) return;
    const Terms terms = terms_.Read();
    if (units < ticket.units) {
      caller->meter.TakeBack(terms, ticket.units - units, ticket.mark, now);
      ticket.units = units;
    } else if (units > ticket.units) {
      const std::uint64_t added = caller->meter.Add(terms, units - ticket.units, now, now);
      ticket.units += added;
      ticket.mark += added;
    }
  }

  // Puts `options` in force. Use, calls in flight and waits that were granted stay; what has
  // drained since a caller's latest call is reckoned with the new rate. What is taken when it is
  // made stays as it was: max_callers and seed are not looked at, max_delayed can be no more than
  // it was then. Returns "" or, changing nothing, the sentence that says what is wrong.
  std::string_view Configure(const Options& options, TimePoint) noexcept {
    const std::string_view problem = options.Problem();
    if (!problem.empty()) return problem;
    if (options.max_delayed > places_.capacity()) {
      return "max_delayed: want at most what it was made with";
    }
    terms_.Write(TermsOf(options));
    return "";
  }

  // Costs O(1), and a step for each wait that ended since the latest call that was delayed.
  Snapshot Read(TimePoint now) const noexcept {
    const Terms terms = terms_.Read();
    Snapshot snapshot{.soft = static_cast<std::uint64_t>(terms.soft),
                      .hard = static_cast<std::uint64_t>(terms.hard),
                      .waiting = places_.CountAt(now),
                      .max_delayed = static_cast<std::uint32_t>(terms.max_delayed),
                      .tracked = callers_.tracked(),
                      .delayed_total = delayed_.load(std::memory_order_relaxed),
                      .blocked_total = blocked_.load(std::memory_order_relaxed),
                      .recovered_total = recovered_.load(std::memory_order_relaxed)};
    const Held overflow = callers_.Overflow();
    snapshot.overflow_used = overflow->meter.UnitsAt(terms, now);
    snapshot.overflow_in_flight = overflow->in_flight;
    return snapshot;
  }

  // For the headers of every answer, also before any delay: through the limiter,
  //   limiter.Apply<UsageThrottle>([&](auto& throttle, TimePoint now, Events&) {
  //     return throttle.ReadCaller(user, now); });
  CallerState ReadCaller(std::string_view name, TimePoint now) const noexcept {
    const Terms terms = terms_.Read();
    const auto limit = static_cast<std::uint64_t>(terms.soft);
    const Held caller = callers_.Peek(internal::FingerprintOf(name, key_), terms, now);
    if (!caller) return {.limit = limit, .remaining = limit};
    const internal::UsageMeter& meter = caller->meter;
    const bool overflow = caller.index() == callers_.overflow();
    const std::uint64_t used = meter.UnitsAt(terms, now);
    const Decision next = Decide(terms, meter, 1, now);
    return {.tracked = !overflow,
            .overflow = overflow,
            .limit = limit,
            .used = used,
            .remaining = used < limit ? limit - used : 0,
            .reset = meter.Until(terms, 0, now),
            .delay = next.blocked ? Duration(0) : next.wait,
            .blocked = next.blocked,
            .retry_after = next.until_free,
            .in_flight = caller->in_flight};
  }

  // Whether nothing is in use or in flight: whoever asks is answered as by a new one. Looks at
  // every entry, up to the first that is in use: behind Keyed, give it few max_callers.
  bool AsNew(TimePoint now) const noexcept { return callers_.AsNew(terms_.Read(), now); }

 private:
  using Terms = internal::UsageTerms;
  using Callers = internal::UsageCallers<Sync>;
  using Held = typename Callers::Held;
  using Taken = typename internal::WaitingPlaces<Sync>::Taken;
  enum Stage : std::uint8_t { kFree, kDelayed, kBlocked };  // The worst since it was last calm.

  static constexpr Terms TermsOf(const Options& o) noexcept {
    const internal::RateInTicks rate(o.soft, o.window);
    return {.soft = o.soft,
            .hard = o.hard,
            .window = o.window.count(),
            .longest_wait = o.longest_wait.count(),
            .max_delayed = o.max_delayed,
            .ticks_per_ns = rate.ticks_per_ns,
            .ticks_per_unit = rate.ticks_per_unit};
  }

  struct Decision {
    internal::Int128 level;  // What is in use, in ticks.
    Duration until_free{0};  // Until the call would be admitted at once.
    Duration wait{0};        // What it must wait, if it is not blocked.
    bool blocked = false;
  };
  // The rule, pure.
  static constexpr Decision Decide(const Terms& terms, const internal::UsageMeter& meter,
                                   std::uint64_t cost, TimePoint now) noexcept {
    Decision decision{.level = meter.LevelAt(terms, now)};
    const internal::Int128 free = terms.Within(terms.soft, cost);
    if (decision.level <= free) return decision;
    decision.until_free = meter.Until(terms, free, now);
    decision.wait = internal::Min(decision.until_free, Duration(terms.longest_wait));
    decision.blocked = decision.level > terms.Within(terms.hard, cost);
    return decision;
  }

  // Tells when a caller rises above soft or hard, once until it has come down to half of soft: one
  // that keeps close to its allowance crosses it with every call.
  void NoteStage(Held& caller, const Terms& terms, const Decision& decision, std::uint64_t cost,
                 Events& events) noexcept {
    const Stage stage = decision.blocked              ? kBlocked
                        : decision.wait > Duration(0) ? kDelayed
                                                      : kFree;
    const internal::Int128 with = decision.level + terms.Ticks(cost);
    if (stage > caller->stage) {
      caller->stage = stage;
      if (stage == kBlocked) {
        Tell(EventKind::kCallerBlocked, blocked_, caller, terms, with, terms.hard, events);
      } else {
        Tell(EventKind::kCallerDelayed, delayed_, caller, terms, with, terms.soft, events);
      }
    } else if (stage == kFree && caller->stage != kFree &&
               with * 2 <= terms.Within(terms.soft, 0)) {
      caller->stage = kFree;
      Tell(EventKind::kCallerRecovered, recovered_, caller, terms, with, terms.soft / 2, events);
    }
  }
  using Total = typename Sync::template Atomic<std::uint64_t>;
  static void Tell(EventKind kind, Total& total, const Held& caller, const Terms& terms,
                   internal::Int128 ticks, std::int64_t threshold, Events& events) noexcept {
    // Relaxed: a count publishes nothing.
    total.fetch_add(1, std::memory_order_relaxed);
    events.Push({.kind = kind,
                 .cause = Cause::kUsage,
                 .value = static_cast<double>(ticks) / static_cast<double>(terms.ticks_per_unit),
                 .threshold = static_cast<double>(threshold),
                 .caller = caller->low});
  }

  // The call is in flight no more, and waits no more. Returns its caller, or nobody.
  Held End(Ticket& ticket) noexcept {
    if (ticket.index == internal::kNoIndex) return {};
    if (ticket.place) places_.GiveBack(std::exchange(ticket.place, Taken{}));
    Held caller = callers_.Of(std::exchange(ticket.index, internal::kNoIndex), ticket.generation);
    // Not below zero, whatever is done with copies of a ticket.
    if (caller && caller->in_flight > 0) --caller->in_flight;
    return caller;
  }

  internal::Published<Sync, Terms> terms_;
  const internal::Fingerprint key_;
  Callers callers_;
  internal::WaitingPlaces<Sync> places_;
  Total delayed_{0};
  Total blocked_{0};
  Total recovered_{0};
};

using UsageThrottle = BasicUsageThrottle<>;
static_assert(Policy<UsageThrottle>);

}  // namespace shed

#endif  // SHED_USAGE_THROTTLE_H_
