// SPDX-License-Identifier: Apache-2.0
#include "cli/level_zero_arguments.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cli/usage_error.h"

using namespace igpu::exporter;
using Words = std::vector<std::string>;

TEST_SUITE_BEGIN("level zero arguments");

TEST_CASE("what follows -- is the program, whatever it looks like") {
  const auto arguments = parse_level_zero_arguments(
      {"run", "--csv", "a.csv", "--report=r.html", "--stacks", "4", "--fail-on-leak", "--", "--csv", "list", "--"});
  CHECK(arguments.action == "run");
  CHECK(arguments.csv == "a.csv");
  CHECK(arguments.report == "r.html");
  CHECK(arguments.stacks == 4);
  CHECK(arguments.fail_on_leak);
  CHECK(arguments.program == Words{"--csv", "list", "--"});
}

TEST_CASE("without -- the first word that is no flag begins the program, and its flags are its own") {
  const auto arguments = parse_level_zero_arguments({"run", "--stacks=2", "llama-server", "--fail-on-leak"});
  CHECK(arguments.program == Words{"llama-server", "--fail-on-leak"});
  CHECK_FALSE(arguments.fail_on_leak);
}

TEST_CASE("files of report and csv") {
  const auto arguments = parse_level_zero_arguments({"report", "a.csv", "--html", "r.html", "--", "--b.csv"});
  CHECK(arguments.files == Words{"--b.csv"});
  CHECK(parse_level_zero_arguments({"report", "a.csv", "--html", "r.html", "b.csv"}).files == Words{"a.csv", "b.csv"});
  CHECK(parse_level_zero_arguments({"report", "--calls", "a.log"}).calls);
  CHECK(parse_level_zero_arguments({"csv", "a.log", "a.csv"}).files.size() == 2);
}

TEST_CASE("no action, or a question for help, asks for help") {
  for (const Words& words : {Words{}, Words{"--help"}, Words{"help"}, Words{"run", "-h"}, Words{"list", "--help"}})
    CHECK(parse_level_zero_arguments(words).action.empty());
}

TEST_CASE("what cannot be meant is refused") {
  for (const Words& words :
       {Words{"runn"}, Words{"run"}, Words{"run", "--"}, Words{"run", "--csv"}, Words{"run", "--csv=", "--", "true"},
        Words{"run", "--stacks", "17", "true"}, Words{"run", "--stacks", "1x", "true"},
        Words{"run", "--html", "f", "true"}, Words{"report"}, Words{"csv", "--calls", "a"},
        Words{"report", "--csv", "f", "g"}, Words{"csv"}, Words{"csv", "a", "b", "c"}, Words{"list", "more"},
        Words{"clean", "--all"}}) {
    CAPTURE(words.back());
    CHECK_THROWS_AS(parse_level_zero_arguments(words), UsageError);
  }
}

TEST_SUITE_END();
