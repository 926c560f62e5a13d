// A waiting room in front of a limiter: a burst is worked off in order, instead of being refused;
// what cannot be done in time is not done at all; and nobody waits in a thread. The clock moves by
// hand here, and the event loop is a loop: in a service its timer calls Poll() at NextDeadline().
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "shed/shed.h"

using namespace std::chrono_literals;
using Limiter = shed::BasicLimiter<shed::ManualClock, shed::StdSync, shed::ConcurrencyLimiter>;
using Queue = shed::AdmissionQueue<Limiter>;

int main() {
  shed::ManualClock clock;
  Limiter limiter(clock, {.limit = 2});
  struct Work {
    int call;
    Queue::Guard guard;
  };
  std::vector<Work> working;
  int refused = 0;
  Queue queue(limiter, {.max_waiting = 10, .max_wait = 80ms, .min_service = 10ms});

  // Twelve calls at once, where two fit. The clients of the even ones wait for 45 ms; as a call
  // takes 10, what is not begun after 35 is of no use to them.
  for (int call = 0; call < 12; ++call) {
    const shed::Duration patience = call % 2 == 0 ? 45ms : 500ms;
    queue.Enter({.time_left = patience}, [&, call](Queue::Guard guard) {
      if (guard) {
        std::printf("%3d ms: call %d runs\n",
                    static_cast<int>(clock.Now().time_since_epoch() / 1ms), call);
        working.push_back({call, std::move(guard)});
      } else {
        std::printf("%3d ms: call %d is refused: %s\n",
                    static_cast<int>(clock.Now().time_since_epoch() / 1ms), call,
                    std::string(Name(guard.rejection().reason())).c_str());
        ++refused;
      }
    });
  }
  int served = 0;
  while (!working.empty()) {
    const shed::TimePoint done = clock.Now() + 10ms;
    while (queue.NextDeadline() < done) {
      clock.Set(queue.NextDeadline());
      queue.Poll();
    }
    clock.Set(done);
    // The end of a call lets in the next.
    for (Work& work : std::exchange(working, {})) {
      work.guard.Complete(shed::Outcome::kSuccess);
      ++served;
    }
  }
  const shed::AdmissionQueueSnapshot seen = queue.Read();
  std::printf("served %d, refused %d; the longest wait was %d ms\n", served, refused,
              static_cast<int>(seen.longest_wait / 1ms));
  return served == 10 && refused == 2 && seen.expired == 2 ? 0 : 1;
}
