// Run: a handler under a guard, with a fall-back for when it is refused or fails, and statuses that
// tell our own refusals from those of a dependency.
#include <cstdio>
#include <string>

#include "shed/shed.h"

absl::StatusOr<std::string> Recommend(bool database_is_up) {
  if (!database_is_up) return absl::UnavailableError("no database");
  return std::string("a book you will like");
}

int main() {
  shed::Limiter<shed::CircuitBreaker> limiter({.consecutive_failures = 3});
  const auto bestseller = [](const shed::Rejection*) { return std::string("the bestseller"); };

  // A healthy dependency, then a dead one: three failures open the breaker, and from then on it is
  // not even asked. The page shows something all the time.
  int asked = 0;
  int served = 0;
  for (int i = 0; i < 10; ++i) {
    const absl::StatusOr<std::string> shown = shed::Run(
        limiter, {},
        [&] {
          ++asked;
          return Recommend(i < 2);
        },
        bestseller);
    served += shown.ok();
    if (shown.ok()) std::printf("%s\n", shown->c_str());
  }

  const absl::Status refusal = shed::Run(limiter, {}, [] {});
  std::printf("served %d, asked the database %d times; without a fall-back: %s\n", served, asked,
              std::string(refusal.message()).c_str());
  return served == 10 && asked == 5 && shed::IsRejection(refusal) ? 0 : 1;
}
