// Random calls, ends, leavings and polls on a clock that moves: the queue answers as the same rules
// written plainly over a vector.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "shed/admission_queue.h"
#include "shed/clock.h"
#include "shed/concurrency_limiter.h"
#include "shed/limiter.h"

namespace shed {
namespace {

using namespace std::chrono_literals;

struct Said {
  int id = 0;
  Reason reason = Reason::kNone;  // None: admitted.

  friend bool operator==(const Said&, const Said&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Said& said) {
    return out << said.id << " " << Name(said.reason);
  }
};

// One thread, no heap, no list: what is documented, as it is documented.
class Plain {
 public:
  Plain(const AdmissionQueueOptions& options, std::uint64_t limit)
      : options_(options), limit_(limit) {}

  void Enter(int id, const Request& request, TimePoint now) {
    const bool expired = Expire(now);
    const bool pressure = Pressure(now);
    Duration most = pressure ? options_.target : options_.max_wait;
    if (request.max_wait > Duration(0)) most = std::min(most, request.max_wait);
    Waiter waiter{id, request, now + most, false};
    if (request.time_left != Duration::max()) {
      const TimePoint last = now + request.time_left - options_.min_service;
      waiter.for_client = last <= waiter.until;
      waiter.until = std::min(waiter.until, last);
    }
    if (waiter.until <= now) {
      said.push_back({id, Reason::kDeadline});
    } else if (Place(waiter, pressure) == 0 && Fits(request)) {
      Admit(waiter);
    } else if (line_.size() >= options_.max_waiting && Place(waiter, pressure) == line_.size()) {
      said.push_back({id, Reason::kQueueFull});
    } else {
      if (line_.empty() && !(pressed_ && now - *pressed_ < options_.interval)) {
        stands_since_ = now;
      }
      std::optional<int> evicted;
      if (line_.size() >= options_.max_waiting) evicted = Sorted(pressure).back().id;
      line_.push_back(waiter);
      if (evicted) {
        said.push_back({*evicted, Reason::kQueueFull});
        Remove(*evicted, now);
      }
    }
    if (expired) Ask(now);
  }
  void End(int id, TimePoint now) {
    in_flight_ -= running_.at(id);
    running_.erase(id);
    Poll(now);
  }
  bool Leave(int id, TimePoint now) {
    const bool was = Remove(id, now);
    if (was) Poll(now);
    return was;
  }
  void Poll(TimePoint now) {
    Expire(now);
    Ask(now);
  }
  TimePoint NextDeadline() const {
    TimePoint next = TimePoint::max();
    for (const Waiter& w : line_) next = std::min(next, w.until);
    return next;
  }
  bool Pressure(TimePoint now) const {
    return !line_.empty() && now - stands_since_ >= options_.interval;
  }
  std::size_t waiting() const { return line_.size(); }

  std::vector<Said> said;

 private:
  struct Waiter {
    int id;
    Request request;
    TimePoint until;
    bool for_client;
  };

  bool Fits(const Request& request) const { return in_flight_ + request.cost <= limit_; }
  void Admit(const Waiter& waiter) {
    in_flight_ += waiter.request.cost;
    running_[waiter.id] = waiter.request.cost;
    said.push_back({waiter.id, Reason::kNone});
  }
  static std::vector<Waiter> Sorted(std::vector<Waiter> line, bool newest_first) {
    if (newest_first) std::reverse(line.begin(), line.end());
    std::stable_sort(line.begin(), line.end(), [](const Waiter& a, const Waiter& b) {
      return a.request.criticality > b.request.criticality;
    });
    return line;
  }
  std::vector<Waiter> Sorted(bool newest_first) const { return Sorted(line_, newest_first); }
  // Where it would stand.
  std::size_t Place(const Waiter& newcomer, bool newest_first) const {
    std::vector<Waiter> line = line_;
    line.push_back(newcomer);
    line = Sorted(std::move(line), newest_first);
    std::size_t place = 0;
    while (line[place].id != newcomer.id) ++place;
    return place;
  }
  bool Remove(int id, TimePoint now) {
    if (Pressure(now)) pressed_ = now;
    return std::erase_if(line_, [id](const Waiter& w) { return w.id == id; }) != 0;
  }
  bool Expire(TimePoint now) {
    bool any = false;
    for (const Waiter& w : std::vector<Waiter>(line_)) {
      if (w.until > now) continue;
      said.push_back({w.id, w.for_client ? Reason::kDeadline : Reason::kQueueDelay});
      Remove(w.id, now);
      any = true;
    }
    return any;
  }
  void Ask(TimePoint now) {
    while (!line_.empty()) {
      const Waiter first = Sorted(Pressure(now)).front();
      if (!Fits(first.request)) break;
      Remove(first.id, now);
      Admit(first);
    }
  }

  const AdmissionQueueOptions options_;
  const std::uint64_t limit_;
  std::uint64_t in_flight_ = 0;
  std::map<int, std::uint64_t> running_;
  std::vector<Waiter> line_;
  TimePoint stands_since_{};
  std::optional<TimePoint> pressed_;
};

using L = BasicLimiter<ManualClock, StdSync, ConcurrencyLimiter>;
using Queue = AdmissionQueue<L>;

// Those that are refused at one instant are refused in any order; admissions are not.
std::vector<Said> Ordered(std::vector<Said> said) {
  std::stable_sort(said.begin(), said.end(), [](const Said& a, const Said& b) {
    if ((a.reason == Reason::kNone) != (b.reason == Reason::kNone))
      return b.reason == Reason::kNone;
    return a.reason != Reason::kNone && a.id < b.id;
  });
  return said;
}

void Compare(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto draw = [&](std::uint64_t n) { return random() % n; };
  AdmissionQueueOptions options{.max_waiting = static_cast<std::uint32_t>(1 + draw(6)),
                                .max_wait = Duration(2000 + draw(20'000)),
                                .target = Duration(1000 + draw(1000)),
                                .interval = Duration(1000 + draw(10'000)),
                                .min_service = Duration(draw(3) * 500)};
  const auto limit = static_cast<std::uint32_t>(3 + draw(3));
  ManualClock clock(TimePoint(1h));
  L limiter(clock, {.limit = limit});
  std::vector<Said> said;
  std::map<int, Queue::Guard> running;
  Queue queue(limiter, options);
  Plain plain(options, limit);
  std::map<int, Queue::Ticket> tickets;
  for (int id = 0; id < 400; ++id) {
    said.clear();
    plain.said.clear();
    const TimePoint now = clock.Now();
    const std::uint64_t what = draw(10);
    if (what < 5) {
      const Request request{.cost = 1 + draw(3),
                            .criticality = static_cast<Criticality>(draw(4)),
                            .time_left = draw(2) == 0 ? Duration::max() : Duration(draw(12'000)),
                            .max_wait = draw(4) == 0 ? Duration(draw(9000)) : Duration(0)};
      plain.Enter(id, request, now);
      tickets[id] = queue.Enter(request, [&, id](Queue::Guard guard) {
        said.push_back({id, guard.rejection().reason()});
        if (guard) running.emplace(id, std::move(guard));
      });
    } else if (what < 8 && !running.empty()) {
      const auto at = std::next(running.begin(), static_cast<std::ptrdiff_t>(draw(running.size())));
      auto node = running.extract(at);
      plain.End(node.key(), now);
      node.mapped().Complete(Outcome::kSuccess);
    } else if (what < 9 && !tickets.empty()) {
      const auto at = std::next(tickets.begin(), static_cast<std::ptrdiff_t>(draw(tickets.size())));
      const bool left = plain.Leave(at->first, now);
      ASSERT_EQ(queue.Leave(at->second), left);
    } else {
      // Often to the very instant at which something is due.
      const TimePoint next = plain.NextDeadline();
      const bool to_next = draw(2) == 0 && next != TimePoint::max();
      clock.Set(to_next ? std::max(now, next) : now + Duration(draw(4000)));
      if (draw(2) == 0) {
        plain.Poll(clock.Now());
        queue.Poll();
      }
    }
    ASSERT_EQ(Ordered(said), Ordered(plain.said)) << "seed " << seed << ", step " << id;
    ASSERT_EQ(queue.NextDeadline(), plain.NextDeadline());
    const auto snapshot = queue.Read();
    ASSERT_EQ(snapshot.TotalWaiting(), plain.waiting());
    ASSERT_EQ(snapshot.pressure, plain.Pressure(clock.Now()));
    ASSERT_EQ(snapshot.TotalEntered(), tickets.size());
  }
}

TEST(AdmissionQueueProperty, AnswersAsThePlainRules) {
  for (std::uint64_t seed = 1; seed <= 500 && !::testing::Test::HasFailure(); ++seed) Compare(seed);
}

}  // namespace
}  // namespace shed
