#include "shed/internal/index_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace shed::internal {
namespace {

// Agrees with a vector: from the front, the back and the middle, down to empty and up again.
TEST(IndexList, AgreesWithAVector) {
  std::mt19937_64 random(1);
  std::vector<IndexLinks> links(8);
  IndexList list;
  std::vector<std::uint32_t> model;
  for (int i = 0; i < 100'000; ++i) {
    const auto k = static_cast<std::uint32_t>(random() % links.size());
    const auto at = std::find(model.begin(), model.end(), k);
    if (at != model.end()) {
      list.Remove(links.data(), k);
      model.erase(at);
    } else {
      list.PushBack(links.data(), k);
      model.push_back(k);
    }
    std::vector<std::uint32_t> seen;
    for (std::uint32_t e = list.front(); e != kNoIndex; e = links[e].next) seen.push_back(e);
    ASSERT_EQ(seen, model);
  }
}

}  // namespace
}  // namespace shed::internal
