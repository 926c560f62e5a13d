// A Read that is not const: it fits no form, and no snapshot would show it.
//
// Rejected with: shed: the policy's Read has not the form `Snapshot Read(TimePoint now) const
// noexcept`, with P::Snapshot its result
#include "shed/limiter.h"

struct Slots {
  static constexpr std::string_view kName = "slots";
  shed::Verdict Admit(const shed::Request&, shed::TimePoint) noexcept {
    return shed::Verdict::Admit();
  }
  struct Snapshot {};
#ifdef SHED_REJECT
  Snapshot Read(shed::TimePoint) noexcept { return {}; }
#else
  Snapshot Read(shed::TimePoint) const noexcept { return {}; }
#endif
};

shed::Limiter<Slots> limiter(Slots{});
