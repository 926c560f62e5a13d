#include "shed/internal/fingerprint.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace shed::internal {
namespace {

// The key and the texts of the published vectors: bytes 0, 1, 2, ...
constexpr Fingerprint kKey{.low = 0x0706050403020100, .high = 0x0f0e0d0c0b0a0908};
constexpr char kBytes[] = "\0\1\2\3\4\5\6\7\10\11\12\13\14\15\16";
constexpr std::string_view Text(std::size_t size) { return {kBytes, size}; }

// The output as the bytes that the vectors print, in hexadecimal.
std::string Hex(const Fingerprint& f) {
  std::string out;
  for (const std::uint64_t half : {f.low, f.high}) {
    for (unsigned shift = 0; shift < 64; shift += 4) {
      // The high digit of a byte comes first.
      out += "0123456789abcdef"[half >> (shift ^ 4) & 15];
    }
  }
  return out;
}

// Against OpenSSL 3: `openssl mac -macopt hexkey:000102030405060708090a0b0c0d0e0f -macopt size:16
// -macopt c-rounds:2 -macopt d-rounds:4 -in FILE SIPHASH`. An empty text, a part of a word, a whole
// word (whose last word is the length alone), and a word and a part.
TEST(SipHash128, AgreesWithThePublishedVectors) {
  EXPECT_EQ(Hex(SipHash128<2, 4>(Text(0), kKey)), "a3817f04ba25a8e66df67214c7550293");
  EXPECT_EQ(Hex(SipHash128<2, 4>(Text(1), kKey)), "da87c1d86b99af44347659119b22fc45");
  EXPECT_EQ(Hex(SipHash128<2, 4>(Text(8), kKey)), "3b62a9ba6258f5610f83e264f31497b4");
  EXPECT_EQ(Hex(SipHash128<2, 4>(Text(15), kKey)), "5493e99933b0a8117e08ec0f97cfc3d9");
}

TEST(FingerprintOf, IsSipHash13) {
  EXPECT_EQ(Hex(FingerprintOf(Text(0), kKey)), "e77ebcb22788a5befd62db6add303001");
  EXPECT_EQ(Hex(FingerprintOf(Text(1), kKey)), "fc6f370460d3eda85e0573cc2b2ff063");
  EXPECT_EQ(Hex(FingerprintOf(Text(8), kKey)), "aa12fee1d5e3dab4724f16ab35f9c799");
  EXPECT_EQ(Hex(FingerprintOf(Text(15), kKey)), "c17e5505b2bd526c2921cdec1e7e0109");
}

// What a compiler reckons byte by byte, a running program does with loads that overlap: the same
// for every rest that a text of one, two and many words can have.
constexpr std::size_t kLongest = 41;
constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyz\xff\x80\x7f ABCDEFGHIJKL";
static_assert(sizeof(kLetters) > kLongest);
template <std::size_t... kSizes>
constexpr std::array<Fingerprint, sizeof...(kSizes)> Compiled(std::index_sequence<kSizes...>) {
  return {FingerprintOf(std::string_view(kLetters, kSizes), kKey)...};
}

TEST(FingerprintOf, IsTheSameWhenCompiledAndWhenRun) {
  constexpr auto kCompiled = Compiled(std::make_index_sequence<kLongest + 1>());
  for (std::size_t size = 0; size <= kLongest; ++size) {
    const std::vector<char> exact(kLetters, kLetters + size);  // Whose ends a sanitizer guards.
    EXPECT_EQ(FingerprintOf({exact.data(), size}, kKey), kCompiled[size]) << size;
  }
}

// A view without a pointer is the empty text; and all of it can be done while compiling.
static_assert(FingerprintOf(std::string_view(), kKey) == FingerprintOf("", kKey));
static_assert(FingerprintOf("a", kKey) != FingerprintOf(std::string_view("a\0", 2), kKey));

TEST(FingerprintKey, DiffersForEverySeed) {
  std::unordered_set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const Fingerprint key = FingerprintKey(seed);
    EXPECT_NE(key.low, key.high);
    seen.insert(FingerprintOf("caller", key).low);
  }
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(FingerprintOf, DependsOnEveryByte) {
  std::string text(40, 'x');
  std::unordered_set<std::uint64_t> low, high;
  for (char& c : text) {
    c = 'y';
    const Fingerprint f = FingerprintOf(text, kKey);
    low.insert(f.low);
    high.insert(f.high);
    c = 'x';
  }
  EXPECT_EQ(low.size(), text.size());
  EXPECT_EQ(high.size(), text.size());
}

}  // namespace
}  // namespace shed::internal
