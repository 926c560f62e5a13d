// The answer to one call of an AdmissionQueue, on its way out of the lock.
#ifndef SHED_INTERNAL_QUEUE_ANSWER_H_
#define SHED_INTERNAL_QUEUE_ANSWER_H_

#include <optional>
#include <utility>

#include "shed/events.h"
#include "shed/time.h"

namespace shed::internal {

template <class Callback, class Guard>
struct QueueAnswer {
  Callback callback{};
  std::optional<Guard> guard{};
  Events events{};  // Of the limiter, if it was asked for the answer,
  TimePoint at{};   // and when that was.

  // Does nothing if there is no guard.
  void Give() noexcept {
    if (!guard) return;
    callback(*std::move(guard));
    callback = Callback();
    guard.reset();
  }
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_QUEUE_ANSWER_H_
