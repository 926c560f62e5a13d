// Policies of your own beside the built-in ones: a block-list in ten lines, and one that remembers
// something per call.
#include <atomic>
#include <cstdio>
#include <set>
#include <string>
#include <string_view>

#include "shed/shed.h"

// Refuses callers on a list. It has no Options, so the limiter is given the policy itself.
struct BlockList {
  static constexpr std::string_view kName = "block_list";
  std::set<std::string, std::less<>> blocked;

  shed::Verdict Admit(const shed::Request& request, shed::TimePoint) const noexcept {
    if (!blocked.contains(request.caller)) return shed::Verdict::Admit();
    return shed::Verdict::Refuse(shed::Reason::kDenied, std::nullopt, shed::Scope::kCaller);
  }
};

// Lets at most `limit` retries run at once. What an admission took is in its ticket, and comes back
// whether the call runs (Complete) or a later policy refuses it (Cancel).
struct RetryCapOptions {
  int limit = 2;
  constexpr std::string_view Problem() const {
    return limit < 1 ? "limit: want at least 1 retry" : "";
  }
};
class RetryCap {
 public:
  using Options = RetryCapOptions;
  struct Ticket {
    bool counted = false;
  };
  static constexpr std::string_view kName = "retry_cap";

  explicit RetryCap(const Options& options) : limit_(options.limit) {}

  shed::Verdict Admit(const shed::Request& request, shed::TimePoint, Ticket& ticket) noexcept {
    if (!request.retry) return shed::Verdict::Admit();
    int seen = retries_.load();
    do {
      if (seen >= limit_) return shed::Verdict::Refuse(shed::Reason::kRetryBudget);
    } while (!retries_.compare_exchange_weak(seen, seen + 1));
    ticket.counted = true;
    return shed::Verdict::Admit();
  }
  void Cancel(Ticket& ticket, const shed::Verdict&, shed::TimePoint) noexcept { Release(ticket); }
  void Complete(Ticket& ticket, shed::Outcome) noexcept { Release(ticket); }

 private:
  void Release(Ticket& ticket) noexcept {
    if (ticket.counted) retries_.fetch_sub(1);
    ticket.counted = false;
  }
  const int limit_;
  std::atomic<int> retries_{0};
};

int main() {
  shed::Limiter<BlockList, RetryCap, shed::ConcurrencyLimiter> limiter({.blocked = {"mallory"}}, {},
                                                                       {.limit = 3});
  auto mallory = limiter.TryAdmit({.caller = "mallory"});
  auto first = limiter.TryAdmit({.caller = "ada", .retry = true});
  auto second = limiter.TryAdmit({.caller = "ada", .retry = true});
  auto third = limiter.TryAdmit({.caller = "ada", .retry = true});
  auto fresh = limiter.TryAdmit({.caller = "ada"});
  for (const auto* guard : {&mallory, &first, &second, &third, &fresh}) {
    const std::string_view by = guard->rejection().policy_name();
    std::printf("%s%.*s\n", *guard ? "admitted" : "refused by ", static_cast<int>(by.size()),
                by.data());
  }
  first.Complete(shed::Outcome::kSuccess);
  auto again = limiter.TryAdmit({.caller = "ada", .retry = true});
  return !mallory && first && second && !third && fresh && again ? 0 : 1;
}
