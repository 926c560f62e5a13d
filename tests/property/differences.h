// What the answers of a policy and of its oracle differ in, for property tests and fuzz targets
// alike: neither knows the other's way to fail.
#ifndef SHED_TESTS_PROPERTY_DIFFERENCES_H_
#define SHED_TESTS_PROPERTY_DIFFERENCES_H_

#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "shed/time.h"
#include "shed/verdict.h"

namespace shed {

// Keeps the first one, as what comes after it is its consequence.
class Differences {
 public:
  // Notes the two unless they are equal. Returns whether they are.
  template <class Got, class Want>
  bool Same(const char* what, const Got& got, const Want& want) {
    if (got == want) return true;
    Note(std::string(what) + ": got " + Text(got) + ", want " + Text(want));
    return false;
  }
  // Notes the two unless they are at most `tolerance` apart; a NaN is from everything.
  bool Near(const char* what, double got, double want, double tolerance) {
    if (std::abs(got - want) <= tolerance) return true;
    Note(std::string(what) + ": got " + Text(got) + ", want " + Text(want));
    return false;
  }
  bool True(const char* what, bool holds) {
    if (!holds) Note(std::string(what) + ": does not hold");
    return holds;
  }

  bool none() const { return first_.empty(); }
  // "" if there is none.
  const std::string& first() const { return first_; }

 private:
  void Note(std::string text) {
    if (first_.empty()) first_ = std::move(text);
  }

  template <class T>
  static std::string Text(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      return value ? "true" : "false";
    } else if constexpr (std::is_enum_v<T>) {
      return std::to_string(static_cast<int>(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      char text[40];
      std::snprintf(text, sizeof text, "%.17g", value);
      return text;
    } else {
      return Number(value);
    }
  }
  static std::string Text(Duration value) { return Number(value.count()) + " ns"; }
  static std::string Text(TimePoint value) { return Text(value.time_since_epoch()); }
  static std::string Text(const std::optional<Duration>& value) {
    return value ? Text(*value) : "none";
  }
  static std::string Text(const Verdict& value) {
    if (value.admitted()) return "admitted after " + Text(value.wait());
    return std::string(Name(value.reason())) + ", retry after " + Text(value.retry_after());
  }
  // Of any width.
  template <class T>
  static std::string Number(T value) {
    if (value == 0) return "0";
    std::string digits;
    const bool negative = value < 0;
    for (; value != 0; value /= 10) {
      const auto digit = static_cast<int>(value % 10);
      digits.insert(digits.begin(), static_cast<char>('0' + (digit < 0 ? -digit : digit)));
    }
    return negative ? "-" + digits : digits;
  }

  std::string first_;
};

}  // namespace shed

#endif  // SHED_TESTS_PROPERTY_DIFFERENCES_H_
