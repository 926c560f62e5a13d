// A policy without Options is handed to the limiter as it is, which must be able to keep it.
//
// Rejected with: shed: a policy without Options is copied into the limiter
#include <atomic>

#include "shed/limiter.h"

struct Counter {
#ifdef SHED_REJECT
  std::atomic<int> calls = 0;
#else
  int calls = 0;
#endif
  static constexpr std::string_view kName = "counter";
  shed::Verdict Admit(const shed::Request&, shed::TimePoint) noexcept {
    ++calls;
    return shed::Verdict::Admit();
  }
};

shed::Limiter<Counter> limiter(Counter{});
