#include "shed/sim/client.h"

#include <gtest/gtest.h>

#include <chrono>

namespace shed::sim {
namespace {

using namespace std::chrono_literals;

TimePoint At(Duration since_start) { return TimePoint(since_start); }

TEST(Clients, GiveUpInTheOrderInWhichTheyCame) {
  Clients clients(500ms);
  const std::uint32_t first = clients.Open(At(1s), 3);
  clients.Wait(first);
  const std::uint32_t second = clients.Open(At(1100ms), 4);
  clients.Wait(second);
  EXPECT_EQ(clients.next(), At(1500ms));
  EXPECT_EQ(clients.GiveUp(), first);
  EXPECT_TRUE(clients[first].given_up);
  EXPECT_EQ(clients[first].caller, 3u);
  EXPECT_EQ(clients.next(), At(1600ms));
  EXPECT_FALSE(clients[second].given_up);
}

TEST(Clients, WhoIsAnsweredDoesNotGiveUp) {
  Clients clients(500ms);
  const std::uint32_t slot = clients.Open(At(0s), 0);
  clients.Wait(slot);
  clients.Close(slot);
  EXPECT_EQ(clients.next(), TimePoint::max());
}

// Patience begins after a delay that the client was told of: it may give up after those who came
// later and were told of none.
TEST(Clients, WhoWasToldOfADelayIsPatientFromThenOn) {
  Clients clients(500ms);
  const std::uint32_t delayed = clients.Open(At(0s), 0);
  clients.Wait(delayed, 2s);
  const std::uint32_t sooner = clients.Open(At(100ms), 0);
  clients.Wait(sooner, 1s);
  const std::uint32_t plain = clients.Open(At(1s), 0);
  clients.Wait(plain);
  EXPECT_EQ(clients.next(), At(1500ms));
  EXPECT_EQ(clients.GiveUp(), plain);
  EXPECT_EQ(clients.next(), At(1600ms));
  EXPECT_EQ(clients.GiveUp(), sooner);
  EXPECT_TRUE(clients[sooner].given_up);
  EXPECT_EQ(clients.next(), At(2500ms));
  clients.Close(delayed);
  EXPECT_EQ(clients.next(), TimePoint::max());
}

// The slot of an answered call goes to the next; the old time-out must not hit the new call.
TEST(Clients, ASlotThatIsUsedAgainHasTheNewDeadline) {
  Clients clients(500ms);
  const std::uint32_t slot = clients.Open(At(0s), 0);
  clients.Wait(slot);
  clients.Close(slot);
  ASSERT_EQ(clients.Open(At(400ms), 1), slot);
  clients.Wait(slot);
  EXPECT_EQ(clients.next(), At(900ms));
  EXPECT_FALSE(clients[slot].given_up);
}

TEST(Clients, ARefusedCallLeavesItsSlotAndWaitsForNothing) {
  Clients clients(500ms);
  const std::uint32_t slot = clients.Open(At(0s), 0);
  clients.Close(slot);
  EXPECT_EQ(clients.next(), TimePoint::max());
  EXPECT_EQ(clients.Open(At(1s), 0), slot);
}

// Given up, but still worked on: its slot is taken until the work is done.
TEST(Clients, ACallThatWasGivenUpKeepsItsSlot) {
  Clients clients(500ms);
  const std::uint32_t slot = clients.Open(At(0s), 0);
  clients.Wait(slot);
  ASSERT_EQ(clients.next(), At(500ms));
  clients.GiveUp();
  EXPECT_NE(clients.Open(At(600ms), 0), slot);
}

}  // namespace
}  // namespace shed::sim
