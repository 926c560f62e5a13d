// A policy that lacks kName.
//
// Rejected with: shed: a policy needs `static constexpr std::string_view kName`, its name in
// rejections and snapshots
#include "shed/limiter.h"

struct Slots {
  shed::Verdict Admit(const shed::Request&, shed::TimePoint) noexcept {
    return shed::Verdict::Admit();
  }
#ifndef SHED_REJECT
  static constexpr std::string_view kName = "slots";
#endif
};

shed::Limiter<Slots> limiter(Slots{});
