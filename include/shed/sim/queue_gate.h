// A limiter with an AdmissionQueue in front of it, as a gate.
#ifndef SHED_SIM_QUEUE_GATE_H_
#define SHED_SIM_QUEUE_GATE_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "shed/admission_queue.h"
#include "shed/sim/gate.h"

namespace shed::sim {

// A queue in front of a BasicLimiter<ManualClock, ...>. `Limit` as for a LimiterGate.
template <class L, class Limit>
class QueueGate final : public Gate {
  using Queue = AdmissionQueue<L>;
  using Guard = typename Queue::Guard;

 public:
  template <class... Args>
  QueueGate(const AdmissionQueueOptions& options, Limit limit, Args&&... args)
      : limiter_(std::forward<Args>(args)...),
        queue_(limiter_, options),
        limit_(std::move(limit)) {}
  ~QueueGate() override { ends_ = true; }  // Whoever is let in from here on goes at once.

  Said Ask(const Request& request, std::uint32_t slot) override {
    if (slot >= guards_.size()) guards_.resize(slot + 1);
    asks_ = slot;
    said_ = Said::kWaits;
    queue_.Enter(request, [this, slot](Guard guard) {
      if (ends_) return;
      const bool admitted{guard};
      if (admitted) guards_[slot].emplace(std::move(guard));
      if (asks_ == slot) {
        said_ = admitted ? Said::kAdmitted : Said::kRefused;
      } else {
        answers_.push_back({slot, admitted});
      }
    });
    asks_.reset();
    return said_;
  }
  // Whoever would wait is refused, and does not wait.
  bool TryAdmit(const Request& request, std::uint32_t slot) override {
    if (slot >= guards_.size()) guards_.resize(slot + 1);
    bool admitted = false;
    const auto ticket = queue_.Enter(request, [this, slot, &admitted](Guard guard) {
      admitted = bool{guard};
      if (guard) guards_[slot].emplace(std::move(guard));
    });
    queue_.Leave(ticket);
    return admitted;
  }
  void Complete(std::uint32_t slot, Outcome outcome) override {
    std::optional<Guard> guard = std::exchange(guards_[slot], std::nullopt);
    guard->Complete(outcome);
  }
  std::vector<Answer> TakeAnswers() override { return std::exchange(answers_, {}); }
  TimePoint next() const override { return queue_.NextDeadline(); }
  void Poll() override { queue_.Poll(); }
  double limit() const override { return limit_(limiter_); }

 private:
  L limiter_;
  bool ends_ = false;
  std::vector<Answer> answers_;
  std::optional<std::uint32_t> asks_;  // The slot of the call that is asking.
  Said said_ = Said::kWaits;
  Queue queue_;
  Limit limit_;
  std::vector<std::optional<Guard>> guards_;
};

}  // namespace shed::sim

#endif  // SHED_SIM_QUEUE_GATE_H_
