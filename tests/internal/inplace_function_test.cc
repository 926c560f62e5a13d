#include "shed/internal/inplace_function.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <utility>

namespace shed::internal {
namespace {

using Function = InplaceFunction<std::unique_ptr<int>&&, 64>;

TEST(InplaceFunction, AnEmptyOneDoesNothing) {
  Function function;
  EXPECT_FALSE(function);
  function(std::make_unique<int>(1));
  function.Poke();
  const Function other = std::move(function);
  EXPECT_FALSE(other);
}

TEST(InplaceFunction, CallsWithWhatItIsGiven) {
  int sum = 0;
  Function function([&sum](std::unique_ptr<int> x) { sum += *x; });
  EXPECT_TRUE(function);
  function(std::make_unique<int>(5));
  EXPECT_EQ(sum, 5);
}

TEST(InplaceFunction, MovesWhatItCapturesAndDestroysItOnce) {
  const auto alive = std::make_shared<int>(0);
  {
    Function a([alive](std::unique_ptr<int>) { ++*alive; });
    EXPECT_EQ(alive.use_count(), 2);
    Function b(std::move(a));
    EXPECT_FALSE(a);  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(alive.use_count(), 2);
    b(nullptr);
    EXPECT_EQ(*alive, 1);
    Function c([alive](std::unique_ptr<int>) {});
    EXPECT_EQ(alive.use_count(), 3);
    c = std::move(b);
    EXPECT_EQ(alive.use_count(), 2);
    Function& same = c;
    c = std::move(same);
    c(nullptr);
    EXPECT_EQ(*alive, 2);
    c = Function();
    EXPECT_EQ(alive.use_count(), 1);
  }
  EXPECT_EQ(alive.use_count(), 1);
}

TEST(InplaceFunction, HoldsAsMuchAsItSays) {
  std::array<unsigned char, 64> bytes{};
  bytes.back() = 9;
  unsigned char seen = 0;
  static unsigned char* out = nullptr;
  out = &seen;
  const auto f = [bytes](std::unique_ptr<int>) { *out = bytes.back(); };
  static_assert(sizeof(f) == 64);
  Function a(f);
  Function b(std::move(a));
  b(nullptr);
  EXPECT_EQ(seen, 9);
}

struct Poked {
  int* pokes;
  void operator()(std::unique_ptr<int>) const {}
  void Poke() const { ++*pokes; }
};
TEST(InplaceFunction, PokesWhoCanBePoked) {
  int pokes = 0;
  Function function(Poked{&pokes});
  function.Poke();
  Function other(std::move(function));
  other.Poke();
  EXPECT_EQ(pokes, 2);
  Function without([](std::unique_ptr<int>) {});
  without.Poke();
}

}  // namespace
}  // namespace shed::internal
