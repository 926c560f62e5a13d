// What can be set of a Keyed.
#ifndef SHED_KEYED_OPTIONS_H_
#define SHED_KEYED_OPTIONS_H_

#include <cstdint>
#include <string_view>

namespace shed {

template <class P>
struct KeyedOptions {
  // Of each key.
  typename P::Options policy{};
  // How many keys have a P of their own. Default 1000, range 1 to 1'000'000. The hash table, some
  // 30 bytes for each, is taken at once, and a P for each that comes.
  std::int64_t max_keys = 1000;
  // Keys the fingerprints. Any value. Where callers can choose their names, a secret one. Default
  // 0.
  std::uint64_t seed = 0;

  // Returns "" if every field is in range, else a sentence that names the field and the range.
  constexpr std::string_view Problem() const noexcept {
    if (max_keys < 1 || max_keys > 1'000'000) return "max_keys: want 1 to 1000000";
    return policy.Problem();
  }
};

}  // namespace shed

#endif  // SHED_KEYED_OPTIONS_H_
