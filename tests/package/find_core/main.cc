// Uses shed::core on a machine that may have no Abseil.
#include "shed/limiter.h"
#include "shed/rate_limiter.h"

int main() {
  shed::Limiter<shed::RateLimiter> limiter({.rate = 1, .burst = 1});
  auto first = limiter.TryAdmit({});
  auto second = limiter.TryAdmit({});
  first.Complete(shed::Outcome::kSuccess);
  return first && !second ? 0 : 1;
}
