// Uses shed::prometheus, on a machine that may have no Abseil.
#include "shed/adapters/prometheus.h"
#include "shed/limiter.h"
#include "shed/rate_limiter.h"

int main() {
  const shed::Limiter<shed::RateLimiter> limiter({.rate = 1, .burst = 1});
  shed::PrometheusCollector collector;
  collector.Add(limiter);
  return collector.Collect().empty() ? 1 : 0;
}
