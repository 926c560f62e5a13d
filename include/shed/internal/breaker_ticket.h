// What one admission of a circuit breaker must remember.
#ifndef SHED_INTERNAL_BREAKER_TICKET_H_
#define SHED_INTERNAL_BREAKER_TICKET_H_

#include <cstdint>

namespace shed::internal {

// One word, written and read as a whole: a read of eight bytes that were written as two times four
// waits for both.
class BreakerTicket {
 public:
  constexpr BreakerTicket() noexcept = default;
  // `place`: a probe's slot, from 1; where a call is watched, kWatched and above; else 0.
  constexpr explicit BreakerTicket(std::uint32_t generation, std::uint32_t place = 0) noexcept
      : word_(std::uint64_t{generation} << 32 | place) {}

  // 0: nothing was admitted, or it has ended.
  constexpr std::uint32_t generation() const noexcept {
    return static_cast<std::uint32_t>(word_ >> 32);
  }
  // The slot held, from 1; 0 for a call that is no probe.
  constexpr std::uint32_t probe() const noexcept { return place() < kWatched ? place() : 0; }
  // The place in OverdueCalls; 0 for a call that has none.
  constexpr std::uint32_t watched() const noexcept { return place() < kWatched ? 0 : place(); }

  static constexpr std::uint32_t kWatched = std::uint32_t{1} << 31;

 private:
  constexpr std::uint32_t place() const noexcept { return static_cast<std::uint32_t>(word_); }

  std::uint64_t word_ = 0;
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_BREAKER_TICKET_H_
