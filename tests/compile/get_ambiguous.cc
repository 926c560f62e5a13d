// Get<P> where P occurs twice: the two have one name, which the limiter refuses first.
//
// Rejected with: shed: two policies of this limiter have the same name; give one of them another
#include "shed/limiter.h"

struct Slots {
  static constexpr std::string_view kName = "slots";
  shed::Verdict Admit(const shed::Request&, shed::TimePoint) noexcept {
    return shed::Verdict::Admit();
  }
};

using Other = shed::Named<"other", Slots>;
#ifdef SHED_REJECT
using Second = Slots;
#else
using Second = Other;
#endif

Slots& Find(shed::Limiter<Slots, Second>& limiter) { return limiter.Get<Slots>(); }
