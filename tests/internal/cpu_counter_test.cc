#include "shed/internal/cpu_counter.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace shed::internal {
namespace {

// The kernel reads the same bit, and publishes it under two names.
TEST(CpuCounter, IsInvariantWhereTheKernelSaysSo) {
#if defined(__x86_64__)
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string line;
  while (std::getline(cpuinfo, line) && line.rfind("flags", 0) != 0) {
  }
  if (line.rfind("flags", 0) != 0) GTEST_SKIP() << "no flags in /proc/cpuinfo";
  bool constant = false;
  bool nonstop = false;
  std::istringstream flags(line);
  for (std::string flag; flags >> flag;) {
    constant |= flag == "constant_tsc";
    nonstop |= flag == "nonstop_tsc";
  }
  // A hypervisor may hide the bit that says that it does not stop.
  EXPECT_EQ(CpuCounter::Invariant(), constant && nonstop);
#else
  EXPECT_FALSE(CpuCounter::Invariant());
#endif
}

TEST(CpuCounter, CountsUpWhereItIsInvariant) {
  if (!CpuCounter::Invariant()) GTEST_SKIP() << "no invariant counter";
  const std::uint64_t first = CpuCounter::Read();
  std::uint64_t last = first;
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t count = CpuCounter::Read();
    ASSERT_LT(count - last, std::uint64_t{1} << 63) << "went back";
    last = count;
  }
  EXPECT_GT(last - first, 0U);
}

}  // namespace
}  // namespace shed::internal
