#include "shed/any_guard.h"

#include <gtest/gtest.h>

#include <array>
#include <type_traits>
#include <utility>
#include <vector>

#include "probe_policy.h"
#include "shed/limiter.h"

// What a guard does, an AnyGuard does: guard_test.cc runs over both.
namespace shed {
namespace {

using namespace std::chrono_literals;

static_assert(std::is_nothrow_default_constructible_v<AnyGuard>);
static_assert(std::is_nothrow_move_constructible_v<AnyGuard>);
static_assert(!std::is_copy_constructible_v<AnyGuard>);
static_assert(sizeof(AnyGuard) <= AnyGuard::kCapacity + 16);

TEST(AnyGuard, EmptyDoesNothing) {
  AnyGuard guard;
  EXPECT_FALSE(guard);
  EXPECT_EQ(guard.wait(), 0s);
  EXPECT_EQ(guard.started(), TimePoint());
  EXPECT_EQ(guard.rejection().reason(), Reason::kNone);
  guard.Note(Outcome::kSuccess);
  guard.Charge(3);
  guard.Complete(Outcome::kSuccess);
  AnyGuard other(std::move(guard));
  EXPECT_FALSE(other);
  guard = std::move(other);
  EXPECT_FALSE(guard);
}

// One queue of calls of several limiters: each ends at its own.
TEST(AnyGuard, HoldsGuardsOfDifferentLimiters) {
  Probed one;
  Probed two;
  Limiter<Probe<"one">> first{Probe<"one">(one)};
  Limiter<Probe<"x">, TimedProbe<"two">> second{Probe<"x">(two), TimedProbe<"two">(two)};
  {
    std::vector<AnyGuard> calls;
    for (int i = 0; i < 5; ++i) {
      calls.emplace_back(first.TryAdmit());
      calls.emplace_back(second.TryAdmit());
    }
    calls[0] = std::move(calls[1]);  // Another type: ends the one, takes the other.
    EXPECT_EQ(one.completed, 1);
    EXPECT_EQ(two.completed, 0);
    calls[2] = AnyGuard();
    EXPECT_EQ(one.completed, 2);
  }
  EXPECT_TRUE(one.EachTicketEndedOnce());
  EXPECT_EQ(first.Snapshot().dropped, 5u);
  EXPECT_EQ(second.Snapshot().dropped, 5u);
  EXPECT_EQ(second.Snapshot().in_flight, 0u);
}

// A ticket that says where it lives, and that it lives: moved as the object it is, and not as its
// bytes, and destroyed as often as it was made.
class Whereabouts {
 public:
  static constexpr std::string_view kName = "whereabouts";
  struct Ticket {
    Ticket() noexcept { ++alive; }
    Ticket(Ticket&&) noexcept { ++alive; }
    Ticket& operator=(Ticket&&) noexcept { return *this; }
    ~Ticket() { --alive; }
    static inline int alive = 0;
    const Ticket* self = this;
    std::array<char, 64> filling{};
  };
  Verdict Admit(const Request&, TimePoint, Ticket&) noexcept { return Verdict::Admit(); }
  void Cancel(Ticket&, const Verdict&, TimePoint) noexcept {}
  void Complete(Ticket& ticket, Outcome) noexcept { EXPECT_EQ(ticket.self, &ticket); }
};
TEST(AnyGuard, MovesTheTickets) {
  Limiter<Whereabouts> limiter{Whereabouts()};
  {
    AnyGuard guard = limiter.TryAdmit();
    EXPECT_EQ(Whereabouts::Ticket::alive, 1);
    AnyGuard moved = std::move(guard);
    std::vector<AnyGuard> calls;
    calls.push_back(std::move(moved));
    calls.resize(100);
    EXPECT_EQ(Whereabouts::Ticket::alive, 1);
    EXPECT_TRUE(calls[0]);
    calls[0].Complete(Outcome::kSuccess);
  }
  EXPECT_EQ(Whereabouts::Ticket::alive, 0);
  EXPECT_EQ(limiter.Snapshot().TotalCompleted(), 1u);
}

TEST(AnyGuard, HandsOnTheWait) {
  Probed probed{.answer = Verdict::Admit(5ms)};
  ManualClock clock(TimePoint(1s));
  BasicLimiter<ManualClock, StdSync, Probe<"wait">> limiter(clock, Probe<"wait">(probed));
  AnyGuard guard = limiter.TryAdmit({.max_wait = 10ms});
  EXPECT_EQ(guard.wait(), 5ms);
  EXPECT_EQ(guard.started(), TimePoint(1005ms));
  guard.Complete(Outcome::kSuccess);
}

}  // namespace
}  // namespace shed
