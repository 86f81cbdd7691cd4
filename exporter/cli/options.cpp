// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <charconv>
#include <stdexcept>

#include "capture_file/capture_file.h"
#include "cli/usage_error.h"
#include "igpu/duration.h"
#include "igpu/monitor.h"

namespace igpu::exporter {
namespace {

using namespace std::chrono_literals;
using Setting = Settings::Setting;

constexpr std::string_view kCapturePrefix = "capture:";

[[noreturn]] void refuse(const Setting& setting, const std::string& why) {
  throw UsageError(setting.origin + ": \"" + setting.values.back() + "\" " + why);
}

class Reader {
 public:
  explicit Reader(const Settings& settings) : settings_(settings) {}

  void text(const char* flag, std::string& out) const {
    if (const Setting* setting = settings_.find(flag)) out = setting->values.back();
  }
  void enabled(const char* flag, bool& out) const {
    if (const Setting* setting = settings_.find(flag)) out = setting->values.back() == "true";
  }
  void list(const char* flag, std::vector<std::string>& out) const {
    if (const Setting* setting = settings_.find(flag)) out = setting->values;
  }
  std::optional<std::uint64_t> number(const char* flag, std::uint64_t least, std::uint64_t most) const {
    const Setting* setting = settings_.find(flag);
    if (setting == nullptr) return std::nullopt;
    const std::string& text = setting->values.back();
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
      refuse(*setting, "is not a number from " + std::to_string(least) + " to " + std::to_string(most));
    }
    return value;
  }
  void duration(const char* flag, Nanoseconds least, Nanoseconds& out) const {
    const Setting* setting = settings_.find(flag);
    if (setting == nullptr) return;
    const std::optional<Nanoseconds> value = parse_duration(setting->values.back());
    if (!value) refuse(*setting, "is not a duration (write it like 500ms, 1s, 2m)");
    if (*value < least) refuse(*setting, "is too short");
    out = *value;
  }
  template <class T>
  void choice(const char* flag, std::initializer_list<std::pair<std::string_view, T>> choices, T& out) const {
    const Setting* setting = settings_.find(flag);
    if (setting == nullptr) return;
    std::string names;
    for (const auto& [name, value] : choices) {
      if (setting->values.back() == name) {
        out = value;
        return;
      }
      names += (names.empty() ? "" : ", ") + std::string(name);
    }
    refuse(*setting, "is none of " + names);
  }

 private:
  const Settings& settings_;
};

void read_listen_addresses(const Settings& settings, Options& options) {
  const Setting* setting = settings.find("web.listen-address");
  const Setting defaults{{":10068"}, ""};
  options.listen_addresses_given = setting != nullptr;
  if (setting == nullptr) setting = &defaults;
  for (const std::string& value : setting->values) {
    try {
      options.listen_addresses.push_back(parse_listen_address(value));
    } catch (const std::invalid_argument& error) {
      throw UsageError(setting->origin + ": " + error.what());
    }
  }
}

void check_telemetry_path(const Settings& settings, const std::string& path) {
  const Setting* setting = settings.find("web.telemetry-path");
  if (setting == nullptr) return;
  if (!path.starts_with('/')) refuse(*setting, "does not start with /");
  if (path == "/" || path == "/-/healthy" || path == "/-/ready") refuse(*setting, "is taken by another page");
  for (const char c : path) {
    if (c <= ' ' || c == 0x7f || c == '?' || c == '#' || c == '%')
      refuse(*setting, "holds a character that no path has");
  }
  if (path.find("//") != std::string::npos || path.find("/../") != std::string::npos || path.ends_with("/..") ||
      path.find("/./") != std::string::npos || path.ends_with("/.")) {
    refuse(*setting, "is not in its shortest form");
  }
}

void read_stats(const Settings& settings, Options& options) {
  const Reader read(settings);
  StatsOptions& stats = options.stats;
  read.choice<StatsFormat>("format",
                           {{"table", StatsFormat::table},
                            {"json", StatsFormat::json},
                            {"csv", StatsFormat::csv},
                            {"influx", StatsFormat::influx},
                            {"intel_gpu_top", StatsFormat::intel_gpu_top}},
                           stats.format);
  const Setting* format = settings.find("format");
  if (options.json && format != nullptr && stats.format != StatsFormat::json) refuse(*format, "contradicts --json");
  stats.json_without_version = options.json && format == nullptr;
  if (options.json) stats.format = StatsFormat::json;
  read.duration("interval", 1ms, stats.interval);
  stats.count = read.number("count", 1, 1'000'000'000);
  if (settings.has("for")) read.duration("for", 1ms, stats.duration.emplace());
  if (!stats.count && !settings.has("interval") && !stats.duration) stats.count = 1;
  read.enabled("summary", stats.summary);
  // --json prints what it always printed.
  if (stats.json_without_version && !settings.has("summary")) stats.summary = false;
}

void read_top(const Settings& settings, TopOptions& top) {
  const Reader read(settings);
  read.enabled("once", top.once);
  ClientOptions& client = top.client;
  read.text("cacert", client.cacert);
  read.text("cert", client.cert);
  read.text("key", client.key);
  read.text("user", client.user);
  read.enabled("insecure", client.insecure);
  read.duration("max-time", 10ms, client.max_time);
}

void read_collectors(const Settings& settings, MonitorOptions& monitor) {
  for (const CollectorDescription& collector : describe_collectors()) {
    const std::string name(collector.name);
    if (const Setting* setting = settings.find("collector." + name)) {
      monitor.collectors[name] = setting->values.back() == "true";
    }
    for (const OptionDescriptor* option : collector.options) {
      const std::string flag(option->flag());
      const Setting* setting = settings.find(flag);
      if (setting == nullptr) continue;
      for (const std::string& value : setting->values) {
        if (const std::string why = option->refusal(value); !why.empty())
          throw UsageError(setting->origin + ": \"" + value + "\" " + why);
      }
      monitor.collector_options[flag] = setting->values;
    }
  }
}

}  // namespace

Options options_from(const Settings& settings) {
  Options options;
  const Reader read(settings);
  read_listen_addresses(settings, options);
  read.text("web.telemetry-path", options.telemetry_path);
  check_telemetry_path(settings, options.telemetry_path);
  read.text("web.config.file", options.web_config_file);
  if (const auto limit = read.number("web.max-requests", 0, 10'000))
    options.max_requests = static_cast<unsigned>(*limit);
  read.duration("web.timeout", 10ms, options.timeout);
  bool without_exporter_metrics = false;
  read.enabled("web.disable-exporter-metrics", without_exporter_metrics);
  options.exporter_metrics = !without_exporter_metrics;
  read.enabled("sandbox", options.sandbox);

  MonitorOptions& monitor = options.monitor;
  read_collectors(settings, monitor);
  read.enabled("collector.disable-defaults", monitor.disable_default_collectors);
  read.list("gpu", monitor.gpus);
  if (const Setting* setting = settings.find("gpu")) options.gpu_origin = setting->origin;
  read.text("path.sysfs", monitor.sysfs_root);
  read.text("path.procfs", monitor.procfs_root);
  read.text("path.devfs", monitor.devfs_root);
  read.text("path.rootfs", monitor.rootfs_root);
  read.text("simulate", monitor.simulate);
  if (const Setting* setting = settings.find("simulate"); monitor.simulate.starts_with(kCapturePrefix)) {
    try {
      monitor.capture = load_capture(monitor.simulate.substr(kCapturePrefix.size()));
    } catch (const std::runtime_error& error) {
      throw UsageError(setting->origin + ": " + error.what());
    }
  }
  read.duration("scrape.min-window", 1ms, monitor.min_window);
  options.min_window_given = settings.has("scrape.min-window");

  read.choice<LogLevel>(
      "log.level",
      {{"debug", LogLevel::debug}, {"info", LogLevel::info}, {"warn", LogLevel::warn}, {"error", LogLevel::error}},
      options.log_level);
  read.choice<LogFormat>("log.format", {{"logfmt", LogFormat::logfmt}, {"json", LogFormat::json}}, options.log_format);

  read.enabled("json", options.json);
  read_stats(settings, options);
  read_top(settings, options.top);
  return options;
}

}  // namespace igpu::exporter
