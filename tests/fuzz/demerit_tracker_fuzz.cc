// DemeritTracker beside a plain scan of all callers.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "fuzz/bytes.h"
#include "fuzz/target.h"
#include "property/demerit_twin.h"
#include "shed/demerit_tracker.h"

namespace shed::fuzz {
namespace {

Sighting unfair("a caller refused above its share");
Sighting full("a caller refused because the budget is in use");
Sighting hinted("a hog told when to come back");
Sighting hogs("a caller that becomes a hog");
Sighting shared("a caller without an entry of its own that holds units");
Sighting blamed("a call that a later policy refused for want of capacity");

DemeritTrackerOptions SomeOptions(Bytes& bytes) {
  static constexpr double kNumbers[] = {1, 0.3, 3, 0.000001, 0.25, 0.37, 2.5, 1'000'000};
  constexpr std::int64_t kYear = Duration(std::chrono::hours(24 * 366)).count();
  DemeritTrackerOptions options;
  options.budget = 1 + bytes.AnyScale(bytes.Below(4) == 0 ? 1'000'000'000 - 1 : 30);
  if (bytes.Flag()) options.window = Duration(1 + bytes.AnyScale(kYear - 1));
  options.demerit_per_denial = bytes.Of(kNumbers);
  options.decay_per_second = bytes.Of(kNumbers);
  if (bytes.Flag()) options.max_penalty = Duration(1 + bytes.AnyScale(kYear - 1));
  options.hog_threshold = bytes.Of(kNumbers);
  options.demerit_per_denial = std::min(
      options.demerit_per_denial, options.hog_threshold + static_cast<double>(options.budget));
  options.max_callers = 1 + bytes.AnyScale(15);
  options.blame_victims = bytes.Flag();
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
    while (twin_.held() > 0) twin_.Complete(0, false);
    twin_.Compare(SomeCaller(), TimePoint(Duration(clock_)));
    MustAgree(twin_.difference());
    hogs.SeenIf(twin_.oracle().hogs() != 0);
  }

 private:
  void Step() {
    const std::uint64_t what = bytes_.Below(16);
    if (what < 4) MoveClock();
    const TimePoint now = SomeNow();
    if (what < 10 || (what < 14 && twin_.held() == 0)) {
      const std::string name = SomeCaller();
      const auto cost = static_cast<std::uint64_t>(bytes_.AnyScale(options_.budget + 1));
      const Verdict verdict = twin_.Ask(name, what == 9 ? ~cost : cost, now);
      unfair.SeenIf(verdict.reason() == Reason::kFairShare);
      full.SeenIf(verdict.reason() == Reason::kBudget);
      hinted.SeenIf(verdict.retry_after() > Duration(0));
      shared.SeenIf(twin_.oracle().shared().held > 0);
    } else if (what < 12) {
      twin_.Complete(Some(), bytes_.Flag());
    } else if (what < 14) {
      static constexpr Verdict kCauses[] = {
          Verdict::Refuse(Reason::kConcurrency), Verdict::Refuse(Reason::kRate, Duration(5)),
          Verdict::Refuse(Reason::kCircuitOpen),
          Verdict::Refuse(Reason::kRate, Duration(5), Scope::kCaller)};
      const std::size_t i = Some();
      const Verdict& cause = bytes_.Of(kCauses);
      blamed.SeenIf(cause.IsCapacity());
      twin_.Cancel(i, cause, now);
    } else {
      // Now, or what will be if nothing happens.
      const std::int64_t ahead = what == 14 ? 0 : SomeStep();
      twin_.Compare(SomeCaller(), TimePoint(Duration(SaturatingAdd(clock_, ahead))));
    }
  }
  std::int64_t SomeStep() {
    const auto decayed_in = [this](double demerit) {
      return static_cast<std::int64_t>(std::min(demerit / options_.decay_per_second, 1e9) * 1e9);
    };
    // To where a window, a penalty or a unit of demerit ends, or a nanosecond off it.
    const std::int64_t around[] = {options_.window.count(), options_.max_penalty.count(),
                                   decayed_in(1), decayed_in(options_.hog_threshold)};
    return bytes_.Flag() ? bytes_.Of(around) + bytes_.Between(-1, 1)
                         : bytes_.AnyScale(std::numeric_limits<std::int64_t>::max() / 4);
  }
  void MoveClock() { clock_ = SaturatingAdd(clock_, std::max<std::int64_t>(SomeStep(), 0)); }
  TimePoint SomeNow() {
    const std::int64_t lag =
        bytes_.Below(8) == 0 ? bytes_.AnyScale(std::numeric_limits<std::int64_t>::max()) : 0;
    return TimePoint(Duration(SaturatingAdd(clock_, -lag)));
  }
  // The first is nobody's name.
  std::string SomeCaller() { return std::string(static_cast<std::size_t>(bytes_.Below(8)), 'x'); }
  std::size_t Some() { return static_cast<std::size_t>(bytes_.Below(twin_.held())); }

  Bytes& bytes_;
  const DemeritTrackerOptions options_;
  DemeritTwin twin_;
  std::int64_t clock_ = 0;
};

}  // namespace
}  // namespace shed::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  shed::fuzz::Bytes bytes(data, size);
  shed::fuzz::Run(bytes).All();
  return 0;
}
