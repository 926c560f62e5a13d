// A Charge without the time: it fits no form, and would silently never be called.
//
// Rejected with: shed: the policy's Charge has not the form `void Charge(Ticket&, std::uint64_t
// units, TimePoint now) noexcept`
#include "shed/limiter.h"

struct Slots {
  static constexpr std::string_view kName = "slots";
  struct Ticket {};
  shed::Verdict Admit(const shed::Request&, shed::TimePoint, Ticket&) noexcept {
    return shed::Verdict::Admit();
  }
  void Cancel(Ticket&, const shed::Verdict&, shed::TimePoint) noexcept {}
  void Complete(Ticket&, const shed::Completion&) noexcept {}
#ifdef SHED_REJECT
  void Charge(Ticket&, std::uint64_t) noexcept {}
#else
  void Charge(Ticket&, std::uint64_t, shed::TimePoint) noexcept {}
#endif
};

shed::Limiter<Slots> limiter(Slots{});
