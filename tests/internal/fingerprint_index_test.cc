#include "shed/internal/fingerprint_index.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace shed::internal {
namespace {

// An index and the fingerprints that its values stand for.
struct Table {
  explicit Table(std::uint32_t capacity) : index(capacity), ids(capacity) {}
  std::uint32_t Find(const Fingerprint& id) const {
    return index.Find(id, [this](std::uint32_t value) { return ids[value]; });
  }
  void Insert(std::uint32_t value, const Fingerprint& id) {
    ids[value] = id;
    index.Insert(id, value);
  }
  FingerprintIndex index;
  std::vector<Fingerprint> ids;
};

// Agrees with std::map while full, with homes so close (all of 32 slots fall on 5) that runs wrap
// around the end and every erasure must move others back; a third of the tags are the same.
TEST(FingerprintIndex, AgreesWithAMap) {
  for (const std::uint32_t capacity : {1u, 2u, 7u, 16u}) {
    std::mt19937_64 random(capacity);
    Table table(capacity);
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> model;
    std::vector<std::uint32_t> free;
    for (std::uint32_t v = 0; v < capacity; ++v) free.push_back(v);
    for (int i = 0; i < 200'000; ++i) {
      const Fingerprint id{.low = 29 + random() % 5 + (random() % 3 << 32), .high = random() % 3};
      const auto at = model.find({id.low, id.high});
      ASSERT_EQ(table.Find(id), at == model.end() ? FingerprintIndex::kAbsent : at->second);
      if (at != model.end()) {
        table.index.Erase(id, at->second);
        free.push_back(at->second);
        model.erase(at);
      } else if (!free.empty()) {
        table.Insert(free.back(), id);
        model[{id.low, id.high}] = free.back();
        free.pop_back();
      }
      if (i % 16 != 0) continue;
      for (const auto& [key, value] : model) {
        ASSERT_EQ(table.Find({.low = key.first, .high = key.second}), value);
      }
    }
  }
}

// Two callers whose low halves are equal are two callers.
TEST(FingerprintIndex, ComparesTheWholeFingerprint) {
  Table table(4);
  table.Insert(0, {.low = 1, .high = 1});
  table.Insert(1, {.low = 1, .high = 2});
  EXPECT_EQ(table.Find({.low = 1, .high = 1}), 0u);
  EXPECT_EQ(table.Find({.low = 1, .high = 2}), 1u);
  EXPECT_EQ(table.Find({.low = 1, .high = 3}), FingerprintIndex::kAbsent);
  EXPECT_EQ(table.Find({.low = 1 + (std::uint64_t{1} << 32), .high = 1}),
            FingerprintIndex::kAbsent);
}

}  // namespace
}  // namespace shed::internal
