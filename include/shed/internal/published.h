// Options that change while calls are in flight: read whole, without a lock.
#ifndef SHED_INTERNAL_PUBLISHED_H_
#define SHED_INTERNAL_PUBLISHED_H_

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "shed/sync.h"

namespace shed::internal {

// Holds a T. There are two copies; a writer writes the one that is not in force, and then says that
// it is. A reader that was overtaken by two writes reads again, and nobody ever waits for a writer
// that stands still.
template <class Sync, class T>
class Published {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(std::uint64_t) == 0 &&
                    std::has_unique_object_representations_v<T>,
                "whole words, without padding");
  static constexpr std::size_t kWords = sizeof(T) / sizeof(std::uint64_t);
  using Words = std::array<std::uint64_t, kWords>;
  using Word = typename Sync::template Atomic<std::uint64_t>;

 public:
  explicit Published(const T& value) noexcept { Store(copies_[0], value); }

  T Read() const noexcept {
    for (;;) {
      const std::uint64_t version = version_.load(std::memory_order_acquire);
      Words words{};
      const auto& copy = copies_[version & 1];
      // Acquire: whoever sees a word of a later write also sees that the version has moved.
      for (std::size_t i = 0; i < kWords; ++i) words[i] = copy[i].load(std::memory_order_acquire);
      if (version_.load(std::memory_order_relaxed) == version) [[likely]] {
        return std::bit_cast<T>(words);
      }
    }
  }

  // Any thread; writers wait for each other.
  void Write(const T& value) noexcept {
    const MutexLock lock(mutex_);
    const std::uint64_t next = version_.load(std::memory_order_relaxed) + 1;
    Store(copies_[next & 1], value);
    version_.store(next, std::memory_order_release);
  }

 private:
  static void Store(std::array<Word, kWords>& copy, const T& value) noexcept {
    const Words words = std::bit_cast<Words>(value);
    // Release: see Read.
    for (std::size_t i = 0; i < kWords; ++i) copy[i].store(words[i], std::memory_order_release);
  }

  Word version_{0};
  std::array<std::array<Word, kWords>, 2> copies_{};
  typename Sync::Mutex mutex_;
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_PUBLISHED_H_
