// The rule of UsageThrottle written plainly: lists that are searched from end to end, use in units
// times the window (of which a nanosecond drains `soft`), no locks, no bits.
#ifndef SHED_TESTS_PROPERTY_USAGE_ORACLE_H_
#define SHED_TESTS_PROPERTY_USAGE_ORACLE_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "shed/internal/int128.h"
#include "shed/time.h"
#include "shed/usage_throttle.h"
#include "shed/verdict.h"

namespace shed {

class UsageOracle {
 public:
  using Wide = internal::Int128;

  struct Caller {
    std::string name;
    Wide level = 0;  // In units times the window, as of `at`.
    std::int64_t at = std::numeric_limits<std::int64_t>::min();
    std::int64_t used_at = std::numeric_limits<std::int64_t>::min();
    std::uint64_t added = 0;
    std::uint32_t in_flight = 0;
    int stage = 0;  // 1: was delayed, 2: was blocked, since it was last calm.
  };
  // What a call holds.
  struct Call {
    std::string name;
    bool shared = false;
    std::uint64_t units = 0;
    std::uint64_t mark = 0;
    std::int64_t used_before = 0;
    std::uint64_t waits = 0;  // Its number among those that wait; 0: it does not.
  };
  struct Limits {
    Wide free = 0;  // The most that may be in use for a call to be admitted at once,
    Wide hard = 0;  // and for it not to be blocked.
  };

  explicit UsageOracle(const UsageThrottleOptions& options) : o_(options) {}

  // What may be changed without a unit's becoming another.
  void Configure(std::int64_t hard, Duration longest_wait, std::int64_t max_delayed) {
    o_.hard = hard;
    o_.longest_wait = longest_wait;
    o_.max_delayed = max_delayed;
  }
  const UsageThrottleOptions& options() const { return o_; }

  // Whether a new caller would find no entry, whoever is idle at `now` being forgotten.
  bool IsFull(TimePoint now) const {
    return IsCrowded() && std::none_of(callers_.begin(), callers_.end(),
                                       [&](const Caller& c) { return IsIdle(c, now); });
  }
  bool IsCrowded() const { return callers_.size() == static_cast<std::size_t>(o_.max_callers); }
  bool IsKnown(const std::string& name) const {
    return std::any_of(callers_.begin(), callers_.end(),
                       [&](const Caller& c) { return c.name == name; });
  }
  bool IsIdle(const Caller& c, TimePoint now) const {
    return c.in_flight == 0 && LevelAt(c, now) == 0;
  }
  std::vector<Caller>& callers() { return callers_; }
  const std::vector<Caller>& callers() const { return callers_; }
  const Caller& shared() const { return shared_; }
  std::size_t waiting(TimePoint now) const {
    return static_cast<std::size_t>(std::count_if(waiting_.begin(), waiting_.end(),
                                                  [&](const Waiting& w) { return w.start > now; }));
  }

  Verdict Admit(const std::string& name, std::uint64_t cost, Duration max_wait, TimePoint now,
                Call& call) {
    cost = std::max<std::uint64_t>(cost, 1);
    Caller& c = Ask(name);
    const Wide level = LevelAt(c, now);
    const Limits limits = LimitsOf(cost);
    Duration wait{0};
    if (level > limits.free) {
      const Duration until = Until(c, limits.free, now);
      wait = std::min(until, o_.longest_wait);
      const int stage = level > limits.hard ? 2 : 1;
      if (stage > c.stage) ++events_;
      c.stage = std::max(c.stage, stage);
      if (stage == 2 || wait > max_wait || !TakePlace(now, After(now, wait), call)) {
        return Verdict::Refuse(Reason::kUsage, until, Scope::kCaller);
      }
    } else if (c.stage > 0 && (level + Wide{cost} * Window()) * 2 <= o_.soft * Window()) {
      c.stage = 0;
      ++events_;
    }
    call.name = name;
    call.shared = &c == &shared_;
    call.used_before = c.used_at;
    call.units = Add(c, cost, now, After(now, wait));
    call.mark = c.added;
    ++c.in_flight;
    return Verdict::Admit(wait);
  }

  void Charge(Call& call, std::uint64_t units, TimePoint now) {
    Caller& c = Of(call);
    if (units > call.units) {
      const std::uint64_t more = Add(c, units - call.units, now, now);
      call.units += more;
      call.mark += more;
    } else if (units < call.units) {
      // Of what is in use all but what came later may be the call's.
      const Wide level = LevelAt(c, now);
      const Wide left = std::max<Wide>(level - Wide{c.added - call.mark} * Window(), 0);
      Set(c, level - std::min(left, Wide{call.units - units} * Window()), now);
      call.units = units;
    }
  }
  void Complete(const Call& call) {
    --Of(call).in_flight;
    LeavePlace(call);
  }
  void Cancel(const Call& call, TimePoint now) {
    Caller& c = Of(call);
    --c.in_flight;
    LeavePlace(call);
    const Wide level = LevelAt(c, now);
    Set(c, std::max<Wide>(level - Wide{call.units} * Window(), 0), now);
    if (c.added == call.mark) {
      c.added -= call.units;
      c.used_at = call.used_before;
    }
    if (!call.shared && IsIdle(c, now)) {
      std::erase_if(callers_, [&](const Caller& other) { return other.name == call.name; });
    }
  }

  std::uint64_t events() const { return events_; }
  std::uint64_t UnitsAt(const Caller& c, TimePoint now) const {
    return static_cast<std::uint64_t>((LevelAt(c, now) + Window() - 1) / Window());
  }
  Wide LevelAt(const Caller& c, TimePoint now) const {
    const Wide t = now.time_since_epoch().count();
    if (t - c.used_at >= Window()) return 0;
    return std::max<Wide>(c.level - std::max<Wide>(t - c.at, 0) * o_.soft, 0);
  }
  Limits LimitsOf(std::uint64_t cost) const {
    return {.free = std::max<Wide>(Wide{o_.soft} - cost, 0) * Window(),
            .hard = std::max<Wide>(Wide{o_.hard} - cost, 0) * Window()};
  }
  Duration Until(const Caller& c, Wide level, TimePoint now) const {
    const Wide t = now.time_since_epoch().count();
    const Wide over = LevelAt(c, now) - level;
    if (over <= 0) return Duration(0);
    const Wide drained = std::max<Wide>(c.at, t) + (over + o_.soft - 1) / o_.soft;
    const Wide gone = Wide{c.used_at} + Window();
    return Duration(internal::SaturateToInt64(std::min(drained, gone) - t));
  }

 private:
  struct Waiting {
    std::uint64_t number;
    TimePoint start;
  };

  Wide Window() const { return o_.window.count(); }
  Caller& Ask(const std::string& name) {
    for (Caller& c : callers_) {
      if (c.name == name) return c;
    }
    if (IsCrowded()) return shared_;
    return callers_.emplace_back(Caller{.name = name});
  }
  Caller& Of(const Call& call) {
    if (call.shared) return shared_;
    return *std::find_if(callers_.begin(), callers_.end(),
                         [&](const Caller& c) { return c.name == call.name; });
  }
  void Set(Caller& c, Wide level, TimePoint now) {
    c.level = level;
    c.at = std::max<std::int64_t>(c.at, now.time_since_epoch().count());
  }
  std::uint64_t Add(Caller& c, std::uint64_t units, TimePoint now, TimePoint begins) {
    constexpr Wide kMost = Wide{1} << 62;
    const Wide level = LevelAt(c, now);
    const Wide room = std::max<Wide>(kMost * Window() - level, 0) / Window();
    units = static_cast<std::uint64_t>(std::min<Wide>(units, room));
    Set(c, level + Wide{units} * Window(), now);
    c.used_at = std::max<std::int64_t>(c.used_at, begins.time_since_epoch().count());
    c.added += units;
    return units;
  }
  bool TakePlace(TimePoint now, TimePoint start, Call& call) {
    std::erase_if(waiting_, [&](const Waiting& w) { return w.start <= now; });
    if (waiting_.size() >= static_cast<std::size_t>(o_.max_delayed)) return false;
    call.waits = ++number_;
    waiting_.push_back({number_, start});
    return true;
  }
  void LeavePlace(const Call& call) {
    std::erase_if(waiting_, [&](const Waiting& w) { return w.number == call.waits; });
  }

  UsageThrottleOptions o_;
  std::vector<Caller> callers_;
  Caller shared_;
  std::vector<Waiting> waiting_;
  std::uint64_t number_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace shed

#endif  // SHED_TESTS_PROPERTY_USAGE_ORACLE_H_
