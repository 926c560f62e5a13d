// Scrapes a real exposer, and has Debian's promtool read what came.

#include "shed/adapters/prometheus.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/counter.h>
#include <prometheus/exposer.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "shed/clock.h"
#include "shed/limiter.h"
#include "shed/shed.h"

namespace shed {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

// GET /metrics of 127.0.0.1, over a plain socket. Returns the body; "" if the answer is not 200.
std::string Fetch(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_GE(fd, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const std::string request = "GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n";
  EXPECT_EQ(write(fd, request.data(), request.size()), static_cast<ssize_t>(request.size()));
  std::string answer;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(fd, buffer, sizeof buffer)) > 0;) {
    answer.append(buffer, static_cast<std::size_t>(n));
  }
  close(fd);
  const std::size_t end_of_head = answer.find("\r\n\r\n");
  if (answer.find(" 200 ") > answer.find('\n') || end_of_head == std::string::npos) {
    ADD_FAILURE() << answer;
    return "";
  }
  return answer.substr(end_of_head + 4);
}

// What `promtool check metrics` says, with its exit code in front.
std::string Promtool(const std::string& exposition) {
  const std::string base =
      ::testing::TempDir() + "shed_prometheus_" + std::to_string(getpid()) + "_";
  const std::string in = base + "in";
  const std::string out = base + "out";
  std::ofstream(in, std::ios::binary) << exposition;
  const std::string command = "'" SHED_PROMTOOL "' check metrics <'" + in + "' >'" + out + "' 2>&1";
  const int status = std::system(command.c_str());
  std::ifstream said(out, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(said), {}};
  std::remove(in.c_str());
  std::remove(out.c_str());
  return std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : -1) + ": " + text;
}
constexpr char kAllWell[] = "0: ";

// The series of an exposition, name and labels as they stand there, with their values.
std::map<std::string, double> Series(const std::string& exposition) {
  std::map<std::string, double> series;
  std::istringstream lines(exposition);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t space = line.rfind(' ');
    // promtool lets a series pass that comes twice; a server would not.
    EXPECT_TRUE(series.emplace(line.substr(0, space), std::stod(line.substr(space + 1))).second)
        << line << " comes twice";
  }
  return series;
}

std::string Text(const PrometheusCollector& collector) {
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, collector.Collect());
  return out.str();
}

// One exposer for all tests, as it takes its time to end; each test has a collector of its own.
class Scrape : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { exposer_ = new prometheus::Exposer("127.0.0.1:0"); }
  static void TearDownTestSuite() { delete exposer_; }
  Scrape() { exposer_->RegisterCollectable(collector_); }
  ~Scrape() override { exposer_->RemoveCollectable(collector_); }
  // Checked, and taken apart.
  std::map<std::string, double> Get() {
    const std::string body = Fetch(exposer_->GetListeningPorts().at(0));
    EXPECT_EQ(Promtool(body), kAllWell) << body;
    return Series(body);
  }

  static prometheus::Exposer* exposer_;
  const std::shared_ptr<PrometheusCollector> collector_ = std::make_shared<PrometheusCollector>();
};
prometheus::Exposer* Scrape::exposer_ = nullptr;

// The checks that the others rest on.
TEST(Promtool, SeesFaults) {
  const std::string family = "# HELP a_total A.\n# TYPE a_total counter\na_total 1\n";
  EXPECT_EQ(Promtool(family), kAllWell);
  EXPECT_THAT(Promtool(family + family), HasSubstr("second HELP"));
  EXPECT_THAT(Promtool("# HELP a A.\n# TYPE a counter\na 1\n"), HasSubstr("_total"));
  EXPECT_THAT(Promtool("# TYPE a_total counter\na_total 1\n"), HasSubstr("no help text"));
  EXPECT_THAT(Promtool("# HELP a A.\n# TYPE a gauge\na{l=\"\xff\"} 1\n"), HasSubstr("invalid"));
}

TEST_F(Scrape, CountsAdmissionsAndRefusals) {
  ManualClock clock;
  BasicLimiter<ManualClock, StdSync, RateLimiter, ConcurrencyLimiter> limiter(
      clock, {.rate = 1, .burst = 4}, {.limit = 3}, {.name = "api"});
  collector_->Add(limiter);

  auto first = limiter.TryAdmit({.caller = "ann", .criticality = Criticality::kCriticalPlus});
  auto second = limiter.TryAdmit({.caller = "ben"});
  auto third = limiter.TryAdmit({.caller = "cyd"});
  EXPECT_FALSE(limiter.TryAdmit({.criticality = Criticality::kSheddable}));  // The limit is 3,
  first.Complete(Outcome::kSuccess);
  auto fourth = limiter.TryAdmit();
  EXPECT_FALSE(limiter.TryAdmit());  // and the burst 4.
  second.Complete(Outcome::kOverload);
  auto exempt = limiter.TryAdmit({.exempt = true});
  { auto dropped = std::move(fourth); }

  const auto series = Get();
  const auto requests = [](const std::string& policy, const std::string& outcome,
                           const std::string& reason, const std::string& criticality) {
    return "shed_requests_total{limiter=\"api\",policy=\"" + policy + "\",outcome=\"" + outcome +
           "\",reason=\"" + reason + "\",criticality=\"" + criticality + "\"}";
  };
  EXPECT_THAT(series, Contains(Pair(requests("", "admitted", "", "critical"), 3)));
  EXPECT_THAT(series, Contains(Pair(requests("", "admitted", "", "critical_plus"), 1)));
  EXPECT_THAT(series, Contains(Pair(requests("", "admitted", "", "sheddable"), 0)));
  EXPECT_THAT(series, Contains(Pair(requests("", "exempt", "", ""), 1)));
  EXPECT_THAT(
      series,
      Contains(Pair(requests("concurrency_limiter", "refused", "concurrency", "sheddable"), 1)));
  EXPECT_THAT(series, Contains(Pair(requests("rate_limiter", "refused", "rate", "critical"), 1)));
  double all = 0;
  for (const auto& [name, value] : series) {
    if (name.starts_with("shed_requests_total")) all += value;
  }
  EXPECT_EQ(all, 7);

  EXPECT_EQ(series.at("shed_in_flight_requests{limiter=\"api\"}"), 2);
  EXPECT_EQ(series.at("shed_dropped_requests_total{limiter=\"api\"}"), 1);
  EXPECT_EQ(series.at("shed_completed_requests_total{limiter=\"api\",outcome=\"success\"}"), 1);
  EXPECT_EQ(series.at("shed_completed_requests_total{limiter=\"api\",outcome=\"overload\"}"), 1);
  EXPECT_EQ(series.at("shed_completed_requests_total{limiter=\"api\",outcome=\"ignored\"}"), 1);
  const std::string concurrency = "{limiter=\"api\",policy=\"concurrency_limiter\"}";
  EXPECT_EQ(series.at("shed_concurrency_limit" + concurrency), 3);
  EXPECT_EQ(series.at("shed_concurrency_in_use" + concurrency), 1);
  const std::string rate = "{limiter=\"api\",policy=\"rate_limiter\"}";
  EXPECT_EQ(series.at("shed_rate_available_units" + rate), 0);
  EXPECT_EQ(series.at("shed_rate_burst_units" + rate), 4);
}

using Everything =
    BasicLimiter<ManualClock, StdSync, Keyed<RateLimiter, ByCaller>,
                 Named<"total", Switch<RateLimiter>>, Shadow<KneeLimiter>, DemeritTracker,
                 CircuitBreaker, AdmissionController, RetryBudget, RetryThrottle, QueueDelayLimiter,
                 PressureLimiter, KneeLimiter, GradientLimiter, Gradient2Limiter, VegasLimiter,
                 AimdLimiter, ConcurrencyLimiter>;
std::unique_ptr<Everything> MakeEverything(const ManualClock& clock, std::string_view name) {
  return std::make_unique<Everything>(
      clock, KeyedOptions<RateLimiter>{.policy = {.rate = 10, .burst = 5}},
      RateLimiterOptions{.rate = 100, .burst = 50}, KneeLimiterOptions{}, DemeritTrackerOptions{},
      CircuitBreakerOptions{}, AdmissionControllerOptions{}, RetryBudgetOptions{},
      RetryThrottleOptions{}, QueueDelayLimiterOptions{}, PressureLimiterOptions{},
      KneeLimiterOptions{}, GradientLimiterOptions{}, Gradient2Limiter::Options{},
      VegasLimiter::Options{}, AimdLimiter::Options{}, ConcurrencyLimiterOptions{.limit = 8},
      LimiterOptions{.name = name});
}

// Some calls of all kinds, from callers and routes number `first` to `first` + 40.
void Call(Everything& limiter, ManualClock& clock, int first) {
  std::vector<Everything::Guard> held;
  for (int i = first; i < first + 40; ++i) {
    clock.Advance(3ms);
    const std::string caller = "caller-" + std::to_string(i);
    auto guard = limiter.TryAdmit({.caller = caller,
                                   .route = "route-" + std::to_string(i),
                                   .criticality = static_cast<Criticality>(i % 4),
                                   .retry = i % 3 == 0,
                                   .queued_for = i % 5 == 0 ? 200ms : 0ms});
    if (!guard) continue;
    guard.Note(static_cast<Outcome>(i % 7 < 3 ? 0 : i % 4));
    held.push_back(std::move(guard));
    if (held.size() > 6) held.erase(held.begin());
  }
}

TEST_F(Scrape, AllPoliciesAndSeveralLimitersInOneExposition) {
  ManualClock clock;
  const auto a = MakeEverything(clock, "a");
  const auto b = MakeEverything(clock, "b");
  ConcurrencyLimiter::Options options{.limit = 5};
  const Limiter<ConcurrencyLimiter> c(options, {.name = "c"});
  collector_->Add(*a);
  collector_->Add(*b);
  collector_->Add(c);
  Call(*a, clock, 0);
  const auto series = Get();
  for (const std::string name : {"a", "b", "c"}) {
    EXPECT_THAT(series, Contains(Key("shed_concurrency_limit{limiter=\"" + name +
                                     "\",policy=\"concurrency_limiter\"}")));
  }
  EXPECT_EQ(series.at("shed_concurrency_limit{limiter=\"c\",policy=\"concurrency_limiter\"}"), 5);
}

// A name may be anything that is text.
TEST_F(Scrape, EscapesNames) {
  const Limiter<Named<"p\"\\\n\u00fc{}", ConcurrencyLimiter>> limiter(
      ConcurrencyLimiterOptions{.limit = 7}, {.name = "say \"no\"\\n\n\u20ac = \U0001f600"});
  collector_->Add(limiter);
  EXPECT_THAT(
      Get(),
      Contains(Pair("shed_concurrency_limit{limiter=\"say \\\"no\\\"\\\\n\\n\u20ac = \U0001f600"
                    "\",policy=\"p\\\"\\\\\\n\u00fc{}\"}",
                    7)));
}

TEST_F(Scrape, WorksWithNoLimiterAndBesideOtherMetrics) {
  EXPECT_THAT(Get(), Not(Contains(Key(HasSubstr("shed_")))));
  const auto registry = std::make_shared<prometheus::Registry>();
  auto& family =
      prometheus::BuildCounter().Name("other_total").Help("Another.").Register(*registry);
  family.Add({}).Increment();
  exposer_->RegisterCollectable(registry);
  const Limiter<RateLimiter> limiter(RateLimiterOptions{});
  collector_->Add(limiter);
  const auto series = Get();
  EXPECT_THAT(series, Contains(Pair("other_total", 1)));
  EXPECT_THAT(series, Contains(Key("shed_in_flight_requests{limiter=\"limiter\"}")));
  exposer_->RemoveCollectable(registry);
}

TEST_F(Scrape, ShowsWaitingRooms) {
  ManualClock clock;
  BasicLimiter<ManualClock, StdSync, ConcurrencyLimiter> limiter(clock, {.limit = 1},
                                                                 {.name = "api"});
  AdmissionQueue queue(limiter, {.max_waiting = 2, .max_wait = 50ms});
  collector_->Add(limiter);
  collector_->AddQueue("api", queue);  // Other than the limiter of that name.
  using Guard = decltype(queue)::Guard;
  std::optional<Guard> running;
  const auto keep = [&running](Guard guard) {
    if (guard) running = std::move(guard);
  };
  queue.Enter({}, keep);
  for (int i = 0; i < 3; ++i) queue.Enter({.criticality = Criticality::kSheddable}, keep);
  clock.Advance(20ms);
  running->Complete(Outcome::kSuccess);
  const auto series = Get();
  const auto outcome = [&](const std::string& name) {
    return series.at("shed_queue_requests_total{queue=\"api\",outcome=\"" + name + "\"}");
  };
  EXPECT_EQ(outcome("admitted_at_once"), 1);
  EXPECT_EQ(outcome("admitted_after_wait"), 1);
  EXPECT_EQ(outcome("full"), 1);
  EXPECT_EQ(outcome("expired"), 0);
  EXPECT_EQ(series.at("shed_queue_waiting_requests{queue=\"api\",criticality=\"sheddable\"}"), 1);
  EXPECT_EQ(series.at("shed_queue_pressure{queue=\"api\"}"), 0);
  EXPECT_EQ(series.at("shed_queue_longest_wait_seconds{queue=\"api\"}"), 0.02);
  EXPECT_THROW(collector_->AddQueue("api", queue), std::invalid_argument);
  EXPECT_THROW(collector_->AddQueue("\xff", queue), std::invalid_argument);
  EXPECT_TRUE(collector_->Remove(queue));
  EXPECT_THAT(Get(), Not(Contains(Key(HasSubstr("shed_queue_")))));
}

// What callers choose must not become labels: each would be a series for ever.
TEST(PrometheusCollector, HasNoMoreSeriesForMoreCallers) {
  ManualClock clock;
  const auto limiter = MakeEverything(clock, "api");
  PrometheusCollector collector;
  collector.Add(*limiter);
  for (int i = 0; i < 400; i += 40) Call(*limiter, clock, i);
  const std::string before = Text(collector);
  for (int i = 400; i < 4000; i += 40) Call(*limiter, clock, i);
  const std::string after = Text(collector);
  EXPECT_THAT(after, Not(HasSubstr("caller-")));
  EXPECT_THAT(after, Not(HasSubstr("route-")));
  const auto keys = [](const std::string& text) {
    std::vector<std::string> names;
    for (const auto& [name, value] : Series(text)) {
      // Refusals come with their first.
      if (name.find("reason=") == std::string::npos) names.push_back(name);
    }
    return names;
  };
  EXPECT_EQ(keys(after), keys(before));
  EXPECT_NE(after, before);
}

TEST(PrometheusCollector, CountersOnlyGrow) {
  ManualClock clock;
  const auto limiter = MakeEverything(clock, "api");
  PrometheusCollector collector;
  collector.Add(*limiter);
  std::map<std::string, double> before;
  for (int i = 0; i < 100; ++i) {
    Call(*limiter, clock, i * 7);
    clock.Advance(i % 10 == 0 ? 20s : 0s);
    auto now = Series(Text(collector));
    for (const auto& [name, value] : before) {
      if (name.find("_total{") == std::string::npos) continue;
      ASSERT_THAT(now, Contains(Key(name)));
      EXPECT_GE(now.at(name), value) << name;
    }
    before = std::move(now);
  }
}

TEST(PrometheusCollector, RefusesNamesThatNoExpositionCanHave) {
  PrometheusCollector collector;
  const Limiter<RateLimiter> first(RateLimiterOptions{}, {.name = "api"});
  const Limiter<RateLimiter> second(RateLimiterOptions{}, {.name = "api"});
  const Limiter<RateLimiter> bad(RateLimiterOptions{}, {.name = "caf\xe9"});
  const Limiter<Named<"\xc3", RateLimiter>> bad_policy(RateLimiterOptions{}, {.name = "b"});
  collector.Add(first);
  const auto problem = [&](const auto& limiter) -> std::string {
    try {
      collector.Add(limiter);
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(problem(second), "name: want another one for each of a collector");
  EXPECT_EQ(problem(first), "name: want another one for each of a collector");
  EXPECT_EQ(problem(bad), "name: want UTF-8, of policies too");
  EXPECT_EQ(problem(bad_policy), "name: want UTF-8, of policies too");
  EXPECT_EQ(problem(std::shared_ptr<Limiter<RateLimiter>>()), "limiter: want one that is not null");
  // None of them left a trace, and the name is free once its limiter is gone.
  EXPECT_THAT(Series(Text(collector)), Contains(Key(HasSubstr("\"api\""))));
  EXPECT_TRUE(collector.Remove(first));
  EXPECT_FALSE(collector.Remove(first));
  EXPECT_FALSE(collector.Remove(bad));
  EXPECT_TRUE(collector.Collect().empty());
  EXPECT_EQ(problem(second), "");
}

TEST(PrometheusCollector, KeepsASharedLimiterAlive) {
  PrometheusCollector collector;
  auto shared = std::make_shared<Limiter<RateLimiter>>(RateLimiterOptions{},
                                                       LimiterOptions{.name = "shared"});
  const std::weak_ptr<Limiter<RateLimiter>> seen = shared;
  collector.Add(shared);
  const Limiter<RateLimiter>& limiter = *shared;
  shared.reset();
  EXPECT_THAT(Text(collector), HasSubstr("shared"));
  EXPECT_TRUE(collector.Remove(limiter));
  EXPECT_TRUE(seen.expired());
  collector.Add(std::make_shared<const Limiter<RateLimiter>>(RateLimiterOptions{}));
  EXPECT_THAT(Text(collector), HasSubstr("limiter=\"limiter\""));
}

// A limiter that dies must not do so without a word.
template <class L>
concept CanBeAdded = requires(PrometheusCollector& collector, L&& limiter) {
  collector.Add(std::forward<L>(limiter));
};
static_assert(CanBeAdded<const Limiter<RateLimiter>&> && CanBeAdded<Limiter<RateLimiter>&>);
static_assert(!CanBeAdded<Limiter<RateLimiter>> && !CanBeAdded<const Limiter<RateLimiter>>);
static_assert(CanBeAdded<std::shared_ptr<Limiter<RateLimiter>>>);

// Limiters come and go while calls run and metrics are collected.
TEST(PrometheusCollector, IsThreadSafe) {
  PrometheusCollector collector;
  Limiter<RateLimiter, KneeLimiter> busy({}, {}, {.name = "busy"});
  collector.Add(busy);
  std::atomic<bool> stop{false};
  std::thread calls([&] {
    while (!stop.load()) busy.TryAdmit().Complete(Outcome::kSuccess);
  });
  std::thread changes([&] {
    for (int i = 0; i < 200; ++i) {
      const Limiter<RateLimiter> brief(RateLimiterOptions{}, {.name = "brief"});
      collector.Add(brief);
      EXPECT_TRUE(collector.Remove(brief));
    }
  });
  for (int i = 0; i < 200; ++i) {
    EXPECT_THAT(Series(Text(collector)),
                Contains(Key("shed_in_flight_requests{limiter=\"busy\"}")));
  }
  changes.join();
  stop.store(true);
  calls.join();
}

// Unicode 15, table 3-7: well-formed byte sequences, and the nearest that are not.
static_assert(internal::IsUtf8("") && internal::IsUtf8("abc\x7f"));
static_assert(internal::IsUtf8("\xc2\x80") && internal::IsUtf8("\xdf\xbf"));
static_assert(internal::IsUtf8("\xe0\xa0\x80") && internal::IsUtf8("\xed\x9f\xbf"));
static_assert(internal::IsUtf8("\xef\xbf\xbf") && internal::IsUtf8("\xf0\x90\x80\x80"));
static_assert(internal::IsUtf8("\xf4\x8f\xbf\xbf"));
static_assert(!internal::IsUtf8("\x80") && !internal::IsUtf8("\xbf"));
static_assert(!internal::IsUtf8("\xc0\x80") && !internal::IsUtf8("\xc1\xbf"));
static_assert(!internal::IsUtf8("\xc2") && !internal::IsUtf8("a\xc2z"));
static_assert(!internal::IsUtf8("\xe0\x9f\xbf") && !internal::IsUtf8("\xed\xa0\x80"));
static_assert(!internal::IsUtf8("\xe2\x82") && !internal::IsUtf8("\xe2\x82\x41"));
static_assert(!internal::IsUtf8("\xf0\x8f\xbf\xbf") && !internal::IsUtf8("\xf4\x90\x80\x80"));
static_assert(!internal::IsUtf8("\xf0\x90\x80") && !internal::IsUtf8("\xf5\x80\x80\x80"));

}  // namespace
}  // namespace shed
