// The facade: policies composed at compile time, asked in order, undone last first.
//
//   shed::Limiter<shed::RateLimiter, shed::ConcurrencyLimiter> limiter(
//       {.rate = 500}, {.limit = 32});
//
//   auto guard = limiter.TryAdmit({.caller = user});
//   if (!guard) return Refuse(guard.rejection());
//   Reply reply = Handle(request);
//   guard.Complete(reply.ok() ? shed::Outcome::kSuccess : shed::Outcome::kFailure);
//
// The order matters. At the first refusal the policies that had admitted the call get Cancel, last
// first, and are as if it had never come; those behind are not asked. So put what is cheap and what
// refuses for the caller's sake first (rate, fair share), what holds permits last. It decides what
// a policy sees, too: behind a rate limiter, a demerit tracker sees only what the rate let through.
#ifndef SHED_LIMITER_H_
#define SHED_LIMITER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "shed/clock.h"
#include "shed/events.h"
#include "shed/guard.h"
#include "shed/internal/bounds.h"
#include "shed/internal/call_counts.h"
#include "shed/internal/check_policy.h"
#include "shed/internal/hints.h"
#include "shed/internal/invoke.h"
#include "shed/internal/policy_stack.h"
#include "shed/limiter_snapshot.h"
#include "shed/named.h"
#include "shed/policy.h"
#include "shed/sync.h"

namespace shed {

template <class L, class Sync>
class AdmissionQueue;

struct LimiterOptions {
  // In snapshots and events.
  std::string_view name = "limiter";
  // Told of every state change of the policies; must outlive the limiter. nullptr: nobody is.
  Observer* observer = nullptr;
};

// Thread-safe: any member, any thread. TryAdmit and the guards never allocate (but for the policy
// that a Keyed makes for a new key), throw or sleep, and lock only where a policy says so. Reads
// its clock once per admission, and once per completion if a policy needs the time then; every
// policy sees the same instant.
template <Clock ClockT, class Sync, class... Policies>
class BasicLimiter {
  static_assert((internal::CheckPolicy<Policies, Sync>::kOk && ...));
  static_assert(internal::NamesDiffer<Policies...>(),
                "shed: two policies of this limiter have the same name; give one of them another "
                "with Named<\"...\", P>");

 public:
  using Guard = AdmissionGuard<BasicLimiter>;
  using Tickets = std::tuple<TicketOf<Policies>...>;
  using Synchronisation = Sync;
  static constexpr std::size_t kPolicyCount = sizeof...(Policies);
  // True if a policy holds calls in flight: a call must not wait behind it, so that policies are
  // offered no `max_wait`.
  static constexpr bool kHolds = (Holds<Policies> || ...);

  // One Options per policy, or the policy itself where it has none.
  // Throws std::invalid_argument with the sentence of the first bad Options.
  explicit BasicLimiter(const internal::ParameterOf<Policies>&... parameters,
                        const LimiterOptions& options = {}) requires(std::is_empty_v<ClockT>)
      : name_(options.name), observer_(options.observer), policies_(hot_, parameters...) {}
  // The clock must outlive the limiter.
  explicit BasicLimiter(const ClockT& clock, const internal::ParameterOf<Policies>&... parameters,
                        const LimiterOptions& options = {}) requires(!std::is_empty_v<ClockT>)
      : clock_{&clock},
        name_(options.name),
        observer_(options.observer),
        policies_(hot_, parameters...) {}
  // A clock that dies with the call.
  explicit BasicLimiter(const ClockT&&, const internal::ParameterOf<Policies>&...,
                        const LimiterOptions& = {}) requires(!std::is_empty_v<ClockT>) = delete;
  BasicLimiter(const BasicLimiter&) = delete;
  BasicLimiter& operator=(const BasicLimiter&) = delete;

  // Returns what the constructor would throw for these, or "".
  static constexpr std::string_view Problem(
      const internal::ParameterOf<Policies>&... parameters) noexcept {
    std::string_view problem;
    static_cast<void>(
        ((problem = internal::ProblemOf<Policies>(parameters), problem.empty()) && ...));
    return problem;
  }

  // Asks whether a call may run. The guard is true if so; see AdmissionGuard.
  Guard TryAdmit(const Request& request = {}) noexcept {
    // The clock first: a processor waits for what came before, and goes on with what comes after.
    return Guard(*this, request, Now());
  }

  // The policy of type P. Does not compile where P occurs twice: use the place or the name.
  template <class P>
  P& Get() noexcept {
    return policies_.template Get<IndexOfType<P>()>();
  }
  template <class P>
  const P& Get() const noexcept {
    return policies_.template Get<IndexOfType<P>()>();
  }
  // The policy at place I, from 0.
  template <std::size_t I>
  auto& Get() noexcept {
    return policies_.template Get<I>();
  }
  template <std::size_t I>
  const auto& Get() const noexcept {
    return policies_.template Get<I>();
  }
  // The policy of that name.
  template <FixedString kText>
  auto& Get() noexcept {
    return policies_.template Get<IndexOfName(kText.view())>();
  }
  template <FixedString kText>
  const auto& Get() const noexcept {
    return policies_.template Get<IndexOfName(kText.view())>();
  }

  // New options for the policy of type P, or of that name, while calls are in flight. Returns ""
  // or, changing nothing, the sentence that names the field and the range. What stays is with P.
  template <class P>
  std::string_view Configure(const typename P::Options& options) {
    return Get<P>().Configure(options, Now());
  }
  template <FixedString kText>
  std::string_view Configure(const auto& options) {
    return Get<kText>().Configure(options, Now());
  }

  // Calls `change(policy, now, events)` for the policy of type P, and tells the observer what it
  // changed: `limiter.Apply<CircuitBreaker>([](auto& breaker, TimePoint now, Events& events) {
  // breaker.ForceOpen(now, events); })`. Returns what `change` returns.
  template <class P, class Change>
  decltype(auto) Apply(Change&& change) {
    return ApplyAt<IndexOfType<P>()>(std::forward<Change>(change));
  }
  template <FixedString kText, class Change>
  decltype(auto) Apply(Change&& change) {
    return ApplyAt<IndexOfName(kText.view())>(std::forward<Change>(change));
  }

  // All counts, and every policy's own snapshot.
  LimiterSnapshot<Policies...> Snapshot() const noexcept {
    LimiterSnapshot<Policies...> snapshot;
    snapshot.name = name_;
    counts_.Read(snapshot);
    ReadPolicies(snapshot, Now(), std::index_sequence_for<Policies...>());
    return snapshot;
  }

  std::string_view name() const noexcept { return name_; }
  TimePoint Now() const noexcept {
    if constexpr (std::is_empty_v<ClockT>) {
      return ClockT{}.Now();
    } else {
      return clock_.clock->Now();
    }
  }
  // Requires policy < kPolicyCount.
  static constexpr std::string_view PolicyName(std::size_t policy) noexcept {
    return LimiterSnapshot<Policies...>::kPolicyNames[policy];
  }

 private:
  friend Guard;
  template <class, class>
  friend class AdmissionQueue;

  struct Nothing {};
  struct ClockReference {
    const ClockT* clock;
  };
  static constexpr bool kTimedCompletion = (CompletesTimed<Policies> || ...);

  template <class P>
  static consteval std::size_t IndexOfType() {
    constexpr std::size_t kCount = (std::size_t{std::is_same_v<P, Policies>} + ... + 0);
    static_assert(kCount != 0, "shed: this limiter has no policy of that type");
    static_assert(kCount < 2,
                  "shed: this limiter has several policies of that type; use Get<I>() or "
                  "Get<\"name\">()");
    constexpr bool kIs[] = {std::is_same_v<P, Policies>..., true};
    std::size_t i = 0;
    while (!kIs[i]) ++i;
    return i;
  }
  // Not a constant, so a compile error, where there is no such name.
  static consteval std::size_t IndexOfName(std::string_view name) {
    std::size_t i = 0;
    while (PolicyName(i) != name) ++i;
    return i;
  }

  void Admit(const Request& request, TimePoint now, Guard& guard) noexcept {
    if (request.exempt || request.max_wait != Duration::zero()) [[unlikely]] {
      AdmitSpecial(request, now, guard);
      return;
    }
    Ask(request, now, guard);
  }
  // By value, so that the request of every call need not be laid out in memory.
  SHED_SELDOM void AdmitSpecial(Request request, TimePoint now, Guard& guard) noexcept {
    if (request.exempt) {
      counts_.Exempt();
      guard.exceptions_ = internal::UncaughtExceptions();
      guard.limiter_ = this;
      guard.state_ = Guard::State::kExempt;
      guard.started_ = now;
      return;
    }
    // Policies see a wait that they may use as it is: never negative, never past the time left.
    request.max_wait = kHolds ? Duration::zero()
                              : internal::Max(internal::Min(request.time_left, request.max_wait),
                                              Duration::zero());
    Ask(request, now, guard);
  }

  SHED_INLINE void Ask(const Request& request, TimePoint now, Guard& guard) noexcept {
    AskThen(request, now, guard, [this, now](Events& events) { Deliver(events, now); });
  }
  // Leaves it to the caller to deliver the events. An AdmissionQueue asks so under its lock: nobody
  // is told anything under a lock.
  void AskQuietly(const Request& request, TimePoint now, Guard& guard, Events& events) noexcept {
    AskThen(request, now, guard, [&events](const Events& pushed) { events.Append(pushed); });
  }
  // The events have to be its own: with those of a caller a refusal takes 10 ns longer.
  template <class Then>
  SHED_INLINE void AskThen(const Request& request, TimePoint now, Guard& guard,
                           const Then& then) noexcept {
    Events events;
    if (AdmitFrom<0>(request, now, guard, events)) [[likely]] {
      guard.exceptions_ = internal::UncaughtExceptions();
      guard.limiter_ = this;
      guard.state_ = Guard::State::kAdmitted;
      guard.started_ = After(now, guard.verdict_.wait());
      guard.cost_ = internal::Max<std::uint64_t>(request.cost, 1);
      counts_.Admitted(request.criticality);
    } else {
      guard.state_ = Guard::State::kRefused;
      counts_.Refused(guard.policy_, guard.verdict_.reason(), request.criticality);
    }
    then(events);
  }

  // Asks policy I and those behind it. At a refusal undoes what was admitted, last first.
  template <std::size_t I>
  SHED_INLINE bool AdmitFrom(const Request& request, TimePoint now, Guard& guard,
                             Events& events) noexcept {
    if constexpr (I == kPolicyCount) {
      return true;
    } else {
      auto& policy = policies_.template Get<I>();
      events.set_policy(I);
      const Verdict verdict =
          internal::Admit(policy, request, now, std::get<I>(guard.tickets_), events);
      if (!verdict.admitted()) {
        guard.verdict_ = verdict;
        guard.policy_ = I;
        return false;
      }
      if (verdict.wait() > guard.verdict_.wait()) guard.verdict_ = verdict;
      if (AdmitBehind<I>(request, now, guard, events)) [[likely]]
        return true;
      events.set_policy(I);
      internal::Cancel(policy, std::get<I>(guard.tickets_), guard.verdict_, now, events);
      return false;
    }
  }

  // Apart from the first policy, which in an overload is often the only one that is asked.
  template <std::size_t I>
  bool AdmitBehind(const Request& request, TimePoint now, Guard& guard, Events& events) noexcept {
    return AdmitFrom<I + 1>(request, now, guard, events);
  }

  // Called by the guard, at most once, with `completion.now` still to be read.
  void CompleteAdmitted(Tickets& tickets, Completion completion) noexcept {
    if constexpr (kTimedCompletion) completion.now = Now();
    Events events;
    CompleteFrom<kPolicyCount>(tickets, completion, events);
    if constexpr (!kTimedCompletion) {
      // Nobody asked for the time, but an event has one.
      if (!events.empty() && observer_ != nullptr) [[unlikely]]
        completion.now = Now();
    }
    Deliver(events, completion.now);
  }
  template <std::size_t I>
  void CompleteFrom(Tickets& tickets, const Completion& completion, Events& events) noexcept {
    if constexpr (I > 0) {
      events.set_policy(I - 1);
      internal::Complete(policies_.template Get<I - 1>(), std::get<I - 1>(tickets), completion,
                         events);
      CompleteFrom<I - 1>(tickets, completion, events);
    }
  }

  void ChargeAdmitted(Tickets& tickets, std::uint64_t units) noexcept {
    if constexpr ((CanCharge<Policies> || ...)) {
      const TimePoint now = Now();
      Events events;
      ChargeEach(tickets, units, now, events, std::index_sequence_for<Policies...>());
      Deliver(events, now);
    }
  }
  template <std::size_t... Is>
  void ChargeEach(Tickets& tickets, std::uint64_t units, TimePoint now, Events& events,
                  std::index_sequence<Is...>) noexcept {
    ((events.set_policy(Is),
      internal::Charge(policies_.template Get<Is>(), std::get<Is>(tickets), units, now, events)),
     ...);
  }

  template <std::size_t I, class Change>
  decltype(auto) ApplyAt(Change&& change) {
    // Delivers when `change` is done, whatever it returns.
    struct Delivery {
      BasicLimiter& limiter;
      TimePoint now;
      Events events;
      explicit Delivery(BasicLimiter& l) : limiter(l), now(l.Now()) { events.set_policy(I); }
      ~Delivery() { limiter.Deliver(events, now); }
    } delivery(*this);
    return std::forward<Change>(change)(policies_.template Get<I>(), delivery.now, delivery.events);
  }

  template <std::size_t... Is>
  void ReadPolicies(LimiterSnapshot<Policies...>& snapshot, TimePoint now,
                    std::index_sequence<Is...>) const noexcept {
    const auto read = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      if constexpr (CanRead<std::tuple_element_t<I, std::tuple<Policies...>>>) {
        std::get<I>(snapshot.policies) = policies_.template Get<I>().Read(now);
      }
    };
    (read(std::integral_constant<std::size_t, Is>()), ...);
    static_cast<void>(read);
    static_cast<void>(now);
  }

  void Deliver(Events& events, TimePoint now) noexcept {
    if (!events.empty() && observer_ != nullptr) [[unlikely]]
      DeliverAll(events, now);
  }
  SHED_SELDOM void DeliverAll(Events& events, TimePoint now) noexcept {
    for (std::size_t i = 0; i < events.size(); ++i) {
      Event& event = events[i];
      event.at = now;
      event.limiter = name_;
      event.policy = PolicyName(event.policy_index);
      observer_->OnEvent(event);
    }
  }

  internal::HotBlock<std::index_sequence_for<Policies...>, Policies...> hot_;
  [[no_unique_address]] std::conditional_t<std::is_empty_v<ClockT>, Nothing, ClockReference> clock_;
  const std::string name_;
  Observer* const observer_;
  internal::PolicyStack<std::index_sequence_for<Policies...>, Policies...> policies_;
  internal::CallCounts<Sync, sizeof...(Policies)> counts_;
};

// The limiter most services want: std::chrono::steady_clock, any number of threads.
template <class... Policies>
using Limiter = BasicLimiter<SteadyClock, StdSync, Policies...>;

}  // namespace shed

#endif  // SHED_LIMITER_H_
