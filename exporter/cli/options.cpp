// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <algorithm>
#include <iterator>

#include "igpu/monitor.h"
#include "platform/own_process.h"
#include "view/query/query_output.h"
#include "view/stats/stats_writer.h"

namespace igpu::exporter {
namespace {

void finish_stats(const Settings& settings, Options& options) {
  StatsOptions& stats = options.stats;
  if (options.json) {
    const Setting* format = settings.find("format");
    if (format != nullptr && stats.format != "json") format->refuse("contradicts --json");
    stats.format = "json";
  }
  if (const Setting* text = settings.find("template")) {
    if (stats.format != "table") text->refuse("contradicts --format " + stats.format);
    stats.format = "template";
  }
  if (!stats.file.empty() && !stats_format(stats.format).alone)
    settings.find("o")->refuse("can hold one reading only; redirect standard output for --format " + stats.format);
  if (!stats.count && !settings.has("interval")) stats.count = 1;
}

void finish_query(const Settings& settings, QueryOptions& query, bool json) {
  query.json = query.json || json;
  const bool chosen = !query.fields.empty() || query.xpu_fields;
  if (query.list + !query.fields.empty() + query.xpu_fields.has_value() > 1)
    throw UsageError("--list, --fields or --query-gpu, not two of them");
  if (query.json && query.xpu_fields) throw UsageError("--query-gpu prints CSV; --fields prints JSON as well");
  const Setting* const format = settings.find("format");
  if (!chosen && !query.list && ((format != nullptr && format->origin == "--format") || json))
    query.fields.assign(std::begin(query::kQuickFields), std::end(query::kQuickFields));
  if (query.list && query.loop) throw UsageError("--list is printed once, without --loop");
}

void finish_trace(const CommandLine& line, TraceArguments& trace) {
  trace.action = line.action->name;
  trace.command = line.program;
  if (!line.operands.empty()) trace.file = line.operands.front();
  if (trace.duration.count() > 0 && !trace.command.empty()) throw UsageError("--duration or a command, not both");
  if (trace.from_seconds && trace.to_seconds && *trace.from_seconds >= *trace.to_seconds)
    throw UsageError("--from must be before --to");
}

// A secret or an interval for nothing is a mistake.
void finish_push(const Settings& settings, const PushOptions& push) {
  const auto check = [&](const char* flag, bool useful, const char* needed) {
    const Setting* const given = settings.find(flag);
    if (given != nullptr && !useful) throw UsageError(given->origin + " needs " + needed);
  };
  check("push.otlp.credentials", push.otlp.has_value(), "--push.otlp URL");
  check("push.mqtt.credentials", push.mqtt.has_value(), "--push.mqtt URL");
  for (const char* flag : {"push.cacert", "push.interval"})
    check(flag, push.otlp || push.mqtt, "--push.otlp URL or --push.mqtt URL");
}

// A flight recorder without samples is a mistake.
void finish_flights(const Settings& settings, const Options& options) {
  for (const char* const flag : {"flight.length", "flight.trigger", "flight.directory"}) {
    const Setting* const given = settings.find(flag);
    if (given != nullptr && !has_flight_recorder(options.monitor))
      throw UsageError(given->origin + " needs --sample.interval, such as --sample.interval 100ms");
  }
  // Flights are held in memory, ten of them.
  constexpr std::int64_t kMostSamples = 12'000;
  const Setting* const length = settings.find("flight.length");
  const Setting* const interval = settings.find("sample.interval");
  const Nanoseconds between = interval != nullptr ? interval->duration(Nanoseconds(1)) : Nanoseconds(100'000'000);
  if (length != nullptr && length->duration(Nanoseconds(1)) / between > kMostSamples)
    length->refuse("holds more than " + std::to_string(kMostSamples) + " samples; sample less often, or keep less");
}

void finish_command_flights(const Settings& settings, const FlightsOptions& flights) {
  for (const char* const flag : {"format", "o"}) {
    const Setting* const given = settings.find(flag);
    if (given != nullptr && !flights.number && given->origin.starts_with('-'))
      throw UsageError(given->origin + " needs --number N");
  }
}

Options checked(const CommandLine& line) {
  Options options;
  for (const auto& [name, setting] : line.settings.all()) {
    // Links in a folder of the caller's could lead to any file.
    if (name.starts_with("path.") && has_rights_of_its_file())
      throw UsageError(setting.origin +
                       " is refused: this program's file has capabilities that its caller lacks; run it as root, or "
                       "as a service with AmbientCapabilities=, or remove them (setcap -r)");
    setting.flag->take(options, setting);
  }
  const std::string_view command = line.command->name;
  finish_push(line.settings, options.push);
  finish_flights(line.settings, options);
  if (command == "flights") finish_command_flights(line.settings, options.flights);
  if (command == "stats") finish_stats(line.settings, options);
  if (command == "query") finish_query(line.settings, options.query, options.json);
  if (command == "trace" && line.action) finish_trace(line, options.trace);
  if (command == "level-zero" && line.action) {
    options.level_zero.action = line.action->name;
    options.level_zero.files = line.operands;
    options.level_zero.program = line.program;
  }
  options.operands = line.operands;
  return options;
}

}  // namespace

bool has_flight_recorder(const MonitorOptions& options) {
  const std::vector<CollectorDescription> enabled = describe_collectors(options);
  return std::ranges::any_of(enabled,
                             [](const CollectorDescription& collector) { return collector.name == "samples"; });
}

Options options_from(CommandLine& line, const Environment& environment) {
  try {
    if (environment) add_environment(line.settings, all_flags(), line.command->name, environment);
    return checked(line);
  } catch (const UsageError& error) {
    throw line.with_place(error);
  }
}

}  // namespace igpu::exporter
