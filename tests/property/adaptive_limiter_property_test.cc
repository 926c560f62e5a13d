// Every verdict and every window of the enforcement agree with a plain account of the same calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "shed/adaptive_limiter.h"
#include "shed/solo.h"

namespace shed {
namespace {

using namespace std::chrono_literals;

struct Book {
  std::mt19937_64 random;
  std::optional<LimitWindow> closed;
  LimitPlan plan;
  int starts = 0;
};

struct RandomPlanOptions {
  std::int64_t initial_limit = 10;
  std::array<double, kCriticalityCount> usable = {0.25, 0.5, 1, 1};
  Book* book = nullptr;
  constexpr std::string_view Problem() const noexcept { return ""; }
};

// Answers each window with a random plan.
class RandomPlans {
 public:
  using Options = RandomPlanOptions;
  struct Snapshot {};
  static constexpr std::string_view kName = "random_plans";
  static constexpr bool kIntegral = true;
  static constexpr bool kCountsRefusals = true;

  explicit RandomPlans(const Options& options) noexcept : book_(options.book) {}
  LimitPlan Start(TimePoint now) noexcept {
    ++book_->starts;
    return Draw(now);
  }
  LimitPlan Close(const LimitWindow& window, Events&) noexcept {
    book_->closed = window;
    return Draw(window.end);
  }
  Snapshot Read() const noexcept { return {}; }

 private:
  std::uint32_t Below(std::uint32_t n) noexcept {
    return static_cast<std::uint32_t>(book_->random() % n);
  }
  LimitPlan Draw(TimePoint now) noexcept {
    LimitPlan plan{.limit = 1 + Below(Below(4) == 0 ? 200 : 12)};
    plan.not_before = Below(4) == 0 ? TimePoint::min() : now + Duration(Below(20'000'000));
    plan.completions = Below(8) == 0 ? LimitPlan::kNever : Below(50);
    if (plan.completions == LimitPlan::kNever || Below(4) == 0) plan.drained = Below(5);
    if (plan.completions == LimitPlan::kNever || Below(4) == 0) {
      plan.at_latest = now + Duration(Below(60'000'000));
    }
    book_->plan = plan;
    return plan;
  }
  Book* book_;
};

using Limiter = Solo<AdaptiveLimiter<RandomPlans>>;

// The account: integers, and every call by itself.
class Account {
 public:
  explicit Account(std::uint64_t seed)
      : limiter_({.book = &book_}), random_(seed), now_(Duration(random_() % (1u << 30))) {
    book_.random.seed(seed + 1);
  }

  void Run(int operations) {
    for (int i = 0; i < operations && !testing::Test::HasFailure(); ++i) Step();
    EXPECT_GT(windows_, operations / 200) << "or it showed nothing";
  }

 private:
  struct Call {
    Limiter::Ticket ticket;
    TimePoint admitted;
    int window;
  };

  void Step() {
    const std::uint64_t dice = random_() % 100;
    if (dice < 60) Pass(Duration(random_() % 1'000'000));
    if (random_() % 200'000 == 0) Pass(24h * 365 * 30);
    if (dice % 2 == 0 || calls_.empty()) {
      Ask(static_cast<Criticality>(random_() % 4));
    } else {
      End(random_() % calls_.size(), random_() % 8 == 0);
    }
  }

  void Pass(Duration time) {
    area_ += static_cast<double>(calls_.size()) * static_cast<double>(time.count()) * 1e-9;
    now_ += time;
  }

  void Ask(Criticality criticality) {
    const std::uint32_t usable =
        internal::CriticalityShare({0.25, 0.5, 1, 1}).Usable(limit_, criticality);
    Call call{{}, now_, windows_};
    const Verdict verdict =
        limiter_.Admit({.criticality = criticality}, now_, call.ticket, events_);
    ASSERT_EQ(verdict.admitted(), calls_.size() < usable);
    if (verdict.admitted()) {
      calls_.push_back(call);
      ++admitted_;
      ASSERT_FALSE(book_.closed) << "an admission closes nothing";
    } else {
      ++refused_[IndexOf(criticality)];
      Check(open_ && now_ >= plan_.at_latest);
    }
  }

  void End(std::size_t index, bool cancel) {
    Call call = calls_[index];
    calls_[index] = calls_.back();
    calls_.pop_back();
    if (cancel) {
      limiter_.Cancel(call.ticket, Verdict::Refuse(Reason::kRate), now_);
      // As if it had never been.
      if (call.window < windows_) {
        area_ -= Seconds(now_ - begin_);
        ++cancelled_old_;
      } else {
        area_ -= Seconds(now_ - call.admitted);
        --admitted_;
      }
      ASSERT_FALSE(book_.closed);
      return;
    }
    const bool overload = random_() % 10 == 0;
    limiter_.Complete(call.ticket,
                      {.started = call.admitted,
                       .now = now_,
                       .outcome = overload ? Outcome::kOverload : Outcome::kSuccess},
                      events_);
    ++completed_;
    if (overload) ++overloaded_;
    const bool due = (now_ >= plan_.not_before && plan_.completions != LimitPlan::kNever &&
                      completed_ >= plan_.completions) ||
                     (plan_.drained != LimitPlan::kNever && calls_.size() <= plan_.drained) ||
                     now_ >= plan_.at_latest;
    Check(!open_ || due);
  }

  // Compares what the algorithm was told, if it was to be told at all, and begins a new window.
  void Check(bool due) {
    if (!due) {
      ASSERT_FALSE(book_.closed) << "closed before it was due";
      return;
    }
    const bool start = book_.starts != starts_;
    ASSERT_NE(start, book_.closed.has_value()) << "due, and not closed";
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
    ASSERT_EQ(limiter_.Read(now_).limit, limit_);
    ASSERT_EQ(limiter_.Read(now_).in_flight, calls_.size());
  }

  void Compare(const LimitWindow& window) {
    ASSERT_EQ(window.begin, begin_);
    ASSERT_EQ(window.end, now_);
    ASSERT_EQ(window.limit, limit_);
    ASSERT_EQ(window.in_flight, calls_.size());
    ASSERT_EQ(window.completed, completed_);
    ASSERT_EQ(window.overloaded, overloaded_);
    ASSERT_EQ(window.refused, refused_);
    // A call of the window before that is cancelled in this one takes its admission with it.
    const std::uint64_t out = completed_ + calls_.size();
    ASSERT_LE(window.admitted, out);
    ASSERT_EQ(window.admitted, admitted_ - std::min(admitted_, cancelled_old_));
    if (cancelled_old_ == 0) {
      // Each of the calls is off by a tick at most.
      const double ticks = static_cast<double>(out + admitted_ + completed_ + 2);
      ASSERT_NEAR(window.area, area_, ticks * 1.1e-6);
    }
    ASSERT_GE(window.area, 0.0);
  }

  static double Seconds(Duration d) { return static_cast<double>(d.count()) * 1e-9; }

  Book book_;
  Limiter limiter_;
  Events events_;
  std::mt19937_64 random_;
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

TEST(AdaptiveLimiterProperty, AgreesWithAPlainAccount) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    Account(seed).Run(250'000);
  }
}

}  // namespace
}  // namespace shed
