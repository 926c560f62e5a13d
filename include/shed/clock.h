// Where time comes from. A Limiter reads its clock once per admission and at most once per
// completion; policies own no clock.
#ifndef SHED_CLOCK_H_
#define SHED_CLOCK_H_

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>

#include "shed/time.h"

namespace shed {

// A clock has `Now() -> TimePoint`, noexcept and callable from any thread. Readings should not go
// back on one thread; where they do, policies give no credit for it and move nothing back.
template <class C>
concept Clock = requires(const C& clock) {
  { clock.Now() }
  noexcept->std::same_as<TimePoint>;
};

// std::chrono::steady_clock on shed's timeline. Empty: a limiter stores nothing for it.
struct SteadyClock {
  static TimePoint Now() noexcept {
    return TimePoint(
        std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
  }
};

// A clock that moves only when told, for tests and simulations. Thread-safe. May be set back on
// purpose, to see that nothing breaks.
class ManualClock {
 public:
  ManualClock() = default;
  explicit ManualClock(TimePoint start) noexcept : now_(start.time_since_epoch().count()) {}
  ManualClock(const ManualClock&) = delete;
  ManualClock& operator=(const ManualClock&) = delete;

  // Acquire and release: a thread that sees a time also sees what was done before it was set.
  TimePoint Now() const noexcept {
    return TimePoint(Duration(now_.load(std::memory_order_acquire)));
  }
  void Set(TimePoint now) noexcept {
    now_.store(now.time_since_epoch().count(), std::memory_order_release);
  }
  // Moves by `by`, held at the ends of the timeline; a negative `by` goes back.
  void Advance(Duration by) noexcept {
    std::int64_t seen = now_.load(std::memory_order_relaxed);
    while (!now_.compare_exchange_weak(seen, SaturatingAdd(seen, by.count()),
                                       std::memory_order_acq_rel, std::memory_order_relaxed)) {
    }
  }

 private:
  std::atomic<std::int64_t> now_{0};
};

static_assert(Clock<SteadyClock> && Clock<ManualClock>);

}  // namespace shed

#endif  // SHED_CLOCK_H_
