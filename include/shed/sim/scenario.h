// What happens in a simulation: plain data.
#ifndef SHED_SIM_SCENARIO_H_
#define SHED_SIM_SCENARIO_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "shed/request.h"
#include "shed/time.h"

namespace shed::sim {

// A span of a run, as times since its start: `from` is in it, `to` is not.
struct Span {
  Duration from{0};
  Duration to{0};

  constexpr bool Contains(Duration at) const { return from <= at && at < to; }
  constexpr double seconds() const { return std::chrono::duration<double>(to - from).count(); }
};

// From `from` on, calls arrive at `rate` per second.
struct Stage {
  Duration from{0};
  double rate = 0;
};

// `count` calls that arrive at once.
struct Burst {
  Duration at{0};
  std::uint32_t count = 0;
};

// Work::waits of a call that never returns.
inline constexpr Duration kForEver = Duration::max();

// A kind of call: the share of all calls, the work it needs (a whole number of slices), whether it
// fails when that is done, and how long it waits for something else first, without a worker.
struct Work {
  double share = 1;
  Duration time{0};
  bool fails = false;
  Duration waits{0};
};

// From `from` on, the calls that arrive are of these kinds. The shares add up to 1.
struct Phase {
  Duration from{0};
  std::vector<Work> kinds;
};

// A Poisson stream of calls, shared evenly among `callers` callers.
struct Source {
  std::string name = "caller";
  std::uint32_t callers = 1;
  std::vector<Stage> stages{};  // By `from`.
  std::vector<Burst> bursts{};  // By `at`.
  Criticality criticality = Criticality::kCritical;
  std::string route{};
  // What its calls are; empty: as the scenario says.
  std::vector<Phase> phases{};
  // What its calls are said to cost (Request::cost).
  std::uint64_t cost = 1;
  // The longest delay that its calls accept before they start (Request::max_wait). The client's
  // patience begins after it.
  Duration max_wait{0};
};

// Where the limiter stands.
enum class Place : std::uint8_t {
  // In front of the service: a call holds its permit until the service has finished it, and ends
  // with kOverload if its client had given up by then.
  kServer,
  // In each caller, with a limiter of its own: the permit ends at the answer or at the time-out.
  kCaller,
};

struct Scenario {
  std::string name;
  std::string about;  // One line.
  Duration length = std::chrono::seconds(60);

  std::vector<Source> sources;
  std::vector<Phase> phases;

  std::uint32_t workers = 8;
  Duration slice = std::chrono::microseconds(100);
  // Above so many calls in flight the server itself refuses, at the price of `refusal_work`. Zero:
  // it takes all.
  std::uint32_t server_limit = 0;
  Duration refusal_work{0};

  Duration timeout = std::chrono::milliseconds(500);
  // How often a client tries again that was refused, timed out or failed, each time half as long to
  // one and a half times as long as `backoff` after it heard of it.
  std::uint32_t retries = 0;
  Duration backoff = std::chrono::milliseconds(100);
  Place place = Place::kServer;
  // Where it is not zero, a call is charged a unit for each so much work, begun ones too, when its
  // work is done.
  Duration unit{0};
  // For stacks that are set to the size of the service; zero: their usual setting.
  std::uint32_t budget = 0;

  // The disturbance; figures leave out its first `settle`. Whole seconds.
  Span event;
  Duration settle = std::chrono::seconds(2);
  // How often the limit is looked at, when calls come.
  Duration look = std::chrono::milliseconds(100);
  // Where it is not empty, its p99 is reported beside that of the event.
  Span reference;
  bool report_callers = false;
  bool report_kinds = false;
};

// Returns the place of each caller's source in `sources`, by its number.
inline std::vector<std::uint32_t> CallerSources(const Scenario& scenario) {
  std::vector<std::uint32_t> sources;
  for (std::uint32_t i = 0; i < scenario.sources.size(); ++i) {
    sources.insert(sources.end(), scenario.sources[i].callers, i);
  }
  return sources;
}

// Returns the name of each caller, by its number: sources in order, each with its callers.
inline std::vector<std::string> CallerNames(const Scenario& scenario) {
  std::vector<std::string> names;
  for (const Source& source : scenario.sources) {
    for (std::uint32_t i = 0; i < source.callers; ++i) {
      names.push_back(source.callers == 1 ? source.name : source.name + std::to_string(i));
    }
  }
  return names;
}

}  // namespace shed::sim

#endif  // SHED_SIM_SCENARIO_H_
