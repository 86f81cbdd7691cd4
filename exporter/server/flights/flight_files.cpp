// SPDX-License-Identifier: Apache-2.0
#include "server/flights/flight_files.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <initializer_list>
#include <utility>

#include "igpu/json_strings.h"
#include "text/text.h"
#include "trace/trace_file.h"
#include "view/format/json_writer.h"

namespace igpu::exporter {
namespace {

double unix_seconds(const Flight& flight, Nanoseconds time) {
  return static_cast<double>(unix_time(flight, time).count()) / 1e9;
}

std::uint64_t ns(Nanoseconds time) { return static_cast<std::uint64_t>(time.count()); }

void write_event(JsonWriter& json, const Flight& flight) {
  json.member("number", flight.number).member("cause", to_string(flight.event.cause));
  json.member("device", flight.event.device).member("detail", flight.event.detail);
  json.member("time", unix_seconds(flight, flight.event.time)).member("more_events", flight.more_events);
}

// What a track of a GPU is called.
std::string named(const std::string& device, const std::string& name) {
  return device.empty() ? name : device + ' ' + name;
}

// A float as the decimal that it stands for: 0.25, not 0.25000000372529.
double decimal(float value) { return std::round(static_cast<double>(value) * 1e6) / 1e6; }

class Lines {
 public:
  template <class Fill>
  void line(std::string_view kind, Fill&& fill) {
    JsonWriter json;
    json.begin_object().name(kind).begin_object();
    fill(json);
    json.end_object().end_object();
    out_ += json.take() + '\n';
    ++count_;
  }
  std::uint64_t count() const { return count_; }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
  std::uint64_t count_ = 0;
};

constexpr std::size_t kMostFlights = 1000;

std::string date_text(double seconds) {
  if (!(seconds >= 0 && seconds < 1e11)) return "?";
  return utc_text(static_cast<std::time_t>(seconds), "%Y-%m-%d %H:%M:%SZ");
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

Nanoseconds unix_time(const Flight& flight, Nanoseconds time) { return flight.unix_offset + time; }

std::string flight_list_json(std::span<const std::shared_ptr<const Flight>> flights) {
  JsonWriter json;
  json.begin_array();
  for (const auto& flight : flights) {
    json.begin_object();
    write_event(json, *flight);
    json.end_object();
  }
  json.end_array();
  return json.take() + '\n';
}

std::string flight_json_lines(const Flight& flight) {
  Lines lines;
  lines.line("flight", [&](JsonWriter& json) {
    write_event(json, flight);
    json.member("more_clients", flight.more_clients).member("more_faults", flight.more_faults);
  });
  for (const Flight::Gpu& gpu : flight.gpus) {
    lines.line("gpu", [&](JsonWriter& json) {
      json.member("device", gpu.device).name("values").begin_array();
      for (const Flight::Column& column : gpu.columns)
        json.begin_object().member("name", column.name).member("unit", column.unit).end_object();
      json.end_array();
    });
    const float* value = gpu.values.data();
    for (const Flight::Sample& sample : gpu.samples)
      lines.line("sample", [&](JsonWriter& json) {
        json.member("device", gpu.device).member("time", unix_seconds(flight, sample.time));
        json.member("state", sample.state).member("missed", std::uint64_t{sample.missed}).name("values").begin_array();
        for (std::size_t i = 0; i < gpu.columns.size(); ++i, ++value)
          std::isnan(*value) ? json.null() : json.value(decimal(*value));
        json.end_array();
      });
  }
  for (const Flight::Client& client : flight.clients)
    lines.line("client", [&](JsonWriter& json) {
      json.member("device", client.device).member("id", client.id).member("pid", std::uint64_t{client.pid});
      json.member("comm", client.comm).member("first_seen", unix_seconds(flight, client.first));
      json.member("last_seen", unix_seconds(flight, client.last));
    });
  for (const Flight::Fault& fault : flight.faults)
    lines.line("fault", [&](JsonWriter& json) {
      json.member("device", fault.device).member("time", unix_seconds(flight, fault.time)).member("text", fault.text);
    });
  lines.line("end", [&](JsonWriter& json) { json.member("lines", lines.count()); });
  return lines.take();
}

std::string flight_trace(const Flight& flight, Nanoseconds boottime_offset) {
  std::string bytes;
  PerfettoWriter writer([&bytes](std::string_view part) { bytes += part; },
                        {ns(flight.frozen), ns(flight.frozen + boottime_offset), ns(unix_time(flight, flight.frozen))});
  writer.add_mark(named(flight.event.device, std::string(to_string(flight.event.cause))), flight.event.detail,
                  ns(flight.event.time));
  for (const Flight::Fault& fault : flight.faults)
    writer.add_mark(named(fault.device, "kernel"), fault.text, ns(fault.time));
  // Sample by sample: a file that is cut still has every series up to there.
  for (const Flight::Gpu& gpu : flight.gpus) {
    std::vector<std::uint64_t> tracks;
    for (const Flight::Column& column : gpu.columns)
      tracks.push_back(writer.counter_track(named(gpu.device, column.name), column.unit));
    const float* value = gpu.values.data();
    for (const Flight::Sample& sample : gpu.samples)
      for (const std::uint64_t track : tracks) {
        if (!std::isnan(*value)) writer.add_value(track, ns(sample.time), decimal(*value));
        ++value;
      }
  }
  for (const Flight::Client& client : flight.clients) writer.add_client(client);
  writer.flush();
  return bytes;
}

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
    table.add({std::to_string(flight.number), date_text(flight.time), flight.cause, flight.device, flight.detail,
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
