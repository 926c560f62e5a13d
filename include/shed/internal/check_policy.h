// Says in one sentence what a policy lacks. (A constrained pack explains nothing on GCC 12.)
#ifndef SHED_INTERNAL_CHECK_POLICY_H_
#define SHED_INTERNAL_CHECK_POLICY_H_

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "shed/policy.h"
#include "shed/sync.h"

namespace shed::internal {

inline constexpr std::size_t kMaxHotBytes = 16;

// kOk is true, or the class does not compile. P is named in the compiler's context lines. `Sync` is
// that of the limiter that holds the policy.
template <class P, class Sync = StdSync>
struct CheckPolicy {
  static_assert(HasName<P>,
                "shed: a policy needs `static constexpr std::string_view kName`, its name in "
                "rejections and snapshots");
  static_assert(CanAdmit<P>,
                "shed: a policy needs `Verdict Admit(const Request&, TimePoint now, Ticket&) "
                "noexcept` (without Ticket& if it has no Ticket; a trailing Events& is optional)");
  static_assert(TicketType<TicketOf<P>>,
                "shed: a policy's Ticket must be default-constructible and movable, noexcept");
  static_assert(CanCancel<P> || NamesCancel<P> || !HasTicket<P>,
                "shed: a policy with a Ticket needs `void Cancel(Ticket&, const Verdict& cause, "
                "TimePoint now) noexcept`, which undoes an admission that a later policy refused");
  static_assert(
      CanCancel<P> || !NamesCancel<P>,
      "shed: the policy's Cancel has not the form `void Cancel(Ticket&, const Verdict& "
      "cause, TimePoint now) noexcept` (a trailing Events& is optional; is it noexcept?)");
  static_assert(CanComplete<P> || NamesComplete<P> || !HasTicket<P>,
                "shed: a policy with a Ticket needs `void Complete(Ticket&, const Completion&) "
                "noexcept` or `void Complete(Ticket&, Outcome) noexcept`, which ends an admission");
  static_assert(CanComplete<P> || !NamesComplete<P>,
                "shed: the policy's Complete has not the form `void Complete(Ticket&, const "
                "Completion&) noexcept` or `void Complete(Ticket&, Outcome) noexcept` (a trailing "
                "Events& is optional; is it noexcept?)");
  static_assert(
      CanCharge<P> || !NamesCharge<P>,
      "shed: the policy's Charge has not the form `void Charge(Ticket&, std::uint64_t "
      "units, TimePoint now) noexcept` (a trailing Events& is optional; is it noexcept?)");
  static_assert(CanConfigure<P> || !NamesConfigure<P>,
                "shed: the policy's Configure has not the form `std::string_view Configure(const "
                "Options&, TimePoint now)`");
  static_assert(CanRead<P> || !NamesRead<P>,
                "shed: the policy's Read has not the form `Snapshot Read(TimePoint now) const "
                "noexcept`, with P::Snapshot its result");

  static consteval bool OptionsAreValidated() {
    if constexpr (HasOptions<P>) return ValidatedOptions<typename P::Options>;
    return true;
  }
  static_assert(OptionsAreValidated(),
                "shed: a policy's Options must be a copyable aggregate with `constexpr "
                "std::string_view Problem() const`, \"\" or a sentence that names the bad field");

  static_assert(HasOptions<P> || std::copy_constructible<P>,
                "shed: a policy without Options is copied into the limiter; one that cannot be "
                "copied needs Options, and is built as P(const Options&)");

  // The size matters where real threads share the line: the atomics of another Sync, such as one
  // that tests interleavings, may be larger.
  static consteval bool HotFits() {
    if constexpr (HasHot<P>) {
      return HasOptions<P> &&
             (!std::is_base_of_v<StdSync, Sync> || (sizeof(typename P::Hot) <= kMaxHotBytes &&
                                                    alignof(typename P::Hot) <= kMaxHotBytes));
    }
    return true;
  }
  static_assert(
      HotFits(),
      "shed: a policy's Hot must be at most 16 bytes, and the policy needs Options: it is "
      "built as P(const Options&, Hot&)");

  static constexpr bool kOk = true;
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_CHECK_POLICY_H_
