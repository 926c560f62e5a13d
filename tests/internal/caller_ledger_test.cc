// What a tracker's own tests cannot reach one at a time; the whole is compared with a plain scan in
// tests/property/demerit_tracker_property_test.cc.
#include "shed/internal/caller_ledger.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

#include "shed/sync.h"

namespace shed::internal {
namespace {

using std::chrono::seconds;

constexpr Fingerprint Id(std::uint64_t n) { return {.low = n << 40 | n, .high = n}; }
constexpr TimePoint At(Duration d) { return TimePoint(d); }

template <class Entry>
bool MayStay(const CallerTerms& terms, const Entry& entry, TimePoint at) {
  return CallerTerms::MayStay(terms.unit_bits, terms.half_window, entry, at);
}

// A ledger and what it keeps.
struct Book {
  explicit Book(std::uint32_t max_callers)
      : terms{.window = seconds(5),
              .decay = {.per_second = 0.5, .longest = seconds(60)},
              .max_callers = max_callers},
        slots(max_callers),
        ledger(terms, slots) {}

  // Returns the entry of a caller that asks, and holds `held` then, with `demerit`.
  std::uint32_t Ask(std::uint64_t n, std::uint32_t held = 0, double demerit = 0) {
    auto entry = ledger.Ask(Id(n));
    entry->held = held;
    entry.SetDemerit(demerit, ledger.now());
    return entry.index();
  }

  CallerTerms terms;
  CallerSlots<NoSync> slots;
  CallerLedger<NoSync> ledger;
};

// An ordinary call leaves an entry in its place in the queue for half a window, and no longer.
TEST(CallerTerms, LetAnEntryStayForHalfAWindow) {
  Book book(1);
  book.ledger.AdvanceTo(At(seconds(100)));
  const auto held = book.slots.Hold(book.Ask(1));
  EXPECT_TRUE(MayStay(book.terms, *held, At(seconds(100))));
  EXPECT_TRUE(MayStay(book.terms, *held, At(seconds(102))));
  EXPECT_FALSE(MayStay(book.terms, *held, At(seconds(103))));
  EXPECT_FALSE(MayStay(book.terms, *held, At(seconds(105))));
  // Taken beside this call, by another at a later time.
  EXPECT_TRUE(MayStay(book.terms, *held, At(seconds(100) - std::chrono::milliseconds(20))));
  held->is = CallerIs::kHolding;
  EXPECT_FALSE(MayStay(book.terms, *held, At(seconds(100))));
}

TEST(CallerLedger, GivesEachOfMaxCallersAPlaceAndTheRestOne) {
  Book book(3);
  book.ledger.AdvanceTo(At(seconds(0)));
  const std::uint32_t a = book.Ask(1), b = book.Ask(2), c = book.Ask(3);
  EXPECT_TRUE(a != b && b != c && a != c);
  EXPECT_NE(c, book.slots.last());
  EXPECT_EQ(book.Ask(4), book.slots.last());
  EXPECT_EQ(book.Ask(5), book.slots.last());
  EXPECT_EQ(book.Ask(1), a);
  EXPECT_EQ(book.ledger.counts().tracked, 3u);
  EXPECT_EQ(book.ledger.counts().active, 4u);
}

// A caller with a demerit keeps its place after the window, one without does not; and not for ever.
TEST(CallerLedger, KeepsWhoHasADemeritForTheLongestPenalty) {
  Book book(2);
  book.ledger.AdvanceTo(At(seconds(0)));
  book.Ask(1, 0, 20);
  book.Ask(2);
  book.ledger.AdvanceTo(At(seconds(6)));
  EXPECT_EQ(book.ledger.counts().tracked, 1u);
  EXPECT_EQ(book.ledger.counts().active, 0u);
  EXPECT_TRUE(book.slots.Find(Id(1)));
  EXPECT_FALSE(book.slots.Find(Id(2)));
  // Idle since 5 s, however late that was seen.
  EXPECT_EQ(book.ledger.CountsAt(At(seconds(65) - Duration(1))).tracked, 1u);
  EXPECT_EQ(book.ledger.CountsAt(At(seconds(65))).tracked, 0u);
  book.ledger.AdvanceTo(At(seconds(65)));
  EXPECT_EQ(book.ledger.counts().tracked, 0u);
}

// Asking again takes it out of the middle of the idle, and to the back of the recent.
TEST(CallerLedger, TakesBackWhoAsksAgain) {
  Book book(4);
  for (std::uint64_t n = 1; n <= 3; ++n) {
    book.ledger.AdvanceTo(At(seconds(n)));
    book.Ask(n, 0, 20);
  }
  book.ledger.AdvanceTo(At(seconds(20)));
  EXPECT_EQ(book.ledger.counts().active, 0u);
  EXPECT_EQ(book.ledger.counts().tracked, 3u);
  {
    const auto two = book.ledger.Ask(Id(2));
    EXPECT_EQ(two.DemeritAt(At(seconds(20)), book.terms.decay), 11);  // 18 s at 0.5.
  }
  EXPECT_EQ(book.ledger.counts().active, 1u);
  EXPECT_EQ(book.ledger.CountsAt(At(seconds(66))).tracked, 2u);  // 1 is gone; 2 was clean at 42 s.
  EXPECT_EQ(book.ledger.CountsAt(At(seconds(68))).tracked, 1u);
}

// A call that did not come here is seen when the caller's place comes up.
TEST(CallerLedger, HearsLateOfWhoAskedWithoutIt) {
  Book book(2);
  book.ledger.AdvanceTo(At(seconds(0)));
  const std::uint32_t a = book.Ask(1), b = book.Ask(2);
  book.slots.Hold(a)->at = At(seconds(2));
  EXPECT_EQ(book.ledger.CountsAt(At(seconds(6))).active, 1u);
  book.ledger.AdvanceTo(At(seconds(6)));
  EXPECT_EQ(book.ledger.counts().active, 1u);
  EXPECT_EQ(book.slots.Hold(b)->is, CallerIs::kAbsent);
  EXPECT_TRUE(book.ledger.NextDue() > At(seconds(6)));
  EXPECT_LE(book.ledger.NextDue(), At(seconds(7) + Duration(1)));
  book.ledger.AdvanceTo(At(seconds(7)));
  EXPECT_EQ(book.ledger.counts().active, 1u);
  book.ledger.AdvanceTo(At(seconds(7) + Duration(1)));
  EXPECT_EQ(book.ledger.counts().active, 0u);
  EXPECT_EQ(book.ledger.NextDue(), TimePoint::max());
}

// Who holds units stays, with nothing to wait for, until it gives them back.
TEST(CallerLedger, KeepsWhoHoldsUnitsUntilItReleasesThem) {
  Book book(1);
  book.ledger.AdvanceTo(At(seconds(0)));
  const std::uint32_t a = book.Ask(1, 2, 20);
  book.ledger.AdvanceTo(At(seconds(30)));
  EXPECT_EQ(book.ledger.counts().active, 1u);
  EXPECT_EQ(book.ledger.NextDue(), TimePoint::max());
  {
    auto held = book.slots.Hold(a);
    EXPECT_EQ(held->is, CallerIs::kHolding);
    held->held = 0;
    book.ledger.ReleasedAll(held);
    EXPECT_EQ(held->is, CallerIs::kIdle);  // 5 of its demerit are left, for 60 s at most.
  }
  EXPECT_EQ(book.ledger.counts().active, 0u);
  book.ledger.AdvanceTo(At(seconds(90)));
  EXPECT_EQ(book.ledger.counts().tracked, 0u);
}

}  // namespace
}  // namespace shed::internal
