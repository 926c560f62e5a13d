#include "shed/internal/call_counts.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "shed/limiter_snapshot.h"
#include "shed/sync.h"

namespace shed::internal {
namespace {

struct P {
  static constexpr std::string_view kName = "p";
};
static_assert(HasName<P>);
using Counts = LimiterSnapshot<P, P>;

// A thread's number beyond the stripes must come back into them; every stripe must be summed.
struct ManyThreads : StdSync {
  static inline unsigned number = 0;
  static unsigned Stripe() noexcept { return number; }
};
TEST(CallCounts, SumsOverEveryStripe) {
  const auto counts = std::make_unique<CallCounts<ManyThreads, 2>>();
  constexpr std::uint64_t kThreads = 100;
  for (std::uint64_t i = 0; i < kThreads; ++i) {
    ManyThreads::number = i + 1 == kThreads ? ~0u : static_cast<unsigned>(i);
    counts->Admitted(Criticality::kCriticalPlus);
    counts->Exempt();
    counts->Dropped();
    counts->Ended(Outcome::kOverload);
    counts->Refused(1, Reason::kDenied, Criticality::kSheddable);
    counts->Refused(0, Reason::kRate, Criticality::kCritical);
  }
  Counts read;
  counts->Read(read);
  EXPECT_EQ(read.admitted, (CallsByCriticality{0, 0, 0, kThreads}));
  EXPECT_EQ(read.exempt, kThreads);
  EXPECT_EQ(read.dropped, kThreads);
  EXPECT_EQ(read.completed[IndexOf(Outcome::kOverload)], kThreads);
  EXPECT_EQ(read.TotalCompleted(), kThreads);
  EXPECT_EQ(read.in_flight, kThreads);  // 100 admitted and 100 exempt, 100 ended.
  EXPECT_EQ(read.refused[1][static_cast<std::size_t>(Reason::kDenied)][0], kThreads);
  EXPECT_EQ(read.refused[0][static_cast<std::size_t>(Reason::kRate)][2], kThreads);
  EXPECT_EQ(read.TotalRefused(), 2 * kThreads);
}

// A refusal writes no line that another thread writes: each stripe is on lines of its own.
TEST(CallCounts, StripesShareNoLine) {
  static_assert(alignof(CallCounts<StdSync, 1>) == 64);
  static_assert(sizeof(CallCounts<StdSync, 3>) % (24 * 64) == 0);
}

// Load, add, store in three steps would lose counts where threads share a stripe.
TEST(CallCounts, LosesNoneOnASharedStripe) {
  struct OneStripe : StdSync {
    static unsigned Stripe() noexcept { return 3; }
  };
  const auto counts = std::make_unique<CallCounts<OneStripe, 2>>();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 10'000; ++j) {
        counts->Admitted(static_cast<Criticality>(j % 5));
        counts->Ended(static_cast<Outcome>(j % 5));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Counts read;
  counts->Read(read);
  EXPECT_EQ(read.admitted, (CallsByCriticality{16'000, 8'000, 8'000, 8'000}));
  EXPECT_EQ(read.completed, (std::array<std::uint64_t, 4>{8'000, 8'000, 8'000, 16'000}));
  EXPECT_EQ(read.in_flight, 0u);
}

}  // namespace
}  // namespace shed::internal
