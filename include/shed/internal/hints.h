// What the compiler cannot know: which code runs seldom, and which always.
#ifndef SHED_INTERNAL_HINTS_H_
#define SHED_INTERNAL_HINTS_H_

// For a function that few calls need: kept out of line, so that the path of every call stays short
// enough to be inlined, and saves no registers for it.
#define SHED_SELDOM __attribute__((noinline, cold))
// The same for a function that is called often in bad times, and so worth its speed.
#define SHED_APART __attribute__((noinline))
// For a function on the path of every call that is written once and called from a second, rare
// place.
#define SHED_INLINE __attribute__((always_inline)) inline

namespace shed::internal {

// Asks for the cache line at `p`, which is going to be written: as the only one that has it. A read
// would fetch it as one of several, and the write then ask for it again.
inline void PrefetchForWrite([[maybe_unused]] const void* p) noexcept {
#if defined(__x86_64__)
  // Where a CPU lacks it, it does nothing; the compiler's own gives a read unless told of the CPU.
  __asm__ volatile("prefetchw (%0)" : : "r"(p));
#else
  __builtin_prefetch(p, 1);
#endif
}

// Tells the CPU that this is a loop which waits for another thread.
inline void PauseCpu() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

}  // namespace shed::internal

#endif  // SHED_INTERNAL_HINTS_H_
