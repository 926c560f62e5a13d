#include "shed/policy.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string_view>

#include "shed/internal/check_policy.h"

namespace shed {
namespace {

// What a member's form does to the concepts. What a Limiter then says of it: tests/compile.

struct Least {
  static constexpr std::string_view kName = "least";
  Verdict Admit(const Request&, TimePoint) noexcept { return Verdict::Admit(); }
};
static_assert(Policy<Least> && internal::CheckPolicy<Least>::kOk);
static_assert(!HasTicket<Least> && !HasOptions<Least> && !HasHot<Least> && !Holds<Least>);
static_assert(!CanCancel<Least> && !CanComplete<Least> && !CanCharge<Least> && !CanRead<Least>);
static_assert(std::is_same_v<TicketOf<Least>, NoTicket>);

struct NoName {
  Verdict Admit(const Request&, TimePoint) noexcept { return Verdict::Admit(); }
};
static_assert(!Policy<NoName>);

struct MayThrow {
  static constexpr std::string_view kName = "may_throw";
  Verdict Admit(const Request&, TimePoint) { return Verdict::Admit(); }
};
static_assert(!Policy<MayThrow>);

// A `bool Admit` would convert to nothing sensible.
struct SaysBool {
  static constexpr std::string_view kName = "says_bool";
  bool Admit(const Request&, TimePoint) noexcept { return true; }
};
static_assert(!Policy<SaysBool>);

// With a Ticket, Admit must take it, and both ends must be there.
template <bool kTakes, bool kCancels, bool kCompletes>
struct Ticketed {
  static constexpr std::string_view kName = "ticketed";
  struct Ticket {};
  Verdict Admit(const Request&, TimePoint) noexcept requires(!kTakes) { return Verdict::Admit(); }
  Verdict Admit(const Request&, TimePoint, Ticket&) noexcept requires(kTakes) {
    return Verdict::Admit();
  }
};
template <>
struct Ticketed<true, true, false> : Ticketed<true, false, false> {
  void Cancel(Ticket&, const Verdict&, TimePoint) noexcept {}
};
template <>
struct Ticketed<true, false, true> : Ticketed<true, false, false> {
  void Complete(Ticket&, Outcome) noexcept {}
};
template <>
struct Ticketed<true, true, true> : Ticketed<true, true, false> {
  void Complete(Ticket&, Outcome) noexcept {}
};
static_assert(Policy<Ticketed<true, true, true>>);
static_assert(!Policy<Ticketed<false, false, false>> && !Policy<Ticketed<true, false, false>>);
static_assert(!Policy<Ticketed<true, true, false>> && !Policy<Ticketed<true, false, true>>);

// A hook with a typing error in its form must not be taken for no hook: through inheritance,
// overloads, templates, `final` and private access too.
struct WrongForm : Least {
  void Complete(const Completion&) noexcept {}
};
struct WrongFormBelow : WrongForm {};
struct WrongOverloads : Least {
  void Cancel(int) noexcept {}
  void Cancel(int, int) noexcept {}
};
struct WrongTemplate : Least {
  template <class T>
  void Charge(T) noexcept {}
};
struct WrongFinal final : Least {
  void Read() noexcept {}
};
class WrongPrivate : public Least {
  void Complete(NoTicket&, Outcome) noexcept {}
};
struct WrongConst : Least {
  struct Snapshot {};
  Snapshot Read(TimePoint) noexcept { return {}; }
};
static_assert(internal::NamesComplete<WrongForm> && !Policy<WrongForm>);
static_assert(internal::NamesComplete<WrongFormBelow> && !Policy<WrongFormBelow>);
static_assert(internal::NamesCancel<WrongOverloads> && !Policy<WrongOverloads>);
static_assert(internal::NamesCharge<WrongTemplate> && !Policy<WrongTemplate>);
static_assert(internal::NamesRead<WrongFinal> && !Policy<WrongFinal>);
static_assert(internal::NamesComplete<WrongPrivate> && !Policy<WrongPrivate>);
static_assert(internal::NamesRead<WrongConst> && !Policy<WrongConst>);

// What is not wrong: an overload beside the right one, a final class, virtual functions, an
// abstract base, members of other names.
struct Overloaded : Ticketed<true, false, true> {
  void Cancel(Ticket&, const Verdict&, TimePoint) noexcept {}
  void Cancel(int) noexcept {}
};
struct Final final : Ticketed<true, true, true> {};
struct Virtual : Least {
  virtual ~Virtual() = default;
  virtual void Complete(NoTicket&, Outcome) noexcept {}
};
struct Abstract : Virtual {
  void Complete(NoTicket&, Outcome) noexcept override = 0;
};
static_assert(Policy<Overloaded> && Policy<Final> && Policy<Virtual> && Policy<Abstract>);
static_assert(!internal::NamesCharge<Final> && !internal::NamesCharge<Virtual>);

// A policy may have both ends; the one with times decides whether a clock is read.
struct BothCompletes : Ticketed<true, true, false> {
  void Complete(Ticket&, Outcome) noexcept {}
  void Complete(Ticket&, const Completion&) noexcept {}
};
static_assert(Policy<BothCompletes> && CompletesTimed<BothCompletes>);
static_assert(!CompletesTimed<Ticketed<true, true, true>>);

// A ticket lives in the guard, and moves with it.
struct ThrowingMove {
  ThrowingMove() = default;
  ThrowingMove(ThrowingMove&&) {}
  ThrowingMove& operator=(ThrowingMove&&) { return *this; }
};
static_assert(TicketType<NoTicket> && TicketType<int> && !TicketType<ThrowingMove>);
static_assert(!TicketType<std::atomic<int>> && !TicketType<const int>);

struct NotHolding : Least {
  static constexpr bool kHolds = false;
};
struct Holding : Least {
  static constexpr bool kHolds = true;
};
static_assert(!Holds<NotHolding> && Holds<Holding>);

struct GoodOptions {
  int slots = 1;
  constexpr std::string_view Problem() const { return slots > 0 ? "" : "slots: want 1 or more"; }
};
struct NotAnAggregate {
  explicit NotAnAggregate(int) {}
  constexpr std::string_view Problem() const { return ""; }
};
static_assert(ValidatedOptions<GoodOptions> && !ValidatedOptions<NotAnAggregate>);
static_assert(!ValidatedOptions<NoTicket>);

// Configure may lock and allocate, and so need not be noexcept, but it needs Options.
struct Tunable : Least {
  using Options = GoodOptions;
  explicit Tunable(const Options&) {}
  std::string_view Configure(const Options& options, TimePoint) { return options.Problem(); }
};
static_assert(Policy<Tunable> && CanConfigure<Tunable>);

TEST(Policy, IsCheckedAtCompileTime) { SUCCEED(); }

}  // namespace
}  // namespace shed
