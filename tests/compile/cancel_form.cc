// A Cancel without the time: it fits no form.
//
// Rejected with: shed: the policy's Cancel has not the form `void Cancel(Ticket&, const
// Verdict& cause, TimePoint now) noexcept` (a trailing Events& is optional; is it noexcept?)
#include "shed/limiter.h"

struct Slots {
  static constexpr std::string_view kName = "slots";
  struct Ticket {};
  shed::Verdict Admit(const shed::Request&, shed::TimePoint, Ticket&) noexcept {
    return shed::Verdict::Admit();
  }
#ifdef SHED_REJECT
  void Cancel(Ticket&, const shed::Verdict&) noexcept {}
#else
  void Cancel(Ticket&, const shed::Verdict&, shed::TimePoint) noexcept {}
#endif
  void Complete(Ticket&, const shed::Completion&) noexcept {}
};

shed::Limiter<Slots> limiter(Slots{});
