#include "shed/internal/answer_frames.h"

#include <gtest/gtest.h>

namespace shed::internal {
namespace {

TEST(AnswerFrames, KnowsEachThreadUntilItsLastFrameIsGone) {
  AnswerFrames frames;
  AnswerFrames::Frame one{.thread = 1};
  AnswerFrames::Frame two{.thread = 2};
  AnswerFrames::Frame one_again{.thread = 1};
  EXPECT_FALSE(frames.Has(1));
  frames.Push(one);
  frames.Push(two);
  frames.Push(one_again);
  EXPECT_TRUE(frames.Has(1));
  EXPECT_TRUE(frames.Has(2));
  EXPECT_FALSE(frames.Has(3));
  frames.Remove(one_again);
  EXPECT_TRUE(frames.Has(1));
  frames.Remove(one);  // From below another.
  EXPECT_FALSE(frames.Has(1));
  EXPECT_TRUE(frames.Has(2));
  frames.Remove(two);
  EXPECT_FALSE(frames.Has(2));
}

}  // namespace
}  // namespace shed::internal
