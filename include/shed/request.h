// What is known of a call before its work is done.
#ifndef SHED_REQUEST_H_
#define SHED_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shed/time.h"

namespace shed {

// How much a call matters; the less critical are shed first (the four classes of the Google SRE
// book). Ordered: a greater value matters more.
enum class Criticality : std::uint8_t {
  kSheddable,      // Partial outages are expected; batch work.
  kSheddablePlus,  // Some delay or loss is acceptable.
  kCritical,       // The default: a user sees it when it is missing.
  kCriticalPlus,   // The last to be shed.
};
inline constexpr std::size_t kCriticalityCount = 4;

// Returns the place of `criticality` in a table of kCriticalityCount. A value cast from outside
// the four counts as the least critical, so that a caller who lies gains nothing.
constexpr std::size_t IndexOf(Criticality criticality) noexcept {
  const auto index = static_cast<std::size_t>(criticality);
  return index < kCriticalityCount ? index : 0;
}

// Returns the class in words for logs and metric labels: "sheddable", "critical_plus". A value cast
// from outside the four gets the name of the least critical.
constexpr std::string_view Name(Criticality criticality) noexcept {
  constexpr std::string_view kNames[kCriticalityCount] = {"sheddable", "sheddable_plus", "critical",
                                                          "critical_plus"};
  return kNames[IndexOf(criticality)];
}

// One call that asks to be admitted. Every field has a default; name only what you know:
// `limiter.TryAdmit({.caller = user, .cost = 2})`.
struct Request {
  // Who asks, and for what. Read during TryAdmit only, never kept as text; any length and any
  // bytes, empty included (all callers without a name are one caller).
  std::string_view caller{};
  std::string_view route{};
  // How much work it is, in units of your choice. Zero counts as 1: no call is free.
  std::uint64_t cost = 1;
  Criticality criticality = Criticality::kCritical;
  // True if the client tries this call again after a failure.
  bool retry = false;
  // True for calls that must always pass (health checks): no policy sees them.
  bool exempt = false;
  // How long the call has waited before it got here. Negative counts as zero.
  Duration queued_for{0};
  // How long the client will still wait for the answer. The default is for ever.
  Duration time_left = Duration::max();
  // The longest wait this call accepts before it starts (see AdmissionGuard::wait). Zero: admit
  // now or refuse. Negative counts as zero.
  Duration max_wait{0};
  // Free for your own policies and selectors.
  std::uint64_t tag = 0;
};

}  // namespace shed

#endif  // SHED_REQUEST_H_
