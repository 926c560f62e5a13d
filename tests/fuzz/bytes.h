// A byte string read as the choices that a fuzz target makes.
#ifndef SHED_TESTS_FUZZ_BYTES_H_
#define SHED_TESTS_FUZZ_BYTES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace shed::fuzz {

// Every choice takes as few bytes as it needs, from the front, so that a changed byte changes one
// choice. Behind the end all bytes are 0.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

  bool empty() const { return left_ == 0; }

  // A number below `n`, which is not 0.
  std::uint64_t Below(std::uint64_t n) {
    std::uint64_t value = 0;
    for (std::uint64_t most = n - 1; most != 0; most >>= 8) value = value << 8 | Next();
    return value % n;
  }
  // One of [low, high].
  std::int64_t Between(std::int64_t low, std::int64_t high) {
    const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + Below(span + 1));
  }
  // One of [0, high], its order of magnitude first: `high` itself is as likely as 0 or 1.
  std::int64_t AnyScale(std::int64_t high) {
    if (high <= 0) return 0;
    const int bits = 64 - __builtin_clzll(static_cast<unsigned long long>(high));
    const auto mine = static_cast<int>(Below(static_cast<std::uint64_t>(bits) + 2));
    if (mine > bits) return high;
    if (mine == 0) return 0;
    const std::int64_t top = std::int64_t{1} << (mine - 1);
    const auto rest = static_cast<std::int64_t>(Below(static_cast<std::uint64_t>(top)));
    return std::min(top + rest, high);
  }
  bool Flag() { return (Next() & 1) != 0; }
  // One element of an array.
  template <class T, std::size_t N>
  const T& Of(const T (&values)[N]) {
    return values[Below(N)];
  }

 private:
  std::uint8_t Next() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }

  const std::uint8_t* data_;
  std::size_t left_;
};

}  // namespace shed::fuzz

#endif  // SHED_TESTS_FUZZ_BYTES_H_
