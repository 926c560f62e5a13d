#include "shed/internal/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "shed/sync.h"

namespace shed::internal {
namespace {

using namespace std::chrono_literals;

static_assert(sizeof(LatencyHistogram<StdSync>) <= 8192);

// The ends: latency 0 and a clock that went back are legal, and a century fits.
static_assert(LatencyBuckets::IndexOf(0ns) == 0);
static_assert(LatencyBuckets::IndexOf(-5s) == 0);
static_assert(LatencyBuckets::IndexOf(511ns) == 0);
static_assert(LatencyBuckets::IndexOf(512ns) == 0);
static_assert(LatencyBuckets::IndexOf(Duration::max()) == LatencyBuckets::kCount - 1);
static_assert(LatencyBuckets::IndexOf(1h) < LatencyBuckets::kCount - 1);

double ErrorOf(Duration latency) {
  const Duration told = LatencyBuckets::ValueOf(LatencyBuckets::IndexOf(latency));
  return std::abs(static_cast<double>(told.count()) / static_cast<double>(latency.count()) - 1);
}

// At most 2 % from 1 us to 1 h, at both ends of every bucket and in between.
TEST(LatencyHistogram, EveryLatencyIsKnownToTwoPercent) {
  double worst = 0;
  std::int64_t last = 0;
  for (std::int64_t nanos = 1000; nanos <= Duration(1h).count(); nanos += nanos / 997 + 1) {
    worst = std::max(worst, ErrorOf(Duration(nanos)));
    const auto index = static_cast<std::int64_t>(LatencyBuckets::IndexOf(Duration(nanos)));
    ASSERT_GE(index, last) << nanos;
    last = index;
  }
  for (std::uint32_t i = 32; i + 32 < LatencyBuckets::kCount; ++i) {
    std::int64_t low = LatencyBuckets::ValueOf(i).count();
    while (LatencyBuckets::IndexOf(Duration(low - 1)) == i)
      low -= std::max<std::int64_t>(1, low / 5000);
    std::int64_t high = LatencyBuckets::ValueOf(i).count();
    while (LatencyBuckets::IndexOf(Duration(high + 1)) == i)
      high += std::max<std::int64_t>(1, high / 5000);
    worst = std::max({worst, ErrorOf(Duration(low)), ErrorOf(Duration(high))});
  }
  EXPECT_LE(worst, 0.02);
}

TEST(LatencyHistogram, QuantileOfNothingIsZero) {
  LatencyHistogram<StdSync> histogram;
  EXPECT_EQ(histogram.Count(), 0u);
  EXPECT_EQ(histogram.Take().Quantile(0.5), 0ns);
}

// Netflix/concurrency-limits#37: the value at a rank, not between two modes. Half and half, the
// median is the lower one, the least above the half the upper one.
TEST(LatencyHistogram, QuantileIsAValueThatOccurred) {
  LatencyHistogram<StdSync> histogram;
  for (int i = 0; i < 50; ++i) histogram.Record(5ms);
  for (int i = 0; i < 50; ++i) histogram.Record(200ms);
  const LatencyCounts counts = histogram.Take();
  EXPECT_EQ(counts.total, 100u);
  EXPECT_NEAR(static_cast<double>(counts.Quantile(0.5).count()), 5e6, 1e5);
  EXPECT_NEAR(static_cast<double>(counts.Quantile(0.51).count()), 200e6, 4e6);
  EXPECT_NEAR(static_cast<double>(counts.Quantile(0.0).count()), 5e6, 1e5);
  EXPECT_NEAR(static_cast<double>(counts.Quantile(1.0).count()), 200e6, 4e6);
  EXPECT_EQ(histogram.Count(), 0u) << "taken";
}

// Every sample in a sorted list is the oracle: 50 distributions of 20'000 samples.
TEST(LatencyHistogram, QuantilesAgreeWithASortedList) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    std::mt19937_64 random(seed);
    std::lognormal_distribution<double> draw(std::log(1e4) + static_cast<double>(seed % 12), 1.5);
    LatencyHistogram<StdSync> histogram;
    std::vector<double> all;
    for (int i = 0; i < 20'000; ++i) {
      const double nanos = std::clamp(draw(random), 1000.0, 3.6e12);
      histogram.Record(Duration(static_cast<std::int64_t>(nanos)));
      all.push_back(std::floor(nanos));
    }
    std::sort(all.begin(), all.end());
    const LatencyCounts counts = histogram.Take();
    for (const double quantile : {0.01, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0}) {
      const auto rank = static_cast<std::size_t>(std::ceil(quantile * 20'000.0)) - 1;
      EXPECT_NEAR(static_cast<double>(counts.Quantile(quantile).count()), all[rank],
                  0.02 * all[rank])
          << "seed " << seed << " quantile " << quantile;
    }
  }
}

// A turn while threads record: each sample is in one of the takings, and in no other.
TEST(LatencyHistogram, TurnsWithoutLosingOrDoublingASample) {
  LatencyHistogram<StdSync> histogram;
  constexpr int kThreads = 4;
  constexpr std::uint64_t kEach = 50'000;
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (std::uint64_t n = 0; n < kEach; ++n) {
        histogram.Record(Duration(n % 2 == 0 ? 1000 << i : 5'000'000));
      }
      running.fetch_sub(1);
    });
  }
  std::uint64_t total = 0;
  std::uint64_t in_buckets = 0;
  const auto take = [&] {
    const LatencyCounts counts = histogram.Take();
    total += counts.total;
    for (const std::uint32_t n : counts.counts) in_buckets += n;
  };
  while (running.load() > 0) take();
  for (auto& thread : threads) thread.join();
  take();
  EXPECT_EQ(total, kThreads * kEach);
  EXPECT_EQ(in_buckets, total);
}

// The same without luck: a sample comes right after every look at a bucket.
struct BusySync {
  template <class T>
  struct Atomic : NoSync::Atomic<T> {
    using NoSync::Atomic<T>::Atomic;
    T load(std::memory_order order = std::memory_order_seq_cst) const noexcept {
      const T seen = NoSync::Atomic<T>::load(order);
      if (!busy) return seen;
      ++recorded;
      const_cast<Atomic*>(this)->fetch_add(1);
      return seen;
    }
  };
  static inline bool busy = false;
  static inline std::uint64_t recorded = 0;
};
TEST(LatencyHistogram, ASampleDuringTheTurnIsTakenOrStays) {
  LatencyHistogram<BusySync> histogram;
  histogram.Record(1ms);
  histogram.Record(1s);
  std::uint64_t taken = 0;
  BusySync::busy = true;
  for (int i = 0; i < 5; ++i) taken += histogram.Take().total;
  BusySync::busy = false;
  taken += histogram.Take().total;
  EXPECT_EQ(taken, 2 + BusySync::recorded);
  EXPECT_EQ(histogram.Count(), 0u);
}

}  // namespace
}  // namespace shed::internal
