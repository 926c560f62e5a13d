// Caps the calls in flight at what keeps the service busy, and finds that number by itself: the
// limiter to begin with.
//
// Use it in front of a service whose capacity you do not know, or that changes. Not for calls that
// wait for someone else's work most of the time (there, a CircuitBreaker), and not to divide a
// service between callers (DemeritTracker beside it). Traffic that comes in bursts of several
// hundred calls at once is refused in part; a RateLimiter with a burst in front smooths it.
//
// Algorithm, State, Source: knee.h. Locking: adaptive_limiter.h.
#ifndef SHED_KNEE_LIMITER_H_
#define SHED_KNEE_LIMITER_H_

#include "shed/adaptive_limiter.h"
#include "shed/knee.h"
#include "shed/policy.h"
#include "shed/sync.h"

namespace shed {

using KneeLimiterOptions = KneeOptions;

template <class Sync = StdSync>
using BasicKneeLimiter = BasicAdaptiveLimiter<Knee, Sync>;

using KneeLimiter = BasicKneeLimiter<>;
static_assert(Policy<KneeLimiter>);
static_assert(sizeof(KneeLimiter::Hot) <= 16);

}  // namespace shed

#endif  // SHED_KNEE_LIMITER_H_
