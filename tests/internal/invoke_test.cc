#include "shed/internal/invoke.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace shed::internal {
namespace {

// Each form of each member, and none: the right one is called, once, with what belongs to it.
std::string called;

struct Named {
  static constexpr std::string_view kName = "forms";
};
struct Bare : Named {
  Verdict Admit(const Request&, TimePoint) noexcept {
    called += "admit";
    return Verdict::Admit();
  }
};
struct BareEvents : Named {
  Verdict Admit(const Request&, TimePoint, Events& events) noexcept {
    called += "admit+events";
    events.Push({});
    return Verdict::Admit();
  }
};
struct Ticketed : Named {
  struct Ticket {
    int id = 0;
  };
  Verdict Admit(const Request& request, TimePoint now, Ticket& ticket) noexcept {
    called += "admit+ticket";
    ticket.id = static_cast<int>(request.cost);
    EXPECT_EQ(now, TimePoint(Duration(3)));
    return Verdict::Refuse(Reason::kUsage);
  }
  void Cancel(Ticket& ticket, const Verdict& cause, TimePoint) noexcept {
    called += "cancel " + std::to_string(ticket.id) + " " + std::string(Name(cause.reason()));
  }
  void Complete(Ticket& ticket, Outcome outcome) noexcept {
    called += "complete " + std::to_string(ticket.id) + " " + std::string(shed::Name(outcome));
  }
  void Charge(Ticket& ticket, std::uint64_t units, TimePoint) noexcept {
    called += "charge " + std::to_string(ticket.id) + " " + std::to_string(units);
  }
};
struct Full : Named {
  using Ticket = Ticketed::Ticket;
  Verdict Admit(const Request&, TimePoint, Ticket&, Events& events) noexcept {
    called += "admit+ticket+events";
    events.Push({});
    return Verdict::Admit();
  }
  void Cancel(Ticket&, const Verdict&, TimePoint, Events&) noexcept { called += "cancel+events"; }
  void Complete(Ticket&, const Completion& completion, Events&) noexcept {
    called += "complete+events " + std::to_string(completion.latency().count());
  }
  void Charge(Ticket&, std::uint64_t, TimePoint, Events&) noexcept { called += "charge+events"; }
};
struct UntimedEvents : Ticketed {
  void Complete(Ticket&, Outcome, Events&) noexcept { called += "complete+outcome+events"; }
};
struct Timed : Ticketed {
  void Complete(Ticket&, const Completion&) noexcept { called += "complete+times"; }
};
// The fuller form wins, and only one of them is called.
struct Both : Timed {
  using Timed::Complete;
  void Complete(Ticket&, Outcome) noexcept { called += "complete+outcome"; }
  void Complete(Ticket&, const Completion&, Events&) noexcept { called += "complete+all"; }
};

template <class P>
std::string AdmitForm() {
  P policy;
  TicketOf<P> ticket{};
  Events events;
  called.clear();
  internal::Admit(policy, Request{.cost = 7}, TimePoint(Duration(3)), ticket, events);
  return called;
}
template <class P>
std::string CompleteForm() {
  P policy;
  TicketOf<P> ticket{};
  Events events;
  called.clear();
  internal::Complete(policy, ticket,
                     Completion{.started = TimePoint(Duration(1)),
                                .now = TimePoint(Duration(6)),
                                .outcome = Outcome::kOverload},
                     events);
  return called;
}
template <class P>
std::string OtherForms() {
  P policy;
  TicketOf<P> ticket{};
  Events events;
  called.clear();
  internal::Cancel(policy, ticket, Verdict::Refuse(Reason::kRate), TimePoint(), events);
  called += ";";
  internal::Charge(policy, ticket, 5, TimePoint(), events);
  return called;
}

static_assert(Named::kName == "forms");  // Clang warns of what nobody reads.

TEST(Invoke, Admit) {
  EXPECT_EQ(AdmitForm<Bare>(), "admit");
  EXPECT_EQ(AdmitForm<BareEvents>(), "admit+events");
  EXPECT_EQ(AdmitForm<Ticketed>(), "admit+ticket");
  EXPECT_EQ(AdmitForm<Full>(), "admit+ticket+events");

  Ticketed policy;
  Ticketed::Ticket ticket;
  Events events;
  EXPECT_EQ(internal::Admit(policy, {.cost = 7}, TimePoint(Duration(3)), ticket, events),
            Verdict::Refuse(Reason::kUsage));
  EXPECT_EQ(ticket.id, 7);
  EXPECT_TRUE(events.empty());
}

TEST(Invoke, Complete) {
  EXPECT_EQ(CompleteForm<Bare>(), "");
  EXPECT_EQ(CompleteForm<Ticketed>(), "complete 0 overload");
  EXPECT_EQ(CompleteForm<Timed>(), "complete+times");
  EXPECT_EQ(CompleteForm<UntimedEvents>(), "complete+outcome+events");
  EXPECT_EQ(CompleteForm<Full>(), "complete+events 5");
  EXPECT_EQ(CompleteForm<Both>(), "complete+all");
}

TEST(Invoke, CancelAndCharge) {
  EXPECT_EQ(OtherForms<Bare>(), ";");
  EXPECT_EQ(OtherForms<Ticketed>(), "cancel 0 rate;charge 0 5");
  EXPECT_EQ(OtherForms<Full>(), "cancel+events;charge+events");
}

}  // namespace
}  // namespace shed::internal
