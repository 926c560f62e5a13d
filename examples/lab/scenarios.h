// The named scenarios of the lab.
#ifndef SHED_LAB_SCENARIOS_H_
#define SHED_LAB_SCENARIOS_H_

#include <chrono>
#include <string_view>
#include <vector>

#include "shed/sim/scenario.h"

namespace lab {

// All scenarios, in the order in which they are listed and run.
const std::vector<shed::sim::Scenario>& Scenarios();

// Returns the scenario of that name, or nullptr.
const shed::sim::Scenario* FindScenario(std::string_view name);

// `noisy-neighbour`, with one caller that asks `loud_rate` per second for `loud_for`, falls silent
// for a minute, and comes back with as many calls at once as its share. Nine callers ask 5 per
// second each all the time.
shed::sim::Scenario NoisyNeighbour(double loud_rate, shed::Duration loud_for);
// Caller number of the loud one in it; those below are the others.
inline constexpr unsigned kLoudCaller = 9;
// In `fair-use` the callers below this number are the users; it is the tool's.
inline constexpr unsigned kUsers = 20;
inline constexpr shed::Duration kToolIsBack = std::chrono::seconds(240);

}  // namespace lab

#endif  // SHED_LAB_SCENARIOS_H_
