// Caps the units admitted per time, and allows bursts.
//
// Use it for what is sold or agreed by the second: a plan, a quota, a dependency's limit. Not as
// the only guard of a service's health: a rate is a snapshot of a capacity that may be gone (the
// lab's `degrade` scenario shows the collapse behind a perfect rate limit).
//
// Algorithm: GCRA (ITU-T I.371), the token bucket as one number: the time `full_at` at which the
// bucket will be full again. A call of cost c moves it to max(full_at, now) + c / rate, and is
// admitted if that lies at most burst / rate ahead of now. Starts full. It is exact: with rate/per
// in lowest terms R/P a tick is 1/R ns and a unit is P ticks, so all is whole numbers; a caller
// that waits exactly `retry_after` is admitted, and polling loses no fraction.
//
// State: one word: a 4-bit epoch and 60 bits of ticks since the anchor of that epoch. Once now is
// 2^58 ticks past the anchor, one thread opens the next epoch, anchored 2^56 ticks before now. So
// does Configure, as an epoch has its own rate and burst.
// What it costs: a bucket that was full before the anchor is full since the anchor, so a clock
// reading older than 2^56 ticks (72 million seconds at 1000/s, 0.036 s at 1'999'999'993/s, where
// nothing cancels) may be refused what an older bucket would have given. It is never given more.
//
// Locking: none; a mutex when an epoch opens (every 2^57 ticks or more, and in Configure). A thread
// that stops between load and compare-exchange for exactly 16 epochs, and finds the same ticks, may
// admit one call by its old reading.
#ifndef SHED_RATE_LIMITER_H_
#define SHED_RATE_LIMITER_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "shed/internal/bounds.h"
#include "shed/internal/hints.h"
#include "shed/internal/int128.h"
#include "shed/internal/validate.h"
#include "shed/policy.h"
#include "shed/rate_limiter_options.h"
#include "shed/sync.h"

namespace shed {

// Thread-safe: any member, any thread. Never allocates or throws after construction.
template <class Sync = StdSync>
class BasicRateLimiter {
 public:
  using Options = RateLimiterOptions;
  static constexpr std::string_view kName = "rate_limiter";

  struct Hot {
    typename Sync::template Atomic<std::uint64_t> word{0};  // Epoch above, `full_at` below.
  };
  struct Ticket {
    std::int64_t units = 0;  // Paid and not given back.
  };
  struct Snapshot {
    std::int64_t available = 0;  // Whole units that could be admitted now. In [0, burst].
    std::int64_t burst = 0;
    Duration full_in{0};  // Until all of `burst` is available, if nobody asks.
  };

  // Throws std::invalid_argument with options.Problem() unless that is "".
  BasicRateLimiter(const Options& options, Hot& hot) : hot_(hot) {
    // Full since the beginning of time, whatever the clock's zero is.
    Set(0, TermsOf(internal::Checked(options)), std::numeric_limits<std::int64_t>::min());
    hot_.word.store(0, std::memory_order_relaxed);
  }
  BasicRateLimiter(const BasicRateLimiter&) = delete;
  BasicRateLimiter& operator=(const BasicRateLimiter&) = delete;

  // The whole rule, pure, in ticks since an anchor. The call is admitted at once if `due` is not
  // after `now`.
  struct Decision {
    std::int64_t full_at;  // What it becomes if the call is admitted.
    std::int64_t due;      // From when on it would be.
  };
  static constexpr Decision Decide(std::int64_t burst_ticks, std::int64_t full_at, std::int64_t now,
                                   std::int64_t cost) noexcept {
    const std::int64_t next = internal::Max(full_at, now) + cost;
    return {.full_at = next, .due = next - burst_ticks};
  }

  // Refuses with Reason::kRate and the exact time until the same call would be admitted at once if
  // nobody else asks; with kCostTooLarge and no hint where the cost is above the burst. A request
  // with `max_wait` is admitted with a wait up to that (a reservation), as far as 2^59 ticks ahead.
  Verdict Admit(const Request& request, TimePoint now, Ticket& ticket) noexcept {
    const std::uint64_t cost = internal::Max<std::uint64_t>(request.cost, 1);
    // Acquire: what an epoch has of its own is set before the word that names it.
    std::uint64_t seen = hot_.word.load(std::memory_order_acquire);
    for (;;) {
      const Since since = SinceAnchor(seen, now);
      std::int64_t ticks = 0;
      if (__builtin_mul_overflow(cost, since.terms.ticks_per_unit, &ticks) ||
          ticks > since.terms.burst_ticks) [[unlikely]] {
        if (!IsCurrent(seen)) continue;
        return Verdict::Refuse(Reason::kCostTooLarge, std::nullopt, Scope::kCaller);
      }
      const Decision decision = Decide(since.terms.burst_ticks, FullAt(seen), since.ticks, ticks);
      Duration wait{0};
      if (decision.due > since.ticks) {
        wait = Until(decision.due, since);
        if (wait > request.max_wait || decision.full_at > kMaxFullAt) {
          if (IsCurrent(seen)) [[likely]]
            return Verdict::Refuse(Reason::kRate, wait);
          continue;
        }
      }
      if (Exchange(seen, decision.full_at)) {
        ticket.units = static_cast<std::int64_t>(cost);
        return Verdict::Admit(wait);
      }
    }
  }

  // Gives back what the ticket paid; never more than that, and never above the burst.
  void Cancel(Ticket& ticket, const Verdict&, TimePoint) noexcept {
    GiveBack(ticket.units);
    ticket.units = 0;
  }
  // What was admitted stays paid: a ticket that has ended gives nothing back.
  void Complete(Ticket& ticket, Outcome) noexcept { ticket.units = 0; }

  // Settles the call at `units` (0 is none): the difference to what was paid so far is taken from
  // the bucket, below zero if need be (as far as 2^59 ticks), or given back.
  void Charge(Ticket& ticket, std::uint64_t units, TimePoint now) noexcept {
    const auto paid = static_cast<std::uint64_t>(ticket.units);
    if (units <= paid) {
      GiveBack(static_cast<std::int64_t>(paid - units));
      ticket.units = static_cast<std::int64_t>(units);
      return;
    }
    std::uint64_t seen = hot_.word.load(std::memory_order_acquire);
    for (;;) {
      // First: it may open an epoch, and reload `seen`.
      const Since since = SinceAnchor(seen, now);
      const std::int64_t base = internal::Max(FullAt(seen), since.ticks);
      const std::int64_t room = internal::Max<std::int64_t>(kMaxFullAt - base, 0);
      const std::int64_t each = since.terms.ticks_per_unit;
      const std::uint64_t most = static_cast<std::uint64_t>(room / each);
      const auto more = static_cast<std::int64_t>(internal::Min(units - paid, most));
      if (Exchange(seen, base + more * each)) {
        ticket.units += more;
        return;
      }
    }
  }

  // Puts a new rate and burst in force at `now`. The units that are there stay, up to the new
  // burst, to a tick below, and so does what is owed; a larger burst fills at the new rate. So
  // changing to and fro gives nobody anything. Returns "" or, changing nothing, options.Problem().
  std::string_view Configure(const Options& options, TimePoint now) noexcept {
    const std::string_view problem = options.Problem();
    if (!problem.empty()) return problem;
    const Terms next = TermsOf(options);
    const MutexLock lock(mutex_);
    std::uint64_t word = hot_.word.load(std::memory_order_acquire);
    const Era old = EraOf(word);
    const std::int64_t at = internal::Max(now.time_since_epoch().count(), old.anchor);
    const std::int64_t anchor = SaturatingAdd(at, -(kBehindTicks / next.ticks_per_ns));
    const std::size_t epoch = NextEpoch(word);
    Set(epoch, next, anchor);
    std::int64_t full_at = 0;
    do {
      full_at = Carried(FullAt(word), old, {.anchor = anchor, .terms = next}, at);
    } while (!Move(word, epoch, full_at));
    return "";
  }

  // Whether the bucket is full: whoever asks from now on is answered as by a new one.
  bool AsNew(TimePoint now) const noexcept { return Read(now).full_in == Duration(0); }

  Snapshot Read(TimePoint now) const noexcept {
    std::uint64_t word = hot_.word.load(std::memory_order_acquire);
    Era era{};
    do {
      era = EraOf(word);
    } while (!IsCurrent(word));
    const Terms& terms = era.terms;
    const internal::Int128 since =
        (internal::Int128{now.time_since_epoch().count()} - era.anchor) * terms.ticks_per_ns;
    const internal::Int128 missing = internal::Max<internal::Int128>(FullAt(word) - since, 0);
    const internal::Int128 available = (terms.burst_ticks - missing) / terms.ticks_per_unit;
    return {.available = internal::Max<std::int64_t>(internal::SaturateToInt64(available), 0),
            .burst = terms.burst_ticks / terms.ticks_per_unit,
            .full_in = Duration(internal::SaturateToInt64((missing + terms.ticks_per_ns - 1) /
                                                          terms.ticks_per_ns))};
  }

 private:
  static constexpr int kTickBits = 60;
  static constexpr std::size_t kEpochs = 16;
  static constexpr std::size_t kEras = 2;  // Of the latest epochs, used in turn.
  static constexpr std::int64_t kTurnTicks = std::int64_t{1} << 58;
  static constexpr std::int64_t kBehindTicks = std::int64_t{1} << 56;
  // Leaves room for one burst below the top of the word.
  static constexpr std::int64_t kMaxFullAt = (std::int64_t{1} << 59) + kTurnTicks - 1;
  static_assert(kTurnTicks + internal::kMaxBurstTicks <= kMaxFullAt + 1);

  // The options, in ticks.
  struct Terms {
    std::int64_t ticks_per_ns;
    std::int64_t ticks_per_unit;
    std::int64_t burst_ticks;
  };
  // What an epoch has of its own.
  struct Era {
    std::int64_t anchor;
    Terms terms;
  };
  // A time since an epoch's anchor. Before it, `ticks` is held at a value below which no decision
  // differs; `ns` is exact.
  struct Since {
    std::int64_t ns;
    std::int64_t ticks;
    Terms terms;
  };

  static constexpr Terms TermsOf(const Options& options) noexcept {
    const internal::RateInTicks ticks(options.rate, options.per);
    return {ticks.ticks_per_ns, ticks.ticks_per_unit, options.burst * ticks.ticks_per_unit};
  }

  static constexpr std::size_t Epoch(std::uint64_t word) noexcept { return word >> kTickBits; }
  static constexpr std::size_t NextEpoch(std::uint64_t word) noexcept {
    return (Epoch(word) + 1) % kEpochs;
  }
  // Acquire, so that IsCurrent looks later, and finds a later word where any of it is a later
  // epoch's.
  Era EraOf(std::uint64_t word) const noexcept {
    const Words& words = eras_[Epoch(word) % kEras];
    const auto load = [&](std::size_t i) { return words[i].load(std::memory_order_acquire); };
    return {.anchor = load(0), .terms = {load(1), load(2), load(3)}};
  }
  // Before the word that names it. Release: who finds any of it in place of an earlier epoch's
  // finds a later word, too.
  void Set(std::size_t epoch, const Terms& terms, std::int64_t anchor) noexcept {
    Words& words = eras_[epoch % kEras];
    words[0].store(anchor, std::memory_order_release);
    words[1].store(terms.ticks_per_ns, std::memory_order_release);
    words[2].store(terms.ticks_per_unit, std::memory_order_release);
    words[3].store(terms.burst_ticks, std::memory_order_release);
  }
  // True if the era that was read for `seen` is its epoch's own; else it may be that of a later
  // one, or of both in parts, and `seen` is reloaded. Who goes on to exchange the word need not
  // ask.
  bool IsCurrent(std::uint64_t& seen) const noexcept {
    const std::uint64_t word = hot_.word.load(std::memory_order_acquire);
    if (Epoch(word) == Epoch(seen)) [[likely]]
      return true;
    seen = word;
    return false;
  }
  static constexpr std::int64_t FullAt(std::uint64_t word) noexcept {
    return static_cast<std::int64_t>(word & ((std::uint64_t{1} << kTickBits) - 1));
  }
  static constexpr std::uint64_t Pack(std::size_t epoch, std::int64_t full_at) noexcept {
    return std::uint64_t{epoch} << kTickBits | static_cast<std::uint64_t>(full_at);
  }

  bool Exchange(std::uint64_t& seen, std::int64_t full_at) noexcept {
    // Release, so that the word keeps the anchor of its epoch visible to whoever acquires it from
    // here. Acquire on failure, to see the anchor of a new epoch.
    return hot_.word.compare_exchange_weak(seen, Pack(Epoch(seen), full_at),
                                           std::memory_order_release, std::memory_order_acquire);
  }

  // Reads `now` against the anchor of the epoch of `seen`; opens a new epoch where it lies too far
  // ahead, and reloads `seen` then.
  Since SinceAnchor(std::uint64_t& seen, TimePoint now) noexcept {
    for (;;) {
      const std::int64_t at = now.time_since_epoch().count();
      const auto [anchor, terms] = EraOf(seen);
      std::int64_t ns = 0;
      std::int64_t ticks = 0;
      if (!__builtin_sub_overflow(at, anchor, &ns)) [[likely]] {
        if (!__builtin_mul_overflow(ns, terms.ticks_per_ns, &ticks) && ticks >= -kTurnTicks &&
            ticks <= kTurnTicks) [[likely]] {
          return {.ns = ns, .ticks = ticks, .terms = terms};
        }
        if (ns < 0) return {.ns = ns, .ticks = -kTurnTicks, .terms = terms};
      } else if (at < anchor) {
        return {
            .ns = std::numeric_limits<std::int64_t>::min(), .ticks = -kTurnTicks, .terms = terms};
      }
      OpenEpoch(seen, now);
      seen = hot_.word.load(std::memory_order_acquire);
    }
  }

  SHED_SELDOM void OpenEpoch(std::uint64_t seen, TimePoint now) noexcept {
    const MutexLock lock(mutex_);
    std::uint64_t word = hot_.word.load(std::memory_order_acquire);
    if (Epoch(word) != Epoch(seen)) return;  // Another thread did.
    const auto [old_anchor, terms] = EraOf(word);
    const std::int64_t at = now.time_since_epoch().count();
    // Sixteen others did while this thread stood still: an anchor set back would overflow the word.
    if ((internal::Int128{at} - old_anchor) * terms.ticks_per_ns <= kTurnTicks) return;
    const std::int64_t anchor = SaturatingAdd(at, -(kBehindTicks / terms.ticks_per_ns));
    const internal::Int128 moved = (internal::Int128{anchor} - old_anchor) * terms.ticks_per_ns;
    const std::size_t next = NextEpoch(word);
    Set(next, terms, anchor);
    internal::Int128 full_at = 0;
    do {
      full_at = internal::Max<internal::Int128>(FullAt(word) - moved, 0);
    } while (!Move(word, next, static_cast<std::int64_t>(full_at)));
  }

  // Into the next epoch; under the mutex. Reloads `word` where it has changed.
  bool Move(std::uint64_t& word, std::size_t epoch, std::int64_t full_at) noexcept {
    // Release: publishes the era.
    return hot_.word.compare_exchange_weak(word, Pack(epoch, full_at), std::memory_order_release,
                                           std::memory_order_acquire);
  }

  // The time from `since` until `due` ticks, rounded up to whole nanoseconds. As since.ticks is
  // since.ns * R, ceil((due - since.ticks) / R) = ceil(due / R) - since.ns.
  static Duration Until(std::int64_t due, const Since& since) noexcept {
    const std::int64_t r = since.terms.ticks_per_ns;
    const std::int64_t due_ns = r == 1 ? due : due / r + (due % r > 0 ? 1 : 0);
    std::int64_t ns = 0;
    return __builtin_sub_overflow(due_ns, since.ns, &ns) ? Duration::max() : Duration(ns);
  }

  void GiveBack(std::int64_t units) noexcept {
    if (units == 0) return;
    std::uint64_t seen = hot_.word.load(std::memory_order_acquire);
    std::int64_t full_at = 0;
    do {
      std::int64_t ticks = 0;
      // A ticket charged up for long may have paid more than the word holds: that fills the bucket.
      if (__builtin_mul_overflow(units, EraOf(seen).terms.ticks_per_unit, &ticks)) {
        ticks = kMaxFullAt;
      }
      // A bucket that is full since the anchor is as full as can be told: no lower than 0.
      full_at = internal::Max<std::int64_t>(FullAt(seen) - ticks, 0);
    } while (!Exchange(seen, full_at));
  }

  // What `full_at` of one era becomes in the next, of other terms, which begins at `at`.
  static constexpr std::int64_t Carried(std::int64_t full_at, const Era& old, const Era& era,
                                        std::int64_t at) noexcept {
    using Wide = internal::Int128;
    const Terms& was = old.terms;
    const Terms& is = era.terms;
    const Wide burst = Wide{is.burst_ticks / is.ticks_per_unit} * was.ticks_per_unit;
    if (burst <= was.burst_ticks) {
      // Since when there has been as much as the new burst.
      const Wide since = CeilDiv(full_at - was.burst_ticks + burst, was.ticks_per_ns) + old.anchor;
      if (since <= at) {
        return static_cast<std::int64_t>(
            internal::Max<Wide>((since - era.anchor) * is.ticks_per_ns, 0));
      }
    }
    const Wide missing =
        internal::Max<Wide>(full_at - (Wide{at} - old.anchor) * was.ticks_per_ns, 0);
    // Below 2^60, times less than 2^55.
    const Wide have = (was.burst_ticks - missing) * is.ticks_per_unit;
    const Wide lacks = is.burst_ticks + CeilDiv(-have, was.ticks_per_unit);
    const Wide next = (Wide{at} - era.anchor) * is.ticks_per_ns + lacks;
    return static_cast<std::int64_t>(internal::Clamp<Wide>(next, 0, kMaxFullAt));
  }
  // Rounded up, also below zero. `b` is above it.
  static constexpr internal::Int128 CeilDiv(internal::Int128 a, internal::Int128 b) noexcept {
    return a / b + (a % b > 0 ? 1 : 0);
  }

  using Words = std::array<typename Sync::template Atomic<std::int64_t>, 4>;
  Hot& hot_;
  std::array<Words, kEras> eras_{};
  typename Sync::Mutex mutex_;  // Held while an epoch opens.
};

using RateLimiter = BasicRateLimiter<>;
static_assert(Policy<RateLimiter>);
static_assert(sizeof(RateLimiter) + sizeof(RateLimiter::Hot) <= 128);

}  // namespace shed

#endif  // SHED_RATE_LIMITER_H_
