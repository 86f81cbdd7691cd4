// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags.h"
#include "igpu/job_recorder.h"
#include "igpu/log.h"
#include "igpu/options.h"
#include "server/http/addresses.h"
#include "server/push/address.h"
#include "server/service/logging.h"
#include "view/client/http_fetcher.h"
#include "view/intel_gpu_top/intel_gpu_top_arguments.h"

namespace igpu::exporter {

// The arguments of the command `trace`.
struct TraceArguments {
  enum class Histogram { none, queue, run, total };
  std::string action;  // record, report, timeline, export

  JobRecorderOptions recorder;  // record
  std::string output = "gpu.pftrace";
  std::chrono::milliseconds duration{0};  // 0: until ^C or the command ends
  std::uint64_t max_size = std::uint64_t{256} << 20;
  std::vector<std::string> command;

  std::string file;  // report, timeline, export
  std::size_t top = 0;
  Histogram histogram = Histogram::none;
  std::string by;                                  // engine, context, process, workload
  std::size_t width = 100;                         // timeline: characters of a line, at least 40
  std::optional<double> from_seconds, to_seconds;  // since the first event
};

// What follows `level-zero` on the command line.
struct LevelZeroArguments {
  std::string action;  // run, list, report, csv, clean, install
  std::string csv, report, log, html;
  std::uint32_t stacks = 1;
  bool fail_on_leak = false;
  bool calls = false;
  std::vector<std::string> files;    // of report and csv; of install the folder
  std::vector<std::string> program;  // of run
};

struct StatsOptions {
  std::string format = "table";  // a name of stats_formats()
  std::string text;              // of --template
  std::string file;              // that each reading replaces; "": standard output
  Nanoseconds interval = std::chrono::seconds(1);
  std::optional<std::uint64_t> count;  // nullopt: unlimited
  bool summary = true;                 // on standard error, after a stream
};

struct QueryOptions {
  bool list = false;
  std::vector<std::string> fields;
  std::optional<std::string> xpu_fields;  // as in xpu-smi; "": print their names
  bool json = false, header = true, units = true;
  std::optional<Nanoseconds> loop;     // time between readings; nullopt: one reading
  std::optional<std::uint64_t> count;  // nullopt: unlimited with --loop, otherwise one
  std::vector<std::string> ids;        // numbers or PCI addresses; empty: all
  std::string file;                    // "": standard output
};

struct TopOptions {
  bool once = false;
  ClientOptions client;
};

struct FlightsOptions {
  std::optional<std::uint64_t> number;  // nullopt: the list
  bool trace = false;                   // as a Perfetto trace instead of JSON lines
  std::string file;                     // "": standard output
};

struct PushOptions {
  std::optional<PushAddress> otlp;
  std::string otlp_credentials;  // a file; "": none
  std::optional<PushAddress> mqtt;
  std::string mqtt_credentials;  // likewise
  std::string mqtt_page_url;     // "": none
  std::string cacert;            // a file; "": the system's authorities
  Nanoseconds interval = std::chrono::seconds(15);
};

struct SetupOptions {
  bool remove = false, dry_run = false;
};

// All settings of the program, checked and typed.
struct Options {
  MonitorOptions monitor;

  std::vector<ListenAddress> listen_addresses{parse_listen_address(":10068")};
  bool listen_addresses_given = false;  // by a flag: inherited sockets are then used in addition
  std::string telemetry_path = "/metrics";
  std::string web_config_file;
  std::vector<std::string> allowed_hosts;
  unsigned max_requests = 40;
  bool exporter_metrics = true;
  Nanoseconds timeout = std::chrono::seconds(10);
  bool sandbox = true;
  PushOptions push;
  std::string flight_directory;  // "": flights are kept in memory only

  LogLevel log_level = LogLevel::info;
  LogFormat log_format = LogFormat::logfmt;

  bool json = false;                    // --json was given
  std::optional<std::string> bug_file;  // of doctor: write an archive for a kernel bug
  std::string gpu_origin;               // origin of monitor.gpus, for errors: "--gpu"
  bool min_window_given = false;        // monitor.min_window is not the default
  StatsOptions stats;
  QueryOptions query;
  TopOptions top;
  FlightsOptions flights;
  SetupOptions setup;
  IntelGpuTopArguments intel_gpu_top;
  TraceArguments trace;
  LevelZeroArguments level_zero;
  std::vector<std::string> operands;  // of the command
};

// Whether collector samples is on, which has the flight recorder.
bool has_flight_recorder(const MonitorOptions& options);

// Also from the environment, which it adds to the line's settings. Throws UsageError with the origin of the invalid
// value, and the command's status.
Options options_from(CommandLine& line, const Environment& environment = {});

// The commands. Each returns the exit status; an exception is printed as one line and gives status 1.

int serve(const Options& options);
int list(const Options& options);
int stats(const Options& options);
int query_command(const Options& options);
int doctor(const Options& options);
int intel_gpu_top(const Options& options);  // operands: all of its words
int top_command(const Options& options);    // operands: URLs of other exporters; none: this machine
int level_zero(const Options& options);
int trace(const Options& options);
int flights(const Options& options);      // operand: a URL, or a folder; none: the exporter with the same flags
int capture(const Options& options);      // operand: the file to write
int healthcheck(const Options& options);  // of a running exporter with the same flags

int service_command(const Options& options);  // on Windows only; the first operand is what to do

// Only in the static file: what a package brings and does.
int setup_command(const Options& options);
int completion(const Options& options);  // operand: the shell
int man(const Options& options);         // operand: the command; none: the program

// Checks the files, and, as curl does, asks for the password if only a name is given: on the command line other users
// could see it. Throws OptionError.
ClientOptions checked_client_options(ClientOptions client);

}  // namespace igpu::exporter
