// SPDX-License-Identifier: Apache-2.0
// The commands that print: list, stats, doctor.
#include <doctest/doctest.h>

#include <sstream>

#include "support/json_value.h"
#include "support/machine_tree.h"
#include "support/run_program.h"

using namespace igpu::test;

namespace {

ProgramOutcome run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), IGPU_EXPORTER_BINARY);
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
  for (const char* text : {"frequency", "MHz", "power", "processes", "ffmpeg"}) {
    CAPTURE(text);
    CHECK(holds(table, text));
  }
  const ProgramOutcome json = run({"stats", "--simulate=rack", "--json", "--interval=50ms", "--count=3"});
  CHECK(json.status == 0);
  const std::vector<std::string> all = lines(json.output);
  REQUIRE(all.size() == 3);
  for (const std::string& line : all) CHECK(parse_json(line)["gpus"].items.size() == 3);
}

TEST_CASE("doctor succeeds where everything is there and says what cures where not") {
  const ProgramOutcome whole = run({"doctor", "--simulate=tgl-broadcast"});
  CAPTURE(whole.output);
  CHECK(whole.status == 0);
  CHECK(holds(whole, "Everything is there."));
  CHECK_FALSE(holds(whole, "MISSING"));

  const ProgramOutcome locked = run({"doctor", "--simulate=locked"});
  CHECK(locked.status == 1);
  for (const char* text : {"MISSING", "CAP_PERFMON", "perf_event_paranoid", "usermod -aG render", "not permitted"}) {
    CAPTURE(text);
    CHECK(holds(locked, text));
  }
}

TEST_CASE("a sleeping GPU is no fault") {
  const ProgramOutcome outcome = run({"doctor", "--simulate=asleep"});
  CHECK(holds(outcome, "asleep and is not woken"));
  CHECK_FALSE(holds(outcome, "MISSING"));
  CHECK(outcome.status == 0);
}

TEST_CASE("what a flag turned off is no fault either") {
  const ProgramOutcome outcome = run({"doctor", "--simulate=tgl-broadcast", "--no-collector.rc6"});
  CHECK(outcome.status == 0);
}

TEST_CASE("a machine without a GPU is told so: list and stats are content, doctor is not") {
  EmptyMachine machine;
  CHECK(run(machine.with("list")).status == 0);
  CHECK(holds(run(machine.with("list")), "No Intel GPU"));
  CHECK(run(machine.with("stats")).status == 0);
  const ProgramOutcome doctor = run(machine.with("doctor"));
  CHECK(doctor.status == 1);
  CHECK(holds(doctor, "lspci"));
}

TEST_SUITE_END();
