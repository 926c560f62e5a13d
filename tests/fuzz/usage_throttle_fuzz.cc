// UsageThrottle beside its rule written plainly.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "fuzz/bytes.h"
#include "fuzz/target.h"
#include "property/usage_twin.h"
#include "shed/usage_throttle.h"

namespace shed::fuzz {
namespace {

Sighting delayed("a call that must wait");
Sighting refused("a call that does not accept its delay, or finds no place");
Sighting blocked("a caller above hard");
Sighting shared("a caller without an entry of its own with a call in flight");
Sighting huge("a charge of more than can be counted");
Sighting full("as many waiting as may");

constexpr std::int64_t kMost = 1'000'000'000'000;

UsageThrottleOptions SomeOptions(Bytes& bytes) {
  constexpr std::int64_t kYear = Duration(std::chrono::hours(24 * 366)).count();
  constexpr std::int64_t kDay = Duration(std::chrono::hours(24)).count();
  UsageThrottleOptions options;
  options.soft = 1 + bytes.AnyScale(bytes.Below(4) == 0 ? kMost - 1 : 30);
  options.hard = options.soft + bytes.AnyScale(std::min<std::int64_t>(kMost - options.soft, 60));
  if (bytes.Flag()) options.window = Duration(1000 + bytes.AnyScale(kYear - 1000));
  if (bytes.Flag()) options.longest_wait = Duration(1000 + bytes.AnyScale(kDay - 1000));
  options.max_delayed = bytes.AnyScale(8);
  options.max_callers = 1 + bytes.AnyScale(7);
  options.seed = bytes.Below(4);
  return options;
}

class Run {
 public:
  explicit Run(Bytes& bytes) : bytes_(bytes), options_(SomeOptions(bytes)), twin_(options_) {
    constexpr std::int64_t kHalf = std::numeric_limits<std::int64_t>::max() / 2;
    clock_ = bytes.Between(-kHalf, kHalf);
  }

  void All() {
    Drive(bytes_, twin_, [this] { Step(); });
    while (twin_.held() > 0) twin_.Complete(0, true);
    twin_.Compare(SomeCaller(), TimePoint(Duration(clock_)));
    MustAgree(twin_.difference());
  }

 private:
  void Step() {
    const std::uint64_t what = bytes_.Below(16);
    if (what < 4) clock_ = SaturatingAdd(clock_, std::max<std::int64_t>(SomeStep(), 0));
    const TimePoint now = SomeNow();
    if (what < 8 || (what < 14 && twin_.held() == 0)) {
      const Verdict verdict = twin_.Ask(SomeCaller(), SomeUnits(), SomeWait(), now);
      delayed.SeenIf(verdict.wait() > Duration(0));
      refused.SeenIf(!verdict.admitted());
      shared.SeenIf(twin_.oracle().shared().in_flight > 0);
      blocked.SeenIf(std::any_of(twin_.oracle().callers().begin(), twin_.oracle().callers().end(),
                                 [](const UsageOracle::Caller& c) { return c.stage == 2; }));
      full.SeenIf(options_.max_delayed > 0 &&
                  twin_.oracle().waiting(now) == static_cast<std::size_t>(options_.max_delayed));
    } else if (what < 10) {
      twin_.Complete(Some(), bytes_.Flag());
    } else if (what < 12) {
      const std::uint64_t units = what == 10 ? SomeUnits() : ~SomeUnits();
      huge.SeenIf(units > std::uint64_t{1} << 62);
      twin_.Charge(Some(), units, now);
    } else if (what < 14) {
      twin_.Cancel(Some(), now);
    } else if (what == 14) {
      twin_.Configure(std::min(options_.soft + bytes_.AnyScale(60), kMost),
                      Duration(1000 + bytes_.AnyScale(1'000'000'000'000)),
                      bytes_.AnyScale(options_.max_delayed));
    } else {
      // Now, or what will be if nothing happens.
      const std::int64_t ahead = bytes_.Flag() ? 0 : SomeStep();
      twin_.Compare(SomeCaller(), TimePoint(Duration(SaturatingAdd(clock_, ahead))));
    }
  }
  std::int64_t SomeStep() {
    // To where a window, a wait or a unit ends, or a nanosecond off it.
    const std::int64_t around[] = {options_.window.count(), options_.longest_wait.count(),
                                   options_.window.count() / options_.soft};
    return bytes_.Flag() ? bytes_.Of(around) + bytes_.Between(-1, 1)
                         : bytes_.AnyScale(std::numeric_limits<std::int64_t>::max() / 4);
  }
  TimePoint SomeNow() {
    const std::int64_t lag =
        bytes_.Below(8) == 0 ? bytes_.AnyScale(std::numeric_limits<std::int64_t>::max()) : 0;
    return TimePoint(Duration(SaturatingAdd(clock_, -lag)));
  }
  std::uint64_t SomeUnits() {
    return static_cast<std::uint64_t>(bytes_.AnyScale(options_.soft + 2));
  }
  Duration SomeWait() {
    return bytes_.Flag() ? Duration::max()
                         : Duration(bytes_.AnyScale(options_.longest_wait.count()));
  }
  // The first is nobody's name.
  std::string SomeCaller() { return std::string(static_cast<std::size_t>(bytes_.Below(10)), 'x'); }
  std::size_t Some() { return static_cast<std::size_t>(bytes_.Below(twin_.held())); }

  Bytes& bytes_;
  const UsageThrottleOptions options_;
  UsageTwin twin_;
  std::int64_t clock_ = 0;
};

}  // namespace
}  // namespace shed::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  shed::fuzz::Bytes bytes(data, size);
  shed::fuzz::Run(bytes).All();
  return 0;
}
