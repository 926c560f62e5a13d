// The one word of an adaptive limiter: what must agree at every instant.
#ifndef SHED_INTERNAL_LIMIT_WORD_H_
#define SHED_INTERNAL_LIMIT_WORD_H_

#include <cstdint>

namespace shed::internal {

// From the top: 24 bits of completed calls (modulo), 20 bits of limit, 20 bits of calls in flight.
// One addition ends a call and counts it, one addition moves the limit, and no interleaving sees
// one field without the others. The counter is on top so that its overflow falls off the word.
class LimitWord {
 public:
  static constexpr std::uint32_t kMaxLimit = (1u << 20) - 1;
  static constexpr std::uint32_t kCompletedMask = (1u << 24) - 1;

  // Additions to the word (modulo 2^64). kStart and kCancel are inverse; kEnd also counts.
  static constexpr std::uint64_t kStart = 1;
  static constexpr std::uint64_t kCancel = ~std::uint64_t{0};
  static constexpr std::uint64_t kEnd = (std::uint64_t{1} << 40) - 1;
  static constexpr std::uint64_t MoveLimit(std::uint32_t from, std::uint32_t to) noexcept {
    return (std::uint64_t{to} - std::uint64_t{from}) << 20;
  }

  constexpr explicit LimitWord(std::uint64_t word) noexcept : word_(word) {}
  static constexpr LimitWord Of(std::uint32_t limit) noexcept {
    return LimitWord(std::uint64_t{limit} << 20);
  }

  constexpr std::uint64_t bits() const noexcept { return word_; }
  constexpr std::uint32_t in_flight() const noexcept {
    return static_cast<std::uint32_t>(word_) & kMaxLimit;
  }
  constexpr std::uint32_t limit() const noexcept {
    return static_cast<std::uint32_t>(word_ >> 20) & kMaxLimit;
  }
  constexpr std::uint32_t completed() const noexcept {
    return static_cast<std::uint32_t>(word_ >> 40);
  }
  // How many calls ended since the counter stood at `then`, if fewer than 2^24 did.
  constexpr std::uint32_t CompletedSince(std::uint32_t then) const noexcept {
    return (completed() - then) & kCompletedMask;
  }

 private:
  std::uint64_t word_;
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_LIMIT_WORD_H_
