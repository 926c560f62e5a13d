// A Configure without the time: it fits no form, and could not be called through the limiter.
//
// Rejected with: shed: the policy's Configure has not the form `std::string_view
// Configure(const Options&, TimePoint now)`
#include "shed/limiter.h"

struct SlotsOptions {
  int slots = 4;
  constexpr std::string_view Problem() const { return {}; }
};

struct Slots {
  static constexpr std::string_view kName = "slots";
  shed::Verdict Admit(const shed::Request&, shed::TimePoint) noexcept {
    return shed::Verdict::Admit();
  }
  using Options = SlotsOptions;
  explicit Slots(const Options&) {}
#ifdef SHED_REJECT
  std::string_view Configure(const Options&) { return {}; }
#else
  std::string_view Configure(const Options&, shed::TimePoint) { return {}; }
#endif
};

shed::Limiter<Slots> limiter({.slots = 2});
