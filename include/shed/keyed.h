// One P for each caller, for each route, or for each of anything that a selector says, in bounded
// memory.
//
//   Limiter<Keyed<RateLimiter, ByCaller>> limiter({.policy = {.rate = 10}, .max_keys = 10'000});
//
// Use it for what each key has for itself: a plan, a limit that one slow route must not lower for a
// fast one. Not to share one budget between callers: that is what a DemeritTracker does.
//
// Algorithm: each key has a P of its own, made at its first call. A key may be forgotten when none
// of its calls is in flight and its P has been as good as new for a second (P::AsNew(now), see
// below): then forgetting it changes no answer, unless a clock lags by more. Each call looks at two
// keys that have not been asked about for longest, and forgets what may be; one that finds no room
// looks at eight. If there still is none, its key shares one P, the overflow, with all others that
// find no room (and may hold something there when it gets a P of its own). So no eviction refills a
// drained bucket or launders a penalty, and a flood of new keys pays with its own calls. A P
// without AsNew is never forgotten: give it no more keys than fit, routes rather than callers.
//
// Selectors, and what one owes: selectors.h. A key is kept as a seeded 128-bit fingerprint, never
// as text. If a selector throws, or gives options with a Problem, the call is refused with kDenied,
// and counted.
//
// State: a hash table of fingerprints, and a list of keys by their latest call.
//
// Locking: a mutex around finding the key, some 50 ns; P is asked outside of it. A new key is made
// under it, and takes memory then.
#ifndef SHED_KEYED_H_
#define SHED_KEYED_H_

#include <array>
#include <atomic>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "shed/internal/fingerprint.h"
#include "shed/internal/invoke.h"
#include "shed/internal/validate.h"
#include "shed/keyed_options.h"
#include "shed/limiter_snapshot.h"
#include "shed/policy.h"
#include "shed/selectors.h"
#include "shed/sync.h"

namespace shed {

// P says that it is as good as new at `now`: one that was just made would answer the same from then
// on.
template <class P>
concept CanBeAsNew = requires(const P& p, TimePoint now) {
  { p.AsNew(now) }
  noexcept->std::same_as<bool>;
};

namespace internal {
// `Charge` and `Configure`, where P has them: a constrained member would still be found by its
// name.
template <class Self, class P>
struct KeyedCharge {};
template <class Self, CanCharge P>
struct KeyedCharge<Self, P> {
  template <class Ticket>
  void Charge(Ticket& ticket, std::uint64_t units, TimePoint now, Events& events) noexcept {
    if (ticket.entry != nullptr) {
      internal::Charge(ticket.entry->holder.policy, ticket.inner, units, now, events);
    }
  }
};
template <class Self, class P>
struct KeyedConfigure {};
template <class Self, CanConfigure P>
struct KeyedConfigure<Self, P> {
  // Puts `options` in force, the seed apart: for each key when it next asks, as only then its name
  // is known, and before that call is decided. If P takes options only up to what it was made with,
  // so does this. With fewer max_keys nothing is forgotten before its
  // time. Returns "" or, changing nothing, options.Problem(). May allocate.
  std::string_view Configure(const KeyedOptions<P>& options, TimePoint now) {
    const std::string_view problem = options.Problem();
    if (!problem.empty()) return problem;
    return static_cast<Self*>(this)->PutInForce(options, now);
  }
};
}  // namespace internal

// Thread-safe: any member, any thread, as far as P and the selector are. Named after P.
template <HasOptions P, class Selector, class Sync = StdSync>
class Keyed : public internal::KeyedCharge<Keyed<P, Selector, Sync>, P>,
              public internal::KeyedConfigure<Keyed<P, Selector, Sync>, P> {
  friend internal::KeyedCharge<Keyed, P>;
  friend internal::KeyedConfigure<Keyed, P>;
  struct Entry;

 public:
  using Options = KeyedOptions<P>;
  static constexpr std::string_view kName = P::kName;
  static constexpr bool kHolds = Holds<P>;

  struct Ticket {
    TicketOf<P> inner{};
    Entry* entry = nullptr;  // Whose P holds it; null once it has ended.
  };
  struct Snapshot {
    std::uint64_t keys = 0;            // That have a P of their own.
    std::uint64_t made = 0;            // So many so far,
    std::uint64_t forgotten = 0;       // of which so many are gone.
    std::uint64_t overflow_calls = 0;  // Calls that shared the overflow.
    std::uint64_t denied = 0;          // Calls whose selector threw or gave bad options.
    SnapshotOf<P> overflow{};
  };

  // Throws std::invalid_argument with options.Problem() unless that is "".
  explicit Keyed(const Options& options) : Keyed(options, Selector{}) {}
  Keyed(const Options& options, Selector selector)
      : key_(internal::FingerprintKey(internal::Checked(options).seed)),
        selector_(std::move(selector)),
        options_(options),
        overflow_(options.policy, {}) {
    MutexLock lock(mutex_);
    index_.reserve(static_cast<std::size_t>(options.max_keys));
  }
  Keyed(const Keyed&) = delete;
  Keyed& operator=(const Keyed&) = delete;

  // Refuses as P does, with the selector's scope; with kDenied if the selector fails.
  Verdict Admit(const Request& request, TimePoint now, Ticket& ticket, Events& events) noexcept {
    Entry* const entry = Find(request, now);
    if (entry == nullptr) return Verdict::Refuse(Reason::kDenied);
    const Verdict verdict =
        internal::Admit(entry->holder.policy, request, now, ticket.inner, events);
    if (verdict.admitted()) {
      ticket.entry = entry;
      return verdict;
    }
    Leave(*entry);
    return Verdict::Refuse(verdict.reason(), verdict.retry_after(),
                           verdict.scope() == Scope::kCaller ? Scope::kCaller : kScope);
  }
  void Cancel(Ticket& ticket, const Verdict& cause, TimePoint now, Events& events) noexcept {
    Entry* const entry = std::exchange(ticket.entry, nullptr);
    if (entry == nullptr) return;
    internal::Cancel(entry->holder.policy, ticket.inner, cause, now, events);
    Leave(*entry);
  }
  void Complete(Ticket& ticket, const Completion& completion,
                Events& events) noexcept requires CompletesTimed<P> {
    End(ticket, completion, events);
  }
  void Complete(Ticket& ticket, Outcome outcome, Events& events) noexcept
      requires(!CompletesTimed<P>) {
    End(ticket, {.outcome = outcome}, events);
  }

  Snapshot Read(TimePoint now) const noexcept {
    MutexLock lock(mutex_);
    Snapshot snapshot{.keys = index_.size(),
                      .made = made_,
                      .forgotten = made_ - index_.size(),
                      .overflow_calls = overflow_calls_,
                      .denied = denied_.load(std::memory_order_relaxed)};
    if constexpr (CanRead<P>) snapshot.overflow = overflow_.holder.policy.Read(now);
    return snapshot;
  }
  // The state of one key's P; nothing if it has none of its own.
  template <class Key>
  std::optional<SnapshotOf<P>> ReadKey(const Key& key,
                                       TimePoint now) const noexcept requires CanRead<P> {
    MutexLock lock(mutex_);
    const auto found = index_.find(IdOf(key));
    if (found == index_.end()) return std::nullopt;
    return found->second->holder.policy.Read(now);
  }

 private:
  static constexpr Scope kScope = [] {
    if constexpr (requires { Selector::kScope; }) {
      return Selector::kScope;
    } else {
      return Scope::kService;
    }
  }();

  // A key is forgotten only if its P was as good as new so long ago: the clock of another thread
  // may lag, and would find a new P better than its own had been.
  static constexpr Duration kLag = std::chrono::seconds(1);

  // P, and its hot words where it has some. Not Solo, which gives those a line of their own: there
  // may be a million of these.
  template <class Q>
  struct Holder {
    explicit Holder(const typename Q::Options& options) : policy(options) {}
    Q policy;
  };
  template <HasHot Q>
  struct Holder<Q> {
    explicit Holder(const typename Q::Options& options) : policy(options, hot) {}
    typename Q::Hot hot{};
    Q policy;
  };

  struct Entry {
    Entry(const typename P::Options& options, const internal::Fingerprint& fingerprint)
        : id(fingerprint), holder(options) {}
    const internal::Fingerprint id;
    Entry* prev = this;  // In the list of keys by their latest call, under the mutex.
    Entry* next = this;
    std::uint64_t version = 0;  // Of the options that its P has, under the mutex.
    // Calls that are in flight or being decided. Taken under the mutex, so that none comes while a
    // key is being forgotten; given back without it.
    typename Sync::template Atomic<std::uint32_t> calls{0};
    Holder<P> holder;
  };
  // Fingerprints are as good as random.
  struct Hash {
    std::size_t operator()(const internal::Fingerprint& id) const noexcept {
      return static_cast<std::size_t>(id.low);
    }
  };

  internal::Fingerprint IdOf(std::string_view key) const noexcept {
    return internal::FingerprintOf(key, key_);
  }
  template <std::integral Number>
  internal::Fingerprint IdOf(Number key) const noexcept {
    const auto bytes =
        std::bit_cast<std::array<char, sizeof(std::uint64_t)>>(static_cast<std::uint64_t>(key));
    return internal::FingerprintOf({bytes.data(), bytes.size()}, key_);
  }

  // Returns the entry of the call's key, with one more call in it; null if the selector failed.
  Entry* Find(const Request& request, TimePoint now) noexcept {
#if defined(__cpp_exceptions)
    try {
      if (Entry* const entry = FindOrMake(selector_(request), now)) return entry;
    } catch (...) {
      // The selector's, or no memory for a new P.
    }
#else
    if (Entry* const entry = FindOrMake(selector_(request), now)) return entry;
#endif
    // Relaxed: a count publishes nothing.
    denied_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }

  template <class Key>
  Entry* FindOrMake(const Key& key, TimePoint now) {
    const internal::Fingerprint id = IdOf(key);
    MutexLock lock(mutex_);
    Entry* entry = &overflow_;
    if (const auto found = index_.find(id); found != index_.end()) {
      entry = found->second.get();
      MoveToBack(*entry);
      Tidy(now, 2, entry);
      if (entry->version != version_ && !Reconfigure(*entry, OptionsOf(key), now)) return nullptr;
    } else {
      const auto max = static_cast<std::size_t>(options_.max_keys);
      Tidy(now, index_.size() < max ? 2 : 8, nullptr);
      if (index_.size() < max) {
        entry = Make(id, OptionsOf(key));
      } else {
        ++overflow_calls_;
      }
    }
    // Relaxed: under the mutex, as is the look at it.
    entry->calls.fetch_add(1, std::memory_order_relaxed);
    return entry;
  }

  std::string_view PutInForce(const Options& options, TimePoint now) {
    MutexLock lock(mutex_);
    index_.reserve(static_cast<std::size_t>(options.max_keys));  // May throw, and so comes first.
    const std::string_view problem = overflow_.holder.policy.Configure(options.policy, now);
    if (!problem.empty()) return problem;  // More than P was made with.
    options_ = options;
    ++version_;
    return "";
  }
  // Returns false, and leaves the entry as it is, if the options are bad.
  bool Reconfigure([[maybe_unused]] Entry& entry,
                   [[maybe_unused]] const typename P::Options& options,
                   [[maybe_unused]] TimePoint now) SHED_REQUIRES(mutex_) {
    if constexpr (CanConfigure<P>) {
      if (!entry.holder.policy.Configure(options, now).empty()) return false;
      entry.version = version_;
    }
    return true;
  }

  template <class Key>
  typename P::Options OptionsOf(const Key& key) const SHED_REQUIRES(mutex_) {
    if constexpr (requires { selector_.OptionsFor(key, options_.policy); }) {
      return selector_.OptionsFor(key, options_.policy);
    } else {
      return options_.policy;
    }
  }

  // Throws, and keeps nothing, if the options are bad or there is no memory.
  Entry* Make(const internal::Fingerprint& id, const typename P::Options& options)
      SHED_REQUIRES(mutex_) {
    auto made = std::make_unique<Entry>(options, id);
    Entry* const entry = made.get();
    entry->version = version_;
    index_.emplace(id, std::move(made));
    Insert(*entry);
    ++made_;
    return entry;
  }

  // Looks at `count` keys of those asked about longest ago: forgets what is as good as new, and
  // puts the rest behind the others, so that each has its turn. `spared` is in use.
  void Tidy(TimePoint now, int count, const Entry* spared) noexcept SHED_REQUIRES(mutex_) {
    for (int i = 0; i < count; ++i) {
      Entry* const entry = oldest_;
      if (entry == nullptr || entry == spared) return;
      if (IsForgettable(*entry, now)) {
        Remove(*entry);
        const internal::Fingerprint id = entry->id;  // It goes with the entry.
        index_.erase(id);
      } else {
        MoveToBack(*entry);
      }
    }
  }
  static bool IsForgettable(const Entry& entry, TimePoint now) noexcept {
    if constexpr (CanBeAsNew<P>) {
      // Acquire: sees what the calls did that have left.
      return entry.calls.load(std::memory_order_acquire) == 0 &&
             entry.holder.policy.AsNew(After(now, -kLag));
    } else {
      return false;
    }
  }

  // The list is a ring through the oldest.
  void Insert(Entry& entry) noexcept SHED_REQUIRES(mutex_) {
    if (oldest_ == nullptr) {
      oldest_ = entry.prev = entry.next = &entry;
      return;
    }
    entry.next = oldest_;
    entry.prev = oldest_->prev;
    entry.prev->next = &entry;
    oldest_->prev = &entry;
  }
  void Remove(Entry& entry) noexcept SHED_REQUIRES(mutex_) {
    if (entry.next == &entry) {
      oldest_ = nullptr;
      return;
    }
    entry.prev->next = entry.next;
    entry.next->prev = entry.prev;
    if (oldest_ == &entry) oldest_ = entry.next;
  }
  void MoveToBack(Entry& entry) noexcept SHED_REQUIRES(mutex_) {
    Remove(entry);
    Insert(entry);
  }

  static void Leave(Entry& entry) noexcept {
    // Release: see IsForgettable. Nothing of the entry is touched after it.
    entry.calls.fetch_sub(1, std::memory_order_release);
  }
  void End(Ticket& ticket, const Completion& completion, Events& events) noexcept {
    Entry* const entry = std::exchange(ticket.entry, nullptr);
    if (entry == nullptr) return;
    internal::Complete(entry->holder.policy, ticket.inner, completion, events);
    Leave(*entry);
  }

  const internal::Fingerprint key_;
  const Selector selector_;
  mutable typename Sync::Mutex mutex_;
  Options options_ SHED_GUARDED_BY(mutex_);
  std::uint64_t version_ SHED_GUARDED_BY(mutex_) = 0;  // Counts calls of Configure.
  absl::flat_hash_map<internal::Fingerprint, std::unique_ptr<Entry>, Hash> index_
      SHED_GUARDED_BY(mutex_);
  Entry* oldest_ SHED_GUARDED_BY(mutex_) = nullptr;
  std::uint64_t made_ SHED_GUARDED_BY(mutex_) = 0;
  std::uint64_t overflow_calls_ SHED_GUARDED_BY(mutex_) = 0;
  Entry overflow_;
  typename Sync::template Atomic<std::uint64_t> denied_{0};
};

}  // namespace shed

#endif  // SHED_KEYED_H_
