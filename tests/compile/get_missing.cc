// Get<P> where the limiter has no P.
//
// Rejected with: shed: this limiter has no policy of that type
#include "shed/limiter.h"

struct Slots {
  static constexpr std::string_view kName = "slots";
  shed::Verdict Admit(const shed::Request&, shed::TimePoint) noexcept {
    return shed::Verdict::Admit();
  }
};

using Other = shed::Named<"other", Slots>;
#ifdef SHED_REJECT
using Only = Other;
#else
using Only = Slots;
#endif

Slots& Find(shed::Limiter<Only>& limiter) { return limiter.Get<Slots>(); }
