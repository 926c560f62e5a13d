// Stops retries while calls fail.
//
// Use it in a client, in front of each service it calls: while most calls succeed every retry
// passes, and once they fail none does, so that the clients of a service that is down do not
// multiply its load. Beside a RetryBudget, which bounds how many retries run at once. Not instead
// of a CircuitBreaker: calls that are no retries always pass.
//
// Algorithm: an account of at most `max_tokens`, full at first. Each call that succeeds pays in
// `token_ratio`, each that fails (kFailure, kOverload) takes out 1; kIgnored does nothing, nor does
// a call that was refused. A retry is admitted while more than half of max_tokens is there. Counted
// in whole thousandths: 0.1 never drifts, and the account never leaves [0, max_tokens], so that
// neither a good day nor a long outage is paid for later.
//
// State: one word, account and options together. A success with a full account writes nothing, nor
// does a refusal.
//
// Locking: none.
//
// Source: gRFC A6, "Throttling retry attempts".
#ifndef SHED_RETRY_THROTTLE_H_
#define SHED_RETRY_THROTTLE_H_

#include <atomic>
#include <cstdint>
#include <string_view>

#include "shed/internal/bounds.h"
#include "shed/internal/validate.h"
#include "shed/policy.h"
#include "shed/sync.h"

namespace shed {

struct RetryThrottleOptions {
  // The size of the account, in failures. Default 10, range 0.001 to 1000, to the nearest
  // thousandth.
  double max_tokens = 10;
  // What a success pays in. Default 0.1: retries pass while fewer than one call in eleven fails.
  // Range 0.001 to 1000, to the nearest thousandth.
  double token_ratio = 0.1;

  // Returns "" if every field is in range, else a sentence that names the field and the range.
  constexpr std::string_view Problem() const noexcept {
    if (!internal::InRange(max_tokens, 0.001, 1000.0)) return "max_tokens: want 0.001 to 1000";
    if (!internal::InRange(token_ratio, 0.001, 1000.0)) return "token_ratio: want 0.001 to 1000";
    return "";
  }
};

// Thread-safe: any member, any thread. Never blocks, allocates or throws after construction.
template <class Sync = StdSync>
class BasicRetryThrottle {
 public:
  using Options = RetryThrottleOptions;
  static constexpr std::string_view kName = "retry_throttle";

  struct Hot {
    typename Sync::template Atomic<std::uint64_t> word{0};
  };
  struct Ticket {
    bool open = false;  // Admitted, and not yet ended.
  };
  struct Snapshot {
    double tokens = 0;  // In [0, max_tokens].
    double max_tokens = 0;
    bool retries_pass = false;
  };

  // Throws std::invalid_argument with options.Problem() unless that is "".
  BasicRetryThrottle(const Options& options, Hot& hot) : hot_(hot) {
    hot_.word.store(Account::Full(internal::Checked(options)).bits(), std::memory_order_relaxed);
  }
  BasicRetryThrottle(const BasicRetryThrottle&) = delete;
  BasicRetryThrottle& operator=(const BasicRetryThrottle&) = delete;

  // Refuses retries with Reason::kRetryBudget; for how long depends on how calls end, so there is
  // no retry_after.
  Verdict Admit(const Request& request, TimePoint, Ticket& ticket) noexcept {
    // Relaxed, here and below: an account publishes nothing.
    if (request.retry && !Account(hot_.word.load(std::memory_order_relaxed)).RetriesPass()) {
      return Verdict::Refuse(Reason::kRetryBudget);
    }
    ticket.open = true;
    return Verdict::Admit();
  }
  void Cancel(Ticket& ticket, const Verdict&, TimePoint) noexcept { ticket.open = false; }
  void Complete(Ticket& ticket, Outcome outcome) noexcept {
    if (!ticket.open) return;
    ticket.open = false;
    if (outcome == Outcome::kIgnored) return;
    std::uint64_t seen = hot_.word.load(std::memory_order_relaxed);
    for (;;) {
      const std::uint64_t next = Account(seen).After(outcome == Outcome::kSuccess).bits();
      if (next == seen) return;
      if (hot_.word.compare_exchange_weak(seen, next, std::memory_order_relaxed)) return;
    }
  }

  // Puts `options` in force; the account keeps what it holds, up to the new size of it. Returns ""
  // or, changing nothing, options.Problem().
  std::string_view Configure(const Options& options, TimePoint) noexcept {
    const std::string_view problem = options.Problem();
    if (!problem.empty()) return problem;
    std::uint64_t seen = hot_.word.load(std::memory_order_relaxed);
    while (!hot_.word.compare_exchange_weak(
        seen, Account::Holding(Account(seen).tokens(), options).bits(),
        std::memory_order_relaxed)) {
    }
    return "";
  }

  Snapshot Read(TimePoint) const noexcept {
    const Account account(hot_.word.load(std::memory_order_relaxed));
    return {.tokens = account.tokens() / 1e3,
            .max_tokens = account.most() / 1e3,
            .retries_pass = account.RetriesPass()};
  }

 private:
  // From the top: the token ratio, the most, and what is there, 20 bits of thousandths each.
  class Account {
   public:
    constexpr explicit Account(std::uint64_t bits) noexcept : bits_(bits) {}
    static constexpr Account Holding(std::uint32_t tokens, const Options& options) noexcept {
      const std::uint32_t most = Thousandths(options.max_tokens);
      return Of(Thousandths(options.token_ratio), most, internal::Min(tokens, most));
    }
    static constexpr Account Full(const Options& options) noexcept {
      return Holding(kMask, options);
    }

    constexpr std::uint64_t bits() const noexcept { return bits_; }
    constexpr std::uint32_t tokens() const noexcept { return Field(0); }
    constexpr std::uint32_t most() const noexcept { return Field(1); }
    constexpr bool RetriesPass() const noexcept { return 2 * tokens() > most(); }
    constexpr Account After(bool success) const noexcept {
      const std::uint32_t ratio = Field(2);
      const std::uint32_t there = tokens();
      const std::uint32_t then = success ? internal::Min(there + ratio, most())
                                         : there - internal::Min(there, std::uint32_t{1000});
      return Of(ratio, most(), then);
    }

   private:
    static constexpr int kBits = 20;
    static constexpr std::uint32_t kMask = (1u << kBits) - 1;
    static constexpr std::uint32_t Thousandths(double tokens) noexcept {
      return static_cast<std::uint32_t>(tokens * 1000 + 0.5);
    }
    static constexpr Account Of(std::uint32_t ratio, std::uint32_t most,
                                std::uint32_t tokens) noexcept {
      return Account(std::uint64_t{ratio} << 2 * kBits | std::uint64_t{most} << kBits | tokens);
    }
    constexpr std::uint32_t Field(int i) const noexcept {
      return static_cast<std::uint32_t>(bits_ >> i * kBits) & kMask;
    }
    std::uint64_t bits_;
  };

  Hot& hot_;
};

using RetryThrottle = BasicRetryThrottle<>;
static_assert(Policy<RetryThrottle>);

}  // namespace shed

#endif  // SHED_RETRY_THROTTLE_H_
