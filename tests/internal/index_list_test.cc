#include "shed/internal/index_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace shed::internal {
namespace {

// Two lists agree with two vectors: from the front, the back and the middle, down to empty and up
// again, and one moved behind the other.
TEST(IndexList, AgreesWithAVector) {
  constexpr std::uint32_t kEntries = 8;
  std::mt19937_64 random(1);
  std::vector<IndexLinks> links(kEntries + 2);
  std::vector<std::uint32_t> model[2];
  for (std::uint32_t list = 0; list < 2; ++list) {
    IndexList::MakeEmpty(links.data(), kEntries + list);
  }
  for (int i = 0; i < 100'000; ++i) {
    const auto k = static_cast<std::uint32_t>(random() % kEntries);
    const auto list = static_cast<std::uint32_t>(random() % 2);
    bool found = false;
    for (auto& m : model) {
      const auto at = std::find(m.begin(), m.end(), k);
      if (at == m.end()) continue;
      found = true;
      IndexList::Remove(links.data(), k);
      m.erase(at);
    }
    if (!found) {
      IndexList::PushBack(links.data(), kEntries + list, k);
      model[list].push_back(k);
    }
    if (random() % 16 == 0) {
      IndexList::Move(links.data(), kEntries + list, kEntries + 1 - list);
      model[1 - list].insert(model[1 - list].end(), model[list].begin(), model[list].end());
      model[list].clear();
    }
    for (std::uint32_t l = 0; l < 2; ++l) {
      const std::uint32_t head = kEntries + l;
      std::vector<std::uint32_t> seen, back;
      for (std::uint32_t e = links[head].next; e != head; e = links[e].next) seen.push_back(e);
      for (std::uint32_t e = links[head].prev; e != head; e = links[e].prev) back.push_back(e);
      std::reverse(back.begin(), back.end());
      ASSERT_EQ(seen, model[l]);
      ASSERT_EQ(back, model[l]);
      ASSERT_EQ(IndexList::IsEmpty(links.data(), head), model[l].empty());
    }
  }
}

}  // namespace
}  // namespace shed::internal
