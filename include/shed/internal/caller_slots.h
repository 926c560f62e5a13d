// Where the callers of a demerit tracker are found: a hash table of fixed size whose entries never
// move, so that a caller is found in the one cache line that it then is judged in, and an index
// stands for it as long as it is in.
//
// Algorithm: two entries a line; the fingerprint says which line comes first, and a full line sends
// an entry on to the next. Each line counts the entries that were sent on past it, so that a search
// stops at the first line with none, and an entry is taken out without a grave and without moving
// others (a table of graves must be rebuilt now and then, and rotating names would make that their
// lever). There are two places for each caller, so that with all of them in a search reads 1.2
// lines if nobody ever left, and 1.5 in the long run.
//
// Locking: each entry has a lock, and who holds it has a Held. One at a time may change which
// entries are in; a search may run beside that: it then may miss an entry, and never gives a wrong
// one.
//
// Source: the counts are those of F14, N. Bronson, X. Shi, "Open-sourcing F14", 2019.
#ifndef SHED_INTERNAL_CALLER_SLOTS_H_
#define SHED_INTERNAL_CALLER_SLOTS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shed/internal/bounds.h"
#include "shed/internal/fingerprint.h"
#include "shed/internal/fixed_array.h"
#include "shed/internal/hints.h"
#include "shed/internal/index_list.h"
#include "shed/internal/spin_lock.h"
#include "shed/time.h"

namespace shed::internal {

// How demerit goes: evenly, and outright `longest` after the last refusal.
struct DemeritDecay {
  double per_second = 0;
  Duration longest{0};

  // The demerit that is left `elapsed` after a refusal that left it at `demerit`.
  constexpr double After(double demerit, Duration elapsed) const noexcept {
    if (elapsed >= longest) return 0;
    return Max(0.0, demerit - per_second * (static_cast<double>(elapsed.count()) * 1e-9));
  }
};

enum class CallerIs : std::uint8_t {
  kAbsent,   // Nobody's entry.
  kRecent,   // Asked within the window, or not yet looked at since.
  kHolding,  // Asked longer ago than that, and holds units.
  kIdle,     // Not active, and kept for its demerit.
};

// What a call of a caller that keeps within its limits reads and writes: half a cache line.
template <class Sync>
struct alignas(32) CallerEntry {
  SpinLock<Sync> lock;     // Its number is the generation: how many callers the entry had before.
  std::uint32_t held = 0;  // Units.
  // 95 bits of the fingerprint; the first 64 may be read without the lock.
  typename Sync::template Atomic<std::uint64_t> low{0};
  std::uint32_t high : 31 = 0;
  std::uint32_t has_demerit : 1 = 0;
  CallerIs is = CallerIs::kAbsent;
  std::uint8_t weight = 1;     // Of its share among those of the active.
  std::uint8_t queued_in = 0;  // If kRecent: the unit of time by which it stands in the queue.
  // Of the first entry of a line: how many were sent on past the line. 255 stays for ever.
  typename Sync::template Atomic<std::uint8_t> sent_on{0};
  TimePoint at{};  // When it last asked; if kIdle, when it ceased to be active.
};

// What only refusals write, and only the refused are asked for.
struct CallerFault {
  double demerit = 0;      // As the last refusal left it.
  TimePoint refused_at{};  // The last refusal, if it left any.
};

template <class Sync>
class CallerSlots {
 public:
  using Entry = CallerEntry<Sync>;
  static constexpr std::size_t kBytesEach = 2 * (sizeof(Entry) + sizeof(CallerFault));

  // An entry, locked for as long as this lives; or none. At most one at a time on a thread.
  class Held {
   public:
    Held() noexcept = default;
    Held(const CallerSlots& slots, std::uint32_t i) noexcept SHED_NO_THREAD_SAFETY_ANALYSIS
        : Held(slots, i, slots.EntryAt(i).lock.Lock()) {}
    // Takes over a lock that another Held let go of.
    Held(const CallerSlots& slots, std::uint32_t i, std::uint32_t generation) noexcept
        : slots_(&slots), entry_(&slots.EntryAt(i)), index_(i), generation_(generation) {}
    // Unlocks nothing in the end: see above.
    void LetGo() noexcept { entry_ = nullptr; }
    Held(Held&& other) noexcept
        : slots_(other.slots_),
          entry_(other.entry_),
          index_(other.index_),
          generation_(other.generation_) {
      other.entry_ = nullptr;
    }
    Held& operator=(Held&&) = delete;
    ~Held() { Unlock(); }
    void Unlock() noexcept SHED_NO_THREAD_SAFETY_ANALYSIS {
      if (entry_ != nullptr) entry_->lock.Unlock(generation_);
      entry_ = nullptr;
    }

    explicit operator bool() const noexcept { return entry_ != nullptr; }
    Entry* operator->() const noexcept { return entry_; }
    const Entry& operator*() const noexcept { return *entry_; }
    std::uint32_t index() const noexcept { return index_; }
    std::uint32_t generation() const noexcept { return generation_; }

    bool Is(const Fingerprint& id) const noexcept {
      return entry_->is != CallerIs::kAbsent &&
             entry_->low.load(std::memory_order_relaxed) == id.low &&
             entry_->high == (static_cast<std::uint32_t>(id.high) & kHighMask);
    }
    double DemeritAt(TimePoint at, const DemeritDecay& decay) const noexcept {
      if (entry_->has_demerit == 0) return 0;
      const CallerFault& fault = slots_->faults_[index_];
      return decay.After(fault.demerit, Elapsed(fault.refused_at, at));
    }
    // A refusal at `at` leaves `demerit`.
    void SetDemerit(double demerit, TimePoint at) noexcept {
      if (entry_->has_demerit == 0 && demerit <= 0) return;
      CallerFault& fault = slots_->faults_[index_];
      fault.demerit = demerit;
      fault.refused_at = entry_->has_demerit != 0 ? Max(fault.refused_at, at) : at;
      entry_->has_demerit = 1;
    }

   private:
    friend CallerSlots;
    const CallerSlots* slots_ = nullptr;
    Entry* entry_ = nullptr;
    std::uint32_t index_ = kNoIndex;
    std::uint32_t generation_ = 0;
  };

  // Room for `capacity` callers, at most 2^30, and one entry that is nobody's.
  explicit CallerSlots(std::uint32_t capacity)
      : lines_(capacity), entries_(lines_ + std::size_t{1}), faults_(2 * std::size_t{lines_} + 1) {}

  // The entry that is nobody's: behind all others.
  std::uint32_t last() const noexcept { return 2 * lines_; }
  Held Hold(std::uint32_t i) const noexcept { return Held(*this, i); }

  // Returns the entry of `id`, or none.
  Held Find(const Fingerprint& id) const noexcept {
    std::uint32_t at = Home(id.low);
    for (std::uint32_t steps = 0; steps < lines_; ++steps, at = Next(at)) {
      const Line& line = entries_[at];
      PrefetchForWrite(&line);
      // Which of the two it is cannot be foretold: no jump must depend on it.
      const std::uint32_t first = IsLow(line.entries[0], id) ? 1 : 0;
      const std::uint32_t second = IsLow(line.entries[1], id) ? 1 : 0;
      if ((first | second) != 0) [[likely]] {
        if (Held held = Hold(2 * at + second); held.Is(id)) [[likely]]
          return held;
        // The half of a fingerprint that two callers share, once in ages.
        if ((first & second) != 0) {
          if (Held held = Hold(2 * at); held.Is(id)) return held;
        }
      }
      if (line.entries[0].sent_on.load(std::memory_order_relaxed) == 0) break;
    }
    return {};
  }

  // Makes a free entry that of `id`: the caller is kHolding nothing. Requires that it has none, and
  // that fewer than `capacity` have.
  Held Insert(const Fingerprint& id) noexcept {
    for (std::uint32_t at = Home(id.low);; at = Next(at)) {
      for (std::uint32_t k = 0; k < 2; ++k) {
        if (entries_[at].entries[k].is != CallerIs::kAbsent) continue;
        Held held = Hold(2 * at + k);
        held->low.store(id.low, std::memory_order_relaxed);
        held->high = static_cast<std::uint32_t>(id.high) & kHighMask;
        held->is = CallerIs::kHolding;
        return held;
      }
      CountSentOn(at, 1);
    }
  }
  // Frees the entry of a caller. Requires that it holds nothing.
  void Erase(Held& held) noexcept {
    const std::uint64_t low = held->low.load(std::memory_order_relaxed);
    for (std::uint32_t at = Home(low); at != held.index() / 2; at = Next(at)) CountSentOn(at, -1);
    held->low.store(0, std::memory_order_relaxed);
    held->is = CallerIs::kAbsent;
    held->has_demerit = 0;
    ++held.generation_;
  }

 private:
  struct alignas(64) Line {
    Entry entries[2];
  };

  static constexpr std::uint32_t kHighMask = 0x7fff'ffff;
  static bool IsLow(const Entry& entry, const Fingerprint& id) noexcept {
    return entry.low.load(std::memory_order_relaxed) == id.low;
  }
  Entry& EntryAt(std::uint32_t i) const noexcept { return entries_[i / 2].entries[i % 2]; }
  // The upper half of the number chooses among the lines, however many there are.
  std::uint32_t Home(std::uint64_t low) const noexcept {
    return static_cast<std::uint32_t>((low >> 32) * lines_ >> 32);
  }
  std::uint32_t Next(std::uint32_t at) const noexcept { return at + 1 == lines_ ? 0 : at + 1; }
  void CountSentOn(std::uint32_t at, int by) noexcept {
    constexpr std::uint8_t kForEver = 255;
    auto& count = entries_[at].entries[0].sent_on;
    const std::uint8_t old = count.load(std::memory_order_relaxed);
    if (old == kForEver) return;
    count.store(static_cast<std::uint8_t>(old + by), std::memory_order_relaxed);
  }

  const std::uint32_t lines_;
  const FixedArray<Line> entries_;
  const FixedArray<CallerFault> faults_;
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_CALLER_SLOTS_H_
