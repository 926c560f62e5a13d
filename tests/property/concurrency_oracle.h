// The rule of ConcurrencyLimiter in plain numbers: the units of every call, added up each time.
#ifndef SHED_TESTS_PROPERTY_CONCURRENCY_ORACLE_H_
#define SHED_TESTS_PROPERTY_CONCURRENCY_ORACLE_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>

#include "shed/concurrency_limiter.h"

namespace shed {

class ConcurrencyOracle {
 public:
  explicit ConcurrencyOracle(const ConcurrencyLimiterOptions& options) : o_(options) {}

  // Returns the units to hold, or 0 to refuse. What it admits is held as `call`.
  std::int64_t Admit(int call, std::uint64_t cost, std::size_t criticality) {
    const std::int64_t usable = Usable(criticality);
    const std::int64_t units = cost > static_cast<std::uint64_t>(usable)
                                   ? usable
                                   : std::max<std::int64_t>(static_cast<std::int64_t>(cost), 1);
    if (usable == 0 || InFlight() + units > usable) return 0;
    held_[call] = units;
    return units;
  }
  void End(int call) { held_.erase(call); }
  void SetLimit(std::int64_t limit) {
    if (limit >= 1 && limit <= ConcurrencyLimiterOptions::kMaxLimit) o_.limit = limit;
  }

  std::int64_t limit() const { return o_.limit; }
  std::int64_t InFlight() const {
    std::int64_t sum = 0;
    for (const auto& [call, units] : held_) sum += units;
    return sum;
  }

 private:
  // Shares are to the nearest millionth, and none but 0 is nothing.
  std::int64_t Usable(std::size_t criticality) const {
    const double share = o_.usable[criticality];
    if (share == 0) return 0;
    const std::int64_t millionths = std::max<std::int64_t>(std::llround(share * 1e6), 1);
    return std::max<std::int64_t>(o_.limit * millionths / 1'000'000, 1);
  }

  ConcurrencyLimiterOptions o_;
  std::map<int, std::int64_t> held_;
};

}  // namespace shed

#endif  // SHED_TESTS_PROPERTY_CONCURRENCY_ORACLE_H_
