// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

}  // namespace igpu::exporter
