// Uses all of shed, so that Abseil must link.
#include "shed/shed.h"

int main() {
  using Limiter = shed::Limiter<shed::RateLimiter, shed::ConcurrencyLimiter>;
  const auto limiter = shed::Create<Limiter>({.rate = 1, .burst = 1}, {.limit = 4});
  if (!limiter.ok()) return 1;
  const auto handler = [] {};
  const absl::Status first = shed::Run(**limiter, {.caller = "a"}, handler);
  const absl::Status second = shed::Run(**limiter, {.caller = "a"}, handler);
  return first.ok() && shed::IsRejection(second) ? 0 : 2;
}
