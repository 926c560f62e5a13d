// How many calls in a row failed.
#ifndef SHED_INTERNAL_FAILURE_ROW_H_
#define SHED_INTERNAL_FAILURE_ROW_H_

#include <atomic>
#include <cstdint>

#include "shed/internal/hints.h"

namespace shed::internal {

// One word: a generation above, the failures since its last success below. Lock-free; a success
// after a success writes nothing. Relaxed throughout: the count publishes nothing.
template <class Sync>
class FailureRow {
 public:
  // Begins `generation`, with no failure.
  void Clear(std::uint32_t generation) noexcept {
    word_.store(std::uint64_t{generation} << 32, std::memory_order_relaxed);
  }

  // Counts a call; returns the failures in a row that it ends, 0 for a success and for a call of
  // another generation. A compare-exchange, so that such a call can neither add nor reset.
  std::uint32_t Add(bool failed, std::uint32_t generation) noexcept {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    if (!failed && static_cast<std::uint32_t>(seen) == 0) [[likely]]
      return 0;
    return Change(seen, failed, generation);
  }

  std::uint32_t Read() const noexcept {
    return static_cast<std::uint32_t>(word_.load(std::memory_order_relaxed));
  }

 private:
  SHED_APART std::uint32_t Change(std::uint64_t seen, bool failed,
                                  std::uint32_t generation) noexcept {
    for (;;) {
      const auto row = static_cast<std::uint32_t>(seen);
      if ((!failed && row == 0) || seen >> 32 != generation) return 0;
      const std::uint32_t next = !failed ? 0 : row + (row + 1 != 0 ? 1 : 0);
      if (word_.compare_exchange_weak(seen, std::uint64_t{generation} << 32 | next,
                                      std::memory_order_relaxed)) {
        return next;
      }
    }
  }

  typename Sync::template Atomic<std::uint64_t> word_{0};
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_FAILURE_ROW_H_
