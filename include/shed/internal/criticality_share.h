// How much of a limit each class of criticality may use.
#ifndef SHED_INTERNAL_CRITICALITY_SHARE_H_
#define SHED_INTERNAL_CRITICALITY_SHARE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shed/internal/validate.h"
#include "shed/request.h"

namespace shed::internal {

using UsableShares = std::array<double, kCriticalityCount>;
inline constexpr UsableShares kUsableAll = {1.0, 1.0, 1.0, 1.0};

// Returns "" if each share is in [0, 1] and none exceeds that of a more critical class, else a
// sentence about the field `usable`.
constexpr std::string_view UsableProblem(const UsableShares& usable) noexcept {
  for (std::size_t i = 0; i < usable.size(); ++i) {
    if (!InRange(usable[i], 0.0, 1.0)) return "usable: want each share in 0 to 1";
    if (i > 0 && usable[i] < usable[i - 1]) {
      return "usable: want no share above that of a more critical class";
    }
  }
  return usable.back() > 0.0 ? "" : "usable: want the share of kCriticalPlus above 0";
}

// The shares to the nearest millionth: 0.29 of 100 is 29 then, and not the 28 that floor() makes of
// 28.999999999999996. A share above 0 is at least one millionth, or it would shut its class out.
class CriticalityShare {
 public:
  constexpr explicit CriticalityShare(const UsableShares& usable) noexcept {
    for (std::size_t i = 0; i < usable.size(); ++i) {
      const auto nearest = static_cast<std::uint32_t>(usable[i] * kMillion + 0.5);
      millionths_[i] = nearest == 0 && usable[i] > 0.0 ? 1 : nearest;
    }
  }

  // Returns what a class may use of `limit` units: the share rounded down, but at least 1 where
  // the share is above zero and the limit is, so that a small limit shuts nobody out for good.
  constexpr std::uint32_t Usable(std::uint32_t limit, Criticality criticality) const noexcept {
    return UsableOf(limit, millionths_[IndexOf(criticality)]);
  }
  // The same, of a share in millionths.
  static constexpr std::uint32_t UsableOf(std::uint32_t limit, std::uint32_t millionths) noexcept {
    if (millionths == kMillion) return limit;
    const auto usable = static_cast<std::uint32_t>(std::uint64_t{limit} * millionths / kMillion);
    return usable == 0 && millionths > 0 && limit > 0 ? 1 : usable;
  }

  // The share of a class in [0, 1].
  constexpr double Share(Criticality criticality) const noexcept {
    return static_cast<double>(millionths_[IndexOf(criticality)]) / kMillion;
  }
  constexpr std::uint32_t millionths(std::size_t index) const noexcept {
    return millionths_[index];
  }

 private:
  static constexpr std::uint32_t kMillion = 1'000'000;
  std::array<std::uint32_t, kCriticalityCount> millionths_{};
};

// Shares that may change while calls look at them: a word per class, of which a call reads one.
template <class Sync>
class LiveCriticalityShare {
 public:
  LiveCriticalityShare() noexcept : LiveCriticalityShare(kUsableAll) {}
  explicit LiveCriticalityShare(const UsableShares& usable) noexcept { Set(usable); }

  // Relaxed, both: a share publishes nothing.
  void Set(const UsableShares& usable) noexcept {
    const CriticalityShare shares(usable);
    for (std::size_t i = 0; i < millionths_.size(); ++i) {
      millionths_[i].store(shares.millionths(i), std::memory_order_relaxed);
    }
  }
  std::uint32_t Usable(std::uint32_t limit, Criticality criticality) const noexcept {
    const std::uint32_t share = millionths_[IndexOf(criticality)].load(std::memory_order_relaxed);
    return CriticalityShare::UsableOf(limit, share);
  }

 private:
  std::array<typename Sync::template Atomic<std::uint32_t>, kCriticalityCount> millionths_{};
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_CRITICALITY_SHARE_H_
