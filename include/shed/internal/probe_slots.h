// The probes that a half-open breaker has out, and when each began.
#ifndef SHED_INTERNAL_PROBE_SLOTS_H_
#define SHED_INTERNAL_PROBE_SLOTS_H_

#include <cstddef>
#include <cstdint>

#include "shed/internal/bounds.h"
#include "shed/internal/fixed_array.h"
#include "shed/time.h"

namespace shed::internal {

// Allocates when it is made, and in Reserve. Not synchronised: the owner locks.
class ProbeSlots {
 public:
  explicit ProbeSlots(std::size_t most) : most_(most), began_(most) { Clear(); }

  // Makes room for so many, so that Allow(most) may follow.
  void Reserve(std::size_t most) {
    if (most <= began_.size()) return;
    FixedArray<TimePoint> more(most);
    for (std::size_t i = 0; i < most; ++i) more[i] = i < began_.size() ? began_[i] : kFree;
    began_.Swap(more);
  }
  // So many may be out from now on. Those that are stay.
  void Allow(std::size_t most) noexcept { most_ = most; }

  // Returns the slot of a probe that begins at `now`. Requires !full().
  std::uint32_t Claim(TimePoint now) noexcept {
    std::uint32_t slot = 0;
    while (began_[slot] != kFree) ++slot;
    began_[slot] = Min(now, kLatest);
    ++in_flight_;
    return slot;
  }
  // Gives back a slot that Claim returned, once.
  void Release(std::uint32_t slot) noexcept {
    began_[slot] = kFree;
    --in_flight_;
  }
  void Clear() noexcept {
    for (TimePoint& began : began_) began = kFree;
    in_flight_ = 0;
  }

  // When the oldest probe that is out began; TimePoint::max() if none is.
  TimePoint Oldest() const noexcept {
    TimePoint oldest = TimePoint::max();
    for (const TimePoint began : began_) oldest = Min(oldest, began);
    return oldest;
  }
  std::uint32_t in_flight() const noexcept { return in_flight_; }
  bool full() const noexcept { return in_flight_ >= most_; }

 private:
  static constexpr TimePoint kFree = TimePoint::max();
  static constexpr TimePoint kLatest = kFree - Duration(1);

  std::size_t most_;
  FixedArray<TimePoint> began_;  // At least so many.
  std::uint32_t in_flight_ = 0;
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_PROBE_SLOTS_H_
