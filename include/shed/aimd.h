// A concurrency limit that grows by one and shrinks by a factor, as TCP's window does.
//
// Use it where what you call says clearly that it has too much: it sheds, or answers later than
// `timeout`. It needs no baseline of latency, so nothing can be learned wrong. Not as the limit of
// a service whose latency merely grows in an overload: it does not see that before `timeout`; use a
// KneeLimiter.
//
// Algorithm: after each window, with L the limit,
//   congested   L · backoff
//   else        L + 1, unless less than half of L was used
// Congestion, windows and the guards: internal/sampled_limit.h.
//
// State: a histogram and the most in flight, which every success writes; the rest under the lock of
// the enforcement (adaptive_limiter.h).
//
// Source: AIMDLimit of Netflix's concurrency-limits.
#ifndef SHED_AIMD_H_
#define SHED_AIMD_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "shed/adaptive_limiter.h"
#include "shed/internal/criticality_share.h"
#include "shed/internal/sampled_limit.h"
#include "shed/sync.h"

namespace shed {

struct AimdOptions {
  // The limit is never lower. Calls; default 4, range 1 to max_limit.
  std::int64_t min_limit = 4;
  // The limit is never higher. Calls; default 1000, range 1 to 1'000'000.
  std::int64_t max_limit = 1000;
  // The limit before anything is known. Calls; default 20, range min_limit to max_limit.
  std::int64_t initial_limit = 20;
  // The quantile of a window's latencies that is looked at. Default 0.75, range above 0 to 1.
  double percentile = 0.75;
  // A window closes after this time, and then after `min_samples`. Default 100 ms, range 1 us to
  // 1 h.
  Duration interval = std::chrono::milliseconds(100);
  // Successes without which a window decides nothing. Default 20, range 1 to 1'000'000.
  std::int64_t min_samples = 20;
  // What is left of the limit after a congested window: one in which over a tenth of the calls
  // ended with kOverload, or whose latency reached `timeout`. Default 0.9, range 0.1 to 0.99.
  double backoff = 0.9;
  // A latency that is no answer in time, however steady it is. Default 5 s, range 1 us to 1 h.
  Duration timeout = std::chrono::seconds(5);
  // The share of the limit up to which each class of criticality is admitted, least critical
  // first. Default 1 for all, range 0 to 1, none above that of a more critical class.
  std::array<double, kCriticalityCount> usable = internal::kUsableAll;

  // Returns "" if every field is in range, else a sentence that names the field and the range.
  constexpr std::string_view Problem() const noexcept { return internal::SampledProblem(*this); }
};

struct AimdSnapshot {
  Duration sample{0};        // Of the latest window; 0 before the first.
  std::uint32_t wanted = 0;  // The limit that it wants.
};

// For BasicAdaptiveLimiter, under whose lock all but Sample runs.
template <class Sync = StdSync>
class BasicAimd : public internal::SampledLimit<BasicAimd<Sync>, AimdOptions, Sync> {
  using Base = internal::SampledLimit<BasicAimd<Sync>, AimdOptions, Sync>;

 public:
  using Snapshot = AimdSnapshot;
  static constexpr std::string_view kName = "aimd_limiter";

  explicit BasicAimd(const AimdOptions& options) noexcept : Base(options) {}

  static constexpr double Next(double limit, const internal::SampledWindow&) noexcept {
    return limit + 1;
  }
  Snapshot Read() const noexcept { return {.sample = this->sample(), .wanted = this->limit()}; }
};

using Aimd = BasicAimd<>;
template <class Sync = StdSync>
using BasicAimdLimiter = BasicAdaptiveLimiter<BasicAimd<Sync>, Sync>;
using AimdLimiter = BasicAimdLimiter<>;
static_assert(Policy<AimdLimiter>);

}  // namespace shed

#endif  // SHED_AIMD_H_
