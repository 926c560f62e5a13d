// Keeps retries a small share of what is in flight.
//
// Use it in a client, or in a service that is told which calls are retries (Request::retry): when
// everything fails, every call comes back as often as its client tries, and the retries keep a
// service down after the fault is gone. Not instead of a limit: calls that are no retries always
// pass.
//
// Algorithm: a retry is admitted while
//   retries in flight < max(ratio · calls in flight, min_retries),
// calls in flight being all that were admitted here and have not ended, retries among them. Other
// calls are always admitted, and counted. It counts calls; cost is not used.
//
// State: one word, calls and retries in flight, so that they always agree: no interleaving admits a
// retry above the share of what is in flight at that instant. A second word holds the options.
//
// Locking: none. A refusal writes nothing.
//
// Source: the retry budget of Envoy's circuit breakers, which checks and counts in two steps.
#ifndef SHED_RETRY_BUDGET_H_
#define SHED_RETRY_BUDGET_H_

#include <atomic>
#include <cstdint>
#include <string_view>

#include "shed/internal/bounds.h"
#include "shed/internal/validate.h"
#include "shed/policy.h"
#include "shed/sync.h"

namespace shed {

struct RetryBudgetOptions {
  // The share of the calls in flight that may be retries. Default 0.2, range 0 to 1, to the nearest
  // millionth.
  double ratio = 0.2;
  // So many may always be in flight, however few the calls. Default 3, range 0 to 1'000'000. With a
  // ratio of 0 and 0 of these no retry is admitted.
  std::int64_t min_retries = 3;

  // Returns "" if every field is in range, else a sentence that names the field and the range.
  constexpr std::string_view Problem() const noexcept {
    if (!internal::InRange(ratio, 0.0, 1.0)) return "ratio: want 0 to 1";
    if (min_retries < 0 || min_retries > 1'000'000) return "min_retries: want 0 to 1000000";
    return "";
  }
};

// Thread-safe: any member, any thread. Never blocks, allocates or throws after construction.
template <class Sync = StdSync>
class BasicRetryBudget {
 public:
  using Options = RetryBudgetOptions;
  static constexpr std::string_view kName = "retry_budget";
  static constexpr bool kHolds = true;

  struct Hot {
    typename Sync::template Atomic<std::uint64_t> word{0};  // Retries above, all calls below.
  };
  struct Ticket {
    bool held = false;  // Counted as in flight; false once it has ended.
    bool retry = false;
  };
  struct Snapshot {
    std::uint32_t in_flight = 0;  // Calls, retries among them.
    std::uint32_t retries = 0;    // Of these.
    std::uint32_t allowed = 0;    // Retries that may be in flight now.
  };

  // Throws std::invalid_argument with options.Problem() unless that is "".
  BasicRetryBudget(const Options& options, Hot& hot)
      : rule_(Rule::Of(internal::Checked(options)).bits()), hot_(hot) {
    hot_.word.store(0, std::memory_order_relaxed);
  }
  BasicRetryBudget(const BasicRetryBudget&) = delete;
  BasicRetryBudget& operator=(const BasicRetryBudget&) = delete;

  // The rule, pure: how many retries may be in flight beside `in_flight` calls in all. The share is
  // rounded up: with less than one retry in flight than the share, one more may start.
  static constexpr std::uint32_t Allowed(const Options& options, std::uint32_t in_flight) noexcept {
    return Rule::Of(options).Allowed(in_flight);
  }

  // Refuses retries with Reason::kRetryBudget; for how long cannot be known, so there is no
  // retry_after.
  Verdict Admit(const Request& request, TimePoint, Ticket& ticket) noexcept {
    if (!request.retry) {
      // Relaxed, here and below: counts publish nothing.
      hot_.word.fetch_add(kCall, std::memory_order_relaxed);
      ticket = {.held = true};
      return Verdict::Admit();
    }
    const Rule rule(rule_.load(std::memory_order_relaxed));
    std::uint64_t seen = hot_.word.load(std::memory_order_relaxed);
    do {
      if (Retries(seen) >= rule.Allowed(InFlight(seen))) {
        return Verdict::Refuse(Reason::kRetryBudget);
      }
    } while (
        !hot_.word.compare_exchange_weak(seen, seen + kCall + kRetry, std::memory_order_relaxed));
    ticket = {.held = true, .retry = true};
    return Verdict::Admit();
  }
  void Cancel(Ticket& ticket, const Verdict&, TimePoint) noexcept { Release(ticket); }
  void Complete(Ticket& ticket, Outcome) noexcept { Release(ticket); }

  // Puts `options` in force for the calls that ask from now on (one that is being decided may go by
  // the old); what is in flight stays, and no retry is admitted until there is room under a smaller
  // budget. Returns "" or, changing nothing, options.Problem().
  std::string_view Configure(const Options& options, TimePoint) noexcept {
    const std::string_view problem = options.Problem();
    if (problem.empty()) rule_.store(Rule::Of(options).bits(), std::memory_order_relaxed);
    return problem;
  }

  Snapshot Read(TimePoint) const noexcept {
    const std::uint64_t word = hot_.word.load(std::memory_order_relaxed);
    return {.in_flight = InFlight(word),
            .retries = Retries(word),
            .allowed = Rule(rule_.load(std::memory_order_relaxed)).Allowed(InFlight(word))};
  }

 private:
  static constexpr std::uint64_t kCall = 1;
  static constexpr std::uint64_t kRetry = std::uint64_t{1} << 32;
  static constexpr std::uint32_t InFlight(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word);
  }
  static constexpr std::uint32_t Retries(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word >> 32);
  }

  // The options in one word: the ratio in millionths above, the floor below.
  class Rule {
   public:
    constexpr explicit Rule(std::uint64_t bits) noexcept : bits_(bits) {}
    static constexpr Rule Of(const Options& options) noexcept {
      const auto millionths = static_cast<std::uint64_t>(options.ratio * kMillion + 0.5);
      return Rule(millionths << 32 | static_cast<std::uint64_t>(options.min_retries));
    }
    constexpr std::uint64_t bits() const noexcept { return bits_; }
    // Fewer than a number that is no whole one are as many as that number rounded up.
    constexpr std::uint32_t Allowed(std::uint32_t in_flight) const noexcept {
      const std::uint64_t share = ((bits_ >> 32) * in_flight + kMillion - 1) / kMillion;
      return internal::Max(static_cast<std::uint32_t>(share), static_cast<std::uint32_t>(bits_));
    }

   private:
    static constexpr std::uint64_t kMillion = 1'000'000;
    std::uint64_t bits_;
  };

  void Release(Ticket& ticket) noexcept {
    if (!ticket.held) return;
    ticket.held = false;
    hot_.word.fetch_sub(ticket.retry ? kCall + kRetry : kCall, std::memory_order_relaxed);
  }

  typename Sync::template Atomic<std::uint64_t> rule_;
  Hot& hot_;
};

using RetryBudget = BasicRetryBudget<>;
static_assert(Policy<RetryBudget>);

}  // namespace shed

#endif  // SHED_RETRY_BUDGET_H_
