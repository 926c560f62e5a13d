#include "shed/sim/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "shed/sim/random.h"
#include "shed/time.h"

namespace shed::sim {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr Duration kSlice = 100us;

TimePoint At(Duration since_start) { return TimePoint(since_start); }

class ServerTest : public ::testing::Test {
 protected:
  using Done = std::pair<std::uint32_t, Duration>;

  static std::vector<Done> Run(Server& server, Duration until) {
    std::vector<Done> done;
    server.RunUntil(At(until), [&](std::uint32_t id, TimePoint at) {
      done.emplace_back(id, at.time_since_epoch());
    });
    return done;
  }
};

// What takes the place of a call that is done begins in the same instant, though the server was
// full, or would be idle.
TEST_F(ServerTest, ACallThatIsDoneMayBeFollowedByAnotherAtOnce) {
  for (const std::uint32_t workers : {1u, 2u, 3u}) {
    Server server(workers, kSlice, Random(1));
    for (std::uint32_t id = 0; id < workers; ++id) server.Submit(id, id + 1, At(0us));
    std::vector<Done> done;
    std::uint32_t next = workers;
    server.RunUntil(At(10 * kSlice), [&](std::uint32_t id, TimePoint at) {
      done.emplace_back(id, at.time_since_epoch());
      if (next < 10 * workers) server.Submit(next++, 1, at);
    });
    // All workers are busy at every moment.
    EXPECT_EQ(server.slices_worked(), 10 * workers);
    EXPECT_GE(done.size(), 9 * workers - 3);
  }
}

TEST_F(ServerTest, WorksOnEachCallAloneWhileThereAreWorkersForAll) {
  Server server(2, kSlice, Random(1));
  server.Submit(7, 30, At(0s));
  server.Submit(8, 10, At(0s));
  EXPECT_THAT(Run(server, 1ms - 1ns), IsEmpty());
  EXPECT_THAT(Run(server, 1ms), ElementsAre(Done(8, 1ms)));
  EXPECT_THAT(Run(server, 10s), ElementsAre(Done(7, 3ms)));
  EXPECT_EQ(server.in_flight(), 0u);
}

TEST_F(ServerTest, CallsInTheMiddleOfASliceWaitForTheNext) {
  Server server(4, kSlice, Random(1));
  server.Submit(1, 2, At(0s));
  EXPECT_THAT(Run(server, 130us), IsEmpty());
  server.Submit(2, 2, At(130us));
  EXPECT_THAT(Run(server, 1ms), ElementsAre(Done(1, 200us), Done(2, 400us)));
  // The same after an idle time, and at the very boundary, where none is lost.
  EXPECT_THAT(Run(server, 5050us), IsEmpty());
  server.Submit(3, 1, At(5050us));
  EXPECT_THAT(Run(server, 6ms), ElementsAre(Done(3, 5200us)));
  server.Submit(4, 1, At(6ms));
  EXPECT_THAT(Run(server, 7ms), ElementsAre(Done(4, 6100us)));
}

// Several calls that are done in one slice: a removal that skips the call it moved, or works twice
// on it, loses or invents work.
TEST_F(ServerTest, FinishesAllThatAreDoneInOneSlice) {
  Server server(3, kSlice, Random(1));
  for (std::uint32_t id = 0; id < 3; ++id) server.Submit(id, 5, At(0s));
  EXPECT_THAT(Run(server, 1s),
              UnorderedElementsAre(Done(0, 500us), Done(1, 500us), Done(2, 500us)));
  EXPECT_EQ(server.slices_worked(), 15u);
}

TEST_F(ServerTest, NeitherLosesNorInventsWorkAndNeverIdlesWhileThereIsSome) {
  Server server(8, kSlice, Random(5));
  Random random(6);
  std::uint64_t slices = 0;
  std::vector<int> seen(500, 0);
  for (std::uint32_t id = 0; id < 500; ++id) {
    const std::uint32_t need = 1 + random.Below(40);
    slices += need;
    server.Submit(id, need, At(0s));
  }
  // 8 workers; the last few calls may leave some idle, for no longer than one call takes.
  const auto rounds = static_cast<std::int64_t>(slices / 8);
  const auto count = [&](std::uint32_t id, TimePoint) { ++seen[id]; };
  server.RunUntil(At(kSlice * rounds / 2), count);
  EXPECT_EQ(server.slices_worked(), static_cast<std::uint64_t>(rounds / 2) * 8);
  server.RunUntil(At(kSlice * (rounds + 40)), count);
  EXPECT_EQ(server.in_flight(), 0u);
  EXPECT_EQ(server.slices_worked(), slices);
  EXPECT_THAT(seen, ::testing::Each(1));
}

// Processor sharing: with n calls of the same size together, all take about n / workers times as
// long; first in, first out would spread them evenly from the first to the last.
TEST_F(ServerTest, SharesItsTimeAmongAllCalls) {
  Server server(4, kSlice, Random(2));
  for (std::uint32_t id = 0; id < 40; ++id) server.Submit(id, 100, At(0s));
  const std::vector<Done> done = Run(server, 10s);
  ASSERT_EQ(done.size(), 40u);
  // All work takes 100 ms. A call has half of its slices by chance within 4 standard deviations.
  EXPECT_GT(done.front().second, 60ms);
  EXPECT_EQ(done.back().second / 1ms, 100);
}

// M/M/1 and M/D/1 under processor sharing have the same mean sojourn, S / (1 - rho): it does not
// depend on the distribution of the work. (First in, first out would give 0.75 of that for M/D/1
// at a load of a half.) And Little's law: calls in flight = rate * sojourn.
TEST_F(ServerTest, MeanSojournIsThatOfProcessorSharing) {
  for (const bool exponential : {false, true}) {
    Server server(1, kSlice, Random(11));
    Random random(12);
    const double load = 0.5;
    const std::uint32_t mean_slices = 100;
    std::vector<TimePoint> arrived;
    double sojourn_s = 0;
    std::uint64_t finished = 0;
    double area = 0;  // Integral of the calls in flight, in call-seconds.
    TimePoint last{};
    const auto pass = [&](TimePoint to) {
      server.RunUntil(to, [&](std::uint32_t id, TimePoint at) {
        // in_flight() has lost this call already.
        area += static_cast<double>(server.in_flight() + 1) *
                std::chrono::duration<double>(at - last).count();
        last = at;
        sojourn_s += std::chrono::duration<double>(at - arrived[id]).count();
        ++finished;
      });
      area += static_cast<double>(server.in_flight()) *
              std::chrono::duration<double>(to - last).count();
      last = to;
    };
    TimePoint now{};
    for (std::uint32_t id = 0; id < 60'000; ++id) {
      const double gap_ns = random.Exponential() * mean_slices * 1e5 / load;
      now += Duration(static_cast<std::int64_t>(gap_ns));
      pass(now);
      arrived.push_back(now);
      const double slices = exponential ? random.Exponential() * mean_slices : mean_slices;
      server.Submit(id, 1 + static_cast<std::uint32_t>(slices), now);
    }
    const double seconds = std::chrono::duration<double>(now.time_since_epoch()).count();
    const double mean_s = sojourn_s / static_cast<double>(finished);
    EXPECT_NEAR(mean_s, 0.010 / (1 - load), 0.0010) << "exponential: " << exponential;
    EXPECT_NEAR(area / seconds, static_cast<double>(finished) / seconds * mean_s, 0.01);
    // Utilisation is the load.
    EXPECT_NEAR(static_cast<double>(server.slices_worked()) * 1e-4 / seconds, load, 0.02);
  }
}

TEST_F(ServerTest, TheSameSeedGivesTheSameOrder) {
  const auto order = [](std::uint64_t seed) {
    Server server(2, kSlice, Random(seed));
    for (std::uint32_t id = 0; id < 50; ++id) server.Submit(id, 20, At(0s));
    return Run(server, 1s);
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

}  // namespace
}  // namespace shed::sim
