// The threads that are giving answers, each by a frame on its stack.
#ifndef SHED_INTERNAL_ANSWER_FRAMES_H_
#define SHED_INTERNAL_ANSWER_FRAMES_H_

#include <cstdint>

namespace shed::internal {

// A callback that ends a call leads back to where it was called from: a thread that is here goes on
// from there, instead of another turn on top of it. Not thread-safe.
class AnswerFrames {
 public:
  struct Frame {
    std::uintptr_t thread = 0;
    Frame* below = nullptr;
  };

  bool Has(std::uintptr_t thread) const noexcept {
    const Frame* frame = top_;
    while (frame != nullptr && frame->thread != thread) frame = frame->below;
    return frame != nullptr;
  }
  void Push(Frame& frame) noexcept {
    frame.below = top_;
    top_ = &frame;
  }
  // Requires that the frame is here.
  void Remove(Frame& frame) noexcept {
    Frame** link = &top_;
    while (*link != &frame) link = &(*link)->below;
    *link = frame.below;
  }

 private:
  Frame* top_ = nullptr;
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_ANSWER_FRAMES_H_
