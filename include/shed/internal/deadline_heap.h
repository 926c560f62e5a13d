// Places of an array by a time: the earliest is at hand, and any can be taken out.
#ifndef SHED_INTERNAL_DEADLINE_HEAP_H_
#define SHED_INTERNAL_DEADLINE_HEAP_H_

#include <cstddef>
#include <cstdint>

#include "shed/internal/fixed_array.h"
#include "shed/time.h"

namespace shed::internal {

// A binary heap of the places from 0 to a fixed number, each in it once at most. O(log n) to put in
// and take out; never allocates after construction. Not thread-safe.
class DeadlineHeap {
 public:
  explicit DeadlineHeap(std::uint32_t places) : heap_(places), where_(places) {}

  bool empty() const noexcept { return size_ == 0; }
  // Requires !empty().
  std::uint32_t first() const noexcept { return heap_[0].place; }
  // TimePoint::max() if it is empty.
  TimePoint earliest() const noexcept { return empty() ? TimePoint::max() : heap_[0].at; }

  // Requires that `place` is not in it.
  void Insert(std::uint32_t place, TimePoint at) noexcept {
    heap_[size_] = {at, place};
    where_[place] = size_;
    Rise(size_++);
  }
  // Requires that `place` is in it.
  void Remove(std::uint32_t place) noexcept {
    const std::uint32_t hole = where_[place];
    --size_;
    if (hole == size_) return;
    Put(hole, heap_[size_]);
    Rise(hole);
    Sink(hole);
  }

 private:
  struct Item {
    TimePoint at{};
    std::uint32_t place = 0;
  };

  void Put(std::uint32_t i, const Item& item) noexcept {
    heap_[i] = item;
    where_[item.place] = i;
  }
  void Rise(std::uint32_t i) noexcept {
    const Item item = heap_[i];
    for (; i > 0 && item.at < heap_[(i - 1) / 2].at; i = (i - 1) / 2) Put(i, heap_[(i - 1) / 2]);
    Put(i, item);
  }
  void Sink(std::uint32_t i) noexcept {
    const Item item = heap_[i];
    for (std::uint32_t child = 2 * i + 1; child < size_; child = 2 * i + 1) {
      if (child + 1 < size_ && heap_[child + 1].at < heap_[child].at) ++child;
      if (item.at <= heap_[child].at) break;
      Put(i, heap_[child]);
      i = child;
    }
    Put(i, item);
  }

  std::uint32_t size_ = 0;
  const FixedArray<Item> heap_;
  const FixedArray<std::uint32_t> where_;
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_DEADLINE_HEAP_H_
