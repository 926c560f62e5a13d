// Memory that lies where it lay in the schedule before: what a scenario's atomics are known by is
// their addresses, and the next free place of the heap depends on what else took memory meanwhile.
#ifndef SHED_TESTS_SCHEDULE_SAME_PLACES_H_
#define SHED_TESTS_SCHEDULE_SAME_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace shed::schedule {

// From its making to Close(), operator new takes memory from one and the same array. At most one at
// a time; a member that stands before those whose memory it is.
class SamePlaces {
 public:
  SamePlaces() noexcept : used_(0) { open_ = this; }
  SamePlaces(const SamePlaces&) = delete;
  SamePlaces& operator=(const SamePlaces&) = delete;
  void Close() noexcept { open_ = nullptr; }

  static void* Take(std::size_t size, std::size_t alignment) {
    if (open_ == nullptr)
      return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    std::size_t& used = open_->used_;
    used = (used + alignment - 1) / alignment * alignment;
    if (size > sizeof(memory_) - used) std::abort();
    used += size;
    return memory_ + used - size;
  }
  static void Give(void* p) noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(memory_);
    if (at >= sizeof(memory_)) std::free(p);
  }

 private:
  std::size_t used_;

  static inline SamePlaces* open_ = nullptr;
  alignas(64) static inline std::byte memory_[std::size_t{256} << 10];
};

}  // namespace shed::schedule

// For the one source file of the test. Not inline: GCC would take free() for a mismatch with the
// new that it sees elsewhere.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (void* const p = shed::schedule::SamePlaces::Take(size, alignof(std::max_align_t))) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  if (void* const p = shed::schedule::SamePlaces::Take(size, static_cast<std::size_t>(alignment))) {
    return p;
  }
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { shed::schedule::SamePlaces::Give(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept {
  shed::schedule::SamePlaces::Give(p);
}
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept {
  shed::schedule::SamePlaces::Give(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  shed::schedule::SamePlaces::Give(p);
}

#endif  // SHED_TESTS_SCHEDULE_SAME_PLACES_H_
