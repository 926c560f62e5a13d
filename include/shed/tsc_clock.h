// A clock that reads the CPU's invariant counter: less than half the price of
// std::chrono::steady_clock, on the same timeline.
//
//   const shed::TscClock clock;  // one per process will do; it must outlive its limiters
//   shed::BasicLimiter<shed::TscClock, shed::StdSync, shed::RateLimiter> limiter(
//       clock, {.rate = 500});
#ifndef SHED_TSC_CLOCK_H_
#define SHED_TSC_CLOCK_H_

#include <cstdint>

#include "shed/clock.h"
#include "shed/internal/bounds.h"
#include "shed/internal/clock_line.h"
#include "shed/internal/cpu_counter.h"
#include "shed/internal/line_slots.h"
#include "shed/sync.h"
#include "shed/time.h"

namespace shed {

// A reading is the counter, scaled by a multiplication and a shift. The scale is measured against
// `Reference` as the clock is used, without a thread and without sleeping: for the first
// milliseconds readings come from `Reference` itself, and from then on one of them, every 50 ms at
// most, measures again. Where the counter is not invariant every reading comes from `Reference`.
//
// Never goes back on one thread, nor between threads that order their readings by more than the
// counter's own blur of some tens of ns. Stays with `Reference`: within about a microsecond while
// that runs evenly; where its rate changes or the counter jumps, the next measurement finds it and
// the clock waits for a reference that is behind, and steps to one that is ahead. (A counter that
// is set back by less than 50 ms, which an invariant one never is, can take the clock back with
// it.)
//
// Thread-safe, without a lock: a thread that is stopped in a measurement holds up nobody.
//
// `Counter` has `bool Invariant()` and `std::uint64_t Read()`, both const and noexcept, and may run
// at 1 MHz to 10 GHz. Pass others than the defaults in tests.
template <class Counter = internal::CpuCounter, Clock Reference = SteadyClock, class Sync = StdSync>
class BasicTscClock {
 public:
  explicit BasicTscClock(const Counter& counter = {}, const Reference& reference = {}) noexcept
      : counter_(counter),
        reference_(reference),
        invariant_(counter_.Invariant()),
        lines_(invariant_ ? internal::ClockLine::First(Measure()) : internal::ClockLine()) {}
  BasicTscClock(const BasicTscClock&) = delete;
  BasicTscClock& operator=(const BasicTscClock&) = delete;

  TimePoint Now() const noexcept {
    if (!invariant_) [[unlikely]]
      return reference_.Now();
    std::int64_t ns = 0;
    if (lines_.At(counter_.Read(), ns)) [[likely]]
      return TimePoint(Duration(ns));
    return Renew();
  }

  // True if readings come from the counter at present.
  bool OnCounter() const noexcept {
    internal::ClockLine line;
    lines_.Read(line);
    return line.on_counter();
  }

 private:
  // The reading where the line in force does not give it at once; replaces a line that is past its
  // end.
  [[gnu::noinline, gnu::cold]] TimePoint Renew() const noexcept {
    // As many times as it may take: a line from the reference, one from a measurement that took too
    // long, one that another thread put in force.
    constexpr int kTries = 4;
    internal::ClockLine line;
    for (int i = 0; i < kTries; ++i) {
      const auto turn = lines_.Read(line);
      if (line.on_counter()) {
        const std::uint64_t offset = counter_.Read() - line.count;
        if (offset < line.span) return TimePoint(Duration(line.At(offset)));
      } else {
        const std::int64_t now = reference_.Now().time_since_epoch().count();
        if (now < line.end) return TimePoint(Duration(internal::Max(now, line.begin)));
      }
      lines_.Replace(turn, line.Next(Measure()));
    }
    return TimePoint(Duration(line.end));
  }

  // The best of a few: one during which the thread was stopped says little.
  internal::ClockSample Measure() const noexcept {
    constexpr int kSamples = 3;
    internal::ClockSample best;
    for (int i = 0; i < kSamples; ++i) {
      const TimePoint before = reference_.Now();
      const std::uint64_t count = counter_.Read();
      const Duration width = Elapsed(before, reference_.Now());
      if (i == 0 || width.count() < best.width) {
        best = {.count = count,
                .at = After(before, width / 2).time_since_epoch().count(),
                .width = width.count()};
      }
    }
    return best;
  }

  [[no_unique_address]] Counter counter_;
  [[no_unique_address]] Reference reference_;
  const bool invariant_;
  mutable internal::LineSlots<Sync> lines_;
};

using TscClock = BasicTscClock<>;
static_assert(Clock<TscClock>);

}  // namespace shed

#endif  // SHED_TSC_CLOCK_H_
