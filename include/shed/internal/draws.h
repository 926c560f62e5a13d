// Random draws from a seed, one stream per stripe.
#ifndef SHED_INTERNAL_DRAWS_H_
#define SHED_INTERNAL_DRAWS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shed/internal/random.h"
#include "shed/sync.h"

namespace shed::internal {

// Draws are a hash of (seed, stripe, how many draws the stripe made before): the same calls with
// the same seed get the same draws, and a draw writes its own stripe's line alone.
template <class Sync, std::size_t kStripes = 4>
class Draws {
 public:
  explicit Draws(std::uint64_t seed) noexcept {
    for (std::size_t i = 0; i < kStripes; ++i) {
      stripes_[i].state.store(Mix(seed ^ Mix(i)), std::memory_order_relaxed);
    }
  }

  // Returns a number in [0, 65534].
  std::uint32_t Next() noexcept {
    State& state = stripes_[Sync::Stripe() % kStripes].state;
    // Not a read-modify-write, which would cost four times as much: two threads that share a stripe
    // may get the same draw, which is as random as another.
    const std::uint64_t seen = state.load(std::memory_order_relaxed);
    state.store(seen + kGolden, std::memory_order_relaxed);
    return static_cast<std::uint32_t>((Mix(seen) >> 48) * kCertain >> 16);
  }

  // The threshold for a probability: a draw below it says yes. 0 never does, kCertain always.
  static constexpr std::uint32_t kCertain = 65'535;
  static constexpr std::uint32_t Threshold(double probability) noexcept {
    if (!(probability > 0)) return 0;
    if (probability >= 1) return kCertain;
    return static_cast<std::uint32_t>(probability * kCertain + 0.5);
  }

 private:
  using State = typename Sync::template Atomic<std::uint64_t>;
  struct alignas(64) Stripe {
    State state{0};
  };
  std::array<Stripe, kStripes> stripes_{};
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_DRAWS_H_
