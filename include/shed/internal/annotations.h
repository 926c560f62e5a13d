// Clang's thread-safety annotations, as macros of our own: nothing elsewhere.
#ifndef SHED_INTERNAL_ANNOTATIONS_H_
#define SHED_INTERNAL_ANNOTATIONS_H_

#if defined(__clang__)
#define SHED_INTERNAL_ATTRIBUTE(x) __attribute__((x))
#else
#define SHED_INTERNAL_ATTRIBUTE(x)
#endif

#define SHED_CAPABILITY(x) SHED_INTERNAL_ATTRIBUTE(capability(x))
#define SHED_SCOPED_CAPABILITY SHED_INTERNAL_ATTRIBUTE(scoped_lockable)
#define SHED_GUARDED_BY(x) SHED_INTERNAL_ATTRIBUTE(guarded_by(x))
#define SHED_REQUIRES(...) SHED_INTERNAL_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define SHED_ACQUIRE(...) SHED_INTERNAL_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define SHED_RELEASE(...) SHED_INTERNAL_ATTRIBUTE(release_capability(__VA_ARGS__))
#define SHED_TRY_ACQUIRE(...) SHED_INTERNAL_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define SHED_NO_THREAD_SAFETY_ANALYSIS SHED_INTERNAL_ATTRIBUTE(no_thread_safety_analysis)

#endif  // SHED_INTERNAL_ANNOTATIONS_H_
