// The control law of CoDel, as published for packets: which items of a standing queue to drop.
#ifndef SHED_INTERNAL_CODEL_LAW_H_
#define SHED_INTERNAL_CODEL_LAW_H_

#include <cstdint>

#include "shed/internal/bounds.h"
#include "shed/time.h"

namespace shed::internal {

// One queue's state; one thread at a time. Once items have waited for `target` or longer all
// through an `interval`, one is dropped, and then one after interval / sqrt(n), n being how many
// were dropped since: at 100, 200, 270.7, 328.4 ms ... for an interval of 100 ms. It ends with the
// first item that waited for less; if the queue stands again within 16 intervals it goes on where
// it was.
//
// Source: RFC 8289, section 5.
class CodelLaw {
 public:
  // Whether to drop an item that waited for `sojourn` and comes out of the queue at `now`; a `now`
  // before an earlier one counts as that.
  bool Drop(Duration sojourn, TimePoint now, Duration target, Duration interval) noexcept {
    // It came when the one before it had gone: it found the queue empty.
    if (Elapsed(now_, now) > sojourn) above_ = dropping_ = false;
    now_ = Max(now_, now);
    const bool stands = Stands(sojourn, target, interval);
    if (!stands) {
      dropping_ = false;
      return false;
    }
    if (dropping_) {
      if (now_ < next_) return false;
      ++count_;
      next_ = After(next_, Gap(interval));
      return true;
    }
    const std::uint64_t more = count_ - first_count_;
    const bool again = more > 1 && Elapsed(next_, now_) / 16 < interval;
    count_ = again ? more : 1;
    first_count_ = count_;
    next_ = After(now_, Gap(interval));
    dropping_ = true;
    return true;
  }
  bool dropping() const noexcept { return dropping_; }

 private:
  bool Stands(Duration sojourn, Duration target, Duration interval) noexcept {
    if (sojourn < target) {
      above_ = false;
      return false;
    }
    if (!above_) {
      above_ = true;
      above_since_ = now_;
    }
    return Elapsed(above_since_, now_) >= interval;
  }
  Duration Gap(Duration interval) const noexcept {
    return Duration(static_cast<std::int64_t>(static_cast<double>(interval.count()) /
                                              __builtin_sqrt(static_cast<double>(count_))));
  }

  TimePoint now_ = TimePoint::min();
  bool above_ = false;     // The latest item waited too long,
  TimePoint above_since_;  // as have all since then.
  bool dropping_ = false;
  TimePoint next_ = TimePoint::min();  // When the next item is dropped.
  std::uint64_t count_ = 0;            // Drops that the gap is made of.
  std::uint64_t first_count_ = 0;      // What it was when dropping began.
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_CODEL_LAW_H_
