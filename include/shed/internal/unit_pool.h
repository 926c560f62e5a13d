// Units that many threads take and give back, never more than there are: to the unit, and without a
// word that every call must write.
//
// Algorithm: units that are free lie in a pool, or with the stripe that gave them back last, which
// takes them again without asking anybody: at most `keep_` there, a quarter of all in the stripes
// together. Who finds too few in its stripe and in the pool gathers what the stripes have into the
// pool, and from then on units go there alone, so that a refusal is told by one word, with
// certainty: what it needs is not there. When half of the units are free again, stripes may keep
// some again. Too few units to go round always lie in the pool. The pool is below zero while more
// are taken than there still are, after they have become fewer.
//
// Locking: compare-exchange; to gather, a mutex, which who needs units meanwhile waits for. A
// stripe that keeps units while they are being gathered sees that afterwards (both sides write
// first, then read, in one order for all), and brings them to the pool itself. So a refusal is one
// that some order of the calls gives.
#ifndef SHED_INTERNAL_UNIT_POOL_H_
#define SHED_INTERNAL_UNIT_POOL_H_

#include <atomic>
#include <cstdint>

#include "shed/internal/bounds.h"
#include "shed/internal/hints.h"
#include "shed/sync.h"

namespace shed::internal {

template <class Sync>
class UnitPool {
 public:
  static constexpr unsigned kStripes = 8;

  // `units` is at most 2^30.
  explicit UnitPool(std::uint32_t units) noexcept
      : pool_(static_cast<std::int32_t>(units)),
        mode_(KeepOf(units) > 0 ? kSpread : kGathered),
        units_(units),
        keep_(KeepOf(units)) {}

  // So many units from now on. What is taken stays taken; nothing is given out until less than that
  // is. Any thread.
  void Resize(std::uint32_t units) noexcept {
    const MutexLock lock(mutex_);
    const std::int32_t found = GatherLocked();
    const std::uint32_t before = units_.load(std::memory_order_relaxed);
    units_.store(units, std::memory_order_relaxed);
    keep_.store(KeepOf(units), std::memory_order_relaxed);
    const auto more = static_cast<std::int32_t>(units) - static_cast<std::int32_t>(before);
    pool_.fetch_add(found + more, std::memory_order_release);
    Gathered();
  }

  // Takes `units`, at least 1. Returns false, and takes none, if fewer are free.
  bool TryTake(unsigned stripe, std::uint32_t units) noexcept {
    if (TakeFrom(stripes_[stripe % kStripes].units, units)) [[likely]]
      return true;
    return TryTakeSlowly(stripe, units);
  }

  // Gives back `units` that were taken.
  void Give(unsigned stripe, std::uint32_t units) noexcept {
    Word& kept = stripes_[stripe % kStripes].units;
    const auto given = static_cast<std::int32_t>(units);
    if (kept.load(std::memory_order_relaxed) + std::int64_t{given} >
            keep_.load(std::memory_order_relaxed) ||
        ModeOf(mode_.load(std::memory_order_relaxed)) != kSpread) {
      return GiveToPool(units);
    }
    // Sequentially consistent, both: see Gather. (A release, besides, as in GiveToPool.)
    kept.fetch_add(given);
    if (ModeOf(mode_.load()) != kSpread) [[unlikely]] {
      // No more than it gave: what lay there before must not be on its way, or another would be
      // refused what was free all the time.
      if (TakeFrom(kept, units)) GiveToPool(units);
    }
  }

  // Units taken; beside other calls, off by what these move while they are added up.
  std::uint32_t in_use() const noexcept {
    std::int64_t free = pool_.load(std::memory_order_relaxed);
    for (const Stripe& stripe : stripes_) free += stripe.units.load(std::memory_order_relaxed);
    const std::int64_t taken = units_.load(std::memory_order_relaxed) - free;
    return static_cast<std::uint32_t>(Max<std::int64_t>(taken, 0));
  }

 private:
  using Word = typename Sync::template Atomic<std::int32_t>;
  struct alignas(64) Stripe {
    Word units{0};
  };

  // The mode, and above it how often it changed.
  static constexpr std::uint32_t kGathered = 0;   // All free units are in the pool.
  static constexpr std::uint32_t kSpread = 1;     // Stripes may keep some.
  static constexpr std::uint32_t kGathering = 2;  // One thread brings them to the pool.
  static constexpr std::uint32_t kStep = 4;
  static constexpr std::uint32_t ModeOf(std::uint32_t word) noexcept { return word % kStep; }
  static constexpr std::uint32_t Next(std::uint32_t word, std::uint32_t mode) noexcept {
    return word - ModeOf(word) + kStep + mode;
  }

  static constexpr std::int32_t KeepOf(std::uint32_t units) noexcept {
    return static_cast<std::int32_t>(units / (4 * kStripes));
  }

  static bool TakeFrom(Word& word, std::uint32_t wanted) noexcept {
    const auto units = static_cast<std::int32_t>(wanted);
    // Acquire: what another did before it gave them back comes before what is done with them; and
    // the mode that is read next is not older than what was found too little.
    std::int32_t free = word.load(std::memory_order_acquire);
    while (free >= units) {
      if (word.compare_exchange_weak(free, free - units, std::memory_order_acquire,
                                     std::memory_order_acquire)) {
        return true;
      }
    }
    return false;
  }

  SHED_APART bool TryTakeSlowly(unsigned stripe, std::uint32_t units) noexcept {
    for (;;) {
      const std::uint32_t mode = mode_.load(std::memory_order_acquire);
      if (TakeFrom(stripes_[stripe % kStripes].units, units) || TakeFrom(pool_, units)) return true;
      if (ModeOf(mode) != kGathered) {
        Gather();
      } else if (mode_.load(std::memory_order_acquire) == mode) {
        return false;  // It was the same all the time: the pool was all there was.
      }
    }
  }

  SHED_SELDOM void Gather() noexcept {
    const MutexLock lock(mutex_);
    if (ModeOf(mode_.load(std::memory_order_relaxed)) != kSpread) return;  // Another has done it.
    pool_.fetch_add(GatherLocked(), std::memory_order_release);
    Gathered();
  }
  // Takes what the stripes have; it is the caller's to bring to the pool, before Gathered.
  std::int32_t GatherLocked() noexcept SHED_REQUIRES(mutex_) {
    // Sequentially consistent, as are the exchanges: a stripe that keeps units either does so
    // before its exchange here, or sees this and takes them to the pool.
    mode_.store(Next(mode_.load(std::memory_order_relaxed), kGathering));
    std::int32_t found = 0;
    for (Stripe& stripe : stripes_) found += stripe.units.exchange(0);
    return found;
  }
  void Gathered() noexcept SHED_REQUIRES(mutex_) {
    mode_.store(Next(mode_.load(std::memory_order_relaxed), kGathered), std::memory_order_release);
  }

  SHED_APART void GiveToPool(std::uint32_t units) noexcept {
    // Release: see TakeFrom.
    const auto given = static_cast<std::int32_t>(units);
    const std::int32_t free = pool_.fetch_add(given, std::memory_order_release) + given;
    const auto half = static_cast<std::int32_t>(units_.load(std::memory_order_relaxed) / 2);
    if (keep_.load(std::memory_order_relaxed) == 0 || free < half) return;
    std::uint32_t mode = mode_.load(std::memory_order_relaxed);
    if (ModeOf(mode) == kGathered) {
      mode_.compare_exchange_strong(mode, Next(mode, kSpread), std::memory_order_relaxed);
    }
  }

  Stripe stripes_[kStripes];
  alignas(64) Word pool_;
  // Read by every call, and written only when what is free runs out or comes back.
  alignas(64) typename Sync::template Atomic<std::uint32_t> mode_;
  typename Sync::template Atomic<std::uint32_t> units_;
  Word keep_;  // What a stripe keeps at most.
  alignas(64) typename Sync::Mutex mutex_;
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_UNIT_POOL_H_
