// The rule of DemeritTracker written plainly: a vector of callers, scanned from end to end at each
// call, no list, no index, no table of fixed size.
#ifndef SHED_TESTS_PROPERTY_DEMERIT_ORACLE_H_
#define SHED_TESTS_PROPERTY_DEMERIT_ORACLE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "shed/demerit_tracker.h"

namespace shed {

// By the first letter of the name, so that a caller's weight never changes.
struct DemeritOracleWeights {
  std::uint32_t operator()(const Request& request) const noexcept {
    if (request.caller.starts_with("gold")) return 3;
    if (request.caller.starts_with("iron")) return 0;      // Counts as 1.
    return request.caller.starts_with("rich") ? 1000 : 1;  // Counts as 255.
  }
};

// In O(callers) per call.
class DemeritOracle {
 public:
  __extension__ using Time = __int128;  // Nanoseconds; no sum or difference overflows.

  struct Caller {
    std::string name;  // "" is a name like any other; the shared caller is told by `shared`.
    bool shared = false;
    std::uint64_t held = 0;
    Time seen_at = 0;
    Time ended_at = std::numeric_limits<std::int64_t>::min();  // When it last came to hold nothing.
    std::optional<Time> refused_at{};
    std::optional<Time> waited_at{};  // The last refusal that left it no hog.
    double demerit = 0;               // Just after refused_at.
    bool used = false;                // Only of the shared caller: somebody was it.
    // When its window ended, where that was by earlier options: it is not given back by later ones.
    std::optional<Time> expired_at{};
  };
  struct Limits {
    std::uint64_t share = 0, own = 0, cap = 0;
    bool hog = false;
  };

  explicit DemeritOracle(const DemeritTrackerOptions& options) : o_(options) {
    shared_.shared = true;
  }

  void Move(Time now) {
    now_ = std::max(now_, now);
    std::erase_if(callers_, [this](const Caller& c) {
      if (IsActive(c)) return false;
      const Time idle_since = std::max(ExpiresAt(c), c.ended_at);
      return DemeritAt(c, idle_since) == 0 || now_ - idle_since >= o_.max_penalty.count();
    });
  }

  void Configure(const DemeritTrackerOptions& options, Time now) {
    Move(now);
    const auto settle = [&](Caller& c) {
      if (now_ > ExpiresAt(c)) {
        c.expired_at = ExpiresAt(c);
      } else if (!c.expired_at && now_ > c.seen_at + options.window.count()) {
        c.expired_at = now_ - 1;  // Now: the last instant of a window is part of it.
        c.ended_at = now_;
      }
      if (!Waits(c)) c.waited_at.reset();
    };
    for (Caller& c : callers_) settle(c);
    settle(shared_);
    const std::int64_t max_callers = o_.max_callers;
    o_ = options;
    o_.max_callers = max_callers;
    Move(now_);
  }

  // Returns the caller's place, as a call of it would find it.
  Caller Look(const std::string& name) const {
    for (const Caller& c : callers_) {
      if (c.name == name) return c;
    }
    if (callers_.size() == static_cast<std::size_t>(o_.max_callers)) return shared_;
    return {.name = name};
  }
  bool IsKnown(const std::string& name) const {
    return std::any_of(callers_.begin(), callers_.end(),
                       [&](const Caller& c) { return c.name == name; });
  }

  Verdict Admit(const std::string& name, std::uint64_t cost, Time now, bool& in_shared) {
    Move(now);
    cost = std::min(std::max<std::uint64_t>(cost, 1), Budget());
    Caller& c = Enter(name);
    in_shared = c.shared;
    See(c);
    const Limits l = LimitsOf(c, 0);
    const std::uint64_t want = c.held + cost;
    const bool full = InUse() + cost > Budget();
    if (!full && (c.held == 0 || want <= l.cap)) {
      c.held = want;
      return Verdict::Admit();
    }
    const bool at_fault = c.held > 0 && want > l.own;
    Refuse(c, at_fault);
    if (!at_fault) return Verdict::Refuse(Reason::kBudget);
    return Verdict::Refuse(Reason::kFairShare, WhenAllowed(c, l.share, want), Scope::kCaller);
  }

  void End(const std::string& name, bool in_shared, std::uint64_t cost) {
    Caller& c = in_shared ? shared_ : *Known(name);
    c.held -= cost;
    if (c.held == 0) c.ended_at = now_;
    Move(now_);
  }

  void Cancel(const std::string& name, bool in_shared, std::uint64_t cost, bool capacity,
              Time now) {
    Move(now);
    if (capacity) {
      Caller& c = in_shared ? shared_ : *Known(name);
      See(c);
      Refuse(c, c.held > cost && c.held > LimitsOf(c, 0).own);
    }
    End(name, in_shared, cost);
  }

  // `more`: 1 if the caller is not among the active, and would be.
  Limits LimitsOf(const Caller& self, std::uint64_t more) const {
    Limits l;
    const std::uint64_t active = Active() + more;
    const std::uint64_t weight = ActiveWeight() + more * WeightOf(self);
    l.share = weight == 0 ? Budget() : (Budget() * WeightOf(self) + weight - 1) / weight;
    const double demerit = DemeritAt(self, now_);
    l.hog = demerit >= o_.hog_threshold;
    l.own = l.hog ? Penalised(l.share, demerit) : l.share;
    bool contended = false;
    ForEach([&](const Caller& other) {
      const bool same = other.shared == self.shared && other.name == self.name;
      contended |= !same && Waits(other);
    });
    l.cap = l.hog || contended ? l.own : Budget();
    if (active <= 1) {  // Alone: nobody to be fair to.
      l.cap = Budget();
      l.own = std::numeric_limits<std::uint64_t>::max();  // So never its fault.
    }
    return l;
  }
  double DemeritAt(const Caller& c, Time at) const {
    return c.refused_at ? Decayed(c.demerit, at - *c.refused_at) : 0;
  }
  bool IsActive(const Caller& c) const {
    if (c.shared && !c.used) return false;
    return c.held > 0 || now_ <= ExpiresAt(c);
  }
  static std::uint64_t WeightOf(const Caller& c) {
    if (c.shared) return 1;
    const Request request{.caller = c.name};
    return std::clamp<std::uint64_t>(DemeritOracleWeights()(request), 1, 255);
  }
  std::uint64_t ActiveWeight() const {
    std::uint64_t sum = 0;
    ForEach([&](const Caller& c) { sum += IsActive(c) ? WeightOf(c) : 0; });
    return sum;
  }
  std::uint64_t Active() const {
    std::uint64_t n = 0;
    ForEach([&](const Caller& c) { n += IsActive(c) ? 1 : 0; });
    return n;
  }
  std::uint64_t InUse() const {
    std::uint64_t n = 0;
    ForEach([&](const Caller& c) { n += c.held; });
    return n;
  }
  bool Contended() const {
    bool any = false;
    ForEach([&](const Caller& c) { any |= Waits(c); });
    return any;
  }
  std::uint64_t Budget() const { return static_cast<std::uint64_t>(o_.budget); }
  std::size_t tracked() const { return callers_.size(); }
  const Caller& shared() const { return shared_; }
  std::uint64_t hogs() const { return hogs_; }
  Time now() const { return now_; }

 private:
  template <class F>
  void ForEach(F f) const {
    for (const Caller& c : callers_) f(c);
    f(shared_);
  }
  Caller* Known(const std::string& name) {
    for (Caller& c : callers_) {
      if (c.name == name) return &c;
    }
    return nullptr;
  }
  Caller& Enter(const std::string& name) {
    if (Caller* const c = Known(name)) return *c;
    if (callers_.size() < static_cast<std::size_t>(o_.max_callers)) {
      callers_.push_back({.name = name});
      return callers_.back();
    }
    shared_.used = true;
    return shared_;
  }
  void See(Caller& c) {
    c.seen_at = now_;
    c.expired_at.reset();
  }
  Time ExpiresAt(const Caller& c) const {
    return c.expired_at ? *c.expired_at : c.seen_at + o_.window.count();
  }
  bool Waits(const Caller& c) const {
    return c.waited_at && now_ - *c.waited_at <= o_.window.count();
  }
  double Decayed(double demerit, Time elapsed) const {
    if (elapsed >= o_.max_penalty.count()) return 0;
    const double lost =
        o_.decay_per_second * (static_cast<double>(static_cast<std::int64_t>(elapsed)) * 1e-9);
    return lost < demerit ? demerit - lost : 0;
  }
  static std::uint64_t Penalised(std::uint64_t share, double demerit) {
    const auto less = static_cast<std::uint64_t>(std::llround(demerit));
    return less + 1 >= share ? 1 : share - less;
  }
  void Refuse(Caller& c, bool at_fault) {
    const double before = DemeritAt(c, now_);
    c.demerit = before;
    if (at_fault || o_.blame_victims) c.demerit += o_.demerit_per_denial;
    const double most = o_.hog_threshold + static_cast<double>(o_.budget);
    if (c.demerit > most) c.demerit = most;
    c.refused_at = now_;
    if (c.demerit < o_.hog_threshold) c.waited_at = now_;
    if (before < o_.hog_threshold && c.demerit >= o_.hog_threshold) ++hogs_;
  }
  // The first instant at which demerit alone would let it hold `want`, found by halving.
  std::optional<Duration> WhenAllowed(const Caller& c, std::uint64_t share,
                                      std::uint64_t want) const {
    if (want > share) return std::nullopt;
    const auto allowed = [&](std::int64_t wait) {
      const double demerit = Decayed(c.demerit, wait);
      return demerit < o_.hog_threshold || want <= Penalised(share, demerit);
    };
    std::int64_t low = -1, high = o_.max_penalty.count();
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (allowed(middle) ? high : low) = middle;
    }
    return Duration(high);
  }

  DemeritTrackerOptions o_;
  std::vector<Caller> callers_;
  Caller shared_;
  Time now_ = std::numeric_limits<std::int64_t>::min();
  std::uint64_t hogs_ = 0;
};

}  // namespace shed

#endif  // SHED_TESTS_PROPERTY_DEMERIT_ORACLE_H_
