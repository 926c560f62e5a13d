// The callers that a UsageThrottle knows, in bounded memory: each with its meter, and one entry
// that all share who find no room.
//
// Algorithm: a hash table of chains. A caller that finds no free entry looks at eight entries, each
// time the next eight, for one that may be forgotten: its caller has no call in flight and nothing
// in use, so that a new entry would answer the same. If there is none, the caller shares the
// overflow. So no eviction launders use, and a flood of new names pays with its own calls.
// (A caller that is back at zero is forgotten by the clock of the call that looks: one whose clock
// lags behind that may find it new, and be given once more what had not drained by its own time.)
//
// State: an entry of 80 bytes and 4 to 8 bytes of the table for each of max_callers; a mutex for
// every 16 of them, at most 64. A seeded 96-bit fingerprint of each caller, never its name.
//
// Locking: a caller is found and judged under the mutex of its part of the table. A second mutex,
// taken under it, where an entry is taken or given up. Nobody holds the mutexes of two parts.
#ifndef SHED_INTERNAL_USAGE_CALLERS_H_
#define SHED_INTERNAL_USAGE_CALLERS_H_

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "shed/internal/annotations.h"
#include "shed/internal/bounds.h"
#include "shed/internal/fingerprint.h"
#include "shed/internal/fixed_array.h"
#include "shed/internal/index_list.h"
#include "shed/internal/usage_meter.h"
#include "shed/sync.h"
#include "shed/time.h"

namespace shed::internal {

// What is kept of a caller.
template <class Sync>
struct UsageEntry {
  UsageMeter meter;
  std::uint64_t low = 0;  // 96 bits of the fingerprint.
  std::uint32_t high = 0;
  std::uint32_t in_flight = 0;    // Calls that were admitted and have not ended.
  std::uint32_t generation = 0;   // How many callers the entry had before.
  std::uint32_t next = kNoIndex;  // In its chain; of a free entry, the next free one.
  // Whose chain it is in; kNoIndex for a free entry. Changes under that bucket's mutex alone.
  typename Sync::template Atomic<std::uint32_t> bucket{kNoIndex};
  std::uint8_t stage = 0;  // The owner's.
};

template <class Sync>
class UsageCallers {
  using Entry = UsageEntry<Sync>;

 public:
  static constexpr std::size_t kBytesEach = sizeof(Entry) + 2 * sizeof(std::uint32_t);

  // A caller's entry, locked for as long as this lives; or nobody's, with nothing locked. At most
  // one at a time on a thread.
  class Held {
   public:
    Held() noexcept = default;
    Held(Held&& other) noexcept
        : callers_(other.callers_),
          mutex_(other.mutex_),
          entry_(other.entry_),
          index_(other.index_) {
      other.mutex_ = nullptr;
    }
    Held& operator=(Held&&) = delete;
    ~Held() { Unlock(); }
    void Unlock() noexcept SHED_NO_THREAD_SAFETY_ANALYSIS {
      if (mutex_ != nullptr) mutex_->unlock();
      mutex_ = nullptr;
    }

    explicit operator bool() const noexcept { return mutex_ != nullptr; }
    Entry* operator->() const noexcept { return entry_; }
    std::uint32_t index() const noexcept { return index_; }

    // Forgets the caller, and unlocks, if a new entry would answer the same.
    void ForgetIfNew(const UsageTerms& terms, TimePoint now) noexcept {
      if (callers_->IsForgettable(index_, terms, now)) callers_->Forget(index_);
      Unlock();
    }

   private:
    friend UsageCallers;
    // Locks the part of the table that `bucket` is in.
    Held(const UsageCallers& callers, std::uint32_t bucket) noexcept SHED_NO_THREAD_SAFETY_ANALYSIS
        : callers_(const_cast<UsageCallers*>(&callers)),
          mutex_(&callers.PartOf(bucket).mutex) {
      mutex_->lock();
    }
    Held&& At(std::uint32_t index) noexcept {
      index_ = index;
      entry_ = &callers_->entries_[index];
      return static_cast<Held&&>(*this);
    }

    UsageCallers* callers_ = nullptr;
    typename Sync::Mutex* mutex_ = nullptr;
    Entry* entry_ = nullptr;
    std::uint32_t index_ = kNoIndex;
  };

  // Room for `capacity` callers, from 1 to 2^30.
  explicit UsageCallers(std::uint32_t capacity)
      : capacity_(capacity),
        buckets_(std::bit_ceil(capacity)),
        part_count_(Clamp(buckets_ / 16, 1u, 64u)),
        parts_(part_count_ + std::size_t{1}),
        heads_(buckets_),
        entries_(capacity + std::size_t{1}) {
    for (std::uint32_t& head : heads_) head = kNoIndex;
    entries_[overflow()].bucket.store(buckets_, std::memory_order_relaxed);
  }
  UsageCallers(const UsageCallers&) = delete;
  UsageCallers& operator=(const UsageCallers&) = delete;

  // The entry of all who find no room: behind all others.
  std::uint32_t overflow() const noexcept { return capacity_; }
  // Callers with an entry of their own.
  std::uint32_t tracked() const noexcept { return tracked_.load(std::memory_order_relaxed); }

  // Returns the entry of `id`, a new one, or the overflow.
  Held Ask(const Fingerprint& id, const UsageTerms& terms, TimePoint now) noexcept {
    const std::uint32_t bucket = BucketOf(id);
    {
      Held held(*this, bucket);
      const std::uint32_t found = FindOrMake(id, bucket);
      if (found != kNoIndex) [[likely]]
        return held.At(found);
    }
    LookForRoom([&](std::uint32_t i) {
      if (!IsForgettable(i, terms, now)) return false;
      Forget(i);
      return true;
    });
    {
      // Another thread may have made it meanwhile, or taken the room.
      Held held(*this, bucket);
      const std::uint32_t found = FindOrMake(id, bucket);
      if (found != kNoIndex) return held.At(found);
    }
    return Overflow();
  }

  // The entry of a call in flight; nobody's if it is another caller's by now.
  Held Of(std::uint32_t index, std::uint32_t generation) noexcept {
    // Relaxed: an entry that is the call's stays where it is, and one that is not has another
    // generation under any lock.
    const std::uint32_t bucket = entries_[index].bucket.load(std::memory_order_relaxed);
    if (bucket == kNoIndex) return {};
    Held held(*this, bucket);
    if (entries_[index].bucket.load(std::memory_order_relaxed) != bucket ||
        entries_[index].generation != generation) {
      return {};
    }
    return held.At(index);
  }

  // The entry that the next call of `id` will find: its own, the overflow if there is no room, or
  // nobody's if it will have a new one.
  Held Peek(const Fingerprint& id, const UsageTerms& terms, TimePoint now) const noexcept {
    {
      Held held(*this, BucketOf(id));
      const std::uint32_t found = Find(id, BucketOf(id));
      if (found != kNoIndex) return held.At(found);
    }
    if (tracked() < capacity_) return {};
    const std::uint32_t hand = hand_.load(std::memory_order_relaxed);
    if (LookFrom(hand, [&](std::uint32_t i) { return IsForgettable(i, terms, now); })) return {};
    return Overflow();
  }

  Held Overflow() const noexcept { return Held(*this, buckets_).At(overflow()); }

  // Whether no entry has a call in flight or anything in use. Looks at each, up to the first that
  // has.
  bool AsNew(const UsageTerms& terms, TimePoint now) const noexcept {
    for (std::uint32_t i = 0; i <= capacity_; ++i) {
      const std::uint32_t bucket = entries_[i].bucket.load(std::memory_order_relaxed);
      if (bucket == kNoIndex) continue;
      const Held held(*this, bucket);
      if (entries_[i].bucket.load(std::memory_order_relaxed) == bucket &&
          !IsIdle(entries_[i], terms, now)) {
        return false;
      }
    }
    return true;
  }

 private:
  static constexpr std::uint32_t kLooks = 8;

  struct alignas(64) Part {
    typename Sync::Mutex mutex;
  };

  // The overflow's bucket is one behind the others, and so is its part.
  Part& PartOf(std::uint32_t bucket) const noexcept {
    return parts_[bucket == buckets_ ? part_count_ : bucket % part_count_];
  }
  std::uint32_t BucketOf(const Fingerprint& id) const noexcept {
    return static_cast<std::uint32_t>(id.low) & (buckets_ - 1);
  }

  // The rest requires the mutex of the bucket, or of the entry's bucket.

  static bool IsIdle(const Entry& entry, const UsageTerms& terms, TimePoint now) noexcept {
    return entry.in_flight == 0 && entry.meter.LevelAt(terms, now) == 0;
  }
  bool IsForgettable(std::uint32_t i, const UsageTerms& terms, TimePoint now) const noexcept {
    return i != overflow() && IsIdle(entries_[i], terms, now);
  }

  std::uint32_t Find(const Fingerprint& id, std::uint32_t bucket) const noexcept {
    for (std::uint32_t i = heads_[bucket]; i != kNoIndex; i = entries_[i].next) {
      const Entry& entry = entries_[i];
      if (entry.low == id.low && entry.high == static_cast<std::uint32_t>(id.high)) return i;
    }
    return kNoIndex;
  }
  // kNoIndex if there is no free entry.
  std::uint32_t FindOrMake(const Fingerprint& id, std::uint32_t bucket) noexcept {
    const std::uint32_t found = Find(id, bucket);
    if (found != kNoIndex) [[likely]]
      return found;
    return Make(id, bucket);
  }
  std::uint32_t Make(const Fingerprint& id, std::uint32_t bucket) noexcept {
    const std::uint32_t i = TakeFree();
    if (i == kNoIndex) return kNoIndex;
    Entry& entry = entries_[i];
    entry.low = id.low;
    entry.high = static_cast<std::uint32_t>(id.high);
    entry.next = heads_[bucket];
    entry.bucket.store(bucket, std::memory_order_relaxed);
    heads_[bucket] = i;
    return i;
  }

  void Forget(std::uint32_t i) noexcept {
    Entry& entry = entries_[i];
    std::uint32_t* link = &heads_[entry.bucket.load(std::memory_order_relaxed)];
    while (*link != i) link = &entries_[*link].next;
    *link = entry.next;
    entry.bucket.store(kNoIndex, std::memory_order_relaxed);
    entry.meter = UsageMeter();
    entry.stage = 0;
    ++entry.generation;
    const MutexLock lock(free_mutex_);
    entry.next = free_;
    free_ = i;
    tracked_.store(tracked_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  }

  std::uint32_t TakeFree() noexcept {
    // Relaxed, without the mutex: whoever comes while the last entry is given up finds none yet.
    if (tracked() == capacity_) return kNoIndex;
    const MutexLock lock(free_mutex_);
    std::uint32_t i = free_;
    if (i != kNoIndex) {
      free_ = entries_[i].next;
    } else if (unused_ < capacity_) {
      i = unused_++;
    } else {
      return kNoIndex;
    }
    tracked_.store(tracked_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return i;
  }

  // Shows `visit` the next entries in turn, each under its mutex, until it returns true.
  template <class Visit>
  void LookForRoom(const Visit& visit) noexcept {
    LookFrom(hand_.fetch_add(kLooks, std::memory_order_relaxed), visit);
  }
  template <class Visit>
  bool LookFrom(std::uint32_t hand, const Visit& visit) const noexcept {
    for (std::uint32_t step = 0; step < Min(kLooks, capacity_); ++step) {
      const std::uint32_t i = (hand + step) % capacity_;
      const std::uint32_t bucket = entries_[i].bucket.load(std::memory_order_relaxed);
      if (bucket == kNoIndex) continue;
      const Held held(*this, bucket);
      // It may have gone to another caller.
      if (entries_[i].bucket.load(std::memory_order_relaxed) == bucket && visit(i)) return true;
    }
    return false;
  }

  const std::uint32_t capacity_;
  const std::uint32_t buckets_;  // A power of two.
  const std::uint32_t part_count_;
  const FixedArray<Part> parts_;
  const FixedArray<std::uint32_t> heads_;  // Of the chains.
  const FixedArray<Entry> entries_;
  typename Sync::template Atomic<std::uint32_t> tracked_{0};  // Written under free_mutex_.
  typename Sync::template Atomic<std::uint32_t> hand_{0};     // Whom to look at next.
  std::uint32_t free_ SHED_GUARDED_BY(free_mutex_) = kNoIndex;
  std::uint32_t unused_ SHED_GUARDED_BY(free_mutex_) = 0;  // From here on nobody had one.
  typename Sync::Mutex free_mutex_;
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_USAGE_CALLERS_H_
