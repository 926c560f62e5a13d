#include "shed/request.h"

#include <gtest/gtest.h>

#include <limits>
#include <type_traits>

namespace shed {
namespace {

static_assert(Criticality::kSheddable < Criticality::kSheddablePlus);
static_assert(Criticality::kSheddablePlus < Criticality::kCritical);
static_assert(Criticality::kCritical < Criticality::kCriticalPlus);
static_assert(IndexOf(Criticality::kSheddable) == 0 && IndexOf(Criticality::kCriticalPlus) == 3);

// A value cast from outside is the least critical: not out of a table's bounds, and no way to the
// front either.
static_assert(IndexOf(static_cast<Criticality>(4)) == 0);
static_assert(IndexOf(static_cast<Criticality>(255)) == 0);

// As metric labels have them.
static_assert(Name(Criticality::kSheddable) == "sheddable");
static_assert(Name(Criticality::kSheddablePlus) == "sheddable_plus");
static_assert(Name(Criticality::kCritical) == "critical");
static_assert(Name(Criticality::kCriticalPlus) == "critical_plus");
static_assert(Name(static_cast<Criticality>(4)) == "sheddable");

// The defaults that a newcomer relies on: "admit now or refuse", and a client that waits for ever.
static_assert(std::is_aggregate_v<Request>);
constexpr Request kDefault{};
static_assert(kDefault.caller.empty() && kDefault.route.empty() && kDefault.cost == 1 &&
              kDefault.criticality == Criticality::kCritical && !kDefault.retry &&
              !kDefault.exempt && kDefault.queued_for == Duration::zero() &&
              kDefault.time_left == Duration::max() && kDefault.max_wait == Duration::zero() &&
              kDefault.tag == 0);

// The fields keep their order: code that names several of them, in this order, must compile.
TEST(Request, FieldsAreNamedInTheirOrder) {
  const Request request{.caller = "a",
                        .route = "b",
                        .cost = std::numeric_limits<std::uint64_t>::max(),
                        .criticality = Criticality::kSheddable,
                        .retry = true,
                        .exempt = true,
                        .queued_for = std::chrono::milliseconds(1),
                        .time_left = std::chrono::seconds(1),
                        .max_wait = std::chrono::minutes(1),
                        .tag = 7};
  EXPECT_EQ(request.queued_for, Duration(1'000'000));
  EXPECT_EQ(request.max_wait, Duration(60'000'000'000));
}

}  // namespace
}  // namespace shed
