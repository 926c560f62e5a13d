// The counter that the CPU itself keeps, for clocks: where it can be trusted, and its reading.
#ifndef SHED_INTERNAL_CPU_COUNTER_H_
#define SHED_INTERNAL_CPU_COUNTER_H_

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace shed::internal {

// The time stamp counter of x86-64. Elsewhere there is none that we trust: ARM's generic timer has
// errata (readings that jump) that only the kernel knows of and works round.
struct CpuCounter {
  // True if the counter runs at one rate whatever the CPU's frequency and sleep states, which the
  // CPU says in bit 8 of EDX of leaf 0x80000007. Slow under a hypervisor; ask once.
  static bool Invariant() noexcept {
#if defined(__x86_64__)
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    constexpr unsigned kInvariant = 1U << 8;
    return __get_cpuid(0x80000007U, &eax, &ebx, &ecx, &edx) != 0 && (edx & kInvariant) != 0;
#else
    return false;
#endif
  }

  // Not ordered with other memory accesses: it may be some tens of nanoseconds early or late, like
  // a load. Two readings of one thread keep their order.
  static std::uint64_t Read() noexcept {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
  }
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_CPU_COUNTER_H_
