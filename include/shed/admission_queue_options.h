// The options of an AdmissionQueue.
#ifndef SHED_ADMISSION_QUEUE_OPTIONS_H_
#define SHED_ADMISSION_QUEUE_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <string_view>

#include "shed/time.h"

namespace shed {

struct AdmissionQueueOptions {
  // How many calls may wait. Default 512, range 1 to 1,000,000. Memory for all of them (about 240
  // bytes each) is taken when the queue is made.
  std::uint32_t max_waiting = 512;
  // The longest that a call waits in calm. Default 100 ms, range 1 us to 1 h. About the longest
  // time in which a burst is worked off; less than the clients wait for their answers.
  Duration max_wait = std::chrono::milliseconds(100);
  // The longest that a call waits which comes under pressure. Default 5 ms, range 1 us to max_wait.
  // It bounds the latency of an overload; a few times what the service needs for one call.
  Duration target = std::chrono::milliseconds(5);
  // When calls have been waiting for so long without a break, there is pressure. Default 100 ms,
  // range 1 us to 24 h. 24 h makes a plain queue of it, first in first out.
  Duration interval = std::chrono::milliseconds(100);
  // What a call needs to be worked on at least: one that has less left is dropped. Default 0, range
  // 0 to 24 h.
  Duration min_service{0};

  // Returns "" if every field is in range, else a sentence that names the field and the range.
  constexpr std::string_view Problem() const noexcept {
    using std::chrono::hours;
    using std::chrono::microseconds;
    if (max_waiting < 1 || max_waiting > 1'000'000) return "max_waiting: want 1 to 1,000,000";
    if (max_wait < microseconds(1) || max_wait > hours(1)) return "max_wait: want 1 us to 1 h";
    if (target < microseconds(1) || target > max_wait) return "target: want 1 us to max_wait";
    if (interval < microseconds(1) || interval > hours(24)) return "interval: want 1 us to 24 h";
    if (min_service < Duration(0) || min_service > hours(24)) return "min_service: want 0 to 24 h";
    return "";
  }
};

}  // namespace shed

#endif  // SHED_ADMISSION_QUEUE_OPTIONS_H_
