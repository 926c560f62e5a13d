// How to test your own handler's overload behaviour: a clock that moves when you say so, no sleep,
// the same result on every machine.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "shed/shed.h"

using std::chrono::milliseconds;

// Your code, a template over the limiter so that a test can give it one with a ManualClock.
template <class Limiter>
bool Serve(Limiter& limiter) {
  auto guard = limiter.TryAdmit();
  if (!guard) return false;
  guard.Complete(shed::Outcome::kSuccess);
  return true;
}

void Check(bool ok, const char* what) {
  std::printf("%s: %s\n", ok ? "ok" : "FAILED", what);
  if (!ok) std::exit(1);
}

int main() {
  shed::ManualClock clock;
  shed::BasicLimiter<shed::ManualClock, shed::StdSync, shed::RateLimiter> limiter(
      clock, {.rate = 10, .burst = 2});

  Check(Serve(limiter) && Serve(limiter), "a burst of two is served");
  Check(!Serve(limiter), "the third is refused");
  clock.Advance(milliseconds(99));
  Check(!Serve(limiter), "and still is after 99 ms");
  clock.Advance(milliseconds(1));
  Check(Serve(limiter), "but not after 100");
  clock.Advance(std::chrono::hours(24 * 365 * 100));
  Check(Serve(limiter) && Serve(limiter) && !Serve(limiter), "a century later: a burst of two");
}
