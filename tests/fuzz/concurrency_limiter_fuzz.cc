// ConcurrencyLimiter beside the sum of what every call holds.
#include <cstddef>
#include <cstdint>

#include "fuzz/bytes.h"
#include "fuzz/target.h"
#include "property/concurrency_twin.h"
#include "shed/concurrency_limiter.h"

namespace shed::fuzz {
namespace {

Sighting refused("a call that is refused");
Sighting lowered("a limit below what is in flight");
Sighting clamped("a call that costs more than its class may use");

ConcurrencyLimiterOptions SomeOptions(Bytes& bytes) {
  ConcurrencyLimiterOptions options;
  options.limit = 1 + bytes.AnyScale(ConcurrencyLimiterOptions::kMaxLimit - 1);
  // In millionths, from 0, each at least the one before.
  std::int64_t share = 0;
  for (double& usable : options.usable) {
    share += bytes.AnyScale(1'000'000 - share);
    usable = static_cast<double>(share) / 1e6;
  }
  if (share == 0) options.usable.back() = 1e-9;  // Something, if less than is told apart.
  return options;
}

void Run(Bytes& bytes) {
  const ConcurrencyLimiterOptions options = SomeOptions(bytes);
  ConcurrencyTwin twin(options);
  while (!bytes.empty()) {
    const std::uint64_t what = bytes.Below(8);
    if (what < 4 || (what < 7 && twin.held() == 0)) {
      const auto cost = static_cast<std::uint64_t>(bytes.AnyScale(twin.limit() + 1));
      const auto criticality = static_cast<std::size_t>(bytes.Below(kCriticalityCount));
      const std::uint64_t before = twin.in_flight();
      const bool admitted = twin.Ask(what == 0 ? ~cost : cost, criticality).admitted();
      refused.SeenIf(!admitted);
      clamped.SeenIf(admitted && what == 0 && before == 0);
    } else if (what < 7) {
      const auto i = static_cast<std::size_t>(bytes.Below(twin.held()));
      what == 4 ? twin.Cancel(i, bytes.Flag()) : twin.Complete(i, bytes.Flag());
    } else {
      // One more than allowed, and none, are refused.
      twin.SetLimit(bytes.AnyScale(ConcurrencyLimiterOptions::kMaxLimit + 1));
      lowered.SeenIf(twin.in_flight() > static_cast<std::uint64_t>(twin.limit()));
    }
    MustAgree(twin.difference());
  }
}

}  // namespace
}  // namespace shed::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  shed::fuzz::Bytes bytes(data, size);
  shed::fuzz::Run(bytes);
  return 0;
}
