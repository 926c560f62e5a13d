// Places for admissions that must wait before they start: a bounded number, each taken until its
// start has come. There is no timer: who comes for a place frees those whose time has passed.
//
// State: a binary heap of the places by their starts, so that finding one costs a logarithm of
// their number; behind the heap, in the same array, the places that are free.
//
// Locking: a mutex, for those that wait alone.
#ifndef SHED_INTERNAL_WAITING_PLACES_H_
#define SHED_INTERNAL_WAITING_PLACES_H_

#include <cstdint>

#include "shed/internal/fixed_array.h"
#include "shed/internal/index_list.h"
#include "shed/sync.h"
#include "shed/time.h"

namespace shed::internal {

template <class Sync>
class WaitingPlaces {
 public:
  // A place that was taken. The serial tells it from those who have it later.
  struct Taken {
    std::uint32_t place = kNoIndex;
    std::uint32_t serial = 0;

    explicit operator bool() const noexcept { return place != kNoIndex; }
  };

  explicit WaitingPlaces(std::uint32_t capacity) : places_(capacity), order_(capacity) {
    for (std::uint32_t i = 0; i < capacity; ++i) {
      order_[i] = i;
      places_[i].at = i;
    }
  }

  std::uint32_t capacity() const noexcept { return static_cast<std::uint32_t>(places_.size()); }

  // Takes a place until `start`, if fewer than `most` are taken at `now`. Requires that `most` is
  // at most capacity().
  Taken Take(std::uint32_t most, TimePoint now, TimePoint start) noexcept {
    const MutexLock lock(mutex_);
    while (taken_ > 0 && places_[order_[0]].start <= now) RemoveAt(0);
    if (taken_ >= most) return {};
    const std::uint32_t place = order_[taken_];
    places_[place].start = start;
    MoveUp(taken_++);
    return {place, places_[place].serial};
  }

  // Gives a place back, if its time has not passed and it is not another's by now.
  void GiveBack(const Taken& taken) noexcept {
    const MutexLock lock(mutex_);
    const Place& place = places_[taken.place];
    if (place.at < taken_ && place.serial == taken.serial) RemoveAt(place.at);
  }

  // How many are taken at `now`. A step for each that was taken and is free since.
  std::uint32_t CountAt(TimePoint now) const noexcept {
    const MutexLock lock(mutex_);
    return taken_ - PassedFrom(0, now);
  }

 private:
  struct Place {
    TimePoint start{};
    std::uint32_t serial = 0;
    std::uint32_t at = 0;  // Where it stands in order_.
  };

  // How many of the heap below `at` have started. No deeper than the heap.
  std::uint32_t PassedFrom(std::uint32_t at, TimePoint now) const noexcept SHED_REQUIRES(mutex_) {
    if (at >= taken_ || places_[order_[at]].start > now) return 0;
    return 1 + PassedFrom(2 * at + 1, now) + PassedFrom(2 * at + 2, now);
  }

  bool Before(std::uint32_t a, std::uint32_t b) const noexcept {
    return places_[order_[a]].start < places_[order_[b]].start;
  }
  void Swap(std::uint32_t a, std::uint32_t b) noexcept {
    const std::uint32_t place = order_[a];
    order_[a] = order_[b];
    order_[b] = place;
    places_[order_[a]].at = a;
    places_[order_[b]].at = b;
  }
  void MoveUp(std::uint32_t at) noexcept {
    for (; at > 0 && Before(at, (at - 1) / 2); at = (at - 1) / 2) Swap(at, (at - 1) / 2);
  }
  void MoveDown(std::uint32_t at) noexcept SHED_REQUIRES(mutex_) {
    for (;;) {
      std::uint32_t least = at;
      if (2 * at + 1 < taken_ && Before(2 * at + 1, least)) least = 2 * at + 1;
      if (2 * at + 2 < taken_ && Before(2 * at + 2, least)) least = 2 * at + 2;
      if (least == at) return;
      Swap(at, least);
      at = least;
    }
  }
  void RemoveAt(std::uint32_t at) noexcept SHED_REQUIRES(mutex_) {
    ++places_[order_[at]].serial;
    Swap(at, --taken_);
    if (at >= taken_) return;
    MoveUp(at);
    MoveDown(at);
  }

  const FixedArray<Place> places_;
  const FixedArray<std::uint32_t> order_;  // A heap of taken_, then the free ones.
  std::uint32_t taken_ SHED_GUARDED_BY(mutex_) = 0;
  mutable typename Sync::Mutex mutex_;
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_WAITING_PLACES_H_
