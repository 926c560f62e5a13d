// The whole library in a program built without exceptions, or without RTTI, or with -ffast-math:
// it compiles without a warning, links and does its work.
#include "shed/shed.h"

int main() {
  using Limiter = shed::Limiter<shed::RateLimiter, shed::ConcurrencyLimiter>;
  Limiter limiter({.rate = 1, .burst = 1}, {.limit = 4});
  auto first = limiter.TryAdmit();
  const auto second = limiter.TryAdmit();
  if (!first || second || second.rejection().policy_name() != "rate_limiter") return 1;
  first.Complete(shed::Outcome::kSuccess);
  const auto snapshot = limiter.Snapshot();
  if (snapshot.TotalAdmitted() != 1) return 2;
  // A bad value is refused with its name.
  const auto bad = shed::Create<Limiter>({.rate = -1}, {});
  return bad.ok() ? 3 : 0;
}
