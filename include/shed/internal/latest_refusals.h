// Whether another caller than the one in hand was refused lately: the latest refusals of two
// different callers say it, for every caller.
//
// Algorithm: if the latest refusal was another's, its time decides, for it is the latest of all; if
// it was one's own, the time of the latest before it that was another's. So two times and one index
// are all that is kept.
//
// Locking: refusals write one after the other, under a spin lock. Reading takes none: it reads the
// latest time, then whose it was, then the other time, and a writer writes them in the opposite
// order, so that a reader that sees some of a refusal answers as if it came after the whole of it.
#ifndef SHED_INTERNAL_LATEST_REFUSALS_H_
#define SHED_INTERNAL_LATEST_REFUSALS_H_

#include <atomic>
#include <cstdint>

#include "shed/internal/index_list.h"
#include "shed/internal/spin_lock.h"
#include "shed/time.h"

namespace shed::internal {

template <class Sync>
class LatestRefusals {
 public:
  // The caller `index` is refused at `at`.
  void Add(std::uint32_t index, TimePoint at) noexcept {
    const std::uint32_t number = lock_.Lock();
    const std::uint64_t who = who_.load(std::memory_order_relaxed);
    const std::int64_t latest = latest_.load(std::memory_order_relaxed);
    if (Index(who) != index) {
      // Release: who sees the caller's index sees the time of the one before it, too.
      if (Index(who) != kNoIndex) before_it_.store(latest, std::memory_order_release);
      who_.store(index | (Index(who) == kNoIndex ? 0 : kHasBefore), std::memory_order_release);
    }
    const std::int64_t ns = at.time_since_epoch().count();
    if (Index(who) == kNoIndex || ns > latest) latest_.store(ns, std::memory_order_release);
    lock_.Unlock(number);
  }

  // Forgets those that were more than `window` before `at`: their callers may be others by now.
  void ForgetBefore(Duration window, TimePoint at) noexcept {
    const std::uint32_t number = lock_.Lock();
    const auto old = [&](const auto& when) {
      return Elapsed(TimePoint(Duration(when.load(std::memory_order_relaxed))), at) > window;
    };
    const std::uint64_t who = who_.load(std::memory_order_relaxed);
    if (old(latest_)) {
      who_.store(kNoIndex, std::memory_order_release);
    } else if ((who & kHasBefore) != 0 && old(before_it_)) {
      who_.store(Index(who), std::memory_order_release);
    }
    lock_.Unlock(number);
  }

  // Whether another than `self` was refused at most `window` before `at`. With kNoIndex: anyone.
  bool AnotherWithin(Duration window, std::uint32_t self, TimePoint at) const noexcept {
    // Acquire: see Add.
    const std::int64_t latest = latest_.load(std::memory_order_acquire);
    if (Elapsed(TimePoint(Duration(latest)), at) > window) return false;
    const std::uint64_t who = who_.load(std::memory_order_acquire);
    if (Index(who) != self) return Index(who) != kNoIndex;
    if ((who & kHasBefore) == 0) return false;
    const std::int64_t before = before_it_.load(std::memory_order_acquire);
    return Elapsed(TimePoint(Duration(before)), at) <= window;
  }

 private:
  static constexpr std::uint64_t kHasBefore = std::uint64_t{1} << 32;
  static constexpr std::uint32_t Index(std::uint64_t who) noexcept {
    return static_cast<std::uint32_t>(who);
  }

  typename Sync::template Atomic<std::int64_t> latest_{0};
  typename Sync::template Atomic<std::int64_t> before_it_{0};
  typename Sync::template Atomic<std::uint64_t> who_{kNoIndex};  // Whose the latest is.
  SpinLock<Sync> lock_;
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_LATEST_REFUSALS_H_
