// A Hot larger than 16 bytes would push the words of the other policies off the shared cache
// line.
//
// Rejected with: shed: a policy's Hot must be at most 16 bytes
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
  struct Hot {
#ifdef SHED_REJECT
    std::uint64_t words[3] = {};
#else
    std::uint64_t words[2] = {};
#endif
  };
  Slots(const Options&, Hot&) {}
};

shed::Limiter<Slots> limiter({.slots = 2});
