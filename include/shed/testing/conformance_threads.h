// What a policy under test must do when many threads call it, and one changes its options.
#ifndef SHED_TESTING_CONFORMANCE_THREADS_H_
#define SHED_TESTING_CONFORMANCE_THREADS_H_

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "shed/clock.h"
#include "shed/internal/random.h"
#include "shed/policy.h"
#include "shed/request.h"
#include "shed/testing/policy_subject.h"
#include "shed/time.h"

namespace shed {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr int kConformanceRounds = 1'000;
#else
inline constexpr int kConformanceRounds = 10'000;
#endif

// Eight threads whose clock moves, with every way to end a call; where the policy can be
// configured, a ninth puts Traits::Tight() and Traits::Free() in force in turn. Afterwards nothing
// is in flight, and it admits as it should.
template <class Traits>
void ExpectSoundUnderThreads() {
  using Subject = PolicySubject<Traits>;
  Subject subject(Traits::Free());
  ManualClock clock(subject.now);
  const auto work = [&](std::uint64_t thread) {
    std::vector<typename Subject::Held> held;
    for (int i = 0; i < kConformanceRounds; ++i) {
      const std::uint64_t draw = internal::Mix(thread * 1'000'003 + static_cast<std::uint64_t>(i));
      clock.Advance(Duration(draw % 50'000));
      const TimePoint now = After(clock.Now(), -Duration(draw / 64 % 1000));
      Request request{.caller = subject.Caller(draw % 5), .cost = draw / 7 % 3};
      request.criticality = static_cast<Criticality>(draw / 11 % kCriticalityCount);
      held.push_back(subject.AdmitAt(now, request));
      if (held.size() > 4) {
        subject.EndAt(clock.Now(), held.front(), draw >> 32);
        held.erase(held.begin());
      }
      if (i % 256 == 0) subject.Touch();
    }
    for (auto& call : held) subject.EndAt(clock.Now(), call, 0);
  };
  std::atomic<bool> done{false};
  std::thread configuring([&] {
    if constexpr (CanConfigure<typename Traits::Policy>) {
      // The free ones come last.
      for (std::uint64_t i = 0; i % 2 == 1 || !done.load(); ++i) {
        const auto options = i % 2 == 0 ? Traits::Tight() : Traits::Free();
        EXPECT_EQ(subject.policy().Configure(options, clock.Now()), "");
        std::this_thread::yield();
      }
    }
  });
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 8; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
  done.store(true);
  configuring.join();
  subject.now = clock.Now();
  EXPECT_EQ(subject.InFlight(), 0u);
  EXPECT_TRUE(subject.Recovers());
}

}  // namespace shed

#endif  // SHED_TESTING_CONFORMANCE_THREADS_H_
