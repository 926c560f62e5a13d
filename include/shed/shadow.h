// A policy on trial: it decides and counts, and never refuses.
//
//   Limiter<Shadow<RateLimiter>, RateLimiter> limiter({.rate = 400}, {.rate = 500});
//
// Put it beside the live policy to see on real traffic what another setting would refuse, and how
// those calls then ended, before it is enforced.
//
// P is asked about every call. A call that it would have refused is admitted all the same, and P
// hears no more of it: it is no ticket and no sample there, as if it had been refused. It is
// counted, with its outcome. A wait that P would have asked for is counted, and not asked for.
//
// What it cannot show: what would have become of the other calls. The calls that it would have
// refused run, and load the service that P looks at. So a shadowed breaker opens for as long as an
// enforced one but goes on seeing its dependency loaded; and the limit of a shadowed adaptive
// limiter is right in calm (0.9 to 1.25 times what it is when enforced), and not under a load that
// it would have refused. In the lab (`shadow`: a fifth too many calls, in a service that needs a
// limit of 16 and has one of 64):
//   what follows the latency alone is a lower bound: VegasLimiter, at 0.4 times what it would be;
//   what measures the unloaded service cannot unload it, takes the load for healthy, and is no
//   bound at all: GradientLimiter (it probes) at 8 times, KneeLimiter at 9 times what it would be.
#ifndef SHED_SHADOW_H_
#define SHED_SHADOW_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "shed/internal/own_stripes.h"
#include "shed/internal/wrapper.h"
#include "shed/limiter_snapshot.h"
#include "shed/policy.h"
#include "shed/sync.h"

namespace shed {

namespace internal {
// "shadow." and a name, in static storage.
template <class P>
struct ShadowName {
  static constexpr std::string_view kPrefix = "shadow.";
  static constexpr std::string_view kInner = P::kName;
  static constexpr auto kText = [] {
    std::array<char, kPrefix.size() + kInner.size()> text{};
    for (std::size_t i = 0; i < text.size(); ++i) {
      text[i] = i < kPrefix.size() ? kPrefix[i] : kInner[i - kPrefix.size()];
    }
    return text;
  }();
  static constexpr std::string_view kName{kText.data(), kText.size()};
};
}  // namespace internal

// Made from P's Options (from internal::PolicyItself<P>, {policy}, where it has none). Thread-safe
// as P is.
template <class P, class Sync = StdSync>
class Shadow : public internal::Wrapper<P>,
               public internal::WrapperCharge<Shadow<P, Sync>, P>,
               public internal::WrapperConfigure<Shadow<P, Sync>, P> {
  using Base = internal::Wrapper<P>;

 public:
  // Not P's kHolds: a limiter with one offers its policies no wait, and a trial must change
  // nothing.
  static constexpr std::string_view kName = internal::ShadowName<P>::kName;
  using Ticket = typename Base::Ticket;
  // Counts since it was made. A call that a later policy refused is in the first three, and has no
  // outcome.
  struct Snapshot {
    std::uint64_t admitted = 0;                                 // Calls that P admitted,
    std::uint64_t delayed = 0;                                  // of them those with a wait.
    std::array<std::uint64_t, kReasonCount> refused{};          // Calls that it would have refused.
    std::array<std::uint64_t, kOutcomeCount> admitted_ended{};  // How the first ended,
    std::array<std::uint64_t, kOutcomeCount> refused_ended{};   // and the last.
    SnapshotOf<P> policy{};

    std::uint64_t TotalRefused() const noexcept {
      std::uint64_t sum = 0;
      for (const std::uint64_t n : refused) sum += n;
      return sum;
    }
  };

  explicit Shadow(const typename Base::Options& options) requires(!HasHot<P>) : Base(options) {}
  template <class Hot>
  Shadow(const typename Base::Options& options, Hot& hot) requires HasHot<P> : Base(options, hot) {}

  // Admits.
  Verdict Admit(const Request& request, TimePoint now, Ticket& ticket, Events& events) noexcept {
    const Verdict verdict = internal::Admit(this->policy(), request, now, ticket.inner, events);
    ticket.held = verdict.admitted();
    ticket.refused = !verdict.admitted();
    if (ticket.held) {
      Count([](Counts & counts) -> auto& { return counts.admitted; });
      if (verdict.wait() != Duration(0)) {
        Count([](Counts & counts) -> auto& { return counts.delayed; });
      }
    } else {
      const auto reason = static_cast<std::size_t>(verdict.reason());
      Count([=](Counts & counts) -> auto& { return counts.refused[reason]; });
    }
    return Verdict::Admit();
  }
  void Cancel(Ticket& ticket, const Verdict& cause, TimePoint now, Events& events) noexcept {
    ticket.refused = false;
    if (!std::exchange(ticket.held, false)) return;
    internal::Cancel(this->policy(), ticket.inner, cause, now, events);
  }
  void Complete(Ticket& ticket, const Completion& completion,
                Events& events) noexcept requires CompletesTimed<P> {
    End(ticket, completion, events);
  }
  void Complete(Ticket& ticket, Outcome outcome, Events& events) noexcept
      requires(!CompletesTimed<P>) {
    End(ticket, {.outcome = outcome}, events);
  }

  Snapshot Read([[maybe_unused]] TimePoint now) const noexcept {
    Snapshot snapshot;
    counts_.ForEach([&](const Counts& counts) {
      snapshot.admitted += Get(counts.admitted);
      snapshot.delayed += Get(counts.delayed);
      for (std::size_t i = 0; i < kReasonCount; ++i) snapshot.refused[i] += Get(counts.refused[i]);
      for (std::size_t i = 0; i < kOutcomeCount; ++i) {
        snapshot.admitted_ended[i] += Get(counts.admitted_ended[i]);
        snapshot.refused_ended[i] += Get(counts.refused_ended[i]);
      }
    });
    if constexpr (CanRead<P>) snapshot.policy = this->policy().Read(now);
    return snapshot;
  }

 private:
  using Number = typename Sync::template Atomic<std::uint64_t>;
  struct Counts {
    Number admitted{}, delayed{};
    std::array<Number, kOutcomeCount> admitted_ended{}, refused_ended{};
    std::array<Number, kReasonCount> refused{};
  };

  template <class Which>
  void Count(Which which) noexcept {
    counts_.Add(which);
  }
  // Relaxed: a count publishes nothing.
  static std::uint64_t Get(const Number& number) noexcept {
    return number.load(std::memory_order_relaxed);
  }

  void End(Ticket& ticket, const Completion& completion, Events& events) noexcept {
    const std::size_t outcome = IndexOf(completion.outcome);
    if (std::exchange(ticket.refused, false)) {
      Count([=](Counts & counts) -> auto& { return counts.refused_ended[outcome]; });
    }
    if (!std::exchange(ticket.held, false)) return;
    Count([=](Counts & counts) -> auto& { return counts.admitted_ended[outcome]; });
    internal::Complete(this->policy(), ticket.inner, completion, events);
  }

  internal::OwnStripes<Sync, Counts, 8, 4> counts_;
};

}  // namespace shed

#endif  // SHED_SHADOW_H_
