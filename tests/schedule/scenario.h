// What a schedule runs: a few threads, and what must hold whatever their order.
#ifndef SHED_TESTS_SCHEDULE_SCENARIO_H_
#define SHED_TESTS_SCHEDULE_SCENARIO_H_

#include <cstdint>
#include <string>

namespace shed::schedule {

inline constexpr int kMaxThreads = 4;

// Made anew for each schedule.
//
// What decides what a thread does must not change, or reach the thread through the atomics and
// mutexes of ScheduledSync: then two states in which each thread has seen the same, and those hold
// the same, are the same state, and what follows need be tried only once. What a scenario notes for
// itself is part of the state, too: it gives that in Ghost(), unless each thread's part of the note
// follows from what the thread has seen.
class Scenario {
 public:
  // ScheduledSync::Stripe() gives the threads `stripes` different numbers.
  explicit Scenario(int threads, unsigned stripes = kMaxThreads) noexcept
      : threads_(threads), stripes_(stripes) {}
  virtual ~Scenario() = default;
  Scenario(const Scenario&) = delete;
  Scenario& operator=(const Scenario&) = delete;

  // The code of a thread, from 0. What it finds wrong it gives to Scheduler::Fail.
  virtual void Run(int thread) = 0;
  // After each access, when every thread waits for its next one; `thread` made the access. Returns
  // what is wrong, or "". May read what the threads share: here atomics and mutexes, though held,
  // do not wait and are not scheduled.
  virtual std::string Check(int thread) = 0;
  // When all threads are done: the same.
  virtual std::string End() = 0;
  virtual std::uint64_t Ghost() const { return 0; }

  int threads() const noexcept { return threads_; }
  unsigned stripes() const noexcept { return stripes_; }

 private:
  const int threads_;
  const unsigned stripes_;
};

}  // namespace shed::schedule

#endif  // SHED_TESTS_SCHEDULE_SCENARIO_H_
