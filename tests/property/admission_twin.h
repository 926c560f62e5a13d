// An AdmissionController beside its oracle: what is done to one is done to both, and every answer
// of the one is compared with the other's.
#ifndef SHED_TESTS_PROPERTY_ADMISSION_TWIN_H_
#define SHED_TESTS_PROPERTY_ADMISSION_TWIN_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "property/admission_oracle.h"
#include "property/differences.h"
#include "shed/admission_controller.h"

namespace shed {

// Compares what is read.
inline void CompareAdmission(Differences& differences, const AdmissionController::Snapshot& got,
                             const AdmissionController::Snapshot& want) {
  differences.Same("calls", got.calls, want.calls);
  differences.Same("successes", got.successes, want.successes);
  differences.Near("rps", got.rps, want.rps, 1e-9 * want.rps);
  differences.Near("probability", got.probability, want.probability, 1e-12);
  for (std::size_t k = 0; k < kCriticalityCount; ++k) {
    differences.Same("arrivals", got.arrivals[k], want.arrivals[k]);
    if (want.arrivals[k] == 0 && want.probability > 0) continue;  // 0 or 1, at a rounding.
    differences.Near("class_probability", got.class_probability[k], want.class_probability[k],
                     1e-9);
  }
}

// The oracle, and which draws are possible by what it says.
class AdmissionDraws {
 public:
  explicit AdmissionDraws(const AdmissionControllerOptions& options) : oracle_(options) {}

  // A call of class `k` asked, and was told `verdict`.
  void Ask(Differences& differences, TimePoint now, std::size_t k, int call,
           const Verdict& verdict) {
    oracle_.Arrive(now, k, call);
    if (oracle_.Slice(now) > updated_slice_) Update(now);
    if (!verdict.admitted()) {
      differences.Same("verdict", verdict, Verdict::Refuse(Reason::kLowSuccessRate));
    }
    differences.True("a draw that is possible",
                     IsPossible(updated_, k, verdict) || IsPossible(oracle_.Read(now), k, verdict));
  }
  void Cancel(int call) { oracle_.Cancel(call); }
  void Complete(TimePoint now, Outcome outcome) {
    if (outcome == Outcome::kIgnored) return;
    const bool counts = !oracle_.IsTooOld(now);
    oracle_.End(now, outcome == Outcome::kSuccess);
    if (counts) Update(now);
  }
  const AdmissionOracle& oracle() const { return oracle_; }

 private:
  // The policy draws by shares that it brought up to date at the first call of a slice or, up to
  // this many calls, at the latest end of a call.
  static constexpr std::uint64_t kAlwaysUpdated = 255;

  void Update(TimePoint now) {
    updated_ = oracle_.Read(now);
    updated_slice_ = std::max(updated_slice_, oracle_.Slice(now));
  }
  static bool IsPossible(const AdmissionController::Snapshot& s, std::size_t k,
                         const Verdict& verdict) {
    if (s.calls > kAlwaysUpdated || s.arrivals[k] == 0) return true;
    return verdict.admitted() ? s.class_probability[k] < 1 - 1e-9 : s.class_probability[k] > 1e-9;
  }

  AdmissionOracle oracle_;
  AdmissionController::Snapshot updated_;
  std::int64_t updated_slice_ = std::numeric_limits<std::int64_t>::min();
};

class AdmissionTwin {
 public:
  explicit AdmissionTwin(const AdmissionControllerOptions& options)
      : controller_(options), draws_(options) {}

  Verdict Ask(TimePoint now, std::size_t k) {
    Held held{{}, ++calls_};
    const Verdict got =
        controller_.Admit({.criticality = static_cast<Criticality>(k)}, now, held.ticket);
    draws_.Ask(differences_, now, k, held.call, got);
    if (got.admitted()) held_.push_back(held);
    return got;
  }
  // Requires i < held(), as does Cancel.
  void Complete(std::size_t i, TimePoint now, Outcome outcome) {
    Held held = Take(i);
    controller_.Complete(held.ticket, {.started = now, .now = now, .outcome = outcome});
    draws_.Complete(now, outcome);
  }
  void Cancel(std::size_t i, TimePoint now) {
    Held held = Take(i);
    controller_.Cancel(held.ticket, Verdict::Refuse(Reason::kRate), now);
    draws_.Cancel(held.call);
  }
  void Read(TimePoint now) {
    CompareAdmission(differences_, controller_.Read(now), draws_.oracle().Read(now));
  }

  const AdmissionController& controller() const { return controller_; }
  std::size_t held() const { return held_.size(); }
  // "" unless they differed.
  const std::string& difference() const { return differences_.first(); }

 private:
  struct Held {
    AdmissionController::Ticket ticket;
    int call;
  };
  Held Take(std::size_t i) {
    const Held held = held_[i];
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
    return held;
  }

  AdmissionController controller_;
  AdmissionDraws draws_;
  Differences differences_;
  int calls_ = 0;
  std::vector<Held> held_;
};

}  // namespace shed

#endif  // SHED_TESTS_PROPERTY_ADMISSION_TWIN_H_
