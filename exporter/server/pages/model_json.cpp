// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "igpu/words.h"
#include "server/pages/page_history.h"
#include "text/text.h"

namespace igpu::exporter {

using namespace snapshot;
namespace {

void put(JsonWriter& json, std::string_view name, std::string_view text) {
  if (!text.empty()) json.member(name, text);
}
void put(JsonWriter& json, std::string_view name, const Reading<bool>& truth) {
  if (truth) json.member(name, *truth);
}
template <class Tag>
void put(JsonWriter& json, std::string_view name, const Reading<Quantity<Tag>>& number) {
  if (number && std::isfinite(number->value)) json.member(name, number->value);
}

// An array with an object for each row that `add` fills.
template <class Rows, class Add>
void put_rows(JsonWriter& json, std::string_view name, const Rows& rows, const Add& add) {
  json.name(name).begin_array();
  for (const auto& row : rows) {
    json.begin_object();
    add(row);
    json.end_object();
  }
  json.end_array();
}
template <class Row, class Add>
void put_rows(JsonWriter& json, std::string_view name, const Reading<std::vector<Row>>& rows, const Add& add) {
  if (rows) put_rows(json, name, *rows, add);
}

void put_texts(JsonWriter& json, std::string_view name, const auto& texts) {
  json.name(name).begin_array();
  for (const auto& text : texts) json.value(std::string_view(text));
  json.end_array();
}

// By class. Classes without a value are left out.
void put_busy(JsonWriter& json, const std::array<Reading<Ratio>, kEngineClasses>& busy) {
  json.name("busy").begin_object();
  for (std::size_t i = 0; i < kEngineClasses; ++i) put(json, to_string(static_cast<EngineClass>(i)), busy[i]);
  json.end_object();
}

void put_engines(JsonWriter& json, const GpuModel& gpu) {
  put_rows(json, "engines", measured_engines(gpu), [&](const Engine* engine) {
    json.member("name", engine->name).member("class", to_string(engine->engine_class));
    if (engine->gt) json.member("gt", std::uint64_t{*engine->gt});
    json.member("of_processes", engine->source == EngineSource::fdinfo);
    put(json, "busy", engine->busy);
  });
}

// What the GPU draws is first: while it has no mean, no other domain takes its place.
void put_power(JsonWriter& json, const GpuModel& gpu) {
  const Power* const draw = draw_of(gpu);
  std::vector<const Power*> rows;
  if (gpu.power && (draw == nullptr || draw->mean))
    for (const Power& row : *gpu.power)
      if (row.mean) rows.insert(&row == draw ? rows.begin() : rows.end(), &row);
  put_rows(json, "power", rows, [&](const Power* row) {
    json.member("domain", row->domain);
    put(json, "watts", row->mean);
    if (const PowerLimit* limit = power_limit_of(gpu, row->domain)) put(json, "limit", Reading(limit->value));
  });
}

// Where no GT has a current clock, the mean over the window.
void put_clocks(JsonWriter& json, const GpuModel& gpu) {
  if (!gpu.frequencies) return;
  const bool has_actual = std::any_of(gpu.frequencies->begin(), gpu.frequencies->end(),
                                      [](const Frequency& row) { return static_cast<bool>(row.actual); });
  std::vector<const Frequency*> rows;
  for (const Frequency& row : *gpu.frequencies)
    if (has_actual ? row.actual : row.mean_actual) rows.push_back(&row);
  put_rows(json, "clocks", rows, [&](const Frequency* row) {
    json.member("gt", std::uint64_t{row->gt});
    put(json, "hertz", has_actual ? row->actual : row->mean_actual);
    put(json, "limit", row->max ? row->max : row->rp0);
    put(json, "hardware_limit", row->rp0);
  });
}

void put_temperatures(JsonWriter& json, const GpuModel& gpu) {
  put_rows(json, "temperatures", gpu.temperatures, [&](const Temperature& row) {
    json.member("sensor", row.sensor);
    put(json, "celsius", Reading(row.value));
    for (const TemperatureLimit& limit : gpu.temperature_limits)
      if (limit.sensor == row.sensor && limit.limit == "crit") put(json, "limit", Reading(limit.value));
  });
}

void put_memory(JsonWriter& json, const GpuModel& gpu) {
  const MemoryUse memory = memory_of(gpu);
  if (!memory.size) return;
  json.name("memory").begin_object().member("own", memory.own);
  put(json, "size", memory.size);
  put(json, "used", memory_in_use(gpu));
  json.end_object();
}

void put_users(JsonWriter& json, const HostModel& host, const GpuModel& gpu, const PageHistory* history) {
  put_rows(json, "processes", gpu.processes, [&](const Process& process) {
    json.member("pid", std::uint64_t{process.pid}).member("comm", process.comm);
    put(json, "place", place_of(process));
    put(json, "workload", host.workload_of(process));
    if (history != nullptr) json.member("since", history->first_seen(process.pid, process.comm));
    put(json, "memory", resident(process.memory));
    put_busy(json, process.busy);
  });
  put(json, "process_count", gpu.process_count);
  put(json, "processes_dropped", gpu.processes_dropped);
  put_rows(json, "workloads", gpu.workloads, [&](const WorkloadUse& use) {
    json.member("workload", use.workload);
    put(json, "memory", resident(use.memory));
    put_busy(json, use.busy);
  });
  put_rows(json, "functions", gpu.functions, [&](const VirtualFunction& function) {
    json.member("vf", std::uint64_t{function.number}).member("driver", function.driver);
    put(json, "workload", function.workload);
    json.name("busy").begin_object();
    for (const EngineClassLoad& load : function.busy) put(json, to_string(load.engine_class), load.busy);
    json.end_object();
  });
}

void put_health(JsonWriter& json, const GpuModel& gpu) {
  put(json, "out_of_service", out_of_service(gpu));
  put_texts(json, "throttle_reasons", throttle_reasons(gpu));
  put_rows(json, "faults", gpu.faults,
           [&](const Fault& fault) { json.member("kind", fault.kind).member("time", fault.at.value); });
  put_rows(json, "hangs", gpu.hangs, [&](const Hangs& hangs) {
    put(json, "kind", hangs.kind);
    put(json, "class", hangs.engine_class);
    json.member("count", hangs.count.value);
  });
  put_rows(json, "hang_causes", gpu.hang_causes, [&](const HangCause& cause) {
    json.member("pid", std::uint64_t{cause.pid}).member("comm", cause.comm).member("hangs", cause.hangs.value);
  });
  put(json, "resets", gpu.resets);
  put(json, "uncorrectable_pcie_errors", gpu.uncorrectable_pcie_errors);
  put(json, "hang_captured", gpu.hang_captured);
}

// All that the script does not draw, as text.
void put_more(JsonWriter& json, std::vector<SummarySection> sections) {
  put_rows(json, "more", undrawn(std::move(sections)), [&](const SummarySection& section) {
    json.member("title", section.title);
    put_rows(json, "rows", section.rows,
             [&](const SummaryRow& row) { json.member("name", row.name).member("value", trimmed(row.value)); });
  });
}

void put_state(JsonWriter& json, const GpuModel& gpu, double now) {
  const State state = state_of(gpu, Seconds{now});
  json.name("state").begin_object().member("word", to_string(state.word));
  put(json, "why", state.why);
  if (state.since.value > 0) json.member("since", state.since.value);
  json.end_object();
}

void write_gpu(JsonWriter& json, const HostModel& host, const GpuModel& gpu, double now, const PageHistory* history) {
  json.member("device", gpu.gpu.address);
  put(json, "name", gpu.gpu.name);
  json.member("kind", to_string(gpu.gpu.kind)).member("driver", to_string(gpu.gpu.driver));
  put(json, "card", gpu.gpu.card);
  put(json, "render_node", gpu.gpu.render_node);
  if (gpu.pcie && gpu.pcie->speed && gpu.pcie->width) {
    json.name("pcie").begin_object();
    put(json, "transfers_per_second", gpu.pcie->speed);
    put(json, "lanes", gpu.pcie->width);
    put(json, "slot_lanes", gpu.pcie->max_width);
    json.end_object();
  }
  put_state(json, gpu, now);
  put(json, "suspended", gpu.suspended);
  put_engines(json, gpu);
  put_power(json, gpu);
  put_clocks(json, gpu);
  put_temperatures(json, gpu);
  put_rows(json, "fans", gpu.fans, [&](const Fan& fan) { put(json, "rpm", Reading(fan.speed)); });
  put_memory(json, gpu);
  std::vector<const Residency*> sleep;
  if (gpu.rc6)
    for (const Residency& row : *gpu.rc6)
      if (row.ratio) sleep.push_back(&row);
  put_rows(json, "rc6", sleep, [&](const Residency* row) {
    json.member("gt", std::uint64_t{row->gt});
    put(json, "ratio", row->ratio);
  });
  put_users(json, host, gpu, history);
  put_health(json, gpu);
  put_more(json, sections_of(gpu));
  put_texts(json, "missing", gpu.missing);
}

void put_channels(JsonWriter& json, const std::vector<ChannelRate>& channels) {
  put_rows(json, "channels", channels, [&](const ChannelRate& channel) {
    json.member("name", channel.name);
    if (channel.rate) json.member("rate", *channel.rate);
    put_texts(json, "cards", channel.cards);
    if (channel.nominal) json.member("nominal", *channel.nominal);
    if (channel.stalled > 0) json.member("stalled", channel.stalled);
  });
}

void write_npu(JsonWriter& json, const Npu& npu) {
  json.member("device", npu.address);
  put(json, "name", npu.name);
  put(json, "suspended", npu.suspended);
  put(json, "busy", npu.busy);
  put(json, "watts", npu.power);
  put(json, "hertz", npu.frequency);
  put(json, "limit", npu.max_frequency);
  put(json, "celsius", npu.temperature);
  put(json, "memory", npu.resident_memory);
  put_more(json, sections_of(npu));
}

}  // namespace

std::string model_json(const HostModel& host, std::chrono::system_clock::time_point time, const PageExtras& extras) {
  const PageHistory* const history = extras.history;
  std::vector<const GpuModel*> gpus;
  for (const GpuModel& gpu : host.gpus)
    if (gpu.identified) gpus.push_back(&gpu);
  JsonWriter json;
  json.begin_object().member("version", 1);
  const double now = std::chrono::duration<double>(time.time_since_epoch()).count();
  json.member("time", now);
  put_rows(json, "gpus", gpus, [&](const GpuModel* gpu) { write_gpu(json, host, *gpu, now, history); });
  put_rows(json, "npus", host.npus, [&](const Npu& npu) { write_npu(json, npu); });
  write_unbound(json, host.unbound);
  put_texts(json, "missing", host.missing);
  if (history != nullptr) put_channels(json, history->channels());
  if (history != nullptr && extras.whole_history) history->write(json, time);
  if (extras.flights) json.member("flights", true);
  json.end_object();
  return json.take() + '\n';
}

}  // namespace igpu::exporter
