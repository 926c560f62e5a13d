#include "shed/selectors.h"

#include <gtest/gtest.h>

namespace shed {
namespace {

TEST(Selectors, SayWhatTheRequestSays) {
  const Request request{.caller = "ada", .route = "/search", .tag = 7};
  EXPECT_EQ(ByCaller{}(request), "ada");
  EXPECT_EQ(ByRoute{}(request), "/search");
  EXPECT_EQ(ByTag{}(request), 7u);
  EXPECT_EQ(ByCaller{}({}), "");
}
// Only a caller can be at fault.
static_assert(ByCaller::kScope == Scope::kCaller);

}  // namespace
}  // namespace shed
