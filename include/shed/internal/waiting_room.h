// The calls that wait in an AdmissionQueue: their order, their time and their count. Who asks the
// limiter, and who locks, is the queue's business.
#ifndef SHED_INTERNAL_WAITING_ROOM_H_
#define SHED_INTERNAL_WAITING_ROOM_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "shed/admission_queue_options.h"
#include "shed/admission_queue_snapshot.h"
#include "shed/internal/bounds.h"
#include "shed/internal/fixed_array.h"
#include "shed/internal/index_list.h"
#include "shed/internal/waiting_line.h"
#include "shed/request.h"
#include "shed/time.h"
#include "shed/verdict.h"

namespace shed::internal {

// Until when a call may wait, and whether that is as long as its client waits.
struct Patience {
  TimePoint until{};
  bool for_client = false;
};

// Who waits: a place, and which of those who had it.
struct WaiterTicket {
  std::uint32_t place = kNoIndex;
  std::uint64_t number = 0;

  explicit operator bool() const noexcept { return place != kNoIndex; }
};

// Returns the request as it stands for the limiter after `waited`. It does not wait there.
inline Request AfterWait(Request request, Duration waited) noexcept {
  request.queued_for =
      Duration(SaturatingAdd(Max(request.queued_for, Duration(0)).count(), waited.count()));
  if (request.time_left != Duration::max()) request.time_left -= waited;
  request.max_wait = Duration(0);
  return request;
}

// Whether a call that was refused so may be admitted if it is asked again, by `until`.
constexpr bool IsCurable(const Rejection& refusal, TimePoint now, TimePoint until) noexcept {
  const std::optional<Duration> hint = refusal.retry_after();
  if (refusal.scope() != Scope::kService || (hint && After(now, *hint) >= until)) return false;
  switch (refusal.reason()) {
    case Reason::kRate:
    case Reason::kConcurrency:
    case Reason::kCircuitOpen:
    case Reason::kProbing:
    case Reason::kBudget:
      return true;
    case Reason::kDenied:
      return hint.has_value();
    default:
      return false;
  }
}

// When it is worth while to ask again; TimePoint::min() if the limiter did not say.
constexpr TimePoint NotBefore(const Rejection& refusal, TimePoint now) noexcept {
  const std::optional<Duration> hint = refusal.retry_after();
  return hint ? After(now, *hint) : TimePoint::min();
}

// One thread at a time; never allocates after construction.
template <class Callback>
class WaitingRoom {
 public:
  struct Waiter {
    Request request{};
    Callback callback{};
    TimePoint entered{};
    Patience patience{};
    TimePoint not_before = TimePoint::min();  // The limiter need not be asked before.
    std::uint64_t number = 0;                 // Of those that had this place.
    bool waits = false;

    TimePoint NextTry() const noexcept {
      return not_before == TimePoint::min() ? TimePoint::max() : not_before;
    }
  };

  explicit WaitingRoom(const AdmissionQueueOptions& options)
      : options_(options),
        places_(options.max_waiting),
        line_(places_ + 1),
        waiters_(places_ + 1) {}

  const AdmissionQueueOptions& options() const noexcept { return options_; }
  // Requires options.max_waiting <= places().
  void set_options(const AdmissionQueueOptions& options) noexcept { options_ = options; }
  std::uint32_t places() const noexcept { return places_; }
  bool empty() const noexcept { return line_.empty(); }
  Waiter& operator[](std::uint32_t place) const noexcept { return waiters_[place]; }

  // Whether calls have been waiting at every moment of an interval, but for gaps under pressure
  // that are shorter.
  bool Pressure(TimePoint now) const noexcept {
    return !line_.empty() && Elapsed(stands_since_, now) >= options_.interval;
  }
  // Until when a call may wait that comes now.
  Patience PatienceOf(const Request& request, TimePoint now) const noexcept {
    Duration most = Pressure(now) ? options_.target : options_.max_wait;
    if (request.max_wait > Duration(0)) most = Min(most, request.max_wait);
    const TimePoint until = After(now, most);
    if (request.time_left == Duration::max()) return {.until = until};
    const TimePoint last = After(After(now, request.time_left), -options_.min_service);
    return {.until = Min(until, last), .for_client = last <= until};
  }

  // Whether a newcomer would have the first turn; and, of a room that is not empty, whether it
  // would stand before who is last.
  bool WouldBeFirst(const Request& request, TimePoint now) const noexcept {
    return line_.WouldBeFirst(IndexOf(request.criticality), Order(now));
  }
  bool WouldNotBeLast(const Request& request, TimePoint now) const noexcept {
    return line_.WouldNotBeLast(IndexOf(request.criticality), Order(now));
  }
  bool IsFull() const noexcept { return line_.size() >= options_.max_waiting; }

  // Gives a place. Requires that at most places() are taken: there is one more, so that who comes
  // in another's stead comes before that one goes, and the line is never empty between.
  WaiterTicket Add(const Request& request, Callback&& callback, const Patience& patience,
                   TimePoint not_before, TimePoint now) noexcept {
    if (line_.empty()) {
      if (Elapsed(pressed_, now) >= options_.interval) stands_since_ = now;
      next_try_ = TimePoint::max();
    }
    const std::uint32_t place = line_.Add(IndexOf(request.criticality), patience.until);
    Waiter& waiter = waiters_[place];
    waiter.request = request;
    waiter.callback = std::move(callback);
    waiter.entered = now;
    waiter.patience = patience;
    waiter.not_before = not_before;
    waiter.waits = true;
    next_try_ = Min(next_try_, waiter.NextTry());
    return {place, waiter.number};
  }
  // Ends a wait. Requires that somebody waits at this place.
  Callback Remove(std::uint32_t place, TimePoint now) noexcept {
    if (Pressure(now)) pressed_ = now;
    Waiter& waiter = waiters_[place];
    waiter.waits = false;
    ++waiter.number;
    line_.Remove(place);
    return std::move(waiter.callback);
  }

  bool IsWaiting(const WaiterTicket& ticket) const noexcept {
    return ticket.place < line_.places() && waiters_[ticket.place].waits &&
           waiters_[ticket.place].number == ticket.number;
  }
  // These require !empty().
  std::uint32_t First(TimePoint now) const noexcept { return line_.First(Order(now)); }
  std::uint32_t Last(TimePoint now) const noexcept { return line_.Last(Order(now)); }
  std::uint32_t Soonest() const noexcept { return line_.Soonest(); }

  // When a wait ends by itself; TimePoint::max() if nobody waits.
  TimePoint NextEnd() const noexcept { return line_.NextDeadline(); }
  // When something is to be done, unless calls end before.
  TimePoint NextEvent() const noexcept {
    return empty() ? TimePoint::max() : Min(NextEnd(), next_try_);
  }
  // What the limiter said of the first in line, who that may be: `not_before` as in a Waiter.
  void set_next_try(TimePoint not_before) noexcept {
    next_try_ = not_before == TimePoint::min() ? TimePoint::max() : not_before;
  }

  // What is counted, and the state at `now`.
  AdmissionQueueSnapshot counts{};
  AdmissionQueueSnapshot Read(TimePoint now) const noexcept {
    AdmissionQueueSnapshot snapshot = counts;
    snapshot.waiting = line_.sizes();
    snapshot.pressure = Pressure(now);
    return snapshot;
  }

 private:
  LineOrder Order(TimePoint now) const noexcept {
    return Pressure(now) ? LineOrder::kNewestFirst : LineOrder::kOldestFirst;
  }

  AdmissionQueueOptions options_;
  const std::uint32_t places_;
  WaitingLine line_;
  const FixedArray<Waiter> waiters_;
  TimePoint next_try_ = TimePoint::max();
  TimePoint stands_since_{};  // Somebody has been waiting all the time, if anybody waits.
  TimePoint pressed_ = TimePoint::min();  // When last a wait ended under pressure.
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_WAITING_ROOM_H_
