#include "shed/internal/wake_word.h"

#include <gtest/gtest.h>

#include "shed/sync.h"

namespace shed::internal {
namespace {

TEST(WakeWord, TellsWhatWasThereBefore) {
  WakeWord<NoSync> word;
  EXPECT_EQ(word.AddEnd().waiting, 0u);
  const auto seen = word.Look();
  EXPECT_EQ(seen.ends, 1u);
  EXPECT_EQ(word.AddWaiter().ends, seen.ends);  // No end since.
  EXPECT_EQ(word.AddEnd().waiting, 1u);
  EXPECT_EQ(word.AddWaiter().ends, 2u);
  EXPECT_EQ(word.Look().waiting, 2u);
  word.RemoveWaiter();
  word.RemoveWaiter();
  EXPECT_EQ(word.Look().waiting, 0u);
  EXPECT_EQ(word.Look().ends, 2u);
}

// Three wait, and so many calls ended that there is no higher number.
struct Start : NoSync {
  template <class T>
  struct Atomic : NoSync::Atomic<T> {
    explicit Atomic(T) noexcept : NoSync::Atomic<T>(0xffff'ffff'0000'0003) {}
  };
};
// More ends than half a word holds leave those that wait alone.
TEST(WakeWord, EndsRunOver) {
  WakeWord<Start> word;
  EXPECT_EQ(word.AddEnd().waiting, 3u);
  EXPECT_EQ(word.Look().waiting, 3u);
  EXPECT_EQ(word.Look().ends, 0u);
}

}  // namespace
}  // namespace shed::internal
