// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>

#include "cli/flags.h"
#include "cli/options.h"
#include "cli/output.h"
#include "igpu/monitor.h"

using namespace igpu;
using namespace igpu::exporter;
using namespace std::chrono_literals;
using Arguments = std::vector<std::string>;

namespace {

CommandLine parse(const Arguments& arguments) { return parse_command_line(arguments); }
Options options(const Arguments& arguments) {
  CommandLine line = parse(arguments);
  return options_from(line);
}

}  // namespace

TEST_SUITE_BEGIN("command_line");

TEST_CASE("without arguments the exporter serves with the documented defaults") {
  CHECK(parse({}).command->name == "serve");
  const Options defaults = options({});
  REQUIRE(defaults.listen_addresses.size() == 1);
  CHECK(defaults.listen_addresses.front().text == ":10068");
  CHECK(defaults.telemetry_path == "/metrics");
  CHECK(defaults.max_requests == 40);
  CHECK(defaults.timeout == 10s);
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
    CHECK(parse(arguments).command->name == "list");
    CHECK(options(arguments).monitor.gpus == Arguments{"card0"});
  }
}

TEST_CASE("repeatable flags accumulate, others may be given once") {
  CHECK(options({"capture", "--gpu", "card1", "x.tar.zst"}).monitor.gpus == Arguments{"card1"});
  CHECK(parse({"capture", "--gpu", "card1", "x.tar.zst"}).operands == Arguments{"x.tar.zst"});
  CHECK(parse({"--gpu", "card1", "list"}).command->name == "list");
  CHECK(parse({"level-zero", "run", "--gpu", "card1", "program"}).program == Arguments{"program"});
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
      CHECK(options({"--" + flag + "=" + value, "--collector.samples"}).monitor.collector_options.at(flag) ==
            Arguments{value});
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
  CHECK(options({"stats", "--json"}).stats.format == "json");
  CHECK(options({"stats", "--json", "--format=json"}).stats.format == "json");
  CHECK(options({"stats", "--format", "json"}).stats.format == "json");
  CHECK(options({"stats", "--format=intel_gpu_top"}).stats.format == "intel_gpu_top");
  CHECK(options({"list", "--json"}).json);
  CHECK(options({"doctor", "--json"}).json);
  CHECK_THROWS_WITH_AS(options({"stats", "--json", "--format=table"}), "--format: \"table\" contradicts --json",
                       UsageError);
  CHECK_THROWS_WITH_AS(options({"stats", "--format=xml"}),
                       "--format: \"xml\" is none of table, json, csv, prometheus, intel_gpu_top, nvtop, waybar",
                       UsageError);
  CHECK_THROWS_WITH_AS(parse({"serve", "--json"}), "--json is a flag of list, doctor, flights, stats, query",
                       UsageError);
  CHECK_THROWS_WITH_AS(parse({"list", "--count=3"}), "--count is a flag of stats, query", UsageError);
}

TEST_CASE("stats prints a template instead of a format, and replaces a file with a format whose readings stand alone") {
  CHECK(options({"stats", "--template={power}W"}).stats.format == "template");
  CHECK(options({"stats", "--format=prometheus", "-o", "gpu.prom"}).stats.file == "gpu.prom");
  CHECK(options({"stats", "-o", "-"}).stats.file.empty());
  CHECK_THROWS_WITH_AS(options({"stats", "--template={powr}W"}),
                       "--template: there is no field \"powr\"; did you mean power?", UsageError);
  CHECK_THROWS_WITH_AS(options({"stats", "--template={power}", "--format=csv"}),
                       "--template: \"{power}\" contradicts --format csv", UsageError);
  for (const char* format : {"csv", "intel_gpu_top"}) {
    CAPTURE(format);
    CHECK_THROWS_AS(options({"stats", "--format", format, "-o", "x"}), UsageError);
  }
}

TEST_CASE("query asks for fields, for those of xpu-smi, for their list, or for a table") {
  const auto query = [](Arguments arguments) {
    arguments.insert(arguments.begin(), "query");
    return options(arguments).query;
  };
  CHECK(query({}).fields.empty());
  CHECK(query({"--fields", "name,power"}).fields == Arguments{"name", "power"});
  CHECK(query({"--fields=name", "--fields=power"}).fields == Arguments{"name", "power"});
  const QueryOptions bare = query({"--fields=power", "--format=csv,noheader,nounits"});
  CHECK((!bare.header && !bare.units && !bare.json));
  CHECK(query({"--fields=power", "--format", "json"}).json);
  CHECK(query({"--fields=power", "--json"}).json);
  CHECK(query({"--list", "--json"}).json);
  CHECK(query({"--query-gpu=power.draw,name"}).xpu_fields == "power.draw,name");
  CHECK(query({"--query-gpu="}).xpu_fields == "");
  CHECK(query({"--query-gpu"}).xpu_fields == "");
  CHECK(query({"--query-gpu=name", "-i", "0", "-f", "x"}).ids == Arguments{"0"});
}

TEST_CASE("query repeats as xpu-smi and nvidia-smi do") {
  const auto loop = [](Arguments arguments) {
    arguments.insert(arguments.begin(), {"query", "--fields=power"});
    return options(arguments).query.loop;
  };
  CHECK_FALSE(loop({}));
  CHECK(loop({"--loop"}) == 1s);
  CHECK(loop({"--loop", "--count=2"}) == 1s);
  CHECK(loop({"--loop=5"}) == 5s);
  CHECK(loop({"--loop", "500ms"}) == 500ms);
  CHECK(loop({"-l", "2"}) == 2s);
  CHECK(loop({"--loop-ms=250"}) == 250ms);
  CHECK(options({"query", "--fields=power", "--loop", "-c", "3"}).query.count == 3);
  for (const char* wrong : {"0", "-1", "soon", "1e9"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(loop({std::string("--loop=") + wrong}), UsageError);
  }
}

TEST_CASE("what query cannot print is refused with status 2") {
  for (const Arguments& arguments :
       {Arguments{"--fields", "powr"}, Arguments{"--fields", ""}, Arguments{"--query-gpu=powr"},
        Arguments{"--fields=power", "--format=xml"}, Arguments{"--fields=power", "--list"},
        Arguments{"--query-gpu=name", "--json"}, Arguments{"--fields=power", "--count=0"},
        Arguments{"--list", "--loop"}, Arguments{"card0"}}) {
    Arguments whole{"query"};
    whole.insert(whole.end(), arguments.begin(), arguments.end());
    CAPTURE(arguments.front());
    int status = 0;
    try {
      (void)options(whole);
    } catch (const UsageError& error) {
      status = error.status();
    }
    CHECK(status == 2);
  }
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
  refused({"--json", "list"}, "--json stands after list");
  refused({"trace", "--duration", "5s", "record"}, "trace record: --duration stands after trace record");
  refused({"trace", "--", "record"}, "trace: the action stands before --");
  refused({""}, "an argument is empty (see --help)");
  refused({"level-zero", "run", ""}, "level-zero run: an argument is empty (see --help)");
  refused({"--no-sandbox=enabled"}, "--sandbox: \"enabled\" is neither true nor false");
  refused({"--web.config.file", ""}, "--web.config.file: a value is missing");
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
  std::string help = help_text(true);
  for (const Command& command : all_commands())
    if (!command.actions.empty()) help += help_text(command);
  for (const CommandFlag& flag : all_flags()) {
    CAPTURE(flag.name);
    CHECK(help.find(flag.negatable ? "--[no-]" + flag.name : flag.dashed()) != std::string::npos);
  }
  for (const SimulationProfile& profile : simulation_profiles()) {
    CHECK(help.find(profile.name) != std::string::npos);
  }
  CHECK(help.find("(default: enabled)") != std::string::npos);
  CHECK(help.find("metrics-reference") == std::string::npos);
  CHECK(parse({"list", "--help"}).help);
  CHECK(parse({"-h"}).help);
  CHECK(parse({"--version"}).version);
  CHECK(parse({"level-zero", "run", "--version"}).version);
}

TEST_CASE("--help of a command has its own flags and no sentence of another command") {
  for (const Command& command : all_commands()) {
    if (command.hidden || command.reads_own_flags()) continue;
    CAPTURE(command.name);
    const std::string help = help_text(command);
    for (const CommandFlag& flag : all_flags()) {
      CAPTURE(flag.name);
      const bool own = flag.is_only_for(command.name);
      if (own) CHECK(help.find(flag.negatable ? "--[no-]" + flag.name : "  " + flag.dashed()) != std::string::npos);
      const bool shared_reading = flag.commands.empty() && flag.name.starts_with("collector.");
      if (shared_reading) CHECK(help.find("--" + flag.name + " ") == std::string::npos);
    }
    for (const Command& other : all_commands())
      for (const char* verb : {" prints", " shows", " reads"})
        if (other.name != command.name && other.name != "help")
          CHECK_MESSAGE(help.find(" " + std::string(other.name) + verb) == std::string::npos, other.name);
  }
  const std::string query = help_text(*find_command("query"));
  CHECK(query.find("--fields LIST") != std::string::npos);
  CHECK(query.find("stats") == std::string::npos);
  CHECK(query.find("--help-all") != std::string::npos);
  CHECK(parse({"query", "--help-all"}).help);
  CHECK(parse({"query", "--help-all"}).help_all);
}

TEST_CASE("help collectors names each collector, what it costs and which right brings which feature") {
  CHECK(parse({"help", "collectors"}).operands == Arguments{"collectors"});
  const std::string help = collectors_help();
  for (const CollectorDescription& collector : describe_collectors())
    CHECK_MESSAGE(help.find("\n  " + std::string(collector.name)) != std::string::npos, collector.name);
  CHECK(help.find("CAP_PERFMON: engine_busy") != std::string::npos);
  CHECK(help.find("With group render: memory_size") != std::string::npos);
  CHECK(help.find("jobs (off)") != std::string::npos);
  CHECK(help.find("Costs a BPF program at each job") != std::string::npos);
}

TEST_CASE("--help-all of a command has its own flags and the shared ones; --gpu keeps its origin") {
  const std::string stats = help_text(*find_command("stats"), true);
  CHECK(stats.starts_with("usage: intel-gpu-exporter stats [FLAGS]\n"));
  for (const char* flag : {"--interval", "--count", "--json", "--format", "--gpu", "--simulate"}) {
    CAPTURE(flag);
    CHECK(stats.find(flag) != std::string::npos);
  }
  CHECK(stats.find("--web.") == std::string::npos);
  CHECK(stats.find("--push.") == std::string::npos);
  CHECK(stats.find("--flight.directory") == std::string::npos);
  CHECK(help_text(*find_command("serve")).find("--web.config.file") != std::string::npos);
  CHECK(parse({"help"}).command->name == "help");
  CHECK(parse({"help", "stats"}).operands == Arguments{"stats"});
  CHECK(parse({"stats", "--help"}).command_given);
  CHECK_FALSE(parse({"--help"}).command_given);
  CHECK(parse({"version"}).command->name == "version");
  CHECK(options({"--gpu=card1"}).gpu_origin == "--gpu");
}

TEST_CASE("man pages and completions find the actions of a command under their title") {
  std::size_t with_actions = 0;
  for (const Command& command : all_commands()) {
    if (command.actions.empty()) continue;
    INFO(command.name);
    CHECK(help_text(command).find("\nActions:\n  ") != std::string::npos);
    ++with_actions;
  }
  CHECK(with_actions >= 2);
}

TEST_CASE("help fits a terminal of 80 columns") {
  std::string all = help_text() + help_text(true) + collectors_help();
  for (const Command& command : all_commands()) all += help_text(command) + help_text(command, true);
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 80);
  }
}

TEST_CASE("no command accepts two flags of one name or of one variable; an action may have its own of a shared name") {
  for (const Command& command : all_commands()) {
    std::vector<std::string> places{std::string(command.name)};
    for (const Command& action : command.actions) places.push_back(places.front() + " " + std::string(action.name));
    for (const std::string& place : places) {
      CAPTURE(place);
      std::vector<std::string> names;
      for (const CommandFlag& flag : all_flags()) {
        if (place == places.front() ? flag.is_for(place) : flag.is_only_for(place))
          names.push_back(command.reads_own_flags() ? flag.name : environment_name(flag));
      }
      std::sort(names.begin(), names.end());
      CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
    }
  }
}

TEST_CASE("every flag of a command or of an action names one that exists") {
  const auto exists = [](std::string_view place) {
    const std::size_t blank = std::min(place.find(' '), place.size());
    const Command* const command = find_command(place.substr(0, blank));
    if (command == nullptr || blank == place.size()) return command != nullptr;
    return std::any_of(command->actions.begin(), command->actions.end(),
                       [&](const Command& action) { return action.name == place.substr(blank + 1); });
  };
  for (const CommandFlag& flag : all_flags()) {
    CAPTURE(flag.name);
    CHECK(std::all_of(flag.commands.begin(), flag.commands.end(), exists));
  }
}

TEST_SUITE_END();
