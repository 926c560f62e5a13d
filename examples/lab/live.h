// The live run: the same limiter headers on real threads in real time.
#ifndef SHED_LAB_LIVE_H_
#define SHED_LAB_LIVE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "shed/sim/report.h"
#include "shed/time.h"

namespace lab {

struct LiveOptions {
  std::vector<double> rates = {3500, 5000, 8000};  // Calls per second.
  std::vector<std::string> stacks = {"none", "concurrency", "gradient", "knee"};
  shed::Duration length = std::chrono::seconds(3);  // Of each run; whole seconds.
  std::uint64_t seed = 1;
};

// 8 workers that sleep 2 ms per call behind a queue; Poisson arrivals that do not wait for answers;
// a deadline of 50 ms, after which a call is still worked on. Runs each rate with each stack, one
// after the other, and returns one report each; `progress` is called after each. Latency counts
// from when a call was due, so that a generator that is late hides nothing. The capacity is
// measured first: sleeping 2 ms takes longer than that.
std::vector<shed::sim::Report> RunLive(
    const LiveOptions& options, const std::function<void(const shed::sim::Report&)>& progress);

}  // namespace lab

#endif  // SHED_LAB_LIVE_H_
