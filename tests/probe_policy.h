// Policies that answer what they are told, and write down what is done to them.
#ifndef SHED_TESTS_PROBE_POLICY_H_
#define SHED_TESTS_PROBE_POLICY_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shed/named.h"
#include "shed/policy.h"

namespace shed {

// What is done to all probes of a test, in order: "a.Admit", "a.Cancel", ...
using Journal = std::vector<std::string>;

// What one probe answers, and what it saw.
struct Probed {
  Verdict answer = Verdict::Admit();
  Journal* journal = nullptr;

  std::vector<TimePoint> times{};  // Of every call that brings one.
  std::vector<Duration> max_waits{};
  std::vector<Verdict> causes{};
  std::vector<Completion> completions{};
  std::vector<std::uint64_t> charges{};
  int tickets = 0;            // Handed out by admissions.
  std::map<int, int> ends{};  // How often each was ended, by Cancel or Complete.
  int cancelled = 0;
  int completed = 0;

  // Every ticket was ended once, and no other was.
  bool EachTicketEndedOnce() const {
    for (const auto& [ticket, count] : ends) {
      if (ticket < 1 || ticket > tickets || count != 1) return false;
    }
    return static_cast<int>(ends.size()) == tickets;
  }
};

// Takes no times at the end of a call.
template <FixedString kText>
class Probe {
 public:
  static constexpr std::string_view kName = kText.view();
  struct Ticket {
    int id = 0;
  };

  explicit Probe(Probed& probed) : probed_(&probed) {}

  Verdict Admit(const Request& request, TimePoint now, Ticket& ticket) noexcept {
    Write("Admit");
    probed_->times.push_back(now);
    probed_->max_waits.push_back(request.max_wait);
    // A refusal leaves its ticket with a number that must never come back.
    ticket.id = probed_->answer.admitted() ? ++probed_->tickets : -1;
    return probed_->answer;
  }
  void Cancel(Ticket& ticket, const Verdict& cause, TimePoint now) noexcept {
    Write("Cancel");
    probed_->times.push_back(now);
    probed_->causes.push_back(cause);
    ++probed_->ends[ticket.id];
    ++probed_->cancelled;
  }
  void Complete(Ticket& ticket, Outcome outcome) noexcept {
    Write("Complete");
    probed_->completions.push_back({.outcome = outcome});
    ++probed_->ends[ticket.id];
    ++probed_->completed;
  }

 protected:
  void Write(std::string_view what) {
    if (probed_->journal == nullptr) return;
    probed_->journal->push_back(std::string(kName) + "." + std::string(what));
  }
  Probed* probed_;
};

// Takes the times, and what a call really cost.
template <FixedString kText>
class TimedProbe : public Probe<kText> {
 public:
  using Base = Probe<kText>;
  using Base::Base;
  using typename Base::Ticket;

  void Complete(Ticket& ticket, const Completion& completion) noexcept {
    Base::Complete(ticket, completion.outcome);
    this->probed_->completions.back() = completion;
    this->probed_->times.push_back(completion.now);
  }
  void Charge(Ticket&, std::uint64_t units, TimePoint now) noexcept {
    this->Write("Charge");
    this->probed_->charges.push_back(units);
    this->probed_->times.push_back(now);
  }
};

static_assert(Policy<Probe<"probe">> && !CompletesTimed<Probe<"probe">>);
static_assert(Policy<TimedProbe<"probe">> && CompletesTimed<TimedProbe<"probe">>);

}  // namespace shed

#endif  // SHED_TESTS_PROBE_POLICY_H_
