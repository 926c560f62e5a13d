// A Sync whose every access waits for its turn: see scheduler.h.
#ifndef SHED_TESTS_SCHEDULE_SCHEDULED_SYNC_H_
#define SHED_TESTS_SCHEDULE_SCHEDULED_SYNC_H_

#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "scheduler.h"
#include "shed/internal/annotations.h"
#include "shed/internal/spin_lock.h"
#include "shed/sync.h"

namespace shed::schedule {

// Sequentially consistent, whatever order is asked for: a memory order that is too weak shows in
// memory_order_test.cc. Outside a schedule, and while a check looks, an access is a plain one.
struct ScheduledSync {
  template <class T>
  class Atomic {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));

   public:
    constexpr Atomic() noexcept = default;
    constexpr explicit(false) Atomic(T value) noexcept : value_(value) {}
    Atomic(const Atomic&) = delete;
    Atomic& operator=(const Atomic&) = delete;

    T load(std::memory_order = std::memory_order_seq_cst) const noexcept {
      Scheduler* const scheduler = Await(Op::kLoad);
      if (scheduler != nullptr) {
        const Bits bits = BitsOf(value_);
        scheduler->Made(Op::kLoad, &value_, bits, bits, bits);
      }
      return value_;
    }
    void store(T value, std::memory_order = std::memory_order_seq_cst) noexcept {
      Set(Op::kStore, [value](T) { return value; });
    }
    T exchange(T value, std::memory_order = std::memory_order_seq_cst) noexcept {
      return Set(Op::kExchange, [value](T) { return value; });
    }
    bool compare_exchange_weak(T& expected, T desired,
                               std::memory_order = std::memory_order_seq_cst,
                               std::memory_order = std::memory_order_seq_cst) noexcept {
      return CompareExchange(Op::kWeakCas, expected, desired);
    }
    bool compare_exchange_strong(T& expected, T desired,
                                 std::memory_order = std::memory_order_seq_cst,
                                 std::memory_order = std::memory_order_seq_cst) noexcept {
      return CompareExchange(Op::kCas, expected, desired);
    }
    T fetch_add(T value, std::memory_order = std::memory_order_seq_cst) noexcept {
      return Set(Op::kChange,
                 [value](T old) { return Wrapped(Bits{BitsOf(old)} + BitsOf(value)); });
    }
    T fetch_sub(T value, std::memory_order = std::memory_order_seq_cst) noexcept {
      return Set(Op::kChange,
                 [value](T old) { return Wrapped(Bits{BitsOf(old)} - BitsOf(value)); });
    }
    T fetch_or(T value, std::memory_order = std::memory_order_seq_cst) noexcept {
      return Set(Op::kChange, [value](T old) { return Wrapped(BitsOf(old) | BitsOf(value)); });
    }
    T fetch_and(T value, std::memory_order = std::memory_order_seq_cst) noexcept {
      return Set(Op::kChange, [value](T old) { return Wrapped(BitsOf(old) & BitsOf(value)); });
    }

   private:
    using Bits = std::uint64_t;

    static Bits BitsOf(T value) noexcept {
      Bits bits = 0;
      std::memcpy(&bits, &value, sizeof(value));
      return bits;
    }
    // Modulo 2^n, as std::atomic's.
    static T Wrapped(Bits bits) noexcept {
      static_assert(std::is_integral_v<T>);
      return static_cast<T>(bits);
    }
    static Bits Read(const void* value) noexcept { return BitsOf(*static_cast<const T*>(value)); }

    // Returns the scheduler if this access is scheduled.
    Scheduler* Await(Op op) const noexcept {
      Scheduler* const scheduler = Scheduler::Running();
      if (scheduler != nullptr) scheduler->Await({op, &value_, 0, &Atomic::Read});
      return scheduler;
    }
    template <class Next>
    T Set(Op op, Next next) noexcept {
      Scheduler* const scheduler = Await(op);
      const T old = value_;
      value_ = next(old);
      if (scheduler != nullptr) {
        scheduler->Changes(&value_, BitsOf(old), BitsOf(value_));
        // A store learns nothing.
        scheduler->Made(op, &value_, BitsOf(old), BitsOf(value_),
                        op == Op::kStore ? 0 : BitsOf(old));
      }
      return old;
    }
    bool CompareExchange(Op op, T& expected, T desired) noexcept {
      Scheduler* const scheduler = Scheduler::Running();
      bool may = true;
      if (scheduler != nullptr) {
        may = scheduler->Await({op, &value_, BitsOf(expected), &Atomic::Read});
      }
      const T old = value_;
      const bool done = may && BitsOf(old) == BitsOf(expected);
      if (done) value_ = desired;
      if (scheduler != nullptr) {
        scheduler->Changes(&value_, BitsOf(old), BitsOf(value_));
        // What it finds, and that it failed for no reason.
        scheduler->Made(op, &value_, BitsOf(old), BitsOf(value_), may ? BitsOf(old) : ~BitsOf(old));
      }
      if (!done) expected = old;
      return done;
    }

    T value_{};
  };

  // A thread that must wait for it is not scheduled meanwhile.
  class SHED_CAPABILITY("mutex") Mutex {
   public:
    Mutex() = default;
    Mutex(const Mutex&) = delete;
    Mutex& operator=(const Mutex&) = delete;

    void lock() SHED_ACQUIRE() {
      Scheduler* const scheduler = Scheduler::Running();
      if (scheduler == nullptr) return;
      scheduler->Await({Op::kLock, &holder_, 0, &Mutex::Read});
      Take(Op::kLock, *scheduler);
    }
    bool try_lock() SHED_TRY_ACQUIRE(true) {
      Scheduler* const scheduler = Scheduler::Running();
      if (scheduler == nullptr) return true;
      scheduler->Await({Op::kTryLock, &holder_, 0, &Mutex::Read});
      if (holder_ != 0) {
        scheduler->Made(Op::kTryLock, &holder_, holder_, holder_, ~std::uint64_t{0});
        return false;
      }
      Take(Op::kTryLock, *scheduler);
      return true;
    }
    void unlock() SHED_RELEASE() {
      Scheduler* const scheduler = Scheduler::Running();
      if (scheduler == nullptr) return;
      scheduler->Await({Op::kUnlock, &holder_, 0, &Mutex::Read});
      if (holder_ != Self(*scheduler) && !scheduler->broken()) {
        Scheduler::Fail("unlocks what it does not hold");
      }
      scheduler->Changes(&holder_, holder_, 0);
      holder_ = 0;
      scheduler->Made(Op::kUnlock, &holder_, Self(*scheduler), 0, 0);
      // What it guards is what the holders made of it.
      scheduler->Unlocked(&holder_);
      scheduler->Changes(&guarded_, guarded_, scheduler->history());
      guarded_ = scheduler->history();
    }

   private:
    static std::uint64_t Self(const Scheduler& scheduler) noexcept {
      return static_cast<std::uint64_t>(scheduler.current()) + 1;
    }
    static std::uint64_t Read(const void* holder) noexcept {
      return *static_cast<const std::uint64_t*>(holder);
    }
    void Take(Op op, Scheduler& scheduler) noexcept {
      holder_ = Self(scheduler);
      scheduler.Locked(&holder_);
      scheduler.Changes(&holder_, 0, holder_);
      scheduler.Made(op, &holder_, 0, holder_, guarded_);
    }

    std::uint64_t holder_ = 0;   // A thread, from 1; 0 while it is free.
    std::uint64_t guarded_ = 0;  // A hash of all that the latest holder has seen.
  };

  static unsigned Stripe() noexcept {
    const Scheduler* const scheduler = Scheduler::Running();
    return scheduler != nullptr ? scheduler->Stripe() : 0;
  }
  // What is done outside a schedule, thread 0 did.
  static std::uintptr_t Thread() noexcept {
    const Scheduler* const scheduler = Scheduler::Running();
    return scheduler != nullptr ? static_cast<std::uintptr_t>(scheduler->current()) + 1 : 1;
  }
};

}  // namespace shed::schedule

// A thread that must wait for one is not scheduled meanwhile, as for a mutex; and a check that
// looks need not.
template <>
class SHED_CAPABILITY("mutex") shed::internal::SpinLock<shed::schedule::ScheduledSync> {
 public:
  std::uint32_t Lock() noexcept SHED_ACQUIRE() SHED_NO_THREAD_SAFETY_ANALYSIS {
    mutex_.lock();
    return number_;
  }
  void Unlock(std::uint32_t number) noexcept SHED_RELEASE() SHED_NO_THREAD_SAFETY_ANALYSIS {
    number_ = number & 0x7fff'ffff;
    mutex_.unlock();
  }

 private:
  shed::schedule::ScheduledSync::Mutex mutex_;
  std::uint32_t number_ = 0;
};

#endif  // SHED_TESTS_SCHEDULE_SCHEDULED_SYNC_H_
