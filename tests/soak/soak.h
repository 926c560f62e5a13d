// Eight threads and an operator on one limiter, and then the accounts.
#ifndef SHED_TESTS_SOAK_SOAK_H_
#define SHED_TESTS_SOAK_SOAK_H_

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "shed/clock.h"
#include "shed/events.h"
#include "shed/limiter.h"
#include "shed/sync.h"
#include "soak/budget.h"
#include "soak/counted.h"
#include "soak/policies.h"
#include "soak/tally.h"
#include "soak/worker.h"

namespace shed::soak {

// Counts events by kind.
class EventCounts final : public Observer {
 public:
  void OnEvent(const Event& event) noexcept override {
    counts_.at(static_cast<std::size_t>(event.kind)).fetch_add(1, std::memory_order_relaxed);
  }
  std::uint64_t Of(EventKind kind) const {
    return counts_.at(static_cast<std::size_t>(kind)).load(std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<std::uint64_t>, 32> counts_{};
};

// `ClockT` is a ManualClock unless the course is kReal.
template <class ClockT, class... Ps>
class Soak {
 public:
  explicit Soak(Course course) : course_(course), limiter_(Make(course)) {}

  void Run(const Budget& budget) {
    if (course_ == Course::kStanding) (KeepClosed<Ps>(), ...);
    constexpr std::size_t kThreads = 8;
    std::vector<Worker<Limiter>> workers;
    for (std::size_t i = 0; i < kThreads; ++i) {
      workers.emplace_back(*limiter_, exchanges_, StepClock(), i + 1);
    }
    std::atomic<std::size_t> running{kThreads};
    std::vector<std::thread> threads;
    for (Worker<Limiter>& worker : workers) {
      threads.emplace_back([&] {
        for (int i = 0; budget.Lasts(i); ++i) worker.Operate();
        worker.Finish();
        running.fetch_sub(1, std::memory_order_relaxed);
      });
    }
    threads.emplace_back([&] {
      while (running.load(std::memory_order_relaxed) != 0) Operate();
    });
    for (std::thread& thread : threads) thread.join();
    workers[0].Clear();

    Tally<sizeof...(Ps)> tally;
    for (const Worker<Limiter>& worker : workers) tally += worker.tally();
    ExpectSums(tally);
  }

 private:
  using Limiter = BasicLimiter<ClockT, StdSync, Counted<Ps>...>;
  using Snapshot = decltype(std::declval<Limiter&>().Snapshot());

  std::unique_ptr<Limiter> Make(Course course) {
    const LimiterOptions options{.name = "soak", .observer = &events_};
    if constexpr (std::is_empty_v<ClockT>) {
      return std::make_unique<Limiter>(OptionsFor<Ps>(course)..., options);
    } else {
      return std::make_unique<Limiter>(clock_, OptionsFor<Ps>(course)..., options);
    }
  }
  ManualClock* StepClock() {
    if constexpr (std::same_as<ClockT, ManualClock>) {
      if (course_ == Course::kStepping) return &clock_;
    }
    return nullptr;
  }
  template <class P>
  void KeepClosed() {
    if constexpr (std::derived_from<P, CircuitBreaker>) {
      limiter_->template Apply<Counted<P>>(
          [](CircuitBreaker& breaker, TimePoint now, Events& e) { breaker.ForceClosed(now, e); });
    }
  }

  // The operator: looks at everything, and forces what can be forced.
  void Operate() {
    const Snapshot s = limiter_->Snapshot();
    EXPECT_GE(s.TotalAdmitted(), last_admitted_) << "a count went back";
    last_admitted_ = s.TotalAdmitted();
    EXPECT_LE(s.TotalCompleted(), s.TotalAdmitted() + s.exempt);
    [&]<std::size_t... Is>(std::index_sequence<Is...>) {
      (ExpectInBounds<Ps>(std::get<Is>(s.policies)), ...);
    }
    (std::index_sequence_for<Ps...>());
    if (course_ != Course::kStanding) (Meddle<Counted<Ps>>(*limiter_, random_), ...);
    std::this_thread::yield();
  }

  void ExpectSums(const Tally<sizeof...(Ps)>& tally) {
    const Snapshot s = limiter_->Snapshot();
    EXPECT_EQ(s.in_flight, 0u);
    EXPECT_EQ(s.admitted, tally.admitted);
    EXPECT_EQ(s.exempt, tally.exempt);
    EXPECT_EQ(s.refused, tally.refused);
    EXPECT_EQ(s.completed, tally.completed);
    EXPECT_EQ(s.dropped, tally.dropped);
    EXPECT_GT(s.TotalAdmitted(), 0u);
    [&]<std::size_t... Is>(std::index_sequence<Is...>) { (ExpectSum<Is>(s, tally), ...); }
    (std::index_sequence_for<Ps...>());
  }
  template <std::size_t I>
  void ExpectSum(const Snapshot& s, const Tally<sizeof...(Ps)>& tally) {
    const auto& policy = limiter_->template Get<I>();
    SCOPED_TRACE(Limiter::PolicyName(I));
    using P = std::tuple_element_t<I, std::tuple<Ps...>>;
    EXPECT_EQ(policy.refused(), s.RefusedBy(I));
    std::uint64_t behind = 0;
    for (std::size_t i = I + 1; i < sizeof...(Ps); ++i) behind += s.RefusedBy(i);
    ExpectSettled<P>(policy, tally, behind, course_, limiter_->Now());
    // Alone, so that no call has more events than an array of them holds.
    if constexpr (sizeof...(Ps) == 1 && std::derived_from<P, CircuitBreaker>) {
      EXPECT_EQ(events_.Of(EventKind::kBreakerOpened), policy.Read(limiter_->Now()).opens_total);
    }
    if constexpr (sizeof...(Ps) == 1 && std::derived_from<P, DemeritTracker>) {
      EXPECT_EQ(events_.Of(EventKind::kCallerBecameHog), policy.Read(limiter_->Now()).hogs_total);
    }
  }

  const Course course_;
  EventCounts events_;
  ClockT clock_;
  std::unique_ptr<Limiter> limiter_;
  Exchanges<Limiter> exchanges_;
  std::mt19937_64 random_{99};
  std::uint64_t last_admitted_ = 0;
};

// One limiter under each course of time, which is three of the `soaks` of the binary.
template <class... Ps>
void SoakOnEveryCourse(int soaks) {
  {
    SCOPED_TRACE("real time");
    Soak<SteadyClock, Ps...>(Course::kReal).Run(Budget(soaks));
  }
  {
    SCOPED_TRACE("stepping time");
    Soak<ManualClock, Ps...>(Course::kStepping).Run(Budget(soaks));
  }
  {
    SCOPED_TRACE("standing time");
    Soak<ManualClock, Ps...>(Course::kStanding).Run(Budget(soaks));
  }
}

}  // namespace shed::soak

#endif  // SHED_TESTS_SOAK_SOAK_H_
