// Doubly linked rings of places in an array: putting one in and taking one out of the middle are
// O(1), and nothing is ever allocated.
#ifndef SHED_INTERNAL_INDEX_LIST_H_
#define SHED_INTERNAL_INDEX_LIST_H_

#include <cstdint>

namespace shed::internal {

inline constexpr std::uint32_t kNoIndex = 0xffff'ffff;

struct IndexLinks {
  std::uint32_t prev = kNoIndex;
  std::uint32_t next = kNoIndex;
};

// A list is a ring through a head, which is a place that stands for no entry. So an entry can be
// taken out by who does not know in which list it is.
class IndexList {
 public:
  static void MakeEmpty(IndexLinks* links, std::uint32_t head) noexcept {
    links[head] = {.prev = head, .next = head};
  }
  static bool IsEmpty(const IndexLinks* links, std::uint32_t head) noexcept {
    return links[head].next == head;
  }
  static void PushBack(IndexLinks* links, std::uint32_t head, std::uint32_t i) noexcept {
    const std::uint32_t last = links[head].prev;
    links[i] = {.prev = last, .next = head};
    links[last].next = i;
    links[head].prev = i;
  }
  // Requires that `i` is in a list.
  static void Remove(IndexLinks* links, std::uint32_t i) noexcept {
    links[links[i].prev].next = links[i].next;
    links[links[i].next].prev = links[i].prev;
  }
  // Appends all that is in the list of `from` to that of `to`, and leaves the former empty.
  static void Move(IndexLinks* links, std::uint32_t from, std::uint32_t to) noexcept {
    if (IsEmpty(links, from)) return;
    const std::uint32_t first = links[from].next;
    const std::uint32_t last = links[from].prev;
    links[first].prev = links[to].prev;
    links[links[to].prev].next = first;
    links[last].next = to;
    links[to].prev = last;
    MakeEmpty(links, from);
  }
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_INDEX_LIST_H_
