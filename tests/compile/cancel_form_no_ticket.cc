// A Cancel that fits no form, on a policy that needs none: it would silently never be called.
//
// Rejected with: shed: the policy's Cancel has not the form `void Cancel(Ticket&, const
// Verdict& cause, TimePoint now) noexcept` (a trailing Events& is optional; is it noexcept?)
#include "shed/limiter.h"

struct Slots {
  static constexpr std::string_view kName = "slots";
  shed::Verdict Admit(const shed::Request&, shed::TimePoint) noexcept {
    return shed::Verdict::Admit();
  }
#ifdef SHED_REJECT
  void Cancel(int) noexcept {}
#else
  void Undo(int) noexcept {}
#endif
};

shed::Limiter<Slots> limiter(Slots{});
