// What the order of composition does, with numbers: the same two policies in either order, the same
// traffic. One loud caller asks 1000 times a second, nine others 5 times; a call takes 50 ms, and
// the service is good for 100 calls a second.
#include <array>
#include <chrono>
#include <cstdio>
#include <deque>
#include <string>
#include <utility>

#include "shed/shed.h"

using std::chrono::milliseconds;

constexpr int kQuiet = 9;
constexpr int kSeconds = 60;

struct Shares {
  double quiet = 0;  // Of what the nine asked, the part that was admitted.
  double loud_per_s = 0;
};

template <class Limiter>
Shares Measure(shed::ManualClock& clock, Limiter& limiter) {
  std::deque<std::pair<shed::TimePoint, typename Limiter::Guard>> running;
  std::array<std::string, kQuiet> names;
  for (int i = 0; i < kQuiet; ++i) names[static_cast<std::size_t>(i)] = "quiet" + std::to_string(i);
  int asked = 0;
  int admitted = 0;
  int loud = 0;
  const auto ask = [&](const std::string& caller) {
    auto guard = limiter.TryAdmit({.caller = caller});
    if (!guard) return false;
    running.emplace_back(clock.Now() + milliseconds(50), std::move(guard));
    return true;
  };
  for (int ms = 0; ms < kSeconds * 1000; ++ms) {
    clock.Advance(milliseconds(1));
    while (!running.empty() && running.front().first <= clock.Now()) {
      running.front().second.Complete(shed::Outcome::kSuccess);
      running.pop_front();
    }
    loud += ask("loud");
    for (int i = 0; i < kQuiet; ++i) {
      if (ms % 200 != 20 * i) continue;
      ++asked;
      admitted += ask(names[static_cast<std::size_t>(i)]);
    }
  }
  return {static_cast<double>(admitted) / asked, static_cast<double>(loud) / kSeconds};
}

int main() {
  const shed::RateLimiterOptions rate = {.rate = 100, .burst = 10};
  const shed::DemeritTrackerOptions fair = {.budget = 20};

  // The tracker learns from what the rate limiter behind it refuses: the nine are waiting, so the
  // loud one is held to its share.
  shed::ManualClock clock;
  shed::BasicLimiter<shed::ManualClock, shed::StdSync, shed::DemeritTracker, shed::RateLimiter>
      fair_first(clock, fair, rate);
  const Shares first = Measure(clock, fair_first);
  // The other way round it never hears of those refusals, and lets the loud one borrow.
  shed::ManualClock other_clock;
  shed::BasicLimiter<shed::ManualClock, shed::StdSync, shed::RateLimiter, shed::DemeritTracker>
      rate_first(other_clock, rate, fair);
  const Shares second = Measure(other_clock, rate_first);

  std::printf("DemeritTracker, RateLimiter: the nine get %3.0f %%, the loud one %.0f/s\n",
              100 * first.quiet, first.loud_per_s);
  std::printf("RateLimiter, DemeritTracker: the nine get %3.0f %%, the loud one %.0f/s\n",
              100 * second.quiet, second.loud_per_s);
  return first.quiet > 0.95 && second.quiet < 0.5 ? 0 : 1;
}
