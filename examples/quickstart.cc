// Three policies, one guard: what every call of a server goes through.
#include <cstdio>
#include <string>

#include "shed/shed.h"

// At most 500 calls per second, at most 16 of them at once, and none while the database is down.
using ServerLimiter =
    shed::Limiter<shed::RateLimiter, shed::CircuitBreaker, shed::ConcurrencyLimiter>;

std::string Query(const std::string& user) { return "hello, " + user; }

std::string Handle(ServerLimiter& limiter, const std::string& user) {
  auto guard = limiter.TryAdmit({.caller = user});
  if (!guard) return "refused: " + std::string(shed::Name(guard.rejection().reason()));
  std::string reply = Query(user);
  guard.Complete(reply.empty() ? shed::Outcome::kFailure : shed::Outcome::kSuccess);
  return reply;
}

int main() {
  ServerLimiter limiter({.rate = 500, .burst = 3}, {}, {.limit = 16});
  for (int i = 0; i < 4; ++i) std::printf("%s\n", Handle(limiter, "ada").c_str());
  const auto snapshot = limiter.Snapshot();
  std::printf("admitted %d, refused %d\n", static_cast<int>(snapshot.TotalAdmitted()),
              static_cast<int>(snapshot.TotalRefused()));
  return snapshot.TotalAdmitted() >= 3 && snapshot.in_flight == 0 ? 0 : 1;
}
