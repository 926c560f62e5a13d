// The figures of limiters for Prometheus, on prometheus-cpp. Not part of shed.h.
//
//   auto collector = std::make_shared<shed::PrometheusCollector>();
//   collector->Add(limiter);
//   prometheus::Exposer exposer("127.0.0.1:9090");
//   exposer.RegisterCollectable(collector);
//
// In CMake: find_package(shed COMPONENTS core prometheus), and link shed::prometheus. Debian:
// prometheus-cpp-dev.
//
// Of each limiter:
//   shed_requests_total{limiter,policy,outcome,reason,criticality}   calls that asked. `outcome` is
//       admitted, refused or exempt; `policy` and `reason` are of refusals, and empty otherwise,
//       as is `criticality` of exempt ones. A refusal that never was has no series.
//   shed_completed_requests_total{limiter,outcome}   calls that ended
//   shed_dropped_requests_total{limiter}             of them those whose end nobody told
//   shed_in_flight_requests{limiter}                 calls that have not ended
// and of each of its policies what its snapshot has (prometheus_policy.h says how), as
//   shed_concurrency_limit{limiter,policy}, shed_concurrency_in_use{limiter,policy}
//
// Of each waiting room (AddQueue):
//   shed_queue_requests_total{queue,outcome}         calls that entered, by what became of them
//   shed_queue_waiting_requests{queue,criticality}   calls that wait
//   shed_queue_pressure{queue}                       1 while the queue stands
//   shed_queue_longest_wait_seconds{queue}           of a call that was admitted, so far
//
// Labels are the names of limiters and policies and of what the library enumerates: no caller, no
// route, no key. A policy has at most 73 series of shed_requests_total, and some 20 others.
#ifndef SHED_ADAPTERS_PROMETHEUS_H_
#define SHED_ADAPTERS_PROMETHEUS_H_

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "shed/adapters/prometheus_policy.h"
#include "shed/admission_queue_snapshot.h"
#include "shed/internal/validate.h"
#include "shed/limiter_snapshot.h"
#include "shed/outcome.h"
#include "shed/request.h"
#include "shed/verdict.h"

namespace shed {

namespace internal {

// Returns whether `text` is UTF-8, as label values must be: one that is not makes a whole
// exposition unreadable.
constexpr bool IsUtf8(std::string_view text) noexcept {
  const auto byte = [&](std::size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u;
  };
  for (std::size_t i = 0; i < text.size();) {
    const unsigned first = byte(i);
    // The range of the second byte rules out overlong forms, surrogates, and what is past U+10FFFF.
    const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    const std::size_t more = first < 0x80                     ? 0
                             : first >= 0xc2 && first <= 0xdf ? 1
                             : first >= 0xe0 && first <= 0xef ? 2
                             : first >= 0xf0 && first <= 0xf4 ? 3
                                                              : 4;
    if (more == 4 || (more > 0 && (byte(i + 1) < low || byte(i + 1) > high))) return false;
    for (std::size_t k = 2; k <= more; ++k) {
      if ((byte(i + k) & 0xc0) != 0x80) return false;
    }
    i += more + 1;
  }
  return true;
}

// Adds what a limiter has counted, and its policies' metrics.
template <class... Policies>
void ExportLimiter(const LimiterSnapshot<Policies...>& snapshot, std::string_view limiter,
                   MetricFamilies& families) {
  using prometheus::MetricType;
  const auto requests = [&](std::uint64_t count, std::string_view policy, std::string_view outcome,
                            std::string_view reason, std::string_view criticality) {
    families.Add("shed_requests_total", "Calls that asked to be admitted.", MetricType::Counter,
                 static_cast<double>(count),
                 {{"limiter", limiter},
                  {"policy", policy},
                  {"outcome", outcome},
                  {"reason", reason},
                  {"criticality", criticality}});
  };
  for (std::size_t c = 0; c < kCriticalityCount; ++c) {
    requests(snapshot.admitted[c], "", "admitted", "", Name(static_cast<Criticality>(c)));
  }
  requests(snapshot.exempt, "", "exempt", "", "");
  for (std::size_t p = 0; p < sizeof...(Policies); ++p) {
    for (std::size_t r = 0; r < kReasonCount; ++r) {
      for (std::size_t c = 0; c < kCriticalityCount; ++c) {
        if (snapshot.refused[p][r][c] == 0) continue;
        requests(snapshot.refused[p][r][c], snapshot.kPolicyNames[p], "refused",
                 Name(static_cast<Reason>(r)), Name(static_cast<Criticality>(c)));
      }
    }
  }
  for (std::size_t o = 0; o < kOutcomeCount; ++o) {
    families.Add("shed_completed_requests_total", "Calls that ended, exempt ones too.",
                 MetricType::Counter, static_cast<double>(snapshot.completed[o]),
                 {{"limiter", limiter}, {"outcome", Name(static_cast<Outcome>(o))}});
  }
  families.Add("shed_dropped_requests_total", "Calls whose outcome nobody told.",
               MetricType::Counter, static_cast<double>(snapshot.dropped), {{"limiter", limiter}});
  families.Add("shed_in_flight_requests", "Calls that have not ended, exempt ones too.",
               MetricType::Gauge, static_cast<double>(snapshot.in_flight), {{"limiter", limiter}});
  const auto policies = [&]<std::size_t... Is>(std::index_sequence<Is...>) {
    (PolicyMetrics(families, limiter, snapshot.kPolicyNames[Is])
         .Export(std::get<Is>(snapshot.policies)),
     ...);
  };
  policies(std::index_sequence_for<Policies...>());
}

// Adds what a waiting room has counted.
inline void ExportQueue(const AdmissionQueueSnapshot& s, std::string_view queue,
                        MetricFamilies& families) {
  using prometheus::MetricType;
  const std::pair<std::string_view, std::uint64_t> ends[] = {
      {"admitted_at_once", s.admitted_at_once},
      {"admitted_after_wait", s.admitted_after_wait},
      {"refused", s.refused},
      {"expired", s.expired},
      {"timed_out", s.timed_out},
      {"left", s.left},
      {"full", s.full},
      {"evicted", s.evicted}};
  for (const auto& [outcome, count] : ends) {
    families.Add("shed_queue_requests_total", "Calls that entered a waiting room and wait no more.",
                 MetricType::Counter, static_cast<double>(count),
                 {{"queue", queue}, {"outcome", outcome}});
  }
  for (std::size_t c = 0; c < kCriticalityCount; ++c) {
    families.Add("shed_queue_waiting_requests", "Calls that wait.", MetricType::Gauge,
                 static_cast<double>(s.waiting[c]),
                 {{"queue", queue}, {"criticality", Name(static_cast<Criticality>(c))}});
  }
  families.Add("shed_queue_pressure", "1 while the queue stands.", MetricType::Gauge,
               s.pressure ? 1 : 0, {{"queue", queue}});
  families.Add("shed_queue_longest_wait_seconds",
               "The longest that an admitted call waited so far.", MetricType::Gauge,
               MetricValue(s.longest_wait).value(), {{"queue", queue}});
}

}  // namespace internal

// All limiters of a process in one Collectable: an exposition must not have a family twice, as it
// would with one Collectable for each.
//
// State: the limiters' addresses and names; figures are read when they are asked for, and cost the
// calls nothing.
//
// Locking: a mutex, held while figures are read. Thread-safe: any member, any thread.
class PrometheusCollector : public prometheus::Collectable {
 public:
  PrometheusCollector() = default;
  PrometheusCollector(const PrometheusCollector&) = delete;
  PrometheusCollector& operator=(const PrometheusCollector&) = delete;

  // Adds a limiter, which must live until it is removed or the collector is gone. Throws
  // std::invalid_argument (aborts without exceptions) if its name, or that of one of its policies,
  // is not UTF-8, or if another limiter of that name is here already.
  template <class L>
  void Add(const L& limiter) {
    AddLimiter(limiter, nullptr);
  }
  // The collector keeps it alive. `limiter` must not be null.
  template <class L>
  void Add(std::shared_ptr<L> limiter) {
    internal::RequireNoProblem(limiter == nullptr ? "limiter: want one that is not null" : "");
    const auto& added = *limiter;
    AddLimiter(added, std::move(limiter));
  }
  // One that dies with the call.
  template <class L>
  void Add(const L&& limiter) = delete;

  // Adds a waiting room, an AdmissionQueue or what has its Read(), under a name of its own among
  // the waiting rooms; the same holds for it.
  template <class Queue>
  void AddQueue(std::string_view name, const Queue& queue) {
    AddSource({std::string(name), Kind::kQueue, &queue, nullptr,
               [](const Source& self, internal::MetricFamilies& families) {
                 internal::ExportQueue(static_cast<const Queue*>(self.limiter)->Read(), self.name,
                                       families);
               }},
              internal::IsUtf8(name));
  }
  template <class Queue>
  void AddQueue(std::string_view, const Queue&&) = delete;

  // Forgets a limiter or a waiting room; when this returns nobody reads it for this collector any
  // more. Returns whether it was here.
  template <class L>
  bool Remove(const L& limiter) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::erase_if(sources_, [&](const Source& source) {
             return source.limiter == static_cast<const void*>(&limiter);
           }) > 0;
  }

  std::vector<prometheus::MetricFamily> Collect() const override {
    internal::MetricFamilies families;
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Source& source : sources_) source.read(source, families);
    return std::move(families).Take();
  }

 private:
  enum class Kind : std::uint8_t { kLimiter, kQueue };
  struct Source {
    std::string name;
    Kind kind;
    const void* limiter;
    std::shared_ptr<const void> owner;
    void (*read)(const Source& source, internal::MetricFamilies& families);
  };

  template <class L>
  void AddLimiter(const L& limiter, std::shared_ptr<const void> owner) {
    const auto snapshot = limiter.Snapshot();
    bool readable = internal::IsUtf8(snapshot.name);
    for (const std::string_view policy : snapshot.kPolicyNames) {
      readable = readable && internal::IsUtf8(policy);
    }
    AddSource({std::string(snapshot.name), Kind::kLimiter, &limiter, std::move(owner),
               [](const Source& self, internal::MetricFamilies& families) {
                 internal::ExportLimiter(static_cast<const L*>(self.limiter)->Snapshot(), self.name,
                                         families);
               }},
              readable);
  }
  void AddSource(Source source, bool readable) {
    const std::lock_guard<std::mutex> lock(mutex_);
    bool known = false;
    for (const Source& other : sources_) {
      known = known || (other.kind == source.kind && other.name == source.name);
    }
    internal::RequireNoProblem(!readable ? "name: want UTF-8, of policies too"
                               : known   ? "name: want another one for each of a collector"
                                         : "");
    sources_.push_back(std::move(source));
  }

  mutable std::mutex mutex_;
  std::vector<Source> sources_;
};

}  // namespace shed

#endif  // SHED_ADAPTERS_PROMETHEUS_H_
