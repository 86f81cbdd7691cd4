// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options.h"
#include "igpu/level_zero.h"

namespace igpu::exporter {

// The calls of a Level Zero program, one row for each: from a CSV in the format of the validation layer's System
// Resource Tracker, whichever program wrote it, or from an event log of ours.

inline constexpr std::size_t kResourceColumns = 10;
extern const std::array<std::string_view, kResourceColumns> kResourceColumnNames;

struct Row {
  double milliseconds = 0;
  std::uint32_t function = 0;  // in Rows::functions
  std::array<std::uint32_t, kResourceColumns> counts{};
  std::int64_t size = 0, resident = 0, data = 0;  // kB
  std::int64_t size_change = 0, resident_change = 0;
  std::uint64_t total_bytes = 0;
};

struct Rows {
  std::vector<std::string> functions;
  std::vector<Row> rows;
  std::uint64_t unreadable = 0;  // lines or records
  bool with_memory = true;

  std::string_view function(const Row& row) const { return functions[row.function]; }
};

bool is_csv(std::string_view head);
// Nothing if the first line does not name the known columns.
std::optional<Rows> read_csv(std::string_view text);
// Nothing if it is not a log.
std::optional<Rows> read_log(std::span<const std::byte> log);
// The log as a CSV. False if it is not a log.
bool write_csv(std::span<const std::byte> log, std::ostream& out);
// The log as one line for each call, with the fields that the System Resource Tracker logs, and at the end the growth
// of resident memory by kind, which that tool takes for leaks. False if it is not a log.
bool write_call_lines(std::span<const std::byte> log, std::ostream& out);

struct FunctionUse {
  std::string function;
  std::uint64_t calls = 0;
  double megabytes = 0;  // by which resident memory grew over its calls
  double mean() const { return calls == 0 ? 0 : megabytes / static_cast<double>(calls); }
};

// A destroy over which resident memory grew. That is how the known tool finds leaks; it is a guess.
struct GrowthEvent {
  double seconds = 0;
  std::string function;
  double megabytes = 0;
};

struct Statistics {
  std::vector<FunctionUse> functions;
  std::vector<GrowthEvent> growth;
  double seconds = 0;
  std::int64_t peak_resident = 0;  // kB
  std::uint64_t peak_total_bytes = 0;
};

Statistics statistics_of(const Rows& rows);

// The first `most` functions by what `of` says, largest first; those with 0 are left out.
std::vector<std::pair<std::string, double>> top_functions(const Statistics& statistics, std::size_t most,
                                                          double (*of)(const FunctionUse&));

// Charts as SVG elements of one size, to be placed in a grid. Pure.

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x never goes back
};

struct ChartTitle {
  std::string_view title, x, y;
};

inline constexpr double kChartWidth = 560, kChartHeight = 300;

std::string short_number(double value);
// Some four to seven multiples of 1, 2 or 5 times a power of ten from low to high, for an axis that contains 0.
std::vector<double> round_values(double low, double high);

// However many points there are, no more than a few for each column of pixels are drawn: its lowest and highest.
std::string line_chart(const ChartTitle& title, const std::vector<Curve>& curves);
std::string bar_chart(const ChartTitle& title, const std::vector<std::pair<std::string, double>>& bars,
                      std::string_view when_empty);

// Names of code addresses: "function+0x12 (libfoo.so)", with " at file.c:34" where debug information is installed.
// Uses elfutils' libdw if this machine has it; without it the library and the offset are all that is known.
class Symbols {
 public:
  Symbols();
  ~Symbols();

  std::string describe(const LevelZeroFrame& frame);

 private:
  class Library;
  struct Dwarf;
  Library& library(const std::string& path);

  std::unique_ptr<Dwarf> dwarf_;
  std::map<std::string, std::unique_ptr<Library>> libraries_;
};

// What a Level Zero program did and left behind, as text and as one HTML file without scripts or links.

struct ReportInput {
  std::string title;
  std::vector<LevelZeroProcess> processes;  // from pages; none when only a CSV is known
  Rows rows;                                // none when there was no log
};

// What one program has not destroyed.
bool leaks(const LevelZeroProcess& process);

// A line for each kind, and one for each place that leaks. Names in it, which programs chose, are clean_text().
std::string summary_text(const LevelZeroProcess& process, Symbols& symbols);
std::string report_text(const ReportInput& input, Symbols& symbols);
std::string report_html(const ReportInput& input, Symbols& symbols);

// Runs a program with the tracker inside.

struct TrackedRun {
  int status = 0;  // as a shell reports it: 128 + N for signal N
  std::vector<LevelZeroProcess> processes;
  std::vector<std::string> logs;  // event logs for the report, in `scratch`
  std::vector<std::string> warnings;
};

// The folder of the layer beside this program: of the build tree or of an installation; "" if there is none.
std::string tracker_folder();

// Copies the tracker into a folder, which is made if it is missing. A program that starts meanwhile finds the old files
// or the new ones. Throws std::runtime_error.
void install_tracker(const std::string& folder);

inline constexpr std::size_t kLargestPage = std::size_t{128} << 20;  // of the tracker

// Temporary files of the run, which the destructor removes.
class ScratchSpace {
 public:
  ScratchSpace();
  ~ScratchSpace();
  ScratchSpace(const ScratchSpace&) = delete;
  ScratchSpace& operator=(const ScratchSpace&) = delete;
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

// folder: where pages go if this user may write there. Throws std::runtime_error.
TrackedRun run_tracked(const LevelZeroArguments& arguments, const std::string& folder, const ScratchSpace& scratch);

}  // namespace igpu::exporter
