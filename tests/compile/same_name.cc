// Two policies of one name in a limiter could not be told apart in rejections and snapshots.
//
// Rejected with: shed: two policies of this limiter have the same name; give one of them another
#include "shed/limiter.h"

struct Slots {
  static constexpr std::string_view kName = "slots";
  shed::Verdict Admit(const shed::Request&, shed::TimePoint) noexcept {
    return shed::Verdict::Admit();
  }
};

struct OtherSlots : Slots {
#ifndef SHED_REJECT
  static constexpr std::string_view kName = "other_slots";
#endif
};

shed::Limiter<Slots, OtherSlots> limiter(Slots{}, OtherSlots{});
