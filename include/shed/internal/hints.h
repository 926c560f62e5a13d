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

#endif  // SHED_INTERNAL_HINTS_H_
