// SPDX-License-Identifier: Apache-2.0
// The commands that print: list, stats, doctor.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/machine_tree.h"
#include "support/paths.h"
#include "support/run_program.h"
#include "support/sanitizers.h"
#include "support/scratch_folder.h"
#include "text/text.h"

using namespace igpu::test;
using igpu::exporter::cell_width;
using igpu::exporter::kTextWidth;
using Json = nlohmann::json;

namespace {

ProgramOutcome run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), exporter_binary());
  return run_program(arguments);
}

bool holds(const ProgramOutcome& outcome, const std::string& text) {
  return outcome.output.find(text) != std::string::npos;
}

std::vector<std::string> lines(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> all;
  for (std::string line; std::getline(stream, line);) all.push_back(line);
  return all;
}

// As --help lists them.
std::vector<std::string> command_names() {
  std::vector<std::string> names;
  const std::string help = run({"--help"}).output;
  const std::size_t begin = help.find("Commands:\n");
  for (const std::string& line : lines(help.substr(begin, help.find("\n\n", begin) - begin)))
    if (line.size() > 2 && line.starts_with("  ") && line[2] != ' ')
      names.push_back(line.substr(2, line.find(' ', 2) - 2));
  return names;
}

struct EmptyMachine {
  MachineTree tree;
  EmptyMachine() {
    for (const char* directory : {"sys/class/drm", "sys/bus/pci/devices", "proc", "dev/dri"})
      tree.make_directory(directory);
  }
  std::vector<std::string> with(const char* command) {
    return {command, "--path.sysfs=" + tree.path("sys"), "--path.procfs=" + tree.path("proc"),
            "--path.devfs=" + tree.path("dev")};
  }
};

}  // namespace

TEST_SUITE_BEGIN("commands");

TEST_CASE("list names every GPU and what it offers") {
  const ProgramOutcome outcome = run({"list", "--simulate=rack"});
  CHECK(outcome.status == 0);
  for (const char* text : {"0000:00:02.0", "integrated", "discrete", "renderD128", "i915", "xe", "offers", "lacks"}) {
    CAPTURE(text);
    CHECK(holds(outcome, text));
  }
  CHECK(holds(run({"list", "--simulate=rack", "--gpu=0000:00:02.0"}), "0000:00:02.0"));
  CHECK_FALSE(holds(run({"list", "--simulate=rack", "--gpu=0000:00:02.0"}), "discrete"));
}

TEST_CASE("stats prints a table, or JSON lines") {
  const ProgramOutcome table = run({"stats", "--simulate=rack"});
  CHECK(table.status == 0);
  CHECK_FALSE(holds(table, "doctor"));
  CHECK(holds(run({"stats", "--simulate=locked"}),
              "15 features are missing: `intel-gpu-exporter doctor` shows how to fix this."));
  for (const char* text : {"frequency", "MHz", "power", "processes", "ffmpeg"}) {
    CAPTURE(text);
    CHECK(holds(table, text));
  }
  const ProgramOutcome json =
      run({"stats", "--simulate=rack", "--json", "--interval=50ms", "--count=3", "--no-summary"});
  CHECK(json.status == 0);
  std::vector<std::string> all = lines(json.output);
  std::erase_if(all, [](const std::string& line) { return line.find(" of 3 in ") != std::string::npos; });  // progress
  REQUIRE(all.size() == 3);
  for (const std::string& line : all) CHECK(Json::parse(line).at("gpus").size() == 3);
}

TEST_CASE("doctor succeeds if nothing is missing and prints the fixes otherwise") {
  const ProgramOutcome whole = run({"doctor", "--simulate=tgl-broadcast"});
  CAPTURE(whole.output);
  CHECK(whole.status == 0);
  CHECK(holds(whole, "Nothing is missing."));
  CHECK_FALSE(holds(whole, "MISSING"));

  const ProgramOutcome locked = run({"doctor", "--simulate=locked"});
  CHECK(locked.status == 1);
  for (const char* text : {"MISSING", "CAP_PERFMON", "perf_event_paranoid", "group render", "not permitted"}) {
    CAPTURE(text);
    CHECK(holds(locked, text));
  }
}

TEST_CASE("doctor --bug writes a new archive, which is a capture with more files, and replaces none") {
  const ScratchFolder folder;
  const std::string file = folder.path("bug.tar.zst");
  const ProgramOutcome written = run({"doctor", "--simulate=arc-a770", "--bug=" + file});
  CAPTURE(written.output);
  CHECK(written.status == 0);
  CHECK(holds(written, "Added below bug/"));
  const ProgramOutcome served = run({"list", "--simulate=capture:" + file});
  CHECK(served.status == 0);
  CHECK(holds(served, "Arc A770"));
  CHECK(run({"doctor", "--simulate=arc-a770", "--bug=" + file}).status == 1);
  CHECK(run({"doctor", "--simulate=arc-a770", "--bug=" + file + "/no/folder"}).status == 1);
}

TEST_CASE("output that cannot be written is an error that says why") {
  const auto shell = [](const std::string& redirection, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"sh", "-c", "exec \"$@\" " + redirection, "sh", exporter_binary()});
    return run_program(arguments);
  };
  for (const char* command : {"list", "doctor", "capture", "--help", "--version"}) {
    std::vector<std::string> arguments{command};
    if (command[0] == 'c') arguments.emplace_back("-");
    if (command[0] != '-') arguments.emplace_back("--simulate=arc-a770");
    for (const auto& [redirection, reason] :
         {std::pair(">/dev/full", "No space left on device"), std::pair(">&-", "Bad file descriptor")}) {
      const ProgramOutcome outcome = shell(redirection, arguments);
      CAPTURE(command);
      CAPTURE(outcome.output);
      CHECK(outcome.status == 1);
      const std::vector<std::string> all = lines(outcome.output);
      REQUIRE(!all.empty());
      CHECK(all.back() == "intel-gpu-exporter: standard output cannot be written: " + std::string(reason));
      CHECK(all.size() == 1);
    }
  }
}

TEST_CASE("what docs/tracing.md shows on the sample recording works") {
  std::ifstream page(source_folder() + "/docs/tracing.md");
  std::size_t commands = 0;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("intel-gpu-exporter trace ") || line.find(" sample.pftrace") == std::string::npos) continue;
    ++commands;
    CAPTURE(line);
    std::istringstream words(line);
    std::vector<std::string> arguments;
    for (std::string word; words >> word;) arguments.push_back(word);
    arguments.erase(arguments.begin());
    arguments.at(2) = source_folder() + "/docs/sample.pftrace";
    const ProgramOutcome outcome = run(arguments);
    CHECK(outcome.status == 0);
    if (line.ends_with("--format csv")) CHECK(lines(outcome.output).size() > 50);
    if (line.ends_with("--by workload")) CHECK(holds(outcome, "channel-1.service"));
    if (line.ends_with("--width 80"))
      for (const std::string& row : lines(outcome.output)) CHECK_MESSAGE(cell_width(row) <= 80, row);
  }
  CHECK(commands == 6);
}

TEST_CASE("trace record does not write through a link") {
  const ScratchFolder folder;
  folder.write("precious", "text");
  std::filesystem::create_symlink("precious", folder.path("gpu.pftrace"));
  const ProgramOutcome outcome = run({"trace", "record", "-o", folder.path("gpu.pftrace"), "--duration", "1ms"});
  CHECK(outcome.status == 1);
  CHECK(holds(outcome, "gpu.pftrace: a symbolic link is not followed; name the file itself"));
  CHECK(std::filesystem::file_size(folder.path("precious")) == 4);
}

TEST_CASE("list, doctor and stats print JSON on request") {
  const ProgramOutcome list = run({"list", "--simulate=rack", "--json"});
  CHECK(list.status == 0);
  const Json gpus = Json::parse(list.output);
  REQUIRE(gpus.at("gpus").size() == 3);
  CHECK(gpus.at("gpus").at(1).at("device_id") == "0x56a0");
  CHECK(gpus.at("gpus").at(1).at("render_node") == "renderD129");
  CHECK(gpus.at("machine").at("features").at(0).at("feature") == "processes");
  CHECK(gpus.at("machine").at("features").back().at("feature") == "level_zero");

  const ProgramOutcome locked = run({"doctor", "--simulate=locked", "--json"});
  CHECK(locked.status == 1);
  const Json doctor = Json::parse(locked.output);
  CHECK(doctor.at("complete") == false);
  CHECK(doctor.at("fixes").size() >= 3);

  const ProgramOutcome stats = run({"stats", "--simulate=rack", "--format=json"});
  CHECK(Json::parse(stats.output).at("gpus").size() == 3);
}

TEST_CASE("help, version and --help of each command exit with 0 and fit 80 columns") {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"help"},
                                                    {"--help"},
                                                    {"help", "stats"},
                                                    {"stats", "--help"},
                                                    {"doctor", "-h"},
                                                    {"version"},
                                                    {"--version"}}) {
    const ProgramOutcome outcome = run(arguments);
    CAPTURE(arguments.front());
    CHECK(outcome.status == 0);
    if (arguments.back().find("version") != std::string::npos) continue;  // a revision and a compiler may be long
    for (const std::string& line : lines(outcome.output)) CHECK(line.size() <= kTextWidth);
  }
  CHECK(run({"help", "stats"}).output == run({"stats", "--help"}).output);
  CHECK(run({"help", "trace", "record"}).output == run({"trace", "record", "--help"}).output);
  CHECK(holds(run({"help", "trace", "record"}), "--max-rate"));
  CHECK_FALSE(holds(run({"help", "trace", "record"}), "--histogram"));  // of report
  CHECK(run({"help", "trace", "rekord"}).status == 2);
  CHECK(run({"version"}).output == run({"--version"}).output);
}

TEST_CASE("a wrong flag is 2 in every command, but as in the original in intel_gpu_top") {
  for (const std::string& command : command_names()) {
    CAPTURE(command);
    CHECK(run({command, "--no-such-flag"}).status == (command == "intel_gpu_top" ? 1 : 2));
  }
  CHECK(run({"level-zero", "run", "--no-such-flag"}).status == 2);
  CHECK(run({"--web.max-requests=many"}).status == 2);
  CHECK(run({"no-such-command"}).status == 2);
}

TEST_CASE("the help of a command has no flag that means nothing to it") {
  const auto help = [](const std::string& command) { return run({command, "--help"}); };
  const std::vector<std::string> readers{"serve", "list", "stats", "query", "top", "doctor", "capture"};
  for (const std::string& command : command_names()) {
    CAPTURE(command);
    if (command == "help") continue;  // its help is that of the program
    const bool reads = std::find(readers.begin(), readers.end(), command) != readers.end();
    CHECK(holds(help(command), "--gpu") == reads);
    CHECK(holds(help(command), "--help-all") == reads);
    CHECK(holds(help(command), "--push.") == (command == "serve"));
  }
  CHECK(holds(help("healthcheck"), "--web.listen-address"));
  CHECK_FALSE(holds(help("version"), "Durations"));
  CHECK(holds(help("stats"), "Durations"));
}

TEST_CASE("what a simulation lacks is asked of that machine, not of this one") {
  const ProgramOutcome locked = run({"doctor", "--simulate=locked"});
  CHECK(locked.output.starts_with("Simulated: locked."));
  CHECK(holds(locked,
              "3 commands grant 15 values and 2 optional ones:\n\n  sudo sysctl kernel.perf_event_paranoid=2 |\n"));
  CHECK(holds(locked, "sudo setcap cap_perfmon,cap_sys_ptrace+ep \\\n    /usr/bin/intel-gpu-exporter\n"));
  const Json json = Json::parse(run({"doctor", "--simulate=locked", "--json"}).output);
  CHECK(json.at("simulated") == "locked");
  CHECK(json.at("place").at("kind") == "bare metal");
  std::size_t brought = 0, optional = 0;
  for (const Json& fix : json.at("fixes"))
    for (const Json& one : fix.at("brings")) ++(one.contains("optional") ? optional : brought);
  CHECK(brought == 15);
  CHECK(optional == 2);
}

TEST_CASE("a collector that is on is not blamed for being off") {
  CHECK(holds(run({"doctor", "--simulate=battlemage", "--json"}), "the collector jobs, which is off"));
  CHECK_FALSE(holds(run({"doctor", "--simulate=battlemage", "--collector.jobs", "--json"}), "which is off"));
}

TEST_CASE("engines stand in the order of their classes, also in stats") {
  const std::string text = run({"stats", "--simulate=arc-a770"}).output;
  std::size_t at = 0;
  for (const char* engine : {"rcs0", "bcs0", "vcs0", "vcs1", "vecs0", "vecs1", "ccs0"}) {
    CAPTURE(engine);
    const std::size_t found = text.find(engine);
    CHECK(found != std::string::npos);
    CHECK(found > at);
    at = found;
  }
}

TEST_CASE("the output of every command fits 80 columns") {
  for (const char* profile : {"rack", "locked", "asleep"}) {
    for (const char* command : {"list", "stats", "query", "doctor"}) {
      CAPTURE(profile);
      CAPTURE(command);
      for (const std::string& line : lines(run({command, std::string("--simulate=") + profile}).output)) {
        CAPTURE(line);
        CHECK(static_cast<std::size_t>(cell_width(line)) <= kTextWidth);
      }
    }
  }
}

TEST_CASE("a command that prints once does not wait for a missing GPU, and lists the available ones") {
  for (const char* command : {"list", "stats", "query", "doctor"}) {
    CAPTURE(command);
    const ProgramOutcome rack = run({command, "--simulate=rack", "--gpu=card9"});
    CHECK(rack.status == 1);
    CHECK(rack.output.ends_with(
        "intel-gpu-exporter: --gpu: there is no Intel GPU \"card9\"; available: 0000:00:02.0 (card1, renderD128), "
        "0000:03:00.0 (card2, renderD129), 0000:07:00.0 (card3, renderD130)\n"));
    EmptyMachine machine;
    std::vector<std::string> arguments = machine.with(command);
    arguments.push_back("--gpu=card0");
    const ProgramOutcome none = run(arguments);
    CHECK(none.status == 1);
    CHECK(holds(none, "none is here"));
    CHECK_FALSE(holds(none, "serving"));
  }
  CHECK(run({"stats", "--simulate=rack", "--gpu=renderD129", "--gpu=0000:00:02.0"}).status == 0);
}

#ifndef IGPU_SANITIZED  // these take terabytes of address space
TEST_CASE("a start without enough memory reports what is missing and the limit") {
  const auto start = [](const char* limit) {
    return run_program(
        {"sh", "-c",
         "ulimit -v " + std::string(limit) + " && exec \"$0\" --simulate=asleep --web.listen-address=127.0.0.1:0",
         exporter_binary()});
  };
  const ProgramOutcome outcome = start("60000");
  CAPTURE(outcome.output);
  CHECK(outcome.status == 1);
  CHECK(holds(outcome, "address space is limited to 60000 KiB (ulimit -v"));
}
#endif

TEST_CASE("a sleeping GPU is not reported as missing") {
  const ProgramOutcome outcome = run({"doctor", "--simulate=asleep"});
  CHECK(holds(outcome, "asleep and is not woken"));
  CHECK_FALSE(holds(outcome, "MISSING"));
  CHECK(outcome.status == 0);
}

TEST_CASE("a sleeping GPU is not said to have what no GPU of its kind or driver has") {
  const ProgramOutcome outcome = run({"list", "--simulate=asleep", "--json"});
  for (const Json& gpu : Json::parse(outcome.output).at("gpus")) {
    std::map<std::string, std::string> reasons;
    for (const Json& feature : gpu.at("features"))
      if (!feature.at("available")) reasons[feature.at("feature")] = feature.at("reason");
    CAPTURE(gpu.at("driver"));
    CHECK(reasons.at("frequency") == "suspended");
    CHECK(reasons.at("memory_bandwidth") == "hardware");  // of the processor's memory
    CHECK_FALSE(reasons.contains("power_share"));         // of Windows
    const bool is_xe = gpu.at("driver") == "xe";
    for (const char* of_i915 : {"engine_wait_sema", "interrupts", "frequency_average", "awake_time"})
      CHECK(reasons.at(of_i915) == (is_xe ? "kernel" : "suspended"));
    CHECK(reasons.at("temperature_limits") == (is_xe ? "suspended" : "kernel"));
  }
}

TEST_CASE("a feature that a flag turned off is not reported as missing") {
  const ProgramOutcome outcome = run({"doctor", "--simulate=tgl-broadcast", "--no-collector.rc6"});
  CHECK(outcome.status == 0);
}

TEST_CASE("with nothing to show list, query, stats, top --once and doctor exit with 1; an NPU is something to show") {
  EmptyMachine empty;
  for (const char* command : {"list", "query", "stats", "doctor"}) {
    CAPTURE(command);
    CHECK(run(empty.with(command)).status == 1);
  }
  std::vector<std::string> top = empty.with("top");
  top.emplace_back("--once");
  CHECK(run(top).status == 1);
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"list"}, {"stats"}, {"top", "--once"}, {"doctor"}, {"query"}}) {
    std::vector<std::string> words = arguments;
    words.emplace_back("--simulate=npu");
    const ProgramOutcome npu = run(words);
    CAPTURE(npu.output);
    CHECK(npu.status == (arguments.front() == "query" ? 1 : 0));  // its fields are those of GPUs
    CHECK_FALSE(holds(npu, "No Intel GPU"));
    CHECK(holds(npu, "NPU"));
  }
}

TEST_CASE("without a GPU doctor says why, list and stats say so") {
  EmptyMachine machine;
  CHECK(holds(run(machine.with("list")), "No Intel GPU"));
  CHECK(holds(run(machine.with("stats")), "No Intel GPU"));
  const ProgramOutcome doctor = run(machine.with("doctor"));
  CHECK(doctor.status == 1);
  CHECK(holds(doctor, "lspci"));
  for (const char* command : {"doctor", "list", "stats"}) {
    CAPTURE(command);
    std::vector<std::string> arguments = machine.with(command);
    arguments.emplace_back("--json");
    const std::string output = run(arguments).output;
    const Json why = Json::parse(output.substr(0, output.find('\n'))).at("no_gpu");
    CHECK(why.at("cause").get<std::string>().find(machine.tree.path("sys")) != std::string::npos);
    CHECK(why.at("command").get<std::string>().starts_with("lspci"));
    CHECK(why.contains("hint"));
  }
  std::vector<std::string> fields = machine.with("query");
  fields.emplace_back("--fields=power");
  CHECK(run(fields).output == "power.mean [W]\nNo Intel GPU found: `intel-gpu-exporter doctor` says why.\n");
}

TEST_SUITE_END();
