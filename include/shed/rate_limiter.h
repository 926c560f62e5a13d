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
// 2^58 ticks past the anchor, one thread opens the next epoch, anchored 2^56 ticks before now.
// What it costs: a bucket that was full before the anchor is full since the anchor, so a clock
// reading older than 2^56 ticks (72 million seconds at 1000/s, 0.036 s at 1'999'999'993/s, where
// nothing cancels) may be refused what an older bucket would have given. It is never given more.
//
// Locking: none; a mutex when an epoch opens (every 2^57 ticks or more). A thread that stops
// between load and compare-exchange for exactly 16 epochs, and finds the same ticks, may admit one
// call by its old reading.
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
#include "shed/internal/rate_in_ticks.h"
#include "shed/internal/validate.h"
#include "shed/policy.h"
#include "shed/sync.h"

namespace shed {

struct RateLimiterOptions {
  // Units per `per`, on average. Default 1000, range 1 to 2'000'000'000.
  std::int64_t rate = 1000;
  // Default 1 s, range 1 ns to 366 days.
  Duration per = std::chrono::seconds(1);
  // Units at once, after a pause. Default 100, range 1 to 2^58 / P, where P is `per` in ns divided
  // by its greatest common divisor with `rate`: 2.8e11 at 1000/s, 3335 at 1 per day.
  std::int64_t burst = 100;

  // Returns "" if every field is in range, else a sentence that names the field and the range.
  constexpr std::string_view Problem() const noexcept;
};

namespace internal {

inline constexpr std::int64_t kMaxRate = 2'000'000'000;
inline constexpr Duration kMaxPer = std::chrono::hours(24 * 366);
inline constexpr std::int64_t kMaxBurstTicks = std::int64_t{1} << 58;

}  // namespace internal

constexpr std::string_view RateLimiterOptions::Problem() const noexcept {
  if (rate < 1 || rate > internal::kMaxRate) return "rate: want 1 to 2000000000 units";
  if (per < Duration(1) || per > internal::kMaxPer) return "per: want 1 ns to 366 days";
  if (burst < 1) return "burst: want at least 1 unit";
  if (burst > internal::kMaxBurstTicks / internal::RateInTicks(rate, per).ticks_per_unit) {
    return "burst: want at most 2^58 / (per in ns / greatest common divisor of rate and per)";
  }
  return "";
}

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
  BasicRateLimiter(const Options& options, Hot& hot)
      : ticks_(internal::Checked(options).rate, options.per),
        burst_(options.burst),
        burst_ticks_(options.burst * ticks_.ticks_per_unit),
        epoch_ns_(kTurnTicks / ticks_.ticks_per_ns),
        hot_(hot) {
    // Full since the beginning of time, whatever the clock's zero is.
    anchors_[0].store(std::numeric_limits<std::int64_t>::min(), std::memory_order_relaxed);
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
    if (cost > static_cast<std::uint64_t>(burst_)) {
      return Verdict::Refuse(Reason::kCostTooLarge, std::nullopt, Scope::kCaller);
    }
    const auto units = static_cast<std::int64_t>(cost);
    // Acquire: an epoch's anchor is set before the word that names it.
    std::uint64_t seen = hot_.word.load(std::memory_order_acquire);
    for (;;) {
      const Since since = SinceAnchor(seen, now);
      const Decision decision =
          Decide(burst_ticks_, FullAt(seen), since.ticks, units * ticks_.ticks_per_unit);
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
        ticket.units = units;
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
      const std::uint64_t most = static_cast<std::uint64_t>(room / ticks_.ticks_per_unit);
      const auto more = static_cast<std::int64_t>(internal::Min(units - paid, most));
      if (Exchange(seen, base + more * ticks_.ticks_per_unit)) {
        ticket.units += more;
        return;
      }
    }
  }

  // Whether the bucket is full: whoever asks from now on is answered as by a new one.
  bool AsNew(TimePoint now) const noexcept { return Read(now).full_in == Duration(0); }

  Snapshot Read(TimePoint now) const noexcept {
    std::uint64_t word = hot_.word.load(std::memory_order_acquire);
    std::int64_t anchor = 0;
    do {
      anchor = AnchorOf(word);
    } while (!IsCurrent(word));
    const internal::Int128 since =
        (internal::Int128{now.time_since_epoch().count()} - anchor) * ticks_.ticks_per_ns;
    const internal::Int128 missing = internal::Max<internal::Int128>(FullAt(word) - since, 0);
    const internal::Int128 available = (burst_ticks_ - missing) / ticks_.ticks_per_unit;
    return {.available = internal::Max<std::int64_t>(internal::SaturateToInt64(available), 0),
            .burst = burst_,
            .full_in = Duration(internal::SaturateToInt64((missing + ticks_.ticks_per_ns - 1) /
                                                          ticks_.ticks_per_ns))};
  }

 private:
  static constexpr int kTickBits = 60;
  static constexpr std::size_t kEpochs = 16;
  static constexpr std::size_t kAnchors = 4;  // Of the latest epochs, used in turn.
  static constexpr std::int64_t kTurnTicks = std::int64_t{1} << 58;
  static constexpr std::int64_t kBehindTicks = std::int64_t{1} << 56;
  // Leaves room for one burst below the top of the word.
  static constexpr std::int64_t kMaxFullAt = (std::int64_t{1} << 59) + kTurnTicks - 1;
  static_assert(kTurnTicks + internal::kMaxBurstTicks <= kMaxFullAt + 1);

  // A time since an epoch's anchor. Before it, `ticks` is held at a value below which no decision
  // differs; `ns` is exact.
  struct Since {
    std::int64_t ns;
    std::int64_t ticks;
  };

  static constexpr std::size_t Epoch(std::uint64_t word) noexcept { return word >> kTickBits; }
  // Acquire, so that IsCurrent looks later, and finds what was there before the anchor.
  std::int64_t AnchorOf(std::uint64_t word) const noexcept {
    return anchors_[Epoch(word) % kAnchors].load(std::memory_order_acquire);
  }
  // True if the anchor that was read for `seen` is its epoch's own; else it may be one of four
  // epochs later, and `seen` is reloaded. Who goes on to exchange the word need not ask.
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
      const std::int64_t anchor = AnchorOf(seen);
      std::int64_t ns = 0;
      if (!__builtin_sub_overflow(at, anchor, &ns)) [[likely]] {
        if (ns >= -epoch_ns_ && ns <= epoch_ns_) [[likely]] {
          return {.ns = ns, .ticks = ns * ticks_.ticks_per_ns};
        }
        if (ns < 0) return {.ns = ns, .ticks = -kTurnTicks};
      } else if (at < anchor) {
        return {.ns = std::numeric_limits<std::int64_t>::min(), .ticks = -kTurnTicks};
      }
      OpenEpoch(seen, now);
      seen = hot_.word.load(std::memory_order_acquire);
    }
  }

  SHED_SELDOM void OpenEpoch(std::uint64_t seen, TimePoint now) noexcept {
    const MutexLock lock(mutex_);
    std::uint64_t word = hot_.word.load(std::memory_order_acquire);
    if (Epoch(word) != Epoch(seen)) return;  // Another thread did.
    const std::int64_t old_anchor = AnchorOf(word);
    const std::int64_t at = now.time_since_epoch().count();
    // Sixteen others did while this thread stood still: an anchor set back would overflow the word.
    if (internal::Int128{at} - old_anchor <= epoch_ns_) return;
    const std::int64_t anchor = SaturatingAdd(at, -(kBehindTicks / ticks_.ticks_per_ns));
    const internal::Int128 moved = (internal::Int128{anchor} - old_anchor) * ticks_.ticks_per_ns;
    const std::size_t next = (Epoch(word) + 1) % kEpochs;
    // Release: who finds it in place of one of four epochs before finds a later word, too.
    anchors_[next % kAnchors].store(anchor, std::memory_order_release);
    for (;;) {
      const internal::Int128 full_at = internal::Max<internal::Int128>(FullAt(word) - moved, 0);
      // Release: publishes the anchor.
      if (hot_.word.compare_exchange_weak(word, Pack(next, static_cast<std::int64_t>(full_at)),
                                          std::memory_order_release, std::memory_order_acquire)) {
        return;
      }
    }
  }

  // The time from `since` until `due` ticks, rounded up to whole nanoseconds. As since.ticks is
  // since.ns * R, ceil((due - since.ticks) / R) = ceil(due / R) - since.ns.
  Duration Until(std::int64_t due, const Since& since) const noexcept {
    const std::int64_t r = ticks_.ticks_per_ns;
    const std::int64_t due_ns = r == 1 ? due : due / r + (due % r > 0 ? 1 : 0);
    std::int64_t ns = 0;
    return __builtin_sub_overflow(due_ns, since.ns, &ns) ? Duration::max() : Duration(ns);
  }

  void GiveBack(std::int64_t units) noexcept {
    if (units == 0) return;
    std::int64_t ticks = 0;
    // A ticket charged up for long may have paid more than the word holds: that fills the bucket.
    if (__builtin_mul_overflow(units, ticks_.ticks_per_unit, &ticks)) ticks = kMaxFullAt;
    std::uint64_t seen = hot_.word.load(std::memory_order_acquire);
    // A bucket that is full since the anchor is as full as can be told: no lower than 0.
    while (!Exchange(seen, internal::Max<std::int64_t>(FullAt(seen) - ticks, 0))) {
    }
  }

  const internal::RateInTicks ticks_;
  const std::int64_t burst_;
  const std::int64_t burst_ticks_;
  const std::int64_t epoch_ns_;
  Hot& hot_;
  std::array<typename Sync::template Atomic<std::int64_t>, kAnchors> anchors_{};
  typename Sync::Mutex mutex_;  // Held while an epoch opens.
};

using RateLimiter = BasicRateLimiter<>;
static_assert(Policy<RateLimiter>);
static_assert(sizeof(RateLimiter) + sizeof(RateLimiter::Hot) <= 128);

}  // namespace shed

#endif  // SHED_RATE_LIMITER_H_
