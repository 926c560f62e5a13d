// A policy with a Ticket that lacks Complete: what it admitted would never end.
//
// Rejected with: shed: a policy with a Ticket needs `void Complete(Ticket&, const Completion&)
// noexcept` or `void Complete(Ticket&, Outcome) noexcept`, which ends an admission
#include "shed/limiter.h"

struct Slots {
  static constexpr std::string_view kName = "slots";
  struct Ticket {};
  shed::Verdict Admit(const shed::Request&, shed::TimePoint, Ticket&) noexcept {
    return shed::Verdict::Admit();
  }
  void Cancel(Ticket&, const shed::Verdict&, shed::TimePoint) noexcept {}
#ifndef SHED_REJECT
  void Complete(Ticket&, const shed::Completion&) noexcept {}
#endif
};

shed::Limiter<Slots> limiter(Slots{});
