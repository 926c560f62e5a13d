// The callers that a demerit tracker knows: who holds what, who is active, and when each may be
// forgotten. Bounded memory, taken when the table is made; O(1) amortised per call.
//
// Algorithm: entries stand in one of two lists, each in the order in which its entries expire:
// those that asked within `window`, by the time they last asked, and those that are no longer
// active but keep a demerit, by the time they fell idle. Time never goes back, so a list stays in
// order if entries are added behind, and only its front can have expired.
//
// Not thread-safe: the tracker holds its mutex.
#ifndef SHED_INTERNAL_CALLER_TABLE_H_
#define SHED_INTERNAL_CALLER_TABLE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "shed/internal/fingerprint.h"
#include "shed/internal/fingerprint_index.h"
#include "shed/internal/index_list.h"
#include "shed/time.h"

namespace shed::internal {

// How demerit goes: evenly, and outright `longest` after the last refusal.
struct DemeritDecay {
  double per_second = 0;
  Duration longest{0};

  // The demerit that is left `elapsed` after a refusal that left it at `demerit`.
  constexpr double After(double demerit, Duration elapsed) const noexcept {
    if (elapsed >= longest) return 0;
    return std::max(0.0, demerit - per_second * (static_cast<double>(elapsed.count()) * 1e-9));
  }
};

class CallerTable {
 public:
  enum class Where : std::uint8_t {
    kNowhere,  // Free; or asked longer ago than the window, and holds units.
    kRecent,   // Asked within the window.
    kIdle,     // Not active, and kept for its demerit.
  };
  // One cache line. The links stand apart: who moves to the back of a list touches those of its
  // neighbours, and eight bytes of each are more likely to be near than the whole of them.
  struct alignas(64) Entry {
    Fingerprint id;
    double demerit = 0;      // As the last refusal left it.
    TimePoint refused_at{};  // The last refusal.
    TimePoint seen_at{};     // The last time it asked.
    TimePoint idle_since{};  // If kIdle: when it ceased to be active.
    std::uint32_t held = 0;  // Units.
    std::uint32_t generation = 0;
    Where where = Where::kNowhere;
  };
  static_assert(sizeof(Entry) + sizeof(IndexLinks) + FingerprintIndex::kMaxBytesEach <= 128,
                "a caller costs 128 bytes at most");

  struct Counts {
    std::uint32_t active = 0;   // Callers that hold units or asked within the window.
    std::uint32_t tracked = 0;  // Callers with an entry of their own.
  };

  CallerTable(std::uint32_t max_callers, Duration window, const DemeritDecay& decay)
      : window_(window),
        decay_(decay),
        overflow_(max_callers),
        entries_(std::make_unique<Entry[]>(std::size_t{max_callers} + 1)),
        links_(std::make_unique<IndexLinks[]>(std::size_t{max_callers} + 1)),
        ids_(max_callers) {
    for (std::uint32_t i = 0; i + 1 < max_callers; ++i) links_[i].next = i + 1;
  }

  // The entry that callers without one share. It is always there, behind all others.
  std::uint32_t overflow() const noexcept { return overflow_; }
  TimePoint now() const noexcept { return now_; }
  const Entry& operator[](std::uint32_t i) const noexcept { return entries_[i]; }

  // Returns the entry of `id`; kNoIndex if it has none, or will have none any more at `at`.
  std::uint32_t Find(const Fingerprint& id, TimePoint at) const noexcept {
    const std::uint32_t i =
        ids_.Find(id, [this](std::uint32_t k) -> const Fingerprint& { return entries_[k].id; });
    return i == kNoIndex || IsForgotten(entries_[i], at) ? kNoIndex : i;
  }
  double DemeritAt(std::uint32_t i, TimePoint at) const noexcept {
    return decay_.After(entries_[i].demerit, Elapsed(entries_[i].refused_at, at));
  }
  bool IsActiveAt(std::uint32_t i, TimePoint at) const noexcept {
    return IsActive(entries_[i], at);
  }
  // The last instant of the window is part of it.
  bool InWindow(TimePoint event, TimePoint at) const noexcept {
    return Elapsed(event, at) <= window_;
  }
  Counts counts() const noexcept { return counts_; }

  // The counts as AdvanceTo(at) would leave them.
  Counts CountsAt(TimePoint at) const noexcept {
    Counts counts = counts_;
    for (std::uint32_t i = recent_.front(); i != kNoIndex; i = links_[i].next) {
      const Entry& e = entries_[i];
      if (InWindow(e.seen_at, at)) break;
      if (e.held > 0) continue;
      --counts.active;
      if (i != overflow_ && IsForgotten(e, at)) --counts.tracked;
    }
    for (std::uint32_t i = idle_.front(); i != kNoIndex; i = links_[i].next) {
      if (!IsForgotten(entries_[i], at)) break;
      --counts.tracked;
    }
    return counts;
  }

  // Moves time on, never back, and lets go what has expired by then.
  void AdvanceTo(TimePoint now) noexcept {
    now_ = std::max(now_, now);
    for (std::uint32_t i = recent_.front(); i != kNoIndex; i = recent_.front()) {
      Entry& e = entries_[i];
      if (InWindow(e.seen_at, now_)) break;
      recent_.Remove(links_.get(), i);
      e.where = Where::kNowhere;
      if (e.held == 0) BecomeIdle(i, After(e.seen_at, window_));
    }
    for (std::uint32_t i = idle_.front(); i != kNoIndex; i = idle_.front()) {
      if (!IsForgotten(entries_[i], now_)) break;
      idle_.Remove(links_.get(), i);
      Forget(i);
    }
  }

  // A caller asks now. Returns its entry, a new one, or the overflow if there is no room.
  std::uint32_t Ask(const Fingerprint& id) noexcept {
    std::uint32_t i = Find(id, now_);
    if (i == kNoIndex) i = free_ == kNoIndex ? overflow_ : Track(id);
    MarkSeen(i);
    return i;
  }

  // The caller asks now: it is active, and the last of all to expire.
  void MarkSeen(std::uint32_t i) noexcept {
    Entry& e = entries_[i];
    if (e.where == Where::kRecent) {
      recent_.Remove(links_.get(), i);
    } else {
      if (e.where == Where::kIdle) idle_.Remove(links_.get(), i);
      if (e.held == 0) ++counts_.active;
    }
    e.where = Where::kRecent;
    e.seen_at = now_;
    recent_.PushBack(links_.get(), i);
  }

  // Requires that the caller has just asked.
  void Take(std::uint32_t i, std::uint32_t units) noexcept { entries_[i].held += units; }
  void SetDemerit(std::uint32_t i, double demerit) noexcept {
    entries_[i].demerit = demerit;
    entries_[i].refused_at = now_;
  }

  // Gives back what is held, at most `units`, if the entry is still of that generation. Returns how
  // many units that was.
  std::uint32_t Release(std::uint32_t i, std::uint32_t generation, std::uint32_t units) noexcept {
    Entry& e = entries_[i];
    if (e.generation != generation) return 0;
    units = std::min(units, e.held);
    e.held -= units;
    // All whose window ended before now went idle before: the list stays in order.
    if (units > 0 && e.held == 0 && e.where == Where::kNowhere) BecomeIdle(i, now_);
    return units;
  }

 private:
  bool IsActive(const Entry& e, TimePoint at) const noexcept {
    return e.held > 0 || (e.where == Where::kRecent && InWindow(e.seen_at, at));
  }
  // Whether an entry in use will have been given up by `at`: at once where no demerit was left
  // when it fell idle, else after the longest time that one can last.
  bool IsForgotten(const Entry& e, TimePoint at) const noexcept {
    if (IsActive(e, at)) return false;
    const TimePoint since = e.where == Where::kIdle ? e.idle_since : After(e.seen_at, window_);
    return decay_.After(e.demerit, Elapsed(e.refused_at, since)) <= 0 ||
           Elapsed(since, at) >= decay_.longest;
  }

  // Requires that the entry is in no list and holds nothing.
  void BecomeIdle(std::uint32_t i, TimePoint since) noexcept {
    --counts_.active;
    if (i == overflow_) return;  // Its demerit goes where it stands.
    if (DemeritAt(i, since) <= 0) return Forget(i);
    entries_[i].idle_since = since;
    entries_[i].where = Where::kIdle;
    idle_.PushBack(links_.get(), i);
  }

  std::uint32_t Track(const Fingerprint& id) noexcept {
    const std::uint32_t i = free_;
    free_ = links_[i].next;
    entries_[i].id = id;
    ids_.Insert(id, i);
    ++counts_.tracked;
    return i;
  }
  void Forget(std::uint32_t i) noexcept {
    Entry& e = entries_[i];
    ids_.Erase(e.id, i);
    const std::uint32_t generation = e.generation + 1;
    e = Entry{};
    e.generation = generation;
    links_[i].next = free_;
    free_ = i;
    --counts_.tracked;
  }

  const Duration window_;
  const DemeritDecay decay_;
  const std::uint32_t overflow_;
  std::unique_ptr<Entry[]> entries_;
  std::unique_ptr<IndexLinks[]> links_;  // Of each entry, in its list or among the free ones.
  FingerprintIndex ids_;
  IndexList recent_;  // By seen_at.
  IndexList idle_;    // By idle_since.
  std::uint32_t free_ = 0;
  Counts counts_;
  TimePoint now_ = TimePoint::min();
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_CALLER_TABLE_H_
