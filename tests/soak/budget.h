// How long a soak runs: a fixed number of operations, or until its time is over.
#ifndef SHED_TESTS_SOAK_BUDGET_H_
#define SHED_TESTS_SOAK_BUDGET_H_

#include <chrono>

namespace shed::soak {

struct Budget {
  // Of all soaks of the binary together. 0: `operations` instead.
  static inline double seconds = 0;
  // Of each thread. What ThreadSanitizer can do in a few seconds.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  static constexpr int kOperations = 500;
#else
  static constexpr int kOperations = 10'000;
#endif

  // For one of `soaks`, from now on.
  explicit Budget(int soaks)
      : end_(std::chrono::steady_clock::now() +
             std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                 std::chrono::duration<double>(seconds / soaks))) {}

  // Whether a thread goes on after so many operations.
  bool Lasts(int operations) const {
    if (seconds == 0) return operations < kOperations;
    // The clock is not looked at each time.
    return operations % 64 != 0 || std::chrono::steady_clock::now() < end_;
  }

 private:
  std::chrono::steady_clock::time_point end_;
};

}  // namespace shed::soak

#endif  // SHED_TESTS_SOAK_BUDGET_H_
