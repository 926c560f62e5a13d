// Caps the calls in flight at a limit that latency moves: it shrinks while calls take longer than
// the unloaded service needs, and grows while they do not.
//
// Use it where latency is what you promise, and where you know what healthy is (`fixed_baseline`).
// In general a KneeLimiter does better: nothing that a gradient limiter must know can be measured
// while the service is overloaded, and its probes refuse calls. Not behind anything that adds
// latency of its own after it (a queue, an injected fault), and not for a mix of calls whose
// percentile falls between two modes of latency.
//
// Algorithm, State, Source: gradient.h. Locking: adaptive_limiter.h.
#ifndef SHED_GRADIENT_LIMITER_H_
#define SHED_GRADIENT_LIMITER_H_

#include "shed/adaptive_limiter.h"
#include "shed/gradient.h"
#include "shed/policy.h"
#include "shed/sync.h"

namespace shed {

using GradientLimiterOptions = GradientOptions;

template <class Sync = StdSync>
using BasicGradientLimiter = BasicAdaptiveLimiter<BasicGradient<Sync>, Sync>;

using GradientLimiter = BasicGradientLimiter<>;
static_assert(Policy<GradientLimiter>);
static_assert(sizeof(GradientLimiter::Hot) <= 16);

}  // namespace shed

#endif  // SHED_GRADIENT_LIMITER_H_
