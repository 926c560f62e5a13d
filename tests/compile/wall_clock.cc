// A reading of the wall clock where a TimePoint is wanted: it may jump, and has another zero.
//
// Rejected with (GNU): could not convert 'now' from 'time_point<std::chrono::_V2::system_clock
//
// Rejected with (Clang): no viable conversion from 'time_point<std::chrono::system_clock
#include <chrono>

#include "shed/time.h"

#ifdef SHED_REJECT
using Clock = std::chrono::system_clock;
#else
using Clock = shed::Timeline;
#endif

shed::Duration SinceStart(shed::TimePoint start, Clock::time_point now) {
  return shed::Elapsed(start, now);
}
