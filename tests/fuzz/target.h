// What every fuzz target has beside its LLVMFuzzerTestOneInput.
#ifndef SHED_TESTS_FUZZ_TARGET_H_
#define SHED_TESTS_FUZZ_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "fuzz/bytes.h"

namespace shed::fuzz {

// Ends the process, which is how a fuzzer learns of it, if there is a difference.
inline void MustAgree(const std::string& difference) {
  if (difference.empty()) return;
  std::fprintf(stderr, "policy and oracle differ: %s\n", difference.c_str());
  std::abort();
}

// Takes steps until there are no bytes left, and compares after each of them.
template <class Twin, class Step>
void Drive(const Bytes& bytes, const Twin& twin, Step step) {
  while (!bytes.empty()) {
    step();
    MustAgree(twin.difference());
  }
}

// libFuzzer takes what is not 0 here for something covered, so that it keeps, and looks for, inputs
// that show what must be seen.
inline constexpr std::size_t kMostSightings = 16;
__attribute__((
    section("__libfuzzer_extra_counters"))) static std::uint8_t sighting_counters[kMostSightings];

// Something that a corpus must make happen: a target whose kept inputs no longer open the breaker
// tests nothing of it. The replay fails if one was never seen.
class Sighting {
 public:
  // At namespace scope of the target, and at most kMostSightings.
  explicit Sighting(const char* what)
      : what_(what), counter_(&sighting_counters[made_++ % kMostSightings]), next_(first_) {
    first_ = this;
  }
  Sighting(const Sighting&) = delete;
  Sighting& operator=(const Sighting&) = delete;

  void SeenIf(bool seen) {
    if (!seen) return;
    *counter_ = 1;
    seen_ = true;
  }

  // Names those never seen on stderr. Returns how many they are.
  static int ReportUnseen() {
    int unseen = 0;
    for (const Sighting* s = first_; s != nullptr; s = s->next_) {
      if (s->seen_) continue;
      std::fprintf(stderr, "the corpus never shows: %s\n", s->what_);
      ++unseen;
    }
    return unseen;
  }

 private:
  static inline constinit Sighting* first_ = nullptr;
  static inline constinit std::size_t made_ = 0;
  const char* const what_;
  std::uint8_t* const counter_;
  Sighting* const next_;
  bool seen_ = false;
};

}  // namespace shed::fuzz

#endif  // SHED_TESTS_FUZZ_TARGET_H_
