#include "shed/internal/waiting_room.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

namespace shed::internal {
namespace {

using namespace std::chrono_literals;
constexpr TimePoint kNow{1s};
constexpr TimePoint kLater{2s};

constexpr Rejection Refused(Reason reason, std::optional<Duration> hint = {},
                            Scope scope = Scope::kService) {
  return Rejection(0, "p", Verdict::Refuse(reason, hint, scope));
}
constexpr bool Curable(Reason reason, std::optional<Duration> hint = {},
                       Scope scope = Scope::kService) {
  return IsCurable(Refused(reason, hint, scope), kNow, kLater);
}

// What ends of calls or the time free.
static_assert(Curable(Reason::kConcurrency) && Curable(Reason::kBudget));
static_assert(Curable(Reason::kRate) && Curable(Reason::kProbing));
static_assert(Curable(Reason::kCircuitOpen, Duration(1s) - 1ns));
// Too late for it.
static_assert(!Curable(Reason::kCircuitOpen, 1s) && !Curable(Reason::kRate, Duration::max()));
// What never changes, or was drawn, or was shed on purpose.
static_assert(!Curable(Reason::kCostTooLarge) && !Curable(Reason::kDeadline));
static_assert(!Curable(Reason::kLowSuccessRate) && !Curable(Reason::kPressure));
static_assert(!Curable(Reason::kRecovering) && !Curable(Reason::kRetryBudget));
static_assert(!Curable(Reason::kQueueDelay) && !Curable(Reason::kQueueFull));
// A rule of somebody's own, that says when.
static_assert(!Curable(Reason::kDenied) && Curable(Reason::kDenied, 0ns));
// The caller's own fault, whatever it is.
static_assert(!Curable(Reason::kRate, 1ms, Scope::kCaller));
static_assert(!Curable(Reason::kFairShare) && !Curable(Reason::kUsage, 1ms));

static_assert(NotBefore(Refused(Reason::kRate, 5ms), kNow) == kNow + 5ms);
static_assert(NotBefore(Refused(Reason::kConcurrency), kNow) == TimePoint::min());
static_assert(NotBefore(Refused(Reason::kRate, Duration::max()), kNow) == TimePoint::max());

TEST(AfterWait, MovesWhatItWaited) {
  const Request after = AfterWait({.queued_for = -5s, .time_left = 100ms, .max_wait = 1s}, 30ms);
  EXPECT_EQ(after.queued_for, 30ms);
  EXPECT_EQ(after.time_left, 70ms);
  EXPECT_EQ(after.max_wait, 0ns);
  const Request endless = AfterWait({.queued_for = Duration::max()}, 30ms);
  EXPECT_EQ(endless.queued_for, Duration::max());
  EXPECT_EQ(endless.time_left, Duration::max());
}

using Room = WaitingRoom<int>;
constexpr AdmissionQueueOptions kOptions{
    .max_waiting = 2, .max_wait = 100ms, .target = 5ms, .interval = 50ms, .min_service = 1ms};

TEST(WaitingRoom, PatienceIsTheLeastOfThree) {
  Room room(kOptions);
  const auto until = [&](const Request& request) { return room.PatienceOf(request, kNow).until; };
  const auto for_client = [&](const Request& r) { return room.PatienceOf(r, kNow).for_client; };
  EXPECT_EQ(until({}), kNow + 100ms);
  EXPECT_FALSE(for_client({}));
  EXPECT_EQ(until({.max_wait = 7ms}), kNow + 7ms);
  EXPECT_EQ(until({.max_wait = 1h}), kNow + 100ms);
  EXPECT_EQ(until({.time_left = 50ms}), kNow + 49ms);
  EXPECT_TRUE(for_client({.time_left = 50ms}));
  EXPECT_TRUE(for_client({.time_left = 101ms}));
  EXPECT_FALSE(for_client({.time_left = 102ms}));
  EXPECT_LT(until({.time_left = Duration::min()}), kNow - 24h);
}

TEST(WaitingRoom, StandsFromTheFirstOnWhoeverWaits) {
  Room room(kOptions);
  EXPECT_FALSE(room.Pressure(kNow + 1h));
  const Patience patience{.until = kNow + 1h};
  const auto first = room.Add({}, 1, patience, TimePoint::min(), kNow);
  room.Add({}, 2, patience, TimePoint::min(), kNow + 40ms);
  EXPECT_EQ(room.Remove(first.place, kNow + 40ms), 1);  // Another is there all the time.
  EXPECT_FALSE(room.Pressure(kNow + 50ms - 1ns));
  EXPECT_TRUE(room.Pressure(kNow + 50ms));
  EXPECT_EQ(room.PatienceOf({}, kNow + 50ms).until, kNow + 55ms);
  room.Remove(room.First(kNow + 60ms), kNow + 60ms);
  EXPECT_FALSE(room.Pressure(kNow + 60ms));
}
TEST(WaitingRoom, IsCalmAgainAfterAMomentWithoutAnybodyInCalm) {
  Room room(kOptions);
  const auto a = room.Add({}, 1, {.until = kLater}, TimePoint::min(), kNow);
  room.Remove(a.place, kNow + 49ms);
  room.Add({}, 2, {.until = kLater}, TimePoint::min(), kNow + 49ms);
  EXPECT_FALSE(room.Pressure(kNow + 98ms));
  EXPECT_TRUE(room.Pressure(kNow + 99ms));
}
TEST(WaitingRoom, IsCalmAgainAfterAnIntervalWithoutAnybodyUnderPressure) {
  for (const bool long_enough : {false, true}) {
    Room room(kOptions);
    const auto a = room.Add({}, 1, {.until = kLater}, TimePoint::min(), kNow);
    room.Remove(a.place, kNow + 50ms);
    const TimePoint back = kNow + 100ms - (long_enough ? 0ns : 1ns);
    EXPECT_FALSE(room.Pressure(back));
    room.Add({}, 2, {.until = kLater}, TimePoint::min(), back);
    EXPECT_EQ(room.Pressure(back), !long_enough);
  }
}

TEST(WaitingRoom, ATicketIsThatOfOneWaiterAlone) {
  Room room(kOptions);
  EXPECT_FALSE(WaiterTicket());
  EXPECT_FALSE(room.IsWaiting({}));
  EXPECT_FALSE(room.IsWaiting({.place = 2}));
  EXPECT_FALSE(room.IsWaiting({.place = 3}));
  std::uint64_t number = 0;
  for (int i = 0; i < 6; ++i) {  // Each of the places, twice.
    const auto ticket = room.Add({}, int{i}, {}, TimePoint::min(), kNow);
    EXPECT_TRUE(room.IsWaiting(ticket));
    EXPECT_FALSE(room.IsWaiting({.place = ticket.place, .number = ticket.number + 1}));
    number = ticket.number;
    room.Remove(ticket.place, kNow);
    EXPECT_FALSE(room.IsWaiting(ticket));
  }
  EXPECT_EQ(number, 1u);
}

TEST(WaitingRoom, TheNextEventIsAnEndOrAnotherTry) {
  Room room(kOptions);
  EXPECT_EQ(room.NextEvent(), TimePoint::max());
  const auto a = room.Add({}, 1, {.until = kNow + 9ms}, kNow + 4ms, kNow);
  EXPECT_EQ(room.NextEvent(), kNow + 4ms);
  room.set_next_try(TimePoint::min());  // It is not known.
  EXPECT_EQ(room.NextEvent(), kNow + 9ms);
  room.set_next_try(kNow + 20ms);
  EXPECT_EQ(room.NextEvent(), kNow + 9ms);
  room.Remove(a.place, kNow);
  EXPECT_EQ(room.NextEvent(), TimePoint::max());
  // What was known is forgotten with the last who waited.
  room.Add({}, 1, {.until = kNow + 30ms}, TimePoint::min(), kNow);
  EXPECT_EQ(room.NextEvent(), kNow + 30ms);
}

}  // namespace
}  // namespace shed::internal
