// What cannot be avoided: for each target the same work as straight-line code, without an
// interface, a policy or a rule that could change. The figures of the table are ratios to these.
//
// A floor reads the clock where a policy needs the time, loads and compare-exchanges the words that
// must agree, and adds one to the thread's own stripe for each admission, completion and refusal.
// Its words stand on cache lines of their own.
#ifndef SHED_BENCH_FLOORS_H_
#define SHED_BENCH_FLOORS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "shed/clock.h"

namespace shed::bench {

inline std::int64_t ReadClock() noexcept { return SteadyClock::Now().time_since_epoch().count(); }

// Set for each thread before it measures: 0 or 1.
inline thread_local std::size_t this_thread = 0;

template <class T>
struct alignas(64) Padded {
  std::atomic<T> value{};
};

// One add to a shard that no other thread adds to now, but that belongs to no thread: a window's,
// whose slices any thread may turn.
class Sharded {
 public:
  std::uint64_t Add() noexcept {
    return shards_[this_thread].value.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  Padded<std::uint64_t> shards_[2];
};

// One add to the thread's own stripe, which needs no lock prefix.
class OwnCount {
 public:
  void Add() noexcept {
    std::atomic<std::uint64_t>& count = stripes_[this_thread].value;
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

 private:
  Padded<std::uint64_t> stripes_[2];
};

// What a limiter counts of a call that it admits.
struct CallFloor {
  OwnCount admitted, completed;
};

// A plain token bucket of a second: `word` is the time at which it is full again.
inline bool TakeToken(std::atomic<std::int64_t>& word, std::int64_t now) noexcept {
  std::int64_t seen = word.load(std::memory_order_relaxed);
  for (;;) {
    const std::int64_t next = (seen > now ? seen : now) + 1;
    if (next - now > 1'000'000'000) return false;
    if (word.compare_exchange_weak(seen, next, std::memory_order_relaxed)) return true;
  }
}

// Calls in flight, never above the limit.
inline bool TakePermit(std::atomic<std::uint64_t>& in_flight,
                       const std::atomic<std::uint64_t>& limit) noexcept {
  std::uint64_t seen = in_flight.load(std::memory_order_relaxed);
  for (;;) {
    if (seen >= limit.load(std::memory_order_relaxed)) return false;
    if (in_flight.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
      return true;
    }
  }
}
inline void GivePermit(std::atomic<std::uint64_t>& in_flight) noexcept {
  in_flight.fetch_sub(1, std::memory_order_release);
}

// Is it closed, and how did the call end, if `now` is still in the present slice of the window.
class BreakerFloor {
 public:
  bool Closed() const noexcept { return open_.value.load(std::memory_order_acquire) == 0; }
  bool End(std::int64_t now) noexcept {
    if (now >= slice_end_.value.load(std::memory_order_relaxed)) return false;
    ended_.Add();
    return true;
  }

 private:
  Padded<std::uint64_t> open_;
  Padded<std::int64_t> slice_end_{.value = std::numeric_limits<std::int64_t>::max()};
  Sharded ended_;
};

// The share refused, and how the call ended.
class AdmissionFloor {
 public:
  bool Admits() const noexcept { return refused_.value.load(std::memory_order_relaxed) == 0; }
  std::uint64_t End() noexcept { return ended_.Add(); }

 private:
  Padded<std::uint64_t> refused_;
  Sharded ended_;
};

// One compare-exchange that succeeds.
class ExchangeFloor {
 public:
  bool Exchange() noexcept {
    std::uint64_t seen = word_.value.load(std::memory_order_relaxed);
    return word_.value.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel,
                                             std::memory_order_relaxed);
  }

 private:
  Padded<std::uint64_t> word_;
};

}  // namespace shed::bench

#endif  // SHED_BENCH_FLOORS_H_
