// What a call belongs to: selectors for Keyed.
//
// A selector is a class with `operator()(const Request&) const` that returns a std::string_view or
// a whole number, and, where it has them,
//   Options OptionsFor(key, const Options& usual) const    of this key: who pays more gets more
//   static constexpr Scope kScope                          of refusals; kService by default
#ifndef SHED_SELECTORS_H_
#define SHED_SELECTORS_H_

#include <cstdint>
#include <string_view>

#include "shed/request.h"
#include "shed/verdict.h"

namespace shed {

struct ByCaller {
  static constexpr Scope kScope = Scope::kCaller;
  constexpr std::string_view operator()(const Request& request) const noexcept {
    return request.caller;
  }
};
struct ByRoute {
  constexpr std::string_view operator()(const Request& request) const noexcept {
    return request.route;
  }
};
struct ByTag {
  constexpr std::uint64_t operator()(const Request& request) const noexcept { return request.tag; }
};

}  // namespace shed

#endif  // SHED_SELECTORS_H_
