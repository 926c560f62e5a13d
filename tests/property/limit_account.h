// The enforcement of BasicAdaptiveLimiter beside a plain account of the same calls: integers, and
// every call by itself. The limit algorithm is a script: its plans come from outside.
#ifndef SHED_TESTS_PROPERTY_LIMIT_ACCOUNT_H_
#define SHED_TESTS_PROPERTY_LIMIT_ACCOUNT_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "property/differences.h"
#include "shed/adaptive_limiter.h"
#include "shed/solo.h"

namespace shed {

// What a scripted algorithm is to answer, and what it was told.
struct PlanBook {
  std::function<LimitPlan(TimePoint now)> next;
  std::optional<LimitWindow> closed{};
  LimitPlan plan{};
  int starts = 0;
};

struct ScriptedPlansOptions {
  std::int64_t initial_limit = 10;
  std::array<double, kCriticalityCount> usable = {0.25, 0.5, 1, 1};
  PlanBook* book = nullptr;
  constexpr std::string_view Problem() const noexcept { return ""; }
};

// Answers each window with the book's next plan.
class ScriptedPlans {
 public:
  using Options = ScriptedPlansOptions;
  struct Snapshot {};
  static constexpr std::string_view kName = "scripted_plans";
  static constexpr bool kIntegral = true;
  static constexpr bool kCountsRefusals = true;

  explicit ScriptedPlans(const Options& options) noexcept : book_(options.book) {}
  LimitPlan Start(TimePoint now) noexcept {
    ++book_->starts;
    return Next(now);
  }
  LimitPlan Close(const LimitWindow& window, Events&) noexcept {
    book_->closed = window;
    return Next(window.end);
  }
  Snapshot Read() const noexcept { return {}; }

 private:
  LimitPlan Next(TimePoint now) noexcept { return book_->plan = book_->next(now); }
  PlanBook* book_;
};

class LimitAccount {
 public:
  // Time starts at `start` and only goes on.
  LimitAccount(TimePoint start, std::function<LimitPlan(TimePoint)> next)
      : book_{.next = std::move(next)}, limiter_({.book = &book_}), now_(start) {}

  void Pass(Duration time) {
    area_ += static_cast<double>(calls_.size()) * static_cast<double>(time.count()) * 1e-9;
    now_ += time;
  }

  void Ask(Criticality criticality) {
    const std::uint32_t usable =
        internal::CriticalityShare(ScriptedPlansOptions().usable).Usable(limit_, criticality);
    Call call{{}, now_, windows_};
    Events events;
    const Verdict verdict = limiter_.Admit({.criticality = criticality}, now_, call.ticket, events);
    differences_.Same("admitted", verdict.admitted(), calls_.size() < usable);
    if (verdict.admitted()) {
      calls_.push_back(call);
      ++admitted_;
      differences_.True("an admission closes nothing", !book_.closed);
    } else {
      ++refused_[IndexOf(criticality)];
      Check(open_ && now_ >= plan_.at_latest);
    }
  }

  // Requires index < held(), as does Complete.
  void Cancel(std::size_t index) {
    Call call = Take(index);
    limiter_.Cancel(call.ticket, Verdict::Refuse(Reason::kRate), now_);
    // As if it had never been.
    if (call.window < windows_) {
      area_ -= Seconds(now_ - begin_);
      ++cancelled_old_;
    } else {
      area_ -= Seconds(now_ - call.admitted);
      --admitted_;
    }
    differences_.True("a cancellation closes nothing", !book_.closed);
  }
  void Complete(std::size_t index, Outcome outcome) {
    Call call = Take(index);
    Events events;
    limiter_.Complete(call.ticket, {.started = call.admitted, .now = now_, .outcome = outcome},
                      events);
    ++completed_;
    if (outcome == Outcome::kOverload) ++overloaded_;
    const bool due = (now_ >= plan_.not_before && plan_.completions != LimitPlan::kNever &&
                      completed_ >= plan_.completions) ||
                     (plan_.drained != LimitPlan::kNever && calls_.size() <= plan_.drained) ||
                     now_ >= plan_.at_latest;
    Check(!open_ || due);
  }

  std::size_t held() const { return calls_.size(); }
  TimePoint now() const { return now_; }
  int windows() const { return windows_; }
  std::uint32_t limit() const { return limit_; }
  // "" unless they differed.
  const std::string& difference() const { return differences_.first(); }

 private:
  using Limiter = Solo<AdaptiveLimiter<ScriptedPlans>>;
  struct Call {
    Limiter::Ticket ticket;
    TimePoint admitted;
    int window;
  };

  Call Take(std::size_t index) {
    const Call call = calls_[index];
    calls_[index] = calls_.back();
    calls_.pop_back();
    return call;
  }

  // Compares what the algorithm was told, if it was to be told at all, and begins a new window.
  void Check(bool due) {
    if (!due) {
      differences_.True("no window closes before it is due", !book_.closed);
      return;
    }
    const bool start = book_.starts != starts_;
    if (!differences_.Same("closed, being due", book_.closed.has_value(), !start)) return;
    if (book_.closed) Compare(*book_.closed);
    starts_ = book_.starts;
    book_.closed.reset();
    open_ = true;
    ++windows_;
    plan_ = book_.plan;
    limit_ = plan_.limit;
    begin_ = now_;
    area_ = 0;
    admitted_ = completed_ = overloaded_ = cancelled_old_ = 0;
    refused_ = {};
    differences_.Same("limit", limiter_.Read(now_).limit, limit_);
    differences_.Same("in flight", limiter_.Read(now_).in_flight, calls_.size());
  }

  void Compare(const LimitWindow& window) {
    differences_.Same("begin", window.begin, begin_);
    differences_.Same("end", window.end, now_);
    differences_.Same("limit of the window", window.limit, limit_);
    differences_.Same("in flight at its end", window.in_flight, calls_.size());
    differences_.Same("completed", window.completed, completed_);
    differences_.Same("overloaded", window.overloaded, overloaded_);
    for (std::size_t i = 0; i < refused_.size(); ++i) {
      differences_.Same("refused", window.refused[i], refused_[i]);
    }
    // A call of the window before that is cancelled in this one takes its admission with it.
    const std::uint64_t out = completed_ + calls_.size();
    differences_.True("admitted is possible", window.admitted <= out);
    differences_.Same("admitted in the window", window.admitted,
                      admitted_ - std::min(admitted_, cancelled_old_));
    if (cancelled_old_ == 0) {
      // Each of the calls is off by a tick at most.
      const double ticks = static_cast<double>(out + admitted_ + completed_ + 2);
      differences_.Near("area", window.area, area_, ticks * 1.1e-6);
    }
    differences_.True("area is not negative", window.area >= 0.0);
  }

  static double Seconds(Duration d) { return static_cast<double>(d.count()) * 1e-9; }

  PlanBook book_;
  Limiter limiter_;
  Differences differences_;
  TimePoint now_;
  std::vector<Call> calls_;

  bool open_ = false;
  int starts_ = 0;
  int windows_ = 0;
  LimitPlan plan_;
  std::uint32_t limit_ = 10;
  TimePoint begin_{};
  double area_ = 0;
  std::uint64_t admitted_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t overloaded_ = 0;
  std::uint64_t cancelled_old_ = 0;  // Admitted before this window, cancelled in it.
  std::array<std::uint64_t, kCriticalityCount> refused_{};
};

}  // namespace shed

#endif  // SHED_TESTS_PROPERTY_LIMIT_ACCOUNT_H_
