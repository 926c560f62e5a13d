// Who waits and who ends, in one word, so that neither misses the other.
#ifndef SHED_INTERNAL_WAKE_WORD_H_
#define SHED_INTERNAL_WAKE_WORD_H_

#include <atomic>
#include <cstdint>

namespace shed::internal {

// Counts those that wait, and the ends of calls. Whoever is to wait looks, asks for a permit, is
// refused, counts as one who waits, and compares the ends with those that it saw; whoever ends
// gives its permit back, and counts the end. As both change the same word, one of them comes first:
// then either the one who waits sees that there was an end since it asked, or the one who ends sees
// that somebody waits.
template <class Sync>
class WakeWord {
 public:
  struct Seen {
    std::uint64_t waiting = 0;
    std::uint64_t ends = 0;  // Modulo 2^32.
  };

  Seen Look() const noexcept { return Of(word_.load(std::memory_order_acquire)); }
  // Each returns what was there before. Acquire and release: whoever comes second sees what the
  // first had done.
  Seen AddEnd() noexcept { return Of(word_.fetch_add(kEnd, std::memory_order_acq_rel)); }
  Seen AddWaiter() noexcept { return Of(word_.fetch_add(1, std::memory_order_acq_rel)); }
  // Relaxed: there is nothing to see for who finds nobody waiting. Requires a waiter.
  void RemoveWaiter() noexcept { word_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  static constexpr std::uint64_t kEnd = std::uint64_t{1} << 32;
  static constexpr Seen Of(std::uint64_t word) noexcept { return {word % kEnd, word / kEnd}; }

  typename Sync::template Atomic<std::uint64_t> word_{0};
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_WAKE_WORD_H_
