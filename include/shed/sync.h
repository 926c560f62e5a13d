// Synchronisation as one template parameter: what a policy shares between threads, it declares
// through `Sync`. StdSync is the default; NoSync serves one thread per core; tests pass a scheduled
// one that tries interleavings.
//
// A Sync has
//   template <class T> Atomic     the std::atomic operations that policies use
//   Mutex                         lock(), try_lock(), unlock()
//   static unsigned Stripe()      a small number that differs between threads where it can
//   static std::uintptr_t Thread()   not 0, and differs between all threads that live at once
// and may have
//   static void Relax(unsigned tries)   lets other threads go on, in turn `tries` of a loop that
//                                       waits for one of them
#ifndef SHED_SYNC_H_
#define SHED_SYNC_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <type_traits>

#if __has_include(<sched.h>)
#include <sched.h>
#endif

#include "shed/internal/annotations.h"
#include "shed/internal/hints.h"

namespace shed {

// std::mutex, annotated for -Wthread-safety.
class SHED_CAPABILITY("mutex") StdMutex {
 public:
  void lock() SHED_ACQUIRE() { mutex_.lock(); }
  void unlock() SHED_RELEASE() { mutex_.unlock(); }
  bool try_lock() SHED_TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  std::mutex mutex_;
};

// Threads, the usual way.
struct StdSync {
  template <class T>
  using Atomic = std::atomic<T>;
  using Mutex = StdMutex;

  // A number that this thread keeps for life, counted up from 0 in the order in which threads
  // first ask. The only state that limiters share; it decides which stripe of a counter a thread
  // writes, and no answer.
  static unsigned Stripe() noexcept {
    if (stripe_ == kUnset) [[unlikely]]
      stripe_ = NextStripe();
    return stripe_;
  }
  // An address that is this thread's alone.
  static std::uintptr_t Thread() noexcept { return reinterpret_cast<std::uintptr_t>(&stripe_); }
  // What is waited for lasts some tens of instructions, unless its thread was put to sleep.
  static void Relax(unsigned tries) noexcept {
    if (tries < 64) return internal::PauseCpu();
#if __has_include(<sched.h>)
    sched_yield();
#endif
  }

 private:
  // A thread gets the number of an earlier one that ended and had its name, so that threads that
  // come and go do not use up the numbers; else the next.
  SHED_SELDOM static unsigned NextStripe() noexcept {
    constexpr unsigned kNames = 64;
    static std::atomic<std::uintptr_t> names[kNames];  // Who has, or had, each number; 0: nobody.
    static std::atomic<unsigned> next{kNames};
    // Relaxed: a number publishes nothing.
    for (unsigned number = 0; number < kNames; ++number) {
      std::uintptr_t name = names[number].load(std::memory_order_relaxed);
      if (name == 0 &&
          names[number].compare_exchange_strong(name, Thread(), std::memory_order_relaxed)) {
        return number;
      }
      if (name == Thread()) return number;
    }
    return next.fetch_add(1, std::memory_order_relaxed);
  }
  static constexpr unsigned kUnset = ~0u;
  static inline constinit thread_local unsigned stripe_ = kUnset;
};

// One thread at a time, and no cost for more: for servers that give each core its own limiter.
// The user keeps other threads away from it.
struct NoSync {
  template <class T>
  class Atomic {
   public:
    constexpr Atomic() noexcept = default;
    constexpr explicit(false) Atomic(T value) noexcept : value_(value) {}
    Atomic(const Atomic&) = delete;
    Atomic& operator=(const Atomic&) = delete;

    T load(std::memory_order = std::memory_order_seq_cst) const noexcept { return value_; }
    void store(T value, std::memory_order = std::memory_order_seq_cst) noexcept { value_ = value; }
    T exchange(T value, std::memory_order = std::memory_order_seq_cst) noexcept {
      const T old = value_;
      value_ = value;
      return old;
    }
    bool compare_exchange_weak(T& expected, T desired,
                               std::memory_order = std::memory_order_seq_cst,
                               std::memory_order = std::memory_order_seq_cst) noexcept {
      if (value_ == expected) {
        value_ = desired;
        return true;
      }
      expected = value_;
      return false;
    }
    bool compare_exchange_strong(T& expected, T desired,
                                 std::memory_order = std::memory_order_seq_cst,
                                 std::memory_order = std::memory_order_seq_cst) noexcept {
      return compare_exchange_weak(expected, desired);
    }
    T fetch_add(T value, std::memory_order = std::memory_order_seq_cst) noexcept {
      const T old = value_;
      if constexpr (std::is_integral_v<T>) {  // Wraps, as std::atomic does.
        using Unsigned = std::make_unsigned_t<T>;
        value_ = static_cast<T>(static_cast<Unsigned>(old) + static_cast<Unsigned>(value));
      } else {
        value_ = old + value;
      }
      return old;
    }
    T fetch_sub(T value, std::memory_order = std::memory_order_seq_cst) noexcept {
      const T old = value_;
      if constexpr (std::is_integral_v<T>) {  // Wraps, as std::atomic does.
        using Unsigned = std::make_unsigned_t<T>;
        value_ = static_cast<T>(static_cast<Unsigned>(old) - static_cast<Unsigned>(value));
      } else {
        value_ = old - value;
      }
      return old;
    }
    T fetch_or(T value, std::memory_order = std::memory_order_seq_cst) noexcept {
      const T old = value_;
      value_ = static_cast<T>(value_ | value);
      return old;
    }
    T fetch_and(T value, std::memory_order = std::memory_order_seq_cst) noexcept {
      const T old = value_;
      value_ = static_cast<T>(value_ & value);
      return old;
    }

   private:
    T value_{};
  };
  struct SHED_CAPABILITY("mutex") Mutex {
    void lock() SHED_ACQUIRE() {}
    void unlock() SHED_RELEASE() {}
    bool try_lock() SHED_TRY_ACQUIRE(true) { return true; }
  };
  static unsigned Stripe() noexcept { return 0; }
  static std::uintptr_t Thread() noexcept { return 1; }
};

// Holds a Sync's mutex for a scope.
template <class Mutex>
class SHED_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) SHED_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() SHED_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace shed

#endif  // SHED_SYNC_H_
