// Everything of shed but the simulator, the tests' helpers and the adapters. Needs Abseil; for the
// std-only part include limiter.h and the policies you use.
#ifndef SHED_SHED_H_
#define SHED_SHED_H_

#include "shed/adaptive_limiter.h"      // IWYU pragma: export
#include "shed/admission_controller.h"  // IWYU pragma: export
#include "shed/admission_queue.h"       // IWYU pragma: export
#include "shed/admission_wait.h"        // IWYU pragma: export
#include "shed/aimd.h"                  // IWYU pragma: export
#include "shed/any_guard.h"             // IWYU pragma: export
#include "shed/circuit_breaker.h"       // IWYU pragma: export
#include "shed/clock.h"                 // IWYU pragma: export
#include "shed/concurrency_limiter.h"   // IWYU pragma: export
#include "shed/demerit_tracker.h"       // IWYU pragma: export
#include "shed/event_text.h"            // IWYU pragma: export
#include "shed/events.h"                // IWYU pragma: export
#include "shed/gradient2.h"             // IWYU pragma: export
#include "shed/gradient_limiter.h"      // IWYU pragma: export
#include "shed/guard.h"                 // IWYU pragma: export
#include "shed/keyed.h"                 // IWYU pragma: export
#include "shed/knee_limiter.h"          // IWYU pragma: export
#include "shed/limiter.h"               // IWYU pragma: export
#include "shed/limiter_snapshot.h"      // IWYU pragma: export
#include "shed/named.h"                 // IWYU pragma: export
#include "shed/outcome.h"               // IWYU pragma: export
#include "shed/policy.h"                // IWYU pragma: export
#include "shed/pressure_limiter.h"      // IWYU pragma: export
#include "shed/queue_delay_limiter.h"   // IWYU pragma: export
#include "shed/rate_limiter.h"          // IWYU pragma: export
#include "shed/request.h"               // IWYU pragma: export
#include "shed/retry_budget.h"          // IWYU pragma: export
#include "shed/retry_throttle.h"        // IWYU pragma: export
#include "shed/selectors.h"             // IWYU pragma: export
#include "shed/shadow.h"                // IWYU pragma: export
#include "shed/solo.h"                  // IWYU pragma: export
#include "shed/status.h"                // IWYU pragma: export
#include "shed/switch.h"                // IWYU pragma: export
#include "shed/sync.h"                  // IWYU pragma: export
#include "shed/time.h"                  // IWYU pragma: export
#include "shed/tsc_clock.h"             // IWYU pragma: export
#include "shed/usage_throttle.h"        // IWYU pragma: export
#include "shed/vegas.h"                 // IWYU pragma: export
#include "shed/verdict.h"               // IWYU pragma: export
#include "shed/version.h"               // IWYU pragma: export

#endif  // SHED_SHED_H_
