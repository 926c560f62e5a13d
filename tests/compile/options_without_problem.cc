// Options that cannot say what is wrong with them.
//
// Rejected with: shed: a policy's Options must be a copyable aggregate with `constexpr
// std::string_view Problem() const`
#include "shed/limiter.h"

struct SlotsOptions {
  int slots = 4;
#ifndef SHED_REJECT
  constexpr std::string_view Problem() const { return {}; }
#endif
};

struct Slots {
  static constexpr std::string_view kName = "slots";
  shed::Verdict Admit(const shed::Request&, shed::TimePoint) noexcept {
    return shed::Verdict::Admit();
  }
  using Options = SlotsOptions;
  explicit Slots(const Options&) {}
};

shed::Limiter<Slots> limiter({.slots = 2});
