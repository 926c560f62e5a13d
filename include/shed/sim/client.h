// The side that asks: it waits for an answer, but not for ever.
#ifndef SHED_SIM_CLIENT_H_
#define SHED_SIM_CLIENT_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "shed/time.h"

namespace shed::sim {

// A call from its admission to the end of its work.
struct Call {
  TimePoint arrived;
  std::uint64_t serial = 0;  // Differs between calls that use one slot after each other.
  std::uint32_t caller = 0;
  std::uint8_t kind = 0;  // Which Work of its phase.
  std::uint32_t tries_before = 0;
  Duration work{0};  // That it needs.
  bool fails = false;
  bool refused_by_server = false;
  bool given_up = false;  // Its client does not wait any more.
  bool working = false;
  bool waits = false;  // For the limiter.
};

// The calls in flight, by slot, and the clients that wait for them. All clients have the same
// patience, so they give up in the order in which they came: a queue. Those that were told of a
// delay, whose patience begins after it, are in a heap beside it.
class Clients {
 public:
  explicit Clients(Duration timeout) : timeout_(timeout) {}

  // Takes a free slot for a call that arrives `now`.
  std::uint32_t Open(TimePoint now, std::uint32_t caller) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(calls_.size()));
      calls_.emplace_back();
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    Call& call = calls_[slot];
    const std::uint64_t serial = call.serial + 1;
    call = Call{};
    call.arrived = now;
    call.serial = serial;
    call.caller = caller;
    return slot;
  }
  // The call was admitted, or waits to be: its client waits, since it came, or from the end of a
  // delay that it was told of.
  void Wait(std::uint32_t slot, Duration delay = Duration(0)) {
    Call& call = calls_[slot];
    call.working = true;
    const Waiting waiting{After(After(call.arrived, delay), timeout_), call.serial, slot};
    if (delay > Duration(0)) {
      delayed_.push(waiting);
    } else {
      waiting_.push_back(waiting);
    }
  }
  // Its work is done, or it was refused.
  void Close(std::uint32_t slot) {
    calls_[slot].working = false;
    free_.push_back(slot);
  }

  Call& operator[](std::uint32_t slot) { return calls_[slot]; }

  // When the next client gives up, unless it is answered by then; TimePoint::max() for never.
  // Forgets clients that were answered.
  TimePoint next() {
    while (!waiting_.empty() && !StillWaits(waiting_.front())) waiting_.pop_front();
    while (!delayed_.empty() && !StillWaits(delayed_.top())) delayed_.pop();
    const TimePoint first = waiting_.empty() ? TimePoint::max() : waiting_.front().deadline;
    return delayed_.empty() ? first : std::min(first, delayed_.top().deadline);
  }
  // The client that next() is about gives up. Returns its slot.
  std::uint32_t GiveUp() {
    std::uint32_t slot = 0;
    if (waiting_.empty() ||
        (!delayed_.empty() && delayed_.top().deadline < waiting_.front().deadline)) {
      slot = delayed_.top().slot;
      delayed_.pop();
    } else {
      slot = waiting_.front().slot;
      waiting_.pop_front();
    }
    calls_[slot].given_up = true;
    return slot;
  }

 private:
  struct Waiting {
    TimePoint deadline;
    std::uint64_t serial;
    std::uint32_t slot;

    friend bool operator>(const Waiting& a, const Waiting& b) {
      return a.deadline != b.deadline ? a.deadline > b.deadline : a.serial > b.serial;
    }
  };
  bool StillWaits(const Waiting& waiting) const {
    const Call& call = calls_[waiting.slot];
    return call.working && call.serial == waiting.serial;
  }

  Duration timeout_;
  std::vector<Call> calls_;
  std::vector<std::uint32_t> free_;
  std::deque<Waiting> waiting_;
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> delayed_;
};

}  // namespace shed::sim

#endif  // SHED_SIM_CLIENT_H_
