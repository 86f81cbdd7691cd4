// SPDX-License-Identifier: Apache-2.0
#include "cli/flags.h"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

#include "cli/options.h"
#include "igpu/monitor.h"
#include "server/http/addresses.h"
#include "server/push/address.h"
#include "view/capture_file/capture_file.h"
#include "view/query/query_output.h"
#include "view/stats/stats_writer.h"

namespace igpu::exporter {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kCapturePrefix = "capture:";

// What reads a text of a flag throws std::invalid_argument.
template <class Read>
void read_text(const Setting& given, const Read& read) {
  try {
    for (const std::string& text : given.values) read(text);
  } catch (const std::invalid_argument& error) {
    throw UsageError(given.origin + ": " + error.what());
  }
}

void take_listen_addresses(Options& to, const Setting& given) {
  to.listen_addresses_given = true;
  to.listen_addresses.clear();
  read_text(given, [&to](const std::string& text) { to.listen_addresses.push_back(parse_listen_address(text)); });
}

void take_telemetry_path(Options& to, const Setting& given) {
  const std::string& path = to.telemetry_path = given.text();
  if (!path.starts_with('/')) given.refuse("does not start with /");
  if (path == "/" || path == "/-/healthy" || path == "/-/ready" || path.starts_with("/api/") ||
      path.starts_with("/assets/") || path.starts_with("/debug/")) {
    given.refuse("is taken by another page");
  }
  for (const char c : path) {
    if (c <= ' ' || c == 0x7f || c == '?' || c == '#' || c == '%') given.refuse("holds a character that no path has");
  }
  if (path.find("//") != std::string::npos || path.find("/../") != std::string::npos || path.ends_with("/..") ||
      path.find("/./") != std::string::npos || path.ends_with("/.")) {
    given.refuse("is not in its shortest form");
  }
}

void take_simulation(Options& to, const Setting& given) {
  to.monitor.simulate = given.text();
  if (!given.text().starts_with(kCapturePrefix)) return;
  try {
    to.monitor.capture = load_capture(given.text().substr(kCapturePrefix.size()));
  } catch (const std::runtime_error& error) {
    throw UsageError(given.origin + ": " + error.what(), EXIT_FAILURE);
  }
}

void take_page_url(Options& to, const Setting& given) {
  const std::string& url = given.text();
  const bool known = url.starts_with("http://") || url.starts_with("https://");
  if (!known || url.find_first_of(" \t\r\n\"<>") != url.npos) given.refuse("is no http:// or https:// URL");
  to.push.mqtt_page_url = url;
}

void take_stats_format(Options& to, const Setting& given) {
  std::vector<std::string_view> names;
  for (const StatsFormat& format : stats_formats())
    if (format.for_flag) names.push_back(format.name);
  to.stats.format = names[given.one_of(names)];
}

void take_template(Options& to, const Setting& given) {
  read_text(given, [](const std::string& text) { (void)query::Template(text); });
  to.stats.text = given.text();
}

void take_interval(Options& to, const Setting& given) { to.stats.interval = given.duration(1ms); }

void take_count(Options& to, const Setting& given) { to.stats.count = to.query.count = given.number(1, 1'000'000'000); }

// As in xpu-smi and nvidia-smi, a number alone is seconds.
void take_loop(Options& to, const Setting& given) {
  const std::string& text = given.text();
  const bool number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  to.query.loop = text.empty() ? 1s : Setting{{number ? text + "s" : text}, given.origin}.duration(1ms);
}

void take_query_format(Options& to, const Setting& given) {
  constexpr std::array<std::string_view, 4> kWords{"csv", "json", "noheader", "nounits"};
  for (const Setting& word : given.each()) {
    const std::string_view is = kWords[word.one_of(kWords)];
    if (is == "json") to.query.json = true;
    if (is == "noheader") to.query.header = false;
    if (is == "nounits") to.query.units = false;
  }
}

void add_query_flags(std::vector<CommandFlag>& flags) {
  using To = Options&;
  using Given = const Setting&;
  const AddFlag add{flags, {"query"}};
  add("fields", "LIST", "", "Print these fields: gpu.name,power.mean", [](To to, Given given) {
    for (const Setting& word : given.each())
      read_text(word, [](const std::string& name) { query::required_field(name); });
    to.query.fields = given.words();
    if (to.query.fields.empty()) throw UsageError(given.origin + ": a value is missing");
  });
  add("list", "", "", "Print every field: its unit, its source, and whether this machine has it.",
      [](To to, Given given) { to.query.list = given.on(); });
  CommandFlag& query_gpu =
      add("query-gpu", "LIST", "",
          "Print these fields of xpu-smi or nvidia-smi as xpu-smi does. Without a list, print them all.",
          [](To to, Given given) {
            to.query.xpu_fields = given.text();
            if (!given.text().empty()) read_text(given, [](const std::string& names) { query::xpu_fields(names); });
          });
  query_gpu.repeatable = false;
  query_gpu.may_lack_value = true;
  add("format", "csv|json", "", "csv (the default) or json; csv,noheader,nounits leaves out the header and the units.",
      take_query_format);
  for (const char* const name : {"loop", "l"})
    add(name, "DURATION", "", name[1] == '\0' ? "The same." : "Print again after this time, 1s if it is not given.",
        take_loop)
        .may_lack_value = true;
  add("loop-ms", "N", "", "The same in milliseconds.",
      [](To to, Given given) { to.query.loop = std::chrono::milliseconds(given.number(1, 1'000'000'000)); });
  add("c", "N", "", "The same as --count.", take_count);
  for (const char* const name : {"id", "i"})
    add(name, "LIST", "", name[1] == '\0' ? "The same." : "Only these GPUs: number (1 is card1) or PCI address.",
        [](To to, Given given) { to.query.ids = given.words(); });
  for (const char* const name : {"file", "f"})
    add(name, "FILE", "", name[1] == '\0' ? "The same." : "Write to this file instead of standard output.",
        [](To to, Given given) { to.query.file = given.file(); });
}

std::string profile_help() {
  std::string help = "Simulate a machine, or serve a capture (capture:FILE), instead of reading this one:";
  for (const SimulationProfile& profile : simulation_profiles()) {
    help += "\n  " + std::string(profile.name) + ": " + std::string(profile.description);
  }
  return help;
}

void add_option(std::vector<CommandFlag>& flags, const OptionDescriptor& option) {
  const auto is_it = [&](const CommandFlag& flag) { return flag.name == option.flag(); };
  if (std::ranges::any_of(flags, is_it)) return;  // shared with an earlier collector
  CommandFlag flag{std::string(option.flag()), option.placeholder(), std::string(option.default_value()),
                   std::string(option.help()), [&option](Options& to, const Setting& given) {
                     for (const std::string& value : given.values) {
                       if (const std::string why = option.refusal(value); !why.empty())
                         throw UsageError(given.origin + ": \"" + value + "\" " + why);
                     }
                     to.monitor.collector_options[std::string(option.flag())] = given.values;
                   }};
  flag.repeatable = option.repeatable();
  flag.negatable = flag.is_switch();
  flags.push_back(std::move(flag));
}

void add_collector_flags(std::vector<CommandFlag>& flags) {
  for (const CollectorDescription& collector : describe_collectors()) {
    const std::string name(collector.name);
    if (!collector.always_on) {
      flags.push_back({"collector." + name, "", collector.enabled_by_default ? "enabled" : "disabled",
                       std::string(collector.help),
                       [name](Options& to, const Setting& given) { to.monitor.collectors[name] = given.on(); }});
      flags.back().negatable = true;
    }
    for (const OptionDescriptor* option : collector.options) add_option(flags, *option);
  }
}

std::vector<CommandFlag> make_flags() {
  std::vector<CommandFlag> flags;
  using To = Options&;
  using Given = const Setting&;
  const AddFlag add{flags};
  add("web.listen-address", "ADDRESS", ":10068",
      "Address to listen on: :PORT (all addresses), HOST:PORT, [IPV6]:PORT or unix:/PATH; port 0 selects a free one.",
      take_listen_addresses)
      .repeatable = true;
  add("web.telemetry-path", "PATH", "/metrics", "Path of the metrics.", take_telemetry_path);
  add("web.config.file", "FILE", "", "File with TLS and authentication settings.",
      [](To to, Given given) { to.web_config_file = given.file(); });
  add("web.allowed-host", "NAME", "",
      "Also answer browsers that open this name, as behind a reverse proxy or in a container. Addresses, localhost and "
      "this machine's name need no flag (docs/integrations.md).",
      [](To to, Given given) {
        read_text(given, check_allowed_host);
        to.allowed_hosts = given.values;
      })
      .repeatable = true;
  add("web.max-requests", "N", "40", "Maximum number of concurrent scrapes; more get a 503. 0 means no limit.",
      [](To to, Given given) { to.max_requests = static_cast<unsigned>(given.number(0, 10'000)); });
  add("web.timeout", "DURATION", "10s", "Maximum duration of one scrape.",
      [](To to, Given given) { to.timeout = given.duration(10ms); });
  add("web.disable-exporter-metrics", "", "", "Omit process_* and the exporter's request counters.",
      [](To to, Given given) { to.exporter_metrics = !given.on(); });
  add("push.otlp", "URL", "",
      "Also send every reading to this receiver of OpenTelemetry's OTLP/HTTP (docs/integrations.md). A URL without a "
      "path gets /v1/metrics.",
      [](To to, Given given) {
        read_text(given, [&to](const std::string& text) { to.push.otlp = parse_otlp_address(text); });
      });
  add("push.otlp.credentials", "FILE", "",
      "File with NAME:PASSWORD, or with HTTP headers such as Authorization: Bearer TOKEN, for the receiver.",
      [](To to, Given given) { to.push.otlp_credentials = given.file(); });
  add("push.mqtt", "URL", "",
      "Also publish every reading to this MQTT broker (mqtt:// or mqtts://), where Home Assistant finds the GPUs "
      "(docs/integrations.md). A path is the base of the topics instead of intel-gpu-exporter.",
      [](To to, Given given) {
        read_text(given, [&to](const std::string& text) { to.push.mqtt = parse_mqtt_address(text); });
      });
  add("push.mqtt.credentials", "FILE", "", "File with NAME:PASSWORD for the broker.",
      [](To to, Given given) { to.push.mqtt_credentials = given.file(); });
  add("push.mqtt.page-url", "URL", "",
      "http:// or https:// URL of this exporter's page as a browser reaches it: the devices of Home Assistant link to "
      "it.",
      take_page_url);
  add("push.cacert", "FILE", "", "Trust the certificates of this file instead of the system's, for pushes.",
      [](To to, Given given) { to.push.cacert = given.file(); });
  add("push.interval", "DURATION", "15s", "Time between two pushes.",
      [](To to, Given given) { to.push.interval = given.duration(1s); });
  add("flight.directory", "DIR", "",
      "Also write each flight into this folder, as a trace for ui.perfetto.dev; the last ten stay. Needs "
      "--sample.interval.",
      [](To to, Given given) { to.flight_directory = given.file(); });
  add("sandbox", "", "enabled", "After startup, drop every privilege that scrapes do not need (docs/sandbox.md).",
      [](To to, Given given) { to.sandbox = given.on(); })
      .negatable = true;
  add_collector_flags(flags);
  add("collector.disable-defaults", "", "",
      "Run only the collectors that are enabled explicitly; the position of this flag does not matter.",
      [](To to, Given given) { to.monitor.disable_default_collectors = given.on(); });
  add("gpu", "GPU", "", "Monitor only this GPU: PCI address, cardN or renderDN. Without it, all are monitored.",
      [](To to, Given given) {
        to.monitor.gpus = given.values;
        to.gpu_origin = given.origin;
      })
      .repeatable = true;
  add("path.sysfs", "DIR", "/sys", "Where sysfs is mounted.",
      [](To to, Given given) { to.monitor.sysfs_root = given.text(); });
  add("path.procfs", "DIR", "/proc", "Where procfs is mounted.",
      [](To to, Given given) { to.monitor.procfs_root = given.text(); });
  add("path.devfs", "DIR", "/dev", "Where the device nodes are.",
      [](To to, Given given) { to.monitor.devfs_root = given.text(); });
  add("path.rootfs", "DIR", "/",
      "Root of the host's file system, in which collector workloads finds names of pods and containers.",
      [](To to, Given given) { to.monitor.rootfs_root = given.text(); });
  add("simulate", "PROFILE", "", profile_help(), take_simulation);
  add("scrape.min-window", "DURATION", "1s", "Minimum time over which ratios and averages are computed.",
      [](To to, Given given) {
        to.monitor.min_window = given.duration(1ms);
        to.min_window_given = true;
      });
  add("log.level", "LEVEL", "info", "debug, info, warn or error.", [](To to, Given given) {
    using enum LogLevel;
    to.log_level = given.choice<LogLevel>({{"debug", debug}, {"info", info}, {"warn", warn}, {"error", error}});
  });
  add("log.format", "FORMAT", "logfmt", "logfmt or json.", [](To to, Given given) {
    to.log_format = given.choice<LogFormat>({{"logfmt", LogFormat::logfmt}, {"json", LogFormat::json}});
  });
  const AddFlag of_stats{flags, {"stats"}}, of_top{flags, {"top"}}, of_flights{flags, {"flights"}};
  const AddFlag of_clients{flags, {"top", "flights"}};  // of other exporters
  const auto take_json = [](To to, Given given) { to.json = given.on(); };
  AddFlag{flags, {"list", "doctor", "flights"}}("json", "", "", "Print JSON.", take_json);
  AddFlag{flags, {"stats", "query"}}("json", "", "", "The same as --format json.", take_json);
  AddFlag{flags, {"doctor"}}(
      "bug", "FILE", "",
      "Write what a report of a kernel bug needs to this new archive (.tar.zst): a capture, doctor's report, the "
      "drivers' lines of the kernel log, error state or core dump; names masked.",
      [](To to, Given given) { to.bug_file = given.file(); });
  of_stats("format", stats_format_names(), "table", "Output format; docs/commands.md describes each.",
           take_stats_format);
  of_stats("template", "TEXT", "",
           "Print this text for each GPU, with the fields of query in braces: '{engine.video.busy}% {power.mean}W'.",
           take_template);
  of_stats("o", "FILE", "", "Write each reading to this file, which it replaces as a whole.",
           [](To to, Given given) { to.stats.file = given.file() == "-" ? "" : given.file(); });
  of_stats("interval", "DURATION", "1s", "Time between readings. If given, a stream is printed.", take_interval);
  of_top("interval", "DURATION", "1s", "Time between readings.", take_interval);
  of_stats("count", "N", "", "Number of readings. Without --count and --interval, one is printed.", take_count);
  AddFlag{flags, {"query"}}("count", "N", "", "Number of readings. Without it one, or with --loop no limit.",
                            take_count);
  of_stats("summary", "", "enabled",
           "After a stream, print minimum, mean, maximum and 95th percentile of each value to standard error.",
           [](To to, Given given) { to.stats.summary = given.on(); })
      .negatable = true;
  of_top("once", "", "", "Print one frame, as plain text if standard output is not a terminal.",
         [](To to, Given given) { to.top.once = given.on(); });
  of_clients("cacert", "FILE", "", "Trust the certificates of this file instead of the system's, as in curl.",
             [](To to, Given given) { to.top.client.cacert = given.file(); });
  of_clients("cert", "FILE", "", "Client certificate (PEM).",
             [](To to, Given given) { to.top.client.cert = given.file(); });
  of_clients("key", "FILE", "", "Its private key (PEM).", [](To to, Given given) { to.top.client.key = given.file(); });
  of_clients(
      "user", "NAME:PASSWORD", "",
      "User for basic authentication. Without :PASSWORD, the command asks for the password. Unlike the command line, "
      "the environment hides it from other users.",
      [](To to, Given given) { to.top.client.user = given.text(); });
  of_clients("insecure", "", "", "Do not check the certificates of hosts.",
             [](To to, Given given) { to.top.client.insecure = given.on(); });
  of_clients("max-time", "DURATION", "5s", "Maximum time for a host's answer.",
             [](To to, Given given) { to.top.client.max_time = given.duration(10ms); });
  of_flights("number", "N", "", "Print this flight instead of the list.", [](To to, Given given) {
    to.flights.number = given.number(1, std::numeric_limits<std::uint64_t>::max());
  });
  of_flights("format", "jsonl|pftrace", "jsonl", "JSON lines, or a trace for ui.perfetto.dev and trace report.",
             [](To to, Given given) {
               to.flights.trace = given.choice<bool>({{"jsonl", false}, {"pftrace", true}});
             });
  of_flights("o", "FILE", "", "Write the flight to this new file instead of standard output.",
             [](To to, Given given) { to.flights.file = given.file() == "-" ? "" : given.file(); });
#ifdef IGPU_STATIC
  const AddFlag of_setup{flags, {"setup"}};
  of_setup("remove", "", "", "Take away what setup installed.",
           [](To to, Given given) { to.setup.remove = given.on(); });
  of_setup("dry-run", "", "", "Only print what would be done.",
           [](To to, Given given) { to.setup.dry_run = given.on(); });
#endif
  add_query_flags(flags);
  add_action_flags(flags);
  add_intel_gpu_top_flags(flags);
  return flags;
}

}  // namespace

bool CommandFlag::is_only_for(std::string_view command) const {
  return std::ranges::find(commands, command) != commands.end();
}

bool CommandFlag::is_for(std::string_view command) const { return commands.empty() || is_only_for(command); }

const std::vector<CommandFlag>& all_flags() {
  static const std::vector<CommandFlag> flags = make_flags();
  return flags;
}

}  // namespace igpu::exporter
