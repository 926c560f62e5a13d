// Finds the place of a fingerprint in a table of fixed size, without ever allocating again.
//
// Algorithm: open addressing with linear probing in an array at most half full. Erasing moves the
// followers back instead of leaving a grave behind: a table of graves must be rebuilt now and then
// (Abseil's flat_hash_map allocates when it does), and rotating keys would make that their lever.
// A fingerprint is as good as random, so its low bits are the home slot; the same 32 bits are kept
// beside the value, so that a probe reads the entry only where they agree.
#ifndef SHED_INTERNAL_FINGERPRINT_INDEX_H_
#define SHED_INTERNAL_FINGERPRINT_INDEX_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "shed/internal/fingerprint.h"

namespace shed::internal {

class FingerprintIndex {
 public:
  static constexpr std::uint32_t kAbsent = 0xffff'ffff;
  // Beyond a handful: the array doubles when `capacity` passes a power of two.
  static constexpr std::size_t kMaxBytesEach = 32;

  // Room for `capacity` fingerprints, at most 2^30.
  explicit FingerprintIndex(std::uint32_t capacity)
      : mask_(std::bit_ceil(std::size_t{2} * capacity) - 1),
        slots_(std::make_unique<Slot[]>(mask_ + 1)) {}

  // Returns the value put in for `id`, or kAbsent. `id_of(value)` gives the fingerprint of a value.
  template <class IdOf>
  std::uint32_t Find(const Fingerprint& id, const IdOf& id_of) const noexcept {
    const auto tag = static_cast<std::uint32_t>(id.low);
    for (std::size_t at = tag & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.value == kAbsent) return kAbsent;
      if (slot.tag == tag && id_of(slot.value) == id) return slot.value;
    }
  }

  // Requires that `id` is absent, that fewer than `capacity` are in, and that `value` is no
  // other's.
  void Insert(const Fingerprint& id, std::uint32_t value) noexcept {
    const auto tag = static_cast<std::uint32_t>(id.low);
    std::size_t at = tag & mask_;
    while (slots_[at].value != kAbsent) at = (at + 1) & mask_;
    slots_[at] = {.value = value, .tag = tag};
  }

  // Requires that `value` was put in for `id`.
  void Erase(const Fingerprint& id, std::uint32_t value) noexcept {
    std::size_t hole = static_cast<std::uint32_t>(id.low) & mask_;
    while (slots_[hole].value != value) hole = (hole + 1) & mask_;
    for (std::size_t at = (hole + 1) & mask_; slots_[at].value != kAbsent; at = (at + 1) & mask_) {
      // An entry may move back to the hole unless its home lies behind the hole.
      const std::size_t from_home = (at - slots_[at].tag) & mask_;
      const std::size_t from_hole = (at - hole) & mask_;
      if (from_home < from_hole) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole] = {};
  }

 private:
  struct Slot {
    std::uint32_t value = kAbsent;
    std::uint32_t tag = 0;
  };

  static_assert(4 * sizeof(Slot) <= kMaxBytesEach);

  std::size_t mask_;
  std::unique_ptr<Slot[]> slots_;
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_FINGERPRINT_INDEX_H_
