// A doubly linked list of places in an array: taking one out of the middle is O(1), and nothing is
// ever allocated.
#ifndef SHED_INTERNAL_INDEX_LIST_H_
#define SHED_INTERNAL_INDEX_LIST_H_

#include <cstdint>

namespace shed::internal {

inline constexpr std::uint32_t kNoIndex = 0xffff'ffff;

struct IndexLinks {
  std::uint32_t prev = kNoIndex;
  std::uint32_t next = kNoIndex;
};

// Its entries are places in an array of links, each in one list at most.
class IndexList {
 public:
  // The first entry, or kNoIndex.
  std::uint32_t front() const noexcept { return front_; }

  void PushBack(IndexLinks* links, std::uint32_t i) noexcept {
    links[i].prev = back_;
    links[i].next = kNoIndex;
    (back_ == kNoIndex ? front_ : links[back_].next) = i;
    back_ = i;
  }

  // Requires that `i` is in this list.
  void Remove(IndexLinks* links, std::uint32_t i) noexcept {
    const std::uint32_t prev = links[i].prev;
    const std::uint32_t next = links[i].next;
    (prev == kNoIndex ? front_ : links[prev].next) = next;
    (next == kNoIndex ? back_ : links[next].prev) = prev;
  }

 private:
  std::uint32_t front_ = kNoIndex;
  std::uint32_t back_ = kNoIndex;
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_INDEX_LIST_H_
