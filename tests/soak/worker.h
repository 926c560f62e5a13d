// One thread of a soak: asks for calls of all kinds, and ends its own and other threads' in every
// way that there is.
#ifndef SHED_TESTS_SOAK_WORKER_H_
#define SHED_TESTS_SOAK_WORKER_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "shed/any_guard.h"
#include "shed/clock.h"
#include "shed/request.h"
#include "soak/tally.h"

namespace shed::soak {

// A guard, and what its thread knows of its call.
template <class Guard>
struct Held {
  Guard guard;
  bool exempt = false;
  std::int64_t units = 1;
};

// Where threads leave guards for others to end.
template <class Guard>
class Exchange {
 public:
  // Leaves `held` as it is where there is no room.
  bool Put(Held<Guard>& held) {
    const std::scoped_lock lock(mutex_);
    if (guards_.size() >= 16) return false;
    guards_.push_back(std::move(held));
    return true;
  }
  std::optional<Held<Guard>> Take() {
    const std::scoped_lock lock(mutex_);
    if (guards_.empty()) return std::nullopt;
    std::optional<Held<Guard>> held(std::move(guards_.front()));
    guards_.pop_front();
    return held;
  }

 private:
  std::mutex mutex_;
  std::deque<Held<Guard>> guards_;
};

template <class Limiter>
struct Exchanges {
  Exchange<typename Limiter::Guard> plain;
  Exchange<AnyGuard> any;
};

template <class Limiter>
class Worker {
 public:
  using Guard = typename Limiter::Guard;

  // `clock`: moved now and then, forwards and back; nullptr if it shall not be.
  Worker(Limiter& limiter, Exchanges<Limiter>& exchanges, ManualClock* clock, std::uint64_t seed)
      : limiter_(limiter), exchanges_(exchanges), clock_(clock), random_(seed) {}

  void Operate() {
    if (++operations_ % 2048 == 0) healthy_ = !healthy_;
    if (clock_ != nullptr) MoveClock();
    if (Below(128) == 0) {
      Unwind();
    } else {
      Ask();
    }
    if (Below(2) == 0) EndAnothers();
    if (mine_.size() > 6) ReplaceOne();
  }
  // Ends all that this thread holds.
  void Finish() {
    for (Held<Guard>& held : mine_) End(held);
    mine_.clear();
  }
  // Ends all that nobody has taken; when all threads are done.
  void Clear() {
    while (auto held = exchanges_.plain.Take()) End(*held);
    while (auto held = exchanges_.any.Take()) End(*held);
  }
  const Tally<Limiter::kPolicyCount>& tally() const { return tally_; }

 private:
  std::uint64_t Below(std::uint64_t n) { return random_() % n; }

  void MoveClock() {
    using std::chrono::microseconds;
    const std::uint64_t r = Below(1024);
    if (r < 256) clock_->Advance(microseconds(Below(1000)));
    if (r == 256) clock_->Advance(std::chrono::minutes(Below(60)));
    if (r > 256 && r < 264) clock_->Advance(-microseconds(Below(2000)));
    if (Below(16'384) == 0) clock_->Advance(-microseconds(Below(2'000'000)));
  }

  Request SomeRequest() {
    static const std::string kCallers[] = {"", "a", "b", "c", "d", "e", "f", "g", "h", "i"};
    Request request{.caller = kCallers[std::min(Below(10), Below(10))]};
    if (Below(4) == 0) request.cost = Below(4);
    if (Below(512) == 0) request.cost = ~std::uint64_t{0};
    request.criticality = static_cast<Criticality>(Below(5));  // One that is none, too.
    request.exempt = Below(64) == 0;
    if (Below(4) == 0) request.max_wait = std::chrono::milliseconds(1);
    request.retry = Below(4) == 0;
    request.queued_for = std::chrono::microseconds(Below(8000));
    if (Below(64) == 0) request.time_left = std::chrono::microseconds(Below(2000));
    return request;
  }
  // Counts the answer. Returns whether the call was admitted.
  bool Note(const Request& request, const Guard& guard) {
    const std::size_t k = IndexOf(request.criticality);
    if (!guard) {
      const Rejection rejection = guard.rejection();
      const auto reason = static_cast<std::size_t>(rejection.reason());
      ++tally_.refused[rejection.policy()][reason][k];
      return false;
    }
    ++(request.exempt ? tally_.exempt : tally_.admitted[k]);
    return true;
  }

  void Ask() {
    const Request request = SomeRequest();
    auto guard = limiter_.TryAdmit(request);
    if (!Note(request, guard)) return;
    Held<Guard> held{std::move(guard), request.exempt,
                     static_cast<std::int64_t>(std::max<std::uint64_t>(request.cost, 1))};
    if (Below(8) == 0) {
      // What it cost is known before it ends.
      held.units = static_cast<std::int64_t>(Below(6));
      held.guard.Charge(static_cast<std::uint64_t>(held.units));
    }
    switch (Below(4)) {
      case 0:
        return End(held);
      case 1:
        return mine_.push_back(std::move(held));
      case 2:
        if (exchanges_.plain.Put(held)) return;
        return End(held);
      default:
        Held<AnyGuard> any{std::move(held.guard), held.exempt, held.units};
        if (Below(4) == 0) any.guard.Note(Outcome::kOverload);  // What comes later overrides it.
        if (exchanges_.any.Put(any)) return;
        return End(any);
    }
  }
  void EndAnothers() {
    if (Below(2) == 0) {
      if (auto held = exchanges_.plain.Take()) End(*held);
    } else {
      if (auto held = exchanges_.any.Take()) End(*held);
    }
  }
  // One guard is moved over another, which ends unsaid.
  void ReplaceOne() {
    std::swap(mine_[Below(mine_.size())], mine_.back());
    Held<Guard> last = std::move(mine_.back());
    mine_.pop_back();
    Held<Guard>& replaced = mine_[Below(mine_.size())];
    ++tally_.dropped;
    Count(replaced, Outcome::kIgnored);
    replaced = std::move(last);
    if (Below(2) == 0) Finish();
  }
  void Unwind() {
    const Request request = SomeRequest();
    bool admitted = false;
    try {
      const auto guard = limiter_.TryAdmit(request);
      admitted = Note(request, guard);
      throw 0;
    } catch (int) {
    }
    if (!admitted) return;
    ++tally_.dropped;
    const auto units = static_cast<std::int64_t>(std::max<std::uint64_t>(request.cost, 1));
    Count(Held<int>{0, request.exempt, units}, Outcome::kFailure);
  }

  template <class G>
  void End(Held<G>& held) {
    const Outcome outcome = SomeOutcome();
    switch (Below(8)) {
      case 0: {  // By note.
        held.guard.Note(outcome);
        const G gone = std::move(held.guard);
        Count(held, outcome);
        break;
      }
      case 1: {
        held.guard.Complete(outcome);
        held.guard.Complete(Outcome::kFailure);  // Too late.
        const G gone = std::move(held.guard);
        Count(held, outcome);
        break;
      }
      default:
        held.guard.Complete(outcome);
        Count(held, outcome);
    }
  }
  Outcome SomeOutcome() {
    const std::uint64_t r = Below(16);
    if (r == 0) return Outcome::kIgnored;
    if (r < (healthy_ ? 2u : 10u)) return r % 2 == 0 ? Outcome::kOverload : Outcome::kFailure;
    return Outcome::kSuccess;
  }
  template <class G>
  void Count(const Held<G>& held, Outcome outcome) {
    ++tally_.completed[IndexOf(outcome)];
    if (held.exempt) {
      ++tally_.completed_exempt[IndexOf(outcome)];
    } else {
      tally_.units += held.units;
    }
  }

  Limiter& limiter_;
  Exchanges<Limiter>& exchanges_;
  ManualClock* const clock_;
  std::mt19937_64 random_;
  Tally<Limiter::kPolicyCount> tally_;
  std::vector<Held<Guard>> mine_;
  std::uint64_t operations_ = 0;
  bool healthy_ = true;
};

}  // namespace shed::soak

#endif  // SHED_TESTS_SOAK_WORKER_H_
