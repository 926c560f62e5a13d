// Sheds by the load of the processors, as Linux tells it in /proc/stat: optional work first, and
// what must always run never. Your service reads it once a second, from a timer that it has anyway.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>

#include "shed/shed.h"

using Limiter = shed::Limiter<shed::PressureLimiter, shed::KneeLimiter>;

// Time that all processors together have spent since the machine started, in ticks.
struct CpuTimes {
  std::uint64_t busy = 0;
  std::uint64_t total = 0;
};

std::optional<CpuTimes> ReadCpuTimes() {
  std::ifstream file("/proc/stat");
  std::string label;
  std::uint64_t user = 0, nice = 0, system = 0, idle = 0, io_wait = 0, irq = 0, soft_irq = 0,
                steal = 0;
  file >> label >> user >> nice >> system >> idle >> io_wait >> irq >> soft_irq >> steal;
  if (!file || label != "cpu") return std::nullopt;
  const std::uint64_t busy = user + nice + system + irq + soft_irq + steal;
  return CpuTimes{.busy = busy, .total = busy + idle + io_wait};
}

// The share of the time between two readings in which the processors were busy.
double Utilisation(const CpuTimes& from, const CpuTimes& to) {
  if (to.total <= from.total) return 0;
  return static_cast<double>(to.busy - from.busy) / static_cast<double>(to.total - from.total);
}

void Report(Limiter& limiter, double utilisation) {
  const std::string_view problem = limiter.Apply<shed::PressureLimiter>(
      [=](shed::PressureLimiter& pressure, shed::TimePoint now, shed::Events& events) {
        return pressure.Set(utilisation, now, events);
      });
  if (!problem.empty()) std::printf("%s\n", std::string(problem).c_str());
}

void Ask(Limiter& limiter, const char* what, shed::Criticality criticality) {
  auto guard = limiter.TryAdmit({.criticality = criticality});
  std::printf("  %-16s %s\n", what, guard ? "runs" : "is shed");
  guard.Complete(shed::Outcome::kSuccess);
}

int main() {
  // Nothing is shed below 70 %, and from 95 % on all that is not kCriticalPlus.
  Limiter limiter({.low = 0.70, .high = 0.95}, {});

  const auto since_start = ReadCpuTimes();
  if (since_start) {
    // A service keeps the reading before, and compares; a program that has just begun has none.
    const double utilisation = Utilisation({}, *since_start);
    std::printf("this machine's processors were %.0f %% busy since it started\n",
                100 * utilisation);
    Report(limiter, utilisation);
  } else {
    std::printf("no /proc/stat here: nothing is reported, and so nothing shed\n");
  }

  for (const double utilisation : {0.50, 0.80, 0.99}) {
    std::printf("at %.0f %%:\n", 100 * utilisation);
    Report(limiter, utilisation);
    Ask(limiter, "a report", shed::Criticality::kSheddable);
    Ask(limiter, "a page", shed::Criticality::kCritical);
    Ask(limiter, "a payment", shed::Criticality::kCriticalPlus);
  }
}
