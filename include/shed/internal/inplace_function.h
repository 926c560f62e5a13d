// A callback that lies where it is put: no allocation, whatever it captures.
#ifndef SHED_INTERNAL_INPLACE_FUNCTION_H_
#define SHED_INTERNAL_INPLACE_FUNCTION_H_

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace shed::internal {

// Move-only. Calls `void(Arg)`, at most once; `Poke()` calls the member of that name where the
// callable has one. What is called must not throw.
template <class Arg, std::size_t kBytes>
class InplaceFunction {
 public:
  // Empty: is false, and does nothing when it is called.
  InplaceFunction() noexcept = default;
  template <class F>
  requires(!std::is_same_v<std::decay_t<F>, InplaceFunction>)
      InplaceFunction(F&& function)  // NOLINT(google-explicit-constructor)
      : calls_(&kCallsOf<std::decay_t<F>>) {
    using Held = std::decay_t<F>;
    static_assert(std::is_invocable_v<Held&, Arg>, "shed: a callback is called with a guard");
    static_assert(sizeof(Held) <= kBytes,
                  "shed: this callback captures more than it has room for; capture a pointer");
    static_assert(alignof(Held) <= alignof(std::max_align_t));
    static_assert(std::is_nothrow_move_constructible_v<Held>,
                  "shed: a callback must move without exceptions");
    ::new (static_cast<void*>(storage_)) Held(std::forward<F>(function));
  }
  InplaceFunction(InplaceFunction&& other) noexcept { Take(other); }
  InplaceFunction& operator=(InplaceFunction&& other) noexcept {
    if (this != &other) {
      Destroy();
      Take(other);
    }
    return *this;
  }
  ~InplaceFunction() { Destroy(); }

  explicit operator bool() const noexcept { return calls_ != nullptr; }
  void operator()(Arg arg) noexcept {
    if (calls_ != nullptr) calls_->call(storage_, std::forward<Arg>(arg));
  }
  void Poke() noexcept {
    if (calls_ != nullptr && calls_->poke != nullptr) calls_->poke(storage_);
  }

 private:
  struct Calls {
    void (*call)(std::byte*, Arg) noexcept;
    void (*poke)(std::byte*) noexcept;
    void (*move)(std::byte* from, std::byte* to) noexcept;  // And destroys what is left.
    void (*destroy)(std::byte*) noexcept;
  };

  template <class F>
  static F& As(std::byte* at) noexcept {
    return *std::launder(reinterpret_cast<F*>(at));
  }
  template <class F>
  static constexpr auto PokeOf() noexcept -> void (*)(std::byte*) noexcept {
    if constexpr (requires(F & f) { f.Poke(); }) {
      return [](std::byte* at) noexcept { As<F>(at).Poke(); };
    } else {
      return nullptr;
    }
  }
  template <class F>
  static constexpr Calls kCallsOf = {
      [](std::byte* at, Arg arg) noexcept { static_cast<void>(As<F>(at)(std::forward<Arg>(arg))); },
      PokeOf<F>(),
      [](std::byte* from, std::byte* to) noexcept {
        ::new (static_cast<void*>(to)) F(std::move(As<F>(from)));
        As<F>(from).~F();
      },
      [](std::byte* at) noexcept { As<F>(at).~F(); }};

  void Take(InplaceFunction& other) noexcept {
    calls_ = std::exchange(other.calls_, nullptr);
    if (calls_ != nullptr) calls_->move(other.storage_, storage_);
  }
  void Destroy() noexcept {
    if (calls_ != nullptr) std::exchange(calls_, nullptr)->destroy(storage_);
  }

  const Calls* calls_ = nullptr;
  alignas(std::max_align_t) std::byte storage_[kBytes];
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_INPLACE_FUNCTION_H_
