// A Sync for one thread that plays several: what another thread would do while a mutex is held runs
// as a hook then, and a lock that would have waited is counted.
#ifndef SHED_TESTS_WATCHED_SYNC_H_
#define SHED_TESTS_WATCHED_SYNC_H_

#include <functional>
#include <utility>

#include "shed/internal/annotations.h"
#include "shed/sync.h"

namespace shed {

struct WatchedSync {
  template <class T>
  using Atomic = NoSync::Atomic<T>;
  static unsigned Stripe() noexcept { return 0; }
  static std::uintptr_t Thread() noexcept { return 1; }

  // Runs while a mutex that was taken by try_lock is held, right after it was taken and right
  // before it is given back; not within itself.
  static inline std::function<void()> while_held;
  // How often lock() found its mutex held: a thread would have waited there.
  static inline int waits = 0;

  class SHED_CAPABILITY("mutex") Mutex {
   public:
    void lock() SHED_ACQUIRE() {
      if (held_) ++waits;
      held_ = true;
    }
    bool try_lock() SHED_TRY_ACQUIRE(true) {
      if (held_) return false;
      held_ = tried_ = true;
      RunHook();
      return true;
    }
    void unlock() SHED_RELEASE() {
      if (tried_) RunHook();
      held_ = tried_ = false;
    }

   private:
    static void RunHook() {
      if (!while_held) return;
      const auto hook = std::exchange(while_held, nullptr);
      hook();
      while_held = hook;
    }

    bool held_ = false;
    bool tried_ = false;
  };
};

}  // namespace shed

#endif  // SHED_TESTS_WATCHED_SYNC_H_
