// AdmissionController beside an oracle that keeps every call.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "fuzz/bytes.h"
#include "fuzz/target.h"
#include "property/admission_twin.h"
#include "shed/admission_controller.h"

namespace shed::fuzz {
namespace {

Sighting refused("a call that is refused");
Sighting certain("a class that is refused whole");
Sighting calm("calls that fail, too few to count");
Sighting cancelled("a call that is cancelled");

AdmissionControllerOptions SomeOptions(Bytes& bytes) {
  static constexpr double kThresholds[] = {0.95, 0.01, 0.5, 0.6, 1};
  static constexpr double kAggressions[] = {1, 0.1, 0.5, 2, 10};
  static constexpr double kRejections[] = {0.8, 0.01, 0.3, 1};
  AdmissionControllerOptions options;
  options.window = Duration(1000 + bytes.AnyScale(Duration(std::chrono::hours(24)).count() - 1000));
  options.threshold = bytes.Of(kThresholds);
  options.aggression = bytes.Of(kAggressions);
  options.max_rejection = bytes.Of(kRejections);
  // In eighths, which binary numbers hold: the oracle rounds otherwise than the policy.
  options.min_rps = static_cast<double>(bytes.AnyScale(8'000'000'000)) / 8;
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
  }

 private:
  static constexpr std::int64_t kFarthest = std::int64_t{1} << 61;

  void Step() {
    const std::uint64_t what = bytes_.Below(16);
    if (what < 3) MoveClock();
    const std::int64_t lag =
        bytes_.Below(8) == 0 ? bytes_.AnyScale(2 * options_.window.count()) : 0;
    const TimePoint now{Duration(clock_ - lag)};
    if (what < 8 || (what < 14 && twin_.held() == 0)) {
      const auto k = static_cast<std::size_t>(bytes_.Below(kCriticalityCount));
      refused.SeenIf(!twin_.Ask(now, k).admitted());
    } else if (what < 14) {
      const auto i = static_cast<std::size_t>(bytes_.Below(twin_.held()));
      if (what == 13) {
        cancelled.SeenIf(true);
        return twin_.Cancel(i, now);
      }
      const Outcome outcome = what < 11 ? Outcome::kFailure : static_cast<Outcome>(bytes_.Below(4));
      twin_.Complete(i, now, outcome);
    } else {
      twin_.Read(now);
      const auto said = twin_.controller().Read(now);
      certain.SeenIf(said.class_probability[0] == 1);
      calm.SeenIf(said.probability == 0 && said.calls > 2 && said.successes == 0);
    }
  }
  void MoveClock() {
    const std::int64_t slice = options_.window.count() / 10;
    const std::int64_t step =
        bytes_.Flag() ? bytes_.AnyScale(2 * slice) : bytes_.AnyScale(kFarthest);
    clock_ = std::min(clock_ + step, kFarthest);
  }

  Bytes& bytes_;
  const AdmissionControllerOptions options_;
  AdmissionTwin twin_;
  std::int64_t clock_ = 0;
};

}  // namespace
}  // namespace shed::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  shed::fuzz::Bytes bytes(data, size);
  shed::fuzz::Run(bytes).All();
  return 0;
}
