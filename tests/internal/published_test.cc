#include "shed/internal/published.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "shed/sync.h"

namespace shed::internal {
namespace {

struct Four {
  std::int64_t a = 0, b = 0, c = 0, d = 0;
  friend bool operator==(const Four&, const Four&) = default;
};

TEST(Published, HoldsWhatWasWrittenLast) {
  Published<NoSync, Four> published(Four{1, 2, 3, 4});
  EXPECT_EQ(published.Read(), (Four{1, 2, 3, 4}));
  for (std::int64_t i = 0; i < 5; ++i) {
    published.Write({i, -i, i, 7});
    EXPECT_EQ(published.Read(), (Four{i, -i, i, 7}));
  }
}

// Half of one write and half of another would be options that nobody set.
TEST(Published, IsReadWhole) {
  Published<StdSync, Four> published(Four{0, 0, 0, 0});
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  std::vector<std::int64_t> last(4);
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      while (!done.load()) {
        const Four four = published.Read();
        ASSERT_EQ(four.b, 2 * four.a);
        ASSERT_EQ(four.c, 3 * four.a);
        ASSERT_EQ(four.d, 4 * four.a);
        ASSERT_GE(four.a, last[t]);
        last[t] = four.a;
      }
    });
  }
  for (std::int64_t i = 1; i <= 20'000; ++i) published.Write({i, 2 * i, 3 * i, 4 * i});
  done.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(published.Read().a, 20'000);
}

}  // namespace
}  // namespace shed::internal
