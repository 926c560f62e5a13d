// The probes that a half-open breaker has out, and when each began.
#ifndef SHED_INTERNAL_PROBE_SLOTS_H_
#define SHED_INTERNAL_PROBE_SLOTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "shed/time.h"

namespace shed::internal {

// A fixed number of slots. Allocates when it is made. Not synchronised: the owner locks.
class ProbeSlots {
 public:
  explicit ProbeSlots(std::size_t size) : began_(size, kFree) {}

  // Returns the slot of a probe that begins at `now`. Requires !full().
  std::uint32_t Claim(TimePoint now) noexcept {
    const auto slot = std::find(began_.begin(), began_.end(), kFree);
    *slot = std::min(now, kLatest);
    ++in_flight_;
    return static_cast<std::uint32_t>(slot - began_.begin());
  }
  // Gives back a slot that Claim returned, once.
  void Release(std::uint32_t slot) noexcept {
    began_[slot] = kFree;
    --in_flight_;
  }
  void Clear() noexcept {
    std::fill(began_.begin(), began_.end(), kFree);
    in_flight_ = 0;
  }

  // When the oldest probe that is out began; TimePoint::max() if none is.
  TimePoint Oldest() const noexcept { return *std::min_element(began_.begin(), began_.end()); }
  std::uint32_t in_flight() const noexcept { return in_flight_; }
  bool full() const noexcept { return in_flight_ == began_.size(); }

 private:
  static constexpr TimePoint kFree = TimePoint::max();
  static constexpr TimePoint kLatest = kFree - Duration(1);

  std::vector<TimePoint> began_;
  std::uint32_t in_flight_ = 0;
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_PROBE_SLOTS_H_
