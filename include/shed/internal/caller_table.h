// The callers that a demerit tracker knows: who holds what, who is active, and when each may be
// forgotten. Bounded memory, taken when the table is made; O(1) amortised per call.
//
// State: half a cache line for each caller (caller_slots.h), the units that they hold between them
// (unit_pool.h), a clock for each thread, and a ledger of who comes and goes (caller_ledger.h).
//
// Locking: an ordinary call locks its caller's entry for as long as the caller is judged, and
// besides writes only what is its thread's own. The ledger's mutex is taken when something has
// expired, or the entry is not as an ordinary call finds it: a few times per caller and window. It
// comes before an entry's lock, never after it. demerit_tracker.h says what is exact.
#ifndef SHED_INTERNAL_CALLER_TABLE_H_
#define SHED_INTERNAL_CALLER_TABLE_H_

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "shed/internal/annotations.h"
#include "shed/internal/bounds.h"
#include "shed/internal/caller_ledger.h"
#include "shed/internal/caller_slots.h"
#include "shed/internal/fingerprint.h"
#include "shed/internal/hints.h"
#include "shed/internal/index_list.h"
#include "shed/internal/latest_refusals.h"
#include "shed/internal/unit_pool.h"
#include "shed/sync.h"
#include "shed/time.h"

namespace shed::internal {

// Callers that are active: how many, and what they weigh together.
struct ActiveCallers {
  std::uint32_t count = 0;
  std::uint32_t weight = 0;

  // Each weighs 1.
  constexpr ActiveCallers(std::uint32_t n) noexcept : count(n), weight(n) {}
  constexpr ActiveCallers(std::uint32_t n, std::uint32_t w) noexcept : count(n), weight(w) {}
  static constexpr ActiveCallers FromBits(std::uint64_t bits) noexcept {
    return {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32)};
  }
  constexpr std::uint64_t bits() const noexcept { return std::uint64_t{weight} << 32 | count; }
};

template <class Sync>
class CallerTable {
  using Slots = CallerSlots<Sync>;
  using Held = typename Slots::Held;

 public:
  // A caller that asks, locked for as long as this lives; or nobody.
  class Caller {
   public:
    Caller() noexcept = default;
    Caller(CallerTable& table, Held&& held, TimePoint now) noexcept
        : table_(&table), held_(std::move(held)), now_(now) {}
    void Unlock() noexcept { held_.Unlock(); }

    explicit operator bool() const noexcept { return static_cast<bool>(held_); }
    TimePoint now() const noexcept { return now_; }
    std::uint32_t index() const noexcept { return held_.index(); }
    std::uint32_t generation() const noexcept { return held_.generation(); }
    std::uint32_t held() const noexcept { return held_->held; }
    std::uint64_t id() const noexcept { return held_->low.load(std::memory_order_relaxed); }
    std::uint32_t weight() const noexcept { return held_->weight; }
    double demerit() const noexcept { return held_.DemeritAt(now_, table_->page_.Decay()); }
    void SetDemerit(double demerit) noexcept { held_.SetDemerit(demerit, now_); }

    // Takes `units` for the caller, if as many are free.
    bool TryTake(std::uint32_t units) noexcept {
      if (!table_->units_.TryTake(Sync::Stripe(), units)) return false;
      held_->held += units;
      return true;
    }
    // Gives back at most `units`; returns how many that were.
    std::uint32_t Give(std::uint32_t units) noexcept { return table_->Give(held_, units); }

   private:
    CallerTable* table_ = nullptr;
    Held held_;
    TimePoint now_{};
  };

  // One caller, as its next call will find it.
  struct State {
    bool tracked = false;
    bool overflow = false;  // Not tracked, and there is no room.
    bool active = false;
    std::uint32_t index = kNoIndex;
    std::uint32_t held = 0;
    double demerit = 0;
    std::uint32_t weight = 1;
  };

  CallerTable(std::uint32_t units, std::uint32_t max_callers, Duration window,
              const DemeritDecay& decay)
      : slots_(max_callers),
        units_(units),
        terms_{.window = window, .decay = decay, .max_callers = max_callers},
        ledger_(terms_, slots_) {
    page_.Set(terms_);
  }

  // Other units, window and decay, at `now`. What callers hold stays.
  void Configure(std::uint32_t units, Duration window, const DemeritDecay& decay,
                 TimePoint now) noexcept {
    const TimePoint at = MoveTo(now);
    const LedgerLock lock(*this);
    ledger_.AdvanceTo(at);  // What has expired by the old terms.
    if (window > terms_.window) refusals_.ForgetBefore(terms_.window, ledger_.now());
    terms_ = {.window = window, .decay = decay, .max_callers = terms_.max_callers};
    page_.Set(terms_);
    ledger_.Restart();
    units_.Resize(units);
  }

  ActiveCallers active() const noexcept {
    return ActiveCallers::FromBits(page_.active.load(std::memory_order_relaxed));
  }
  std::uint32_t in_use() const noexcept { return units_.in_use(); }
  LatestRefusals<Sync>& refusals() noexcept { return refusals_; }
  const LatestRefusals<Sync>& refusals() const noexcept { return refusals_; }

  // A caller asks at `now`. Returns its entry, a new one, or the overflow if there is no room. Now
  // and then, and when it is new, it is weighed: weight() is 1 to 255.
  template <class Weight>
  Caller Ask(const Fingerprint& id, TimePoint now, const Weight& weight) noexcept {
    const TimePoint at = MoveTo(now);
    if (!IsDue(at)) [[likely]] {
      Held held = slots_.Find(id);
      if (held && page_.MayStay(*held, at)) [[likely]] {
        held->at = Max(held->at, at);
        return Caller(*this, std::move(held), at);
      }
    }
    const Asked asked = AskSlowly(id, at, weight());
    return Caller(*this, Held(slots_, asked.index, asked.generation), asked.now);
  }

  Caller Ask(const Fingerprint& id, TimePoint now) noexcept {
    return Ask(id, now, [] { return std::uint8_t{1}; });
  }

  // The same for the caller of an entry. Returns nobody if it is another's by now, or holds none.
  Caller AskAgain(std::uint32_t i, std::uint32_t generation, TimePoint now) noexcept {
    const TimePoint at = MoveTo(now);
    if (!IsDue(at)) [[likely]] {
      Held held = slots_.Hold(i);
      if (held.generation() != generation || held->held == 0) return {};
      if (page_.MayStay(*held, at)) [[likely]] {
        held->at = Max(held->at, at);
        return Caller(*this, std::move(held), at);
      }
    }
    const LedgerLock lock(*this);
    ledger_.AdvanceTo(at);
    Held held = slots_.Hold(i);
    if (held.generation() != generation || held->held == 0) return {};
    ledger_.AskAgain(held, held->weight);
    return Caller(*this, std::move(held), ledger_.now());
  }

  // Gives back what the entry holds, at most `units`, if it is still of that generation.
  void Release(std::uint32_t i, std::uint32_t generation, std::uint32_t units) noexcept {
    {
      Held held = slots_.Hold(i);
      if (held.generation() != generation) return;
      if (held->is != CallerIs::kHolding || held->held > units) [[likely]] {
        Give(held, units);
        return;
      }
    }
    const LedgerLock lock(*this);
    ledger_.AdvanceTo(Later(ledger_.now()));
    Held held = slots_.Hold(i);
    if (held.generation() != generation || Give(held, units) == 0) return;
    if (held->is == CallerIs::kHolding && held->held == 0) ledger_.ReleasedAll(held);
  }

  // Moves time on to `now`, never back, and lets go what has expired by then.
  void AdvanceTo(TimePoint now) noexcept {
    const TimePoint at = MoveTo(now);
    if (!IsDue(at)) return;
    const LedgerLock lock(*this);
    ledger_.AdvanceTo(at);
  }

  // The latest of `now` and what calls brought.
  TimePoint Later(TimePoint now) const noexcept {
    for (const Clock& clock : clocks_) now = Max(now, clock.Read());
    return now;
  }
  // As a call at `now` would find them. Costs O(1), and a step for each caller that expired since
  // the last call or whose place in the queue comes up; changes nothing.
  CallerCounts CountsAt(TimePoint now) const noexcept {
    const MutexLock lock(mutex_);
    return ledger_.CountsAt(Max(Later(now), ledger_.now()));
  }
  State StateAt(const Fingerprint& id, TimePoint now, CallerCounts& counts) const noexcept {
    const MutexLock lock(mutex_);
    const TimePoint at = Max(Later(now), ledger_.now());
    counts = ledger_.CountsAt(at);
    if (const Held held = slots_.Find(id); held && !terms_.IsForgotten(held, at)) {
      return StateOf(held, at);
    }
    if (counts.tracked < terms_.max_callers) return {};
    State state = StateOf(slots_.Hold(slots_.last()), at);
    state.tracked = false;
    state.overflow = true;
    return state;
  }
  std::uint32_t OverflowHeld() const noexcept { return slots_.Hold(slots_.last())->held; }

 private:
  // The latest time that calls of some threads brought.
  struct alignas(64) Clock {
    typename Sync::template Atomic<std::int64_t> now{TimePoint::min().time_since_epoch().count()};

    TimePoint Read() const noexcept {
      return TimePoint(Duration(now.load(std::memory_order_relaxed)));
    }
  };
  static constexpr unsigned kClocks = 8;

  // What every call reads of the ledger: when it must be asked next, if no caller comes before, how
  // many are active, and the terms. Relaxed throughout: a call beside a change of terms may go by
  // either, and find its place in the queue by the wrong ones: that is put right when the place
  // comes up.
  struct alignas(64) Page {
    typename Sync::template Atomic<std::int64_t> next_due{
        TimePoint::max().time_since_epoch().count()};
    typename Sync::template Atomic<std::uint64_t> active{0};
    typename Sync::template Atomic<std::uint64_t> per_second{0};  // A double, by its bits.
    typename Sync::template Atomic<std::int64_t> longest{0};
    typename Sync::template Atomic<std::uint32_t> unit_bits{0};
    typename Sync::template Atomic<std::uint32_t> half_window{0};

    void Set(const CallerTerms& terms) noexcept {
      per_second.store(std::bit_cast<std::uint64_t>(terms.decay.per_second),
                       std::memory_order_relaxed);
      longest.store(terms.decay.longest.count(), std::memory_order_relaxed);
      unit_bits.store(terms.unit_bits, std::memory_order_relaxed);
      half_window.store(terms.half_window, std::memory_order_relaxed);
    }
    DemeritDecay Decay() const noexcept {
      return {std::bit_cast<double>(per_second.load(std::memory_order_relaxed)),
              Duration(longest.load(std::memory_order_relaxed))};
    }
    bool MayStay(const CallerEntry<Sync>& e, TimePoint at) const noexcept {
      return CallerTerms::MayStay(unit_bits.load(std::memory_order_relaxed),
                                  half_window.load(std::memory_order_relaxed), e, at);
    }
  };

  // Holds the ledger's mutex, and tells in the end what became of it.
  class SHED_SCOPED_CAPABILITY LedgerLock {
   public:
    explicit LedgerLock(CallerTable& table) SHED_ACQUIRE(table.mutex_) : table_(table) {
      table_.mutex_.lock();
    }
    ~LedgerLock() SHED_RELEASE() {
      const CallerCounts& counts = table_.ledger_.counts();
      Update(table_.page_.active, ActiveCallers(counts.active, counts.weight).bits());
      Update(table_.page_.next_due, table_.ledger_.NextDue().time_since_epoch().count());
      table_.mutex_.unlock();
    }
    LedgerLock(const LedgerLock&) = delete;
    LedgerLock& operator=(const LedgerLock&) = delete;

   private:
    // Leaves the line alone if nothing changes: all read it.
    template <class T>
    static void Update(typename Sync::template Atomic<T>& word, T value) noexcept {
      if (word.load(std::memory_order_relaxed) != value) {
        word.store(value, std::memory_order_relaxed);
      }
    }

    CallerTable& table_;
  };

  // Returns the latest of `now` and what calls of this thread brought, which it then is. A plain
  // store: where threads share a clock, another's may be lost.
  TimePoint MoveTo(TimePoint now) noexcept {
    Clock& clock = clocks_[Sync::Stripe() % kClocks];
    const TimePoint latest = clock.Read();
    if (now <= latest) return latest;
    clock.now.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    return now;
  }
  bool IsDue(TimePoint at) const noexcept {
    return at.time_since_epoch().count() >= page_.next_due.load(std::memory_order_relaxed);
  }

  std::uint32_t Give(Held& held, std::uint32_t units) noexcept {
    units = Min(units, held->held);
    held->held -= units;
    if (units > 0) units_.Give(Sync::Stripe(), units);
    return units;
  }
  // Returned in registers: a Caller returned from here would have to live in memory in all calls.
  struct Asked {
    std::uint32_t index;
    std::uint32_t generation;
    TimePoint now;
  };
  SHED_APART Asked AskSlowly(Fingerprint id, TimePoint at, std::uint8_t weight) noexcept {
    const LedgerLock lock(*this);
    ledger_.AdvanceTo(at);
    Held held = ledger_.Ask(id, weight);
    held.LetGo();
    return {held.index(), held.generation(), ledger_.now()};
  }
  State StateOf(const Held& held, TimePoint at) const noexcept SHED_REQUIRES(mutex_) {
    return {.tracked = true,
            .active = terms_.IsActive(*held, at),
            .index = held.index(),
            .held = held->held,
            .demerit = held.DemeritAt(at, terms_.decay),
            .weight = held->weight};
  }

  Slots slots_;

  std::array<Clock, kClocks> clocks_;
  UnitPool<Sync> units_;
  alignas(64) LatestRefusals<Sync> refusals_;
  Page page_;

  alignas(64) mutable typename Sync::Mutex mutex_;
  CallerTerms terms_ SHED_GUARDED_BY(mutex_);
  CallerLedger<Sync> ledger_ SHED_GUARDED_BY(mutex_);
};

// With threads' own atomics: a Sync that tests interleavings may use larger ones.
static_assert(sizeof(CallerEntry<StdSync>) == 32);
static_assert(CallerLedger<StdSync>::kBytesEach <= 128, "a caller costs 128 bytes at most");

}  // namespace shed::internal

#endif  // SHED_INTERNAL_CALLER_TABLE_H_
