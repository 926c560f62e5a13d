#include "live.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "shed/any_guard.h"
#include "shed/clock.h"
#include "shed/concurrency_limiter.h"
#include "shed/gradient_limiter.h"
#include "shed/knee_limiter.h"
#include "shed/limiter.h"
#include "shed/sim/random.h"
#include "shed/sim/recorder.h"
#include "shed/sim/scenario.h"

namespace lab {
namespace {

using namespace std::chrono_literals;
using shed::AnyGuard;
using shed::Duration;
using shed::Elapsed;
using shed::Outcome;
using shed::SteadyClock;
using shed::TimePoint;
using shed::sim::Count;
using shed::sim::Recorder;
using shed::sim::Report;
using shed::sim::Scenario;

constexpr unsigned kWorkers = 8;
constexpr Duration kWork = 2ms;
constexpr Duration kDeadline = 50ms;

// A limiter of any type.
using Admit = std::function<AnyGuard()>;

template <class L, class... Options>
Admit Admitting(const Options&... options) {
  return [limiter = std::make_shared<L>(options...)]() -> AnyGuard {
    return limiter->TryAdmit({.time_left = kDeadline});
  };
}

Admit MakeAdmit(const std::string& stack) {
  using shed::Limiter;
  if (stack == "concurrency") {
    return Admitting<Limiter<shed::ConcurrencyLimiter>>(
        shed::ConcurrencyLimiterOptions{.limit = 2 * kWorkers});
  }
  if (stack == "gradient") {
    return Admitting<Limiter<shed::GradientLimiter>>(shed::GradientLimiterOptions{});
  }
  if (stack == "knee") {
    return Admitting<Limiter<shed::KneeLimiter>>(shed::KneeLimiterOptions{});
  }
  return Admitting<Limiter<>>();
}

// The service: workers behind a queue without a bound.
class Service {
 public:
  // Calls that end after `end` are not recorded.
  Service(TimePoint start, Recorder& recorder) : start_(start), recorder_(recorder) {
    for (unsigned i = 0; i < kWorkers; ++i) workers_.emplace_back([this] { Work(); });
  }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // A call that was due at `due`.
  void Submit(TimePoint due, AnyGuard guard) {
    Record(Count::kReached, due);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      queue_.push_back({due, std::move(guard)});
    }
    not_empty_.notify_one();
  }
  void Record(Count what, TimePoint at) {
    const std::lock_guard<std::mutex> lock(recorder_mutex_);
    recorder_.Add(what, TimePoint(at - start_), 0);
  }
  // Lets the workers finish what they have, and forgets the rest; its clients have given up, or
  // will.
  void Stop() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopped_ = true;
    }
    not_empty_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    for (Call& call : queue_) {
      Record(Count::kTimedOut, call.due + kDeadline);
      call.guard.Complete(Outcome::kIgnored);
    }
    queue_.clear();
  }

 private:
  struct Call {
    TimePoint due;
    AnyGuard guard;
  };

  void Work() {
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex_);
      not_empty_.wait(lock, [this] { return stopped_ || !queue_.empty(); });
      if (stopped_) return;
      Call call = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      std::this_thread::sleep_for(kWork);
      Answer(call);
    }
  }

  void Answer(Call& call) {
    const TimePoint now = SteadyClock::Now();
    const Duration latency = Elapsed(call.due, now);
    if (latency > kDeadline) {
      call.guard.Complete(Outcome::kOverload);
      Record(Count::kTimedOut, call.due + kDeadline);
      return;
    }
    call.guard.Complete(Outcome::kSuccess);
    const std::lock_guard<std::mutex> lock(recorder_mutex_);
    recorder_.AddAnswer(TimePoint(now - start_), latency, 0, 0);
  }

  const TimePoint start_;
  std::mutex recorder_mutex_;
  Recorder& recorder_;
  std::mutex mutex_;
  std::condition_variable not_empty_;
  std::deque<Call> queue_;
  bool stopped_ = false;
  std::vector<std::thread> workers_;
};

// Offers calls at absolute times, which no late wake-up moves: after one, those that are due come
// at once.
void Generate(Service& service, const Admit& admit, double rate, TimePoint start, TimePoint end,
              std::uint64_t seed) {
  shed::sim::Random random(seed);
  TimePoint due = start;
  for (;;) {
    due += Duration(static_cast<std::int64_t>(random.Exponential() * (1e9 / rate)));
    if (due >= end) return;
    const TimePoint now = SteadyClock::Now();
    if (now < due) std::this_thread::sleep_for(due - now);
    service.Record(Count::kOffered, due);
    AnyGuard guard = admit();
    if (guard) {
      service.Submit(due, std::move(guard));
    } else {
      service.Record(Count::kRefused, due);
    }
  }
}

// Returns the calls per second that the workers do when there is always one for each.
double MeasureCapacity() {
  const Duration length = 500ms;
  std::atomic<std::uint64_t> calls{0};
  const TimePoint start = SteadyClock::Now();
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < kWorkers; ++i) {
    workers.emplace_back([&] {
      while (Elapsed(start, SteadyClock::Now()) < length) {
        std::this_thread::sleep_for(kWork);
        ++calls;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  const auto seconds = std::chrono::duration<double>(Elapsed(start, SteadyClock::Now())).count();
  return static_cast<double>(calls.load()) / seconds;
}

// The run as a scenario, so that its figures are those of the lab.
Scenario AsScenario(const LiveOptions& options, double capacity) {
  Scenario s;
  s.name = "live";
  s.length = options.length;
  s.workers = kWorkers;
  const auto work_ns = static_cast<std::int64_t>(1e9 * kWorkers / capacity);
  s.phases = {{Duration(0), {{1, Duration(work_ns), false}}}};
  s.timeout = kDeadline;
  s.event = {Duration(0), options.length};
  s.settle = Duration(0);
  return s;
}

Report RunOne(const Scenario& scenario, const std::string& stack, double rate, std::uint64_t seed) {
  Recorder recorder(scenario, 1);
  const Admit admit = MakeAdmit(stack);
  const TimePoint start = SteadyClock::Now();
  Service service(start, recorder);
  Generate(service, admit, rate, start, start + scenario.length, seed);
  service.Stop();
  Report report = shed::sim::MakeReport(scenario, recorder);
  report.stack = stack;
  report.seed = seed;
  report.fields.push_back({"target_per_s", rate});
  return report;
}

}  // namespace

std::vector<Report> RunLive(const LiveOptions& options,
                            const std::function<void(const Report&)>& progress) {
  const Scenario scenario = AsScenario(options, MeasureCapacity());
  std::vector<Report> reports;
  for (const double rate : options.rates) {
    for (const std::string& stack : options.stacks) {
      reports.push_back(RunOne(scenario, stack, rate, options.seed));
      progress(reports.back());
    }
  }
  return reports;
}

}  // namespace lab
