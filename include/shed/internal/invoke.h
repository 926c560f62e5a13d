// Calls a policy's members in whichever form it has them. A member that it does not have is
// skipped, and costs nothing.
#ifndef SHED_INTERNAL_INVOKE_H_
#define SHED_INTERNAL_INVOKE_H_

#include <cstdint>

#include "shed/policy.h"

namespace shed::internal {

template <class P>
Verdict Admit(P& policy, const Request& request, TimePoint now, TicketOf<P>& ticket,
              Events& events) noexcept {
  if constexpr (AdmitsWithEvents<P>) {
    return policy.Admit(request, now, ticket, events);
  } else if constexpr (AdmitsWithoutEvents<P>) {
    return policy.Admit(request, now, ticket);
  } else if constexpr (AdmitsWithoutTicketWithEvents<P>) {
    return policy.Admit(request, now, events);
  } else {
    return policy.Admit(request, now);
  }
}

template <class P>
void Cancel(P& policy, TicketOf<P>& ticket, const Verdict& cause, TimePoint now,
            Events& events) noexcept {
  if constexpr (CancelsWithEvents<P>) {
    policy.Cancel(ticket, cause, now, events);
  } else if constexpr (CancelsWithoutEvents<P>) {
    policy.Cancel(ticket, cause, now);
  }
}

template <class P>
void Complete(P& policy, TicketOf<P>& ticket, const Completion& completion,
              Events& events) noexcept {
  if constexpr (CompletesTimedWithEvents<P>) {
    policy.Complete(ticket, completion, events);
  } else if constexpr (CompletesTimedWithoutEvents<P>) {
    policy.Complete(ticket, completion);
  } else if constexpr (CompletesUntimedWithEvents<P>) {
    policy.Complete(ticket, completion.outcome, events);
  } else if constexpr (CompletesUntimedWithoutEvents<P>) {
    policy.Complete(ticket, completion.outcome);
  }
}

template <class P>
void Charge(P& policy, TicketOf<P>& ticket, std::uint64_t units, TimePoint now,
            Events& events) noexcept {
  if constexpr (ChargesWithEvents<P>) {
    policy.Charge(ticket, units, now, events);
  } else if constexpr (ChargesWithoutEvents<P>) {
    policy.Charge(ticket, units, now);
  }
}

}  // namespace shed::internal

#endif  // SHED_INTERNAL_INVOKE_H_
