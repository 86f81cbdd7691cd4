// SPDX-License-Identifier: Apache-2.0
#include "cli/settings.h"

#include <doctest/doctest.h>

#include "cli/options.h"
#include "cli/usage_error.h"

using namespace igpu::exporter;
using Values = std::vector<std::string>;

namespace {

std::vector<CommandFlag> flags() {
  std::vector<CommandFlag> list{{"web.listen-address", "ADDRESS", "", ""},
                                {"log.level", "LEVEL", "", ""},
                                {"collector.imc", "", "", ""},
                                {"json", "", "", ""},
                                {"config", "FILE", "", ""}};
  list[0].repeatable = true;
  list[2].negatable = true;
  return list;
}

Values values(const Settings& settings, const std::string& flag) {
  const Settings::Setting* setting = settings.find(flag);
  return setting == nullptr ? Values{} : setting->values;
}

Settings from_text(std::string_view text) {
  Settings settings;
  add_config_text(settings, flags(), text, "x.conf");
  return settings;
}

Settings from_environment(std::map<std::string, std::string> variables) {
  Settings settings;
  add_environment(settings, flags(), [&](const char* name) {
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

TEST_CASE("a file has one flag per line") {
  const Settings settings = from_text(
      "# comment\n"
      "\n"
      "web.listen-address = :1   # behind a value\r\n"
      "web.listen-address = [::1]:2\n"
      "--log.level=\"warn\"\n"
      "collector.imc = false\n"
      "json\n");
  CHECK(values(settings, "web.listen-address") == Values{":1", "[::1]:2"});
  CHECK(values(settings, "log.level") == Values{"warn"});
  CHECK(values(settings, "collector.imc") == Values{"false"});
  CHECK(values(settings, "json") == Values{"true"});
  CHECK(settings.find("collector.imc")->origin == "x.conf:6: collector.imc");
}

TEST_CASE("sections, lists and negative switches are understood") {
  const Settings settings = from_text(
      "no-collector.imc\n"
      "[web]\n"
      "listen-address = [\":1\", ':2']\n");
  CHECK(values(settings, "collector.imc") == Values{"false"});
  CHECK(values(settings, "web.listen-address") == Values{":1", ":2"});
}

TEST_CASE("an error in a file is reported with its line") {
  CHECK_THROWS_WITH_AS(from_text("\nnope = 1\n"), "x.conf:2: unknown flag \"nope\"", UsageError);
  CHECK_THROWS_WITH_AS(from_text("log.level"), "x.conf:1: log.level needs a value", UsageError);
  CHECK_THROWS_WITH_AS(from_text("log.level=info\nlog.level=warn"), "x.conf:2: log.level: given twice", UsageError);
  CHECK_THROWS_WITH_AS(from_text("json = maybe"), "x.conf:1: json: \"maybe\" is neither true nor false", UsageError);
  CHECK_THROWS_WITH_AS(from_text("config = y"), "x.conf:1: unknown flag \"config\"", UsageError);
  CHECK_THROWS_AS(from_text("log.level = [a, b]"), UsageError);
  CHECK_THROWS_AS(from_text("web.listen-address = [a,,b]"), UsageError);
}

TEST_CASE("the command line wins over the environment, the environment over the file") {
  Settings settings;
  settings.set("log.level", {{"error"}, "--log.level"});
  add_environment(settings, flags(), [](const char* name) -> const char* {
    return std::string_view(name) == "INTEL_GPU_EXPORTER_LOG_LEVEL"       ? "warn"
           : std::string_view(name) == "INTEL_GPU_EXPORTER_COLLECTOR_IMC" ? "true"
                                                                          : nullptr;
  });
  add_config_text(settings, flags(), "log.level=debug\ncollector.imc=false\njson=true\n", "x.conf");
  CHECK(values(settings, "log.level") == Values{"error"});
  CHECK(values(settings, "collector.imc") == Values{"true"});
  CHECK(values(settings, "json") == Values{"true"});
}

TEST_CASE("a file that cannot be read is named") {
  Settings settings;
  CHECK_THROWS_WITH_AS(add_config_file(settings, flags(), {{"/no/such/file"}, "--config"}),
                       "--config: cannot read /no/such/file: No such file or directory", UsageError);
  CHECK_THROWS_AS(add_config_file(settings, flags(), {{"/"}, "--config"}), UsageError);
}

TEST_CASE("a value that a collector's option refuses is blamed on the place that it came from") {
  const std::vector<CommandFlag> all = all_flags();
  const auto refused = [](const Settings& settings, const char* text) {
    CHECK_THROWS_WITH_AS(options_from(settings), text, UsageError);
  };
  Settings environment;
  add_environment(environment, all, [](const char* name) -> const char* {
    return std::string_view(name) == "INTEL_GPU_EXPORTER_COLLECTOR_ENGINES_XE_SOURCE" ? "foo" : nullptr;
  });
  refused(environment, "INTEL_GPU_EXPORTER_COLLECTOR_ENGINES_XE_SOURCE: \"foo\" is none of auto, pmu, fdinfo");
  Settings file;
  add_config_text(file, all, "[collector.fdinfo]\nmax-processes = many\n", "x.conf");
  refused(file, "x.conf:2: collector.fdinfo.max-processes: \"many\" is not a number");
}

TEST_SUITE_END();
