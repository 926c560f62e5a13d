// A policy with a Ticket that lacks Cancel: what it admitted could never be undone.
//
// Rejected with: shed: a policy with a Ticket needs `void Cancel(Ticket&, const Verdict& cause,
// TimePoint now) noexcept`
#include "shed/limiter.h"

struct Slots {
  static constexpr std::string_view kName = "slots";
  struct Ticket {};
  shed::Verdict Admit(const shed::Request&, shed::TimePoint, Ticket&) noexcept {
    return shed::Verdict::Admit();
  }
#ifndef SHED_REJECT
  void Cancel(Ticket&, const shed::Verdict&, shed::TimePoint) noexcept {}
#endif
  void Complete(Ticket&, const shed::Completion&) noexcept {}
};

shed::Limiter<Slots> limiter(Slots{});
