// A circuit breaker's options, while they may change.
#ifndef SHED_INTERNAL_BREAKER_TERMS_H_
#define SHED_INTERNAL_BREAKER_TERMS_H_

#include <atomic>
#include <bit>
#include <cstdint>

#include "shed/circuit_breaker_options.h"
#include "shed/internal/bounds.h"

namespace shed::internal {

// A word for each option. The breaker writes them under its lock, and decides under it, by options
// that were in force together. Who looks without the lock may find some of the old and some of the
// new: good enough to ask whether to take it.
template <class Sync>
class BreakerTerms {
  using Options = CircuitBreakerOptions;

 public:
  explicit BreakerTerms(const Options& options) noexcept { Set(options); }

  void Set(const Options& o) noexcept {
    Put(outcome_is_all_, o.slow_call == Duration(0) && o.count_window == 0 ? 1 : 0);
    Put(count_window_, o.count_window);
    Put(consecutive_failures_, o.consecutive_failures);
    Put(min_calls_, o.min_calls);
    Put(failure_ratio_, std::bit_cast<std::int64_t>(o.failure_ratio));
    Put(slow_call_, o.slow_call.count());
    Put(slow_ratio_, std::bit_cast<std::int64_t>(o.slow_ratio));
    Put(open_for_, o.open_for.count());
    Put(max_open_for_, o.max_open_for.count());
    Put(probes_, o.probes);
    Put(probe_timeout_, o.probe_timeout.count());
  }

  // Whether neither how long a call took nor the order in which calls end counts.
  bool outcome_is_all() const noexcept { return Get(outcome_is_all_) != 0; }
  // Whether the last calls are counted, and not those of some time.
  bool counts_calls() const noexcept { return Get(count_window_) != 0; }
  bool IsSlow(Duration took) const noexcept {
    const Duration slow_call(Get(slow_call_));
    return slow_call != Duration(0) && took > slow_call;
  }
  // Returns those by which counts are judged; the others are as by default.
  Options rule() const noexcept {
    Options o;
    o.consecutive_failures = Get(consecutive_failures_);
    o.min_calls = Get(min_calls_);
    o.failure_ratio = std::bit_cast<double>(Get(failure_ratio_));
    o.slow_call = Duration(Get(slow_call_));
    o.slow_ratio = std::bit_cast<double>(Get(slow_ratio_));
    return o;
  }
  Duration open_for() const noexcept { return Duration(Get(open_for_)); }
  Duration max_open_for() const noexcept { return Duration(Get(max_open_for_)); }
  std::int64_t probes() const noexcept { return Get(probes_); }
  // A probe that is slow has failed, whether it ends or not.
  Duration probe_timeout() const noexcept {
    const Duration slow_call(Get(slow_call_));
    const Duration timeout(Get(probe_timeout_));
    return slow_call != Duration(0) ? Min(slow_call, timeout) : timeout;
  }

 private:
  using Word = typename Sync::template Atomic<std::int64_t>;
  // Relaxed, both: ordered by the lock, or by nothing.
  static void Put(Word& word, std::int64_t value) noexcept {
    word.store(value, std::memory_order_relaxed);
  }
  static std::int64_t Get(const Word& word) noexcept {
    return word.load(std::memory_order_relaxed);
  }

  Word outcome_is_all_{0}, count_window_{0};
  Word consecutive_failures_{0}, min_calls_{0}, failure_ratio_{0}, slow_call_{0}, slow_ratio_{0};
  Word open_for_{0}, max_open_for_{0}, probes_{0}, probe_timeout_{0};
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_BREAKER_TERMS_H_
