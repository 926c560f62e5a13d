#include "shed/internal/validate.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string_view>

// Also built with -ffast-math, where a comparison with NaN may come out either way, and with
// -fno-exceptions, where a bad option must end the program with its sentence.
namespace shed::internal {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

static_assert(!IsFinite(kNan) && !IsFinite(-kNan) && !IsFinite(kInfinity) && !IsFinite(-kInfinity));
static_assert(IsFinite(0.0) && IsFinite(-0.0) && IsFinite(std::numeric_limits<double>::max()));
static_assert(IsFinite(std::numeric_limits<double>::lowest()));
static_assert(IsFinite(std::numeric_limits<double>::denorm_min()));

static_assert(InRange(0.0, 0.0, 1.0) && InRange(1.0, 0.0, 1.0) && InRange(0.3, 0.0, 1.0));
static_assert(InRange(-0.0, 0.0, 1.0));
static_assert(!InRange(-0.1, 0.0, 1.0) && !InRange(1.1, 0.0, 1.0));
static_assert(!InRange(kNan, 0.0, 1.0) && !InRange(kInfinity, 0.0, 1.0));
static_assert(!InRange(kInfinity, 0.0, kInfinity));

// At run time: what the optimiser knows of floating point must not get in. Every NaN and infinity
// has all bits of the exponent set.
TEST(Validate, RefusesEveryNanAtRunTime) {
  constexpr std::uint64_t kExponent = 0x7ff0'0000'0000'0000;
  volatile std::uint64_t bits = 0;
  for (int i = 0; i < 52; ++i) {
    for (const std::uint64_t sign : {std::uint64_t{0}, std::uint64_t{1} << 63}) {
      bits = kExponent | sign | (i == 0 ? 0 : std::uint64_t{1} << (i - 1));
      EXPECT_FALSE(IsFinite(std::bit_cast<double>(std::uint64_t{bits})));
      EXPECT_FALSE(InRange(std::bit_cast<double>(std::uint64_t{bits}), -1e308, 1e308));
      bits = (kExponent - (std::uint64_t{1} << 52)) | sign | (std::uint64_t{1} << i);
      EXPECT_TRUE(IsFinite(std::bit_cast<double>(std::uint64_t{bits})));
    }
  }
}

struct Options {
  int field = 1;
  constexpr std::string_view Problem() const { return field > 0 ? "" : "field: want 1 or more"; }
};

TEST(Validate, GivesGoodOptionsBack) {
  const Options options;
  EXPECT_EQ(&Checked(options), &options);
  RequireNoProblem("");
}

#if defined(__cpp_exceptions)
TEST(Validate, ThrowsTheSentence) {
  try {
    Checked(Options{.field = 0});
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "field: want 1 or more");
  }
  // A view that is not terminated.
  try {
    RequireNoProblem(std::string_view("field: wrong", 5));
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "field");
  }
}
#else
TEST(ValidateDeathTest, AbortsWithTheSentence) {
  EXPECT_DEATH(Checked(Options{.field = 0}), "shed: invalid options: field: want 1 or more");
  EXPECT_DEATH(RequireNoProblem(std::string_view("field: wrong", 5)), "options: field\n");
}
#endif

}  // namespace
}  // namespace shed::internal
