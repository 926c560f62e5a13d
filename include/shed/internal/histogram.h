// A histogram of latencies with a bounded relative error.
#ifndef SHED_INTERNAL_HISTOGRAM_H_
#define SHED_INTERNAL_HISTOGRAM_H_

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "shed/internal/bounds.h"
#include "shed/time.h"

namespace shed::internal {

// The buckets: each octave of nanoseconds from 2^9 to 2^42 (73 minutes) is cut into 32 equal parts,
// so that the middle of a bucket is at most 1/65 = 1.6 % from any value in it. What lies below
// 512 ns counts as 512 ns, what lies above as the last bucket.
struct LatencyBuckets {
  static constexpr int kFirstOctave = 9;
  static constexpr int kOctaves = 33;
  static constexpr int kPartBits = 5;
  static constexpr std::uint32_t kParts = 1u << kPartBits;
  static constexpr std::uint32_t kCount = kOctaves * kParts;

  static constexpr std::uint32_t IndexOf(Duration latency) noexcept {
    const std::int64_t nanos = latency.count();
    if (nanos < (std::int64_t{1} << kFirstOctave)) return 0;
    const auto value = static_cast<std::uint64_t>(nanos);
    const int octave = 63 - std::countl_zero(value);
    if (octave >= kFirstOctave + kOctaves) return kCount - 1;
    const auto part = static_cast<std::uint32_t>(value >> (octave - kPartBits)) & (kParts - 1);
    return static_cast<std::uint32_t>(octave - kFirstOctave) * kParts + part;
  }

  // The harmonic middle of a bucket, equally far from both of its ends in proportion: for a bucket
  // from m to m + 1 widths, m + m/(2m + 1) of them.
  static constexpr Duration ValueOf(std::uint32_t index) noexcept {
    const std::uint64_t width = std::uint64_t{1} << (index / kParts + kFirstOctave - kPartBits);
    const std::uint64_t m = kParts + index % kParts;
    return Duration(static_cast<std::int64_t>(m * width + width * m / (2 * m + 1)));
  }
};

// What a histogram held when it was taken: plain numbers, 4 KiB.
struct LatencyCounts {
  std::array<std::uint32_t, LatencyBuckets::kCount> counts{};
  std::uint64_t total = 0;

  // The smallest latency that at least the share `quantile` of the samples do not exceed, to
  // within a bucket; zero if there is no sample. `quantile` in [0, 1].
  constexpr Duration Quantile(double quantile) const noexcept {
    if (total == 0) return Duration::zero();
    const double exact = quantile * static_cast<double>(total);
    auto rank = static_cast<std::uint64_t>(exact);
    if (static_cast<double>(rank) < exact) ++rank;  // Rounds up: 0.5 of 5 samples is the third.
    rank = Clamp<std::uint64_t>(rank, 1, total);
    std::uint64_t seen = 0;
    for (std::uint32_t i = 0; i < counts.size(); ++i) {
      seen += counts[i];
      if (seen >= rank) return LatencyBuckets::ValueOf(i);
    }
    return LatencyBuckets::ValueOf(LatencyBuckets::kCount - 1);
  }
};

// Records from any thread, without a lock; 4 KiB, none of it allocated later.
//
// A sample is one addition to one bucket, and Take() swaps each bucket for zero: whatever the
// interleaving, a sample is in what one Take() returns, once, or still here for the next. No
// recorder waits for it, and there is no second copy to switch to.
template <class Sync>
class LatencyHistogram {
 public:
  void Record(Duration latency) noexcept {
    // Relaxed: each count stands for itself.
    buckets_[LatencyBuckets::IndexOf(latency)].fetch_add(1, std::memory_order_relaxed);
  }

  // How many samples it holds; exact while nobody records.
  std::uint64_t Count() const noexcept {
    std::uint64_t count = 0;
    for (const auto& bucket : buckets_) count += bucket.load(std::memory_order_relaxed);
    return count;
  }

  // Empties it, and returns what was in it. One thread at a time.
  LatencyCounts Take() noexcept {
    LatencyCounts taken;
    for (std::uint32_t i = 0; i < LatencyBuckets::kCount; ++i) {
      // A load is cheap, a swap is not, and most buckets are empty.
      if (buckets_[i].load(std::memory_order_relaxed) == 0) continue;
      taken.counts[i] = buckets_[i].exchange(0, std::memory_order_relaxed);
      taken.total += taken.counts[i];
    }
    return taken;
  }

  void Clear() noexcept {
    for (auto& bucket : buckets_) bucket.store(0, std::memory_order_relaxed);
  }

 private:
  std::array<typename Sync::template Atomic<std::uint32_t>, LatencyBuckets::kCount> buckets_{};
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_HISTOGRAM_H_
