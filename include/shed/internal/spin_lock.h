// A lock of four bytes, for a few instructions on one cache line: where a mutex of forty would cost
// a line of its own, and as much time as the work that it guards.
#ifndef SHED_INTERNAL_SPIN_LOCK_H_
#define SHED_INTERNAL_SPIN_LOCK_H_

#include <atomic>
#include <cstdint>

#include "shed/internal/annotations.h"

namespace shed::internal {

// Lets other threads go on, in the `tries`-th turn of a loop that waits for one of them. A Sync may
// say how, with Relax(tries).
template <class Sync>
void Relax(unsigned tries) noexcept {
  if constexpr (requires { Sync::Relax(tries); }) Sync::Relax(tries);
}

// Test and set; neither fair nor recursive. Who holds it must wait for nothing but another
// SpinLock. It keeps a number of 31 bits, which is in its place while nobody holds it: so locking
// and reading the number are one exchange, unlocking and writing it one store.
template <class Sync>
class SHED_CAPABILITY("mutex") SpinLock {
 public:
  // Returns the number.
  std::uint32_t Lock() noexcept SHED_ACQUIRE() {
    // Acquire: what the last holder wrote is seen.
    std::uint32_t word = word_.exchange(kHeld, std::memory_order_acquire);
    while (word == kHeld) [[unlikely]] {
        // Reading only, until it is free: each exchange would take the line from its holder.
        for (unsigned tries = 0; word_.load(std::memory_order_relaxed) == kHeld; ++tries) {
          Relax<Sync>(tries);
        }
        word = word_.exchange(kHeld, std::memory_order_acquire);
      }
    return word;
  }
  // `number`, modulo 2^31, is what it keeps from now on.
  void Unlock(std::uint32_t number) noexcept SHED_RELEASE() {
    word_.store(number & ~kHeld, std::memory_order_release);
  }

 private:
  static constexpr std::uint32_t kHeld = std::uint32_t{1} << 31;

  typename Sync::template Atomic<std::uint32_t> word_{0};
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_SPIN_LOCK_H_
