// The permit that a limiter hands out: holds what one call was admitted with, and ends it once.
#ifndef SHED_GUARD_H_
#define SHED_GUARD_H_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string_view>
#include <utility>

#include "shed/internal/hints.h"
#include "shed/outcome.h"
#include "shed/request.h"
#include "shed/time.h"
#include "shed/verdict.h"

namespace shed {

template <class L, class Sync>
class AdmissionQueue;
class Events;

namespace internal {
// Exceptions in flight on this thread; zero where there are none to be had.
inline int UncaughtExceptions() noexcept {
#if defined(__cpp_exceptions)
  return std::uncaught_exceptions();
#else
  return 0;
#endif
}
}  // namespace internal

// Move-only; made by Limiter::TryAdmit alone. Ends exactly once, whatever comes first: Complete,
// or the end of its life. One thread at a time may use it; it may be moved to, and end on, another
// thread. The limiter must outlive it.
//
// An end without a word is counted as `dropped` and as kIgnored, which says nothing of the service:
// a default of success would make every early `return` a fast, healthy sample. If the guard has
// never moved and its scope is left by an exception, it counts as kFailure instead.
template <class Limiter>
class [[nodiscard]] AdmissionGuard {
 public:
  AdmissionGuard(AdmissionGuard&& other) noexcept
      : limiter_(std::exchange(other.limiter_, nullptr)),
        state_(std::exchange(other.state_, State::kEmpty)),
        has_note_(other.has_note_),
        moved_(true),
        note_(other.note_),
        policy_(other.policy_),
        verdict_(other.verdict_),
        started_(other.started_),
        cost_(other.cost_),
        tickets_(std::move(other.tickets_)) {}
  // Ends what this guard held before, as its destructor would.
  AdmissionGuard& operator=(AdmissionGuard&& other) noexcept {
    if (this != &other) {
      EndUnsaid();
      limiter_ = std::exchange(other.limiter_, nullptr);
      state_ = std::exchange(other.state_, State::kEmpty);
      has_note_ = other.has_note_;
      moved_ = true;
      note_ = other.note_;
      policy_ = other.policy_;
      verdict_ = other.verdict_;
      started_ = other.started_;
      cost_ = other.cost_;
      tickets_ = std::move(other.tickets_);
    }
    return *this;
  }
  ~AdmissionGuard() { EndUnsaid(); }

  // True if the call was admitted; stays true after it ended. False if it was refused, and for a
  // guard that was moved from.
  explicit operator bool() const noexcept {
    return state_ == State::kAdmitted || state_ == State::kExempt || state_ == State::kEnded;
  }

  // How long the caller must wait before it starts the work: zero, unless the request offered a
  // `max_wait`. The library never sleeps.
  Duration wait() const noexcept { return verdict_.wait(); }

  // When the work may start: the admission plus the wait.
  TimePoint started() const noexcept { return started_; }

  // Why the call was refused. For an admitted call its reason is Reason::kNone.
  Rejection rejection() const noexcept {
    if (state_ == State::kRefused)
      return Rejection(policy_, Limiter::PolicyName(policy_), verdict_);
    return Rejection(0, "", Verdict::Admit());
  }

  // Ends the call. Does nothing if it has ended, was refused, or was moved away.
  void Complete(Outcome outcome) noexcept {
    if (limiter_ == nullptr) return;
    End(outcome);
  }

  // Decides the outcome now and leaves the end to the guard's destructor, for handlers that know
  // the result before the last byte is sent. The last note wins; Complete overrides it.
  void Note(Outcome outcome) noexcept {
    note_ = outcome;
    has_note_ = true;
  }

  // Tells the policies the actual cost of the call, in units, once it is known: what it was
  // admitted with is settled to that. Does nothing after the end.
  void Charge(std::uint64_t units) noexcept {
    if (state_ == State::kAdmitted) limiter_->ChargeAdmitted(tickets_, units);
  }

 private:
  friend Limiter;
  template <class, class>
  friend class AdmissionQueue;
  enum class State : std::uint8_t { kEmpty, kRefused, kAdmitted, kExempt, kEnded };

  AdmissionGuard(Limiter& limiter, const Request& request, TimePoint now) noexcept {
    limiter.Admit(request, now, *this);
  }
  AdmissionGuard(Limiter& limiter, const Request& request, TimePoint now, Events& events) noexcept {
    limiter.AskQuietly(request, now, *this, events);
  }

  void EndUnsaid() noexcept {
    if (limiter_ == nullptr) return;
    if (has_note_) {
      End(note_);
      return;
    }
    EndDropped();
  }
  SHED_SELDOM void EndDropped() noexcept {
    limiter_->counts_.Dropped();
    const bool unwinding = !moved_ && internal::UncaughtExceptions() > exceptions_;
    End(unwinding ? Outcome::kFailure : Outcome::kIgnored);
  }

  void End(Outcome outcome) noexcept {
    Limiter* const limiter = std::exchange(limiter_, nullptr);
    const State state = std::exchange(state_, State::kEnded);
    // A value cast from outside the four becomes kIgnored here, so that policies see only the four.
    outcome = static_cast<Outcome>(IndexOf(outcome));
    if (state == State::kAdmitted) {
      limiter->CompleteAdmitted(tickets_, {.started = started_, .outcome = outcome, .cost = cost_});
    }
    limiter->counts_.Ended(outcome);
  }

  Limiter* limiter_ = nullptr;  // Set while there is something to end.
  State state_ = State::kEmpty;
  bool has_note_ = false;
  bool moved_ = false;
  Outcome note_ = Outcome::kIgnored;
  int exceptions_ = 0;      // In flight on the admitting thread when it was made.
  std::size_t policy_ = 0;  // Which one refused.
  Verdict verdict_ = Verdict::Admit();
  TimePoint started_{};
  std::uint64_t cost_ = 1;
  typename Limiter::Tickets tickets_{};
};

}  // namespace shed

#endif  // SHED_GUARD_H_
