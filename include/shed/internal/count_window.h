// Counts of the last n calls.
#ifndef SHED_INTERNAL_COUNT_WINDOW_H_
#define SHED_INTERNAL_COUNT_WINDOW_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "shed/internal/bounds.h"
#include "shed/internal/breaker_rule.h"
#include "shed/internal/fixed_array.h"

namespace shed::internal {

// A ring of the last n calls, two bits each (failed, slow), and their totals: a new call takes the
// place of the oldest, whose bits are subtracted, so that every member costs the same at any n.
// Allocates when it is made. Not synchronised: the owner locks.
class CountWindow {
 public:
  // n = 0: a window that is not used; Add must not be called.
  explicit CountWindow(std::size_t n) : size_(n), ring_((n + kPerWord - 1) / kPerWord) {}

  // Of the last n, with what `from` has of these.
  CountWindow(const CountWindow& from, std::size_t n) : CountWindow(n) {
    const std::size_t had = static_cast<std::size_t>(from.counts_.calls);
    for (std::size_t i = had - Min(had, n); i < had; ++i) {
      // Its places are in order from the oldest, which is the next to be written once it is full.
      const std::size_t place = had < from.size_ ? i : (from.next_ + i) % from.size_;
      const std::uint64_t bits = from.ring_[place / kPerWord] >> (place % kPerWord * 2);
      Add((bits & 1) != 0, (bits & 2) != 0);
    }
  }
  void Swap(CountWindow& other) noexcept {
    std::swap(size_, other.size_);
    std::swap(next_, other.next_);
    std::swap(counts_, other.counts_);
    ring_.Swap(other.ring_);
  }

  void Add(bool failed, bool slow) noexcept {
    std::uint64_t& word = ring_[next_ / kPerWord];
    const std::size_t shift = next_ % kPerWord * 2;
    if (counts_.calls == size_) {
      counts_.failed -= word >> shift & 1;
      counts_.slow -= word >> shift >> 1 & 1;
    } else {
      ++counts_.calls;
    }
    const std::uint64_t bits = (failed ? 1u : 0u) | (slow ? 2u : 0u);
    word = (word & ~(std::uint64_t{3} << shift)) | bits << shift;
    counts_.failed += failed ? 1 : 0;
    counts_.slow += slow ? 1 : 0;
    next_ = next_ + 1 == size_ ? 0 : next_ + 1;
  }
  // The bits may stay: they count only once all n places have been written again.
  void Clear() noexcept {
    counts_ = {};
    next_ = 0;
  }
  // `failed_in_a_row` is not counted here.
  const BreakerCounts& counts() const noexcept { return counts_; }

 private:
  static constexpr std::size_t kPerWord = 32;

  std::size_t size_;
  std::size_t next_ = 0;
  BreakerCounts counts_;
  FixedArray<std::uint64_t> ring_;
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_COUNT_WINDOW_H_
