// Who waits, and in which order: the places of a waiting room, without what waits there.
#ifndef SHED_INTERNAL_WAITING_LINE_H_
#define SHED_INTERNAL_WAITING_LINE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "shed/internal/deadline_heap.h"
#include "shed/internal/fixed_array.h"
#include "shed/internal/index_list.h"
#include "shed/request.h"
#include "shed/time.h"

namespace shed::internal {

// Who of a class goes first.
enum class LineOrder : std::uint8_t {
  kOldestFirst,
  kNewestFirst,
};

// A line of up to a fixed number of waiters, each at a place from 0. More critical ones stand
// before less critical ones, whatever the order; the order, which may change at any time, is that
// within a class. O(1), but for the deadlines, which are a heap. Not thread-safe; never allocates
// after construction.
class WaitingLine {
 public:
  // Requires places > 0.
  explicit WaitingLine(std::uint32_t places)
      : places_(places), links_(places + kHeads), classes_(places), deadlines_(places) {
    for (std::uint32_t head = places_; head < places_ + kHeads; ++head) {
      IndexList::MakeEmpty(links_.data(), head);
    }
    for (std::uint32_t i = 0; i < places_; ++i) {
      IndexList::PushBack(links_.data(), FreeHead(), i);
    }
  }

  std::uint32_t places() const noexcept { return places_; }
  std::uint32_t size() const noexcept {
    std::uint32_t sum = 0;
    for (const std::uint32_t n : sizes_) sum += n;
    return sum;
  }
  bool empty() const noexcept { return size() == 0; }
  const std::array<std::uint32_t, kCriticalityCount>& sizes() const noexcept { return sizes_; }

  // Puts a waiter of class number `c` in line. Returns its place. Requires size() < places().
  std::uint32_t Add(std::size_t c, TimePoint deadline) noexcept {
    const std::uint32_t place = links_[FreeHead()].next;
    IndexList::Remove(links_.data(), place);
    IndexList::PushBack(links_.data(), Head(c), place);
    classes_[place] = static_cast<std::uint8_t>(c);
    deadlines_.Insert(place, deadline);
    ++sizes_[c];
    return place;
  }
  // Takes a waiter out of the line. Requires that one is at this place.
  void Remove(std::uint32_t place) noexcept {
    IndexList::Remove(links_.data(), place);
    IndexList::PushBack(links_.data(), FreeHead(), place);
    deadlines_.Remove(place);
    --sizes_[classes_[place]];
  }

  // Whose turn it is. Requires !empty().
  std::uint32_t First(LineOrder order) const noexcept {
    std::size_t c = kCriticalityCount - 1;
    while (sizes_[c] == 0) --c;
    return order == LineOrder::kOldestFirst ? links_[Head(c)].next : links_[Head(c)].prev;
  }
  // Who is last in line. Requires !empty().
  std::uint32_t Last(LineOrder order) const noexcept {
    std::size_t c = 0;
    while (sizes_[c] == 0) ++c;
    return order == LineOrder::kOldestFirst ? links_[Head(c)].prev : links_[Head(c)].next;
  }
  // Whether a newcomer of class `c` would have the first turn.
  bool WouldBeFirst(std::size_t c, LineOrder order) const noexcept {
    const std::size_t from = order == LineOrder::kOldestFirst ? c : c + 1;
    for (std::size_t i = from; i < kCriticalityCount; ++i) {
      if (sizes_[i] != 0) return false;
    }
    return true;
  }
  // Whether a newcomer of class `c` would stand before the one who is last now. Requires !empty().
  bool WouldNotBeLast(std::size_t c, LineOrder order) const noexcept {
    const std::size_t last = classes_[Last(order)];
    return order == LineOrder::kOldestFirst ? last < c : last <= c;
  }

  // The earliest deadline, TimePoint::max() if nobody waits; and whose it is (requires !empty()).
  TimePoint NextDeadline() const noexcept { return deadlines_.earliest(); }
  std::uint32_t Soonest() const noexcept { return deadlines_.first(); }

 private:
  static constexpr std::uint32_t kHeads = kCriticalityCount + 1;
  std::uint32_t Head(std::size_t c) const noexcept {
    return places_ + static_cast<std::uint32_t>(c);
  }
  std::uint32_t FreeHead() const noexcept { return places_ + kCriticalityCount; }

  const std::uint32_t places_;
  const FixedArray<IndexLinks> links_;
  const FixedArray<std::uint8_t> classes_;
  DeadlineHeap deadlines_;
  std::array<std::uint32_t, kCriticalityCount> sizes_{};
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_WAITING_LINE_H_
