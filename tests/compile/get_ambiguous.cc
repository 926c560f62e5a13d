// Get<P> where the limiter has two of them.
//
// Rejected with: TODO-GET
#include "shed/limiter.h"

struct Slots {
  static constexpr std::string_view kName = "slots";
  shed::Verdict Admit(const shed::Request&, shed::TimePoint) noexcept {
    return shed::Verdict::Admit();
  }
};

using First = shed::Named<"first", Slots>;
using Second = shed::Named<"second", Slots>;
TODO
