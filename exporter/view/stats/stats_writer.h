// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options.h"
#include "igpu/device.h"
#include "igpu/monitor.h"
#include "igpu/page.h"
#include "platform/thread.h"

namespace igpu::exporter {

// What one reading of `stats` is written from.
struct StatsReading {
  const PageView& page;
  std::span<const Gpu> gpus;  // empty unless the format lists them
  std::span<const Finding> findings;
  std::chrono::system_clock::time_point time;
  Nanoseconds elapsed;  // since the previous reading, for the first one since the start
};

// An output format of `stats`.
struct StatsWriter {
  std::function<void(const StatsReading& reading, std::string& out)> write;
  std::function<void(std::string& out)> finish = [](std::string&) {};
  std::function<std::string()> note = [] { return std::string(); };  // for standard error, after the end
};

// The one table of formats, in stats_writer.cpp: a new format is one entry there.
struct StatsFormat {
  std::string_view name;
  // Throws UsageError if the format cannot show these GPUs.
  StatsWriter (*make)(const Options& options, std::span<const Gpu> gpus);
  bool lists_gpus = false;    // it needs StatsReading::gpus
  bool alone = true;          // each reading can be read without the others
  bool for_flag = true;       // a choice of --format
  bool keeps_window = false;  // the windows of the values do not follow the interval
};
std::span<const StatsFormat> stats_formats();
const StatsFormat& stats_format(std::string_view name);
// For --format: "table|json|csv".
std::string stats_format_names();

// One scrape as a table: each GPU with its engines, frequency, power, temperature, memory and busiest processes.
// Unknown values are omitted.
std::string stats_table(const PageView& page, std::span<const Gpu> gpus);

// Minimum, mean, maximum and 95th percentile of many values in little memory, however many there are: minimum, mean and
// maximum are exact, the percentile is within 0.5 % of a value that occurred.
class Distribution {
 public:
  void add(double value);
  double minimum() const { return minimum_; }
  double maximum() const { return maximum_; }
  double mean() const { return count_ > 0 ? sum_ / static_cast<double>(count_) : 0; }
  double percentile(double share) const;  // share: 0.95
  std::uint64_t count() const { return count_; }

 private:
  std::map<double, std::uint64_t> buckets_;  // counts of values, by the middle of their bucket
  std::uint64_t count_ = 0;
  double minimum_ = 0, maximum_ = 0, sum_ = 0;
};

// The values of a stream of readings by GPU and column.
class StatsSummary {
 public:
  void add(std::string_view device, const std::string& column, double value);
  // A table for each GPU; "" without values.
  std::string text() const;

 private:
  using Columns = std::vector<std::pair<std::string, Distribution>>;  // in order of first appearance
  std::map<std::string, Columns, std::less<>> devices_;
};

// Output of a stream, mostly standard output: notices that its reader has closed the pipe, also between two readings. A
// reader that has enough is no error. Or a file, which each reading replaces as a whole.
class StatsOutput {
 public:
  enum class Outcome { goes_on, reader_gone, interrupted };

  // handles_signals: SIGINT and SIGTERM end the stream instead of the program. Constructed before other threads.
  // file: "" for standard output.
  explicit StatsOutput(bool handles_signals, std::string file = {});

  // Of a program that stands for another one: SIGTERM ends it.
  struct Manner {
    int descriptor;                          // where it writes
    std::chrono::milliseconds longest_wait;  // of write(), for a reader that does not read; SIGINT ends it
  };
  explicit StatsOutput(const Manner& manner);

  // Throws std::system_error if writing failed otherwise, such as on a full disk.
  Outcome write(std::string_view text);
  Outcome wait_until(std::chrono::steady_clock::time_point time);

  bool to_file() const { return to_file_; }  // standard output is a regular file

 private:
  std::optional<Outcome> wait_for_reader();  // nullopt: what is not more than PIPE_BUF can be written at once

  Outcome write_stream(std::string_view text);
  mode_t mode_of_file() const;

  int descriptor_;
  std::optional<TerminationSignals> signals_;
  std::string file_;
  std::optional<std::chrono::milliseconds> longest_wait_;
  mode_t new_mode_ = 0600;
  bool to_file_ = false;
};

// One line on standard error about a stream that goes into a file: rewritten in place on a terminal, otherwise a new
// line every ten seconds.
class ProgressLine {
 public:
  explicit ProgressLine(bool wanted);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(std::string_view text);
  void end();  // completes the line

 private:
  bool wanted_, on_terminal_;
  bool open_ = false;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace igpu::exporter
