// Stacks that take turns on one thread of the operating system. What looks like a thread to the
// code under test costs a few nanoseconds to leave and to enter again.
#ifndef SHED_TESTS_SCHEDULE_FIBER_H_
#define SHED_TESTS_SCHEDULE_FIBER_H_

#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>
#include <memory>

#if defined(__SANITIZE_ADDRESS__)
#define SHED_SCHEDULE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SHED_SCHEDULE_ASAN 1
#endif
#endif
#ifdef SHED_SCHEDULE_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace shed::schedule {

// The first entry goes through ucontext, which makes the stack; all later ones through _longjmp,
// which, unlike swapcontext, asks the system for nothing. No exception may leave a fiber, nor be
// in flight when it is left.
class Fiber {
 public:
  // The stack that runs already.
  Fiber() = default;
  // Runs body(argument) when it is first entered; body must never return.
  Fiber(void (*body)(void*), void* argument)
      : body_(body), argument_(argument), stack_(std::make_unique<std::byte[]>(kStackBytes)) {
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack_.get();
    context_.uc_stack.ss_size = kStackBytes;
    context_.uc_link = nullptr;
    makecontext(&context_, &Fiber::Enter, 0);
    bottom_ = stack_.get();
    bytes_ = kStackBytes;
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Leaves `from`, which runs, for `to`. Returns when something switches back to `from`.
  static void Switch(Fiber& from, Fiber& to) noexcept {
    left_ = &from;
    entered_ = &to;
    if (_setjmp(from.jump_) == 0) {
#ifdef SHED_SCHEDULE_ASAN
      __sanitizer_start_switch_fiber(&from.fake_stack_, to.bottom_, to.bytes_);
#endif
      if (to.started_) _longjmp(to.jump_, 1);
      to.started_ = true;
      setcontext(&to.context_);
    }
    Arrive();
  }

 private:
  static constexpr std::size_t kStackBytes = std::size_t{256} << 10;

  static void Enter() {
    entered_->started_ = true;
    Arrive();
    entered_->body_(entered_->argument_);
  }
  static void Arrive() noexcept {
    left_->started_ = true;
#ifdef SHED_SCHEDULE_ASAN
    // Tells the bounds of the stack just left: the first one's are not known otherwise.
    __sanitizer_finish_switch_fiber(entered_->fake_stack_, &left_->bottom_, &left_->bytes_);
#endif
  }

  static inline Fiber* left_ = nullptr;
  static inline Fiber* entered_ = nullptr;

  void (*body_)(void*) = nullptr;
  void* argument_ = nullptr;
  std::unique_ptr<std::byte[]> stack_;
  ucontext_t context_;
  jmp_buf jump_;
  bool started_ = false;
#ifdef SHED_SCHEDULE_ASAN
  void* fake_stack_ = nullptr;
#endif
  const void* bottom_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace shed::schedule

#endif  // SHED_TESTS_SCHEDULE_FIBER_H_
