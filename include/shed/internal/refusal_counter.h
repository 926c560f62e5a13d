// Counts refusals per class of criticality, so that a refusal writes no line that another thread
// writes.
#ifndef SHED_INTERNAL_REFUSAL_COUNTER_H_
#define SHED_INTERNAL_REFUSAL_COUNTER_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "shed/internal/own_stripes.h"
#include "shed/request.h"

namespace shed::internal {

// One cache line per thread's stripe; the numbers only grow. With more threads than stripes, some
// share one, and lose speed, but no count.
template <class Sync>
class RefusalCounter {
 public:
  using Counts = std::array<std::uint64_t, kCriticalityCount>;

  void Add(Criticality criticality) noexcept {
    stripes_.Add([=](Classes& classes) -> Count& { return classes[IndexOf(criticality)]; });
  }

  Counts Sum() const noexcept {
    Counts sum{};
    stripes_.ForEach([&](const Classes& classes) {
      for (std::size_t i = 0; i < sum.size(); ++i) {
        sum[i] += classes[i].load(std::memory_order_relaxed);
      }
    });
    return sum;
  }

 private:
  using Count = typename Sync::template Atomic<std::uint64_t>;
  using Classes = std::array<Count, kCriticalityCount>;
  OwnStripes<Sync, Classes, 8, 8> stripes_;
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_REFUSAL_COUNTER_H_
