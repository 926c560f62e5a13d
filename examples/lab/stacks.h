// The named limiter stacks of the lab.
#ifndef SHED_LAB_STACKS_H_
#define SHED_LAB_STACKS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shed/sim/gate.h"
#include "shed/sim/scenario.h"

namespace lab {

struct Stack {
  std::string name;
  std::string about;  // One line.
  shed::sim::GateFactory (*make_factory)(const shed::sim::Scenario& scenario, std::uint64_t seed);
};

// All stacks, in the order in which they are listed and run.
const std::vector<Stack>& Stacks();

// Returns the stack of that name, or nullptr.
const Stack* FindStack(std::string_view name);

}  // namespace lab

#endif  // SHED_LAB_STACKS_H_
