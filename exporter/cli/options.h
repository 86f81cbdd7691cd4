// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/settings.h"
#include "client/http_fetcher.h"
#include "http/listen_address.h"
#include "igpu/log.h"
#include "igpu/options.h"
#include "service/logging.h"

namespace igpu::exporter {

enum class StatsFormat { table, json, csv, influx, intel_gpu_top };

struct StatsOptions {
  StatsFormat format = StatsFormat::table;
  Nanoseconds interval = std::chrono::seconds(1);
  std::optional<std::uint64_t> count;   // nullopt: unlimited
  std::optional<Nanoseconds> duration;  // of the stream
  bool summary = true;                  // on standard error, after a stream
  bool json_without_version = false;    // --json, which is older than the version
};

struct TopOptions {
  bool once = false;
  ClientOptions client;
};

// All settings of the program, checked and typed.
struct Options {
  MonitorOptions monitor;

  std::vector<ListenAddress> listen_addresses;
  bool listen_addresses_given = false;  // by a flag: inherited sockets are then used in addition
  std::string telemetry_path = "/metrics";
  std::string web_config_file;
  unsigned max_requests = 40;
  Nanoseconds timeout = std::chrono::seconds(10);
  bool exporter_metrics = true;
  bool sandbox = true;

  LogLevel log_level = LogLevel::info;
  LogFormat log_format = LogFormat::logfmt;

  bool json = false;              // --json was given
  std::string gpu_origin;         // origin of monitor.gpus, for errors: "--gpu"
  bool min_window_given = false;  // monitor.min_window is not the default
  StatsOptions stats;
  TopOptions top;
};

// Throws UsageError with the origin of the invalid value.
Options options_from(const Settings& settings);

}  // namespace igpu::exporter
