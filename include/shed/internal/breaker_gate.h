// What a circuit breaker shows to the calls that ask, without a lock.
#ifndef SHED_INTERNAL_BREAKER_GATE_H_
#define SHED_INTERNAL_BREAKER_GATE_H_

#include <atomic>
#include <cstdint>

#include "shed/internal/breaker_machine.h"
#include "shed/internal/draws.h"
#include "shed/time.h"
#include "shed/verdict.h"

namespace shed::internal {

// Returns the share of calls to admit `since` after closing, which grows from 0 to 1 over `ramp`.
constexpr double RampShare(Duration since, Duration ramp) noexcept {
  return since >= ramp ? 1 : static_cast<double>(since.count()) / static_cast<double>(ramp.count());
}

// One word, the generation above and how to answer below, with the times that the answer needs
// beside it. The breaker writes them, under its lock, after each change.
template <class Sync>
class BreakerGate {
 public:
  BreakerGate(Duration ramp, std::uint64_t seed) noexcept : draws_(seed) { SetRamp(ramp); }

  // Relaxed, both: calls that ask at the same time may be answered by either.
  Duration ramp() const noexcept { return Duration(ramp_.load(std::memory_order_relaxed)); }
  void SetRamp(Duration ramp) noexcept { ramp_.store(ramp.count(), std::memory_order_relaxed); }
  // Whether each call that is admitted has to be counted as it begins; from the next Publish on.
  void SetWatched(bool watched) noexcept { all_ = watched ? Phase::kAdmitWatched : Phase::kAdmit; }

  // Returns true, and the generation, if every call is admitted, and no more need be done.
  bool Open(std::uint32_t& generation) const noexcept {
    const std::uint64_t word = Load();
    generation = GenerationOf(word);
    return PhaseOf(word) == Phase::kAdmit;
  }
  std::uint32_t generation() const noexcept { return GenerationOf(Load()); }
  // Whether a call that is admitted is no probe.
  bool closed() const noexcept { return PhaseOf(Load()) <= Phase::kRamp; }

  // `answer` comes in as an admission. Returns true, and the answer (with the generation if it is
  // to admit); or false if something is due, and the machine must answer, under the lock. A refusal
  // writes nothing but, in the ramp, its stripe's draws.
  bool Ask(TimePoint now, std::uint32_t& generation, Verdict& answer) noexcept {
    const std::uint64_t word = Load();
    // The times are at least as new as the word. One that is newer is a later state's, whose answer
    // is as right.
    switch (PhaseOf(word)) {
      case Phase::kAdmit:
      case Phase::kAdmitWatched:
        generation = GenerationOf(word);
        return true;
      case Phase::kForcedOpen:
        answer = Verdict::Refuse(Reason::kCircuitOpen);
        return true;
      case Phase::kOpen: {
        const Duration left = Elapsed(now, At(open_until_));
        answer = Verdict::Refuse(Reason::kCircuitOpen, left);
        return left > Duration(0);
      }
      case Phase::kProbesOut:
        answer = Verdict::Refuse(Reason::kProbing);
        return now <= At(overdue_after_);
      case Phase::kRamp: {
        const Duration since = Elapsed(At(ramp_from_), now);
        const Duration ramp = this->ramp();
        if (since >= ramp) return false;
        if (draws_.Next() < draws_.Threshold(RampShare(since, ramp))) {
          generation = GenerationOf(word);
        } else {
          answer = Verdict::Refuse(Reason::kRecovering);
        }
        return true;
      }
      case Phase::kProbe:
        break;
    }
    return false;
  }

  // One writer at a time.
  void Publish(const BreakerMachine& machine, bool probes_out) noexcept {
    Phase phase = all_;
    if (machine.ramping) phase = Phase::kRamp;
    if (machine.state == BreakerState::kOpen) phase = Phase::kOpen;
    if (machine.state == BreakerState::kForcedOpen) phase = Phase::kForcedOpen;
    if (machine.state == BreakerState::kHalfOpen) {
      phase = probes_out ? Phase::kProbesOut : Phase::kProbe;
    }
    Set(open_until_, machine.open_until);
    Set(overdue_after_, machine.overdue_after);
    Set(ramp_from_, machine.ramp_from);
    // Release: whoever reads the word finds the times, and an emptied window of its generation.
    word_.store(std::uint64_t{machine.generation} << 8 | static_cast<std::uint64_t>(phase),
                std::memory_order_release);
  }

 private:
  enum class Phase : std::uint8_t {
    kAdmit,
    kAdmitWatched,
    kRamp,
    kOpen,
    kProbe,
    kProbesOut,
    kForcedOpen
  };
  using Time = typename Sync::template Atomic<std::int64_t>;

  static constexpr Phase PhaseOf(std::uint64_t word) noexcept {
    return static_cast<Phase>(word & 0xff);
  }
  static constexpr std::uint32_t GenerationOf(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word >> 8);
  }
  // Acquire: see Publish.
  std::uint64_t Load() const noexcept { return word_.load(std::memory_order_acquire); }
  // Relaxed: ordered by the word.
  static TimePoint At(const Time& time) noexcept {
    return TimePoint(Duration(time.load(std::memory_order_relaxed)));
  }
  static void Set(Time& time, TimePoint at) noexcept {
    time.store(at.time_since_epoch().count(), std::memory_order_relaxed);
  }

  typename Sync::template Atomic<std::uint64_t> word_{0};
  Time open_until_{0};
  Time overdue_after_{0};
  Time ramp_from_{0};
  Time ramp_{0};
  Phase all_ = Phase::kAdmit;  // That admits every call; the writer's.
  Draws<Sync> draws_;
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_BREAKER_GATE_H_
