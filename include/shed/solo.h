// One policy on its own, without a limiter: for tests, and for code that calls a policy's members
// itself.
#ifndef SHED_SOLO_H_
#define SHED_SOLO_H_

#include "shed/policy.h"

namespace shed {

namespace internal {
template <class P>
struct HotHolder {
  // On a line of its own: the rest of a policy is read by every thread, and seldom written.
  struct alignas(64) Line {
    typename P::Hot hot;
  };
  Line line;
};
}  // namespace internal

// A P that also holds the Hot words that a limiter would hold for it. Use it as a P:
// `Solo<RateLimiter> rate({.rate = 500});`
template <class P>
class Solo : public P {
 public:
  explicit Solo(const typename P::Options& options = {}) : P(options) {}
};

template <HasHot P>
class Solo<P> : private internal::HotHolder<P>, public P {
 public:
  // Throws as P does.
  explicit Solo(const typename P::Options& options = {})
      : internal::HotHolder<P>{}, P(options, internal::HotHolder<P>::line.hot) {}
};

}  // namespace shed

#endif  // SHED_SOLO_H_
