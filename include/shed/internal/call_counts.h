// A limiter's counters: one stripe per thread (as far as they go), so that a count costs one add on
// a line that other threads leave alone.
#ifndef SHED_INTERNAL_CALL_COUNTS_H_
#define SHED_INTERNAL_CALL_COUNTS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shed/outcome.h"
#include "shed/request.h"
#include "shed/verdict.h"

namespace shed::internal {

// For N policies.
template <class Sync, std::size_t N>
class CallCounts {
 public:
  void Admitted(Criticality criticality) noexcept { Add(Mine().admitted[IndexOf(criticality)]); }
  void Exempt() noexcept { Add(Mine().exempt); }
  void Refused(std::size_t policy, Reason reason, Criticality criticality) noexcept {
    Add(Mine().refused[policy][static_cast<std::size_t>(reason)][IndexOf(criticality)]);
  }
  void Ended(Outcome outcome) noexcept {
    // Release: whoever sees the end of a call also sees its admission, so that what is in flight is
    // never counted below zero.
    Mine().ended[IndexOf(outcome)].fetch_add(1, std::memory_order_release);
  }
  void Dropped() noexcept { Add(Mine().dropped); }

  // Fills in everything of a LimiterSnapshot but its names and the policies'.
  template <class Snapshot>
  void Read(Snapshot& snapshot) const noexcept {
    // The ends first: see Ended.
    for (const Stripe& stripe : stripes_) {
      for (std::size_t i = 0; i < kOutcomeCount; ++i) {
        snapshot.completed[i] += stripe.ended[i].load(std::memory_order_acquire);
      }
    }
    for (const Stripe& stripe : stripes_) {
      for (std::size_t i = 0; i < kCriticalityCount; ++i) {
        snapshot.admitted[i] += Get(stripe.admitted[i]);
      }
      snapshot.exempt += Get(stripe.exempt);
      snapshot.dropped += Get(stripe.dropped);
      for (std::size_t policy = 0; policy < N; ++policy) {
        for (std::size_t reason = 0; reason < kReasonCount; ++reason) {
          for (std::size_t i = 0; i < kCriticalityCount; ++i) {
            snapshot.refused[policy][reason][i] += Get(stripe.refused[policy][reason][i]);
          }
        }
      }
    }
    const std::uint64_t begun = snapshot.TotalAdmitted() + snapshot.exempt;
    const std::uint64_t ended = snapshot.TotalCompleted();
    snapshot.in_flight = begun > ended ? begun - ended : 0;
  }

 private:
  using Count = typename Sync::template Atomic<std::uint64_t>;
  static constexpr std::size_t kStripes = 16;  // A power of two.

  struct alignas(64) Stripe {
    // The counts of the admit and complete paths: one line.
    std::array<Count, kCriticalityCount> admitted{};
    std::array<Count, kOutcomeCount> ended{};
    Count exempt{};
    Count dropped{};
    std::array<std::array<std::array<Count, kCriticalityCount>, kReasonCount>, N> refused{};
  };

  Stripe& Mine() noexcept { return stripes_[Sync::Stripe() % kStripes]; }
  // Relaxed: a count publishes nothing.
  static void Add(Count& count) noexcept { count.fetch_add(1, std::memory_order_relaxed); }
  static std::uint64_t Get(const Count& count) noexcept {
    return count.load(std::memory_order_relaxed);
  }

  std::array<Stripe, kStripes> stripes_{};
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_CALL_COUNTS_H_
