// The command line: exit codes, sentences, and the form of the JSON. Runs the binary.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lab {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

struct Result {
  int code = -1;
  std::string out;
  std::string err;
};

class Cli : public ::testing::Test {
 protected:
  std::string File(const std::string& name) const {
    return ::testing::TempDir() + "shed_lab_" + std::to_string(getpid()) + "_" + name;
  }
  static std::string Read(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  Result Run(const std::string& arguments) const {
    const std::string out = File("out");
    const std::string err = File("err");
    const std::string command =
        std::string("'" SHED_LAB_BINARY "' ") + arguments + " >'" + out + "' 2>'" + err + "'";
    const int status = std::system(command.c_str());
    Result result{WIFEXITED(status) ? WEXITSTATUS(status) : -1, Read(out), Read(err)};
    std::remove(out.c_str());
    std::remove(err.c_str());
    return result;
  }
  // One sentence on stderr, nothing on stdout, exit code 2.
  void ExpectRefused(const std::string& arguments, const std::string& words) const {
    SCOPED_TRACE(arguments);
    const Result result = Run(arguments);
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr(words));
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1);
  }
};

TEST_F(Cli, RefusesWrongNames) {
  ExpectRefused("run --scenario spikes", "there is no scenario \"spikes\"");
  ExpectRefused("run --scenario ''", "there is no scenario \"\"");
  ExpectRefused("run --stack Knee", "there is no stack \"Knee\"");
  ExpectRefused("run --scenario spike --stack all,none", "there is no stack");
  ExpectRefused("walk", "there is no command \"walk\"");
  ExpectRefused("run spike", "spike");
  ExpectRefused("run --speed 3", "--speed");
  ExpectRefused("", "subcommand");
  ExpectRefused("--seed 1", "subcommand");
}

TEST_F(Cli, RefusesWrongValues) {
  for (const char* seed : {"-1", "1.5", "x", "''", "' 1'", "1x", "+1", "0x1", "nan",
                           "18446744073709551616", "99999999999999999999999"}) {
    ExpectRefused(std::string("run --scenario spike-1 --stack none --seed ") + seed, "seed");
    ExpectRefused(std::string("must --seed ") + seed, "seed");
  }
  ExpectRefused("run --seed", "--seed");
  ExpectRefused("run --seed 1 --seed 2", "seed");
  for (const char* seeds : {"5-1", "1-", "-5", "1-2-3", "a-b", "1-9999999"}) {
    ExpectRefused(std::string("must --seeds ") + seeds, "seed");
  }
  ExpectRefused("must --seed 1 --seeds 1-2", "exclude");
}

// Found out before the work, not after it.
TEST_F(Cli, RefusesAFileThatCannotBeWritten) {
  const std::string file = "/no/such/directory/x.json";
  ExpectRefused("run --scenario spike-1 --stack none --json " + file, file);
  ExpectRefused("must --json " + file, file);
  ExpectRefused("live --json " + file, file);
  ExpectRefused("demo --lab-json " + file, file);
  ExpectRefused("demo --live-json " + file, file);
}

TEST_F(Cli, HelpsAndLists) {
  EXPECT_EQ(Run("--help").code, 0);
  EXPECT_EQ(Run("run --help").code, 0);
  const Result list = Run("list");
  EXPECT_EQ(list.code, 0);
  EXPECT_THAT(list.out, HasSubstr("noisy-neighbour"));
  EXPECT_THAT(list.out, HasSubstr("gradient-envoy"));
}

TEST_F(Cli, WritesTheFiguresAsJson) {
  const std::string file = File("run.json");
  const std::string arguments =
      "run --scenario spike-1 --stack all --seed 18446744073709551615 --json '" + file + "'";
  const Result result = Run(arguments);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("goodput"));
  const std::string text = Read(file);
  const json array = json::parse(text);
  ASSERT_TRUE(array.is_array());
  EXPECT_EQ(array.size(), 28u);
  for (const json& object : array) {
    EXPECT_EQ(object.at("scenario"), "spike-1");
    EXPECT_TRUE(object.at("stack").is_string());
    EXPECT_EQ(object.at("seed"), 18446744073709551615u);
    for (const char* field :
         {"offered_per_s", "goodput_per_s", "goodput_min_1s", "goodput_after_per_s", "p50_ms",
          "p99_ms", "refused_per_s", "timeouts_per_s"}) {
      EXPECT_TRUE(object.at(field).is_number()) << field;
    }
  }
  // The same again, to the byte; and a shorter text leaves no rest of the longer one.
  ASSERT_EQ(Run(arguments).code, 0);
  EXPECT_EQ(Read(file), text);
  ASSERT_EQ(Run("run --scenario spike-1 --stack none --json '" + file + "'").code, 0);
  EXPECT_EQ(json::parse(Read(file)).size(), 1u);
  std::remove(file.c_str());
}

TEST_F(Cli, ListsCallersWhereTheyMatter) {
  const std::string file = File("noisy.json");
  ASSERT_EQ(Run("run --scenario noisy-neighbour --stack demerit --json '" + file + "'").code, 0);
  const json array = json::parse(Read(file));
  EXPECT_EQ(array.at(0).at("callers").size(), 10u);
  EXPECT_EQ(array.at(0).at("callers").at(9).at("caller"), "loud");
  std::remove(file.c_str());
}

}  // namespace
}  // namespace lab
