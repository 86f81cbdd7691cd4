// SPDX-License-Identifier: Apache-2.0
#include "view/format/csv_rows.h"

#include <ctime>
#include <optional>

#include "text/formatted.h"
#include "view/format/number.h"

namespace igpu::exporter {
void append_csv_cell(std::string& out, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  out += '"';
}

std::string time_text(std::chrono::system_clock::time_point time) {
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch().count();
  return utc_text(ms / 1000, "%Y-%m-%dT%H:%M:%S.") + formatted("%03dZ", static_cast<int>(ms % 1000));
}

void CsvRows::write(const PageView& page, std::chrono::system_clock::time_point time, Nanoseconds elapsed,
                    std::string& out) {
  struct Value {
    std::string column;
    double value;
  };
  std::map<std::string, std::vector<Value>, std::less<>> devices;
  gauges_.each(page, elapsed, [&](std::string_view device, const std::string& column, double value) {
    devices[std::string(device)].push_back({column, value});
  });
  if (devices.empty()) return;
  if (columns_.empty()) {
    for (const auto& [device, values] : devices) {
      for (const Value& value : values) {
        if (index_.emplace(value.column, columns_.size()).second) columns_.push_back(value.column);
      }
    }
    out += "time,device";
    for (const std::string& column : columns_) {
      out += ',';
      append_csv_cell(out, column);
    }
    out += '\n';
  }
  const std::string now = time_text(time);
  for (const auto& [device, values] : devices) {
    std::vector<std::optional<double>> row(columns_.size());
    for (const Value& value : values) {
      const auto at = index_.find(value.column);
      if (at == index_.end()) {
        left_out_.insert(value.column);
      } else {
        row[at->second] = value.value;
      }
    }
    out += now + ',';
    append_csv_cell(out, device);
    for (const std::optional<double>& value : row) {
      out += ',';
      if (value) append_number(out, *value);
    }
    out += '\n';
  }
}

}  // namespace igpu::exporter
