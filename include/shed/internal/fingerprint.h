// A seeded 128-bit fingerprint of a text: what keyed policies keep instead of the text, so that a
// caller's name of 10 MB costs no more memory than one of 4 bytes, and no name is ever stored.
//
// Algorithm: SipHash with 128 bits of output, one round per 8 bytes and three at the end, which is
// what hash tables that face hostile keys use. Keyed, because two callers with one fingerprint are
// one caller: who can make such names at will can have another caller punished. Without the seed
// they cannot; with n callers and an unknown seed, two share a fingerprint with probability of
// about n^2 / 2^129.
//
// Source: J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF", 2012.
#ifndef SHED_INTERNAL_FINGERPRINT_H_
#define SHED_INTERNAL_FINGERPRINT_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "shed/internal/random.h"

namespace shed::internal {

struct Fingerprint {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  friend constexpr bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

class SipState {
 public:
  explicit constexpr SipState(const Fingerprint& key) noexcept
      : v0_(key.low ^ 0x736f6d6570736575),
        v1_(key.high ^ 0x646f72616e646f6d ^ 0xee),
        v2_(key.low ^ 0x6c7967656e657261),
        v3_(key.high ^ 0x7465646279746573) {}

  constexpr void Absorb(std::uint64_t word, int rounds) noexcept {
    v3_ ^= word;
    for (int i = 0; i < rounds; ++i) Round();
    v0_ ^= word;
  }
  constexpr Fingerprint Finish(int rounds) noexcept {
    Fingerprint out;
    v2_ ^= 0xee;
    for (int i = 0; i < rounds; ++i) Round();
    out.low = v0_ ^ v1_ ^ v2_ ^ v3_;
    v1_ ^= 0xdd;
    for (int i = 0; i < rounds; ++i) Round();
    out.high = v0_ ^ v1_ ^ v2_ ^ v3_;
    return out;
  }

 private:
  constexpr void Round() noexcept {
    v0_ += v1_;
    v2_ += v3_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v1_;
    v0_ += v3_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ = std::rotl(v2_, 32);
  }

  std::uint64_t v0_;
  std::uint64_t v1_;
  std::uint64_t v2_;
  std::uint64_t v3_;
};

// Returns the `kCount` bytes at `text` as a number, the first byte lowest, on every machine. One
// load where that is all it takes: GCC makes a loop of the portable form, dearer than a round.
template <std::size_t kCount, class Word>
constexpr std::uint64_t LittleEndian(const char* text) noexcept {
  static_assert(sizeof(Word) == kCount);
  if (std::endian::native == std::endian::little && !std::is_constant_evaluated()) {
    Word word;
    std::memcpy(&word, text, kCount);
    return word;
  }
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    word |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
  }
  return word;
}
constexpr std::uint64_t WordAt(const char* text) noexcept {
  return LittleEndian<8, std::uint64_t>(text);
}

// Returns the last `rest` < 8 bytes of a text as a number, without a loop. Loads may overlap: a
// byte that two of them hold lands on itself.
constexpr std::uint64_t LastBytes(std::string_view text, std::size_t rest) noexcept {
  if (rest == 0) return 0;
  const char* const end = text.data() + text.size();
  if (text.size() >= 8) return WordAt(end - 8) >> (8 * (8 - rest));
  const char* const begin = end - rest;
  if (rest >= 4) {
    return LittleEndian<4, std::uint32_t>(begin) | LittleEndian<4, std::uint32_t>(end - 4)
                                                       << (8 * (rest - 4));
  }
  const auto byte = [begin](std::size_t at) {
    return std::uint64_t{static_cast<unsigned char>(begin[at])} << (8 * at);
  };
  return byte(0) | byte(rest / 2) | byte(rest - 1);
}

// SipHash-kRounds-kFinal with 128 bits of output.
template <int kRounds, int kFinal>
constexpr Fingerprint SipHash128(std::string_view text, const Fingerprint& key) noexcept {
  SipState state(key);
  const std::size_t whole = text.size() / 8 * 8;
  const char* const bytes = text.data();
  for (std::size_t at = 0; at < whole; at += 8) state.Absorb(WordAt(bytes + at), kRounds);
  // The last word holds the rest and the length: "a" and "a\0" differ.
  const std::uint64_t length = std::uint64_t{text.size()} << 56;
  state.Absorb(length | LastBytes(text, text.size() - whole), kRounds);
  return state.Finish(kFinal);
}

// Returns the key that a 64-bit seed stands for: two numbers of the splitmix64 sequence.
constexpr Fingerprint FingerprintKey(std::uint64_t seed) noexcept {
  return {.low = Mix(seed), .high = Mix(seed + kGolden)};
}

constexpr Fingerprint FingerprintOf(std::string_view text, const Fingerprint& key) noexcept {
  return SipHash128<1, 3>(text, key);
}

}  // namespace shed::internal

#endif  // SHED_INTERNAL_FINGERPRINT_H_
