// State changes, reported with the numbers that caused them. A policy pushes an Event into the
// array that the limiter keeps on the stack of the call; the limiter hands them to the Observer
// when the call is done with every policy: never under a lock, never half-way through a change.
#ifndef SHED_EVENTS_H_
#define SHED_EVENTS_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <type_traits>

#include "shed/time.h"

namespace shed {

enum class EventKind : std::uint8_t {
  kBreakerOpened,
  kBreakerHalfOpened,
  kBreakerClosed,
  kLimitChanged,     // An adaptive limit moved; `before` and `after` in calls.
  kBaselineChanged,  // What an adaptive limit holds for healthy moved; `before`, `after` in ns.
  kCallerBecameHog,  // `before` and `after` are its demerit.
  kQueueStands,      // Calls wait for too long, all of them.
  kQueueMoves,       // No longer.
  kPressureRose,     // Calls are refused by the service's reading; `before`, `after` are shares
  kPressureFell,     // of the least critical class. No longer.
  kCallerDelayed,    // Its use rose above the allowance: its calls are delayed,
  kCallerBlocked,    // or refused.
  kCallerRecovered,  // It was seen at no more than half of the allowance again.
};

// Which rule fired.
enum class Cause : std::uint8_t {
  kNone,
  kConsecutiveFailures,  // `count` in a row; `threshold`.
  kFailureRatio,         // `count` of `total` failed: `value`; `threshold`.
  kSlowRatio,            // `count` of `total` were slow: `value`; `threshold`.
  kProbeFailed,
  kProbeTimedOut,
  kProbesSucceeded,   // `count` did.
  kTimeElapsed,       // The open time, or an interval, is over.
  kForced,            // By a call such as ForceOpen.
  kGradient,          // `value` is the gradient.
  kOverloadOutcomes,  // `count` of `total` ended with kOverload.
  kShareRefused,      // `value` of the calls were refused over two windows; `threshold`.
  kCalm,              // The share refused is small again.
  kMeasured,          // `value` calls is the knee, or `value` ns the baseline, just measured.
  kGrowth,            // There was room, and calls to fill it.
  kStuckAtMinimum,    // `count` windows at the lowest limit.
  kDemerit,           // `value` is the demerit; `threshold`.
  kLatency,           // `value` ns is the latency of the window, above what it should be.
  kPressure,          // `value` is the reading; `threshold` what it must stay below.
  kQueueDelay,        // `value` ns is the least wait, or the latest; `threshold` ns.
  kUsage,             // `value` units are in use with this call; `threshold`.
};

struct Event {
  EventKind kind = EventKind::kLimitChanged;
  Cause cause = Cause::kNone;
  double before = 0;
  double after = 0;
  std::uint64_t count = 0;
  std::uint64_t total = 0;
  double value = 0;
  double threshold = 0;
  std::uint64_t caller = 0;  // A fingerprint of the caller, where the event is about one.

  // Filled in by the limiter.
  TimePoint at{};
  std::string_view limiter{};
  std::string_view policy{};
  std::size_t policy_index = 0;
};

// What one call changed: a small array, in place. What does not fit is counted in `lost`.
class Events {
 public:
  static constexpr std::size_t kCapacity = 4;

  Events() noexcept {}  // Leaves the storage as it is: an array that stays empty costs nothing.
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  void Push(const Event& event) noexcept {
    if (size_ < kCapacity) {
      ::new (static_cast<void*>(&storage_[size_].event)) Event(event);
      storage_[size_++].event.policy_index = policy_;
    } else {
      ++lost_;
    }
  }
  // Those of another, as they are.
  void Append(const Events& more) noexcept {
    for (std::size_t i = 0; i < more.size(); ++i) {
      if (size_ < kCapacity) {
        ::new (static_cast<void*>(&storage_[size_++].event)) Event(more[i]);
      } else {
        ++lost_;
      }
    }
    lost_ += more.lost();
  }
  // Whose events come next; the limiter's business.
  void set_policy(std::size_t index) noexcept { policy_ = static_cast<std::uint32_t>(index); }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  std::uint32_t lost() const noexcept { return lost_; }
  // Requires i < size().
  Event& operator[](std::size_t i) noexcept { return storage_[i].event; }
  const Event& operator[](std::size_t i) const noexcept { return storage_[i].event; }

 private:
  union Slot {
    Slot() noexcept {}
    Event event;
  };
  static_assert(std::is_trivially_destructible_v<Event>);

  std::uint32_t size_ = 0;
  std::uint32_t lost_ = 0;
  std::uint32_t policy_ = 0;
  Slot storage_[kCapacity];
};

// Told of every state change of a limiter's policies. Called on the thread of the call that caused
// the change, several threads at once if several do; must not throw.
class Observer {
 public:
  virtual void OnEvent(const Event& event) noexcept = 0;

 protected:
  ~Observer() = default;
};

}  // namespace shed

#endif  // SHED_EVENTS_H_
