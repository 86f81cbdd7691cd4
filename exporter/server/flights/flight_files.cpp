// SPDX-License-Identifier: Apache-2.0
#include "server/flights/flight_files.h"

#include <time.h>

#include <chrono>
#include <cmath>
#include <vector>

#include "trace/perfetto_writer.h"
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

}  // namespace igpu::exporter
