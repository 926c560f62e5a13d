// The permit that an AdmissionQueue hands out: a limiter's guard, whose end lets the next one in.
#ifndef SHED_QUEUE_GUARD_H_
#define SHED_QUEUE_GUARD_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "shed/guard.h"
#include "shed/outcome.h"
#include "shed/time.h"
#include "shed/verdict.h"

namespace shed {

// Move-only; made by an AdmissionQueue alone. As AdmissionGuard: ends exactly once, may be moved to
// and end on another thread. It has been moved on its way here, so that an exception that drops it
// counts as kIgnored. Its end runs callbacks of calls that waited for it. The queue must outlive
// it.
template <class Queue>
class [[nodiscard]] QueueGuard {
  using Inner = typename Queue::Limiter::Guard;

 public:
  QueueGuard(QueueGuard&& other) noexcept
      : queue_(std::exchange(other.queue_, nullptr)),
        inner_(std::move(other.inner_)),
        rejection_(other.rejection_),
        waited_(other.waited_) {}
  // Ends what this guard held before, as its destructor would.
  QueueGuard& operator=(QueueGuard&& other) noexcept {
    if (this != &other) {
      EndUnsaid();
      queue_ = std::exchange(other.queue_, nullptr);
      if (other.inner_) inner_.emplace(*std::move(other.inner_));
      rejection_ = other.rejection_;
      waited_ = other.waited_;
    }
    return *this;
  }
  ~QueueGuard() { EndUnsaid(); }

  // True if the call was admitted, at once or after a wait; stays true after it ended. False if it
  // was refused, and for a guard that was moved from.
  explicit operator bool() const noexcept { return inner_ && *inner_; }
  // Why the call was refused: by a policy, or by the queue itself, whose name is
  // "admission_queue" and whose place is behind all policies. For an admitted call its reason is
  // Reason::kNone.
  Rejection rejection() const noexcept { return inner_ ? inner_->rejection() : rejection_; }
  // For how long it was in the queue.
  Duration waited() const noexcept { return waited_; }
  // When the work may start.
  TimePoint started() const noexcept { return inner_ ? inner_->started() : TimePoint(); }

  // As the members of AdmissionGuard.
  void Complete(Outcome outcome) noexcept {
    if (!inner_) return;
    inner_->Complete(outcome);
    Release();
  }
  void Note(Outcome outcome) noexcept {
    if (inner_) inner_->Note(outcome);
  }
  void Charge(std::uint64_t units) noexcept {
    if (inner_) inner_->Charge(units);
  }

 private:
  friend Queue;

  // Admitted, or refused by the limiter.
  QueueGuard(Queue& queue, Inner&& inner, Duration waited) noexcept
      : queue_(inner ? &queue : nullptr), inner_(std::move(inner)), waited_(waited) {}
  // Refused by the queue.
  QueueGuard(const Rejection& rejection, Duration waited) noexcept
      : rejection_(rejection), waited_(waited) {}

  void EndUnsaid() noexcept {
    inner_.reset();
    Release();
  }
  void Release() noexcept {
    if (Queue* const queue = std::exchange(queue_, nullptr)) queue->Released();
  }

  Queue* queue_ = nullptr;  // Set while there is something to end.
  std::optional<Inner> inner_;
  Rejection rejection_{0, "", Verdict::Admit()};
  Duration waited_{0};
};

}  // namespace shed

#endif  // SHED_QUEUE_GUARD_H_
