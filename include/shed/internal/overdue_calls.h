// How many calls in flight have been so for too long.
#ifndef SHED_INTERNAL_OVERDUE_CALLS_H_
#define SHED_INTERNAL_OVERDUE_CALLS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "shed/internal/bounds.h"
#include "shed/internal/breaker_ticket.h"
#include "shed/internal/hints.h"
#include "shed/sync.h"
#include "shed/time.h"

namespace shed::internal {

// Counts calls in flight by when they began, so that one that hangs is seen before it ends, if it
// ever does.
//
// Algorithm: time is cut into slices of an eighth of `longest`, but no less than a microsecond;
// slice e is [e·width, (e+1)·width). The newest slice in which a call asked is the head. A call is
// overdue when its whole slice is more than `longest` ago, so an eighth of `longest` late at most,
// and never early; or when its slice is sixteen behind the head, which a `now` that lags does not
// undo.
//
// State: sixteen slots, used in turn, each a word: above, how often it was given away; below, the
// calls that began in its slice and have not ended. When a slot is given to a later slice, what it
// still has moves into one count of old calls. A call that ends finds its use of its slot, or else
// is an old one.
//
// An era begins with Clear, which also begins a generation, and with a new `longest`; calls of an
// earlier one do not count. (A call's place has 22 bits of the use and 4 of the era: one that hangs
// while its slot is given away 2^22 times, or over 16 changes of `longest`, may be taken for
// another.)
//
// Locking: a compare-exchange when a call begins and when it ends; a mutex where the head moves or
// an era begins. The head and the era are written before the slots are given away, and read after
// a slot: what is as it was then was still so when the slot was read.
template <class Sync>
class OverdueCalls {
 public:
  OverdueCalls() = default;
  OverdueCalls(const OverdueCalls&) = delete;
  OverdueCalls& operator=(const OverdueCalls&) = delete;
  ~OverdueCalls() { delete Get(); }

  // 0, as at first: nothing is watched, and nothing ever overdue. Forgets what is in flight, unless
  // `longest` is as it was. The first that is not 0 allocates. One thread at a time.
  void SetLongest(Duration longest, std::uint32_t generation) {
    State* state = Get();
    if (state == nullptr) {
      if (longest == Duration(0)) return;
      state = new State;
    }
    {
      MutexLock lock(state->mutex);
      if (state->longest.load(std::memory_order_relaxed) == longest.count()) return;
      state->longest.store(longest.count(), std::memory_order_relaxed);
      state->width.store(Max<std::int64_t>((longest.count() + 7) / 8, 1000),
                         std::memory_order_relaxed);
      state->head.store(kNever, std::memory_order_relaxed);
      Begin(*state, generation);
    }
    // Release: what it points to.
    state_.store(state, std::memory_order_release);
  }
  // Forgets all calls and begins `generation`.
  void Clear(std::uint32_t generation) noexcept {
    State* const state = Get();
    if (state == nullptr) return;
    MutexLock lock(state->mutex);
    Begin(*state, generation);
  }

  // Moves the head to `now`. Returns whether this moved it: once per slice, one thread is told.
  bool Turn(TimePoint now) noexcept {
    const Look look(Get(), now);
    return look.watches() && look.slice > Head(*look.state) && TurnTo(look);
  }

  // Counts a call that begins at `now`. Returns its place for End, a watched one; or 0 if it is
  // not watched, or of an earlier generation.
  std::uint32_t Begin(TimePoint now, std::uint32_t generation) noexcept {
    const Look look(Get(), now);
    if (!look.watches() || look.era >> 32 != generation) return 0;
    State& state = *look.state;
    if (look.slice > Head(state)) TurnTo(look);
    const std::uint32_t place = BreakerTicket::kWatched | EraBits(look.era);
    Word& slot = SlotOf(state, look.slice);
    std::uint64_t seen = slot.load(std::memory_order_acquire);
    do {
      const std::int64_t behind = Head(state) - look.slice;
      if (EraOf(state) != look.era || behind < 0) return 0;
      if (behind >= kSlots || (seen & kCountMask) == kCountMask) {
        return ChangeOld(state, look.era, 1) ? place | kOld : 0;
      }
    } while (!slot.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire));
    return place | static_cast<std::uint32_t>(look.slice & (kSlots - 1)) << kUseBits |
           UseBits(seen);
  }
  // A call of the present generation has ended. `place` is what Begin returned; 0 does nothing.
  void End(std::uint32_t place) noexcept {
    State* const state = Get();
    if (place == 0 || state == nullptr) return;
    const std::uint64_t era = EraOf(*state);
    if ((place & EraBits(~std::uint64_t{0})) != EraBits(era)) return;
    if ((place & kOld) == 0) {
      Word& slot = SlotOf(*state, place >> kUseBits);
      std::uint64_t seen = slot.load(std::memory_order_relaxed);
      while (UseBits(seen) == UseBits(std::uint64_t{place} << kCountBits) &&
             (seen & kCountMask) != 0) {
        if (slot.compare_exchange_weak(seen, seen - 1, std::memory_order_relaxed)) return;
      }
    }
    ChangeOld(*state, era, -1);
  }

  // Returns how many calls are overdue at `now`.
  std::uint32_t Count(TimePoint now) const noexcept {
    const Look look(Get(), now);
    if (!look.watches()) return 0;
    const std::int64_t head = Head(*look.state);
    const std::int64_t first_young =
        Max(look.SliceOf(SaturatingAdd(now.time_since_epoch().count(), -look.longest)),
            head - kSlots + 1);
    const std::uint64_t old = look.state->old.load(std::memory_order_relaxed);
    std::int64_t count =
        ((old >> 32 ^ look.era) & 0xffff'ffff) == 0 ? static_cast<std::int32_t>(old) : 0;
    for (std::int64_t slice = head - kSlots + 1; slice <= head && slice < first_young; ++slice) {
      count += static_cast<std::int64_t>(
          SlotOf(*look.state, slice).load(std::memory_order_relaxed) & kCountMask);
    }
    // A call may end between the moves of its slot's count.
    return static_cast<std::uint32_t>(Max<std::int64_t>(count, 0));
  }

 private:
  using Word = typename Sync::template Atomic<std::uint64_t>;
  using Number = typename Sync::template Atomic<std::int64_t>;
  static constexpr std::int64_t kSlots = 16;
  static constexpr int kCountBits = 24;
  static constexpr std::uint64_t kCountMask = (std::uint64_t{1} << kCountBits) - 1;
  // A place is, from above: kWatched, kOld, 4 bits of the era, 4 of the slot, 22 of its use.
  static constexpr std::uint32_t kOld = std::uint32_t{1} << 30;
  static constexpr int kUseBits = 22;
  // Before all times, with room for arithmetic.
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min() / 2;

  struct State {
    Number longest{0}, width{1};  // Nanoseconds.
    Number head{kNever};
    Word era{0};  // The generation above, the number of the era below.
    Word old{0};  // That number above, the count below.
    std::array<Word, static_cast<std::size_t>(kSlots)> slots{};
    typename Sync::Mutex mutex;
  };

  State* Get() const noexcept { return state_.load(std::memory_order_acquire); }
  static std::int64_t Head(const State& state) noexcept {
    return state.head.load(std::memory_order_relaxed);
  }
  static std::uint64_t EraOf(const State& state) noexcept {
    return state.era.load(std::memory_order_acquire);
  }

  // What a call sees: the era, then how long its slices are and which is that of `now`.
  struct Look {
    Look(State* of, TimePoint now) noexcept : state(of) {
      if (of == nullptr) return;
      era = EraOf(*of);
      longest = of->longest.load(std::memory_order_relaxed);
      width = of->width.load(std::memory_order_relaxed);
      const std::int64_t head = Head(*of);
      const std::int64_t ns = now.time_since_epoch().count();
      // Most calls come in the head, and need no division. Unsigned: times may lie 2^64 ns apart.
      const std::uint64_t begin =
          static_cast<std::uint64_t>(head) * static_cast<std::uint64_t>(width);
      const bool in_head =
          head != kNever && ns >= static_cast<std::int64_t>(begin) &&
          static_cast<std::uint64_t>(ns) - begin < static_cast<std::uint64_t>(width);
      slice = in_head ? head : SliceOf(ns);
    }
    bool watches() const noexcept { return longest != 0; }
    std::int64_t SliceOf(std::int64_t ns) const noexcept {
      return ns / width - (ns % width < 0 ? 1 : 0);
    }

    State* state;
    std::uint64_t era = 0;
    std::int64_t longest = 0, width = 1, slice = 0;
  };

  static constexpr std::uint32_t EraBits(std::uint64_t era) noexcept {
    return static_cast<std::uint32_t>(era & 0xf) << (kUseBits + 4);
  }
  static constexpr std::uint32_t UseBits(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word >> kCountBits) & ((1u << kUseBits) - 1);
  }
  static Word& SlotOf(State& state, std::int64_t slice) noexcept {
    return state.slots[static_cast<std::size_t>(slice & (kSlots - 1))];
  }

  // Adds `by` to the old calls, which may be below 0 for a moment; false if they are of another
  // era.
  static bool ChangeOld(State& state, std::uint64_t era, std::int64_t by) noexcept {
    std::uint64_t seen = state.old.load(std::memory_order_relaxed);
    std::uint64_t next = 0;
    do {
      if (((seen >> 32 ^ era) & 0xffff'ffff) != 0) return false;
      const auto count = static_cast<std::uint32_t>(seen) + static_cast<std::uint32_t>(by);
      next = era << 32 | count;
    } while (!state.old.compare_exchange_weak(seen, next, std::memory_order_relaxed));
    return true;
  }

  // Begins an era of `generation`, with no call in flight.
  static void Begin(State& state, std::uint32_t generation) noexcept SHED_REQUIRES(state.mutex) {
    const std::uint64_t number = (state.era.load(std::memory_order_relaxed) + 1) & 0xffff'ffff;
    // Release: who sees the era sees how long its slices are.
    state.era.store(std::uint64_t{generation} << 32 | number, std::memory_order_release);
    for (std::int64_t slice = 0; slice < kSlots; ++slice) Give(state, slice);
    state.old.store(number << 32, std::memory_order_relaxed);
  }
  // Gives a slot away; returns the calls that it had. Release: who sees it given away sees why.
  static std::int64_t Give(State& state, std::int64_t slice) noexcept SHED_REQUIRES(state.mutex) {
    Word& slot = SlotOf(state, slice);
    std::uint64_t had = slot.load(std::memory_order_relaxed);
    while (!slot.compare_exchange_weak(had, ((had >> kCountBits) + 1) << kCountBits,
                                       std::memory_order_release, std::memory_order_relaxed)) {
    }
    return static_cast<std::int64_t>(had & kCountMask);
  }

  SHED_SELDOM static bool TurnTo(const Look& look) noexcept {
    State& state = *look.state;
    MutexLock lock(state.mutex);
    const std::int64_t head = state.head.load(std::memory_order_relaxed);
    if (look.slice <= head || state.era.load(std::memory_order_relaxed) != look.era) return false;
    state.head.store(look.slice, std::memory_order_relaxed);
    for (std::int64_t s = Max(head + 1, look.slice - kSlots + 1); s <= look.slice; ++s) {
      const std::int64_t left = Give(state, s);
      if (left != 0) ChangeOld(state, look.era, left);
    }
    return true;
  }

  typename Sync::template Atomic<State*> state_{nullptr};
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_OVERDUE_CALLS_H_
