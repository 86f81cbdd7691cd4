// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The calls of a Level Zero program, one row for each: from a CSV in the format of the validation layer's System
// Resource Tracker, whichever program wrote it, or from an event log of ours.
namespace igpu::exporter {

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

}  // namespace igpu::exporter
