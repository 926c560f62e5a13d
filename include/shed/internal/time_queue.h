// Entries by the time at which each must be looked at, in O(1) amortised, exact to the nanosecond,
// for any number of entries and without a sort.
//
// Algorithm: a calendar. The span that is kept is cut into units of 2^shift ns, at most 254 of
// them, each with a list in a ring of 256. What lies in the unit where the frontier stands is told
// apart more finely, by the highest digit (of 6 bits) in which it differs from the frontier, as in
// a radix heap; the last digit is the nanosecond itself. When the frontier reaches a list, its
// entries are handed out if they are due, or put in anew, at least a digit lower: once per digit at
// most, whatever the number of entries. A time may have been put off since its entry was put in:
// the owner says so when the entry comes up. So who puts a time off need not touch the queue.
//
// Source: R. K. Ahuja et al., "Faster algorithms for the shortest path problem", 1990 (radix heap);
// G. Varghese, T. Lauck, "Hashed and hierarchical timing wheels", 1987.
//
// Not thread-safe.
#ifndef SHED_INTERNAL_TIME_QUEUE_H_
#define SHED_INTERNAL_TIME_QUEUE_H_

#include <bit>
#include <cstdint>

#include "shed/internal/bounds.h"
#include "shed/internal/index_list.h"
#include "shed/time.h"

namespace shed::internal {

// A point in time as an unsigned number, in the same order.
constexpr std::uint64_t TimeKey(TimePoint at) noexcept {
  return static_cast<std::uint64_t>(at.time_since_epoch().count()) ^ (std::uint64_t{1} << 63);
}
constexpr TimePoint TimeOfKey(std::uint64_t key) noexcept {
  return TimePoint(Duration(static_cast<std::int64_t>(key ^ (std::uint64_t{1} << 63))));
}

class TimeQueue {
 public:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  // For keys up to `span` after the frontier, and never more than `most`. Uses HeadCount(most) of
  // the owner's links from `first_head` on.
  TimeQueue(Duration span, Duration most, IndexLinks* links, std::uint32_t first_head) noexcept
      : heads_(first_head), spare_(first_head + HeadCount(most) - 1), shift_(UnitBits(span)) {
    for (std::uint32_t head = heads_; head <= spare_; ++head) IndexList::MakeEmpty(links, head);
  }

  static constexpr std::uint32_t HeadCount(Duration most) noexcept {
    return kRing + Levels(UnitBits(most)) * kDigits + 1;
  }

  // A unit of the calendar is 2^UnitBits(span) ns.
  static constexpr unsigned UnitBits(Duration span) noexcept {
    unsigned shift = 0;
    while (span.count() >> shift > kRing - 2) ++shift;
    return shift;
  }
  // A time as a key: the last of all times counts as the one before it.
  static constexpr std::uint64_t Key(std::uint64_t time) noexcept { return Min(time, kNever - 1); }

  // All that was due before it was handed out.
  std::uint64_t frontier() const noexcept { return frontier_; }

  // Requires that `i` is in no list, and that frontier() <= key <= frontier() + span.
  void Insert(IndexLinks* links, std::uint32_t i, std::uint64_t key) noexcept {
    std::uint32_t bucket = 0;
    if (key >> shift_ != frontier_ >> shift_) {
      bucket = static_cast<std::uint32_t>(key >> shift_) % kRing;
    } else {
      // The highest bit in which they differ; the lowest if they do not.
      const auto highest = static_cast<unsigned>(63 - std::countl_zero((key ^ frontier_) | 1));
      const unsigned level = highest / kDigitBits;
      bucket = kRing + level * kDigits + Digit(key, level);
    }
    used_[bucket / 64] |= std::uint64_t{1} << bucket % 64;
    IndexList::PushBack(links, heads_ + bucket, i);
  }
  // Requires that `i` is in this queue.
  static void Remove(IndexLinks* links, std::uint32_t i) noexcept { IndexList::Remove(links, i); }

  // A time before which there is nothing to look at, though maybe nothing at it either (an entry
  // that was removed leaves its mark until then); kNever if there is nothing at all.
  std::uint64_t Earliest() const noexcept {
    for (unsigned level = 0; level < Levels(shift_); ++level) {
      const std::uint64_t used = used_[kRing / 64 + level];
      if (used == 0) continue;
      const unsigned low = level * kDigitBits;
      const auto digit = static_cast<std::uint64_t>(std::countr_zero(used));
      return ((frontier_ >> low & ~std::uint64_t{kDigits - 1}) | digit) << low;
    }
    const std::uint64_t unit = frontier_ >> shift_;
    for (std::uint64_t step = 1; step < kRing;) {
      const auto bucket = static_cast<std::uint32_t>(unit + step) % kRing;
      const std::uint64_t used = used_[bucket / 64] >> bucket % 64;
      if (used != 0) return (unit + step + static_cast<unsigned>(std::countr_zero(used))) << shift_;
      step += 64 - bucket % 64;
    }
    return kNever;
  }

  // Moves the frontier on to `to`, never back, and calls `look(i)` for each entry whose key may lie
  // before it. It returns kNever for one that is to leave the queue, else the key that it now has,
  // from `to` to `to` + span.
  template <class Look>
  void AdvanceTo(IndexLinks* links, std::uint64_t to, const Look& look) noexcept {
    if (to <= frontier_) return;
    ForEachBucketBefore(to, [&](std::uint32_t bucket) {
      IndexList::Move(links, heads_ + bucket, spare_);
      used_[bucket / 64] &= ~(std::uint64_t{1} << bucket % 64);
    });
    frontier_ = to;
    HandOut(links, look);
  }

  // Another span, no more than `most`, and a frontier that fits it, which may lie before the old
  // one. Calls `look` for all entries, as AdvanceTo does for some.
  template <class Look>
  void Restart(IndexLinks* links, Duration span, std::uint64_t frontier,
               const Look& look) noexcept {
    for (std::uint32_t head = heads_; head < spare_; ++head) IndexList::Move(links, head, spare_);
    for (std::uint64_t& used : used_) used = 0;
    shift_ = UnitBits(span);
    frontier_ = frontier;
    HandOut(links, look);
  }

  // Calls `look(i)` for each entry that AdvanceTo(to) would look at, and changes nothing.
  template <class Look>
  void ForEachBefore(const IndexLinks* links, std::uint64_t to, const Look& look) const noexcept {
    if (to <= frontier_) return;
    ForEachBucketBefore(to, [&](std::uint32_t bucket) {
      const std::uint32_t head = heads_ + bucket;
      for (std::uint32_t i = links[head].next; i != head; i = links[i].next) look(i);
    });
  }

 private:
  static constexpr unsigned kDigitBits = 6;
  static constexpr std::uint32_t kDigits = 1u << kDigitBits;
  static constexpr std::uint32_t kRing = 256;
  static constexpr unsigned kMaxLevels = 10;

  template <class Look>
  void HandOut(IndexLinks* links, const Look& look) noexcept {
    while (!IndexList::IsEmpty(links, spare_)) {
      const std::uint32_t i = links[spare_].next;
      IndexList::Remove(links, i);
      const std::uint64_t key = look(i);
      if (key != kNever) Insert(links, i, key);
    }
  }

  // How many digits the part of a key below a unit has.
  static constexpr unsigned Levels(unsigned shift) noexcept {
    return Max(1u, (shift + kDigitBits - 1) / kDigitBits);
  }

  static constexpr std::uint32_t Digit(std::uint64_t key, unsigned level) noexcept {
    return static_cast<std::uint32_t>(key >> level * kDigitBits) % kDigits;
  }

  // Each list that is used and in which a key before `to` may be: all that begin at or before it,
  // so that those that stay lie ahead of it as they lie ahead of the frontier now.
  template <class Visit>
  void ForEachBucketBefore(std::uint64_t to, const Visit& visit) const noexcept {
    const auto each = [&](std::uint32_t word, std::uint64_t used) {
      for (; used != 0; used &= used - 1) {
        visit(word * 64 + static_cast<std::uint32_t>(std::countr_zero(used)));
      }
    };
    for (unsigned level = 0; level < Levels(shift_); ++level) {
      const std::uint64_t used = used_[kRing / 64 + level];
      if (used == 0) continue;
      const unsigned above = Min((level + 1) * kDigitBits, shift_);
      const bool beyond = (to ^ frontier_) >> above != 0;
      const std::uint64_t upto = beyond ? kNever : kNever >> (63 - Digit(to, level));
      each(kRing / 64 + level, used & upto);
    }
    const std::uint64_t unit = frontier_ >> shift_;
    const std::uint64_t units = Min<std::uint64_t>((to >> shift_) - unit, kRing);
    for (std::uint64_t step = 0; step < units;) {
      const auto bucket = static_cast<std::uint32_t>(unit + 1 + step) % kRing;
      const auto count = Min<std::uint64_t>(64 - bucket % 64, units - step);
      const std::uint64_t mask = kNever >> (64 - count) << bucket % 64;
      each(bucket / 64, used_[bucket / 64] & mask);
      step += count;
    }
  }

  const std::uint32_t heads_;
  const std::uint32_t spare_;  // The head of a list for use inside HandOut.
  unsigned shift_;
  std::uint64_t frontier_ = 0;
  std::uint64_t used_[kRing / 64 + kMaxLevels] = {};  // A bit for each list: it may hold entries.
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_TIME_QUEUE_H_
