// A UsageThrottle beside its oracle: what is done to one is done to both, and every answer of the
// one is compared with the other's. For max_callers up to 8, where a new caller looks at all.
#ifndef SHED_TESTS_PROPERTY_USAGE_TWIN_H_
#define SHED_TESTS_PROPERTY_USAGE_TWIN_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "property/differences.h"
#include "property/usage_oracle.h"
#include "shed/usage_throttle.h"

namespace shed {

template <class Sync>
class BasicUsageTwin {
 public:
  explicit BasicUsageTwin(const UsageThrottleOptions& options)
      : throttle_(options), oracle_(options) {}

  Verdict Ask(const std::string& name, std::uint64_t cost, Duration max_wait, TimePoint now) {
    Held held;
    Events events;
    const bool stranger = !oracle_.IsKnown(name);
    const bool overflow = stranger && oracle_.IsFull(now);
    const Verdict got = throttle_.Admit({.caller = name, .cost = cost, .max_wait = max_wait}, now,
                                        held.ticket, events);
    if (stranger && oracle_.IsCrowded()) LearnWhoWasForgotten(now);
    differences_.Same("no room", overflow, stranger && oracle_.IsCrowded());
    const std::uint64_t events_before = oracle_.events();
    const Verdict want = oracle_.Admit(name, cost, max_wait, now, held.call);
    differences_.Same("verdict", got, want);
    differences_.Same("events", events.size(), oracle_.events() - events_before);
    if (got.admitted()) held_.push_back(std::move(held));
    return got;
  }
  // These require i < held(). `twice`: the ticket is handed in again, which must do nothing.
  void Charge(std::size_t i, std::uint64_t units, TimePoint now) {
    throttle_.Charge(held_[i].ticket, units, now);
    oracle_.Charge(held_[i].call, units, now);
  }
  void Complete(std::size_t i, bool twice) {
    Held held = Take(i);
    throttle_.Complete(held.ticket, Outcome::kSuccess);
    oracle_.Complete(held.call);
    if (!twice) return;
    throttle_.Charge(held.ticket, 1000, TimePoint());
    throttle_.Complete(held.ticket, Outcome::kIgnored);
  }
  void Cancel(std::size_t i, TimePoint now) {
    Held held = Take(i);
    throttle_.Cancel(held.ticket, Verdict::Refuse(Reason::kConcurrency), now);
    oracle_.Cancel(held.call, now);
  }
  void Configure(std::int64_t hard, Duration longest_wait, std::int64_t max_delayed) {
    UsageThrottleOptions options = oracle_.options();
    options.hard = hard;
    options.longest_wait = longest_wait;
    options.max_delayed = max_delayed;
    differences_.Same("configured", throttle_.Configure(options, TimePoint()).size(), 0u);
    oracle_.Configure(hard, longest_wait, max_delayed);
  }

  // At a time that need not have come yet: what will be if nothing happens. Reading changes
  // nothing.
  void Compare(const std::string& name, TimePoint at) {
    const auto s = throttle_.Read(at);
    differences_.Same("waiting", s.waiting, oracle_.waiting(at));
    differences_.Same("tracked", s.tracked, oracle_.callers().size());
    differences_.Same("overflow_used", s.overflow_used, oracle_.UnitsAt(oracle_.shared(), at));
    differences_.Same("overflow_in_flight", s.overflow_in_flight, oracle_.shared().in_flight);
    differences_.Same("events in all", s.delayed_total + s.blocked_total + s.recovered_total,
                      oracle_.events());

    const auto got = throttle_.ReadCaller(name, at);
    UsageOracle::Caller c;
    const bool shared = !oracle_.IsKnown(name) && oracle_.IsFull(at);
    for (const UsageOracle::Caller& known : oracle_.callers()) {
      if (known.name == name) c = known;
    }
    if (shared) c = oracle_.shared();
    const UsageOracle::Limits limits = oracle_.LimitsOf(1);
    const bool blocked = oracle_.LevelAt(c, at) > limits.hard;
    const Duration until = oracle_.Until(c, limits.free, at);
    const auto limit = static_cast<std::uint64_t>(oracle_.options().soft);
    const std::uint64_t used = oracle_.UnitsAt(c, at);
    differences_.Same("caller tracked", got.tracked, oracle_.IsKnown(name));
    differences_.Same("caller overflow", got.overflow, shared);
    differences_.Same("caller limit", got.limit, limit);
    differences_.Same("caller used", got.used, used);
    differences_.Same("caller remaining", got.remaining, used < limit ? limit - used : 0);
    differences_.Same("caller reset", got.reset, oracle_.Until(c, 0, at));
    differences_.Same("caller blocked", got.blocked, blocked);
    differences_.Same("caller retry_after", got.retry_after, until);
    differences_.Same("caller delay", got.delay,
                      blocked ? Duration(0) : std::min(until, oracle_.options().longest_wait));
    differences_.Same("caller in_flight", got.in_flight, c.in_flight);
  }

  std::size_t held() const { return held_.size(); }
  const UsageOracle& oracle() const { return oracle_; }
  // "" unless they differed.
  const std::string& difference() const { return differences_.first(); }

 private:
  struct Held {
    UsageOracle::Call call;
    typename BasicUsageThrottle<Sync>::Ticket ticket{};
  };
  Held Take(std::size_t i) {
    std::swap(held_[i], held_.back());
    Held held = std::move(held_.back());
    held_.pop_back();
    return held;
  }
  // Which of the idle makes room is the throttle's choice; that it is one of them is not.
  void LearnWhoWasForgotten(TimePoint now) {
    std::erase_if(oracle_.callers(), [&](const UsageOracle::Caller& c) {
      if (throttle_.ReadCaller(c.name, now).tracked) return false;
      differences_.True("who is forgotten is idle", oracle_.IsIdle(c, now));
      return true;
    });
  }

  BasicUsageThrottle<Sync> throttle_;
  UsageOracle oracle_;
  Differences differences_;
  std::vector<Held> held_;
};

using UsageTwin = BasicUsageTwin<StdSync>;

}  // namespace shed

#endif  // SHED_TESTS_PROPERTY_USAGE_TWIN_H_
