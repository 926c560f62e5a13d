// Holds a limiter's policies in their order, and their hot words side by side.
#ifndef SHED_INTERNAL_POLICY_STACK_H_
#define SHED_INTERNAL_POLICY_STACK_H_

#include <cstddef>
#include <string_view>
#include <utility>

#include "shed/policy.h"

namespace shed::internal {

// What a limiter's constructor takes for P: its Options, or P itself where it has none.
template <class P>
struct ParameterOfImpl {
  using type = P;
};
template <HasOptions P>
struct ParameterOfImpl<P> {
  using type = typename P::Options;
};
template <class P>
using ParameterOf = typename ParameterOfImpl<P>::type;

// Returns what is wrong with a parameter, or "".
template <class P>
constexpr std::string_view ProblemOf(const ParameterOf<P>& parameter) {
  if constexpr (HasOptions<P>) {
    return parameter.Problem();
  } else {
    return "";
  }
}

template <std::size_t I, class P>
struct HotLeaf {};
template <std::size_t I, HasHot P>
struct HotLeaf<I, P> {
  typename P::Hot hot{};
};

template <class Indices, class... Ps>
struct HotBlock;
// All words that a call changes, on as few cache lines as they fit: two threads hand over one line
// per call, and not one per policy.
template <std::size_t... Is, class... Ps>
struct alignas(64) HotBlock<std::index_sequence<Is...>, Ps...> : HotLeaf<Is, Ps>... {};

template <std::size_t I, class P>
struct PolicyLeaf {
  template <class Block>
  PolicyLeaf(const ParameterOf<P>& parameter, Block& block) requires HasHot<P>
      : policy(parameter, static_cast<HotLeaf<I, P>&>(block).hot) {}
  template <class Block>
  PolicyLeaf(const ParameterOf<P>& parameter, Block&) requires(!HasHot<P>) : policy(parameter) {}

  P policy;
};

template <class Indices, class... Ps>
class PolicyStack;
template <std::size_t... Is, class... Ps>
class PolicyStack<std::index_sequence<Is...>, Ps...> : private PolicyLeaf<Is, Ps>... {
 public:
  template <class Block>
  PolicyStack(Block& block, const ParameterOf<Ps>&... parameters)
      : PolicyLeaf<Is, Ps>(parameters, block)... {}

  template <std::size_t I>
  auto& Get() noexcept {
    return Leaf<I>(*this).policy;
  }
  template <std::size_t I>
  const auto& Get() const noexcept {
    return Leaf<I>(*this).policy;
  }

 private:
  // Deduces the P of the base class that has this I.
  template <std::size_t I, class P>
  static PolicyLeaf<I, P>& Leaf(PolicyLeaf<I, P>& leaf) noexcept {
    return leaf;
  }
  template <std::size_t I, class P>
  static const PolicyLeaf<I, P>& Leaf(const PolicyLeaf<I, P>& leaf) noexcept {
    return leaf;
  }
};

// True if no two of the names are equal.
template <class... Ps>
consteval bool NamesDiffer() {
  const std::string_view names[] = {std::string_view(Ps::kName)..., std::string_view()};
  for (std::size_t i = 0; i + 1 < sizeof...(Ps); ++i) {
    for (std::size_t j = i + 1; j < sizeof...(Ps); ++j) {
      if (names[i] == names[j]) return false;
    }
  }
  return true;
}

}  // namespace shed::internal

#endif  // SHED_INTERNAL_POLICY_STACK_H_
