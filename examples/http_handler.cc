// From a guard to the words of HTTP and back: which status a refusal gets, what Retry-After says,
// and what the handler's own status says of the service.
#include <chrono>
#include <cstdio>
#include <string>

#include "shed/shed.h"

struct HttpResponse {
  int status = 200;
  std::string retry_after{};  // Seconds, at least 1; empty where nothing is known.
};

// 429 tells this caller that it asks for too much; 503 that the service has too much to do.
HttpResponse Refuse(const shed::Rejection& rejection) {
  HttpResponse response{.status = rejection.scope() == shed::Scope::kCaller ? 429 : 503};
  if (const auto after = rejection.retry_after()) {
    // Rounded up: who comes back early is refused again.
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(*after).count();
    response.retry_after = std::to_string(seconds > 1 ? seconds : 1);
  }
  return response;
}

// A 4xx is the client's business and a good answer; a 5xx is a failure, and one that says
// "overloaded" should shrink an adaptive limit.
shed::Outcome OutcomeOf(int status) {
  if (status == 503 || status == 504) return shed::Outcome::kOverload;
  if (status >= 500) return shed::Outcome::kFailure;
  if (status == 400 || status == 499) return shed::Outcome::kIgnored;
  return shed::Outcome::kSuccess;
}

template <class Limiter, class Handler>
HttpResponse Serve(Limiter& limiter, const shed::Request& request, Handler&& handler) {
  auto guard = limiter.TryAdmit(request);
  if (!guard) return Refuse(guard.rejection());
  HttpResponse response = handler();
  guard.Complete(OutcomeOf(response.status));
  return response;
}

int main() {
  shed::ManualClock clock;
  shed::BasicLimiter<shed::ManualClock, shed::StdSync, shed::RateLimiter> limiter(
      clock, {.rate = 5, .burst = 1});
  const auto ok = Serve(limiter, {.caller = "ada"}, [] { return HttpResponse{}; });
  const auto refused = Serve(limiter, {.caller = "ada"}, [] { return HttpResponse{}; });
  std::printf("%d, then %d with Retry-After: %s\n", ok.status, refused.status,
              refused.retry_after.c_str());
  // 200 ms are left: in whole seconds that is 1, never 0.
  return ok.status == 200 && refused.status == 503 && refused.retry_after == "1" ? 0 : 1;
}
