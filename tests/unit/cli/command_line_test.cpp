// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "cli/options.h"
#include "cli/usage_error.h"
#include "igpu/monitor.h"

using namespace igpu;
using namespace igpu::exporter;
using namespace std::chrono_literals;
using Arguments = std::vector<std::string>;

namespace {

CommandLine parse(const Arguments& arguments) { return parse_command_line(arguments, all_flags()); }
Options options(const Arguments& arguments) { return options_from(parse(arguments).settings); }

}  // namespace

TEST_SUITE_BEGIN("command_line");

TEST_CASE("without arguments the exporter serves with the documented defaults") {
  const CommandLine line = parse({});
  CHECK(line.command == "serve");
  const Options defaults = options_from(line.settings);
  REQUIRE(defaults.listen_addresses.size() == 1);
  CHECK(defaults.listen_addresses.front().text == ":10068");
  CHECK(defaults.telemetry_path == "/metrics");
  CHECK(defaults.max_requests == 40);
  CHECK(defaults.timeout == 10s);
  CHECK(defaults.exporter_metrics);
  CHECK(defaults.log_level == LogLevel::info);
  CHECK(defaults.log_format == LogFormat::logfmt);
  CHECK(defaults.monitor.sysfs_root == "/sys");
  CHECK(defaults.monitor.procfs_root == "/proc");
  CHECK(defaults.monitor.devfs_root == "/dev");
  CHECK(defaults.monitor.simulate.empty());
  CHECK(defaults.monitor.min_window == 1s);
  CHECK(defaults.monitor.collectors.empty());
  CHECK_FALSE(defaults.monitor.disable_default_collectors);
}

TEST_CASE("flags stand before or behind the command, with a blank or an equals sign") {
  for (const Arguments& arguments : {Arguments{"--gpu", "card0", "list"}, Arguments{"list", "--gpu=card0"},
                                     Arguments{"--gpu=card0", "list"}, Arguments{"list", "--gpu", "card0"}}) {
    const CommandLine line = parse(arguments);
    CHECK(line.command == "list");
    CHECK(options_from(line.settings).monitor.gpus == Arguments{"card0"});
  }
}

TEST_CASE("repeatable flags accumulate, others may be given once") {
  CHECK(options({"--gpu=card0", "--gpu", "0000:03:00.0"}).monitor.gpus == Arguments{"card0", "0000:03:00.0"});
  CHECK(options({"--web.listen-address=:1", "--web.listen-address=:2"}).listen_addresses.size() == 2);
  CHECK_THROWS_WITH_AS(parse({"--path.sysfs=a", "--path.sysfs=b"}), "--path.sysfs: given more than once", UsageError);
}

TEST_CASE("every collector that is not always on has a pair of switches") {
  for (const CollectorDescription& collector : describe_collectors()) {
    const std::string name(collector.name);
    CAPTURE(name);
    if (collector.always_on) {
      CHECK_THROWS_AS(parse({"--no-collector." + name}), UsageError);
      continue;
    }
    CHECK(options({"--collector." + name}).monitor.collectors == std::map<std::string, bool>{{name, true}});
    CHECK(options({"--no-collector." + name}).monitor.collectors == std::map<std::string, bool>{{name, false}});
    CHECK(options({"--collector." + name + "=false"}).monitor.collectors.at(name) == false);
    CHECK(options({"--no-collector." + name, "--collector." + name}).monitor.collectors.at(name) == true);
  }
}

TEST_CASE("every option of a collector is a flag, and accepts its own default") {
  std::size_t seen = 0;
  for (const CollectorDescription& collector : describe_collectors()) {
    for (const OptionDescriptor* option : collector.options) {
      const std::string flag(option->flag()), value(option->default_value());
      CAPTURE(flag);
      if (option->placeholder().empty() || value.empty()) continue;
      ++seen;
      CHECK(options({"--" + flag + "=" + value}).monitor.collector_options.at(flag) == Arguments{value});
    }
  }
  CHECK(seen >= 3);
}

TEST_CASE("the position of --collector.disable-defaults does not matter") {
  for (const Arguments& arguments : {Arguments{"--collector.disable-defaults", "--collector.rc6"},
                                     Arguments{"--collector.rc6", "--collector.disable-defaults"}}) {
    const MonitorOptions monitor = options(arguments).monitor;
    CHECK(monitor.disable_default_collectors);
    CHECK(monitor.collectors == std::map<std::string, bool>{{"rc6", true}});
  }
}

TEST_CASE("stats prints one reading, a number of them, or a stream") {
  CHECK(options({"stats"}).stats.count == 1);
  CHECK(options({"stats", "--count=3"}).stats.count == 3);
  CHECK_FALSE(options({"stats", "--interval=500ms"}).stats.count);
  CHECK(options({"stats", "--interval=500ms"}).stats.interval == 500ms);
  CHECK(options({"stats", "--json", "--interval=2s", "--count", "2"}).stats.count == 2);
  CHECK(options({"stats", "--json"}).json);
  CHECK(options({"stats", "--json"}).stats.json_without_version);
  CHECK_FALSE(options({"stats", "--json", "--format=json"}).stats.json_without_version);
  CHECK(options({"stats", "--format", "json"}).stats.format == StatsFormat::json);
  CHECK(options({"stats", "--format=intel_gpu_top"}).stats.format == StatsFormat::intel_gpu_top);
  CHECK(options({"stats", "--for=10m"}).stats.duration == 10min);
  CHECK_FALSE(options({"stats", "--for=10m"}).stats.count);
  CHECK(options({"list", "--json"}).json);
  CHECK(options({"doctor", "--json"}).json);
  CHECK_THROWS_WITH_AS(options({"stats", "--json", "--format=table"}), "--format: \"table\" contradicts --json",
                       UsageError);
  CHECK_THROWS_WITH_AS(options({"stats", "--format=xml"}),
                       "--format: \"xml\" is none of table, json, csv, influx, intel_gpu_top", UsageError);
  CHECK_THROWS_WITH_AS(parse({"serve", "--json"}), "--json is a flag of list, stats, doctor", UsageError);
  CHECK_THROWS_WITH_AS(parse({"list", "--count=3"}), "--count is a flag of stats", UsageError);
}

TEST_CASE("an invalid argument is reported in one line that names it") {
  const auto refused = [](const Arguments& arguments, const char* text) {
    CHECK_THROWS_WITH_AS(options(arguments), text, UsageError);
  };
  refused({"--bogus"}, "unknown flag --bogus (see --help)");
  refused({"--no-web.timeout"}, "unknown flag --no-web.timeout; did you mean --web.timeout?");
  refused({"foo"}, "unknown command foo (see --help)");
  refused({"list", "extra"}, "unexpected argument extra (see --help)");
  refused({"stast"}, "unknown command stast; did you mean stats?");
  refused({"docter"}, "unknown command docter; did you mean doctor?");
  refused({"help", "sats"}, "unknown command sats; did you mean stats?");
  refused({"--web.listen-adress", ":1"}, "unknown flag --web.listen-adress; did you mean --web.listen-address?");
  refused({"--no-colector.rc6"}, "unknown flag --no-colector.rc6; did you mean --no-collector.rc6?");
  refused({"stats", "--cuont=3"}, "unknown flag --cuont; did you mean --count?");
  refused({"doctor", "--onse"}, "unknown flag --onse (see --help)");  // near --once, which is a flag of top
  refused({"--web.timeout"}, "--web.timeout: a value is missing");
  refused({"--collector.rc6=5"}, "--collector.rc6: \"5\" is neither true nor false");
  refused({"--web.timeout=5"}, "--web.timeout: \"5\" is not a duration (write it like 500ms, 1s, 2m)");
  refused({"--web.max-requests=x"}, "--web.max-requests: \"x\" is not a number from 0 to 10000");
  refused({"--scrape.min-window=0"}, "--scrape.min-window: \"0\" is too short");
  refused({"--log.level=loud"}, "--log.level: \"loud\" is none of debug, info, warn, error");
  refused({"--log.format=xml"}, "--log.format: \"xml\" is none of logfmt, json");
  refused({"stats", "--count=0"}, "--count: \"0\" is not a number from 1 to 1000000000");
  for (const char* path : {"metrics", "/", "/-/ready", "/a b", "/a?b", "/a//b", "/../a", ""}) {
    CAPTURE(path);
    CHECK_THROWS_AS(options({"--web.telemetry-path=" + std::string(path)}), UsageError);
  }
  CHECK_THROWS_AS(options({"--web.listen-address=nonsense"}), UsageError);
}

TEST_CASE("help names every flag with its default and every profile; hidden commands stay hidden") {
  const std::vector<CommandFlag> flags = all_flags();
  const std::string help = help_text(flags);
  for (const CommandFlag& flag : flags) {
    CAPTURE(flag.name);
    CHECK(help.find("--" + std::string(flag.negatable ? "[no-]" : "") + flag.name) != std::string::npos);
  }
  for (const SimulationProfile& profile : simulation_profiles()) {
    CHECK(help.find(profile.name) != std::string::npos);
  }
  CHECK(help.find("(default: enabled)") != std::string::npos);
  CHECK(help.find("metrics-reference") == std::string::npos);
  CHECK(parse({"list", "--help"}).help);
  CHECK(parse({"-h"}).help);
  CHECK(parse({"--version"}).version);
}

TEST_CASE("help for a command has its own flags and the shared ones; --gpu keeps its origin") {
  const std::vector<CommandFlag> flags = all_flags();
  const std::string stats = help_text(flags, *find_command("stats"));
  CHECK(stats.starts_with("usage: intel-gpu-exporter stats [FLAGS]\n"));
  for (const char* flag : {"--interval", "--count", "--json", "--format", "--gpu", "--simulate"}) {
    CAPTURE(flag);
    CHECK(stats.find(flag) != std::string::npos);
  }
  CHECK(stats.find("--web.") == stats.find("--web.listen-address is"));  // the example at the end only
  CHECK(help_text(flags, *find_command("serve")).find("--web.config.file") != std::string::npos);
  CHECK(parse({"help"}).command == "help");
  CHECK(parse({"help", "stats"}).help_topic == "stats");
  CHECK(parse({"stats", "--help"}).command_given);
  CHECK_FALSE(parse({"--help"}).command_given);
  CHECK(parse({"version"}).command == "version");
  CHECK(options({"--gpu=card1"}).gpu_origin == "--gpu");
}

TEST_CASE("man pages and completions find the actions of a command under their title") {
  std::size_t with_actions = 0;
  for (const Command& command : all_commands()) {
    if (command.actions.empty()) continue;
    INFO(command.name);
    CHECK(help_text(all_flags(), command).find("\nActions:\n  ") != std::string::npos);
    ++with_actions;
  }
  CHECK(with_actions >= 2);
}

TEST_CASE("help fits a terminal of 80 columns") {
  const std::vector<CommandFlag> flags = all_flags();
  std::string all = help_text(flags);
  for (const Command& command : all_commands()) all += help_text(flags, command);
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 80);
  }
}

TEST_CASE("flag names are unique, and so are their variables") {
  std::vector<std::string> names;
  for (const CommandFlag& flag : all_flags()) names.push_back(environment_name(flag));
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
}

TEST_SUITE_END();
