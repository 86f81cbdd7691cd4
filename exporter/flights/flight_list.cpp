// SPDX-License-Identifier: Apache-2.0
#include "flights/flight_list.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>

#include "format/json_writer.h"
#include "text/unicode.h"
#include "text/utc.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kMostFlights = 1000;

// An array of objects whose members are texts and numbers.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  std::optional<std::vector<ListedFlight>> list() {
    std::vector<ListedFlight> flights;
    if (!take('[')) return std::nullopt;
    if (!take(']')) {
      do {
        ListedFlight flight;
        if (flights.size() == kMostFlights || !object(flight)) return std::nullopt;
        flights.push_back(std::move(flight));
      } while (take(','));
      if (!take(']')) return std::nullopt;
    }
    skip_blanks();
    if (!rest_.empty()) return std::nullopt;
    return flights;
  }

 private:
  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }
  bool take(char wanted) {
    skip_blanks();
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool object(ListedFlight& flight) {
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      std::string name;
      if (!text(name) || !take(':') || !member(name, flight)) return false;
    } while (take(','));
    return take('}');
  }

  bool member(const std::string& name, ListedFlight& flight) {
    skip_blanks();
    if (rest_.starts_with('"')) {
      std::string value;
      if (!text(value)) return false;
      if (name == "cause")
        flight.cause = std::move(value);
      else if (name == "device")
        flight.device = std::move(value);
      else if (name == "detail")
        flight.detail = std::move(value);
      return true;
    }
    double value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || !std::isfinite(value)) return false;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    const auto count = value >= 0 && value < 1e15 ? static_cast<std::uint64_t>(value) : 0;
    if (name == "number") flight.number = count;
    if (name == "more_events") flight.more_events = count;
    if (name == "time") flight.time = value;
    return true;
  }

  bool text(std::string& value) {
    if (!take('"')) return false;
    while (!rest_.empty()) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') return true;
      if (c != '\\') {
        value += c;
      } else if (!escape(value)) {
        return false;
      }
    }
    return false;
  }

  // Of \u only what a writer of valid UTF-8 escapes: control characters.
  bool escape(std::string& value) {
    if (rest_.empty()) return false;
    const char c = rest_.front();
    rest_.remove_prefix(1);
    constexpr std::string_view kLetters = "bfnrt", kMeanings = "\b\f\n\r\t";
    if (const std::size_t at = kLetters.find(c); at != std::string_view::npos) {
      value += kMeanings[at];
      return true;
    }
    if (c == '"' || c == '\\' || c == '/') {
      value += c;
      return true;
    }
    unsigned code = 0;
    if (c != 'u' || rest_.size() < 4) return false;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + 4, code, 16);
    if (error != std::errc() || end != rest_.data() + 4) return false;
    rest_.remove_prefix(4);
    value += code < 0x80 ? static_cast<char>(code) : '?';
    return true;
  }

  std::string_view rest_;
};

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

std::optional<std::vector<ListedFlight>> parse_flight_list(std::string_view json) { return Reader(json).list(); }

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
