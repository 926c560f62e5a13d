// What a policy is: the concepts, nothing else.
//
// A policy decides whether a call may run, and learns from how it ended. It is a class with
//
//   static constexpr std::string_view kName    its name in rejections and snapshots
//   Verdict Admit(const Request&, TimePoint now, Ticket&) noexcept
//
// and, as far as it needs them,
//
//   Options      an aggregate with defaults and `constexpr std::string_view Problem() const`; the
//                policy is then built as P(const Options&). One without is given to the limiter
//                itself, which copies it
//   Hot          a struct of the words that every call changes, at most 16 bytes; the policy is
//                built as P(const Options&, Hot&) then, and the limiter lays the Hots of all its
//                policies side by side in one cache line
//   Ticket       what one admission must remember; value-initialised before Admit. A policy without
//                one has no Ticket& in its Admit
//   void Cancel(Ticket&, const Verdict& cause, TimePoint now) noexcept
//                the call was admitted here and refused by a later policy: undo it exactly
//   void Complete(Ticket&, const Completion&) noexcept, or
//   void Complete(Ticket&, Outcome) noexcept, where no time is needed
//                the work ended. Each Ticket gets either Cancel or Complete, once
//   Snapshot Read(TimePoint now) const noexcept
//                its state in one consistent struct
//   void Charge(Ticket&, std::uint64_t units, TimePoint now) noexcept
//                the actual cost, known after Admit and before Complete
//   std::string_view Configure(const Options&, TimePoint now)
//                new options at run time: "" or the sentence that says what is wrong with them
//   static constexpr bool kHolds = true
//                it holds calls in flight, so that a call must not sleep after it was admitted here
//
// Admit, Cancel, Complete and Charge may take a trailing `Events&` to report what they changed. All
// of them are called from any thread at once, and must not throw, allocate or wait.
// A member of one of these names that fits none of these forms does not compile in a Limiter:
// nothing that looks like a hook is silently left out.
#ifndef SHED_POLICY_H_
#define SHED_POLICY_H_

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "shed/events.h"
#include "shed/outcome.h"
#include "shed/request.h"
#include "shed/time.h"
#include "shed/verdict.h"

namespace shed {

// The ticket of a policy that has none.
struct NoTicket {};

template <class P>
concept HasTicket = requires {
  typename P::Ticket;
};
template <class P>
concept HasOptions = requires {
  typename P::Options;
};
template <class P>
concept HasHot = requires {
  typename P::Hot;
};
template <class P>
concept Holds = requires {
  requires bool(P::kHolds);
};

namespace internal {

template <class P>
struct TicketOfImpl {
  using type = NoTicket;
};
template <HasTicket P>
struct TicketOfImpl<P> {
  using type = typename P::Ticket;
};

// Finds a member by its name, whatever its form: `&Mixed::Name` is ambiguous where P has one too.
template <class P>
concept Inheritable = std::is_class_v<P> && !std::is_final_v<P>;
#define SHED_INTERNAL_NAMED(Name)                                                             \
  struct Has##Name {                                                                          \
    int Name;                                                                                 \
  };                                                                                          \
  template <class P>                                                                          \
  struct With##Name : P, Has##Name {};                                                        \
  template <class P>                                                                          \
  concept Names##Name = (Inheritable<P> && !requires { &With##Name<P>::Name; }) || requires { \
    &P::Name;                                                                                 \
  };
SHED_INTERNAL_NAMED(Cancel)
SHED_INTERNAL_NAMED(Complete)
SHED_INTERNAL_NAMED(Charge)
SHED_INTERNAL_NAMED(Configure)
SHED_INTERNAL_NAMED(Read)
#undef SHED_INTERNAL_NAMED

}  // namespace internal

// P::Ticket, or NoTicket.
template <class P>
using TicketOf = typename internal::TicketOfImpl<P>::type;

template <class P>
concept HasName = requires {
  { P::kName } -> std::convertible_to<std::string_view>;
};

// The forms of each member. The `...With(out)Events` twins differ in the trailing Events& alone.

template <class P>
concept AdmitsWithEvents = requires(P& p, const Request& request, TimePoint now,
                                    TicketOf<P>& ticket, Events& events) {
  { p.Admit(request, now, ticket, events) }
  noexcept->std::same_as<Verdict>;
};
template <class P>
concept AdmitsWithoutEvents = requires(P& p, const Request& request, TimePoint now,
                                       TicketOf<P>& ticket) {
  { p.Admit(request, now, ticket) }
  noexcept->std::same_as<Verdict>;
};
template <class P>
concept AdmitsWithoutTicketWithEvents =
    !HasTicket<P> && requires(P & p, const Request& request, TimePoint now, Events& events) {
  { p.Admit(request, now, events) }
  noexcept->std::same_as<Verdict>;
};
template <class P>
concept AdmitsWithoutTicketOrEvents =
    !HasTicket<P> && requires(P & p, const Request& request, TimePoint now) {
  { p.Admit(request, now) }
  noexcept->std::same_as<Verdict>;
};
template <class P>
concept CanAdmit = AdmitsWithEvents<P> || AdmitsWithoutEvents<P> ||
    AdmitsWithoutTicketWithEvents<P> || AdmitsWithoutTicketOrEvents<P>;

template <class P>
concept CancelsWithEvents = requires(P& p, TicketOf<P>& ticket, const Verdict& cause, TimePoint now,
                                     Events& events) {
  { p.Cancel(ticket, cause, now, events) }
  noexcept->std::same_as<void>;
};
template <class P>
concept CancelsWithoutEvents = requires(P& p, TicketOf<P>& ticket, const Verdict& cause,
                                        TimePoint now) {
  { p.Cancel(ticket, cause, now) }
  noexcept->std::same_as<void>;
};
template <class P>
concept CanCancel = CancelsWithEvents<P> || CancelsWithoutEvents<P>;

template <class P>
concept CompletesTimedWithEvents = requires(P& p, TicketOf<P>& ticket, const Completion& completion,
                                            Events& events) {
  { p.Complete(ticket, completion, events) }
  noexcept->std::same_as<void>;
};
template <class P>
concept CompletesTimedWithoutEvents = requires(P& p, TicketOf<P>& ticket,
                                               const Completion& completion) {
  { p.Complete(ticket, completion) }
  noexcept->std::same_as<void>;
};
template <class P>
concept CompletesUntimedWithEvents = requires(P& p, TicketOf<P>& ticket, Outcome outcome,
                                              Events& events) {
  { p.Complete(ticket, outcome, events) }
  noexcept->std::same_as<void>;
};
template <class P>
concept CompletesUntimedWithoutEvents = requires(P& p, TicketOf<P>& ticket, Outcome outcome) {
  { p.Complete(ticket, outcome) }
  noexcept->std::same_as<void>;
};
// It needs the times of a call, and so a clock reading at its end.
template <class P>
concept CompletesTimed = CompletesTimedWithEvents<P> || CompletesTimedWithoutEvents<P>;
template <class P>
concept CanComplete =
    CompletesTimed<P> || CompletesUntimedWithEvents<P> || CompletesUntimedWithoutEvents<P>;

template <class P>
concept ChargesWithEvents = requires(P& p, TicketOf<P>& ticket, std::uint64_t units, TimePoint now,
                                     Events& events) {
  { p.Charge(ticket, units, now, events) }
  noexcept->std::same_as<void>;
};
template <class P>
concept ChargesWithoutEvents = requires(P& p, TicketOf<P>& ticket, std::uint64_t units,
                                        TimePoint now) {
  { p.Charge(ticket, units, now) }
  noexcept->std::same_as<void>;
};
template <class P>
concept CanCharge = ChargesWithEvents<P> || ChargesWithoutEvents<P>;

template <class P>
concept CanRead = requires(const P& p, TimePoint now) {
  typename P::Snapshot;
  { p.Read(now) }
  noexcept->std::same_as<typename P::Snapshot>;
};

template <class P>
concept CanConfigure = HasOptions<P> &&
    requires(P& p, const typename P::Options& options, TimePoint now) {
  { p.Configure(options, now) } -> std::same_as<std::string_view>;
};

// An Options aggregate says what is wrong with it in a sentence, "" if nothing is.
template <class O>
concept ValidatedOptions = std::is_aggregate_v<O> && std::copy_constructible<O> &&
    requires(const O& options) {
  { options.Problem() } -> std::same_as<std::string_view>;
};

// A ticket lives in the guard, and moves with it.
template <class T>
concept TicketType = std::is_nothrow_default_constructible_v<T> &&
    std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>;

// Everything that a Limiter asks of a policy. Limiter says which part is missing, in a sentence;
// see internal/check_policy.h.
template <class P>
concept Policy = HasName<P> && CanAdmit<P> && TicketType<TicketOf<P>> &&
                 (CanCancel<P> || (!HasTicket<P> && !internal::NamesCancel<P>)) &&
                 (CanComplete<P> || (!HasTicket<P> && !internal::NamesComplete<P>)) &&
                 (CanCharge<P> || !internal::NamesCharge<P>)&&(
                     CanConfigure<P> || !internal::NamesConfigure<P>)&&(CanRead<P> ||
                                                                        !internal::NamesRead<P>);

}  // namespace shed

#endif  // SHED_POLICY_H_
