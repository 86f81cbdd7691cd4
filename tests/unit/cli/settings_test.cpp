// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "cli/flags.h"
#include "cli/options.h"
#include "cli/output.h"

using namespace igpu::exporter;
using Values = std::vector<std::string>;

namespace {

std::vector<CommandFlag> flags() {
  std::vector<CommandFlag> list{{"web.listen-address", "ADDRESS", "", "", {}},
                                {"log.level", "LEVEL", "", "", {}},
                                {"collector.imc", "", "", "", {}},
                                {"json", "", "", "", {}, {"stats"}},
                                {"cpu", "", "", "", {}, {"trace record"}}};
  list[0].repeatable = true;
  list[2].negatable = true;
  return list;
}

Values values(const Settings& settings, const std::string& flag) {
  const Setting* setting = settings.find(flag);
  return setting == nullptr ? Values{} : setting->values;
}

Settings from_environment(std::map<std::string, std::string> variables, std::string_view command = "stats") {
  Settings settings;
  add_environment(settings, flags(), command, [&](const char* name) {
    const auto it = variables.find(name);
    return it == variables.end() ? nullptr : it->second.c_str();
  });
  return settings;
}

}  // namespace

TEST_SUITE_BEGIN("settings");

TEST_CASE("every flag has its variable") {
  CHECK(environment_name(flags()[0]) == "INTEL_GPU_EXPORTER_WEB_LISTEN_ADDRESS");
  const Settings settings = from_environment({{"INTEL_GPU_EXPORTER_WEB_LISTEN_ADDRESS", ":1, [::1]:2"},
                                              {"INTEL_GPU_EXPORTER_LOG_LEVEL", "warn"},
                                              {"INTEL_GPU_EXPORTER_COLLECTOR_IMC", "false"},
                                              {"INTEL_GPU_EXPORTER_JSON", "1"}});
  CHECK(values(settings, "web.listen-address") == Values{":1", "[::1]:2"});
  CHECK(values(settings, "log.level") == Values{"warn"});
  CHECK(values(settings, "collector.imc") == Values{"false"});
  CHECK(values(settings, "json") == Values{"true"});
  CHECK(settings.find("log.level")->origin == "INTEL_GPU_EXPORTER_LOG_LEVEL");
}

TEST_CASE("a switch can also be turned off by its --no- name") {
  CHECK(values(from_environment({{"INTEL_GPU_EXPORTER_NO_COLLECTOR_IMC", "true"}}), "collector.imc") ==
        Values{"false"});
  CHECK_THROWS_AS(from_environment({{"INTEL_GPU_EXPORTER_JSON", "perhaps"}}), UsageError);
}

TEST_CASE("empty variables and those of a Kubernetes service with our name are ignored") {
  CHECK(from_environment({{"INTEL_GPU_EXPORTER_LOG_LEVEL", ""},
                          {"INTEL_GPU_EXPORTER_SERVICE_HOST", "10.0.0.1"},
                          {"INTEL_GPU_EXPORTER_PORT", "tcp://10.0.0.1:10068"}})
            .all()
            .empty());
}

TEST_CASE("a command reads the variables of its own flags only; flags of actions have none") {
  const std::map<std::string, std::string> variables{{"INTEL_GPU_EXPORTER_JSON", "perhaps"},
                                                     {"INTEL_GPU_EXPORTER_CPU", "1"}};
  CHECK(from_environment(variables, "trace").all().empty());
  CHECK_THROWS_AS(from_environment(variables, "stats"), UsageError);
}

TEST_CASE("the command line wins over the environment") {
  Settings settings;
  settings.set("log.level", {{"error"}, "--log.level"});
  add_environment(settings, flags(), "serve", [](const char* name) -> const char* {
    return std::string_view(name) == "INTEL_GPU_EXPORTER_LOG_LEVEL"       ? "warn"
           : std::string_view(name) == "INTEL_GPU_EXPORTER_COLLECTOR_IMC" ? "true"
                                                                          : nullptr;
  });
  CHECK(values(settings, "log.level") == Values{"error"});
  CHECK(values(settings, "collector.imc") == Values{"true"});
}

TEST_CASE("a value that a collector's option refuses is blamed on the place that it came from") {
  CommandLine line = parse_command_line({});
  CHECK_THROWS_WITH_AS(
      options_from(line,
                   [](const char* name) -> const char* {
                     return std::string_view(name) == "INTEL_GPU_EXPORTER_COLLECTOR_ENGINES_XE_SOURCE" ? "foo"
                                                                                                       : nullptr;
                   }),
      "INTEL_GPU_EXPORTER_COLLECTOR_ENGINES_XE_SOURCE: \"foo\" is none of auto, pmu, fdinfo", UsageError);
}

TEST_SUITE_END();
