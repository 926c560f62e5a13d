#include "shed/concurrency_limiter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "shed/internal/criticality_share.h"
#include "shed/solo.h"
#include "shed/sync.h"

namespace shed {
namespace {

using Ticket = ConcurrencyLimiter::Ticket;

constexpr TimePoint kNow{};
constexpr std::uint64_t kMaxCost = std::numeric_limits<std::uint64_t>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr Criticality kClasses[] = {Criticality::kSheddable, Criticality::kSheddablePlus,
                                    Criticality::kCritical, Criticality::kCriticalPlus};

Verdict Cause() { return Verdict::Refuse(Reason::kRate); }

std::string Thrown(const ConcurrencyLimiterOptions& options) {
  try {
    Solo<ConcurrencyLimiter> limiter(options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

// ---- The rule, as the compiler sees it -----------------------------------------------------

using Rule = ConcurrencyLimiter;
static_assert(Rule::Decide(10, 0, 1) == 1);
static_assert(Rule::Decide(10, 9, 1) == 1);
static_assert(Rule::Decide(10, 10, 1) == 0);
// A limit that shrank below what is in flight: nothing, and no underflow of 10 - 20.
static_assert(Rule::Decide(10, 20, 1) == 0);
static_assert(Rule::Decide(10, 4'000'000'000u, 1) == 0);
// Zero cost counts as 1; a cost above the limit as the limit.
static_assert(Rule::Decide(10, 0, 0) == 1);
static_assert(Rule::Decide(10, 0, 11) == 10);
static_assert(Rule::Decide(10, 0, kMaxCost) == 10);
static_assert(Rule::Decide(10, 1, kMaxCost) == 0);
static_assert(Rule::Decide(10, 7, 3) == 3);
static_assert(Rule::Decide(10, 7, 4) == 0);
// A cost whose low 32 bits are small is not small.
static_assert(Rule::Decide(10, 9, (std::uint64_t{1} << 32) + 1) == 0);
// A class that may use nothing.
static_assert(Rule::Decide(0, 0, 1) == 0);
static_assert(Rule::Decide(0, 0, 0) == 0);

using internal::CriticalityShare;
constexpr CriticalityShare kShares({0.0, 0.29, 0.5, 1.0});
static_assert(kShares.Usable(100, Criticality::kSheddable) == 0);
// 0.29 * 100 is 28.999999999999996.
static_assert(kShares.Usable(100, Criticality::kSheddablePlus) == 29);
// 0.0157 * 1'000'000 is 15'699.999999999998.
static_assert(CriticalityShare({0.0157, 1, 1, 1}).Usable(10'000, Criticality::kSheddable) == 157);
static_assert(kShares.Usable(3, Criticality::kCritical) == 1);
static_assert(kShares.Usable(1, Criticality::kCritical) == 1);
static_assert(kShares.Usable(0, Criticality::kCritical) == 0);
static_assert(kShares.Usable(1'000'000'000, Criticality::kCritical) == 500'000'000);
static_assert(kShares.Usable(1'000'000'000, Criticality::kCriticalPlus) == 1'000'000'000);
static_assert(kShares.Usable(0xffff'ffff, Criticality::kCritical) == 0x7fff'ffff);
// A value cast from outside the four gains nothing.
static_assert(kShares.Usable(100, static_cast<Criticality>(200)) == 0);
// A share above 0 never shuts its class out, however small.
static_assert(CriticalityShare({1e-9, 1e-9, 1e-9, 1e-9}).Usable(100, Criticality::kSheddable) == 1);

// ---- In flight ------------------------------------------------------------------------------

// P02, grpc#41531: ending a refused call lowers the count, which goes negative; from the second
// wave on there is no limit.
TEST(ConcurrencyLimiterTest, EndingRefusedCallsFreesNothing) {
  Solo<ConcurrencyLimiter> limiter({.limit = 1});
  Ticket a, b, c, d;
  ASSERT_TRUE(limiter.Admit({}, kNow, a).admitted());
  ASSERT_FALSE(limiter.Admit({}, kNow, b).admitted());
  ASSERT_FALSE(limiter.Admit({}, kNow, c).admitted());
  limiter.Complete(b, Outcome::kSuccess);
  limiter.Cancel(c, Cause(), kNow);
  EXPECT_EQ(limiter.Read(kNow).in_flight, 1u);
  EXPECT_FALSE(limiter.Admit({}, kNow, d).admitted());
  limiter.Complete(a, Outcome::kSuccess);
  EXPECT_EQ(limiter.Read(kNow).in_flight, 0u);
  int admitted = 0;
  std::array<Ticket, 3> wave;
  for (Ticket& ticket : wave) admitted += limiter.Admit({}, kNow, ticket).admitted() ? 1 : 0;
  EXPECT_EQ(admitted, 1);
}

TEST(ConcurrencyLimiterTest, EachTicketEndsOnce) {
  Solo<ConcurrencyLimiter> limiter({.limit = 10});
  Ticket held, twice;
  ASSERT_TRUE(limiter.Admit({.cost = 4}, kNow, held).admitted());
  ASSERT_TRUE(limiter.Admit({.cost = 5}, kNow, twice).admitted());
  EXPECT_EQ(limiter.Read(kNow).in_flight, 9u);
  limiter.Complete(twice, Outcome::kIgnored);
  limiter.Complete(twice, Outcome::kSuccess);
  limiter.Cancel(twice, Cause(), kNow);
  EXPECT_EQ(limiter.Read(kNow).in_flight, 4u);
}

TEST(ConcurrencyLimiterTest, RefusalHasAReasonAndNoHint) {
  Solo<ConcurrencyLimiter> limiter({.limit = 1});
  Ticket a, b;
  ASSERT_TRUE(limiter.Admit({}, kNow, a).admitted());
  const Verdict verdict = limiter.Admit({}, kNow, b);
  EXPECT_EQ(verdict.reason(), Reason::kConcurrency);
  EXPECT_EQ(verdict.scope(), Scope::kService);
  EXPECT_FALSE(verdict.retry_after().has_value());
  EXPECT_TRUE(verdict.IsCapacity());
}

// ---- Cost -----------------------------------------------------------------------------------

TEST(ConcurrencyLimiterTest, CostZeroHoldsOne) {
  Solo<ConcurrencyLimiter> limiter({.limit = 2});
  Ticket a, b, c;
  ASSERT_TRUE(limiter.Admit({.cost = 0}, kNow, a).admitted());
  ASSERT_TRUE(limiter.Admit({.cost = 0}, kNow, b).admitted());
  EXPECT_FALSE(limiter.Admit({.cost = 0}, kNow, c).admitted());
  limiter.Complete(a, Outcome::kSuccess);
  EXPECT_EQ(limiter.Read(kNow).in_flight, 1u);
}

// Checklist 17: a cost above the limit waits for ever; here it runs alone, and frees just what it
// held.
TEST(ConcurrencyLimiterTest, HugeCallRunsAlone) {
  for (const std::uint64_t cost :
       {std::uint64_t{11}, std::uint64_t{1} << 32, (std::uint64_t{1} << 32) + 5, kMaxCost}) {
    Solo<ConcurrencyLimiter> limiter({.limit = 10});
    Ticket small, huge, other;
    ASSERT_TRUE(limiter.Admit({}, kNow, small).admitted());
    EXPECT_FALSE(limiter.Admit({.cost = cost}, kNow, huge).admitted());
    limiter.Complete(small, Outcome::kSuccess);
    ASSERT_TRUE(limiter.Admit({.cost = cost}, kNow, huge).admitted());
    EXPECT_EQ(limiter.Read(kNow).in_flight, 10u);
    EXPECT_EQ(limiter.Read(kNow).limit, 10u);
    EXPECT_FALSE(limiter.Admit({}, kNow, other).admitted());
    limiter.Complete(huge, Outcome::kSuccess);
    EXPECT_EQ(limiter.Read(kNow).in_flight, 0u);
  }
}

TEST(ConcurrencyLimiterTest, LargestLimitHolds) {
  Solo<ConcurrencyLimiter> limiter({.limit = 1'000'000'000});
  Ticket a, b;
  ASSERT_TRUE(limiter.Admit({.cost = 999'999'999}, kNow, a).admitted());
  EXPECT_FALSE(limiter.Admit({.cost = 2}, kNow, b).admitted());
  ASSERT_TRUE(limiter.Admit({.cost = 1}, kNow, b).admitted());
  EXPECT_EQ(limiter.Read(kNow).in_flight, 1'000'000'000u);
  EXPECT_EQ(limiter.Read(kNow).limit, 1'000'000'000u);
}

// ---- Classes --------------------------------------------------------------------------------

// A bulkhead: whatever the less critical do, the last slots are not theirs.
TEST(ConcurrencyLimiterTest, LessCriticalWorkNeverTakesTheLastSlots) {
  Solo<ConcurrencyLimiter> limiter({.limit = 10, .usable = {0.2, 0.5, 0.8, 1.0}});
  std::vector<Ticket> tickets(10);
  std::size_t held = 0;
  const auto fill = [&](Criticality criticality) {
    while (held < tickets.size() &&
           limiter.Admit({.criticality = criticality}, kNow, tickets[held]).admitted()) {
      ++held;
    }
    return held;
  };
  EXPECT_EQ(fill(Criticality::kSheddable), 2u);
  EXPECT_EQ(fill(Criticality::kSheddablePlus), 5u);
  EXPECT_EQ(fill(Criticality::kSheddable), 5u);
  EXPECT_EQ(fill(Criticality::kCritical), 8u);
  EXPECT_EQ(fill(static_cast<Criticality>(77)), 8u);
  EXPECT_EQ(fill(Criticality::kCriticalPlus), 10u);
}

// The clamp is to what the class may use, so a huge optional call leaves the last slots, too.
TEST(ConcurrencyLimiterTest, HugeCallOfAClassHoldsTheShareOfTheClass) {
  Solo<ConcurrencyLimiter> limiter({.limit = 10, .usable = {0.5, 1.0, 1.0, 1.0}});
  Ticket huge, other;
  ASSERT_TRUE(limiter.Admit({.cost = kMaxCost, .criticality = Criticality::kSheddable}, kNow, huge)
                  .admitted());
  EXPECT_EQ(limiter.Read(kNow).in_flight, 5u);
  EXPECT_TRUE(limiter.Admit({.cost = 5}, kNow, other).admitted());
}

TEST(ConcurrencyLimiterTest, ShareOfZeroShutsTheClassOutAndASmallOneDoesNot) {
  Solo<ConcurrencyLimiter> limiter({.limit = 3, .usable = {0.0, 1e-7, 0.1, 1.0}});
  Ticket ticket;
  EXPECT_FALSE(limiter.Admit({.criticality = Criticality::kSheddable}, kNow, ticket).admitted());
  for (const Criticality criticality : {Criticality::kSheddablePlus, Criticality::kCritical}) {
    ASSERT_TRUE(limiter.Admit({.criticality = criticality}, kNow, ticket).admitted());
    EXPECT_FALSE(limiter.Admit({.criticality = criticality}, kNow, ticket).admitted());
    limiter.Complete(ticket, Outcome::kSuccess);
  }
  EXPECT_EQ(limiter.Read(kNow).in_flight, 0u);
}

// ---- SetLimit -------------------------------------------------------------------------------

// Checklist 27: shrinking below what is in flight pre-empts nothing, and admits nothing until
// enough has ended.
TEST(ConcurrencyLimiterTest, ShrinkingPreemptsNothing) {
  Solo<ConcurrencyLimiter> limiter({.limit = 10});
  std::vector<Ticket> tickets(10);
  for (Ticket& ticket : tickets) ASSERT_TRUE(limiter.Admit({}, kNow, ticket).admitted());
  EXPECT_EQ(limiter.SetLimit(3, kNow), "");
  EXPECT_EQ(limiter.Read(kNow).in_flight, 10u);
  EXPECT_EQ(limiter.Read(kNow).limit, 3u);
  Ticket extra;
  for (std::size_t ended = 0; ended < 8; ++ended) {
    EXPECT_FALSE(limiter.Admit({}, kNow, extra).admitted()) << ended;
    EXPECT_FALSE(limiter.Admit({.cost = kMaxCost}, kNow, extra).admitted()) << ended;
    limiter.Complete(tickets[ended], Outcome::kSuccess);
  }
  EXPECT_EQ(limiter.Read(kNow).in_flight, 2u);
  EXPECT_TRUE(limiter.Admit({}, kNow, extra).admitted());
  EXPECT_EQ(limiter.SetLimit(1'000'000'000, kNow), "");
  EXPECT_EQ(limiter.Read(kNow).in_flight, 3u);
}

// A call that was clamped to the old limit frees what it held, not what the new limit would be.
TEST(ConcurrencyLimiterTest, ClampedCallOutlivesAChangeOfLimit) {
  Solo<ConcurrencyLimiter> limiter({.limit = 10});
  Ticket huge;
  ASSERT_TRUE(limiter.Admit({.cost = kMaxCost}, kNow, huge).admitted());
  EXPECT_EQ(limiter.SetLimit(20, kNow), "");
  limiter.Complete(huge, Outcome::kSuccess);
  EXPECT_EQ(limiter.Read(kNow).in_flight, 0u);
  EXPECT_EQ(limiter.Read(kNow).limit, 20u);
}

TEST(ConcurrencyLimiterTest, BadLimitChangesNothing) {
  Solo<ConcurrencyLimiter> limiter({.limit = 10});
  for (const std::int64_t limit :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1'000'000'001}, std::int64_t{1} << 32,
        (std::int64_t{1} << 32) + 5, std::numeric_limits<std::int64_t>::max(),
        std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_EQ(limiter.SetLimit(limit, kNow), "limit: want 1 to 1000000000 units") << limit;
  }
  EXPECT_EQ(limiter.Read(kNow).limit, 10u);
}

// ---- Options --------------------------------------------------------------------------------

static_assert(ConcurrencyLimiterOptions{}.Problem().empty());
static_assert(!ConcurrencyLimiterOptions{.limit = 0}.Problem().empty());

TEST(ConcurrencyLimiterTest, BadOptionsAreRefusedWithTheSentence) {
  constexpr std::string_view kLimit = "limit: want 1 to 1000000000 units";
  for (const std::int64_t limit :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1'000'000'001},
        std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_EQ(ConcurrencyLimiterOptions{.limit = limit}.Problem(), kLimit);
    EXPECT_EQ(Thrown({.limit = limit}), kLimit);
  }
  constexpr std::string_view kShare = "usable: want each share in 0 to 1";
  for (const double share : {-0.1, -1e-300, 1.0000001, 2.0, kNan, -kNan, kInfinity, -kInfinity,
                             std::numeric_limits<double>::max()}) {
    for (std::size_t i = 0; i < kCriticalityCount; ++i) {
      ConcurrencyLimiterOptions options;
      options.usable[i] = share;
      EXPECT_EQ(options.Problem(), kShare) << share << " at " << i;
      EXPECT_EQ(Thrown(options), kShare) << share << " at " << i;
    }
  }
  EXPECT_EQ(Thrown({.usable = {0.5, 0.4, 1.0, 1.0}}),
            "usable: want no share above that of a more critical class");
  EXPECT_EQ(Thrown({.usable = {1.0, 1.0, 1.0, 0.9}}),
            "usable: want no share above that of a more critical class");
  EXPECT_EQ(Thrown({.usable = {0, 0, 0, 0}}), "usable: want the share of kCriticalPlus above 0");
}

TEST(ConcurrencyLimiterTest, RangesAreInclusive) {
  EXPECT_EQ(Thrown({.limit = 1}), "");
  EXPECT_EQ(Thrown({.limit = 1'000'000'000}), "");
  EXPECT_EQ(Thrown({.usable = {0, 0, 0, 1}}), "");
  EXPECT_EQ(Thrown({.usable = {-0.0, 0, 0, 1e-300}}), "");
}

// ---- Configure ------------------------------------------------------------------------------

TEST(ConcurrencyLimiterTest, ConfigureSetsLimitAndSharesAndKeepsWhatIsInFlight) {
  Solo<ConcurrencyLimiter> limiter({.limit = 4});
  std::array<ConcurrencyLimiter::Ticket, 4> held;
  for (auto& ticket : held) ASSERT_TRUE(limiter.Admit({}, {}, ticket).admitted());
  EXPECT_EQ(limiter.Configure({.limit = 2, .usable = {0.5, 0.5, 1, 1}}, {}), "");
  EXPECT_EQ(limiter.Read({}).limit, 2u);
  EXPECT_EQ(limiter.Read({}).in_flight, 4u);  // Nothing is pre-empted.
  ConcurrencyLimiter::Ticket ticket;
  for (auto& one : held) {
    const bool room = limiter.Read({}).in_flight < 2;
    ASSERT_EQ(limiter.Admit({}, {}, ticket).admitted(), room);
    if (room) limiter.Complete(ticket, Outcome::kSuccess);
    limiter.Complete(one, Outcome::kSuccess);
  }
  EXPECT_EQ(limiter.Read({}).in_flight, 0u);
  const Request optional{.criticality = Criticality::kSheddable};
  ConcurrencyLimiter::Ticket more;
  EXPECT_TRUE(limiter.Admit(optional, {}, ticket).admitted());
  EXPECT_FALSE(limiter.Admit(optional, {}, more).admitted());
  limiter.Complete(ticket, Outcome::kSuccess);
  // The sets of shares are used in turn; SetLimit keeps the one in force.
  for (std::int64_t i = 1; i <= 10; ++i) {
    EXPECT_EQ(limiter.Configure({.limit = 10 * i, .usable = {0.1, 1, 1, 1}}, {}), "");
    EXPECT_TRUE(limiter.AsNew({}));
    EXPECT_EQ(limiter.SetLimit(1'000'000'000, {}), "");
    EXPECT_FALSE(limiter.AsNew({}));
    EXPECT_EQ(limiter.SetLimit(20 * i, {}), "");
    EXPECT_TRUE(limiter.Admit({.cost = 1'000, .criticality = Criticality::kSheddable}, {}, ticket)
                    .admitted());
    EXPECT_EQ(limiter.Read({}).in_flight, 2 * i);
    limiter.Complete(ticket, Outcome::kSuccess);
  }
}

TEST(ConcurrencyLimiterTest, BadConfigureChangesNothing) {
  Solo<ConcurrencyLimiter> limiter({.limit = 4, .usable = {0.5, 1, 1, 1}});
  EXPECT_EQ(limiter.Configure({.limit = 0}, {}), "limit: want 1 to 1000000000 units");
  EXPECT_EQ(limiter.Configure({.limit = 9, .usable = {1, 0, 1, 1}}, {}),
            "usable: want no share above that of a more critical class");
  EXPECT_EQ(limiter.Read({}).limit, 4u);
  EXPECT_TRUE(limiter.AsNew({}));
  ConcurrencyLimiter::Ticket ticket;
  const Request optional{.cost = 9, .criticality = Criticality::kSheddable};
  EXPECT_TRUE(limiter.Admit(optional, {}, ticket).admitted());
  EXPECT_EQ(ticket.units, 2u);
}

// ---- Threads --------------------------------------------------------------------------------

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kRounds = 5'000;
#else
constexpr int kRounds = 100'000;
#endif

// Counts outside of the limiter what it let in.
class Peak {
 public:
  void Enter(std::int64_t units) {
    const std::int64_t now = inside_.fetch_add(units) + units;
    std::int64_t peak = peak_.load();
    while (now > peak && !peak_.compare_exchange_weak(peak, now)) {
    }
  }
  void Leave(std::int64_t units) { inside_.fetch_sub(units); }
  std::int64_t peak() const { return peak_.load(); }

 private:
  std::atomic<std::int64_t> inside_{0};
  std::atomic<std::int64_t> peak_{0};
};

void RunThreads(int count, auto work) {
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
}

// Runs `after_load` on the thread that has just read a word, before it can write: what others do
// at the worst moment.
struct HookSync {
  inline static thread_local std::function<void()> after_load;

  template <class T>
  class Atomic {
   public:
    Atomic(T value = {}) : value_(value) {}
    T load(std::memory_order order) const {
      const T value = value_.load(order);
      if (after_load) after_load();
      return value;
    }
    void store(T value, std::memory_order order) { value_.store(value, order); }
    T fetch_add(T value, std::memory_order order) { return value_.fetch_add(value, order); }
    T fetch_sub(T value, std::memory_order order) { return value_.fetch_sub(value, order); }
    bool compare_exchange_weak(T& seen, T value, std::memory_order order) {
      return value_.compare_exchange_weak(seen, value, order);
    }
    bool compare_exchange_weak(T& seen, T value, std::memory_order order,
                               std::memory_order failure) {
      return value_.compare_exchange_weak(seen, value, order, failure);
    }

   private:
    std::atomic<T> value_;
  };
  using Mutex = StdMutex;
  static unsigned Stripe() noexcept { return 0; }
  static std::uintptr_t Thread() noexcept { return 1; }

  // Once.
  static void AfterLoad(std::function<void()> hook) {
    after_load = [hook = std::move(hook)] {
      const std::function<void()> once = hook;
      after_load = nullptr;
      once();
    };
  }
};
using Hooked = BasicConcurrencyLimiter<HookSync>;

// Checklist 6: check first and count then. Another call takes the last permit between the two.
TEST(ConcurrencyLimiterTest, LastPermitIsTakenBetweenReadAndWrite) {
  Solo<Hooked> limiter({.limit = 1});
  Hooked::Ticket other, mine;
  HookSync::AfterLoad([&] { EXPECT_TRUE(limiter.Admit({}, kNow, other).admitted()); });
  EXPECT_FALSE(limiter.Admit({}, kNow, mine).admitted());
  EXPECT_EQ(limiter.Read(kNow).in_flight, 1u);
  limiter.Complete(mine, Outcome::kSuccess);
  EXPECT_EQ(limiter.Read(kNow).in_flight, 1u);
}

// The limit shrinks between the two: it is the one in force at the write that counts.
TEST(ConcurrencyLimiterTest, LimitShrinksBetweenReadAndWrite) {
  Solo<Hooked> limiter({.limit = 5});
  Hooked::Ticket first, second;
  ASSERT_TRUE(limiter.Admit({}, kNow, first).admitted());
  HookSync::AfterLoad([&] { EXPECT_EQ(limiter.SetLimit(1, kNow), ""); });
  EXPECT_FALSE(limiter.Admit({}, kNow, second).admitted());
  EXPECT_EQ(limiter.Read(kNow).in_flight, 1u);
  EXPECT_EQ(limiter.Read(kNow).limit, 1u);
}

// A call comes, or ends, while the limit is being set: it is not lost.
TEST(ConcurrencyLimiterTest, SetLimitLosesNoCall) {
  Solo<Hooked> limiter({.limit = 5});
  Hooked::Ticket ticket;
  HookSync::AfterLoad([&] { EXPECT_TRUE(limiter.Admit({}, kNow, ticket).admitted()); });
  EXPECT_EQ(limiter.SetLimit(7, kNow), "");
  EXPECT_EQ(limiter.Read(kNow).in_flight, 1u);
  HookSync::AfterLoad([&] { limiter.Complete(ticket, Outcome::kSuccess); });
  EXPECT_EQ(limiter.SetLimit(3, kNow), "");
  EXPECT_EQ(limiter.Read(kNow).in_flight, 0u);
  EXPECT_EQ(limiter.Read(kNow).limit, 3u);
}

// P03, concurrency-limits#140: check first and count then, and threads exceed the limit together.
TEST(ConcurrencyLimiterTest, SixteenThreadsNeverExceedTheLimit) {
  Solo<Hooked> limiter({.limit = 10});
  Peak peak;
  std::atomic<std::int64_t> admitted{0};
  RunThreads(16, [&](int) {
    int i = 0;
    // Often gives the processor away between its read and its write.
    HookSync::after_load = [&i] {
      if (i % 32 == 1) std::this_thread::yield();
    };
    for (; i < kRounds; ++i) {
      Hooked::Ticket ticket;
      if (!limiter.Admit({}, kNow, ticket).admitted()) continue;
      peak.Enter(1);
      if (i % 4 == 0) std::this_thread::yield();
      peak.Leave(1);
      if (i % 16 == 0) {
        limiter.Cancel(ticket, Cause(), kNow);
      } else {
        limiter.Complete(ticket, Outcome::kSuccess);
      }
      admitted.fetch_add(1, std::memory_order_relaxed);
    }
  });
  EXPECT_LE(peak.peak(), 10);
  EXPECT_GT(admitted.load(), 0);
  EXPECT_EQ(limiter.Read(kNow).in_flight, 0u);
}

// Costs and classes at once, and a limit that moves: never above the largest limit, no class above
// its share of it, and nothing left at the end.
TEST(ConcurrencyLimiterTest, ThreadsWithCostsClassesAndAMovingLimit) {
  Solo<ConcurrencyLimiter> limiter({.limit = 20, .usable = {0.25, 0.5, 1.0, 1.0}});
  Peak all;
  Peak optional;
  RunThreads(9, [&](int thread) {
    std::uint64_t random = static_cast<std::uint64_t>(thread) + 1;
    for (int i = 0; i < kRounds / 2; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      const std::uint64_t draw = random >> 33;
      if (thread == 8) {
        ASSERT_EQ(limiter.SetLimit(1 + static_cast<std::int64_t>(draw % 20), kNow), "");
        continue;
      }
      const Criticality criticality = kClasses[draw % 4];
      Ticket ticket;
      if (!limiter.Admit({.cost = draw / 4 % 30, .criticality = criticality}, kNow, ticket)
               .admitted()) {
        continue;
      }
      const std::int64_t units = ticket.units;
      all.Enter(units);
      if (criticality == Criticality::kSheddable) optional.Enter(units);
      if (i % 4 == 0) std::this_thread::yield();
      if (criticality == Criticality::kSheddable) optional.Leave(units);
      all.Leave(units);
      limiter.Complete(ticket, Outcome::kFailure);
    }
  });
  EXPECT_LE(all.peak(), 20);
  EXPECT_LE(optional.peak(), 5);
  EXPECT_EQ(limiter.Read(kNow).in_flight, 0u);
  EXPECT_LE(limiter.Read(kNow).limit, 20u);
}

// The same answers without synchronisation.
TEST(ConcurrencyLimiterTest, NoSyncGivesTheSameAnswers) {
  Solo<BasicConcurrencyLimiter<NoSync>> limiter({.limit = 2});
  BasicConcurrencyLimiter<NoSync>::Ticket a, b, c;
  EXPECT_TRUE(limiter.Admit({}, kNow, a).admitted());
  EXPECT_TRUE(limiter.Admit({}, kNow, b).admitted());
  EXPECT_FALSE(limiter.Admit({}, kNow, c).admitted());
  limiter.Cancel(a, Cause(), kNow);
  EXPECT_TRUE(limiter.Admit({}, kNow, c).admitted());
  EXPECT_EQ(limiter.SetLimit(5, kNow), "");
  EXPECT_EQ(limiter.Read(kNow).in_flight, 2u);
}

}  // namespace
}  // namespace shed
