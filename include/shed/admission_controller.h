// Refuses a share of the calls when too few of the recent ones succeeded.
//
// Use it in a client, in front of a service that many clients share: when the service sheds load,
// refusing here spares it the work of refusing there. Calls that fail must say so (a refusal of the
// service is Outcome::kOverload). Not alone in front of one server of your own: it learns from
// failures, so it lets the overload in, throttles, and lets it in again as the window forgets; use
// a KneeLimiter. Blind to answers that are slow but good.
//
// Algorithm: with n calls that ended in the window, s of them well,
//
//   p = min(max_rejection, max(0, (n - s / threshold) / (n + 1)) ^ (1 / aggression))
//
// and p = 0 while n is less than min_rps times the whole window, however young the window is. While
// at least `threshold` of the calls succeed nothing is refused; below it, p is such that about
// s / threshold calls are let through. The 1 keeps p below 1, so that some calls always find out.
// n counts calls that ran: own refusals are no evidence, or p would never fall again. kIgnored is
// none either. kFailure and kOverload are the calls that did not end well.
//
// Who is refused: the less critical. With a[k] calls of class k that asked in the window (refused
// ones too), p of all of them are to be refused; the least critical class is refused first, up to
// all of it, then the next, so that the sum over k of p[k]·a[k] is p·sum(a). A class may be refused
// whole; all classes together never more than max_rejection.
//
// The draw is a hash of (seed, stripe, the stripe's draws so far), in steps of 1/65535.
//
// State: a striped window of ten slices (internal/sliding_window.h says which calls are in it); the
// four p[k] in one word. The word is computed anew when a call is in a later slice than it was
// computed in, and whenever an end of a call is the m-th of its kind in its slice and stripe for m
// = 1, 1 + e, 1 + 2e ..., e being the largest power of two up to n / 128: a hundredth of the
// window's calls later. Up to n = 255 that is after every end of a call. (Read computes p on the
// spot.)
//
// Locking: lock-free. Of several threads that find the word out of date one computes it, the others
// go on with the old one; a mutex where a slice turns. A refusal writes its own stripe's lines.
//
// Source: "Handling Overload" in the Google SRE book (client-side throttling: threshold = 1/K);
// Envoy's admission control for threshold, aggression, cap and floor.
#ifndef SHED_ADMISSION_CONTROLLER_H_
#define SHED_ADMISSION_CONTROLLER_H_

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "shed/internal/draws.h"
#include "shed/internal/hints.h"
#include "shed/internal/published.h"
#include "shed/internal/sliding_window.h"
#include "shed/internal/validate.h"
#include "shed/policy.h"
#include "shed/sync.h"

namespace shed {

struct AdmissionControllerOptions {
  // The time over which calls are counted. Default 10 s, range 1 us to 24 h. Longer is steadier,
  // and forgets an outage later.
  Duration window = std::chrono::seconds(10);
  // The share of calls that must succeed for nothing to be refused. Default 0.95, range 0.01 to 1.
  // Smaller is more patient.
  double threshold = 0.95;
  // Above 1 refuses more at the same success rate. Default 1, range 0.1 to 10.
  double aggression = 1;
  // The largest share of calls refused. Default 0.8, range 0.01 to 1.
  double max_rejection = 0.8;
  // Calls per second, averaged over the whole window, below which nothing is refused: a few
  // failures prove nothing. Default 5, range 0 to 1'000'000'000.
  double min_rps = 5;
  // Of the draws. Any value; give each instance its own.
  std::uint64_t seed = 1;

  // Returns "" if every field is in range, else a sentence that names the field and the range.
  constexpr std::string_view Problem() const noexcept {
    if (window < std::chrono::microseconds(1) || window > std::chrono::hours(24)) {
      return "window: want 1 us to 24 h";
    }
    if (!internal::InRange(threshold, 0.01, 1)) return "threshold: want 0.01 to 1";
    if (!internal::InRange(aggression, 0.1, 10)) return "aggression: want 0.1 to 10";
    if (!internal::InRange(max_rejection, 0.01, 1)) return "max_rejection: want 0.01 to 1";
    if (!internal::InRange(min_rps, 0, 1e9)) return "min_rps: want 0 to 1000000000";
    return "";
  }
};

// Thread-safe: any member, any thread. Never allocates.
template <class Sync = StdSync>
class BasicAdmissionController {
 public:
  using Options = AdmissionControllerOptions;
  using PerClass = std::array<double, kCriticalityCount>;  // Least critical first.
  using Arrivals = std::array<std::uint64_t, kCriticalityCount>;
  static constexpr std::string_view kName = "admission_controller";

  // Where the arrival was counted; `kind` 0 once it has ended.
  struct Ticket {
    std::int64_t slice = 0;
    std::uint8_t stripe = 0;
    std::uint8_t kind = 0;
  };
  struct Snapshot {
    std::uint64_t calls = 0;      // n: ended in the window, own refusals and kIgnored left out.
    std::uint64_t successes = 0;  // s
    double probability = 0;       // p
    PerClass class_probability{};
    Arrivals arrivals{};  // That asked in the window, refused ones too.
    double rps = 0;       // n per second of the whole window.
  };

  // Throws std::invalid_argument with options.Problem() unless that is "".
  explicit BasicAdmissionController(const Options& options)
      : rule_(RuleOf(internal::Checked(options))), draws_(options.seed), window_(options.window) {}
  BasicAdmissionController(const BasicAdmissionController&) = delete;
  BasicAdmissionController& operator=(const BasicAdmissionController&) = delete;

  // The rule, pure: the share of calls to refuse where `calls` ended in the window, `successes` of
  // them well.
  static constexpr double Probability(const Options& options, std::uint64_t calls,
                                      std::uint64_t successes) noexcept {
    const double n = static_cast<double>(calls);
    // Both sides in calls times nanoseconds: no division, no rounding at whole numbers.
    if (n * 1e9 < options.min_rps * static_cast<double>(options.window.count())) return 0;
    double p = (n - static_cast<double>(successes) / options.threshold) / (n + 1);
    // Before pow, which has no answer for a negative number.
    if (!(p > 0)) return 0;
    // The builtin is pow without <cmath>.
    if (options.aggression != 1) p = __builtin_pow(p, 1 / options.aggression);
    return p < options.max_rejection ? p : options.max_rejection;
  }
  // Who is refused, pure: spreads the share `p` of all arrivals over the classes.
  static constexpr PerClass Spread(double p, const Arrivals& arrivals) noexcept {
    double left = 0;  // To be refused, in calls.
    for (const std::uint64_t calls : arrivals) left += p * static_cast<double>(calls);
    PerClass share{};
    if (left <= 0) {
      share.fill(p);  // Nobody asked: nothing tells the classes apart.
      return share;
    }
    for (std::size_t k = 0; k < kCriticalityCount && left > 0; ++k) {
      const double calls = static_cast<double>(arrivals[k]);
      share[k] = left < calls ? left / calls : 1;
      left = left < calls ? 0 : left - calls;
    }
    return share;
  }

  // Refuses with kLowSuccessRate; for how long cannot be known, so there is no retry_after.
  Verdict Admit(const Request& request, TimePoint now, Ticket& ticket) noexcept {
    const std::size_t index = IndexOf(request.criticality);
    const auto place = window_.Add(now, kArrived + index, 0);
    if (place.slice > computed_.load(std::memory_order_relaxed)) [[unlikely]]
      Compute(now);
    const std::uint64_t word = refused_.load(std::memory_order_relaxed);
    const auto threshold = static_cast<std::uint32_t>(word >> (kShareBits * index)) & kShareMask;
    if (threshold != 0 && draws_.Next() < threshold) {
      return Verdict::Refuse(Reason::kLowSuccessRate);
    }
    ticket = {.slice = place.slice,
              .stripe = static_cast<std::uint8_t>(window_.MyStripe()),
              .kind = static_cast<std::uint8_t>(kArrived + index)};
    if (!place.counted) ticket.kind = kNotCounted;
    return Verdict::Admit();
  }

  void Cancel(Ticket& ticket, const Verdict&, TimePoint) noexcept {
    if (ticket.kind >= kArrived) window_.Remove(ticket.slice, ticket.stripe, ticket.kind, 0);
    ticket.kind = 0;
  }

  void Complete(Ticket& ticket, const Completion& end) noexcept {
    if (ticket.kind == 0) return;
    ticket.kind = 0;
    if (end.outcome == Outcome::kIgnored) return;
    const auto place =
        window_.Add(end.now, end.outcome == Outcome::kSuccess ? kSucceeded : kFailed, 0);
    if (place.counted && (place.before & every_.load(std::memory_order_relaxed)) == 0) {
      Compute(end.now);
    }
  }

  // Puts `options` in force, the seed apart, and computes by them at once. What was counted stays,
  // as far as it is not older than the new window is long; the arrival of a call that is cancelled
  // after the window was changed stays counted. Returns "" or, changing nothing, options.Problem().
  std::string_view Configure(const Options& options, TimePoint now) noexcept {
    const std::string_view problem = options.Problem();
    if (!problem.empty()) return problem;
    const MutexLock lock(mutex_);
    window_.SetWindow(options.window, now);
    rule_.Write(RuleOf(options));
    // Slices are numbered by their width.
    computed_.store(std::numeric_limits<std::int64_t>::min(), std::memory_order_relaxed);
    ComputeAlone(now);
    return "";
  }

  // Whether nobody asked, and no call ended, within the window.
  bool AsNew(TimePoint now) const noexcept {
    return window_.Sum(now, 0) == std::array<std::uint64_t, kArrived + kCriticalityCount>{};
  }

  Snapshot Read(TimePoint now) const noexcept {
    const Options options = OptionsOf(rule_.Read());
    const auto sum = window_.Sum(now, 0);
    Snapshot snapshot;
    snapshot.calls = sum[kSucceeded] + sum[kFailed];
    snapshot.successes = sum[kSucceeded];
    for (std::size_t k = 0; k < kCriticalityCount; ++k) snapshot.arrivals[k] = sum[kArrived + k];
    snapshot.probability = Probability(options, snapshot.calls, snapshot.successes);
    snapshot.class_probability = Spread(snapshot.probability, snapshot.arrivals);
    snapshot.rps =
        static_cast<double>(snapshot.calls) * 1e9 / static_cast<double>(options.window.count());
    return snapshot;
  }

 private:
  // The kinds of events in the window.
  static constexpr std::size_t kSucceeded = 0;
  static constexpr std::size_t kFailed = 1;
  static constexpr std::size_t kArrived = 2;      // And three more, one per class.
  static constexpr std::uint8_t kNotCounted = 1;  // A ticket's: its arrival came too late to count.
  static constexpr unsigned kShareBits = 16;
  static constexpr std::uint32_t kShareMask = 0xffff;
  static constexpr std::uint64_t kFine = 128;

  // Brings the word up to date, unless another thread is doing so.
  SHED_APART void Compute(TimePoint now) noexcept {
    if (!mutex_.try_lock()) return;
    ComputeAlone(now);
    mutex_.unlock();
  }
  void ComputeAlone(TimePoint now) noexcept SHED_REQUIRES(mutex_) {
    const Snapshot snapshot = Read(now);
    std::uint64_t word = 0;
    for (std::size_t k = 0; k < kCriticalityCount; ++k) {
      word |= std::uint64_t{draws_.Threshold(snapshot.class_probability[k])} << (kShareBits * k);
    }
    // Relaxed, all three: each is right on its own; nothing is published by them.
    refused_.store(word, std::memory_order_relaxed);
    every_.store(std::bit_floor(snapshot.calls / kFine | 1) - 1, std::memory_order_relaxed);
    const std::int64_t slice = window_.SliceOf(now);
    if (slice > computed_.load(std::memory_order_relaxed)) {
      computed_.store(slice, std::memory_order_relaxed);
    }
  }

  // The options as whole words, the doubles by their bits.
  struct Rule {
    std::int64_t window;
    std::uint64_t threshold, aggression, max_rejection, min_rps;
  };
  static constexpr Rule RuleOf(const Options& o) noexcept {
    const auto bits = [](double x) { return std::bit_cast<std::uint64_t>(x); };
    return {o.window.count(), bits(o.threshold), bits(o.aggression), bits(o.max_rejection),
            bits(o.min_rps)};
  }
  static constexpr Options OptionsOf(const Rule& rule) noexcept {
    const auto number = [](std::uint64_t bits) { return std::bit_cast<double>(bits); };
    return {.window = Duration(rule.window),
            .threshold = number(rule.threshold),
            .aggression = number(rule.aggression),
            .max_rejection = number(rule.max_rejection),
            .min_rps = number(rule.min_rps)};
  }

  internal::Published<Sync, Rule> rule_;
  typename Sync::Mutex mutex_;
  // Read by every call, written by Compute.
  alignas(64) typename Sync::template Atomic<std::uint64_t> refused_{0};  // 16 bits per class.
  typename Sync::template Atomic<std::uint64_t> every_{0};                // e - 1
  typename Sync::template Atomic<std::int64_t> computed_{std::numeric_limits<std::int64_t>::min()};
  internal::Draws<Sync> draws_;
  internal::SlidingWindow<Sync, kArrived + kCriticalityCount> window_;
};

using AdmissionController = BasicAdmissionController<>;
static_assert(Policy<AdmissionController>);

}  // namespace shed

#endif  // SHED_ADMISSION_CONTROLLER_H_
