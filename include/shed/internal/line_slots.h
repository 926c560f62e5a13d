// The ClockLine in force, for threads that read it without waiting and without writing, and that
// replace it without a lock: a thread that is stopped half-way through a replacement holds up
// nobody.
#ifndef SHED_INTERNAL_LINE_SLOTS_H_
#define SHED_INTERNAL_LINE_SLOTS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shed/internal/clock_line.h"

namespace shed::internal {

// A few slots, and one word that says which is in force and how many were before it. Who replaces
// the line takes a free slot, fills it, and puts it in force by one compare-exchange, which fails
// if the line is no longer the one that he saw.
template <class Sync>
class LineSlots {
 public:
  // Names a line; never used again for another.
  using Turn = std::uint64_t;
  static constexpr std::size_t kSlots = 4;

  explicit LineSlots(const ClockLine& first) noexcept { slots_[0].Write(first); }
  LineSlots(const LineSlots&) = delete;
  LineSlots& operator=(const LineSlots&) = delete;

  // Sets `ns` to the time at `count`. False, and nothing set, if the line in force does not have
  // it.
  bool At(std::uint64_t count, std::int64_t& ns) const noexcept {
    const Turn turn = turn_.load(std::memory_order_acquire);
    const Slot& slot = slots_[turn % kSlots];
    ClockLine line;
    line.count = slot.count.load(std::memory_order_acquire);
    line.span = slot.span.load(std::memory_order_acquire);
    line.begin = slot.begin.load(std::memory_order_acquire);
    line.slope = slot.slope.load(std::memory_order_acquire);
    const std::uint64_t offset = count - line.count;
    if (offset >= line.span || !Still(turn)) [[unlikely]]
      return false;
    ns = line.At(offset);
    return true;
  }

  // Copies the line in force.
  Turn Read(ClockLine& line) const noexcept {
    for (;;) {
      const Turn turn = turn_.load(std::memory_order_acquire);
      slots_[turn % kSlots].Read(line);
      if (Still(turn)) [[likely]]
        return turn;
    }
  }

  // Puts `line` in the place of the line `turn`. False, and nothing changed, if that is no longer
  // in force or if every slot is held by a thread that is here.
  bool Replace(Turn turn, const ClockLine& line) noexcept {
    const std::size_t mine = Take();
    if (mine == kSlots) return false;
    slots_[mine].Write(line);
    const Turn next = (turn / kSlots + 1) * kSlots + mine;
    Turn seen = turn;
    // Release: who sees the turn sees the line.
    const bool replaced = turn_.compare_exchange_strong(seen, next, std::memory_order_acq_rel,
                                                        std::memory_order_relaxed);
    Free(replaced ? turn % kSlots : mine);
    return replaced;
  }

 private:
  // A line of the cache each: the one in force is written by nobody.
  struct alignas(64) Slot {
    template <class T>
    using Atomic = typename Sync::template Atomic<T>;
    Atomic<std::uint64_t> count{0};
    Atomic<std::uint64_t> span{0};
    Atomic<std::int64_t> begin{0};
    Atomic<std::uint64_t> slope{0};
    Atomic<std::int64_t> end{0};
    Atomic<std::int64_t> at{0};
    Atomic<std::int64_t> width{0};
    Atomic<std::uint64_t> rate{0};

    // Release, each of them: who reads one of these values then sees that the slot was out of
    // force when it was written.
    void Write(const ClockLine& line) noexcept {
      count.store(line.count, std::memory_order_release);
      span.store(line.span, std::memory_order_release);
      begin.store(line.begin, std::memory_order_release);
      slope.store(line.slope, std::memory_order_release);
      end.store(line.end, std::memory_order_release);
      at.store(line.at, std::memory_order_release);
      width.store(line.width, std::memory_order_release);
      rate.store(line.rate, std::memory_order_release);
    }
    void Read(ClockLine& line) const noexcept {
      line.count = count.load(std::memory_order_acquire);
      line.span = span.load(std::memory_order_acquire);
      line.begin = begin.load(std::memory_order_acquire);
      line.slope = slope.load(std::memory_order_acquire);
      line.end = end.load(std::memory_order_acquire);
      line.at = at.load(std::memory_order_acquire);
      line.width = width.load(std::memory_order_acquire);
      line.rate = rate.load(std::memory_order_acquire);
    }
  };

  // Relaxed: the loads of the slot before it are acquire, so this one stays behind them.
  bool Still(Turn turn) const noexcept { return turn_.load(std::memory_order_relaxed) == turn; }

  std::size_t Take() noexcept {
    const std::uint32_t taken = taken_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < kSlots; ++i) {
      const std::uint32_t bit = std::uint32_t{1} << i;
      // Acquire: with Free, the slot has gone out of force before it is written.
      if ((taken & bit) == 0 && (taken_.fetch_or(bit, std::memory_order_acquire) & bit) == 0) {
        return i;
      }
    }
    return kSlots;
  }
  void Free(std::size_t slot) noexcept {
    taken_.fetch_and(~(std::uint32_t{1} << slot), std::memory_order_release);
  }

  // The count of lines, times kSlots, and the slot of the one in force.
  alignas(64) typename Sync::template Atomic<Turn> turn_{0};
  // A bit for each slot: in force, or being filled.
  typename Sync::template Atomic<std::uint32_t> taken_{1};
  std::array<Slot, kSlots> slots_;
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_LINE_SLOTS_H_
