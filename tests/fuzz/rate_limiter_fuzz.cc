// RateLimiter beside its exact oracle.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "fuzz/bytes.h"
#include "fuzz/target.h"
#include "property/rate_oracle.h"
#include "property/rate_twin.h"
#include "shed/rate_limiter.h"

namespace shed::fuzz {
namespace {

Sighting waited("a call that is admitted after a wait");
Sighting refused("a call that is refused");
Sighting too_large("a call that costs more than the burst");
Sighting given_back("a call that is cancelled");
Sighting charged("a call that is charged more than it had paid");
Sighting epochs("a clock that runs through more than sixteen epochs");
Sighting lagged("a reading that lags by more than is exact");

RateLimiterOptions SomeOptions(Bytes& bytes) {
  static constexpr Duration kPers[] = {Duration(1),
                                       std::chrono::milliseconds(1),
                                       std::chrono::seconds(1),
                                       std::chrono::seconds(13),
                                       std::chrono::hours(24),
                                       std::chrono::hours(24 * 366)};
  RateLimiterOptions options;
  options.rate = 1 + bytes.AnyScale(2'000'000'000 - 1);
  options.per =
      bytes.Flag() ? bytes.Of(kPers) : Duration(1 + bytes.AnyScale(Duration(kPers[5]).count() - 1));
  options.burst = 1 + bytes.AnyScale(RateBounds(options).most_burst - 1);
  return options;
}

class Run {
 public:
  explicit Run(Bytes& bytes)
      : bytes_(bytes),
        options_(SomeOptions(bytes)),
        check_(bytes.Flag() ? RateCheck::kSafe : RateCheck::kExact),
        twin_(options_, check_),
        latest_(bytes.Between(kEarliest, kLatest)) {}

  void All() {
    Drive(bytes_, twin_, [this] { Step(); });
    epochs.SeenIf(epochs_ > 16);
  }

 private:
  // From here on, a lag of the longest exact time and a jump of 100 years fit the timeline.
  static constexpr std::int64_t kEarliest =
      std::numeric_limits<std::int64_t>::min() + (std::int64_t{1} << 57);
  static constexpr std::int64_t kLatest = std::int64_t{1} << 62;
  static constexpr std::int64_t kLongestJump = std::int64_t{1} << 61;

  void Step() {
    const std::uint64_t what = bytes_.Below(8);
    if (what < 2) MoveClock();
    const std::int64_t now = SomeNow();
    if (what < 5 || twin_.held() == 0) {
      Ask(now);
    } else if (what == 5) {
      EndOne(now);
    } else if (check_ == RateCheck::kExact) {
      what == 6 ? Charge(now) : twin_.Read(now);
    }
  }
  void MoveClock() {
    std::int64_t step = 0;
    switch (bytes_.Below(4)) {
      case 0:  // Exactly when the last refused call is due, or a nanosecond before.
        if (due_ > latest_) step = due_ - latest_ - bytes_.Between(0, 1);
        break;
      case 1:
        step = bytes_.AnyScale(16 * twin_.bounds().longest_lag);
        break;
      default:
        step = bytes_.AnyScale(3 * (options_.per.count() / options_.rate + 1));
    }
    // Near the end of the timeline it stands.
    if (latest_ < kLatest) latest_ += std::min(step, kLongestJump);
  }
  std::int64_t SomeNow() {
    if (bytes_.Below(4) != 0) return latest_;
    const std::int64_t exact = twin_.bounds().longest_lag;
    if (check_ == RateCheck::kExact) return latest_ - bytes_.AnyScale(exact);
    const std::int64_t lag = bytes_.AnyScale(std::numeric_limits<std::int64_t>::max());
    lagged.SeenIf(lag > exact);
    return SaturatingAdd(latest_, -lag);
  }

  void Ask(std::int64_t now) {
    std::uint64_t cost = 1;
    switch (bytes_.Below(4)) {
      case 0:
        cost = static_cast<std::uint64_t>(bytes_.AnyScale(options_.burst));
        break;
      case 1:
        cost = static_cast<std::uint64_t>(options_.burst) + bytes_.Below(2);
        break;
      case 2:
        if (bytes_.Below(8) == 0) cost = ~bytes_.Below(1000);
        break;
      default:
        break;
    }
    const std::int64_t max_wait = check_ == RateCheck::kExact && bytes_.Below(4) == 0
                                      ? bytes_.AnyScale(twin_.bounds().longest_wait)
                                      : -bytes_.Between(0, 1);
    const Verdict verdict = twin_.Ask(now, cost, max_wait);
    if (RateOracle::Wide{now} - epoch_ > 4 * RateOracle::Wide{twin_.bounds().longest_lag}) {
      epoch_ = now;
      ++epochs_;
    }
    waited.SeenIf(verdict.wait() > Duration(0));
    too_large.SeenIf(verdict.reason() == Reason::kCostTooLarge);
    refused.SeenIf(verdict.reason() == Reason::kRate);
    if (verdict.retry_after()) due_ = SaturatingAdd(now, verdict.retry_after()->count());
  }
  void EndOne(std::int64_t now) {
    const std::size_t i = Some();
    if (bytes_.Below(4) == 0) return twin_.Complete(i);
    given_back.SeenIf(true);
    twin_.Cancel(i, now);
  }
  void Charge(std::int64_t now) {
    const std::size_t i = Some();
    const std::int64_t paid = twin_.units(i);
    twin_.Charge(i, bytes_.AnyScale(2 * paid), now);
    charged.SeenIf(twin_.units(i) > paid);
  }
  std::size_t Some() { return static_cast<std::size_t>(bytes_.Below(twin_.held())); }

  Bytes& bytes_;
  const RateLimiterOptions options_;
  const RateCheck check_;
  RateTwin<RateLimiter> twin_;
  std::int64_t latest_;
  std::int64_t epoch_ = kEarliest;  // About where the present one begins.
  int epochs_ = 0;
  std::int64_t due_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace
}  // namespace shed::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  shed::fuzz::Bytes bytes(data, size);
  shed::fuzz::Run(bytes).All();
  return 0;
}
