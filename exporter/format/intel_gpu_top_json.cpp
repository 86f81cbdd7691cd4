// SPDX-License-Identifier: Apache-2.0
#include "format/intel_gpu_top_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "format/class_busy.h"
#include "format/device_series.h"
#include "format/json_writer.h"
#include "format/number.h"

namespace igpu::exporter {
namespace {

struct EngineClass {
  std::string_view label, title;
};
// In the order of the kernel's class numbers.
constexpr std::array<EngineClass, 5> kClasses{{{"render", "Render/3D"},
                                               {"copy", "Blitter"},
                                               {"video", "Video"},
                                               {"video_enhance", "VideoEnhance"},
                                               {"compute", "Compute"}}};
constexpr std::array<std::string_view, 5> kMemoryStates{"total", "shared", "resident", "purgeable", "active"};

// JSON with a tab for each level, as the original writes it.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  void open(std::string_view name) {
    begin_member(name);
    out_ += '{';
    out_ += '\n';
    ++level_;
    first_ = true;
  }
  void close() {
    --level_;
    out_ += '\n';
    out_.append(level_, '\t');
    out_ += '}';
    first_ = false;
  }
  void number(std::string_view name, double value) {
    begin_member(name);
    append_fixed(out_, value);
  }
  void text(std::string_view name, std::string_view value) {
    begin_member(name);
    append_json_string(out_, value);
  }
  void record() {
    out_ += "\n{\n";
    level_ = 1;
    first_ = true;
  }

 private:
  void begin_member(std::string_view name) {
    if (!first_) out_ += ",\n";
    first_ = false;
    out_.append(level_, '\t');
    append_json_string(out_, name);
    out_ += ": ";
  }

  std::string& out_;
  std::size_t level_ = 0;
  bool first_ = true;
};

class Mean {
 public:
  void add(double value) {
    sum_ += value;
    ++count_;
  }
  bool known() const { return count_ > 0; }
  double value() const { return count_ > 0 ? sum_ / count_ : 0; }

 private:
  double sum_ = 0;
  int count_ = 0;
};

double percent(double ratio) { return std::clamp(ratio, 0.0, 1.0) * 100; }

void write_frequency(const DeviceSeries& series, Writer& json) {
  Mean requested, actual;
  for (const std::string_view metric : {"intel_gpu_frequency_average_hertz", "intel_gpu_frequency_hertz"}) {
    if (requested.known() || actual.known()) break;
    series.each(metric, [&](const Series& one) {
      (one.label("kind") == "requested" ? requested : actual).add(one.value() / 1e6);
    });
  }
  if (!requested.known() && !actual.known()) return;
  json.open("frequency");
  json.number("requested", requested.value());
  json.number("actual", actual.value());
  json.text("unit", "MHz");
  json.close();
}

void write_rc6(const DeviceSeries& series, Writer& json) {
  Mean rc6;
  series.each("intel_gpu_rc6_residency_ratio", [&](const Series& one) { rc6.add(percent(one.value())); });
  if (!rc6.known()) return;
  json.open("rc6");
  json.number("value", rc6.value());
  json.text("unit", "%");
  json.close();
}

// RAPL only: the original shows no power of cards.
void write_power(const DeviceSeries& series, Writer& json) {
  std::optional<double> gpu, package;
  series.each("intel_gpu_power_watts", [&](const Series& one) {
    if (one.label("source") == "hwmon") return;
    if (one.label("domain") == "gpu") gpu = one.value();
    if (one.label("domain") == "package") package = one.value();
  });
  if (!gpu && !package) return;
  json.open("power");
  json.number("GPU", gpu.value_or(0));
  json.number("Package", package.value_or(0));
  json.text("unit", "W");
  json.close();
}

struct ClassUse {
  double busy = 0;
  Mean sema, wait;
};
using Classes = std::map<std::string_view, ClassUse>;

Classes classes_of(const DeviceSeries& series) {
  Classes classes;
  for (const auto& [name, ratio] : class_busy(series)) classes[name].busy = percent(ratio);
  series.each("intel_gpu_engine_sema_ratio",
              [&](const Series& one) { classes[one.label("class")].sema.add(percent(one.value())); });
  series.each("intel_gpu_engine_wait_ratio",
              [&](const Series& one) { classes[one.label("class")].wait.add(percent(one.value())); });
  return classes;
}

void write_engines(const Classes& classes, Writer& json) {
  json.open("engines");
  for (const EngineClass& known : kClasses) {
    const auto found = classes.find(known.label);
    if (found == classes.end()) continue;
    json.open(known.title);
    json.number("busy", found->second.busy);
    json.number("sema", found->second.sema.value());
    json.number("wait", found->second.wait.value());
    json.text("unit", "%");
    json.close();
  }
  json.close();
}

struct Client {
  std::string name;
  bool seen_before = false;
  double used = 0;                                  // sum over its classes
  std::map<std::string, double, std::less<>> busy;  // engines in use on average, by class
  // Region by its title, then by state.
  std::map<std::string_view, std::map<std::string, double, std::less<>>> memory;
};

// The original adds up main memory and the first tile's, and ignores stolen memory.
std::string_view region_title(std::string_view region) {
  if (region == "system" || region == "system0") return "system";
  if (region == "local" || region == "local0" || region == "vram0") return "local";
  return {};
}

// 2^32 - PID: how the original names all clients of a process.
std::string key_of(std::string_view pid) {
  std::uint32_t number = 0;
  (void)std::from_chars(pid.data(), pid.data() + pid.size(), number);
  return std::to_string(-number);
}

void write_client(const std::string& pid, const Client& client, const Classes& engines, Writer& json) {
  json.open(key_of(pid));
  json.text("name", client.name);
  json.text("pid", pid);
  if (!client.memory.empty()) {
    json.open("memory");
    for (const std::string_view region : {"system", "local"}) {
      const auto found = client.memory.find(region);
      if (found == client.memory.end()) continue;
      json.open(region);
      for (const std::string_view state : kMemoryStates) {
        const auto bytes = found->second.find(state);
        std::string text;
        append_number(text, bytes == found->second.end() ? 0 : bytes->second);
        json.text(state, text);
      }
      json.close();
    }
    json.close();
  }
  if (client.seen_before) {
    json.open("engine-classes");
    for (const EngineClass& known : kClasses) {
      const auto busy = client.busy.find(known.label);
      if (busy == client.busy.end() && !engines.contains(known.label)) continue;
      std::string text;
      append_fixed(text, busy == client.busy.end() ? 0 : busy->second * 100);
      json.open(known.title);
      json.text("busy", text);
      json.text("unit", "%");
      json.close();
    }
    json.close();
  }
  json.close();
}

}  // namespace

void IntelGpuTopJson::write(const PageView& page, Nanoseconds elapsed, std::string& out) {
  const DeviceSeries series(page, device_);
  const double seconds = std::chrono::duration<double>(elapsed).count();
  const auto rate = [seconds](double& before, double now) {
    const double gain = std::max(now - before, 0.0);
    before = now;
    return seconds > 0 ? gain / seconds : 0;
  };
  out += started_ ? "," : "[\n";
  started_ = true;
  Writer json(out);
  json.record();
  json.open("period");
  json.number("duration", seconds * 1000);
  json.text("unit", "ms");
  json.close();
  write_frequency(series, json);
  series.each("intel_gpu_interrupts_total", [&](const Series& one) {
    json.open("interrupts");
    json.number("count", rate(interrupts_, one.value()));
    json.text("unit", "irq/s");
    json.close();
  });
  write_rc6(series, json);
  write_power(series, json);
  std::map<std::string_view, double> imc;
  // Of the machine: reported for its integrated GPU, shown for cards as well.
  for (const PageView::Family& family : page.families()) {
    if (family.metric->name != "intel_gpu_memory_bandwidth_bytes_total") continue;
    for (const PageView::Entry& entry : family.entries) {
      constexpr double kMebibyte = 1024 * 1024;
      const Series one{family.metric, entry};
      imc[one.label("direction")] = rate(imc_bytes_[std::string(one.label("direction"))], one.value()) / kMebibyte;
    }
  }
  if (!imc.empty()) {
    json.open("imc-bandwidth");
    json.number("reads", imc["read"]);
    json.number("writes", imc["write"]);
    json.text("unit", "MiB/s");
    json.close();
  }
  const Classes classes = classes_of(series);
  write_engines(classes, json);

  bool lists_clients = false;
  series.each("intel_gpu_processes", [&](const Series&) { lists_clients = true; });
  std::map<std::string, Client> clients;
  series.each("intel_gpu_process_clients",
              [&](const Series& one) { clients[std::string(one.label("pid"))].name = one.label("comm"); });
  std::map<PidAndClass, double> now;
  series.each("intel_gpu_process_engine_busy_seconds_total", [&](const Series& one) {
    const auto client = clients.find(std::string(one.label("pid")));
    if (client == clients.end()) return;
    PidAndClass key(one.label("pid"), one.label("class"));
    if (const auto before = client_seconds_.find(key); before != client_seconds_.end()) {
      client->second.seen_before = true;
      client->second.busy[key.second] = seconds > 0 ? std::max(one.value() - before->second, 0.0) / seconds : 0;
    }
    now[std::move(key)] = one.value();
  });
  client_seconds_ = std::move(now);
  // The ratio's window is exact, but it is of the class's engines, whose number only the PMU's series show.
  std::map<std::string_view, int> capacity;
  series.each("intel_gpu_engine_busy_ratio", [&](const Series& one) {
    if (one.label("source") != "fdinfo") ++capacity[one.label("class")];
  });
  series.each("intel_gpu_process_engine_busy_ratio", [&](const Series& one) {
    const auto client = clients.find(std::string(one.label("pid")));
    const auto engines = capacity.find(one.label("class"));
    if (client == clients.end() || engines == capacity.end()) return;
    const auto busy = client->second.busy.find(one.label("class"));
    if (busy != client->second.busy.end()) busy->second = one.value() * engines->second;
  });
  for (auto& [pid, client] : clients) {
    for (const auto& [name, busy] : client.busy) client.used += busy;
  }
  series.each("intel_gpu_process_memory_bytes", [&](const Series& one) {
    const auto client = clients.find(std::string(one.label("pid")));
    const std::string_view region = region_title(one.label("memory_region"));
    if (client == clients.end() || region.empty()) return;
    client->second.memory[region][std::string(one.label("state"))] += one.value();
  });
  if (lists_clients) {
    std::vector<std::pair<std::string, const Client*>> sorted;
    sorted.reserve(clients.size());
    for (const auto& [pid, client] : clients) sorted.emplace_back(pid, &client);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second->used > b.second->used; });
    json.open("clients");
    for (const auto& [pid, client] : sorted) write_client(pid, *client, classes, json);
    json.close();
  }
  out += "\n}";
}

void IntelGpuTopJson::finish(std::string& out) {
  out += started_ ? "\n]\n" : "[\n]\n";
  started_ = false;
}

}  // namespace igpu::exporter
