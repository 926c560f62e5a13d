// Caps the calls in flight at a limit that an algorithm moves: the enforcement that GradientLimiter
// and KneeLimiter share, and a place for an algorithm of your own.
//
// It counts calls; the cost of a request is not used. Who needs units puts a ConcurrencyLimiter
// beside it.
//
// Algorithm: time is cut into windows. When one closes, the algorithm is told what happened in it
// (LimitWindow), and answers with the limit for the next one and when that shall close (LimitPlan).
// Windows close at completions, so nothing needs a timer; a refusal closes only a window past its
// latest end, because permits that never come back would otherwise leave a lowered limit in force
// for good. The first window opens at the first completion.
//
// State: one word (completed, limit, in flight; internal/limit_word.h), and for an algorithm with
// kIntegral a second one (internal/flight_integral.h). An admission is a compare-exchange that
// never raises in flight above the limit in force, or above the share of it that the class of the
// request may use (a share that Configure changes meanwhile may be the old one). A limit set below
// what is in flight pre-empts nothing: it admits nothing until enough has ended. What was admitted
// in a window is what was completed plus the change of what is in flight, so a call that was
// cancelled leaves no trace in it.
//
// Locking: Admit and Complete are lock-free but for the one thread that closes a window: it takes a
// mutex with try_lock, and the others go on with the old limit. Read and Configure wait for it.
#ifndef SHED_ADAPTIVE_LIMITER_H_
#define SHED_ADAPTIVE_LIMITER_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include "shed/internal/bounds.h"
#include "shed/internal/criticality_share.h"
#include "shed/internal/flight_integral.h"
#include "shed/internal/hints.h"
#include "shed/internal/limit_word.h"
#include "shed/internal/refusal_counter.h"
#include "shed/internal/validate.h"
#include "shed/limit_algorithm.h"
#include "shed/policy.h"
#include "shed/sync.h"

namespace shed {

namespace internal {
// `Configure`, where the algorithm has it: a constrained member would still be found by its name.
template <class Self, class Algorithm>
struct AdaptiveConfigure {};
template <class Self, ReconfigurableLimit Algorithm>
struct AdaptiveConfigure<Self, Algorithm> {
  // Puts `options` in force, those apart that say how to begin (`initial_...`, the seed); what was
  // learned stays, and so does what is in flight. Not for every call: a window that is cut short
  // decides nothing. The limit is held to its new range at once, and a
  // new window begins. Returns "" or, changing nothing, options.Problem().
  std::string_view Configure(const typename Algorithm::Options& options, TimePoint now) noexcept {
    const std::string_view problem = options.Problem();
    if (problem.empty()) static_cast<Self*>(this)->PutInForce(options, now);
    return problem;
  }
};
}  // namespace internal

// Thread-safe: any member, any thread. Never allocates or throws after construction.
template <class Algorithm, class Sync = StdSync>
class BasicAdaptiveLimiter
    : public internal::AdaptiveConfigure<BasicAdaptiveLimiter<Algorithm, Sync>, Algorithm> {
  friend internal::AdaptiveConfigure<BasicAdaptiveLimiter, Algorithm>;
  using Word = internal::LimitWord;
  template <class T>
  using Atomic = typename Sync::template Atomic<T>;

  struct PlainHot {
    Atomic<std::uint64_t> word{0};
  };
  struct IntegralHot {
    Atomic<std::uint64_t> word{0};
    Atomic<std::uint64_t> integral{0};
  };
  static constexpr bool kSamples = requires(Algorithm & a, const Completion& completion) {
    a.Sample(completion, 0u);
  };

 public:
  static_assert(LimitAlgorithm<Algorithm>);
  using Options = typename Algorithm::Options;
  static constexpr std::string_view kName = Algorithm::kName;
  static constexpr bool kHolds = true;

  using Hot = std::conditional_t<Algorithm::kIntegral, IntegralHot, PlainHot>;
  struct Ticket {
    std::int64_t admitted = 0;  // When, in ns.
    bool holds = false;         // A permit; false once given back.
  };
  struct Snapshot : Algorithm::Snapshot {
    std::uint32_t limit = 0;      // In force now.
    std::uint32_t in_flight = 0;  // Above `limit` for a while after it was lowered.
  };

  // Throws std::invalid_argument with options.Problem() unless that is "".
  BasicAdaptiveLimiter(const Options& options, Hot& hot)
      : share_(internal::Checked(options).usable), hot_(hot), algorithm_(options) {
    hot_.word.store(Word::Of(static_cast<std::uint32_t>(options.initial_limit)).bits(),
                    std::memory_order_relaxed);
  }
  BasicAdaptiveLimiter(const BasicAdaptiveLimiter&) = delete;
  BasicAdaptiveLimiter& operator=(const BasicAdaptiveLimiter&) = delete;

  // Refuses with Reason::kConcurrency; when a permit comes free cannot be known, so there is no
  // retry_after.
  Verdict Admit(const Request& request, TimePoint now, Ticket& ticket, Events& events) noexcept {
    Word seen(hot_.word.load(std::memory_order_relaxed));
    for (;;) {
      // Most refusals need not know what the class may use.
      if (seen.in_flight() >= seen.limit() ||
          seen.in_flight() >= share_.Usable(seen.limit(), request.criticality)) {
        return Refuse(request.criticality, now, events);
      }
      std::uint64_t bits = seen.bits();
      // Acquire: whoever takes a permit sees what was done before it was given back.
      if (hot_.word.compare_exchange_weak(bits, bits + Word::kStart, std::memory_order_acquire,
                                          std::memory_order_relaxed)) {
        break;
      }
      seen = Word(bits);
    }
    if constexpr (Algorithm::kIntegral) {
      // Relaxed, here and below: sum and count stand in this one word; nothing else hangs on it.
      hot_.integral.fetch_add(internal::FlightIntegral::Start(now), std::memory_order_relaxed);
    }
    ticket = {Count(now), true};
    return Verdict::Admit();
  }

  void Cancel(Ticket& ticket, const Verdict&, TimePoint) noexcept {
    if (!ticket.holds) return;
    ticket.holds = false;
    if constexpr (Algorithm::kIntegral) {
      hot_.integral.fetch_sub(internal::FlightIntegral::Start(TimePoint(Duration(ticket.admitted))),
                              std::memory_order_relaxed);
    }
    // Release: pairs with the acquire of the next holder.
    hot_.word.fetch_add(Word::kCancel, std::memory_order_release);
  }

  void Complete(Ticket& ticket, const Completion& completion, Events& events) noexcept {
    if (!ticket.holds) return;
    ticket.holds = false;
    if constexpr (Algorithm::kIntegral) {
      const TimePoint end = internal::Max(completion.now, TimePoint(Duration(ticket.admitted)));
      hot_.integral.fetch_add(internal::FlightIntegral::End(end), std::memory_order_relaxed);
    }
    if (completion.outcome == Outcome::kOverload) {
      // Before the word, so that a window's overloaded calls are among its completed ones.
      overloaded_.fetch_add(1, std::memory_order_relaxed);
    }
    const Word before(hot_.word.fetch_add(Word::kEnd, std::memory_order_acq_rel));
    if (completion.outcome == Outcome::kSuccess) Sample(completion, before.in_flight());
    if (const Word after(before.bits() + Word::kEnd); MayClose(after, completion.now)) {
      TryClose(completion.now, events);
    }
  }

  Snapshot Read(TimePoint) const noexcept {
    MutexLock lock(mutex_);
    const Word word(hot_.word.load(std::memory_order_relaxed));
    Snapshot snapshot{};
    static_cast<typename Algorithm::Snapshot&>(snapshot) = algorithm_.Read();
    snapshot.limit = word.limit();
    snapshot.in_flight = word.in_flight();
    return snapshot;
  }

 private:
  // The counter of completed calls wraps at 2^24. A completion at each multiple of this many takes
  // them over into 64 bits.
  static constexpr std::uint32_t kTakeOver = 1u << 22;

  Verdict Refuse([[maybe_unused]] Criticality criticality, TimePoint now, Events& events) noexcept {
    if constexpr (Algorithm::kCountsRefusals) refusals_.Add(criticality);
    if (Count(now) >= at_latest_.load(std::memory_order_relaxed)) [[unlikely]] {
      TryClose(now, events);
    }
    return Verdict::Refuse(Reason::kConcurrency);
  }

  // Outside the lock; the algorithm keeps what it samples in atomics.
  void Sample([[maybe_unused]] const Completion& completion,
              [[maybe_unused]] std::uint32_t in_flight) noexcept SHED_NO_THREAD_SAFETY_ANALYSIS {
    if constexpr (kSamples) algorithm_.Sample(completion, in_flight);
  }

  static constexpr std::int64_t Count(TimePoint at) noexcept {
    return at.time_since_epoch().count();
  }

  // Relaxed loads of numbers that may belong to different plans: whoever believes a window due
  // looks again under the lock.
  bool MayClose(Word after, TimePoint now) const noexcept {
    if (Count(now) >= not_before_.load(std::memory_order_relaxed) &&
        after.CompletedSince(target_.load(std::memory_order_relaxed)) <= Word::kCompletedMask / 2) {
      return true;
    }
    return after.in_flight() < drained_below_.load(std::memory_order_relaxed) ||
           Count(now) >= at_latest_.load(std::memory_order_relaxed) ||
           after.completed() % kTakeOver == 0;
  }

  // The counters at one instant. The refusals are read once: what comes after belongs to the next
  // window.
  struct Reading {
    TimePoint at{};
    Word word{0};
    std::uint64_t overloaded = 0;
    std::uint64_t integral = 0;
    std::array<std::uint64_t, kCriticalityCount> refused{};
  };

  SHED_APART void TryClose(TimePoint now, Events& events) noexcept {
    if (!mutex_.try_lock()) return;  // Another thread is at it.
    Reading read = ReadCompleted();
    if (!open_ || IsDue(read.word, now)) {
      ReadRest(now, read);
      Open(NextPlan(read, events), read);
    }
    mutex_.unlock();
  }

  Reading ReadCompleted() noexcept SHED_REQUIRES(mutex_) {
    Reading read{.overloaded = overloaded_.load(std::memory_order_relaxed)};
    // Acquire: the samples that came before these completions are seen too.
    read.word = Word(hot_.word.load(std::memory_order_acquire));
    TakeOver(read.word);
    return read;
  }
  void ReadRest(TimePoint now, Reading& read) const noexcept SHED_REQUIRES(mutex_) {
    read.at = open_ ? internal::Max(now, window_.begin) : now;
    if constexpr (Algorithm::kCountsRefusals) read.refused = refusals_.Sum();
    if constexpr (Algorithm::kIntegral) {
      read.integral = internal::FlightIntegral::ReadingAt(
          hot_.integral.load(std::memory_order_relaxed), read.at);
    }
  }

  // Options in range. The window so far is given up: it had another limit.
  void PutInForce(const Options& options, TimePoint now) noexcept {
    const MutexLock lock(mutex_);
    share_.Set(options.usable);
    Reading read = ReadCompleted();
    ReadRest(now, read);
    const LimitPlan plan = algorithm_.Configure(options, read.at);
    if (open_) return Open(plan, read);
    // The first window opens at the first completion.
    hot_.word.fetch_add(Word::MoveLimit(read.word.limit(), plan.limit), std::memory_order_relaxed);
  }

  void TakeOver(Word word) noexcept SHED_REQUIRES(mutex_) {
    window_.completed += word.CompletedSince(taken_over_);
    taken_over_ = word.completed();
    // Keeps the target from falling more than half a turn behind.
    if (window_.completed >= plan_.completions) {
      target_.store(taken_over_, std::memory_order_relaxed);
    }
  }

  bool IsDue(Word word, TimePoint now) const noexcept SHED_REQUIRES(mutex_) {
    if (now >= plan_.not_before && window_.completed >= plan_.completions) return true;
    return (plan_.drained != LimitPlan::kNever && word.in_flight() <= plan_.drained) ||
           now >= plan_.at_latest;
  }

  LimitPlan NextPlan(const Reading& read, Events& events) noexcept SHED_REQUIRES(mutex_) {
    if (!open_) {
      open_ = true;
      return algorithm_.Start(read.at);
    }
    LimitWindow window = window_;
    window.end = read.at;
    window.in_flight = read.word.in_flight();
    if constexpr (Algorithm::kIntegral) {
      const Duration span = Elapsed(window.begin, window.end);
      if (!internal::FlightIntegral::Measurable(ceiling_, span)) return algorithm_.Start(read.at);
      window.area = internal::FlightIntegral::Area(before_.integral, read.integral, ceiling_, span);
    }
    const std::uint64_t out = window.completed + window.in_flight;
    window.admitted = out - internal::Min<std::uint64_t>(out, before_.word.in_flight());
    window.overloaded = internal::Min(read.overloaded - before_.overloaded, window.completed);
    for (std::size_t i = 0; i < window.refused.size(); ++i) {
      window.refused[i] = read.refused[i] - before_.refused[i];
    }
    return algorithm_.Close(window, events);
  }

  // Begins a window where `read` was taken, and puts its plan in force.
  void Open(const LimitPlan& plan, const Reading& read) noexcept SHED_REQUIRES(mutex_) {
    plan_ = plan;
    before_ = read;
    window_ = {};
    window_.begin = read.at;
    window_.limit = plan.limit;
    ceiling_ = internal::Max(internal::Max(read.word.in_flight(), read.word.limit()), plan.limit);
    // Only the holder of the lock moves the limit, so it is still what `read` says. Relaxed: a
    // limit publishes no data.
    hot_.word.fetch_add(Word::MoveLimit(read.word.limit(), plan.limit), std::memory_order_relaxed);

    const bool counts = plan.completions != LimitPlan::kNever;
    target_.store((read.word.completed() + (counts ? plan.completions : 0)) & Word::kCompletedMask,
                  std::memory_order_relaxed);
    not_before_.store(Count(counts ? plan.not_before : TimePoint::max()),
                      std::memory_order_relaxed);
    drained_below_.store(plan.drained == LimitPlan::kNever ? 0 : plan.drained + 1,
                         std::memory_order_relaxed);
    at_latest_.store(Count(plan.at_latest), std::memory_order_relaxed);
  }

  // Read by every call, written when a window turns.
  internal::LiveCriticalityShare<Sync> share_;
  Hot& hot_;
  Atomic<std::int64_t> not_before_{std::numeric_limits<std::int64_t>::min()};
  Atomic<std::int64_t> at_latest_{std::numeric_limits<std::int64_t>::max()};
  Atomic<std::uint32_t> target_{0};  // Of completed calls, modulo 2^24.
  Atomic<std::uint32_t> drained_below_{0};

  alignas(64) Atomic<std::uint64_t> overloaded_{0};
  struct Nothing {};
  [[no_unique_address]] std::conditional_t<Algorithm::kCountsRefusals,
                                           internal::RefusalCounter<Sync>, Nothing>
      refusals_;

  mutable typename Sync::Mutex mutex_;
  Algorithm algorithm_ SHED_GUARDED_BY(mutex_);
  bool open_ SHED_GUARDED_BY(mutex_) = false;
  LimitPlan plan_ SHED_GUARDED_BY(mutex_);
  LimitWindow window_ SHED_GUARDED_BY(mutex_);  // `begin`, `limit`, and `completed` so far.
  Reading before_ SHED_GUARDED_BY(mutex_);      // At its begin.
  std::uint32_t taken_over_ SHED_GUARDED_BY(mutex_) = 0;
  std::uint32_t ceiling_ SHED_GUARDED_BY(mutex_) = 0;  // No more were in flight in this window.
};

template <class Algorithm>
using AdaptiveLimiter = BasicAdaptiveLimiter<Algorithm>;

}  // namespace shed

#endif  // SHED_ADAPTIVE_LIMITER_H_
