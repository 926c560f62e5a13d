// The enforcement of adaptive limits beside a plain account, with plans of all kinds.
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "fuzz/bytes.h"
#include "fuzz/target.h"
#include "property/limit_account.h"
#include "shed/adaptive_limiter.h"

namespace shed::fuzz {
namespace {

Sighting many("three windows and more");
Sighting lowered("a limit below what is in flight");
Sighting drained("a plan that waits until few are in flight");
Sighting overdue("a plan with a latest end");

class Run {
 public:
  explicit Run(Bytes& bytes)
      : bytes_(bytes),
        account_(TimePoint(Duration(bytes.AnyScale(kLongest) - bytes.AnyScale(kLongest))),
                 [this](TimePoint now) { return SomePlan(now); }) {}

  void All() {
    while (!bytes_.empty()) {
      const std::uint64_t what = bytes_.Below(16);
      if (what < 3 && left_ > 0) {
        const std::int64_t step = bytes_.AnyScale(left_);
        left_ -= step;
        account_.Pass(Duration(step));
      }
      if (what < 8 || account_.held() == 0) {
        account_.Ask(static_cast<Criticality>(bytes_.Below(kCriticalityCount)));
      } else {
        const auto i = static_cast<std::size_t>(bytes_.Below(account_.held()));
        if (what == 8) {
          account_.Cancel(i);
        } else {
          account_.Complete(i, what < 11 ? Outcome::kOverload : Outcome::kSuccess);
        }
      }
      lowered.SeenIf(account_.held() > account_.limit());
      MustAgree(account_.difference());
    }
    many.SeenIf(account_.windows() >= 3);
  }

 private:
  // Some 36 years either way.
  static constexpr std::int64_t kLongest = std::int64_t{1} << 60;

  LimitPlan SomePlan(TimePoint now) {
    LimitPlan plan;
    plan.limit = static_cast<std::uint32_t>(1 + bytes_.AnyScale((1 << 20) - 2));
    plan.not_before = bytes_.Flag() ? TimePoint::min() : After(now, SomeSpan());
    plan.completions = bytes_.Below(4) == 0
                           ? LimitPlan::kNever
                           : static_cast<std::uint32_t>(bytes_.AnyScale((1 << 22) - 1));
    if (bytes_.Below(4) == 0) {
      plan.drained = static_cast<std::uint32_t>(bytes_.AnyScale((1 << 20) - 1));
      drained.SeenIf(true);
    }
    if (bytes_.Below(4) == 0) {
      plan.at_latest = After(now, SomeSpan());
      overdue.SeenIf(true);
    }
    return plan;
  }
  Duration SomeSpan() { return Duration(bytes_.AnyScale(kLongest)); }

  Bytes& bytes_;
  LimitAccount account_;
  std::int64_t left_ = 4 * kLongest;  // So that the timeline does not end.
};

}  // namespace
}  // namespace shed::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  shed::fuzz::Bytes bytes(data, size);
  shed::fuzz::Run(bytes).All();
  return 0;
}
