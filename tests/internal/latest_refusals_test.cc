#include "shed/internal/latest_refusals.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "shed/sync.h"

namespace shed::internal {
namespace {

using std::chrono::seconds;

constexpr Duration kWindow = seconds(5);
constexpr TimePoint At(std::int64_t ns) { return TimePoint(Duration(ns)); }

// The latest refusal of each caller, kept in full.
struct Model {
  std::map<std::uint32_t, TimePoint> latest;
  bool AnotherWithin(std::uint32_t self, TimePoint at) const {
    for (const auto& [who, time] : latest) {
      if (who != self && Elapsed(time, at) <= kWindow) return true;
    }
    return false;
  }
};

TEST(LatestRefusals, AgreesWithTheLatestOfEachCaller) {
  for (const std::int64_t begin : {std::numeric_limits<std::int64_t>::min(), std::int64_t{-5}}) {
    std::mt19937_64 random(3);
    LatestRefusals<NoSync> refusals;
    Model model;
    std::int64_t now = begin;
    for (int i = 0; i < 100'000; ++i) {
      switch (random() % 8) {
        case 0:
          now += static_cast<std::int64_t>(random() % 4'000'000'000);
          break;
        case 1:
          now += kWindow.count() + static_cast<std::int64_t>(random() % 3) - 1;
          break;
        default:
          break;
      }
      const auto who = static_cast<std::uint32_t>(random() % 3);
      if (random() % 2 == 0) {
        refusals.Add(who, At(now));
        model.latest[who] = At(now);
      }
      for (std::uint32_t self = 0; self < 4; ++self) {
        ASSERT_EQ(refusals.AnotherWithin(kWindow, self, At(now)),
                  model.AnotherWithin(self, At(now)));
      }
      ASSERT_EQ(refusals.AnotherWithin(kWindow, kNoIndex, At(now)),
                model.AnotherWithin(kNoIndex, At(now)));
    }
  }
}

// One thread that plays two: before an access, the other may do all that it wants to.
struct Between {
  template <class T>
  class Atomic : public NoSync::Atomic<T> {
   public:
    using NoSync::Atomic<T>::Atomic;
    T load(std::memory_order order = std::memory_order_seq_cst) const {
      Step();
      return NoSync::Atomic<T>::load(order);
    }
    void store(T value, std::memory_order order = std::memory_order_seq_cst) {
      Step();
      NoSync::Atomic<T>::store(value, order);
    }
  };
  static inline int left = -1;  // Accesses until then.
  static inline std::function<void()> other;
  static void Step() {
    if (left >= 0 && left-- == 0) std::exchange(other, nullptr)();
  }
};

// At whatever point of one refusal the other thread asks, or of one question another is refused,
// the answer is that of before or of after.
TEST(LatestRefusals, AnswersBesideARefusalAsBeforeOrAfterIt) {
  const std::vector<std::vector<std::pair<std::uint32_t, std::int64_t>>> histories = {
      {}, {{0, 0}}, {{1, 0}}, {{0, 0}, {1, 1}}, {{1, 0}, {0, 1}}, {{0, 0}, {1, 4'000'000'000}}};
  int asked = 0;
  for (const auto& history : histories) {
    for (const int now_s : {2, 7, 20}) {
      const std::int64_t now = now_s * std::int64_t{1'000'000'000};
      for (std::uint32_t refused = 0; refused < 3; ++refused) {
        for (std::uint32_t self = 0; self < 3; ++self) {
          for (const bool asks_first : {false, true}) {
            for (int point = 0; point < 8; ++point) {
              LatestRefusals<Between> refusals;
              Model before;
              for (const auto& [who, time] : history) {
                refusals.Add(who, At(time));
                before.latest[who] = At(time);
              }
              Model after = before;
              after.latest[refused] = At(now);
              bool answer = false;
              const auto ask = [&] { answer = refusals.AnotherWithin(kWindow, self, At(now)); };
              const auto refuse = [&] { refusals.Add(refused, At(now)); };
              Between::left = point;
              if (asks_first) {
                Between::other = refuse;
                ask();
              } else {
                Between::other = ask;
                refuse();
              }
              const bool was_reached = std::exchange(Between::other, nullptr) == nullptr;
              Between::left = -1;
              if (!was_reached) continue;
              ++asked;
              ASSERT_TRUE(answer == before.AnotherWithin(self, At(now)) ||
                          answer == after.AnotherWithin(self, At(now)));
            }
          }
        }
      }
    }
  }
  EXPECT_GT(asked, 500);
}

// Those before a time are as if they had not been, whatever window comes after.
TEST(LatestRefusals, ForgetsWhatIsOld) {
  LatestRefusals<StdSync> refusals;
  constexpr Duration kLong = seconds(1000);
  refusals.Add(1, At(0));
  refusals.Add(2, TimePoint(seconds(6)));
  refusals.ForgetBefore(kWindow, TimePoint(seconds(7)));
  EXPECT_TRUE(refusals.AnotherWithin(kLong, 1, TimePoint(seconds(7))));
  EXPECT_FALSE(refusals.AnotherWithin(kLong, 2, TimePoint(seconds(7))));
  refusals.ForgetBefore(kWindow, TimePoint(seconds(12)));
  EXPECT_FALSE(refusals.AnotherWithin(kLong, 1, TimePoint(seconds(12))));
  refusals.Add(1, TimePoint(seconds(13)));
  EXPECT_TRUE(refusals.AnotherWithin(kLong, 2, TimePoint(seconds(13))));
  EXPECT_FALSE(refusals.AnotherWithin(kLong, 1, TimePoint(seconds(13))));
}

}  // namespace
}  // namespace shed::internal
