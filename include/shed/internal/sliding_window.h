// Counts of the last while, in ten slices of time, striped over threads.
#ifndef SHED_INTERNAL_SLIDING_WINDOW_H_
#define SHED_INTERNAL_SLIDING_WINDOW_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "shed/internal/bounds.h"
#include "shed/internal/hints.h"
#include "shed/internal/int128.h"
#include "shed/sync.h"
#include "shed/time.h"

namespace shed::internal {

// Counts events of kKinds kinds over a sliding window. An event is one kind: its count is one add
// to one word, so no reader sees half of it.
//
// Algorithm: time is cut into slices of `width = floor(window / 10)`, aligned to the timeline's
// zero; slice e is [e·width, (e+1)·width). The newest slice ever written is the head. At `now` the
// window is the ten slices that end with the later of now's slice and the head: an event a whole
// window old is always out, one nine tenths old always in. An event whose now lags goes to the
// slice that it belongs to, or nowhere if that is out of the window. A head set by a clock that
// jumped ahead stays until time catches up.
//
// State: ten slots, used in turn, each a word per kind and stripe: a tag above, a count (40 bits)
// below. The tag names the slice (12 bits) and the generation (12 bits) that the count is of. A
// writer knows from the head that the slot is its slice's, adds, and looks at the tag of what it
// added to. Between the two the slot may have been given to a later slice or generation; then the
// writer takes its one back, and the event is what it would have been a moment later: too old, or
// stale. So none is lost, counted twice or counted in the wrong slice, and a writer needs one load
// and one add. (A reader may see the one before it is taken back.)
//
// A generation is what Clear begins; events of an earlier one do not count. Who needs none uses 0.
//
// The width may change: the head says which of two is in force, and what was counted goes to the
// slices that the middles of the old ones lie in. An event that is added while that happens may be
// lost, or counted in another slice.
//
// Locking: lock-free, but for a mutex where the head moves, in Clear and in SetWindow.
//
// The sums and the adds are sequentially consistent: of two events that end at once, at least one
// thread's sum has both, so the event that reaches a threshold is never missed by everybody.
template <class Sync, std::size_t kKinds, std::size_t kStripes = 4>
class SlidingWindow {
 public:
  static constexpr std::int64_t kSlices = 10;
  static constexpr Duration kMinWindow = std::chrono::microseconds(1);
  static constexpr Duration kMaxWindow = std::chrono::hours(24);

  // Where an event went.
  struct Place {
    std::int64_t slice = 0;
    std::uint64_t before = 0;  // Events of its kind that its stripe had in its slice before it.
    bool counted = false;      // False: too old, or of an earlier generation.
  };

  // `window` in [kMinWindow, kMaxWindow].
  explicit SlidingWindow(Duration window) noexcept {
    const std::int64_t width = window.count() / kSlices;
    widths_[0].store(width, std::memory_order_relaxed);
    // The first whole slice of the timeline: all time is later, or lags by a slice.
    head_.store(Head(std::numeric_limits<std::int64_t>::min() / width, 0),
                std::memory_order_relaxed);
    Clear(0);
  }
  SlidingWindow(const SlidingWindow&) = delete;
  SlidingWindow& operator=(const SlidingWindow&) = delete;

  // Counts one event of `kind` at `now`.
  Place Add(TimePoint now, std::size_t kind, std::uint32_t generation) noexcept {
    // Acquire: pairs with the release of Turn, so that the slot is already the slice's.
    const std::int64_t head = head_.load(std::memory_order_acquire);
    const std::int64_t slice = SliceIn(head);
    const auto width = static_cast<std::uint64_t>(WidthIn(head));
    const std::int64_t ns = now.time_since_epoch().count();
    // Unsigned: times may lie 2^64 ns apart, and a width may be that of a later head.
    const std::uint64_t begin = static_cast<std::uint64_t>(slice) * width;
    if (ns < static_cast<std::int64_t>(begin) || static_cast<std::uint64_t>(ns) - begin >= width)
        [[unlikely]] {
      return AddElsewhere(now, kind, generation);
    }
    return AddTo(slice, static_cast<std::size_t>(head & kSlotMask), kind, generation);
  }

  // Takes back one event that Add put into `slice` when its thread's stripe was `stripe`, if it is
  // still in the window.
  void Remove(std::int64_t slice, std::size_t stripe, std::size_t kind,
              std::uint32_t generation) noexcept {
    // The tag alone does not tell slices 4096 apart.
    const std::int64_t head = SliceIn(head_.load(std::memory_order_acquire));
    if (head - slice >= kSlices || slice > head) return;
    TakeBack(stripes_[stripe % kStripes].words[SlotOf(slice)][kind], TagOf(slice, generation));
  }

  // Returns the counts of `generation` in the window at `now`.
  std::array<std::uint64_t, kKinds> Sum(TimePoint now, std::uint32_t generation) const noexcept {
    std::array<std::uint64_t, kKinds> sum{};
    const std::int64_t seen = head_.load(std::memory_order_acquire);
    const std::int64_t head = SliceIn(seen);
    const std::int64_t newest = Max(SliceAt(now, WidthIn(seen)), head);
    const std::int64_t live = kSlices - (newest - head < kSlices ? newest - head : kSlices);
    for (std::int64_t slice = head - live + 1; slice <= head; ++slice) {
      const std::uint64_t tag = TagOf(slice, generation);
      for (const Stripe& stripe : stripes_) {
        for (std::size_t kind = 0; kind < kKinds; ++kind) {
          const std::uint64_t word = stripe.words[SlotOf(slice)][kind].load();
          if ((word & kTagMask) == tag) sum[kind] += word & ~kTagMask;
        }
      }
    }
    return sum;
  }

  // Empties the window and begins `generation`. Writers of an earlier one count no more.
  void Clear(std::uint32_t generation) noexcept {
    MutexLock lock(mutex_);
    generation_ = generation;
    const std::int64_t head = SliceIn(head_.load(std::memory_order_relaxed));
    for (std::int64_t slice = head - kSlices + 1; slice <= head; ++slice) Recycle(slice);
  }

  // Makes the window, in [kMinWindow, kMaxWindow], so long from now on. What it has counted stays,
  // as far as it is not older than the new one is long.
  void SetWindow(Duration window, TimePoint now) noexcept {
    MutexLock lock(mutex_);
    const std::int64_t head = head_.load(std::memory_order_relaxed);
    const std::int64_t was = WidthIn(head);
    const std::int64_t width = window.count() / kSlices;
    if (width == was) return;
    const auto counts = TakeAll(SliceIn(head));
    // The first slice of all may begin before the timeline does.
    const auto slice_at = [width](Int128 ns) {
      return SliceAt(TimePoint(Duration(SaturateToInt64(ns))), width);
    };
    const Int128 begin = Int128{SliceIn(head)} * was;
    // No earlier than the old head: an older now moves nothing back.
    const std::int64_t newest = Max(SliceAt(now, width), slice_at(begin));
    for (std::int64_t s = newest - kSlices + 1; s <= newest; ++s) Recycle(s);
    for (std::int64_t i = 0; i < kSlices; ++i) {
      const std::int64_t slice = Min(slice_at(begin - Int128{i} * was + was / 2), newest);
      if (newest - slice < kSlices) Put(slice, counts[static_cast<std::size_t>(i)]);
    }
    const std::int64_t which = 1 - WhichIn(head);
    // Relaxed: the head publishes it, as in Turn.
    widths_[static_cast<std::size_t>(which)].store(width, std::memory_order_relaxed);
    head_.store(Head(newest, which), std::memory_order_release);
  }

  // The slice that `at` is in.
  std::int64_t SliceOf(TimePoint at) const noexcept {
    return SliceAt(at, WidthIn(head_.load(std::memory_order_acquire)));
  }
  static std::size_t MyStripe() noexcept { return Sync::Stripe() % kStripes; }

 private:
  using Word = typename Sync::template Atomic<std::uint64_t>;
  using Counts = std::array<std::uint64_t, kKinds>;
  static constexpr int kSlotBits = 4;
  static constexpr int kHeadBits = kSlotBits + 1;  // The slot, and which width.
  static constexpr std::int64_t kSlotMask = 15;
  static constexpr int kCountBits = 40;
  static constexpr std::uint64_t kTagMask = ~std::uint64_t{0} << kCountBits;

  struct alignas(64) Stripe {
    std::array<std::array<Word, kKinds>, static_cast<std::size_t>(kSlices)> words{};
  };

  static constexpr std::size_t SlotOf(std::int64_t slice) noexcept {
    const std::int64_t slot = slice % kSlices;
    return static_cast<std::size_t>(slot < 0 ? slot + kSlices : slot);
  }
  // The slice with its slot below, so that the writers of the current slice need no division.
  static constexpr std::int64_t Head(std::int64_t slice, std::int64_t which) noexcept {
    return (slice * 2 + which) * (kSlotMask + 1) + static_cast<std::int64_t>(SlotOf(slice));
  }
  static constexpr std::int64_t SliceIn(std::int64_t head) noexcept { return head >> kHeadBits; }
  static constexpr std::int64_t WhichIn(std::int64_t head) noexcept {
    return head >> kSlotBits & 1;
  }
  // Of a slice, in nanoseconds. Relaxed: the head publishes it. Two changes later it may be another
  // head's; then what is added goes astray, but no head is set by it.
  std::int64_t WidthIn(std::int64_t head) const noexcept {
    return widths_[static_cast<std::size_t>(WhichIn(head))].load(std::memory_order_relaxed);
  }
  static constexpr std::int64_t SliceAt(TimePoint at, std::int64_t width) noexcept {
    const std::int64_t ns = at.time_since_epoch().count();
    return ns / width - (ns % width < 0 ? 1 : 0);
  }
  static constexpr std::uint64_t TagOf(std::int64_t slice, std::uint32_t generation) noexcept {
    return (std::uint64_t{generation & 0xfff} << 12 | (static_cast<std::uint64_t>(slice) & 0xfff))
           << kCountBits;
  }

  Place AddTo(std::int64_t slice, std::size_t slot, std::size_t kind,
              std::uint32_t generation) noexcept {
    Word& word = stripes_[MyStripe()].words[slot][kind];
    const std::uint64_t before = word.fetch_add(1);
    if (((before ^ TagOf(slice, generation)) & kTagMask) != 0) [[unlikely]] {
      TakeBack(word, before & kTagMask);
      return {.slice = slice};
    }
    return {.slice = slice, .before = before & ~kTagMask, .counted = true};
  }

  // For a `now` that is not in the head's slice.
  SHED_SELDOM Place AddElsewhere(TimePoint now, std::size_t kind,
                                 std::uint32_t generation) noexcept {
    std::int64_t head = head_.load(std::memory_order_acquire);
    std::int64_t slice = SliceAt(now, WidthIn(head));
    while (slice > SliceIn(head)) {
      Turn(now);
      head = head_.load(std::memory_order_acquire);
      slice = SliceAt(now, WidthIn(head));
    }
    if (SliceIn(head) - slice >= kSlices) return {.slice = slice};
    return AddTo(slice, SlotOf(slice), kind, generation);
  }

  // Moves the head to the slice of `now`, unless another thread moved it as far already.
  void Turn(TimePoint now) noexcept {
    MutexLock lock(mutex_);
    const std::int64_t seen = head_.load(std::memory_order_relaxed);
    const std::int64_t head = SliceIn(seen);
    const std::int64_t slice = SliceAt(now, WidthIn(seen));
    if (slice <= head) return;
    const std::int64_t first = slice - head < kSlices ? head + 1 : slice - kSlices + 1;
    for (std::int64_t s = first; s <= slice; ++s) Recycle(s);
    // Release: who sees the new head sees its slots emptied.
    head_.store(Head(slice, WhichIn(seen)), std::memory_order_release);
  }

  // Gives a slot to `slice`, empty. Relaxed: the head, or the caller's own word, publishes it.
  void Recycle(std::int64_t slice) noexcept SHED_REQUIRES(mutex_) {
    for (Stripe& stripe : stripes_) {
      for (Word& word : stripe.words[SlotOf(slice)]) {
        word.store(TagOf(slice, generation_), std::memory_order_relaxed);
      }
    }
  }

  // Takes what the slices up to `head` have counted, by their age. Whoever adds to them from now on
  // finds a tag that is nobody's.
  std::array<Counts, static_cast<std::size_t>(kSlices)> TakeAll(std::int64_t head) noexcept
      SHED_REQUIRES(mutex_) {
    std::array<Counts, static_cast<std::size_t>(kSlices)> taken{};
    for (std::int64_t age = 0; age < kSlices; ++age) {
      const std::int64_t slice = head - age;
      for (Stripe& stripe : stripes_) {
        for (std::size_t kind = 0; kind < kKinds; ++kind) {
          const std::uint64_t word =
              stripe.words[SlotOf(slice)][kind].exchange(TagOf(slice + 2048, generation_));
          if ((word & kTagMask) != TagOf(slice, generation_)) continue;
          taken[static_cast<std::size_t>(age)][kind] += word & ~kTagMask;
        }
      }
    }
    return taken;
  }
  void Put(std::int64_t slice, const Counts& counts) noexcept SHED_REQUIRES(mutex_) {
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      stripes_[0].words[SlotOf(slice)][kind].fetch_add(counts[kind]);
    }
  }

  // Subtracts one while the word is `tag`'s; a word that has moved on has lost the one already.
  SHED_SELDOM static void TakeBack(Word& word, std::uint64_t tag) noexcept {
    std::uint64_t seen = word.load(std::memory_order_relaxed);
    while ((seen & kTagMask) == tag && (seen & ~kTagMask) != 0 &&
           !word.compare_exchange_weak(seen, seen - 1, std::memory_order_relaxed)) {
    }
  }

  typename Sync::template Atomic<std::int64_t> head_{0};
  std::array<typename Sync::template Atomic<std::int64_t>, 2> widths_{};
  typename Sync::Mutex mutex_;
  std::uint32_t generation_ SHED_GUARDED_BY(mutex_) = 0;
  std::array<Stripe, kStripes> stripes_{};
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_SLIDING_WINDOW_H_
