// A guard whose limiter's type is hidden, for code that must not be a template: a virtual
// interface, a queue of calls of several limiters.
#ifndef SHED_ANY_GUARD_H_
#define SHED_ANY_GUARD_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "shed/guard.h"
#include "shed/outcome.h"
#include "shed/time.h"
#include "shed/verdict.h"

namespace shed {

// Holds the guard of any limiter in place: no allocation. Otherwise as AdmissionGuard: ends exactly
// once, move-only. A guard that has become an AnyGuard has moved, so that an exception that drops
// it counts as kIgnored.
class [[nodiscard]] AnyGuard {
 public:
  static constexpr std::size_t kCapacity = 256;  // Bytes; a guard that is larger does not compile.

  // Holds nothing, and is false.
  AnyGuard() noexcept = default;
  template <class Limiter>
  AnyGuard(AdmissionGuard<Limiter>&& guard) noexcept  // NOLINT(google-explicit-constructor)
      : calls_(&kCallsOf<AdmissionGuard<Limiter>>) {
    static_assert(sizeof(guard) <= kCapacity, "shed: this guard is larger than an AnyGuard holds");
    static_assert(alignof(AdmissionGuard<Limiter>) <= alignof(std::max_align_t));
    ::new (static_cast<void*>(storage_)) AdmissionGuard<Limiter>(std::move(guard));
  }
  AnyGuard(AnyGuard&& other) noexcept { Take(other); }
  AnyGuard& operator=(AnyGuard&& other) noexcept {
    if (this != &other) {
      Destroy();
      Take(other);
    }
    return *this;
  }
  ~AnyGuard() { Destroy(); }

  // As the members of AdmissionGuard.
  explicit operator bool() const noexcept {
    return calls_ != nullptr && calls_->admitted(storage_);
  }
  Duration wait() const noexcept {
    return calls_ != nullptr ? calls_->wait(storage_) : Duration::zero();
  }
  TimePoint started() const noexcept {
    return calls_ != nullptr ? calls_->started(storage_) : TimePoint();
  }
  Rejection rejection() const noexcept {
    return calls_ != nullptr ? calls_->rejection(storage_) : Rejection(0, "", Verdict::Admit());
  }
  void Complete(Outcome outcome) noexcept {
    if (calls_ != nullptr) calls_->complete(storage_, outcome);
  }
  void Note(Outcome outcome) noexcept {
    if (calls_ != nullptr) calls_->note(storage_, outcome);
  }
  void Charge(std::uint64_t units) noexcept {
    if (calls_ != nullptr) calls_->charge(storage_, units);
  }

 private:
  struct Calls {
    bool (*admitted)(std::byte*) noexcept;
    Duration (*wait)(std::byte*) noexcept;
    TimePoint (*started)(std::byte*) noexcept;
    Rejection (*rejection)(std::byte*) noexcept;
    void (*complete)(std::byte*, Outcome) noexcept;
    void (*note)(std::byte*, Outcome) noexcept;
    void (*charge)(std::byte*, std::uint64_t) noexcept;
    void (*move)(std::byte* from, std::byte* to) noexcept;  // And destroys what is left.
    void (*destroy)(std::byte*) noexcept;
  };

  template <class Guard>
  static Guard& As(std::byte* at) noexcept {
    return *std::launder(reinterpret_cast<Guard*>(at));
  }
  template <class Guard>
  static constexpr Calls kCallsOf = {
      [](std::byte* at) noexcept { return static_cast<bool>(As<Guard>(at)); },
      [](std::byte* at) noexcept { return As<Guard>(at).wait(); },
      [](std::byte* at) noexcept { return As<Guard>(at).started(); },
      [](std::byte* at) noexcept { return As<Guard>(at).rejection(); },
      [](std::byte* at, Outcome outcome) noexcept { As<Guard>(at).Complete(outcome); },
      [](std::byte* at, Outcome outcome) noexcept { As<Guard>(at).Note(outcome); },
      [](std::byte* at, std::uint64_t units) noexcept { As<Guard>(at).Charge(units); },
      [](std::byte* from, std::byte* to) noexcept {
        ::new (static_cast<void*>(to)) Guard(std::move(As<Guard>(from)));
        As<Guard>(from).~Guard();
      },
      [](std::byte* at) noexcept { As<Guard>(at).~Guard(); }};

  void Take(AnyGuard& other) noexcept {
    calls_ = std::exchange(other.calls_, nullptr);
    if (calls_ != nullptr) calls_->move(other.storage_, storage_);
  }
  void Destroy() noexcept {
    if (calls_ != nullptr) std::exchange(calls_, nullptr)->destroy(storage_);
  }

  const Calls* calls_ = nullptr;
  // Mutable, as GCC takes a const pointer to the storage of an empty guard for a read of it, and
  // warns in the user's code.
  alignas(std::max_align_t) mutable std::byte storage_[kCapacity];
};

}  // namespace shed

#endif  // SHED_ANY_GUARD_H_
