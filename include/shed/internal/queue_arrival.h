// One call of an AdmissionQueue, on its way in.
#ifndef SHED_INTERNAL_QUEUE_ARRIVAL_H_
#define SHED_INTERNAL_QUEUE_ARRIVAL_H_

#include <cstdint>
#include <optional>

#include "shed/request.h"

namespace shed::internal {

template <class Guard, class Ticket>
struct QueueArrival {
  const Request& request;
  std::optional<Guard> asked{};  // What the limiter said, if it was asked;
  std::uint64_t ends = 0;        // and the ends until then, modulo 2^32.
  Ticket ticket{};
  bool drain = false;  // There may be something to do for others.

  void CountOwnEnd() noexcept { ends = (ends + 1) & 0xffff'ffff; }
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_QUEUE_ARRIVAL_H_
