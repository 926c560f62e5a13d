// Which callers a demerit tracker keeps, which of them are active, and when each must be looked at.
//
// Algorithm: callers that asked within `window`, and those that are no longer active but keep a
// demerit, each stand in a queue by the time when they must be looked at. An ordinary call of a
// caller that is in the first queue need not come here: it only notes when it asked, which the
// queue hears of when the caller comes up there, or when its place is half a window old.
//
// Locking: the owner's mutex, and that of an entry where one is given. Which entries are in, which
// are what, and their places in the queues change here alone.
#ifndef SHED_INTERNAL_CALLER_LEDGER_H_
#define SHED_INTERNAL_CALLER_LEDGER_H_

#include <cstddef>
#include <cstdint>

#include "shed/internal/bounds.h"
#include "shed/internal/caller_slots.h"
#include "shed/internal/fingerprint.h"
#include "shed/internal/fixed_array.h"
#include "shed/internal/index_list.h"
#include "shed/internal/time_queue.h"
#include "shed/time.h"

namespace shed::internal {

// How long callers are kept, in which units of time they stand in the queue, and what follows.
struct CallerTerms {
  Duration window;
  DemeritDecay decay;
  std::uint32_t max_callers = 0;
  unsigned unit_bits = TimeQueue::UnitBits(window);
  std::uint8_t half_window = static_cast<std::uint8_t>(window.count() >> unit_bits >> 1);

  constexpr std::uint8_t UnitOf(TimePoint at) const noexcept {
    return static_cast<std::uint8_t>(TimeKey(at) >> unit_bits);
  }
  // Whether an entry may stay in its place in the queue when its caller asks at `at`.
  template <class Entry>
  static constexpr bool MayStay(unsigned unit_bits, unsigned half_window, const Entry& e,
                                TimePoint at) noexcept {
    // Modulo 256. A place younger than now was taken beside this call, by one at a later time.
    const auto age = static_cast<std::uint8_t>((TimeKey(at) >> unit_bits) - e.queued_in);
    return e.is == CallerIs::kRecent && (age <= half_window || age >= 250);
  }
  // The last instant of the window is part of it.
  template <class Entry>
  constexpr bool IsActive(const Entry& e, TimePoint at) const noexcept {
    return e.held > 0 || (e.is == CallerIs::kRecent && Elapsed(e.at, at) <= window);
  }
  // Whether an entry in use will have been given up by `at`: at once where no demerit was left
  // when it fell idle, else after the longest time that one can last.
  template <class Held>
  constexpr bool IsForgotten(const Held& held, TimePoint at) const noexcept {
    if (IsActive(*held, at)) return false;
    const TimePoint since = held->is == CallerIs::kIdle ? held->at : After(held->at, window);
    return held.DemeritAt(since, decay) <= 0 || Elapsed(since, at) >= decay.longest;
  }
};

struct CallerCounts {
  std::uint32_t active = 0;   // Callers that hold units or asked within the window.
  std::uint32_t weight = 0;   // Of these, together.
  std::uint32_t tracked = 0;  // Callers with an entry of their own.
};

template <class Sync>
class CallerLedger {
 public:
  using Slots = CallerSlots<Sync>;
  using Held = typename Slots::Held;
  // Beyond a fixed part of some 10 KB.
  static constexpr std::size_t kBytesEach = Slots::kBytesEach + 2 * sizeof(IndexLinks);

  CallerLedger(const CallerTerms& terms, Slots& slots)
      : terms_(terms),
        slots_(slots),
        links_(std::size_t{slots.last()} + 1 + 2 * kHeads),
        recent_(terms.window, kMost, links_.data(), slots.last() + 1),
        idle_(terms.decay.longest, kMost, links_.data(), slots.last() + 1 + kHeads) {}

  TimePoint now() const noexcept { return now_; }
  const CallerCounts& counts() const noexcept { return counts_; }

  // Moves time on to `now`, never back, and lets go what has expired by then.
  void AdvanceTo(TimePoint now) noexcept {
    now_ = Max(now_, now);
    idle_.AdvanceTo(links_.data(), IdleFrom(now_), [this](std::uint32_t i) {
      Held held = slots_.Hold(i);
      const std::uint64_t since = TimeKey(held->at);
      if (since >= IdleFrom(now_)) return TimeQueue::Key(since);
      Forget(held);
      return TimeQueue::kNever;
    });
    recent_.AdvanceTo(links_.data(), RecentFrom(now_),
                      [this](std::uint32_t i) { return LookAtRecent(i, terms_.window); });
  }
  // The terms have changed. Who had ceased to be active by the old ones stays so; who has by the
  // new ones alone does so now.
  void Restart() noexcept {
    idle_.Restart(links_.data(), terms_.decay.longest, IdleFrom(now_), [this](std::uint32_t i) {
      Held held = slots_.Hold(i);
      const std::uint64_t since = TimeKey(held->at);
      if (since >= IdleFrom(now_) && held.DemeritAt(held->at, terms_.decay) > 0) {
        return TimeQueue::Key(since);
      }
      Forget(held);
      return TimeQueue::kNever;
    });
    recent_.Restart(links_.data(), terms_.window, RecentFrom(now_),
                    [this](std::uint32_t i) { return LookAtRecent(i, Duration::max()); });
  }
  // Returns when the first of the active may cease to be, if no caller asks before: calls that find
  // their callers active need not come here until then. (Who is idle and to be forgotten is so when
  // somebody next comes; nobody misses it before.)
  TimePoint NextDue() const noexcept {
    const std::uint64_t key = recent_.Earliest();
    return key == TimeQueue::kNever ? TimePoint::max()
                                    : After(TimeOfKey(key), terms_.window + Duration(1));
  }

  // The caller asks now, with a weight from 1. Returns its entry, a new one, or the last, whose
  // weight is 1, if there is no room.
  Held Ask(const Fingerprint& id, std::uint8_t weight = 1) noexcept {
    Held held = slots_.Find(id);
    if (held) {
      AskAgain(held, weight);
      return held;
    }
    const bool full = counts_.tracked == terms_.max_callers;
    if (!full) ++counts_.tracked;
    Held fresh = full ? slots_.Hold(slots_.last()) : slots_.Insert(id);
    AskAgain(fresh, full ? std::uint8_t{1} : weight);
    return fresh;
  }
  // It is active, and the last of all to expire.
  void AskAgain(Held& held, std::uint8_t weight) noexcept {
    if (held->is == CallerIs::kRecent || held->is == CallerIs::kIdle) {
      TimeQueue::Remove(links_.data(), held.index());
    }
    if (held->is == CallerIs::kRecent || held->held != 0) {
      counts_.weight -= held->weight;
    } else {
      ++counts_.active;
    }
    counts_.weight += weight;
    held->weight = weight;
    held->at = held->is == CallerIs::kRecent ? Max(held->at, now_) : now_;
    held->is = CallerIs::kRecent;
    held->queued_in = terms_.UnitOf(now_);
    recent_.Insert(links_.data(), held.index(), TimeQueue::Key(TimeKey(now_)));
  }
  // A caller whose window has ended has given back the last that it held, now.
  void ReleasedAll(Held& held) noexcept { BecomeIdle(held, now_); }

  // The counts as AdvanceTo(at) would leave them.
  CallerCounts CountsAt(TimePoint at) const noexcept {
    CallerCounts counts = counts_;
    recent_.ForEachBefore(links_.data(), RecentFrom(at), [&](std::uint32_t i) {
      const Held held = slots_.Hold(i);
      if (terms_.IsActive(*held, at)) return;
      --counts.active;
      counts.weight -= held->weight;
      if (i != slots_.last() && terms_.IsForgotten(held, at)) --counts.tracked;
    });
    idle_.ForEachBefore(links_.data(), IdleFrom(at), [&](std::uint32_t i) {
      if (terms_.IsForgotten(slots_.Hold(i), at)) --counts.tracked;
    });
    return counts;
  }

 private:
  static constexpr Duration kMost = std::chrono::hours(24 * 366);
  static constexpr std::uint32_t kHeads = TimeQueue::HeadCount(kMost);

  // Who asked before that is not active at `at`; who fell idle before that is forgotten.
  std::uint64_t RecentFrom(TimePoint at) const noexcept {
    const auto window = static_cast<std::uint64_t>(terms_.window.count());
    return TimeKey(at) > window ? TimeKey(at) - window : 0;
  }
  std::uint64_t IdleFrom(TimePoint at) const noexcept {
    const auto longest = static_cast<std::uint64_t>(terms_.decay.longest.count());
    return TimeKey(at) >= longest ? TimeKey(at) - longest + 1 : 0;
  }

  // A caller whose place in the queue has come up: the key that it goes to, or that it leaves. It
  // was active for `window` after it asked, and until now at most.
  std::uint64_t LookAtRecent(std::uint32_t i, Duration window) noexcept {
    Held held = slots_.Hold(i);
    if (TimeKey(held->at) >= RecentFrom(now_)) {
      // It asked since. Beside this call, it may have done so at a later time than this.
      const TimePoint at = Min(held->at, now_);
      held->queued_in = terms_.UnitOf(at);
      return TimeQueue::Key(TimeKey(at));
    }
    held->is = CallerIs::kHolding;
    if (held->held == 0) BecomeIdle(held, Min(After(held->at, window), now_));
    return TimeQueue::kNever;
  }

  // Requires that it is kHolding nothing.
  void BecomeIdle(Held& held, TimePoint since) noexcept {
    --counts_.active;
    counts_.weight -= held->weight;
    if (held.index() == slots_.last()) return;  // Its demerit goes where it stands.
    if (held.DemeritAt(since, terms_.decay) <= 0 || TimeKey(since) < IdleFrom(now_)) {
      return Forget(held);
    }
    held->at = since;
    held->is = CallerIs::kIdle;
    idle_.Insert(links_.data(), held.index(), TimeQueue::Key(TimeKey(since)));
  }
  void Forget(Held& held) noexcept {
    slots_.Erase(held);
    --counts_.tracked;
  }

  const CallerTerms& terms_;
  Slots& slots_;
  // Of each entry, in its queue; then the heads of the queues.
  const FixedArray<IndexLinks> links_;
  TimeQueue recent_;
  TimeQueue idle_;
  CallerCounts counts_;
  TimePoint now_ = TimePoint::min();
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_CALLER_LEDGER_H_
