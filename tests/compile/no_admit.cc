// A policy that lacks Admit.
//
// Rejected with: shed: a policy needs `Verdict Admit(const Request&, TimePoint now, Ticket&)
// noexcept`
#include "shed/limiter.h"

struct Slots {
  static constexpr std::string_view kName = "slots";
#ifndef SHED_REJECT
  shed::Verdict Admit(const shed::Request&, shed::TimePoint) noexcept {
    return shed::Verdict::Admit();
  }
#endif
};

shed::Limiter<Slots> limiter(Slots{});
