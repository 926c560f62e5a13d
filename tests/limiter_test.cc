#include "shed/limiter.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "probe_policy.h"
#include "shed/concurrency_limiter.h"
#include "shed/rate_limiter.h"

namespace shed {
namespace {

using namespace std::chrono_literals;

// Counts its readings, and moves on at each, so that no two of them are equal.
class CountingClock {
 public:
  TimePoint Now() const noexcept { return TimePoint(Duration(++reads_)); }
  int reads() const { return reads_; }

 private:
  mutable int reads_ = 0;
};

using A = Probe<"a">;
using B = Probe<"b">;
using C = TimedProbe<"c">;

// Three probes on a counting clock.
class LimiterTest : public testing::Test {
 protected:
  LimiterTest() { a_.journal = b_.journal = c_.journal = &journal_; }

  CountingClock clock_;
  Journal journal_;
  Probed a_;
  Probed b_;
  Probed c_;
  BasicLimiter<CountingClock, StdSync, A, B, C> limiter_{clock_, A(a_), B(b_), C(c_)};
};

TEST_F(LimiterTest, AsksInOrderAndCompletesEach) {
  limiter_.TryAdmit().Complete(Outcome::kSuccess);
  EXPECT_EQ(journal_,
            (Journal{"a.Admit", "b.Admit", "c.Admit", "c.Complete", "b.Complete", "a.Complete"}));
  EXPECT_TRUE(a_.EachTicketEndedOnce() && b_.EachTicketEndedOnce() && c_.EachTicketEndedOnce());
}

TEST_F(LimiterTest, UndoesLastFirstWithTheRefusalAsCause) {
  c_.answer = Verdict::Refuse(Reason::kQueueDelay, 3ms, Scope::kCaller);
  auto guard = limiter_.TryAdmit();
  EXPECT_EQ(journal_, (Journal{"a.Admit", "b.Admit", "c.Admit", "b.Cancel", "a.Cancel"}));
  EXPECT_EQ(a_.causes, std::vector<Verdict>{c_.answer});
  EXPECT_EQ(b_.causes, std::vector<Verdict>{c_.answer});
  EXPECT_TRUE(c_.ends.empty());  // What it refused it has nothing to undo of.
  EXPECT_TRUE(a_.EachTicketEndedOnce() && b_.EachTicketEndedOnce());
  EXPECT_EQ(guard.rejection().policy(), 2u);
  EXPECT_EQ(guard.rejection().policy_name(), "c");
  EXPECT_EQ(guard.rejection().retry_after(), 3ms);
  EXPECT_EQ(guard.rejection().scope(), Scope::kCaller);
}

TEST_F(LimiterTest, DoesNotAskBehindARefusal) {
  a_.answer = Verdict::Refuse(Reason::kRate);
  b_.answer = Verdict::Refuse(Reason::kBudget);
  auto guard = limiter_.TryAdmit();
  EXPECT_EQ(journal_, Journal{"a.Admit"});
  EXPECT_EQ(guard.rejection().policy(), 0u);
  EXPECT_EQ(guard.rejection().reason(), Reason::kRate);
  a_.answer = Verdict::Admit();
  EXPECT_EQ(limiter_.TryAdmit().rejection().policy(), 1u);
  EXPECT_EQ(journal_, (Journal{"a.Admit", "a.Admit", "b.Admit", "a.Cancel"}));
}

// Every ticket is ended once, whatever the policies say and the guards do: 20'000 random calls.
TEST_F(LimiterTest, EndsEachTicketOnce) {
  a_.journal = b_.journal = c_.journal = nullptr;
  std::uint64_t random = 1;
  const auto draw = [&](std::uint64_t n) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return (random >> 33) % n;
  };
  using Guard = decltype(limiter_)::Guard;
  std::vector<Guard> held;
  for (int i = 0; i < 20'000; ++i) {
    for (Probed* probed : {&a_, &b_, &c_}) {
      probed->answer = draw(4) == 0 ? Verdict::Refuse(Reason::kRate) : Verdict::Admit();
    }
    held.push_back(limiter_.TryAdmit());
    if (draw(3) == 0) held.back().Note(Outcome::kSuccess);
    if (draw(3) == 0) held.back().Complete(Outcome::kSuccess);
    if (draw(5) == 0) held[draw(held.size())] = limiter_.TryAdmit();
    if (held.size() > 30) held.erase(held.begin(), held.begin() + 20);
  }
  held.clear();
  EXPECT_TRUE(a_.EachTicketEndedOnce() && b_.EachTicketEndedOnce() && c_.EachTicketEndedOnce());
  EXPECT_EQ(a_.completed, c_.completed);
  EXPECT_EQ(a_.cancelled + a_.completed, a_.tickets);
  EXPECT_EQ(limiter_.Snapshot().in_flight, 0u);
}

// One reading per admission, one per completion: every policy sees the same instant, at the
// undoing too.
TEST_F(LimiterTest, ReadsTheClockOncePerCall) {
  auto guard = limiter_.TryAdmit();
  EXPECT_EQ(clock_.reads(), 1);
  EXPECT_EQ(a_.times, b_.times);
  EXPECT_EQ(a_.times, c_.times);
  EXPECT_EQ(guard.started(), a_.times.at(0));
  guard.Note(Outcome::kSuccess);
  EXPECT_EQ(clock_.reads(), 1);
  guard.Complete(Outcome::kSuccess);
  guard.Complete(Outcome::kSuccess);
  EXPECT_EQ(clock_.reads(), 2);
  EXPECT_EQ(c_.completions.at(0).now, TimePoint(2ns));
  EXPECT_EQ(c_.completions.at(0).started, TimePoint(1ns));

  c_.answer = Verdict::Refuse(Reason::kRate);
  a_.times.clear();
  auto refused = limiter_.TryAdmit();
  EXPECT_EQ(clock_.reads(), 3);
  EXPECT_EQ(a_.times, (std::vector<TimePoint>{TimePoint(3ns), TimePoint(3ns)}));  // And Cancel.
  refused.Complete(Outcome::kSuccess);
  refused.Charge(2);
  EXPECT_EQ(clock_.reads(), 3);

  c_.answer = Verdict::Admit();
  limiter_.TryAdmit().Charge(2);  // Admit, Charge, the end.
  EXPECT_EQ(clock_.reads(), 6);
}

TEST_F(LimiterTest, ReadsNoClockAtAnEndThatNeedsNone) {
  BasicLimiter<CountingClock, StdSync, A, B> limiter(clock_, A(a_), B(b_));
  auto guard = limiter.TryAdmit();
  guard.Charge(3);  // Nobody has a Charge.
  guard.Complete(Outcome::kSuccess);
  EXPECT_EQ(clock_.reads(), 1);
  limiter.TryAdmit({.exempt = true}).Complete(Outcome::kSuccess);
  EXPECT_EQ(clock_.reads(), 2);
}

// An empty clock costs no byte, wherever the policies' size puts the padding: the same members
// without a clock are as large.
template <std::size_t kBytes>
struct Sized {
  static constexpr std::string_view kName = "sized";
  char bytes[kBytes]{};
  Verdict Admit(const Request&, TimePoint) noexcept { return Verdict::Admit(); }
};
template <class P>
struct WithoutClock {
  internal::HotBlock<std::index_sequence<0>, P> hot;
  const std::string name;
  Observer* const observer;
  internal::PolicyStack<std::index_sequence<0>, P> policies;
  internal::CallCounts<StdSync, 1> counts;
};
template <std::size_t... Is>
consteval bool EmptyClockCostsNothing(std::index_sequence<Is...>) {
  return ((sizeof(Limiter<Sized<Is + 1>>) == sizeof(WithoutClock<Sized<Is + 1>>)) && ...);
}
static_assert(EmptyClockCostsNothing(std::make_index_sequence<64>()));

TEST(Limiter, HoldsItsClockByReference) {
  ManualClock clock(TimePoint(5s));
  BasicLimiter<ManualClock, StdSync> limiter(clock);  // And no policies at all.
  EXPECT_EQ(limiter.Now(), TimePoint(5s));
  clock.Advance(2s);
  EXPECT_EQ(limiter.Now(), TimePoint(7s));
  EXPECT_TRUE(limiter.TryAdmit());
  EXPECT_EQ(limiter.Snapshot().TotalAdmitted(), 1u);
  static_assert(!std::is_copy_constructible_v<decltype(limiter)>);
  // A clock that dies with the call does not compile.
  static_assert(std::is_constructible_v<decltype(limiter), ManualClock&>);
  static_assert(!std::is_constructible_v<decltype(limiter), ManualClock>);
}

TEST_F(LimiterTest, CombinesWaitsByMaximum) {
  a_.answer = Verdict::Admit(3ms);
  b_.answer = Verdict::Admit(7ms);
  c_.answer = Verdict::Admit(5ms);
  auto guard = limiter_.TryAdmit({.max_wait = 10ms});
  EXPECT_EQ(guard.wait(), 7ms);
  EXPECT_EQ(guard.started(), TimePoint(7ms + 1ns));
  guard.Complete(Outcome::kSuccess);
  EXPECT_EQ(c_.completions.at(0).started, TimePoint(7ms + 1ns));
  EXPECT_EQ(c_.completions.at(0).latency(), 0ns);  // Ended before its wait was over.
  // A refusal behind a wait has none.
  c_.answer = Verdict::Refuse(Reason::kRate);
  EXPECT_EQ(limiter_.TryAdmit({.max_wait = 10ms}).wait(), 0ns);
  // A wait for ever is held at the end of the timeline.
  c_.answer = Verdict::Admit(Duration::max());
  EXPECT_EQ(limiter_.TryAdmit({.max_wait = Duration::max()}).started(), TimePoint::max());
}

// What policies may wait: at most what is offered and what is left, and never below zero, which
// `wait > max_wait` in a policy would take for a refusal of an admission at once.
TEST_F(LimiterTest, BoundsTheWaitOffered) {
  const auto offered = [&](Duration max_wait, Duration time_left) {
    b_.max_waits.clear();
    limiter_.TryAdmit({.time_left = time_left, .max_wait = max_wait}).Complete(Outcome::kSuccess);
    return b_.max_waits.at(0);
  };
  EXPECT_EQ(offered(5ms, Duration::max()), 5ms);
  EXPECT_EQ(offered(5ms, 3ms), 3ms);
  EXPECT_EQ(offered(5ms, 0ms), 0ms);
  EXPECT_EQ(offered(5ms, -1ms), 0ms);
  EXPECT_EQ(offered(5ms, Duration::min()), 0ms);
  EXPECT_EQ(offered(0ms, 3ms), 0ms);
  EXPECT_EQ(offered(-1ms, 3ms), 0ms);
  EXPECT_EQ(offered(Duration::min(), Duration::min()), 0ms);
  EXPECT_EQ(offered(Duration::max(), Duration::max()), Duration::max());
}

// A permit held asleep is taken for load: behind a policy that holds, nobody is offered a wait.
TEST(Limiter, OffersNoWaitWhereAPolicyHolds) {
  Probed probed;
  Limiter<A, ConcurrencyLimiter> limiter(A(probed), {.limit = 1});
  static_assert(decltype(limiter)::kHolds && !Limiter<RateLimiter>::kHolds);
  static_assert(Limiter<RateLimiter, Named<"permits", ConcurrencyLimiter>>::kHolds);
  limiter.TryAdmit({.max_wait = 5s}).Complete(Outcome::kSuccess);
  EXPECT_EQ(probed.max_waits, std::vector<Duration>{0s});

  ManualClock clock;
  BasicLimiter<ManualClock, StdSync, RateLimiter> rate(clock, {.rate = 10, .burst = 1});
  BasicLimiter<ManualClock, StdSync, RateLimiter, ConcurrencyLimiter> both(
      clock, {.rate = 10, .burst = 1}, {});
  EXPECT_TRUE(rate.TryAdmit({.max_wait = 1s}));
  EXPECT_EQ(rate.TryAdmit({.max_wait = 1s}).wait(), 100ms);
  EXPECT_FALSE(rate.TryAdmit({.time_left = 150ms, .max_wait = 1s}));
  EXPECT_TRUE(both.TryAdmit({.max_wait = 1s}));
  EXPECT_EQ(both.TryAdmit({.max_wait = 1s}).rejection().retry_after(), 100ms);
}

// P09 milvus-io/milvus#25597: the outer limiter's token is spent although an inner one refuses, and
// one throttled caller drains what all share. In either order.
TEST(Limiter, RefusalBehindTheRateGivesItsUnitsBack) {
  using Global = Named<"global", RateLimiter>;
  using User = Named<"user", RateLimiter>;
  const RateLimiterOptions global{.rate = 1, .per = 24h, .burst = 10};
  const RateLimiterOptions user{.rate = 1, .per = 24h, .burst = 1};
  const auto ask = [](auto& limiter) {
    int admitted = 0;
    for (int i = 0; i < 20; ++i) admitted += limiter.TryAdmit() ? 1 : 0;
    return admitted;
  };
  ManualClock clock;
  BasicLimiter<ManualClock, StdSync, Global, User> outer_first(clock, global, user);
  BasicLimiter<ManualClock, StdSync, User, Global> inner_first(clock, user, global);
  EXPECT_EQ(ask(outer_first), 1);
  EXPECT_EQ(ask(inner_first), 1);
  EXPECT_EQ(outer_first.Get<"global">().Read(TimePoint()).available, 9);
  EXPECT_EQ(inner_first.Get<"global">().Read(TimePoint()).available, 9);
  EXPECT_EQ(outer_first.Snapshot().RefusedBy(1), 19u);
  EXPECT_EQ(inner_first.Snapshot().RefusedBy(0), 19u);
}
// The same with a permit in front, and behind: none leaks.
TEST(Limiter, RefusalBehindAPermitFreesIt) {
  ManualClock clock;
  const RateLimiterOptions once{.rate = 1, .per = 24h, .burst = 1};
  BasicLimiter<ManualClock, StdSync, ConcurrencyLimiter, RateLimiter> permit_first(
      clock, {.limit = 2}, once);
  BasicLimiter<ManualClock, StdSync, RateLimiter, ConcurrencyLimiter> rate_first(clock, once,
                                                                                 {.limit = 2});
  auto held = permit_first.TryAdmit();
  auto held_too = rate_first.TryAdmit();
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(permit_first.TryAdmit().rejection().policy_name(), "rate_limiter");
    EXPECT_EQ(rate_first.TryAdmit().rejection().policy(), 0u);
  }
  EXPECT_EQ(permit_first.Get<ConcurrencyLimiter>().Read(clock.Now()).in_flight, 1u);
  EXPECT_EQ(rate_first.Get<ConcurrencyLimiter>().Read(clock.Now()).in_flight, 1u);
}

// A user's own policy, with kName and Admit alone, beside the built-in ones.
class BlockList {
 public:
  static constexpr std::string_view kName = "block_list";
  explicit BlockList(std::string blocked) : blocked_(std::move(blocked)) {}
  Verdict Admit(const Request& request, TimePoint) noexcept {
    return request.caller == blocked_
               ? Verdict::Refuse(Reason::kDenied, std::nullopt, Scope::kCaller)
               : Verdict::Admit();
  }

 private:
  std::string blocked_;
};
TEST(Limiter, TakesAUsersPolicyOfTenLines) {
  Limiter<RateLimiter, BlockList, ConcurrencyLimiter> limiter({.rate = 1, .per = 24h, .burst = 2},
                                                              BlockList("mallory"), {.limit = 1});
  EXPECT_EQ(limiter.TryAdmit({.caller = "mallory"}).rejection().policy_name(), "block_list");
  auto guard = limiter.TryAdmit({.caller = "alice"});
  EXPECT_TRUE(guard);
  EXPECT_EQ(limiter.TryAdmit({.caller = "bob"}).rejection().policy_name(), "concurrency_limiter");
  EXPECT_EQ(limiter.Get<RateLimiter>().Read(limiter.Now()).available, 1);
}

// A user's policy with Options, a Hot of its own and a Ticket: the words start as their
// initialisers say, and the Hots of a limiter share one line.
struct CountedOptions {
  int most = 1;
  constexpr std::string_view Problem() const { return most > 0 ? "" : "most: want 1 or more"; }
};
template <FixedString kText>
class Counted {
 public:
  static constexpr std::string_view kName = kText.view();
  using Options = CountedOptions;
  struct Hot {
    std::atomic<int> now{100};
    std::atomic<int> peak{0};
  };
  struct Ticket {};
  Counted(const Options& options, Hot& hot)
      : most_(internal::Checked(options).most), hot_(hot), found_(hot.now.exchange(0)) {}
  Verdict Admit(const Request&, TimePoint, Ticket&) noexcept {
    if (hot_.now.fetch_add(1) < most_) return Verdict::Admit();
    hot_.now.fetch_sub(1);
    return Verdict::Refuse(Reason::kConcurrency);
  }
  void Cancel(Ticket&, const Verdict&, TimePoint) noexcept { hot_.now.fetch_sub(1); }
  void Complete(Ticket&, Outcome) noexcept { hot_.now.fetch_sub(1); }

  const int most_;
  Hot& hot_;
  const int found_;
};
TEST(Limiter, LaysHotWordsSideBySide) {
  Probed probed;
  Limiter<Counted<"x">, A, Counted<"y">> limiter({.most = 2}, A(probed), {.most = 1});
  const auto& x = limiter.Get<"x">();
  const auto& y = limiter.Get<"y">();
  EXPECT_EQ(x.found_, 100);  // Initialised before the policy was built.
  EXPECT_EQ(y.found_, 100);
  EXPECT_NE(static_cast<const void*>(&x.hot_), static_cast<const void*>(&y.hot_));
  const auto line = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at) / 64; };
  EXPECT_EQ(line(&x.hot_), line(&y.hot_));
  auto guard = limiter.TryAdmit();
  EXPECT_EQ(limiter.TryAdmit().rejection().policy_name(), "y");
  EXPECT_EQ(x.hot_.now.load(), 1);  // Given back.
  guard.Complete(Outcome::kSuccess);
  EXPECT_EQ(x.hot_.now.load() + y.hot_.now.load(), 0);
}

TEST(Limiter, GetsByTypePlaceAndName) {
  Limiter<RateLimiter, Named<"inner", RateLimiter>, ConcurrencyLimiter> limiter({}, {}, {});
  static_assert(std::is_same_v<decltype(limiter.Get<0>()), RateLimiter&>);
  static_assert(std::is_same_v<decltype(limiter.Get<"inner">()), Named<"inner", RateLimiter>&>);
  static_assert(
      std::is_same_v<decltype(std::as_const(limiter).Get<2>()), const ConcurrencyLimiter&>);
  EXPECT_EQ(&limiter.Get<RateLimiter>(), &limiter.Get<0>());
  EXPECT_EQ(&limiter.Get<"concurrency_limiter">(), &limiter.Get<ConcurrencyLimiter>());
  EXPECT_EQ((&limiter.Get<Named<"inner", RateLimiter>>()), &limiter.Get<1>());
  static_assert(decltype(limiter)::PolicyName(1) == "inner");
  static_assert(decltype(limiter)::kPolicyCount == 3);
}

// Problem() names the first bad field, in the limiter's order, and the constructor throws it.
TEST(Limiter, SaysWhichOptionIsBad) {
  using L = Limiter<RateLimiter, BlockList, ConcurrencyLimiter>;
  const BlockList list("x");
  EXPECT_EQ(L::Problem({}, list, {}), "");
  EXPECT_EQ(L::Problem({}, list, {.limit = 0}), ConcurrencyLimiterOptions{.limit = 0}.Problem());
  const std::string_view first = RateLimiterOptions{.rate = 0}.Problem();
  EXPECT_EQ(L::Problem({.rate = 0}, list, {.limit = 0}), first);
#if defined(__cpp_exceptions)
  try {
    const L limiter({.rate = 0}, list, {.limit = 0});
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(error.what(), first);
  }
#endif
}

// --- Events -------------------------------------------------------------------------------------

// Pushes as many events as it is told, at each of its members.
struct Noise {
  int admit = 0;
  int cancel = 0;
  int complete = 0;
  int charge = 0;
};
template <FixedString kText, bool kTimed>
class Noisy {
 public:
  static constexpr std::string_view kName = kText.view();
  struct Ticket {};
  explicit Noisy(const Noise& noise) : noise_(&noise) {}
  Verdict Admit(const Request&, TimePoint, Ticket&, Events& events) noexcept {
    Push(noise_->admit, 1, events);
    return Verdict::Admit();
  }
  void Cancel(Ticket&, const Verdict&, TimePoint, Events& events) noexcept {
    Push(noise_->cancel, 2, events);
  }
  void Complete(Ticket&, const Completion&, Events& events) noexcept requires(kTimed) {
    Push(noise_->complete, 3, events);
  }
  void Complete(Ticket&, Outcome, Events& events) noexcept requires(!kTimed) {
    Push(noise_->complete, 3, events);
  }
  void Charge(Ticket&, std::uint64_t, TimePoint, Events& events) noexcept {
    Push(noise_->charge, 4, events);
  }
  int Force(TimePoint, Events& events) {
    Push(2, 5, events);
    return 42;
  }

 private:
  static void Push(int times, std::uint64_t what, Events& events) {
    for (int i = 0; i < times; ++i) {
      events.Push({.cause = Cause::kForced, .count = what, .total = static_cast<unsigned>(i)});
    }
  }
  const Noise* noise_;
};

struct Recorder final : Observer {
  void OnEvent(const Event& event) noexcept override {
    events.push_back(event);
    if (journal != nullptr) journal->push_back("event");
  }
  std::vector<Event> events;
  Journal* journal = nullptr;
};

class EventsTest : public testing::Test {
 protected:
  std::vector<Event> Take() { return std::exchange(recorder_.events, {}); }

  ManualClock clock_{TimePoint(10s)};
  Noise x_;
  Noise y_;
  Probed last_;
  Recorder recorder_;
  BasicLimiter<ManualClock, StdSync, Noisy<"x", false>, Noisy<"y", false>, A> limiter_{
      clock_,
      Noisy<"x", false>(x_),
      Noisy<"y", false>(y_),
      A(last_),
      {.name = "front", .observer = &recorder_}};
};

TEST_F(EventsTest, NothingChangedIsNoEvent) {
  auto guard = limiter_.TryAdmit();
  guard.Charge(2);
  guard.Complete(Outcome::kSuccess);
  last_.answer = Verdict::Refuse(Reason::kRate);
  EXPECT_FALSE(limiter_.TryAdmit());
  EXPECT_TRUE(recorder_.events.empty());
}

TEST_F(EventsTest, SayWhoAndWhen) {
  x_.admit = 1;
  y_.admit = 2;
  auto guard = limiter_.TryAdmit();
  std::vector<Event> events = Take();
  ASSERT_EQ(events.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(events[i].at, TimePoint(10s));
    EXPECT_EQ(events[i].limiter, "front");
    EXPECT_EQ(events[i].policy, i == 0 ? "x" : "y");
    EXPECT_EQ(events[i].policy_index, i == 0 ? 0u : 1u);
    EXPECT_EQ(events[i].count, 1u);
    EXPECT_EQ(events[i].cause, Cause::kForced);
  }
  EXPECT_EQ(events[2].total, 1u);

  clock_.Advance(1s);
  y_.charge = 1;
  guard.Charge(7);
  events = Take();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].at, TimePoint(11s));
  EXPECT_EQ(events[0].policy, "y");
  EXPECT_EQ(events[0].count, 4u);
}

// No policy of this limiter takes a time at the end; the event has one all the same.
TEST_F(EventsTest, OfAnUntimedEndHaveATime) {
  x_.complete = 1;
  auto guard = limiter_.TryAdmit();
  clock_.Advance(3s);
  guard.Complete(Outcome::kSuccess);
  const std::vector<Event> events = Take();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].at, TimePoint(13s));
  EXPECT_EQ(events[0].policy, "x");
  EXPECT_EQ(events[0].count, 3u);
}

TEST_F(EventsTest, OfATimedEndHaveItsTime) {
  y_.complete = 1;
  BasicLimiter<ManualClock, StdSync, A, Noisy<"y", true>> limiter(
      clock_, A(last_), Noisy<"y", true>(y_), {.observer = &recorder_});
  {
    auto guard = limiter.TryAdmit();
    clock_.Advance(2s);
  }
  const std::vector<Event> events = Take();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].at, TimePoint(12s));
  EXPECT_EQ(events[0].policy_index, 1u);
  EXPECT_EQ(events[0].limiter, "limiter");
}

// The undoing belongs to the same call, and its events to who was undone.
TEST_F(EventsTest, OfAnUndoingNameTheirPolicy) {
  last_.answer = Verdict::Refuse(Reason::kRate);
  x_ = {.admit = 1, .cancel = 1};
  y_ = {.admit = 0, .cancel = 1};
  EXPECT_FALSE(limiter_.TryAdmit());
  const std::vector<Event> events = Take();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].policy, "x");
  EXPECT_EQ(events[0].count, 1u);
  EXPECT_EQ(events[1].policy, "y");
  EXPECT_EQ(events[1].count, 2u);
  EXPECT_EQ(events[2].policy, "x");
  EXPECT_EQ(events[2].count, 2u);
}

TEST_F(EventsTest, BeyondTheArrayAreLostAndBreakNothing) {
  x_.admit = 3;
  y_.admit = 1000;
  EXPECT_TRUE(limiter_.TryAdmit());
  const std::vector<Event> events = Take();
  ASSERT_EQ(events.size(), Events::kCapacity);
  EXPECT_EQ(events[3].policy, "y");
}

// Never half-way through a change: every policy is done with the call before the observer hears.
TEST_F(EventsTest, ComeAfterTheCall) {
  Journal journal;
  recorder_.journal = &journal;
  last_.journal = &journal;
  x_ = {.admit = 1, .complete = 1};
  y_ = {.admit = 1};
  limiter_.TryAdmit().Complete(Outcome::kSuccess);
  EXPECT_EQ(journal, (Journal{"a.Admit", "event", "event", "a.Complete", "event"}));
}

// Not under a lock of the limiter's: an observer may ask it.
TEST(LimiterEvents, ObserverMayUseTheLimiter) {
  using L = Limiter<Noisy<"x", false>>;
  struct Asking final : Observer {
    void OnEvent(const Event&) noexcept override {
      if (++calls > 2) return;
      limiter->TryAdmit().Complete(Outcome::kSuccess);
      admitted = limiter->Snapshot().TotalAdmitted();
    }
    L* limiter = nullptr;
    int calls = 0;
    std::uint64_t admitted = 0;
  } observer;
  const Noise noise{.admit = 1};
  L limiter(Noisy<"x", false>(noise), {.observer = &observer});
  observer.limiter = &limiter;
  EXPECT_TRUE(limiter.TryAdmit());
  EXPECT_EQ(observer.calls, 3);
  EXPECT_EQ(observer.admitted, 3u);
}

TEST(LimiterEvents, NobodyNeedListen) {
  const Noise noise{.admit = 9, .complete = 9};
  Limiter<Noisy<"x", true>> limiter{Noisy<"x", true>(noise)};
  limiter.TryAdmit().Complete(Outcome::kSuccess);
  EXPECT_EQ(limiter.Snapshot().TotalCompleted(), 1u);
}

TEST_F(EventsTest, ApplyGivesTimeAndReports) {
  using Y = Noisy<"y", false>;
  const int result = limiter_.Apply<Y>([&](Y& policy, TimePoint now, Events& events) {
    EXPECT_EQ(now, TimePoint(10s));
    const int returned = policy.Force(now, events);
    EXPECT_TRUE(recorder_.events.empty());  // Not before it is done.
    return returned;
  });
  EXPECT_EQ(result, 42);
  const std::vector<Event> events = Take();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].policy, "y");
  EXPECT_EQ(events[0].policy_index, 1u);
  EXPECT_EQ(events[0].limiter, "front");
  EXPECT_EQ(events[0].at, TimePoint(10s));

  // By name, with nothing returned; a reference stays one.
  limiter_.Apply<"x">([](auto& policy, TimePoint now, Events& e) { policy.Force(now, e); });
  EXPECT_EQ(Take().at(1).policy, "x");
  Y& same = limiter_.Apply<Y>([](Y& policy, TimePoint, Events&) -> Y& { return policy; });
  EXPECT_EQ(&same, &limiter_.Get<1>());
  EXPECT_TRUE(recorder_.events.empty());
}

TEST(Limiter, ApplyReachesABuiltInPolicy) {
  Limiter<ConcurrencyLimiter> limiter({.limit = 1});
  const auto set = [&](std::int64_t limit) {
    return limiter.Apply<ConcurrencyLimiter>(
        [&](auto& policy, TimePoint now, Events&) { return policy.SetLimit(limit, now); });
  };
  EXPECT_EQ(set(0), ConcurrencyLimiterOptions{.limit = 0}.Problem());
  EXPECT_EQ(std::get<0>(limiter.Snapshot().policies).limit, 1u);
  EXPECT_EQ(set(7), "");
  EXPECT_EQ(std::get<0>(limiter.Snapshot().policies).limit, 7u);
}

// --- Other synchronisation ----------------------------------------------------------------------

TEST(Limiter, WorksWithoutSynchronisation) {
  ManualClock clock;
  BasicLimiter<ManualClock, NoSync, BasicRateLimiter<NoSync>, BasicConcurrencyLimiter<NoSync>>
      limiter(clock, {.rate = 10, .burst = 3}, {.limit = 2});
  auto one = limiter.TryAdmit();
  auto two = limiter.TryAdmit();
  EXPECT_EQ(limiter.TryAdmit().rejection().reason(), Reason::kConcurrency);
  one.Complete(Outcome::kSuccess);
  auto three = limiter.TryAdmit();
  EXPECT_TRUE(three);
  EXPECT_EQ(limiter.TryAdmit().rejection().reason(), Reason::kRate);
  two.Complete(Outcome::kFailure);
  three.Complete(Outcome::kOverload);
  const auto snapshot = limiter.Snapshot();
  EXPECT_EQ(snapshot.TotalAdmitted(), 3u);
  EXPECT_EQ(snapshot.TotalCompleted(), 3u);
  EXPECT_EQ(snapshot.in_flight, 0u);
  EXPECT_EQ(std::get<1>(snapshot.policies).in_flight, 0u);
}

// The whole facade from many threads: guards made on one and ended on another, and every permit
// and count comes back.
TEST(Limiter, LosesNothingBetweenThreads) {
  constexpr int kThreads = 4;
  constexpr int kCalls = 20'000;
  Limiter<RateLimiter, ConcurrencyLimiter> limiter({.rate = 1, .per = 1h, .burst = 60'000},
                                                   {.limit = 3});
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < kCalls; ++j) {
        auto guard = limiter.TryAdmit();
        if (j % 3 == 0) guard.Complete(Outcome::kSuccess);
        if (j % 3 == 1) guard.Note(Outcome::kFailure);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto snapshot = limiter.Snapshot();
  EXPECT_EQ(snapshot.TotalAdmitted() + snapshot.TotalRefused(),
            static_cast<std::uint64_t>(kThreads) * kCalls);
  EXPECT_EQ(snapshot.TotalCompleted(), snapshot.TotalAdmitted());
  EXPECT_EQ(snapshot.in_flight, 0u);
  EXPECT_EQ(std::get<1>(snapshot.policies).in_flight, 0u);
  // Every admission costs one unit, and every refusal by the other gave its unit back.
  EXPECT_EQ(static_cast<std::uint64_t>(std::get<0>(snapshot.policies).available),
            60'000 - snapshot.TotalAdmitted());
}

TEST(Limiter, ConfigureReachesAPolicyWhileCallsAreInFlight) {
  ManualClock clock;
  BasicLimiter<ManualClock, StdSync, Named<"plan", RateLimiter>, ConcurrencyLimiter> limiter(
      clock, {.rate = 10, .burst = 10}, {.limit = 2});
  auto one = limiter.TryAdmit();
  auto two = limiter.TryAdmit();
  ASSERT_TRUE(one && two);
  EXPECT_EQ(limiter.Configure<ConcurrencyLimiter>({.limit = 1}), "");
  one.Complete(Outcome::kSuccess);
  EXPECT_FALSE(limiter.TryAdmit());
  two.Complete(Outcome::kSuccess);
  EXPECT_TRUE(limiter.TryAdmit());
  EXPECT_EQ(limiter.Configure<"plan">(RateLimiterOptions{.rate = 10, .burst = 1}), "");
  EXPECT_EQ(limiter.Get<"plan">().Read(clock.Now()).burst, 1);
  EXPECT_EQ(limiter.Configure<ConcurrencyLimiter>({.limit = 0}),
            "limit: want 1 to 1000000000 units");
  EXPECT_EQ(limiter.Get<ConcurrencyLimiter>().Read(clock.Now()).limit, 1u);
}

}  // namespace
}  // namespace shed
