// GradientLimiter: the limit stays where it may be, whatever the latencies and the clock do.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "fuzz/bytes.h"
#include "fuzz/limit_run.h"
#include "fuzz/target.h"
#include "shed/gradient_limiter.h"

namespace shed::fuzz {
namespace {

Sighting refused("a call that is refused");
Sighting probed("a limit pinned for a probe");
Sighting measured("a baseline that is measured");
Sighting live("a baseline measured from live traffic");
Sighting shrank("a limit that shrinks");
Sighting grew("a limit that grows");

GradientOptions SomeOptions(Bytes& bytes) {
  static constexpr double kPercentiles[] = {0.75, 0.5, 0.99, 1, 0.000001};
  static constexpr double kBuffers[] = {0.5, 0, 0.25, 100};
  static constexpr double kShrinks[] = {0.1, 0, 0.9};
  constexpr Duration kHour = std::chrono::hours(1);
  const auto up_to = [&](Duration low, Duration high) {
    return low + Duration(bytes.AnyScale((high - low).count()));
  };
  GradientOptions options;
  SomeLimits(bytes, options);
  options.percentile = bytes.Of(kPercentiles);
  options.buffer = bytes.Of(kBuffers);
  options.interval = up_to(std::chrono::microseconds(1), kHour);
  options.min_samples = 1 + bytes.AnyScale(bytes.Below(4) == 0 ? 1'000'000 - 1 : 10);
  options.app_limited_guard = bytes.Flag();
  options.baseline = static_cast<GradientBaseline>(bytes.Below(3));
  options.max_baseline = up_to(std::chrono::microseconds(1), kHour);
  if (options.baseline == GradientBaseline::kFixed) {
    options.fixed_baseline = up_to(std::chrono::microseconds(1), options.max_baseline);
  }
  options.probe_limit = 1 + bytes.AnyScale(options.max_limit - 1);
  options.probe_samples = 1 + bytes.AnyScale(bytes.Below(4) == 0 ? 1'000'000 - 1 : 10);
  options.probe_interval = up_to(options.interval, std::chrono::hours(366 * 24));
  options.probe_jitter = static_cast<double>(bytes.Below(5)) / 4;
  options.probe_timeout = up_to(std::chrono::milliseconds(1), kHour);
  options.stuck_windows = bytes.AnyScale(6);
  options.overload_shrink = bytes.Of(kShrinks);
  return options;
}

void Run(Bytes& bytes) {
  const GradientOptions options = SomeOptions(bytes);
  MustAgree(std::string(options.Problem()));
  LimitRun<GradientLimiter> run(bytes, options);
  using Snapshot = GradientLimiter::Snapshot;
  run.All([&](Differences& differences, const Snapshot& before, const Snapshot& after) {
    differences.True("wanted >= min_limit", after.wanted >= options.min_limit);
    differences.True("wanted <= max_limit", after.wanted <= options.max_limit);
    const bool pinned = after.mode == GradientMode::kProbe;
    differences.Same(
        "limit", after.limit,
        pinned ? std::min<std::int64_t>(after.wanted, options.probe_limit) : after.wanted);
    differences.True("gradient in [0.5, 2]", after.gradient >= 0.5 && after.gradient <= 2);
    differences.True("baseline >= 0", after.baseline >= Duration(0));
    differences.True("baseline <= max_baseline", after.baseline <= options.max_baseline);
    differences.True("sample >= 0", after.sample >= Duration(0));
    // Outside measurements a step is a gradient and a root, or a share taken off.
    if (before.mode == GradientMode::kFollow && after.mode == GradientMode::kFollow) {
      const double steepest = 2.0 * before.wanted + std::sqrt(2.0 * before.wanted);
      differences.True("no step up is steeper than the rule",
                       after.wanted <= steepest || after.wanted <= options.min_limit);
    }
    if (options.baseline == GradientBaseline::kFixed) {
      differences.Same("mode", after.mode, GradientMode::kFollow);
      differences.Same("baseline", after.baseline, options.fixed_baseline);
    }
    probed.SeenIf(pinned && after.limit < after.wanted);
    measured.SeenIf(after.measured > before.measured);
    live.SeenIf(after.mode == GradientMode::kLive && after.measured > 0);
    shrank.SeenIf(after.wanted < before.wanted);
    grew.SeenIf(after.wanted > before.wanted);
  });
  refused.SeenIf(run.refused() > 0);
}

}  // namespace
}  // namespace shed::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  shed::fuzz::Bytes bytes(data, size);
  shed::fuzz::Run(bytes);
  return 0;
}
