// A limiter of any type, behind one interface, so that a simulation is not a template over stacks.
#ifndef SHED_SIM_GATE_H_
#define SHED_SIM_GATE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "shed/clock.h"
#include "shed/outcome.h"
#include "shed/request.h"
#include "shed/time.h"

namespace shed::sim {

// What becomes of a call that asks.
enum class Said : std::uint8_t { kRefused, kAdmitted, kWaits };

// What became of a call that waited.
struct Answer {
  std::uint32_t slot = 0;
  bool admitted = false;
};

// Admits calls and is told how they ended; keeps the guards, one per slot.
class Gate {
 public:
  virtual ~Gate() = default;
  virtual bool TryAdmit(const Request& request, std::uint32_t slot) = 0;
  virtual void Complete(std::uint32_t slot, Outcome outcome) = 0;
  // How long the call that was admitted must wait before it starts.
  virtual Duration wait(std::uint32_t) const { return Duration(0); }
  // What the call turned out to cost; before Complete.
  virtual void Charge(std::uint32_t, std::uint64_t) {}

  // For a gate where calls may wait.
  virtual Said Ask(const Request& request, std::uint32_t slot) {
    return TryAdmit(request, slot) ? Said::kAdmitted : Said::kRefused;
  }
  // The answers since the last time, to be asked for after each call of Ask, Complete and Poll.
  virtual std::vector<Answer> TakeAnswers() { return {}; }
  // When to Poll(); TimePoint::max() if nobody waits.
  virtual TimePoint next() const { return TimePoint::max(); }
  virtual void Poll() {}

  // The concurrency limit in force; 0 where there is none.
  virtual double limit() const { return 0; }
  // Whether the limit is held down to measure something.
  virtual bool measuring() const { return false; }
};

// Admits all: no limiter.
class OpenGate final : public Gate {
 public:
  bool TryAdmit(const Request&, std::uint32_t) override { return true; }
  void Complete(std::uint32_t, Outcome) override {}
};

// A BasicLimiter<ManualClock, ...>. `Limit` reads the limit in force from it: `double(const L&)`;
// if it has a member `Measuring(const L&)`, that says whether the limit measures.
template <class L, class Limit>
class LimiterGate final : public Gate {
 public:
  template <class... Args>
  explicit LimiterGate(Limit limit, Args&&... args)
      : limiter_(std::forward<Args>(args)...), limit_(std::move(limit)) {}

  bool TryAdmit(const Request& request, std::uint32_t slot) override {
    auto guard = limiter_.TryAdmit(request);
    if (!guard) return false;
    if (slot >= guards_.size()) guards_.resize(slot + 1);
    guards_[slot].emplace(std::move(guard));
    return true;
  }
  void Complete(std::uint32_t slot, Outcome outcome) override {
    guards_[slot]->Complete(outcome);
    guards_[slot].reset();
  }
  Duration wait(std::uint32_t slot) const override { return guards_[slot]->wait(); }
  void Charge(std::uint32_t slot, std::uint64_t units) override { guards_[slot]->Charge(units); }
  double limit() const override { return limit_(limiter_); }
  bool measuring() const override {
    if constexpr (requires { limit_.Measuring(limiter_); }) {
      return limit_.Measuring(limiter_);
    } else {
      return false;
    }
  }

 private:
  L limiter_;
  Limit limit_;
  std::vector<std::optional<typename L::Guard>> guards_;
};

// Makes the gate of one place: the only one, or that of caller number `caller`.
using GateFactory =
    std::function<std::unique_ptr<Gate>(const ManualClock& clock, std::uint32_t caller)>;

}  // namespace shed::sim

#endif  // SHED_SIM_GATE_H_
