// A limiter's counters, in stripes that threads do not share.
#ifndef SHED_INTERNAL_CALL_COUNTS_H_
#define SHED_INTERNAL_CALL_COUNTS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shed/internal/own_stripes.h"
#include "shed/outcome.h"
#include "shed/request.h"
#include "shed/verdict.h"

namespace shed::internal {

// For N policies.
template <class Sync, std::size_t N>
class CallCounts {
 public:
  // Relaxed, but for Ended: a count publishes nothing.
  void Admitted(Criticality criticality) noexcept {
    stripes_.Add([=](Counts& counts) -> Count& { return counts.admitted[IndexOf(criticality)]; });
  }
  void Exempt() noexcept {
    stripes_.Add([](Counts& counts) -> Count& { return counts.exempt; });
  }
  void Refused(std::size_t policy, Reason reason, Criticality criticality) noexcept {
    stripes_.Add([=](Counts& counts) -> Count& {
      return counts.refused[policy][static_cast<std::size_t>(reason)][IndexOf(criticality)];
    });
  }
  void Ended(Outcome outcome) noexcept {
    // Release: whoever sees the end of a call also sees its admission, so that what is in flight is
    // never counted below zero.
    stripes_.template Add<std::memory_order_release>(
        [=](Counts& counts) -> Count& { return counts.ended[IndexOf(outcome)]; });
  }
  void Dropped() noexcept {
    stripes_.Add([](Counts& counts) -> Count& { return counts.dropped; });
  }

  // Fills in everything of a LimiterSnapshot but its names and the policies'.
  template <class Snapshot>
  void Read(Snapshot& snapshot) const noexcept {
    // The ends first: see Ended.
    stripes_.ForEach([&](const Counts& counts) {
      for (std::size_t i = 0; i < kOutcomeCount; ++i) {
        snapshot.completed[i] += counts.ended[i].load(std::memory_order_acquire);
      }
    });
    stripes_.ForEach([&](const Counts& counts) {
      for (std::size_t i = 0; i < kCriticalityCount; ++i) {
        snapshot.admitted[i] += Get(counts.admitted[i]);
      }
      snapshot.exempt += Get(counts.exempt);
      snapshot.dropped += Get(counts.dropped);
      for (std::size_t policy = 0; policy < N; ++policy) {
        for (std::size_t reason = 0; reason < kReasonCount; ++reason) {
          for (std::size_t i = 0; i < kCriticalityCount; ++i) {
            snapshot.refused[policy][reason][i] += Get(counts.refused[policy][reason][i]);
          }
        }
      }
    });
    const std::uint64_t begun = snapshot.TotalAdmitted() + snapshot.exempt;
    const std::uint64_t ended = snapshot.TotalCompleted();
    snapshot.in_flight = begun > ended ? begun - ended : 0;
  }

 private:
  using Count = typename Sync::template Atomic<std::uint64_t>;

  struct Counts {
    // The counts of the admit and complete paths: one line.
    std::array<Count, kCriticalityCount> admitted{};
    std::array<Count, kOutcomeCount> ended{};
    Count exempt{};
    Count dropped{};
    std::array<std::array<std::array<Count, kCriticalityCount>, kReasonCount>, N> refused{};
  };

  static std::uint64_t Get(const Count& count) noexcept {
    return count.load(std::memory_order_relaxed);
  }

  OwnStripes<Sync, Counts, 16, 8> stripes_;
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_CALL_COUNTS_H_
