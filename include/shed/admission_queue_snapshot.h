// What an AdmissionQueue has done so far, as plain data.
#ifndef SHED_ADMISSION_QUEUE_SNAPSHOT_H_
#define SHED_ADMISSION_QUEUE_SNAPSHOT_H_

#include <array>
#include <cstdint>

#include "shed/request.h"
#include "shed/time.h"

namespace shed {

// Counts since the queue was made; exempt calls are in none of them.
struct AdmissionQueueSnapshot {
  std::array<std::uint32_t, kCriticalityCount> waiting{};  // Now; least critical first.
  bool pressure = false;                                   // Now.
  std::uint64_t admitted_at_once = 0;
  std::uint64_t admitted_after_wait = 0;
  std::uint64_t refused = 0;    // By the limiter, for something that waiting does not cure.
  std::uint64_t expired = 0;    // The client's time was over, or too short.
  std::uint64_t timed_out = 0;  // They waited for as long as they may.
  std::uint64_t left = 0;       // They did not want to wait any more.
  std::uint64_t full = 0;       // There was no room.
  std::uint64_t evicted = 0;    // They lost their place to another.
  Duration longest_wait{0};     // Of those that were admitted.

  std::uint64_t TotalWaiting() const noexcept {
    std::uint64_t sum = 0;
    for (const std::uint32_t n : waiting) sum += n;
    return sum;
  }
  // Calls that have entered: each is in one of the figures.
  std::uint64_t TotalEntered() const noexcept {
    return TotalWaiting() + admitted_at_once + admitted_after_wait + refused + expired + timed_out +
           left + full + evicted;
  }
};

}  // namespace shed

#endif  // SHED_ADMISSION_QUEUE_SNAPSHOT_H_
