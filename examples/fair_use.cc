// An allowance per caller, in milliseconds of database time, settled after the work: what a service
// tells its callers with every answer, so that a tool can slow down before it is slowed down.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include "shed/shed.h"

using namespace std::chrono_literals;

// A clock that the example moves; a service leaves it out, and uses shed::Limiter.
using Throttle = shed::BasicLimiter<shed::ManualClock, shed::StdSync, shed::UsageThrottle>;

double Seconds(shed::Duration d) { return std::chrono::duration<double>(d).count(); }

// What a service sends with an answer, and what a well-behaved client looks at.
void PrintHeaders(Throttle& throttle, const char* user) {
  const auto state =
      throttle.Apply<shed::UsageThrottle>([=](auto& policy, shed::TimePoint now, shed::Events&) {
        return policy.ReadCaller(user, now);
      });
  std::printf("    X-RateLimit-Limit: %llu\n", static_cast<unsigned long long>(state.limit));
  std::printf("    X-RateLimit-Remaining: %llu\n",
              static_cast<unsigned long long>(state.remaining));
  std::printf("    X-RateLimit-Reset: %.0f\n", Seconds(state.reset));
  // The current delay, once there is one.
  if (state.delay > 0s) std::printf("    X-RateLimit-Delay: %.3f\n", Seconds(state.delay));
}

struct Served {
  bool admitted = false;
  shed::Duration delay{0};
};

// A call whose work takes `took` of database time.
Served Serve(Throttle& throttle, shed::ManualClock& clock, const char* user, shed::Duration took) {
  // The cost is an estimate, what such calls usually take: until it is settled, the call counts at
  // that. The client said that it accepts a delay of half a minute.
  auto guard = throttle.TryAdmit({.caller = user, .cost = 400, .max_wait = 30s});
  if (!guard) {
    const shed::Rejection refusal = guard.rejection();
    std::printf("  429 Too Many Requests\n");
    if (refusal.retry_after()) {
      std::printf("    Retry-After: %.0f\n", Seconds(*refusal.retry_after()));
    }
    PrintHeaders(throttle, user);
    return {};
  }
  // Here a service waits, by a timer; the library never sleeps.
  const shed::Duration delay = guard.wait();
  clock.Advance(delay + took);
  guard.Charge(static_cast<std::uint64_t>(took / 1ms));
  guard.Complete(shed::Outcome::kSuccess);
  std::printf("  200 OK, after %.3f s\n", Seconds(delay));
  PrintHeaders(throttle, user);
  return {.admitted = true, .delay = delay};
}

int main() {
  shed::ManualClock clock(shed::TimePoint(1h));
  // Two seconds of database time a minute; refused above four.
  Throttle throttle(clock, {.soft = 2000, .hard = 4000, .window = 1min});

  std::printf("A tool asks for half a second of database time, again and again:\n");
  int at_once = 0;
  int delayed = 0;
  for (int i = 0; i < 6; ++i) {
    const Served served = Serve(throttle, clock, "tool", 500ms);
    if (served.admitted) (served.delay > 0s ? delayed : at_once) += 1;
  }

  std::printf(
      "One of its calls takes five seconds; the next is refused, whatever delay it accepts:\n");
  Serve(throttle, clock, "tool", 5s);
  const bool blocked = !Serve(throttle, clock, "tool", 500ms).admitted;

  std::printf("Another user has an allowance of his own:\n");
  const bool other = Serve(throttle, clock, "ada", 100ms).delay == 0s;

  std::printf("A minute of calm later:\n");
  clock.Advance(1min);
  const Served back = Serve(throttle, clock, "tool", 500ms);
  return at_once > 0 && delayed > 0 && blocked && other && back.admitted && back.delay == 0s ? 0
                                                                                             : 1;
}
