// Sheds by how long calls have waited before they got here, and by what time they have left.
//
// Use it where calls wait in a queue before the limiter sees them (a thread pool's, an accept
// queue) and the service says for how long in Request::queued_for: a queue that burns down is left
// alone, a standing one is cut short, whatever the service's capacity is. And against work on calls
// whose client has gone (Request::time_left). Not where nothing waits in front of the limiter: it
// sees no overload then; use a KneeLimiter.
//
// Algorithm: a call that has no time left, or less than `min_service`, is refused. For the rest, by
// `law`:
//   kInterval  time is cut into intervals. If at least two calls came in one, and the one that had
//              waited least had waited for more than `target`, the queue stands: in the next
//              interval calls that waited for more than twice the target are refused, but for the
//              first, which shows whether the queue still stands. An interval without calls is
//              calm. The minimum, because a burst has calls that waited long, and a standing queue
//              has none that did not. Twice, because in a standing queue half of the calls would be
//              refused otherwise that a service could still answer in good time.
//   kControl   CoDel as published for packets (internal/codel_law.h): of a standing queue one call
//              is refused, then one after interval / sqrt(n). Gentler, for clients that slow down
//              when they are refused.
// Every call that is asked about counts, refused or not: it came out of the queue.
//
// State: kInterval has two words, the begin of the interval and what is known of it. A `now` that
// lags counts in the latest interval. Two threads that turn an interval at once may count one call
// in the wrong one of the two.
//
// Locking: none with kInterval; a mutex for each call with kControl, whose order of calls matters.
//
// Source: CoDel (Nichols and Jacobson, RFC 8289); kInterval is what Facebook's folly and fbthrift
// make of it.
#ifndef SHED_QUEUE_DELAY_LIMITER_H_
#define SHED_QUEUE_DELAY_LIMITER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "shed/internal/bounds.h"
#include "shed/internal/codel_law.h"
#include "shed/internal/published.h"
#include "shed/internal/validate.h"
#include "shed/policy.h"
#include "shed/sync.h"

namespace shed {

enum class QueueDelayLaw : std::uint8_t {
  kInterval,  // All that waited for too long, while the queue stands.
  kControl,   // One after the other, ever faster.
};

struct QueueDelayLimiterOptions {
  // A wait that is no trouble. Default 5 ms, range 1 us to 1 h.
  Duration target = std::chrono::milliseconds(5);
  // How long the queue must stand. Default 100 ms, range above target to 24 h. About the longest
  // time in which a burst is worked off.
  Duration interval = std::chrono::milliseconds(100);
  // What a call needs to be worked on at least. Default 0, range 0 to 24 h.
  Duration min_service{0};
  // Default kInterval.
  QueueDelayLaw law = QueueDelayLaw::kInterval;

  // Returns "" if every field is in range, else a sentence that names the field and the range.
  constexpr std::string_view Problem() const noexcept {
    using std::chrono::hours;
    if (target < std::chrono::microseconds(1) || target > hours(1)) {
      return "target: want 1 us to 1 h";
    }
    if (interval <= target || interval > hours(24)) return "interval: want above target, to 24 h";
    if (min_service < Duration(0) || min_service > hours(24)) return "min_service: want 0 to 24 h";
    if (law > QueueDelayLaw::kControl) return "law: want kInterval or kControl";
    return "";
  }
};

// Thread-safe: any member, any thread. Never allocates or throws after construction.
template <class Sync = StdSync>
class BasicQueueDelayLimiter {
 public:
  using Options = QueueDelayLimiterOptions;
  static constexpr std::string_view kName = "queue_delay_limiter";

  struct Snapshot {
    bool overloaded = false;  // The queue stands, by what is known up to the latest call.
    // The least that a call of the latest interval had waited, by kInterval; unknown before the
    // first call.
    std::optional<Duration> least_wait{};
  };

  // Throws std::invalid_argument with options.Problem() unless that is "".
  explicit BasicQueueDelayLimiter(const Options& options)
      : rule_(RuleOf(internal::Checked(options))) {}
  BasicQueueDelayLimiter(const BasicQueueDelayLimiter&) = delete;
  BasicQueueDelayLimiter& operator=(const BasicQueueDelayLimiter&) = delete;

  // Refuses with kDeadline what cannot be done in the time that is left, with kQueueDelay what
  // waited for too long in a standing queue; for how long that stands cannot be known, so there is
  // no retry_after. A negative `queued_for` counts as zero.
  Verdict Admit(const Request& request, TimePoint now, Events& events) noexcept {
    const Rule rule = rule_.Read();
    const Duration waited = internal::Max(request.queued_for, Duration(0));
    const bool drop = rule.law == static_cast<std::int64_t>(QueueDelayLaw::kInterval)
                          ? DropByInterval(waited, now, rule, events)
                          : DropByControl(waited, now, rule, events);
    if (request.time_left <= Duration(0) || request.time_left.count() < rule.min_service) {
      return Verdict::Refuse(Reason::kDeadline);
    }
    return drop ? Verdict::Refuse(Reason::kQueueDelay) : Verdict::Admit();
  }

  // Puts `options` in force; what is known of the queue stays. Returns "" or, changing nothing,
  // options.Problem().
  std::string_view Configure(const Options& options, TimePoint) noexcept {
    const std::string_view problem = options.Problem();
    if (problem.empty()) rule_.Write(RuleOf(options));
    return problem;
  }

  Snapshot Read(TimePoint) const noexcept {
    if (rule_.Read().law == static_cast<std::int64_t>(QueueDelayLaw::kControl)) {
      const MutexLock lock(mutex_);
      return {.overloaded = codel_.dropping()};
    }
    const Known known(known_.load(std::memory_order_relaxed));
    Snapshot snapshot{.overloaded = known.overloaded()};
    if (known.calls() != 0) snapshot.least_wait = known.least();
    return snapshot;
  }

 private:
  // The options as whole words.
  struct Rule {
    std::int64_t target, interval, min_service, law;
  };
  static constexpr Rule RuleOf(const Options& o) noexcept {
    return {o.target.count(), o.interval.count(), o.min_service.count(),
            static_cast<std::int64_t>(o.law)};
  }

  // What is known of an interval, in one word: whether the one before it was overloaded, how many
  // calls came (0, 1, more), and the least wait of them.
  class Known {
   public:
    constexpr explicit Known(std::uint64_t bits) noexcept : bits_(bits) {}
    static constexpr Known First(bool overloaded, Duration waited) noexcept {
      return Of(overloaded, 1, static_cast<std::uint64_t>(waited.count()));
    }
    constexpr Known With(Duration waited) const noexcept {
      const auto wait = internal::Min(static_cast<std::uint64_t>(waited.count()), kMask);
      return Of(overloaded(), calls() == 0 ? 1 : 2,
                calls() == 0 ? wait : internal::Min(wait, Least()));
    }
    constexpr std::uint64_t bits() const noexcept { return bits_; }
    constexpr bool overloaded() const noexcept { return bits_ >> 63 != 0; }
    constexpr std::uint64_t calls() const noexcept { return bits_ >> kWaitBits & 3; }
    constexpr Duration least() const noexcept {
      return Duration(static_cast<std::int64_t>(Least()));
    }

   private:
    static constexpr int kWaitBits = 61;
    static constexpr std::uint64_t kMask = (std::uint64_t{1} << kWaitBits) - 1;
    static constexpr Known Of(bool overloaded, std::uint64_t calls, std::uint64_t wait) noexcept {
      return Known(std::uint64_t{overloaded} << 63 | calls << kWaitBits |
                   internal::Min(wait, kMask));
    }
    constexpr std::uint64_t Least() const noexcept { return bits_ & kMask; }
    std::uint64_t bits_;
  };

  bool DropByInterval(Duration waited, TimePoint now, const Rule& rule, Events& events) noexcept {
    const std::int64_t ns = now.time_since_epoch().count();
    const std::int64_t into = ns % rule.interval;
    const std::int64_t begin = SaturatingAdd(ns, into < 0 ? -rule.interval - into : -into);
    std::int64_t current = begin_.load(std::memory_order_relaxed);
    // Relaxed throughout: two words that say a little each, and publish nothing.
    if (begin > current &&
        begin_.compare_exchange_strong(current, begin, std::memory_order_relaxed)) {
      const bool follows = SaturatingAdd(current, rule.interval) >= begin;
      Turn(waited, follows, rule, events);
      return false;
    }
    std::uint64_t seen = known_.load(std::memory_order_relaxed);
    for (;;) {
      const std::uint64_t next = Known(seen).With(waited).bits();
      if (next == seen || known_.compare_exchange_weak(seen, next, std::memory_order_relaxed)) {
        break;
      }
    }
    return Known(seen).overloaded() && waited.count() > 2 * rule.target;
  }

  // The first call of an interval; `follows` the one before without a gap.
  void Turn(Duration waited, bool follows, const Rule& rule, Events& events) noexcept {
    std::uint64_t seen = known_.load(std::memory_order_relaxed);
    bool stands = false;
    do {
      const Known known(seen);
      stands = follows && known.calls() > 1 && known.least().count() > rule.target;
    } while (!known_.compare_exchange_weak(seen, Known::First(stands, waited).bits(),
                                           std::memory_order_relaxed));
    const Known before(seen);
    if (stands != before.overloaded()) Report(stands, before.least(), rule, events);
  }

  bool DropByControl(Duration waited, TimePoint now, const Rule& rule, Events& events) noexcept {
    bool before = false;
    bool after = false;
    bool drop = false;
    {
      const MutexLock lock(mutex_);
      before = codel_.dropping();
      drop = codel_.Drop(waited, now, Duration(rule.target), Duration(rule.interval));
      after = codel_.dropping();
    }
    if (before != after) Report(after, waited, rule, events);
    return drop;
  }

  static void Report(bool stands, Duration waited, const Rule& rule, Events& events) noexcept {
    events.Push({.kind = stands ? EventKind::kQueueStands : EventKind::kQueueMoves,
                 .cause = Cause::kQueueDelay,
                 .value = static_cast<double>(waited.count()),
                 .threshold = static_cast<double>(rule.target)});
  }

  internal::Published<Sync, Rule> rule_;
  typename Sync::template Atomic<std::int64_t> begin_{std::numeric_limits<std::int64_t>::min()};
  typename Sync::template Atomic<std::uint64_t> known_{0};
  mutable typename Sync::Mutex mutex_;
  internal::CodelLaw codel_ SHED_GUARDED_BY(mutex_);
};

using QueueDelayLimiter = BasicQueueDelayLimiter<>;
static_assert(Policy<QueueDelayLimiter>);

}  // namespace shed

#endif  // SHED_QUEUE_DELAY_LIMITER_H_
