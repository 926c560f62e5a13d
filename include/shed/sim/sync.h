// How policies share state within a simulation.
#ifndef SHED_SIM_SYNC_H_
#define SHED_SIM_SYNC_H_

#include "shed/sync.h"

namespace shed::sim {

// The atomics and mutexes of StdSync, so that a simulation runs what users run. One stripe for all
// threads: a stripe's number depends on which threads asked before, and some policies draw from it.
struct SimSync : StdSync {
  static unsigned Stripe() noexcept { return 0; }
};

}  // namespace shed::sim

#endif  // SHED_SIM_SYNC_H_
