// What policies that are made of one other policy have in common: its options, its hot words, its
// tickets, and those of its members that it has.
#ifndef SHED_INTERNAL_WRAPPER_H_
#define SHED_INTERNAL_WRAPPER_H_

#include <cstdint>
#include <string_view>

#include "shed/internal/invoke.h"
#include "shed/policy.h"

namespace shed::internal {

// The Options of a wrapper around a policy that has none: the policy, which is copied.
template <class P>
struct PolicyItself {
  P policy{};
  constexpr std::string_view Problem() const noexcept { return ""; }
};

template <class P>
struct WrapperTypes {
  using Options = PolicyItself<P>;
};
template <HasOptions P>
struct WrapperTypes<P> {
  using Options = typename P::Options;
};

// `Hot`, where P has one.
template <class P>
struct WrapperHot {};
template <HasHot P>
struct WrapperHot<P> {
  using Hot = typename P::Hot;
};

template <class P>
class Wrapper : public WrapperHot<P> {
 public:
  using Options = typename WrapperTypes<P>::Options;
  using Inner = P;

  struct Ticket {
    TicketOf<P> inner{};
    bool held = false;     // The inner policy admitted the call, and has not been told of its end.
    bool refused = false;  // It would have refused it (Shadow).
  };

  Wrapper(const Wrapper&) = delete;
  Wrapper& operator=(const Wrapper&) = delete;

  P& policy() noexcept { return policy_; }
  const P& policy() const noexcept { return policy_; }

 protected:
  // Throws as P does.
  explicit Wrapper(const Options& options) requires(HasOptions<P> && !HasHot<P>)
      : policy_(options) {}
  explicit Wrapper(const Options& options) requires(!HasOptions<P>) : policy_(options.policy) {}
  template <class Hot>
  Wrapper(const Options& options, Hot& hot) requires HasHot<P> : policy_(options, hot) {}

 private:
  P policy_;
};

// The members that a wrapper has only if P has them: a constrained one would still be found by its
// name. `Self` is the wrapper.
template <class Self, class P>
struct WrapperCharge {};
template <class Self, CanCharge P>
struct WrapperCharge<Self, P> {
  void Charge(typename Wrapper<P>::Ticket& ticket, std::uint64_t units, TimePoint now,
              Events& events) noexcept {
    if (ticket.held) {
      internal::Charge(static_cast<Self*>(this)->policy(), ticket.inner, units, now, events);
    }
  }
};
template <class Self, class P>
struct WrapperConfigure {};
template <class Self, CanConfigure P>
struct WrapperConfigure<Self, P> {
  std::string_view Configure(const typename P::Options& options, TimePoint now) {
    return static_cast<Self*>(this)->policy().Configure(options, now);
  }
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_WRAPPER_H_
