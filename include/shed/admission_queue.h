// A bounded waiting room in front of a limiter, for services that would rather wait a little than
// refuse.
//
//   shed::Limiter<shed::ConcurrencyLimiter> limiter({.limit = 32});
//   shed::AdmissionQueue queue(limiter, {.max_wait = 50ms});
//
//   queue.Enter({.time_left = left}, [call](auto guard) {
//     if (!guard) return call->Refuse(guard.rejection());
//     pool.Run([call, guard = std::move(guard)]() mutable { guard.Complete(call->Handle()); });
//   });
//
// or, where threads may block, `auto guard = shed::Wait(queue, request)` (admission_wait.h).
//
// Use it where load comes in bursts that the service works off in less time than its clients wait.
// It makes no overload go away: what comes faster than it can be worked on for long is refused
// here, only a little later. Not in front of rates alone: a RateLimiter tells who offers `max_wait`
// when its turn is, without a queue.
//
// Algorithm: who finds nobody waiting asks the limiter. Who is refused for want of capacity waits,
// and so do those behind. The end of a call asks for the first in line, and so on until one is
// refused; so does the end of a wait. First is who is more critical. Within a class it is
//   in calm         the oldest: fair, and the burst is worked off in order;
//   under pressure  the newest, and who comes then waits for `target`, not for `max_wait`, at most.
//                   Pressure begins when somebody has been waiting at every moment of an
//                   `interval`, and ends when nobody has for as long. The queue stands then: if
//                   the oldest went first, all would wait for the longest time there is; with the
//                   newest first most are answered as if there were no queue.
// Who needs much holds up those behind, but for more critical ones: else it would wait for ever.
// Where there is no room, a newcomer takes the place of the last in line if it stands before that
// one: in calm if it is more critical, under pressure if it is as critical too. A call whose
// deadline (`time_left` less `min_service`) or longest wait is over is refused as soon as anybody
// enters, ends or polls, without asking the limiter, so that it costs no token.
// Policies see in `queued_for` how long a call has waited.
// What waiting does not cure is not waited for: refusals for the caller's own fault
// (Scope::kCaller), those that were drawn (who draws again sheds nothing), those of a retry budget
// or for a wait that was too long already, and those whose retry_after is past the deadline.
// There is one line: a call that the limiter refuses for its key alone (Keyed) holds up those of
// other keys behind it. Put a queue before the limiter of each key there.
//
// State: a place per call that may wait, made at the start. One word with the number of those that
// wait and of ends so far (internal/wake_word.h), so that no permit comes free unseen.
//
// Locking: a mutex (Sync::Mutex), which a call that finds nobody waiting and is admitted does not
// take, nor its end. Under it the limiter is asked for who has waited, so that the order holds and
// Leave() can tell exactly who has left. Callbacks, and the limiter's observer, never run under it:
// they run on the thread that entered, ended a call, left or polled, one after the other. A
// callback that ends its call at once does not go deeper into the stack.
//
// Source: Ben Maurer, "Fail at Scale", ACM Queue 13(8), 2015: controlled delay and adaptive LIFO.
#ifndef SHED_ADMISSION_QUEUE_H_
#define SHED_ADMISSION_QUEUE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "shed/admission_queue_options.h"
#include "shed/admission_queue_snapshot.h"
#include "shed/internal/annotations.h"
#include "shed/internal/answer_frames.h"
#include "shed/internal/bounds.h"
#include "shed/internal/inplace_function.h"
#include "shed/internal/queue_answer.h"
#include "shed/internal/queue_arrival.h"
#include "shed/internal/validate.h"
#include "shed/internal/waiting_room.h"
#include "shed/internal/wake_word.h"
#include "shed/limiter.h"
#include "shed/queue_guard.h"

namespace shed {

// Thread-safe: any member, any thread. Never allocates or throws after construction. The limiter
// must outlive the queue, and the queue all its guards. A call that asks the limiter itself does
// not wait in line, and its end wakes nobody.
template <class L, class Sync = typename L::Synchronisation>
class AdmissionQueue {
 public:
  using Limiter = L;
  using Options = AdmissionQueueOptions;
  using Guard = QueueGuard<AdmissionQueue>;
  static constexpr std::string_view kName = "admission_queue";
  static constexpr std::size_t kCallbackBytes = 64;

  // One call that waits: for Leave(). False if the call was answered before Enter() returned.
  using Ticket = internal::WaiterTicket;

  // Throws std::invalid_argument with options.Problem() unless that is "".
  explicit AdmissionQueue(L& limiter, const Options& options = {})
      : limiter_(limiter),
        min_service_(internal::Checked(options).min_service.count()),
        room_(options) {}
  AdmissionQueue(const AdmissionQueue&) = delete;
  AdmissionQueue& operator=(const AdmissionQueue&) = delete;
  // Refuses all that wait, with Reason::kQueueFull. No thread may use the queue any more.
  ~AdmissionQueue() {
    for (bool done = false; !done;) {
      Answer answer;
      {
        const MutexLock lock(mutex_);
        done = room_.empty();
        if (!done) SendAway(room_.Soonest(), Reason::kQueueFull, limiter_.Now(), answer);
      }
      answer.Give();
    }
  }

  // Calls `callback(guard)` once, unless the call leaves first: before it returns if the call need
  // not wait, else later, on some thread. The guard is true if the call may run now.
  // `request.max_wait` shortens the wait if it is above zero. The texts of `caller` and `route`
  // must live until the call is answered or has left. The callback must not throw nor block, nor do
  // the work of the call where that takes long: others wait for their answers behind it. It may use
  // the queue, and captures at most kCallbackBytes, which move without exceptions.
  template <class F>
  Ticket Enter(const Request& request, F&& callback) {
    Arrival arrival{.request = request};
    if (TryAtOnce(arrival)) {
      callback(*std::move(arrival.asked));
    } else {
      EnterLine(arrival, Callback(std::forward<F>(callback)));
    }
    return arrival.ticket;
  }

  // The call does not wait any more. Returns true if it was waiting: then its callback is destroyed
  // and never called. False if it has been answered, or is being so; it may hold a permit then.
  bool Leave(const Ticket& ticket) noexcept {
    Callback callback;
    {
      const MutexLock lock(mutex_);
      if (!room_.IsWaiting(ticket)) return false;
      callback = TakeOut(ticket.place, limiter_.Now());
      ++room_.counts.left;
    }
    // It may have been the first, who needed more than the next one does.
    if (wake_.Look().waiting != 0) Drain();
    return true;
  }

  // Refuses whose time is over, and asks for who is first. To be called at NextDeadline(), and
  // after a limit was raised by hand.
  void Poll() noexcept { Drain(); }

  // When Poll() should be called, unless calls end before: the first of all deadlines, or the time
  // that the limiter said for the first in line. TimePoint::max() if nobody waits. Changes whenever
  // a call enters, ends or leaves.
  TimePoint NextDeadline() const noexcept {
    const MutexLock lock(mutex_);
    return room_.NextEvent();
  }
  // The same for the one who waits with this ticket; TimePoint::max() if it does not.
  TimePoint NextDeadline(const Ticket& ticket) const noexcept {
    const MutexLock lock(mutex_);
    if (!room_.IsWaiting(ticket)) return TimePoint::max();
    const auto& waiter = room_[ticket.place];
    return internal::Min(waiter.patience.until, waiter.NextTry());
  }

  // Puts `options` in force, for calls that enter from now on. Returns "" or, changing nothing,
  // what is wrong with them. There is never more room than the queue was made with.
  std::string_view Configure(const Options& options) noexcept {
    if (const std::string_view problem = options.Problem(); !problem.empty()) return problem;
    const MutexLock lock(mutex_);
    if (options.max_waiting > room_.places()) {
      return "max_waiting: want at most what the queue was made with";
    }
    room_.set_options(options);
    min_service_.store(options.min_service.count(), std::memory_order_relaxed);
    return "";
  }

  AdmissionQueueSnapshot Read() const noexcept {
    const MutexLock lock(mutex_);
    AdmissionQueueSnapshot snapshot = room_.Read(limiter_.Now());
    snapshot.admitted_at_once = at_once_.load(std::memory_order_relaxed);
    return snapshot;
  }

  TimePoint Now() const noexcept { return limiter_.Now(); }

 private:
  friend Guard;
  using Frame = internal::AnswerFrames::Frame;
  using Callback = internal::InplaceFunction<Guard&&, kCallbackBytes>;

  using Answer = internal::QueueAnswer<Callback, Guard>;

  using Arrival = internal::QueueArrival<Guard, Ticket>;

  // A call ended.
  void Released() noexcept {
    if (wake_.AddEnd().waiting != 0) Drain();
  }

  static Guard Refusal(Reason reason, Duration waited,
                       std::optional<Duration> retry_after = std::nullopt) noexcept {
    return Guard(Rejection(L::kPolicyCount, kName, Verdict::Refuse(reason, retry_after)), waited);
  }
  // Under the mutex; Tell() follows without it.
  Guard Ask(const Request& request, Duration waited, TimePoint now, Answer& answer) noexcept {
    answer.at = now;
    const Request asked = internal::AfterWait(request, waited);
    return Guard(*this, typename L::Guard(limiter_, asked, now, answer.events), waited);
  }
  // Whether policies before the one that refused had admitted the call, and took it back: that is
  // like the end of a call, which others may have been refused for meanwhile.
  static bool WasUndone(const Guard& asked) noexcept {
    return !asked && asked.rejection().policy() != 0;
  }
  void Tell(Answer& answer) noexcept { limiter_.Deliver(answer.events, answer.at); }

  // For a call that finds nobody waiting: false if it is not admitted so.
  bool TryAtOnce(Arrival& arrival) noexcept {
    const Request& request = arrival.request;
    const auto seen = wake_.Look();
    const bool in_time = request.time_left.count() > min_service_.load(std::memory_order_relaxed);
    if ((seen.waiting != 0 || !in_time) && !request.exempt) return false;
    arrival.ends = seen.ends;
    const Request asked = internal::AfterWait(request, Duration(0));
    arrival.asked.emplace(Guard(*this, limiter_.TryAdmit(asked), Duration(0)));
    if (!*arrival.asked) {
      if (WasUndone(*arrival.asked)) {
        if (wake_.AddEnd().waiting != 0) arrival.drain = true;
        arrival.CountOwnEnd();
      }
      return false;
    }
    if (!request.exempt) at_once_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

  // For all others.
  void EnterLine(Arrival& arrival, Callback&& callback) noexcept {
    Answer answer{.callback = std::move(callback)};
    for (bool done = false; !done;) {
      Answer other;
      {
        const MutexLock lock(mutex_);
        done = TakePlace(arrival, answer, other);
      }
      Tell(answer);
      other.Give();
    }
    answer.Give();
    if (arrival.drain) Drain();
  }

  // Gives a place in line, or an answer. `other` is that of who lost its place. False if
  // that is one whose time was over: it must go before the newcomer is looked at.
  bool TakePlace(Arrival& arrival, Answer& answer, Answer& other) noexcept SHED_REQUIRES(mutex_) {
    const Request& request = arrival.request;
    const TimePoint now = limiter_.Now();
    if (room_.NextEnd() <= now) {
      Expire(now, other);
      arrival.drain = true;  // It may have been in the way of others.
      return false;
    }
    const internal::Patience patience = room_.PatienceOf(request, now);
    if (patience.until <= now) {
      ++room_.counts.expired;
      answer.guard.emplace(Refusal(Reason::kDeadline, Duration(0)));
      return true;
    }
    if (!arrival.asked && room_.WouldBeFirst(request, now)) {
      arrival.ends = wake_.Look().ends;
      arrival.asked.emplace(Ask(request, Duration(0), now, answer));
      if (WasUndone(*arrival.asked)) {
        wake_.AddEnd();
        arrival.CountOwnEnd();
      }
      if (*arrival.asked) {
        at_once_.fetch_add(1, std::memory_order_relaxed);
        answer.guard.emplace(*std::move(arrival.asked));
        return true;
      }
    }
    TimePoint not_before = TimePoint::min();
    std::optional<Duration> hint;
    if (arrival.asked) {
      const Rejection refusal = arrival.asked->rejection();
      if (!internal::IsCurable(refusal, now, patience.until)) {
        ++room_.counts.refused;
        answer.guard.emplace(*std::move(arrival.asked));
        return true;
      }
      hint = refusal.retry_after();
      not_before = internal::NotBefore(refusal, now);
    }
    const bool full = room_.IsFull();
    if (full && !room_.WouldNotBeLast(request, now)) {
      ++room_.counts.full;
      answer.guard.emplace(Refusal(Reason::kQueueFull, Duration(0), hint));
      return true;
    }
    const std::uint32_t last = full ? room_.Last(now) : 0;
    arrival.ticket = room_.Add(request, std::move(answer.callback), patience, not_before, now);
    if (full) {
      ++room_.counts.evicted;
      SendAway(last, Reason::kQueueFull, now, other);
    }
    const auto before = wake_.AddWaiter();
    if (arrival.asked && before.ends != arrival.ends) arrival.drain = true;
    if (room_.NextEvent() <= now) arrival.drain = true;
    return true;
  }

  // Answers whom there is an answer for, one after the other. A thread that is at it already, and
  // comes here by a callback that ends a call or polls, leaves it to itself.
  void Drain() noexcept {
    Frame frame{.thread = Sync::Thread()};
    {
      const MutexLock lock(mutex_);
      if (frames_.Has(frame.thread)) return;
      frames_.Push(frame);
    }
    for (;;) {
      Answer answer;
      bool done = false;
      {
        const MutexLock lock(mutex_);
        done = !TakeNext(frame, answer);
      }
      Tell(answer);
      answer.Give();
      if (done) return;
    }
  }

  // False if there is no answer to give: then the frame is done.
  bool TakeNext(Frame& frame, Answer& answer) noexcept SHED_REQUIRES(mutex_) {
    const TimePoint now = limiter_.Now();
    if (room_.NextEnd() <= now) {
      Expire(now, answer);
      return true;
    }
    if (AskForFirst(now, answer)) return true;
    frames_.Remove(frame);
    return false;
  }

  bool AskForFirst(TimePoint now, Answer& answer) noexcept SHED_REQUIRES(mutex_) {
    if (room_.empty()) return false;
    const std::uint32_t place = room_.First(now);
    auto& waiter = room_[place];
    room_.set_next_try(waiter.not_before);
    if (now < waiter.not_before) return false;
    const Duration waited = Elapsed(waiter.entered, now);
    Guard guard = Ask(waiter.request, waited, now, answer);
    if (WasUndone(guard)) wake_.AddEnd();
    if (guard) {
      ++room_.counts.admitted_after_wait;
      room_.counts.longest_wait = internal::Max(room_.counts.longest_wait, waited);
    } else {
      const Rejection refusal = guard.rejection();
      if (internal::IsCurable(refusal, now, waiter.patience.until)) {
        waiter.not_before = internal::NotBefore(refusal, now);
        room_.set_next_try(waiter.not_before);
        waiter.callback.Poke();
        return false;
      }
      ++room_.counts.refused;
    }
    answer.guard.emplace(std::move(guard));
    answer.callback = TakeOut(place, now);
    return true;
  }

  // Sends away the one whose time is over. Requires that there is one.
  void Expire(TimePoint now, Answer& answer) noexcept SHED_REQUIRES(mutex_) {
    const std::uint32_t place = room_.Soonest();
    const bool for_client = room_[place].patience.for_client;
    ++(for_client ? room_.counts.expired : room_.counts.timed_out);
    SendAway(place, for_client ? Reason::kDeadline : Reason::kQueueDelay, now, answer);
  }
  void SendAway(std::uint32_t place, Reason reason, TimePoint now, Answer& answer) noexcept
      SHED_REQUIRES(mutex_) {
    answer.guard.emplace(Refusal(reason, Elapsed(room_[place].entered, now)));
    answer.callback = TakeOut(place, now);
  }
  Callback TakeOut(std::uint32_t place, TimePoint now) noexcept SHED_REQUIRES(mutex_) {
    wake_.RemoveWaiter();
    return room_.Remove(place, now);
  }
  L& limiter_;
  internal::WakeWord<Sync> wake_;
  typename Sync::template Atomic<std::uint64_t> at_once_{0};
  typename Sync::template Atomic<std::int64_t> min_service_;
  mutable typename Sync::Mutex mutex_;
  internal::WaitingRoom<Callback> room_ SHED_GUARDED_BY(mutex_);
  internal::AnswerFrames frames_ SHED_GUARDED_BY(mutex_);
};

}  // namespace shed

#endif  // SHED_ADMISSION_QUEUE_H_
