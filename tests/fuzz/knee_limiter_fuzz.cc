// KneeLimiter: the limit stays where it may be, whatever the traffic and the clock do.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "fuzz/bytes.h"
#include "fuzz/limit_run.h"
#include "fuzz/target.h"
#include "shed/knee_limiter.h"

namespace shed::fuzz {
namespace {

Sighting refused("a call that is refused");
Sighting overload("a service found overloaded");
Sighting calm("a service found calm again");
Sighting dipped("a limit lowered for a dip");
Sighting measured("a knee that is measured");
Sighting capped("a cap by overload outcomes");

KneeOptions SomeOptions(Bytes& bytes) {
  KneeOptions options;
  SomeLimits(bytes, options);
  options.headroom = 1 + bytes.AnyScale(bytes.Flag() ? 10 : 100'000 - 1);
  constexpr std::int64_t kShortest = 100'000'000;
  options.dip_interval = Duration(kShortest + bytes.AnyScale(3'600'000'000'000 - kShortest));
  options.dip_jitter = static_cast<double>(bytes.Below(10)) / 10;
  return options;
}

void Run(Bytes& bytes) {
  const KneeOptions options = SomeOptions(bytes);
  MustAgree(std::string(options.Problem()));
  LimitRun<KneeLimiter> run(bytes, options);
  using Snapshot = KneeLimiter::Snapshot;
  run.All([&](Differences& differences, const Snapshot& before, const Snapshot& after) {
    const auto low = static_cast<double>(options.min_limit);
    const auto high = static_cast<double>(options.max_limit);
    differences.True("wanted in limits", after.wanted >= low && after.wanted <= high);
    differences.True("cap >= min_limit", after.cap >= low);
    differences.True("knee is a number", after.knee >= 0 && std::isfinite(after.knee));
    differences.True("throughput is a number",
                     after.throughput >= 0 && std::isfinite(after.throughput));
    differences.True("reference latency >= 0", after.reference_latency >= Duration(0));
    differences.True("dips only grow", after.dips >= before.dips && after.dips <= before.dips + 1);
    const bool dip = after.mode == KneeMode::kDrain || after.mode == KneeMode::kMeasure;
    if (dip) {
      differences.True("a dip is below what is wanted", after.limit < after.wanted);
    } else {
      differences.Same(
          "limit", after.limit,
          static_cast<std::uint32_t>(std::clamp(std::min(after.wanted, after.cap), low, high)));
    }
    overload.SeenIf(before.mode == KneeMode::kCalm && after.mode == KneeMode::kFull);
    calm.SeenIf(before.mode == KneeMode::kFull && after.mode == KneeMode::kCalm);
    dipped.SeenIf(before.mode == KneeMode::kFull && dip);
    measured.SeenIf(after.dips > before.dips);
    capped.SeenIf(after.cap < after.wanted);
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
