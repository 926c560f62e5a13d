// A DemeritTracker beside its oracle: what is done to one is done to both, and every answer of the
// one is compared with the other's.
#ifndef SHED_TESTS_PROPERTY_DEMERIT_TWIN_H_
#define SHED_TESTS_PROPERTY_DEMERIT_TWIN_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "property/demerit_oracle.h"
#include "property/differences.h"
#include "shed/demerit_tracker.h"

namespace shed {

template <class Sync>
using DemeritTwinTracker = BasicDemeritTracker<Sync, DemeritOracleWeights>;

// Compares all that can be read of a tracker at `at`, and of the caller `name`.
template <class Sync>
void CompareDemerit(Differences& differences, const DemeritTwinTracker<Sync>& tracker,
                    const DemeritOracle& known, const std::string& name, TimePoint at) {
  DemeritOracle oracle = known;
  oracle.Move(at.time_since_epoch().count());
  const typename DemeritTwinTracker<Sync>::Snapshot s = tracker.Read(at);
  differences.Same("in_use", s.in_use, oracle.InUse());
  differences.Same("overflow_in_use", s.overflow_in_use, oracle.shared().held);
  differences.Same("active", s.active, oracle.Active());
  differences.Same("weight", s.weight, oracle.ActiveWeight());
  differences.Same("tracked", s.tracked, oracle.tracked());
  differences.Same("contended", s.contended, oracle.Contended());
  differences.Same("hogs_total", s.hogs_total, oracle.hogs());

  const typename DemeritTwinTracker<Sync>::CallerState got = tracker.ReadCaller(name, at);
  const DemeritOracle::Caller want = oracle.Look(name);
  const bool counted = (want.shared || oracle.IsKnown(name)) && oracle.IsActive(want);
  const DemeritOracle::Limits limits = oracle.LimitsOf(want, counted ? 0 : 1);
  differences.Same("caller tracked", got.tracked, oracle.IsKnown(name));
  differences.Same("caller overflow", got.overflow, want.shared);
  differences.Same("caller held", got.held, want.held);
  const double demerit = oracle.DemeritAt(want, oracle.now());
  differences.Near("caller demerit", got.demerit, demerit, 1e-15 * demerit);
  differences.Same("caller hog", got.hog, limits.hog);
  differences.Same("caller share", got.share, limits.share);
  differences.Same("caller cap", got.cap, limits.cap);
}

// Compares the answers to one call.
inline void CompareDemerit(Differences& differences, const Verdict& got, const Verdict& want) {
  differences.Same("admitted", got.admitted(), want.admitted());
  differences.Same("reason", got.reason(), want.reason());
  differences.Same("scope", got.scope(), want.scope());
  if (!differences.Same("has retry_after", got.retry_after().has_value(),
                        want.retry_after().has_value()) ||
      !want.retry_after()) {
    return;
  }
  // Never too short, and at most a nanosecond or two too long.
  differences.True("retry_after is enough", *got.retry_after() >= *want.retry_after());
  differences.True("retry_after is not too long",
                   *got.retry_after() <= *want.retry_after() + Duration(2));
}

template <class Sync>
class BasicDemeritTwin {
 public:
  explicit BasicDemeritTwin(const DemeritTrackerOptions& options)
      : tracker_(options), oracle_(options) {}

  Verdict Ask(const std::string& name, std::uint64_t cost, TimePoint now) {
    Held call{.name = name};
    Events events;
    const std::uint64_t hogs = oracle_.hogs();
    const Verdict got = tracker_.Admit({.caller = name, .cost = cost}, now, call.ticket, events);
    CompareDemerit(differences_, got,
                   oracle_.Admit(name, cost, now.time_since_epoch().count(), call.in_shared));
    differences_.Same("events", events.size(), oracle_.hogs() - hogs);
    if (got.admitted()) {
      call.cost = call.ticket.units;
      held_.push_back(std::move(call));
    } else {
      differences_.Same("units of a refused call", call.ticket.units, 0u);
    }
    return got;
  }
  // Requires i < held(), as does Cancel. `twice`: the ticket is handed in again, which must do
  // nothing.
  void Complete(std::size_t i, bool twice) {
    Held call = Take(i);
    tracker_.Complete(call.ticket, Outcome::kSuccess);
    if (twice) tracker_.Complete(call.ticket, Outcome::kIgnored);
    oracle_.End(call.name, call.in_shared, call.cost);
  }
  void Cancel(std::size_t i, const Verdict& cause, TimePoint now) {
    Held call = Take(i);
    Events events;
    const std::uint64_t hogs = oracle_.hogs();
    tracker_.Cancel(call.ticket, cause, now, events);
    oracle_.Cancel(call.name, call.in_shared, call.cost, cause.IsCapacity(),
                   now.time_since_epoch().count());
    differences_.Same("events", events.size(), oracle_.hogs() - hogs);
  }
  void Configure(const DemeritTrackerOptions& options, TimePoint now) {
    differences_.True("configured", tracker_.Configure(options, now).empty());
    oracle_.Configure(options, now.time_since_epoch().count());
  }
  // At a time that need not have come yet: what will be if nothing happens. Reading changes
  // nothing.
  void Compare(const std::string& name, TimePoint at) {
    CompareDemerit(differences_, tracker_, oracle_, name, at);
  }

  std::size_t held() const { return held_.size(); }
  const DemeritOracle& oracle() const { return oracle_; }
  // "" unless they differed.
  const std::string& difference() const { return differences_.first(); }

 private:
  struct Held {
    std::string name;
    bool in_shared = false;
    std::uint64_t cost = 0;
    typename DemeritTwinTracker<Sync>::Ticket ticket{};
  };
  Held Take(std::size_t i) {
    std::swap(held_[i], held_.back());
    Held call = std::move(held_.back());
    held_.pop_back();
    return call;
  }

  DemeritTwinTracker<Sync> tracker_;
  DemeritOracle oracle_;
  Differences differences_;
  std::vector<Held> held_;
};

using DemeritTwin = BasicDemeritTwin<StdSync>;

}  // namespace shed

#endif  // SHED_TESTS_PROPERTY_DEMERIT_TWIN_H_
