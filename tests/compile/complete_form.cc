// A Complete that takes the outcome as a number: it fits no form.
//
// Rejected with: shed: the policy's Complete has not the form `void Complete(Ticket&, const
// Completion&) noexcept` or `void Complete(Ticket&, Outcome) noexcept`
#include "shed/limiter.h"

struct Slots {
  static constexpr std::string_view kName = "slots";
  struct Ticket {};
  shed::Verdict Admit(const shed::Request&, shed::TimePoint, Ticket&) noexcept {
    return shed::Verdict::Admit();
  }
  void Cancel(Ticket&, const shed::Verdict&, shed::TimePoint) noexcept {}
#ifdef SHED_REJECT
  void Complete(Ticket&, int) noexcept {}
#else
  void Complete(Ticket&, const shed::Completion&) noexcept {}
#endif
};

shed::Limiter<Slots> limiter(Slots{});
