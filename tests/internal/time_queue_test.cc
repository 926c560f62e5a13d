#include "shed/internal/time_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <vector>

namespace shed::internal {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr std::uint64_t kNever = TimeQueue::kNever;

static_assert(TimeKey(TimePoint::min()) == 0 && TimeKey(TimePoint::max()) == kNever);
static_assert(TimeKey(TimePoint(Duration(-1))) + 1 == TimeKey(TimePoint{}));
static_assert(TimeOfKey(TimeKey(TimePoint(Duration(-7)))) == TimePoint(Duration(-7)));
static_assert(TimeQueue::Key(kNever) < kNever && TimeQueue::Key(5) == 5);
// At most 254 units to a span, or the ring would meet itself.
static_assert(TimeQueue::UnitBits(Duration(254)) == 0 && TimeQueue::UnitBits(Duration(255)) == 1);

// A queue, and the same as a map: what each entry's time is, and by which one it was put in.
class Trial {
 public:
  static constexpr std::uint32_t kEntries = 24;

  Trial(Duration span, std::uint64_t begin, std::uint64_t seed)
      : span_(static_cast<std::uint64_t>(span.count())),
        random_(seed),
        links_(kEntries + TimeQueue::HeadCount(span)),
        queue_(span, span, links_.data(), kEntries) {
    Advance(begin);
  }

  void Steps(int count) {
    for (int i = 0; i < count && !testing::Test::HasFatalFailure(); ++i) {
      const auto k = static_cast<std::uint32_t>(random_() % kEntries);
      const auto at = time_.find(k);
      if (at == time_.end()) {
        time_[k] = SomeKey();
        queue_.Insert(links_.data(), k, time_[k]);
      } else if (random_() % 8 == 0) {
        TimeQueue::Remove(links_.data(), k);
        time_.erase(at);
      } else {
        at->second = std::max(at->second, SomeKey());  // Put off, without a word to the queue.
      }
      if (random_() % 2 == 0) Advance(SomeStep());
      CheckEarliest();
    }
  }

 private:
  // Up to the span from the frontier; the ends often.
  std::uint64_t SomeKey() {
    const std::uint64_t room = std::min(span_, kNever - 1 - queue_.frontier());
    switch (random_() % 4) {
      case 0:
        return queue_.frontier() + std::min<std::uint64_t>(room, random_() % 3);
      case 1:
        return queue_.frontier() + room - std::min<std::uint64_t>(room, random_() % 3);
      default:
        return queue_.frontier() + (room == kNever ? random_() : random_() % (room + 1));
    }
  }
  // To an entry's time or just beside it, a little, and now and then far.
  std::uint64_t SomeStep() {
    std::uint64_t to = queue_.frontier();
    const auto by = [&](std::uint64_t step) { to += std::min(step, kNever - 1 - to); };
    switch (random_() % 16) {
      case 0:
        by(span_);
        break;
      case 1:
        by(random_() % 8 == 0 ? kNever : 3 * span_);
        break;
      case 2:
      case 3:
      case 4:
      case 5:
        if (!time_.empty()) {
          to = std::min_element(time_.begin(), time_.end(), [](auto& a, auto& b) {
                 return a.second < b.second;
               })->second;
        }
        by(random_() % 2);
        break;
      default:
        by(random_() % (span_ / 64 + 2));
    }
    return to;
  }

  void Advance(std::uint64_t to) {
    std::vector<std::uint32_t> may, looked;
    queue_.ForEachBefore(links_.data(), to, [&](std::uint32_t i) { may.push_back(i); });
    queue_.AdvanceTo(links_.data(), to, [&](std::uint32_t i) {
      looked.push_back(i);
      const std::uint64_t time = time_[i];
      if (time >= to) return time;
      time_.erase(i);
      return kNever;
    });
    // Reading ahead finds the same, each once, and nobody is left behind.
    std::sort(may.begin(), may.end());
    std::sort(looked.begin(), looked.end());
    ASSERT_EQ(looked, may);
    ASSERT_EQ(std::adjacent_find(looked.begin(), looked.end()), looked.end());
    for (const auto& [i, time] : time_) ASSERT_GE(time, to) << i;
    ASSERT_GE(queue_.frontier(), to);
  }
  void CheckEarliest() {
    const std::uint64_t earliest = queue_.Earliest();
    ASSERT_GE(earliest, queue_.frontier());
    for (const auto& [i, time] : time_) ASSERT_LE(earliest, time) << i;
  }

  const std::uint64_t span_;
  std::mt19937_64 random_;
  std::vector<IndexLinks> links_;
  std::map<std::uint32_t, std::uint64_t> time_;
  TimeQueue queue_;
};

TEST(TimeQueue, HandsOutAllThatAreDueAndNoneTwice) {
  for (const Duration span : {Duration(1), Duration(3), Duration(63), Duration(64), Duration(254),
                              Duration(255), Duration(1000), Duration(65'537), Duration(seconds(5)),
                              Duration(hours(24 * 366)), Duration::max()}) {
    for (const std::uint64_t begin :
         {std::uint64_t{0}, std::uint64_t{1} << 63, (std::uint64_t{1} << 63) - 100}) {
      SCOPED_TRACE(testing::Message() << span.count() << " ns from " << begin);
      Trial trial(span, begin, begin + 1);
      trial.Steps(4000);
      if (HasFatalFailure()) return;
    }
  }
}

// Nobody is asked to look where there is nothing: what was removed is forgotten in passing.
TEST(TimeQueue, HasNothingToLookAtWhenAllHaveLeft) {
  constexpr Duration kSpan = seconds(5);
  std::vector<IndexLinks> links(2 + TimeQueue::HeadCount(kSpan));
  TimeQueue queue(kSpan, kSpan, links.data(), 2);
  EXPECT_EQ(queue.Earliest(), kNever);
  queue.Insert(links.data(), 0, 7);
  queue.Insert(links.data(), 1, 3'000'000'000);
  EXPECT_EQ(queue.Earliest(), 7u);
  TimeQueue::Remove(links.data(), 0);
  queue.AdvanceTo(links.data(), 8, [](std::uint32_t) { return kNever; });
  const std::uint64_t earliest = queue.Earliest();
  EXPECT_GT(earliest, 2'900'000'000u);  // Within a unit.
  EXPECT_LE(earliest, 3'000'000'000u);
  TimeQueue::Remove(links.data(), 1);
  queue.AdvanceTo(links.data(), 3'000'000'001, [](std::uint32_t) { return kNever; });
  EXPECT_EQ(queue.Earliest(), kNever);
}

// However often time moves, an entry is looked at once per digit and no more: this is what makes a
// call O(1).
TEST(TimeQueue, LooksAtAnEntryAFewTimesHoweverOftenTimeMoves) {
  constexpr Duration kSpan = seconds(5);
  constexpr std::uint32_t kEntries = 1000;
  std::vector<IndexLinks> links(kEntries + TimeQueue::HeadCount(kSpan));
  TimeQueue queue(kSpan, kSpan, links.data(), kEntries);
  const auto span = static_cast<std::uint64_t>(kSpan.count());
  for (std::uint32_t i = 0; i < kEntries; ++i) queue.Insert(links.data(), i, span - i * 999);
  std::uint64_t looks = 0, out = 0;
  const auto look = [&](std::uint32_t i) {
    ++looks;
    const std::uint64_t time = span - i * 999;
    if (time >= queue.frontier()) return time;
    ++out;
    return kNever;
  };
  for (std::uint64_t now = 0; now < span - 2'000'000; now += 10'000) {
    queue.AdvanceTo(links.data(), now, look);
  }
  for (std::uint64_t now = span - 2'000'000; now <= span; now += 7) {
    queue.AdvanceTo(links.data(), now, look);
  }
  queue.AdvanceTo(links.data(), span + 1, look);
  EXPECT_EQ(out, kEntries);
  EXPECT_LE(looks, kEntries * 7);  // 26 bits of a unit are 5 digits; the ring; and to leave.
}

// Another span, and a frontier that may lie before the old one: every entry is looked at once, and
// comes up at its time.
TEST(TimeQueue, RestartsWithAnotherSpan) {
  constexpr std::uint32_t kEntries = 100;
  constexpr Duration kMost(1'000'000'000);
  std::vector<IndexLinks> links(kEntries + TimeQueue::HeadCount(kMost));
  TimeQueue queue(Duration(1000), kMost, links.data(), kEntries);
  queue.AdvanceTo(links.data(), 1'000'000, [](std::uint32_t) { return TimeQueue::kNever; });
  for (std::uint32_t i = 0; i < kEntries; ++i) queue.Insert(links.data(), i, 1'000'000 + i * 10);
  for (const std::int64_t span : {std::int64_t{1'000'000'000}, std::int64_t{5000}}) {
    std::vector<int> looked(kEntries, 0);
    queue.Restart(links.data(), Duration(span), 999'000, [&](std::uint32_t i) {
      ++looked[i];
      return i % 2 == 0 ? std::uint64_t{1'000'000 + i * 10} : TimeQueue::kNever;
    });
    for (std::uint32_t i = 0; i < kEntries; ++i) {
      EXPECT_EQ(looked[i], i % 2 == 0 || span > 5000 ? 1 : 0);
    }
    EXPECT_EQ(queue.frontier(), 999'000u);
  }
  std::vector<std::uint32_t> due;
  for (std::uint64_t to = 1'000'001; to <= 1'001'001; ++to) {
    queue.AdvanceTo(links.data(), to, [&](std::uint32_t i) {
      if (1'000'000 + i * 10 >= to) return std::uint64_t{1'000'000 + i * 10};
      due.push_back(i);
      EXPECT_EQ(1'000'001 + i * 10, to);
      return TimeQueue::kNever;
    });
  }
  EXPECT_EQ(due.size(), kEntries / 2);
}

}  // namespace
}  // namespace shed::internal
