// shed_lab: shows what a service under overload does without a limiter and with one.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "cell.h"
#include "json.h"
#include "live.h"
#include "must.h"
#include "scenarios.h"
#include "stacks.h"
#include "table.h"

namespace lab {
namespace {

using shed::sim::Report;

constexpr int kFailed = 1;
constexpr int kBadInput = 2;

// A bad argument, in one sentence.
struct BadInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::uint64_t ParseSeed(const std::string& text) {
  std::uint64_t seed = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, seed);
  if (error != std::errc() || rest != end) {
    throw BadInput("a seed is a whole number from 0 to 18446744073709551615, not \"" + text + "\"");
  }
  return seed;
}

// "7", or "1-5".
std::vector<std::uint64_t> ParseSeeds(const std::string& text) {
  const std::size_t dash = text.find('-', 1);
  if (dash == std::string::npos) return {ParseSeed(text)};
  const std::uint64_t first = ParseSeed(text.substr(0, dash));
  const std::uint64_t last = ParseSeed(text.substr(dash + 1));
  if (last < first || last - first >= 1000) {
    throw BadInput("a range of seeds goes upwards and has at most 1000 of them, unlike \"" + text +
                   "\"");
  }
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = first; seed - first <= last - first; ++seed) {
    seeds.push_back(seed);
    if (seed == last) break;
  }
  return seeds;
}

template <class Item>
std::vector<const Item*> Chosen(const std::vector<Item>& all, const std::string& name,
                                const char* what) {
  std::vector<const Item*> chosen;
  for (const Item& item : all) {
    if (name == "all" || name == item.name) chosen.push_back(&item);
  }
  if (chosen.empty()) {
    throw BadInput(std::string("there is no ") + what + " \"" + name +
                   "\"; `shed_lab list` names them");
  }
  return chosen;
}

// Fails early, before minutes of work.
void RequireWritable(const std::string& file) {
  if (file.empty()) return;
  std::FILE* const opened = std::fopen(file.c_str(), "ab");
  if (opened == nullptr) throw BadInput("cannot write to \"" + file + "\"");
  std::fclose(opened);
}

void Write(const std::string& file, const std::string& text) {
  if (file.empty()) return;
  const std::string problem = WriteFile(file, text);
  if (!problem.empty()) throw BadInput(problem);
}

unsigned Threads() { return std::max(1u, std::thread::hardware_concurrency()); }

std::vector<Report> RunShowingProgress(const std::vector<Cell>& cells) {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const std::size_t step = terminal ? 1 : std::max<std::size_t>(1, cells.size() / 8);
  return RunCells(cells, Threads(), [&](std::size_t done, const Report& report) {
    if (done % step != 0 && done != cells.size()) return;
    std::fprintf(stderr, "%s[%zu/%zu] %s, %s%s", terminal ? "\r\033[K" : "", done, cells.size(),
                 report.scenario.c_str(), report.stack.c_str(),
                 terminal && done != cells.size() ? "" : "\n");
  });
}

void PrintLab(const std::vector<Report>& reports) {
  PrintReports(stdout, reports);
  std::printf(
      "\nCalls per second, during the event without its first 2 s (`fast`: all of it); lowest: "
      "the\n"
      "lowest whole second of the event; after: the last 15 s of the run; p50, p99: of the answers "
      "that came in "
      "time.\n");
}

// Prints the must-table. Returns the exit code.
int Judge(const std::vector<Report>& reports, const std::vector<std::uint64_t>& seeds) {
  const std::vector<MustResult> results = HoldAgainst(reports, seeds);
  PrintResults(stdout, results);
  const auto failed = std::count_if(results.begin(), results.end(),
                                    [](const MustResult& result) { return !result.ok; });
  std::printf("\n%zu requirements, %td fail.\n", results.size(), failed);
  return failed == 0 ? 0 : kFailed;
}

struct RunCommand {
  std::string scenario = "all";
  std::string stack = "all";
  std::string seed = "1";
  std::string json;

  int operator()() const {
    std::vector<Cell> cells;
    for (const auto* s : Chosen(Scenarios(), scenario, "scenario")) {
      for (const Stack* t : Chosen(Stacks(), stack, "stack")) {
        cells.push_back({s, t, ParseSeed(seed)});
      }
    }
    RequireWritable(json);
    const std::vector<Report> reports = RunShowingProgress(cells);
    PrintLab(reports);
    Write(json, ToJson(reports));
    return 0;
  }
};

struct MustCommand {
  std::string seed = "1";
  std::string seeds;
  std::string json;

  int operator()() const {
    const auto chosen = ParseSeeds(seeds.empty() ? std::to_string(ParseSeed(seed)) : seeds);
    RequireWritable(json);
    const std::vector<Report> reports = RunShowingProgress(MustCells(chosen));
    Write(json, ToJson(reports));
    return Judge(reports, chosen);
  }
};

struct LiveCommand {
  std::string json;

  int operator()() const {
    RequireWritable(json);
    const std::vector<Report> reports = RunLive({}, [](const Report& report) {
      std::fprintf(stderr, "[live] %.0f/s, %s\n", report.Find("target_per_s").value_or(0),
                   report.stack.c_str());
    });
    PrintReports(stdout, reports);
    std::printf("\nCalls per second, in all 3 s of each run. The workers can do %.0f.\n",
                reports.front().Find("capacity_per_s").value_or(0));
    Write(json, ToJson(reports));
    return 0;
  }
};

struct DemoCommand {
  std::string lab_json;
  std::string live_json;

  int operator()() const {
    RequireWritable(lab_json);
    RequireWritable(live_json);
    std::printf("The lab: a simulated service, the real limiters, seed 1.\n\n");
    std::fflush(stdout);
    const std::vector<std::uint64_t> seeds = {1};
    const std::vector<Report> reports = RunShowingProgress(MustCells(seeds));
    PrintLab(reports);
    std::printf("\nWhat must come out of it:\n\n");
    const int code = Judge(reports, seeds);
    Write(lab_json, ToJson(reports));
    std::printf("\nThe live run: real threads, real time, a deadline of 50 ms.\n\n");
    std::fflush(stdout);
    static_cast<void>(LiveCommand{live_json}());
    return code;
  }
};

int List() {
  std::printf("Scenarios:\n");
  for (const auto& s : Scenarios()) std::printf("  %-18s %s\n", s.name.c_str(), s.about.c_str());
  std::printf("Stacks:\n");
  for (const Stack& s : Stacks()) std::printf("  %-18s %s\n", s.name.c_str(), s.about.c_str());
  return 0;
}

int Complain(std::string sentence) {
  std::replace(sentence.begin(), sentence.end(), '\n', ' ');
  std::fprintf(stderr, "shed_lab: %s\n", sentence.c_str());
  return kBadInput;
}

void AddFile(CLI::App& command, const char* option, std::string& file) {
  command.add_option(option, file, "Write the figures to this file")->type_name("FILE");
}

// The command line. Each command's work is its callback; its exit code ends in `code`.
struct CommandLine {
  CommandLine() {
    app.require_subcommand(1);
    AddLabCommands();
    CLI::App* const live_app = app.add_subcommand("live", "Real threads in real time, 36 s");
    AddFile(*live_app, "--json", live.json);
    live_app->callback([this] { code = live(); });
    CLI::App* const demo_app = app.add_subcommand("demo", "must with seed 1, and live");
    AddFile(*demo_app, "--lab-json", demo.lab_json);
    AddFile(*demo_app, "--live-json", demo.live_json);
    demo_app->callback([this] { code = demo(); });
  }

  void AddLabCommands() {
    CLI::App* const run_app = app.add_subcommand("run", "Run scenarios under limiter stacks");
    run_app->add_option("--scenario", run.scenario, "A name, or all")->type_name("NAME");
    run_app->add_option("--stack", run.stack, "A name; or all: every stack, that one too")
        ->type_name("NAME");
    run_app->add_option("--seed", run.seed, "0 to 2^64 - 1; 1 unless given")->type_name("N");
    AddFile(*run_app, "--json", run.json);
    run_app->callback([this] { code = run(); });
    app.add_subcommand("list", "Name all scenarios and stacks")->callback([this] {
      code = List();
    });
    CLI::App* const must_app =
        app.add_subcommand("must", "Hold the figures against what must come out");
    CLI::Option* const seed =
        must_app->add_option("--seed", must.seed, "One seed; 1 unless given")->type_name("N");
    must_app->add_option("--seeds", must.seeds, "Several seeds, as in 1-5")
        ->type_name("A-B")
        ->excludes(seed);
    AddFile(*must_app, "--json", must.json);
    must_app->callback([this] { code = must(); });
  }

  bool HasCommand(const std::string& name) {
    const auto has_name = [&](CLI::App* command) { return command->get_name() == name; };
    return !app.get_subcommands(has_name).empty();
  }

  CLI::App app{"The overload lab: what a service does when more is asked of it than it can do."};
  RunCommand run;
  LiveCommand live;
  MustCommand must;
  DemoCommand demo;
  int code = 0;
};

int Main(int argc, char** argv) {
  CommandLine line;
  // CLI11 would only say that a subcommand is required.
  const std::string first = argc > 1 ? argv[1] : "";
  if (!first.empty() && first[0] != '-' && !line.HasCommand(first)) {
    return Complain("there is no command \"" + first + "\"; `shed_lab --help` names them");
  }
  try {
    line.app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return line.app.exit(error);  // --help.
    return Complain(error.what());
  } catch (const BadInput& problem) {
    return Complain(problem.what());
  }
  return line.code;
}

}  // namespace
}  // namespace lab

int main(int argc, char** argv) { return lab::Main(argc, argv); }
