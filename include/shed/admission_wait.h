// Waits in an AdmissionQueue by blocking the thread, for services with a thread per call.
//
//   auto guard = shed::Wait(queue, {.time_left = left});
//   if (!guard) return Refuse(guard.rejection());
//   Reply reply = Handle(request);
//   guard.Complete(reply.ok() ? shed::Outcome::kSuccess : shed::Outcome::kFailure);
#ifndef SHED_ADMISSION_WAIT_H_
#define SHED_ADMISSION_WAIT_H_

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "shed/admission_queue.h"
#include "shed/internal/bounds.h"
#include "shed/request.h"
#include "shed/time.h"

namespace shed {

// How one thread sleeps, and others wake it: on a condition variable. Tests have one that does not
// sleep.
class StdSleeper {
 public:
  // Sleeps for `most` at most, or until Poke() or Finish(), if none came since the last Sleep().
  // Returns true after Finish(), which is then done with this object.
  bool Sleep(Duration most) {
    std::unique_lock<std::mutex> lock(mutex_);
    // A longer time may overflow on its way to the system; the caller comes back.
    condition_.wait_for(lock, internal::Min<Duration>(most, std::chrono::hours(1)),
                        [this] { return finished_ || poked_; });
    poked_ = false;
    return finished_;
  }
  void Poke() {
    const std::lock_guard<std::mutex> lock(mutex_);
    poked_ = true;
    condition_.notify_one();
  }
  void Finish() {
    const std::lock_guard<std::mutex> lock(mutex_);
    finished_ = true;
    condition_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool poked_ = false;
  bool finished_ = false;
};

// Enters `queue`, and returns when the call is answered: a guard that is true if it may run now. It
// is asleep meanwhile, until its turn has come or its time is over; it looks after that itself, and
// needs nobody who polls. Never in a callback of the queue, which it would keep from going on.
template <class Sleeper = StdSleeper, class Queue>
typename Queue::Guard Wait(Queue& queue, const Request& request = {}) {
  using Guard = typename Queue::Guard;
  struct State {
    Sleeper sleeper{};
    std::optional<Guard> guard{};
  } state;
  struct Answer {
    State* state;
    void operator()(Guard guard) const {
      state->guard.emplace(std::move(guard));
      state->sleeper.Finish();  // The state may be gone from here on.
    }
    // Called under the queue's mutex: the time of the next look has changed.
    void Poke() const { state->sleeper.Poke(); }
  };
  const typename Queue::Ticket ticket = queue.Enter(request, Answer{&state});
  for (bool answered = !ticket; !answered;) {
    const TimePoint next = queue.NextDeadline(ticket);
    Duration left = Elapsed(queue.Now(), next);
    if (left == Duration(0)) {
      queue.Poll();
      left = Elapsed(queue.Now(), queue.NextDeadline());
    }
    answered = state.sleeper.Sleep(left);
  }
  return *std::move(state.guard);
}

}  // namespace shed

#endif  // SHED_ADMISSION_WAIT_H_
