// `soak_..._test [--seconds=S]`: without it, a fixed number of operations.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "soak/budget.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    constexpr std::string_view kFlag = "--seconds=";
    if (argument.starts_with(kFlag)) {
      shed::soak::Budget::seconds = std::strtod(argv[i] + kFlag.size(), nullptr);
    }
    if (shed::soak::Budget::seconds <= 0) {
      std::fprintf(stderr, "usage: %s [--seconds=S]\n", argv[0]);
      return 2;
    }
  }
  return RUN_ALL_TESTS();
}
