# What shed is built with: the installed packages, or where one is missing the pinned release.
include(FetchContent)

# A project that includes this one may bring its own Abseil.
if(NOT SHED_CORE_ONLY AND NOT TARGET absl::status)
  FetchContent_Declare(
    absl SYSTEM
    URL https://github.com/abseil/abseil-cpp/releases/download/20240722.0/abseil-cpp-20240722.0.tar.gz
    URL_HASH SHA256=f50e5ac311a81382da7fa75b97310e4b9006474f9560ac46f54a9967f07d4ae3
    DOWNLOAD_EXTRACT_TIMESTAMP OFF
    FIND_PACKAGE_ARGS CONFIG)
  # An installed shed::shed needs an installed Abseil: the exports of both go together.
  set(ABSL_ENABLE_INSTALL ${SHED_INSTALL})
  set(ABSL_PROPAGATE_CXX_STD ON)
  FetchContent_MakeAvailable(absl)
endif()

if(SHED_BUILD_TESTS AND NOT TARGET GTest::gtest)
  FetchContent_Declare(
    googletest SYSTEM
    URL https://github.com/google/googletest/releases/download/v1.17.0/googletest-1.17.0.tar.gz
    URL_HASH SHA256=65fab701d9829d38cb77c14acdc431d2108bfdbf8979e40eb8ae567edf10b27c
    DOWNLOAD_EXTRACT_TIMESTAMP OFF
    FIND_PACKAGE_ARGS NAMES GTest CONFIG)
  set(INSTALL_GTEST OFF)
  FetchContent_MakeAvailable(googletest)
endif()

if(SHED_BUILD_BENCH AND NOT TARGET benchmark::benchmark)
  FetchContent_Declare(
    benchmark SYSTEM
    URL https://github.com/google/benchmark/archive/refs/tags/v1.9.5.tar.gz
    URL_HASH SHA256=9631341c82bac4a288bef951f8b26b41f69021794184ece969f8473977eaa340
    DOWNLOAD_EXTRACT_TIMESTAMP OFF
    FIND_PACKAGE_ARGS CONFIG)
  set(BENCHMARK_ENABLE_TESTING OFF)
  set(BENCHMARK_ENABLE_INSTALL OFF)
  FetchContent_MakeAvailable(benchmark)
endif()

# Optional, and never downloaded: without it there is no shed::prometheus.
if(SHED_PROMETHEUS AND NOT TARGET prometheus-cpp::core)
  find_package(prometheus-cpp CONFIG QUIET GLOBAL)
endif()
