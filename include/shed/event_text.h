// Events in words: names for metric labels, and one line of text for a log.
#ifndef SHED_EVENT_TEXT_H_
#define SHED_EVENT_TEXT_H_

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "shed/events.h"

namespace shed {

// Returns "breaker_opened", "limit_changed" ...; "unknown" for a value from outside.
constexpr std::string_view Name(EventKind kind) noexcept {
  constexpr std::string_view kNames[] = {
      "breaker_opened",   "breaker_half_opened", "breaker_closed", "limit_changed",
      "baseline_changed", "caller_became_hog",   "queue_stands",   "queue_moves",
      "pressure_rose",    "pressure_fell",       "caller_delayed", "caller_blocked",
      "caller_recovered"};
  const auto index = static_cast<std::size_t>(kind);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

// Returns "failure_ratio", "probe_failed" ...; "unknown" for a value from outside.
constexpr std::string_view Name(Cause cause) noexcept {
  constexpr std::string_view kNames[] = {"none",
                                         "consecutive_failures",
                                         "failure_ratio",
                                         "slow_ratio",
                                         "probe_failed",
                                         "probe_timed_out",
                                         "probes_succeeded",
                                         "time_elapsed",
                                         "forced",
                                         "gradient",
                                         "overload_outcomes",
                                         "share_refused",
                                         "calm",
                                         "measured",
                                         "growth",
                                         "stuck_at_minimum",
                                         "demerit",
                                         "latency",
                                         "pressure",
                                         "queue_delay",
                                         "usage"};
  const auto index = static_cast<std::size_t>(cause);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

namespace internal {

// Appends " key=value", in the style of logfmt: what has a space, a quote, a '=' or anything that
// is no printable ASCII is quoted, and escaped, so that a line stays one line whatever a name is.
inline void AppendField(std::string& line, std::string_view key, std::string_view value) {
  if (!line.empty()) line += ' ';
  line.append(key);
  line += '=';
  bool plain = !value.empty();
  for (const char c : value) plain = plain && c > ' ' && c < 127 && c != '"' && c != '=';
  if (plain) {
    line.append(value);
    return;
  }
  line += '"';
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      line += '\\';
      line += c;
    } else if (byte >= ' ' && byte < 127) {
      line += c;
    } else {
      constexpr char kDigits[] = "0123456789abcdef";
      line += "\\x";
      line += kDigits[byte >> 4];
      line += kDigits[byte & 15];
    }
  }
  line += '"';
}

template <class T>
void AppendNumber(std::string& line, std::string_view key, T value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value);
  AppendField(line, key, {text, static_cast<std::size_t>(end.ptr - text)});
}

}  // namespace internal

// Returns the event as one line without an end, "limiter=api policy=circuit_breaker
// event=breaker_opened cause=failure_ratio at_ns=... count=12 total=20 value=0.6 threshold=0.5".
// Figures that are zero are left out. Allocates; for an observer, off the path of most calls.
inline std::string ToString(const Event& event) {
  std::string line;
  internal::AppendField(line, "limiter", event.limiter);
  internal::AppendField(line, "policy", event.policy);
  internal::AppendField(line, "event", Name(event.kind));
  internal::AppendField(line, "cause", Name(event.cause));
  internal::AppendNumber(line, "at_ns", event.at.time_since_epoch().count());
  const auto figure = [&](std::string_view key, auto value) {
    if (value != decltype(value){}) internal::AppendNumber(line, key, value);
  };
  figure("before", event.before);
  figure("after", event.after);
  figure("count", event.count);
  figure("total", event.total);
  figure("value", event.value);
  figure("threshold", event.threshold);
  figure("caller", event.caller);
  return line;
}

}  // namespace shed

#endif  // SHED_EVENT_TEXT_H_
