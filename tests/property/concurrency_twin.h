// A ConcurrencyLimiter beside its oracle: what is done to one is done to both, and every answer of
// the one is compared with the other's.
#ifndef SHED_TESTS_PROPERTY_CONCURRENCY_TWIN_H_
#define SHED_TESTS_PROPERTY_CONCURRENCY_TWIN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "property/concurrency_oracle.h"
#include "property/differences.h"
#include "shed/concurrency_limiter.h"
#include "shed/solo.h"

namespace shed {

class ConcurrencyTwin {
 public:
  explicit ConcurrencyTwin(const ConcurrencyLimiterOptions& options)
      : limiter_(options), oracle_(options) {}

  Verdict Ask(std::uint64_t cost, std::size_t criticality) {
    Held held{.call = ++calls_};
    const Verdict got =
        limiter_.Admit({.cost = cost, .criticality = static_cast<Criticality>(criticality)},
                       TimePoint(), held.ticket);
    const std::int64_t units = oracle_.Admit(held.call, cost, criticality);
    differences_.Same("verdict", got,
                      units > 0 ? Verdict::Admit() : Verdict::Refuse(Reason::kConcurrency));
    differences_.Same("units", held.ticket.units, units);
    if (got.admitted()) held_.push_back(held);
    Compare();
    return got;
  }
  // Requires i < held(), as does Cancel. `twice`: the ticket is handed in again, which must do
  // nothing.
  void Complete(std::size_t i, bool twice) {
    Held held = Take(i);
    limiter_.Complete(held.ticket, Outcome::kSuccess);
    if (twice) limiter_.Complete(held.ticket, Outcome::kSuccess);
    oracle_.End(held.call);
    Compare();
  }
  void Cancel(std::size_t i, bool twice) {
    Held held = Take(i);
    limiter_.Cancel(held.ticket, Verdict::Refuse(Reason::kRate), TimePoint());
    if (twice) limiter_.Cancel(held.ticket, Verdict::Refuse(Reason::kRate), TimePoint());
    oracle_.End(held.call);
    Compare();
  }
  void SetLimit(std::int64_t limit) {
    limiter_.SetLimit(limit, TimePoint());
    oracle_.SetLimit(limit);
    Compare();
  }

  std::int64_t limit() const { return oracle_.limit(); }
  std::uint64_t in_flight() const { return static_cast<std::uint64_t>(oracle_.InFlight()); }
  std::size_t held() const { return held_.size(); }
  // "" unless they differed.
  const std::string& difference() const { return differences_.first(); }

 private:
  struct Held {
    ConcurrencyLimiter::Ticket ticket{};
    int call = 0;
  };
  Held Take(std::size_t i) {
    const Held held = held_[i];
    held_[i] = held_.back();
    held_.pop_back();
    return held;
  }
  void Compare() {
    const auto got = limiter_.Read(TimePoint());
    differences_.Same("limit", got.limit, oracle_.limit());
    differences_.Same("in flight", got.in_flight, oracle_.InFlight());
  }

  Solo<ConcurrencyLimiter> limiter_;
  ConcurrencyOracle oracle_;
  Differences differences_;
  int calls_ = 0;
  std::vector<Held> held_;
};

}  // namespace shed

#endif  // SHED_TESTS_PROPERTY_CONCURRENCY_TWIN_H_
