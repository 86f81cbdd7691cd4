// SPDX-License-Identifier: Apache-2.0
#include "view/workloads/rules_file.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

#include "support/recording_log.h"
#include "support/scratch_folder.h"

using namespace igpu;
using namespace igpu::exporter;

namespace {

std::string error_of(std::string_view text) {
  try {
    parse_workload_rules(text, "rules.yml");
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

constexpr std::string_view kOneRule = "rules:\n  - name: video\n    match: {comm: ffmpeg}\n";

}  // namespace

TEST_SUITE_BEGIN("workload rules file");

TEST_CASE("rules in their order, with one pattern or several") {
  const WorkloadRules rules = parse_workload_rules(
      "rules:\n"
      "  - name: \"channel {ancestor:1}\"\n"
      "    match:\n"
      "      ancestor: 'packager-*'\n"
      "      user: [video, 1000]\n"
      "  - name: \"{comm}\"\n"
      "    match: {comm: \"*\", exe: /usr/bin/*, cgroup: '*.service'}\n",
      "rules.yml");
  REQUIRE(rules.size() == 2);
  CHECK(rules[0] ==
        WorkloadRule{.name = "channel {ancestor:1}", .user = {"video", "1000"}, .ancestor = {"packager-*"}});
  CHECK(rules[1] == WorkloadRule{.name = "{comm}", .comm = {"*"}, .exe = {"/usr/bin/*"}, .cgroup = {"*.service"}});
}

TEST_CASE("an error names file, line and what would be right") {
  CHECK(error_of("") == "rules.yml:1: the file is empty; it needs rules:");
  CHECK(error_of("rules:\n") == "rules.yml:1: rules must be a list");
  CHECK(error_of("rules: []\n") == "rules.yml:1: no rule; each has a name and a match");
  CHECK(error_of("- a\n") == "rules.yml:1: the file must be a mapping of keys to values");
  CHECK(error_of("\nrule: []\n") == "rules.yml:2: unknown key \"rule\"; expected rules");
  CHECK(error_of("rules:\n  - video\n") == "rules.yml:2: a rule must be a mapping of keys to values");
  CHECK(error_of("rules:\n  - name: a\n    matches: {}\n") ==
        "rules.yml:3: unknown key \"matches\" of a rule; expected name or match");
  CHECK(error_of("rules:\n  - name: a\n    match:\n      command: x\n") ==
        "rules.yml:4: match: unknown key \"command\"; expected comm, exe, cgroup, user or ancestor");
  CHECK(error_of("rules:\n  - name: a\n    match:\n      comm: {}\n") == "rules.yml:4: comm must be text");
  CHECK(error_of("rules:\n  - name: a\n    match:\n      comm: []\n") ==
        "rules.yml:4: comm: an empty list matches nothing");
  CHECK(error_of("rules:\n  - name: [a]\n") == "rules.yml:2: name must be text");
  CHECK(error_of("rules:\n  - match: {comm: a}\n") == "rules.yml:2: name is missing");
  CHECK(error_of("rules:\n\n  - name: \"{pid}\"\n    match: {comm: a}\n")
            .starts_with("rules.yml:3: name: unknown placeholder {pid}"));
  CHECK(error_of("rules:\n  - name: 'a\n").starts_with("rules.yml:"));
  std::string many = "rules:\n";
  for (int i = 0; i < 1001; ++i) many += "  - {name: a, match: {comm: a}}\n";
  CHECK(error_of(many) == "rules.yml:1: more than 1000 rules");
}

TEST_CASE("a file that is bad, or missing, at start is an error") {
  const test::ScratchFolder folder;
  test::RecordingLog log;
  const std::string path = folder.write("rules.yml", "rules: 1\n");
  CHECK_THROWS_WITH(WorkloadRulesFile(path, log), ("--workload.rules: " + path + ":1: rules must be a list").c_str());
  CHECK_THROWS_WITH(WorkloadRulesFile(folder.path("no"), log),
                    ("--workload.rules: " + folder.path("no") + " cannot be read: No such file or directory").c_str());
  CHECK_THROWS(WorkloadRulesFile(folder.path(""), log));
}

TEST_CASE("a change is read, a bad one changes nothing and is logged once, and the same content is the same rules") {
  const test::ScratchFolder folder;
  test::RecordingLog log;
  WorkloadRulesFile file(folder.write("rules.yml", kOneRule), log);
  const auto first = file.current();
  CHECK(file.current() == first);
  folder.write("rules.yml", kOneRule);
  CHECK(file.current() == first);
  CHECK(log.lines().size() == 0);

  folder.write("rules.yml", "rules:\n");
  CHECK(file.current() == first);
  CHECK(file.current() == first);
  REQUIRE(log.lines().size() == 1);
  CHECK(log.count(LogLevel::error) == 1);
  CHECK(log.lines().back().text.find("rules.yml:1: rules must be a list") != std::string::npos);
  CHECK(log.lines().back().text.find("hint=correct the file") != std::string::npos);
  folder.write("rules.yml", "rules:\n  - name: other\n    match: {comm: mpv}\n");
  const auto second = file.current();
  CHECK(second != first);
  CHECK(second->front().name == "other");
  CHECK(log.lines().size() == 2);
}

TEST_SUITE_END();
