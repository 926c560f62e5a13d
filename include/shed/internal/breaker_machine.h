// The states of a circuit breaker and the ways between them: pure, so that a test can run it at
// compile time. No lock, no counts, no events: those are the breaker's.
#ifndef SHED_INTERNAL_BREAKER_MACHINE_H_
#define SHED_INTERNAL_BREAKER_MACHINE_H_

#include <cstdint>

#include "shed/time.h"

namespace shed {

enum class BreakerState : std::uint8_t {
  kClosed,        // Admits, and counts how calls end.
  kOpen,          // Refuses, until open_until.
  kHalfOpen,      // Admits a few probes.
  kForcedOpen,    // Refuses, until Reset.
  kForcedClosed,  // Admits and counts, and does not open, until Reset.
};

namespace internal {

//             failures, slow calls            first call after open_until
//   kClosed ------------------------> kOpen ------------------------------> kHalfOpen
//      ^                                ^      a probe failed or is overdue  |    |
//      |                                +-----------------------------------+    |
//      +--------------------------------------------------------------------------+
//                               `probes` probes succeeded
//
// Every arrow begins a new generation: what was admitted in an earlier one counts no more.
struct BreakerMachine {
  BreakerState state = BreakerState::kClosed;
  bool ramping = false;          // Closed, and the load comes back slowly since ramp_from.
  std::uint32_t generation = 1;  // Never 0: a blank ticket belongs to none.
  std::uint32_t successes = 0;   // Of probes, in this half-open time.
  std::uint64_t opens = 0;
  Duration open_for{0};  // The next or present open time; grows when probes fail.
  TimePoint open_since{};
  TimePoint open_until{};
  TimePoint ramp_from{};
  TimePoint overdue_after = TimePoint::max();  // Past this, the oldest probe counts as failed.

  constexpr bool counts() const noexcept {
    return state == BreakerState::kClosed || state == BreakerState::kForcedClosed;
  }
  constexpr bool Overdue(TimePoint now) const noexcept {
    return state == BreakerState::kHalfOpen && now > overdue_after;
  }

  constexpr void Open(TimePoint now) noexcept {
    Enter(BreakerState::kOpen);
    ++opens;
    open_since = now;
    open_until = After(now, open_for);
  }
  // A probe failed: opens again, for twice as long where `longest` (0: none) allows it.
  constexpr void Reopen(TimePoint now, Duration longest) noexcept {
    if (longest > open_for) open_for = open_for > longest / 2 ? longest : open_for * 2;
    Open(now);
  }
  constexpr void HalfOpen() noexcept { Enter(BreakerState::kHalfOpen); }
  constexpr void Close(TimePoint now, Duration first_open_for, bool ramp) noexcept {
    Enter(BreakerState::kClosed);
    open_for = first_open_for;
    ramping = ramp;
    ramp_from = now;
  }
  // Another open time, for the next opening. One that failed probes have made longer stays so, as
  // far as `longest` allows.
  constexpr void SetOpenFor(Duration first, Duration longest) noexcept {
    const bool grown = !counts() && open_for > first && longest > first;
    open_for = !grown ? first : open_for < longest ? open_for : longest;
  }
  constexpr void ForceOpen(TimePoint now) noexcept {
    Enter(BreakerState::kForcedOpen);
    ++opens;
    open_since = now;
  }
  constexpr void ForceClosed() noexcept { Enter(BreakerState::kForcedClosed); }

 private:
  constexpr void Enter(BreakerState next) noexcept {
    state = next;
    ramping = false;
    successes = 0;
    overdue_after = TimePoint::max();
    if (++generation == 0) generation = 1;
  }
};

}  // namespace internal
}  // namespace shed

#endif  // SHED_INTERNAL_BREAKER_MACHINE_H_
