// DemeritTracker against the same rule written plainly: a vector of callers, scanned from end to
// end at each call, no list, no index, no table of fixed size.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shed/demerit_tracker.h"

namespace shed {
namespace {

__extension__ using Time = __int128;  // Nanoseconds; no sum or difference overflows.

constexpr Duration kCentury = std::chrono::hours(24) * 36525;

// The rule, in O(callers) per call.
class Oracle {
 public:
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
  };
  struct Limits {
    std::uint64_t share = 0, own = 0, cap = 0;
    bool hog = false;
  };

  explicit Oracle(const DemeritTrackerOptions& options) : o_(options) { shared_.shared = true; }

  void Move(Time now) {
    now_ = std::max(now_, now);
    std::erase_if(callers_, [this](const Caller& c) {
      if (IsActive(c)) return false;
      const Time idle_since = std::max(c.seen_at + o_.window.count(), c.ended_at);
      return DemeritAt(c, idle_since) == 0 || now_ - idle_since >= o_.max_penalty.count();
    });
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
    c.seen_at = now_;
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
      c.seen_at = now_;
      Refuse(c, c.held > cost && c.held > LimitsOf(c, 0).own);
    }
    End(name, in_shared, cost);
  }

  // `more`: 1 if the caller is not among the active, and would be.
  Limits LimitsOf(const Caller& self, std::uint64_t more) const {
    Limits l;
    const std::uint64_t active = Active() + more;
    l.share = active == 0 ? Budget() : (Budget() + active - 1) / active;
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
      l.own = 2 * Budget();  // More than it can ask for, so never its fault.
    }
    return l;
  }
  double DemeritAt(const Caller& c, Time at) const {
    return c.refused_at ? Decayed(c.demerit, at - *c.refused_at) : 0;
  }
  bool IsActive(const Caller& c) const {
    if (c.shared && !c.used) return false;
    return c.held > 0 || now_ - c.seen_at <= o_.window.count();
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

  const DemeritTrackerOptions o_;
  std::vector<Caller> callers_;
  Caller shared_;
  Time now_ = std::numeric_limits<std::int64_t>::min();
  std::uint64_t hogs_ = 0;
};

struct Held {
  std::string name;
  bool in_shared = false;
  std::uint64_t cost = 0;
  DemeritTracker::Ticket ticket{};
};

// What is done to a tracker, and how the time goes.
struct Plan {
  DemeritTrackerOptions options;
  std::size_t callers = 5;
  std::size_t most_held = 20;  // From here on a call ends before another is tried.
  int still = 70;              // Per cent of the calls that find the clock where it was.
};

// Small steps, and those that end a window, a penalty or a unit of demerit on the nanosecond.
std::int64_t Step(const Plan& plan, std::mt19937_64& random) {
  if (random() % 100 < static_cast<std::uint64_t>(plan.still)) return 0;
  const std::int64_t window = plan.options.window.count();
  const std::int64_t penalty = plan.options.max_penalty.count();
  const auto around = static_cast<std::int64_t>(random() % 3) - 1;
  switch (random() % 16) {
    case 0:
      return 1;
    case 1:
      return window + around;
    case 2:
      return random() % 8 == 0 ? penalty + around : 0;
    case 3:
      return static_cast<std::int64_t>(1e9 / plan.options.decay_per_second) + around;
    case 4:
      return static_cast<std::int64_t>(0.5e9 / plan.options.decay_per_second) + around;
    case 5:
      return random() % 2000 == 0 ? kCentury.count() : 0;
    case 6:
    case 7:
      return window / 2;
    default:
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(window / 16 + 2));
  }
}

class Trial {
 public:
  Trial(const Plan& plan, std::uint64_t seed)
      : plan_(plan), random_(seed), tracker_(plan.options), oracle_(plan.options) {
    clock_ = seed % 2 == 0 ? 0 : std::numeric_limits<std::int64_t>::min() / 2;
  }

  void Steps(int count) {
    for (int i = 0; i < count && !::testing::Test::HasFatalFailure(); ++i) {
      clock_ = SaturatingAdd(clock_, std::max<std::int64_t>(Step(plan_, random_), 0));
      const std::uint64_t what = random_() % 100;
      if (!held_.empty() && (what < 25 || held_.size() >= plan_.most_held)) {
        Complete();
      } else if (!held_.empty() && what < 35) {
        Cancel();
      } else {
        Ask();
      }
      if (i % 4 == 0) CompareAll(i % 16 == 0);  // The verdicts, always.
    }
  }
  void EndAll() {
    while (!held_.empty()) Complete();
    CompareAll(true);
    EXPECT_EQ(tracker_.Read(Now(0)).in_use, 0u);
  }

  std::uint64_t admitted = 0, refused_share = 0, refused_budget = 0, hinted = 0;
  const Oracle& oracle() const { return oracle_; }

 private:
  static TimePoint Now(std::int64_t ns) { return TimePoint(Duration(ns)); }
  // Mostly the clock, now and then older.
  std::int64_t SomeNow() {
    const std::uint64_t r = random_() % 64;
    if (r == 0) return SaturatingAdd(clock_, -kCentury.count());
    if (r < 4) return clock_ - static_cast<std::int64_t>(random_() % 10'000'000'000);
    return clock_;
  }
  std::uint64_t SomeCost() {
    const auto budget = static_cast<std::uint64_t>(plan_.options.budget);
    switch (random_() % 24) {
      case 0:
        return 0;
      case 1:
        return budget / 2;
      case 2:
        return budget - random_() % 3;
      case 3:
        return random_() % 2 == 0 ? budget + 1 : std::numeric_limits<std::uint64_t>::max();
      case 4:
      case 5:
      case 6:
        return 2 + random_() % 3;
      default:
        return 1;
    }
  }
  // The first callers ask most.
  std::string SomeCaller() {
    const std::size_t k = std::min(random_() % plan_.callers, random_() % plan_.callers);
    return k == 0 ? std::string() : "caller " + std::to_string(k);
  }

  void Ask() {
    const std::string name = SomeCaller();
    const std::uint64_t cost = SomeCost();
    const std::int64_t now = SomeNow();
    Held call{.name = name};
    Events events;
    const std::uint64_t hogs = oracle_.hogs();
    const Verdict got =
        tracker_.Admit({.caller = name, .cost = cost}, Now(now), call.ticket, events);
    const Verdict want = oracle_.Admit(name, cost, now, call.in_shared);
    ASSERT_EQ(got.admitted(), want.admitted());
    ASSERT_EQ(got.reason(), want.reason());
    ASSERT_EQ(got.scope(), want.scope());
    ASSERT_EQ(got.retry_after().has_value(), want.retry_after().has_value());
    if (want.retry_after()) {
      // Never too short, and at most a nanosecond or two too long.
      ASSERT_GE(*got.retry_after(), *want.retry_after());
      ASSERT_LE(*got.retry_after(), *want.retry_after() + Duration(2));
      ++hinted;
    }
    ASSERT_EQ(events.size(), oracle_.hogs() - hogs);
    if (got.admitted()) {
      ++admitted;
      call.cost = call.ticket.units;
      held_.push_back(std::move(call));
    } else {
      (got.reason() == Reason::kFairShare ? refused_share : refused_budget) += 1;
      ASSERT_EQ(call.ticket.units, 0u);
    }
  }
  Held TakeOne() {
    std::swap(held_[random_() % held_.size()], held_.back());
    Held call = std::move(held_.back());
    held_.pop_back();
    return call;
  }
  void Complete() {
    Held call = TakeOne();
    tracker_.Complete(call.ticket, Outcome::kSuccess);
    if (random_() % 4 == 0) tracker_.Complete(call.ticket, Outcome::kIgnored);
    oracle_.End(call.name, call.in_shared, call.cost);
  }
  void Cancel() {
    static constexpr Verdict kCauses[] = {
        Verdict::Refuse(Reason::kConcurrency), Verdict::Refuse(Reason::kQueueDelay),
        Verdict::Refuse(Reason::kRate, Duration(5)), Verdict::Refuse(Reason::kCircuitOpen),
        Verdict::Refuse(Reason::kRate, Duration(5), Scope::kCaller)};
    Held call = TakeOne();
    const std::size_t cause = random_() % 5;
    const std::int64_t now = SomeNow();
    Events events;
    const std::uint64_t hogs = oracle_.hogs();
    tracker_.Cancel(call.ticket, kCauses[cause], Now(now), events);
    oracle_.Cancel(call.name, call.in_shared, call.cost, cause < 3, now);
    ASSERT_EQ(events.size(), oracle_.hogs() - hogs);
  }

  void CompareAll(bool also_later) {
    Compare(oracle_, clock_);
    if (!also_later) return;
    // Reading ahead changes nothing, and finds what will be if nothing happens.
    Oracle later = oracle_;
    const std::int64_t at =
        SaturatingAdd(clock_, Step({.options = plan_.options, .still = 0}, random_));
    later.Move(at);
    Compare(later, at);
    Compare(oracle_, clock_);
  }
  void Compare(const Oracle& known, std::int64_t at) {
    Oracle oracle = known;
    oracle.Move(at);
    const DemeritTracker::Snapshot s = tracker_.Read(Now(at));
    ASSERT_EQ(s.in_use, oracle.InUse());
    ASSERT_LE(s.in_use, oracle.Budget());
    ASSERT_EQ(s.overflow_in_use, oracle.shared().held);
    ASSERT_EQ(s.active, oracle.Active());
    ASSERT_EQ(s.tracked, oracle.tracked());
    ASSERT_LE(s.tracked, static_cast<std::uint64_t>(plan_.options.max_callers));
    ASSERT_EQ(s.contended, oracle.Contended());
    ASSERT_EQ(s.hogs_total, oracle.hogs());
    const std::string name = SomeCaller();
    const DemeritTracker::CallerState got = tracker_.ReadCaller(name, Now(at));
    const Oracle::Caller want = oracle.Look(name);
    const Oracle::Limits limits = oracle.LimitsOf(want, IsCounted(oracle, want) ? 0 : 1);
    ASSERT_EQ(got.tracked, oracle.IsKnown(name));
    ASSERT_EQ(got.overflow, want.shared);
    ASSERT_EQ(got.held, want.held);
    ASSERT_DOUBLE_EQ(got.demerit, oracle.DemeritAt(want, oracle.now()));
    ASSERT_EQ(got.hog, limits.hog);
    ASSERT_EQ(got.share, limits.share);
    ASSERT_EQ(got.cap, limits.cap);
  }
  static bool IsCounted(const Oracle& oracle, const Oracle::Caller& c) {
    return (c.shared || oracle.IsKnown(c.name)) && oracle.IsActive(c);
  }

  const Plan plan_;
  std::mt19937_64 random_;
  DemeritTracker tracker_;
  Oracle oracle_;
  std::int64_t clock_ = 0;
  std::vector<Held> held_;
};

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

const Plan kPlans[] = {
    // The defaults, with a budget that is soon used up.
    {.options = {.budget = 8}},
    {.options = {.budget = 40}, .callers = 10, .most_held = 60},
    {.options = {.budget = 8, .blame_victims = true, .seed = 7}, .still = 40},
    {.options = {.budget = 1}, .callers = 3},
    {.options = {.budget = 3}, .callers = 20, .most_held = 4, .still = 95},
    // More callers than places, many and few of them.
    {.options = {.budget = 16, .max_callers = 1}, .callers = 3},
    {.options = {.budget = 16, .max_callers = 3}, .callers = 12, .still = 50},
    {.options = {.budget = 64, .window = milliseconds(200), .max_callers = 24},
     .callers = 60,
     .most_held = 80},
    {.options = {.budget = 12, .max_callers = 5, .blame_victims = true}, .callers = 9, .still = 30},
    // A penalty shorter than the window, and one that demerit outlives.
    {.options = {.budget = 8, .window = seconds(10), .max_penalty = seconds(2)}, .still = 50},
    {.options = {.budget = 8, .decay_per_second = 0.01, .max_callers = 4}, .callers = 8},
    // One strike, fractions, a large budget, the shortest times.
    {.options = {.budget = 8, .demerit_per_denial = 2.5, .hog_threshold = 0.25}, .callers = 6},
    {.options = {.budget = 30, .demerit_per_denial = 0.37, .decay_per_second = 1.7}, .callers = 4},
    {.options = {.budget = 1'000'000'000, .max_callers = 4}, .callers = 6},
    {.options = {.budget = 8, .window = Duration(1), .max_penalty = Duration(1)}, .still = 80},
};

TEST(DemeritTrackerProperty, AgreesWithAPlainScanOfAllCallers) {
  std::uint64_t operations = 0, admitted = 0, share = 0, budget = 0, hinted = 0, hogs = 0;
  for (std::size_t p = 0; p < std::size(kPlans); ++p) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      SCOPED_TRACE(::testing::Message() << "plan " << p << ", seed " << seed);
      constexpr int kSteps = 14'000;
      Trial trial(kPlans[p], seed);
      trial.Steps(kSteps);
      if (HasFatalFailure()) return;
      trial.EndAll();
      operations += kSteps;
      admitted += trial.admitted;
      share += trial.refused_share;
      budget += trial.refused_budget;
      hinted += trial.hinted;
      hogs += trial.oracle().hogs();
    }
  }
  // Every kind of answer was compared often.
  EXPECT_GE(operations, 1'000'000u);
  EXPECT_GE(admitted, 100'000u);
  EXPECT_GE(share, 50'000u);
  EXPECT_GE(budget, 50'000u);
  EXPECT_GE(hinted, 10'000u);
  EXPECT_GE(hogs, 1000u);
  RecordProperty("admitted", std::to_string(admitted));
}

}  // namespace
}  // namespace shed
