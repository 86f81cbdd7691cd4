// SPDX-License-Identifier: Apache-2.0
#include "server/flights/flight_list.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "igpu/json_strings.h"
#include "text/ascii.h"
#include "text/unicode.h"
#include "text/utc.h"
#include "view/format/json_writer.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kMostFlights = 1000;

std::string time_text(double seconds) {
  if (!(seconds >= 0 && seconds < 1e11)) return "?";
  const tm parts = utc_of(static_cast<time_t>(seconds));
  std::array<char, 32> text{};
  return {text.data(), ::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%SZ", &parts)};
}

class Table {
 public:
  void add(std::initializer_list<std::string> cells) {
    rows_.emplace_back();
    for (const std::string& cell : cells) rows_.back().push_back(cell.empty() ? "-" : clean_text(cell));
    widths_.resize(std::max(widths_.size(), rows_.back().size()));
    for (std::size_t i = 0; i < rows_.back().size(); ++i) widths_[i] = std::max(widths_[i], rows_.back()[i].size());
  }
  std::string text() const {
    std::string out;
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i + 1 < row.size(); ++i) out += padded(row[i], widths_[i] + 2);
      out += row.back() + '\n';
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> widths_;
};

}  // namespace

std::optional<std::vector<ListedFlight>> parse_flight_list(std::string_view json) {
  std::vector<ListedFlight> flights;
  bool good = trimmed(json).starts_with('[');
  // The flight that has this member; null: it is none of a flight's.
  const auto flight_at = [&](std::span<const JsonStep> path) -> ListedFlight* {
    if (path.size() != 2 || path[0].index >= kMostFlights) return nullptr;
    flights.resize(std::max(flights.size(), path[0].index + 1));
    return &flights[path[0].index];
  };
  const auto text = [&](std::span<const JsonStep> path, std::string_view value) {
    ListedFlight* const flight = flight_at(path);
    if (flight == nullptr) return;
    if (path[1].key == "cause") flight->cause = value;
    if (path[1].key == "device") flight->device = value;
    if (path[1].key == "detail") flight->detail = value;
  };
  const auto number = [&](std::span<const JsonStep> path, std::string_view word) {
    const auto value = number_of<double>(word);
    ListedFlight* const flight = flight_at(path);
    good = good && value && std::isfinite(*value);
    if (flight == nullptr || !good) return;
    const auto count = *value >= 0 && *value < 1e15 ? static_cast<std::uint64_t>(*value) : 0;
    if (path[1].key == "number") flight->number = count;
    if (path[1].key == "more_events") flight->more_events = count;
    if (path[1].key == "time") flight->time = *value;
  };
  good = good && visit_json_strings(json, text, number) && good;
  return good ? std::optional(std::move(flights)) : std::nullopt;
}

std::string flight_table(std::span<const ListedFlight> flights) {
  Table table;
  table.add({"NUMBER", "TIME", "CAUSE", "DEVICE", "DETAIL", "MORE"});
  for (const ListedFlight& flight : flights)
    table.add({std::to_string(flight.number), time_text(flight.time), flight.cause, flight.device, flight.detail,
               std::to_string(flight.more_events)});
  return table.text();
}

std::string flight_file_table(std::span<const FlightFile> files) {
  Table table;
  table.add({"FILE", "BYTES", "STATE"});
  for (const FlightFile& file : files)
    table.add({file.name, std::to_string(file.bytes), file.whole ? "whole" : "cut or damaged"});
  return table.text();
}

std::string flight_file_json(std::span<const FlightFile> files) {
  JsonWriter json;
  json.begin_array();
  for (const FlightFile& file : files) {
    json.begin_object().member("file", file.name).member("bytes", file.bytes).member("whole", file.whole);
    json.end_object();
  }
  json.end_array();
  return json.take() + '\n';
}

}  // namespace igpu::exporter
