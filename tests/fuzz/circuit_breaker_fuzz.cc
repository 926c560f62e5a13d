// CircuitBreaker beside an oracle that keeps every call.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "fuzz/bytes.h"
#include "fuzz/target.h"
#include "property/breaker_twin.h"
#include "shed/circuit_breaker.h"

namespace shed::fuzz {
namespace {

Sighting opened("a breaker that opens");
Sighting probing("a call refused because all probes are out");
Sighting closed("a breaker that probes close");
Sighting recovering("a call refused in the ramp");
Sighting forced("a breaker forced open");

CircuitBreakerOptions SomeOptions(Bytes& bytes) {
  static constexpr double kRatios[] = {0.5, 1e-4, 0.07, 0.3, 1.0 / 3, 0.75, 1};
  constexpr std::int64_t kYear = Duration(std::chrono::hours(24 * 366)).count();
  constexpr std::int64_t kDay = Duration(std::chrono::hours(24)).count();
  CircuitBreakerOptions options;
  options.consecutive_failures = bytes.AnyScale(30);
  options.window = Duration(1000 + bytes.AnyScale(kDay - 1000));
  options.count_window = bytes.Flag() ? 0 : bytes.AnyScale(4096);
  options.min_calls = 1 + bytes.AnyScale(options.count_window == 0 ? 30 : options.count_window - 1);
  options.failure_ratio = bytes.Of(kRatios);
  options.slow_call = Duration(bytes.Flag() ? 0 : bytes.AnyScale(kDay));
  options.slow_ratio = bytes.Of(kRatios);
  options.open_for = Duration(1 + bytes.AnyScale(kYear - 1));
  if (bytes.Flag()) {
    options.max_open_for =
        options.open_for + Duration(bytes.AnyScale(kYear - options.open_for.count()));
  }
  options.probes = 1 + bytes.AnyScale(bytes.Flag() ? 3 : 999);
  options.probe_timeout = Duration(1 + bytes.AnyScale(kYear - 1));
  options.ramp = Duration(bytes.Flag() ? 0 : bytes.AnyScale(kYear));
  options.seed = bytes.Below(4);
  return options;
}

class Run {
 public:
  explicit Run(Bytes& bytes) : bytes_(bytes), options_(SomeOptions(bytes)), twin_(options_) {
    clock_ = bytes.Between(-kFarthest, kFarthest);
  }

  void All() {
    Drive(bytes_, twin_, [this] { Step(); });
    opened.SeenIf(twin_.opened() != 0);
    closed.SeenIf(twin_.closed_by_probes() != 0);
  }

 private:
  // Some 36 years; what lies farther is jumped to in steps.
  static constexpr std::int64_t kFarthest = std::int64_t{1} << 60;

  void Step() {
    const std::uint64_t what = bytes_.Below(32);
    if (what >= 16 && what < 22) MoveClock();
    const TimePoint now = SomeNow();
    if (what < 12 || (twin_.held() == 0 && what < 28)) {
      const Verdict verdict = twin_.Ask(now);
      probing.SeenIf(verdict.reason() == Reason::kProbing);
      recovering.SeenIf(verdict.reason() == Reason::kRecovering);
    } else if (what < 28) {
      const auto i = static_cast<std::size_t>(bytes_.Below(twin_.held()));
      if (what == 27) return bytes_.Flag() ? twin_.Forget(i) : twin_.Cancel(i, now);
      twin_.Complete(i, now, what < 16 ? Outcome::kFailure : static_cast<Outcome>(bytes_.Below(4)));
    } else if (what < 30) {
      twin_.Read(now);
    } else {
      Force(now);
    }
  }
  void MoveClock() {
    const std::int64_t around[] = {options_.window.count() / 10, options_.window.count(),
                                   options_.open_for.count(),    options_.probe_timeout.count(),
                                   options_.ramp.count(),        options_.slow_call.count()};
    const std::int64_t step =
        bytes_.Flag() ? bytes_.Of(around) + bytes_.Between(-1, 1) : bytes_.AnyScale(kFarthest);
    clock_ = std::min(clock_ + std::max<std::int64_t>(step, 0), kFarthest);
  }
  TimePoint SomeNow() {
    const std::int64_t lag = bytes_.Below(8) == 0 ? bytes_.AnyScale(kFarthest) : 0;
    return TimePoint(Duration(clock_ - lag));
  }
  void Force(TimePoint now) {
    switch (bytes_.Below(4)) {
      case 0:
        forced.SeenIf(true);
        return twin_.ForceOpen(now);
      case 1:
        return twin_.ForceClosed(now);
      default:
        return twin_.Reset(now);
    }
  }

  Bytes& bytes_;
  const CircuitBreakerOptions options_;
  BreakerTwin twin_;
  std::int64_t clock_ = 0;
};

}  // namespace
}  // namespace shed::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  shed::fuzz::Bytes bytes(data, size);
  shed::fuzz::Run(bytes).All();
  return 0;
}
