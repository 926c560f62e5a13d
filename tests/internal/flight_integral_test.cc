#include "shed/internal/flight_integral.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

namespace shed::internal {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint At(Duration since) { return TimePoint(since); }

// One call from 1 s to 3 s, read at 0, 2 and 4 s.
static_assert([] {
  std::uint64_t word = 0;
  const auto at0 = FlightIntegral::ReadingAt(word, At(0s));
  word += FlightIntegral::Start(At(1s));
  const auto at2 = FlightIntegral::ReadingAt(word, At(2s));
  word += FlightIntegral::End(At(3s));
  const auto at4 = FlightIntegral::ReadingAt(word, At(4s));
  const double first = FlightIntegral::Area(at0, at2, 1, 2s);
  const double second = FlightIntegral::Area(at2, at4, 1, 2s);
  return first > 0.99999 && first < 1.00001 && second > 0.99999 && second < 1.00001 &&
         (word & 0xfffff) == 0;
}());

// A start taken back leaves the word as it was, bit for bit, whatever came between.
static_assert([] {
  const std::uint64_t before = FlightIntegral::Start(At(123456789ns));
  std::uint64_t word = before + FlightIntegral::Start(At(987654321ns));
  word -= FlightIntegral::Start(At(987654321ns));
  return word == before;
}());

// A window that could hold more than half the modulus is not to be read at all.
static_assert(FlightIntegral::Measurable(20, 24h));
static_assert(FlightIntegral::Measurable(1000, 1h));
static_assert(FlightIntegral::Measurable(0, Duration::max()));
static_assert(!FlightIntegral::Measurable(20, 24h * 365 * 100));
static_assert(!FlightIntegral::Measurable(1'000'000, 1min));
static_assert(FlightIntegral::Measurable(1'000'000, 1s));

// Threads whose `now` lags may make the difference negative: that is 0, not 2^44 ticks.
static_assert(FlightIntegral::Area(5, 3, 10, 1s) == 0.0);
static_assert(FlightIntegral::Area(0, 1'000'000'000, 1, 1s) == 1.0);
static_assert(FlightIntegral::Area(0, 1'000'000, 1, 0s) == 0.0);

// Random calls against a plain sum, before the clock's zero, across it, and far from it.
TEST(FlightIntegral, AgreesWithAPlainSum) {
  for (const Duration base : {Duration(-5s), Duration(0), Duration(9'000'000s)}) {
    std::mt19937_64 random(7);
    std::uint64_t word = 0;
    std::vector<std::int64_t> begun;
    std::int64_t now = base.count();
    double area = 0;
    const std::uint64_t first = FlightIntegral::ReadingAt(word, At(Duration(now)));
    for (int i = 0; i < 20'000; ++i) {
      const auto step = static_cast<std::int64_t>(random() % 1'000'000);
      area += static_cast<double>(begun.size()) * static_cast<double>(step) * 1e-9;
      now += step;
      if (begun.size() < 8 && random() % 2 == 0) {
        word += FlightIntegral::Start(At(Duration(now)));
        begun.push_back(now);
      } else if (!begun.empty()) {
        word += FlightIntegral::End(At(Duration(now)));
        begun.pop_back();
      }
    }
    const Duration span(now - base.count());
    const std::uint64_t last = FlightIntegral::ReadingAt(word, At(Duration(now)));
    EXPECT_NEAR(FlightIntegral::Area(first, last, 8, span), area, area * 1e-4);
  }
}

// Sum and count in two words belong to different instants now and then, and the area is then off by
// the whole timeline (seen: 15 % of readings). Here no reading may be off by more than the time
// that the test itself lets pass.
TEST(FlightIntegral, NoReadingBesideTwoThreadsIsImpossible) {
  constexpr std::int64_t kBase = std::int64_t{3} << 50;  // Ticks in the upper half of the modulus.
  constexpr int kReadings = 300'000;
  std::atomic<std::uint64_t> word{0};
  std::atomic<std::int64_t> clock{kBase};
  std::atomic<bool> stop{false};
  const auto work = [&] {
    while (!stop.load(std::memory_order_relaxed)) {
      word.fetch_add(FlightIntegral::Start(At(Duration(clock.fetch_add(1024)))),
                     std::memory_order_relaxed);
      word.fetch_add(FlightIntegral::End(At(Duration(clock.fetch_add(1024)))),
                     std::memory_order_relaxed);
    }
  };
  std::thread one(work);
  std::thread two(work);
  int impossible = 0;
  const std::uint64_t begin = FlightIntegral::ReadingAt(0, At(Duration(kBase)));
  const auto busy = [&] { return clock.load() - kBase < std::int64_t{1024} * 400'000; };
  for (int i = 0; i < kReadings || busy(); ++i) {
    const std::uint64_t read = word.load(std::memory_order_relaxed);
    const std::int64_t now = clock.load();
    const std::uint64_t reading = FlightIntegral::ReadingAt(read, At(Duration(now)));
    const auto slack = static_cast<std::uint64_t>((now - kBase) / 1024 * 2 + 4);
    // In [-slack, slack], modulo 2^44.
    if (((reading - begin + slack) & ((std::uint64_t{1} << 44) - 1)) > 2 * slack) ++impossible;
  }
  stop = true;
  one.join();
  two.join();
  EXPECT_EQ(impossible, 0);
  EXPECT_EQ(word.load() & 0xfffff, 0u) << "calls in flight at the end";
}

}  // namespace
}  // namespace shed::internal
