// Caps the units of work in flight.
//
// Use it where you know how much a service can take at once (worker threads, connections), or to
// keep optional work from taking the last slots. Not where the capacity moves: a constant that is
// too high does nothing in an overload. There, use a KneeLimiter.
//
// Algorithm: admit while `in flight + cost <= usable(class)`, where usable is the limit times the
// share of the request's criticality class, rounded down. A cost above what the class may use is
// held as exactly that, so that one huge call can still run, alone.
//
// State: one word: the limit, which of four sets of shares is in force, and the units in flight, so
// that they always agree: no interleaving admits above the limit in force, and a limit set below
// what is in flight pre-empts nothing.
//
// Locking: none for calls; a mutex in Configure. A thread that stops between load and
// compare-exchange for exactly four (or eight ...) calls of Configure, and finds the same limit and
// the same units in flight, may admit one call by the share that it read.
#ifndef SHED_CONCURRENCY_LIMITER_H_
#define SHED_CONCURRENCY_LIMITER_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shed/internal/bounds.h"
#include "shed/internal/criticality_share.h"
#include "shed/internal/validate.h"
#include "shed/policy.h"
#include "shed/sync.h"

namespace shed {

struct ConcurrencyLimiterOptions {
  // Units in flight. Default 100, range 1 to 1'000'000'000.
  std::int64_t limit = 100;
  // The share of the limit up to which each class of criticality is admitted, least critical
  // first. Default 1 for all, range 0 to 1, none above that of a more critical class. A share of
  // 0 refuses the class; any other leaves it at least 1 unit.
  std::array<double, kCriticalityCount> usable = internal::kUsableAll;

  // Returns "" if every field is in range, else a sentence that names the field and the range.
  constexpr std::string_view Problem() const noexcept {
    if (limit < 1 || limit > kMaxLimit) return "limit: want 1 to 1000000000 units";
    return internal::UsableProblem(usable);
  }

  static constexpr std::int64_t kMaxLimit = 1'000'000'000;
};

// Thread-safe: any member, any thread. Never allocates or throws after construction.
template <class Sync = StdSync>
class BasicConcurrencyLimiter {
 public:
  using Options = ConcurrencyLimiterOptions;
  static constexpr std::string_view kName = "concurrency_limiter";
  static constexpr bool kHolds = true;

  struct Hot {
    // From the top: the set of shares (2 bits), the limit (30), the units in flight (32).
    typename Sync::template Atomic<std::uint64_t> word{0};
  };
  struct Ticket {
    std::uint32_t units = 0;  // Held; 0 once given back.
  };
  struct Snapshot {
    std::uint32_t limit = 0;
    std::uint32_t in_flight = 0;  // Units. Above `limit` for a while after SetLimit lowered it.
  };

  // Throws std::invalid_argument with options.Problem() unless that is "".
  BasicConcurrencyLimiter(const Options& options, Hot& hot) : hot_(hot) {
    shares_[0].Set(internal::Checked(options).usable);
    usual_.store(static_cast<std::uint32_t>(options.limit), std::memory_order_relaxed);
    hot_.word.store(Pack(0, static_cast<std::uint32_t>(options.limit), 0),
                    std::memory_order_relaxed);
  }
  BasicConcurrencyLimiter(const BasicConcurrencyLimiter&) = delete;
  BasicConcurrencyLimiter& operator=(const BasicConcurrencyLimiter&) = delete;

  // The whole rule, pure: the units to hold for a call of `cost` where a class may use `usable`
  // units and `in_flight` are held; 0 means refuse.
  static constexpr std::uint32_t Decide(std::uint32_t usable, std::uint32_t in_flight,
                                        std::uint64_t cost) noexcept {
    if (in_flight >= usable) return 0;
    const std::uint64_t units =
        internal::Min<std::uint64_t>(internal::Max<std::uint64_t>(cost, 1), usable);
    return units <= usable - in_flight ? static_cast<std::uint32_t>(units) : 0;
  }

  // Refuses with Reason::kConcurrency; when a permit comes free cannot be known, so there is no
  // retry_after. A refusal writes nothing.
  Verdict Admit(const Request& request, TimePoint, Ticket& ticket) noexcept {
    // Acquire, here and where the exchange fails: the shares are set before the word that names
    // their set.
    std::uint64_t seen = hot_.word.load(std::memory_order_acquire);
    for (;;) {
      // Most refusals need not know what the class may use.
      if (InFlight(seen) >= Limit(seen)) return Verdict::Refuse(Reason::kConcurrency);
      const std::uint32_t usable = shares_[SetOf(seen)].Usable(Limit(seen), request.criticality);
      const std::uint32_t units = Decide(usable, InFlight(seen), request.cost);
      if (units == 0) return Verdict::Refuse(Reason::kConcurrency);
      // Acquire: whoever takes a permit sees what was done before it was given back.
      if (hot_.word.compare_exchange_weak(seen, seen + units, std::memory_order_acquire,
                                          std::memory_order_acquire)) {
        ticket.units = units;
        return Verdict::Admit();
      }
    }
  }
  void Cancel(Ticket& ticket, const Verdict&, TimePoint) noexcept { Release(ticket); }
  void Complete(Ticket& ticket, Outcome) noexcept { Release(ticket); }

  // Sets the limit; what is in flight stays. Returns "" or, changing nothing, the sentence that
  // says what is wrong with it.
  std::string_view SetLimit(std::int64_t limit, TimePoint) noexcept {
    const std::string_view problem = Options{.limit = limit}.Problem();
    if (!problem.empty()) return problem;
    std::uint64_t seen = hot_.word.load(std::memory_order_relaxed);
    // Relaxed: a limit publishes no data.
    while (!hot_.word.compare_exchange_weak(
        seen, Pack(SetOf(seen), static_cast<std::uint32_t>(limit), InFlight(seen)),
        std::memory_order_relaxed)) {
    }
    return "";
  }

  // Puts limit and shares in force, together; what is in flight stays. Returns "" or, changing
  // nothing, options.Problem().
  std::string_view Configure(const Options& options, TimePoint) noexcept {
    const std::string_view problem = options.Problem();
    if (!problem.empty()) return problem;
    const auto limit = static_cast<std::uint32_t>(options.limit);
    const MutexLock lock(mutex_);
    std::uint64_t seen = hot_.word.load(std::memory_order_relaxed);
    const std::size_t next = (SetOf(seen) + 1) % kSets;  // Configure alone moves it.
    shares_[next].Set(options.usable);
    usual_.store(limit, std::memory_order_relaxed);
    // Release: whoever sees the number of the set sees the set.
    while (!hot_.word.compare_exchange_weak(seen, Pack(next, limit, InFlight(seen)),
                                            std::memory_order_release, std::memory_order_relaxed)) {
    }
    return "";
  }

  // Whether nothing is in flight, and the limit is the one it was made or configured with.
  bool AsNew(TimePoint) const noexcept {
    const std::uint64_t word = hot_.word.load(std::memory_order_relaxed);
    return InFlight(word) == 0 && Limit(word) == usual_.load(std::memory_order_relaxed);
  }

  Snapshot Read(TimePoint) const noexcept {
    const std::uint64_t word = hot_.word.load(std::memory_order_relaxed);
    return {.limit = Limit(word), .in_flight = InFlight(word)};
  }

 private:
  static constexpr std::size_t kSets = 4;
  static constexpr std::uint32_t kLimitMask = (1u << 30) - 1;
  static_assert(Options::kMaxLimit <= kLimitMask);

  static constexpr std::uint64_t Pack(std::size_t set, std::uint32_t limit,
                                      std::uint32_t in_flight) noexcept {
    return std::uint64_t{set} << 62 | std::uint64_t{limit} << 32 | in_flight;
  }
  static constexpr std::size_t SetOf(std::uint64_t word) noexcept {
    return static_cast<std::size_t>(word >> 62);
  }
  static constexpr std::uint32_t Limit(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word >> 32) & kLimitMask;
  }
  static constexpr std::uint32_t InFlight(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word);
  }

  void Release(Ticket& ticket) noexcept {
    if (ticket.units == 0) return;
    // Release: pairs with the acquire of the next holder. Never borrows from the limit above: the
    // units were added to the same half by Admit.
    hot_.word.fetch_sub(ticket.units, std::memory_order_release);
    ticket.units = 0;
  }

  std::array<internal::LiveCriticalityShare<Sync>, kSets> shares_;
  typename Sync::template Atomic<std::uint32_t> usual_{0};  // The limit by the options.
  Hot& hot_;
  typename Sync::Mutex mutex_;  // Held by Configure.
};

using ConcurrencyLimiter = BasicConcurrencyLimiter<>;
static_assert(Policy<ConcurrencyLimiter>);
static_assert(sizeof(ConcurrencyLimiter) + sizeof(ConcurrencyLimiter::Hot) <= 128);

}  // namespace shed

#endif  // SHED_CONCURRENCY_LIMITER_H_
