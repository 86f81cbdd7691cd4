// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "view/format/intel_gpu_top_output.h"

namespace igpu::exporter {

using namespace snapshot;
namespace {

using Record = IntelGpuTopRecord;

std::size_t index_of(EngineClass engine_class) { return static_cast<std::size_t>(engine_class); }

// By EngineClass.
constexpr std::array<std::string_view, kEngineClasses> kTitles{"Render/3D", "Blitter", "Video", "VideoEnhance",
                                                               "Compute"};
constexpr std::array<std::string_view, kEngineClasses> kShortTitles{"RCS", "BCS", "VCS", "VECS", "CCS"};
// Up to igt 1.27.
constexpr std::string_view kOlderCompute = "[unknown]", kOlderShortCompute = "UNKN";

class Mean {
 public:
  template <class Quantity>
  void add(const Reading<Quantity>& reading, double factor) {
    if (!reading) return;
    sum_ += reading->value * factor;
    ++count_;
  }
  std::optional<double> value() const { return count_ > 0 ? std::optional(sum_ / count_) : std::nullopt; }

 private:
  double sum_ = 0;
  int count_ = 0;
};

template <class T>
const T& rows_of(const Reading<T>& rows) {
  static const T none;
  return rows ? *rows : none;
}

double percent(const Reading<Ratio>& ratio) { return std::clamp(ratio.value_or({}).value, 0.0, 1.0) * 100; }

// Adds a group for all GTs (gt is ""), or one for each.
template <class Row, class Add>
void add_by_gt(const Reading<std::vector<Row>>& all, IntelGpuTopLayout layout, const std::set<unsigned>& gts,
               const Add& add) {
  std::span<const Row> rows = rows_of(all);
  if (layout.older) rows = rows.first(std::min<std::size_t>(rows.size(), 1));
  if (!layout.physical || gts.size() < 2) return add(rows, std::string());
  for (const unsigned gt : gts) {
    const auto row = std::ranges::find(rows, gt, &Row::gt);
    add(row == rows.end() ? std::span<const Row>() : std::span<const Row>(&*row, 1), std::to_string(gt));
  }
}

Record::Group frequency_group(std::span<const Frequency> rows, const std::string& gt) {
  Mean requested, actual;
  for (const Frequency& row : rows) {
    requested.add(row.mean_requested, 1e-6);
    actual.add(row.mean_actual, 1e-6);
  }
  if (!requested.value() && !actual.value()) {
    for (const Frequency& row : rows) {
      requested.add(row.requested, 1e-6);
      actual.add(row.actual, 1e-6);
    }
  }
  const int width = gt.empty() ? 4 : 6;
  return {gt.empty() ? "frequency" : "frequency-gt" + gt,
          gt.empty() ? "Freq MHz" : "Freq GT" + gt + " MHz",
          "MHz",
          {{"requested", "req", width, 0, requested.value()}, {"actual", "act", width, 0, actual.value()}}};
}

Record::Group rc6_group(std::span<const Residency> rows, const std::string& gt) {
  Mean rc6;
  for (const Residency& row : rows) rc6.add(row.ratio, 100);
  return {gt.empty() ? "rc6" : "rc6-gt" + gt,
          gt.empty() ? "RC6" : "RC6 GT" + gt,
          "%",
          {{"value", "%", gt.empty() ? 3 : 8, 0, rc6.value()}}};
}

bool has_value(const Record::Group& group) {
  return std::ranges::any_of(group.items, [](const Record::Item& item) { return !!item.value; });
}

// RAPL only: the original shows no power of cards.
Record::Group power_group(const GpuModel& gpu) {
  std::optional<double> of_gpu, of_package;
  for (const Power& row : rows_of(gpu.power)) {
    if (row.source == "hwmon" || !row.mean) continue;
    if (row.domain == "gpu") of_gpu = row.mean->value;
    if (row.domain == "package") of_package = row.mean->value;
  }
  return {"power", "Power W", "W", {{"GPU", "gpu", 5, 2, of_gpu}, {"Package", "pkg", 5, 2, of_package}}};
}

// The original adds up main memory and the first tile's, and ignores stolen memory.
std::string_view region_title(std::string_view region) {
  if (region == "system" || region == "system0") return "system";
  if (region == "local" || region == "local0" || region == "vram0") return "local";
  return {};
}

std::vector<Record::Region> memory_of(const Process& process) {
  std::vector<Record::Region> regions;
  for (const std::string_view title : {"system", "local"}) {
    Record::Region region{title};
    bool found = false;
    for (const ProcessMemory& row : process.memory) {
      if (region_title(row.region) != title) continue;
      found = true;
      for (std::size_t i = 0; i < region.bytes.size(); ++i)
        if (row.state == kIntelGpuTopMemoryStates[i]) region.bytes[i] += row.value.value;
    }
    if (found) regions.push_back(region);
  }
  return regions;
}

// Some readers decode the output as ASCII.
std::string printable(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c > '~'; }, '*');
  return text;
}

}  // namespace

std::span<const std::string_view> IntelGpuTopReader::fields() {
  static constexpr std::string_view kFields[] = {"frequency.mean_requested",
                                                 "frequency.requested",
                                                 "gpu.interrupts",
                                                 "rc6.ratio",
                                                 "power.mean",
                                                 "bandwidth.total",
                                                 "engine.busy",
                                                 "engine.sema",
                                                 "engine.wait",
                                                 "process",
                                                 "process.busy"};
  return kFields;
}

std::string_view IntelGpuTopReader::title_of(std::size_t engine_class) const {
  return layout_.older && engine_class == index_of(EngineClass::compute) ? kOlderCompute : kTitles[engine_class];
}

double IntelGpuTopReader::rate(double& before, double now) const {
  const double gain = std::max(now - before, 0.0);
  before = now;
  return seconds_ > 0 ? gain / seconds_ : 0;
}

void IntelGpuTopReader::add_interrupts(const GpuModel& gpu, std::vector<Group>& out) {
  std::optional<double> count;
  if (gpu.interrupts) count = rate(interrupts_, gpu.interrupts->value);
  out.push_back({"interrupts", "IRQ", "irq/s", {{"count", "/s", 8, 0, count}}});
}

void IntelGpuTopReader::add_traffic(const HostModel& host, std::vector<Group>& out) {
  constexpr double kMebibyte = 1024 * 1024;
  std::map<std::string_view, double> rates;
  // Of the machine: reported for its integrated GPU, shown for cards as well.
  for (const GpuModel& any : host.gpus)
    for (const Bandwidth& row : rows_of(any.memory_bandwidth))
      rates[row.direction] = rate(imc_bytes_[row.direction], row.total.value) / kMebibyte;
  const auto found = [&](std::string_view direction) {
    const auto at = rates.find(direction);
    return at == rates.end() ? std::nullopt : std::optional(at->second);
  };
  out.push_back({"imc-bandwidth",
                 "IMC MiB/s",
                 "MiB/s",
                 {{"reads", "rd", 6, 0, found("read")}, {"writes", "wr", 6, 0, found("write")}}});
}

void IntelGpuTopReader::add_engines(const GpuModel& gpu, std::vector<Group>& out) {
  bool counted = false;  // by the GPU's own counters
  for (const Engine& engine : rows_of(gpu.engines)) {
    classes_[index_of(engine.engine_class)] = true;
    if (engine.source != EngineSource::pmu) continue;
    auto& known = engines_[index_of(engine.engine_class)];
    const auto is_it = [&](const EngineName& one) { return one.gt == engine.gt && one.name == engine.name; };
    if (std::ranges::none_of(known, is_it)) known.push_back({engine.gt, engine.name});
  }
  for (const auto& known : engines_) counted = counted || !known.empty();

  const bool one_by_one = layout_.physical || layout_.older;
  for (std::size_t i = 0; i < kEngineClasses; ++i) {
    // Clients show the engines that they use; these every GPU has.
    const bool expected = !counted && (i != index_of(EngineClass::compute) || gpu.gpu.driver == Driver::xe);
    if (!classes_[i] && !expected) continue;
    const auto add = [&](const auto& of, const std::string& suffix) {
      const bool older_compute = layout_.older && i == index_of(EngineClass::compute);
      out.push_back({std::string(title_of(i)) + suffix,
                     std::string(older_compute ? kOlderShortCompute : kShortTitles[i]) + suffix,
                     "%",
                     {{"busy", "%", 7, 2, percent(of.busy)},
                      {"sema", "se", 3, 0, percent(of.sema)},
                      {"wait", "wa", 3, 0, percent(of.wait)}}});
    };
    EngineClassLoad load;
    for (const EngineClassLoad& one : rows_of(gpu.engine_classes))
      if (index_of(one.engine_class) == i) load = one;
    if (!one_by_one) {
      add(load, "");
      continue;
    }
    const std::size_t count = std::max<std::size_t>(engines_[i].size(), 1);
    for (std::size_t instance = 0; instance < count; ++instance) {
      const std::string suffix = "/" + std::to_string(instance);
      const Engine* row = nullptr;
      for (const Engine& engine : rows_of(gpu.engines)) {
        if (engine.source == EngineSource::pmu && engine.busy && instance < engines_[i].size() &&
            engine.gt == engines_[i][instance].gt && engine.name == engines_[i][instance].name)
          row = &engine;
      }
      row != nullptr ? add(*row, suffix) : add(load, suffix);
    }
  }
}

std::optional<std::vector<Record::Client>> IntelGpuTopReader::clients_of(const GpuModel& gpu) {
  // The ratio's window is exact, but it is of the class's engines, whose number only the PMU's rows show.
  std::array<int, kEngineClasses> capacity{};
  for (const Engine& engine : rows_of(gpu.engines))
    if (engine.source == EngineSource::pmu && engine.busy) ++capacity[index_of(engine.engine_class)];
  std::vector<std::pair<double, Record::Client>> clients;  // with the sum over the classes
  std::map<std::pair<std::uint32_t, std::size_t>, double> now;
  for (const Process& process : rows_of(gpu.processes)) {
    if (!process.clients) continue;
    auto& [used, client] = clients.emplace_back(0, Record::Client{process.pid, printable(process.comm), {}, {}});
    if (!layout_.older) client.memory = memory_of(process);
    std::array<std::optional<double>, kEngineClasses> busy;
    bool seen_before = false;
    for (std::size_t i = 0; i < kEngineClasses; ++i) {
      if (!process.busy_time[i]) continue;
      const double seconds = process.busy_time[i]->value;
      now[{process.pid, i}] = seconds;
      const auto earlier = client_seconds_.find({process.pid, i});
      if (earlier == client_seconds_.end()) continue;
      seen_before = true;
      busy[i] = seconds_ > 0 ? std::max(seconds - earlier->second, 0.0) / seconds_ : 0;
      if (process.busy[i] && capacity[i] > 0) busy[i] = process.busy[i]->value * capacity[i];
      used += *busy[i];
    }
    if (!seen_before) continue;
    client.busy.emplace();
    for (std::size_t i = 0; i < kEngineClasses; ++i)
      if (busy[i] || classes_[i]) client.busy->emplace_back(title_of(i), busy[i].value_or(0) * 100);
  }
  client_seconds_ = std::move(now);
  if (!gpu.process_count) return std::nullopt;
  std::ranges::stable_sort(clients, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Record::Client> sorted;
  sorted.reserve(clients.size());
  for (auto& [used, client] : clients) sorted.push_back(std::move(client));
  return sorted;
}

IntelGpuTopRecord IntelGpuTopReader::read(const HostModel& host, Nanoseconds elapsed) {
  seconds_ = to_seconds(elapsed).value;
  Record record;
  record.period_ms = seconds_ * 1000;
  const GpuModel* const gpu = host.gpu(device_);
  record.gpu_found = gpu != nullptr;
  if (gpu == nullptr) return record;
  const auto add = [&](auto group_of) {
    return [&record, group_of](auto rows, const std::string& gt) { record.groups.push_back(group_of(rows, gt)); };
  };
  for (const Frequency& row : rows_of(gpu->frequencies)) gts_.insert(row.gt);
  for (const Residency& row : rows_of(gpu->rc6)) gts_.insert(row.gt);
  add_by_gt(gpu->frequencies, layout_, gts_, add(frequency_group));
  add_interrupts(*gpu, record.groups);
  add_by_gt(gpu->rc6, layout_, gts_, add(rc6_group));
  // i915's counters remain while the GPU is suspended: no clock, and readers take 100 - rc6 for its use.
  for (Group& group : record.groups) {
    if (!gpu->suspended.value_or(false) || has_value(group)) continue;
    if (group.name.starts_with("frequency"))
      for (auto& item : group.items) item.value = 0;
    if (group.name.starts_with("rc6")) group.items.front().value = 100;
  }
  record.groups.push_back(power_group(*gpu));
  add_traffic(host, record.groups);
  // Since igt 1.28 these are shown in any case.
  for (Group& group : record.groups) {
    if (layout_.older || !(group.name.starts_with("frequency") || group.name.starts_with("rc6"))) continue;
    for (auto& item : group.items) item.value = item.value.value_or(0);
  }
  std::erase_if(record.groups, [](const Group& group) { return !has_value(group); });
  add_engines(*gpu, record.engines);
  record.clients = clients_of(*gpu);
  return record;
}

}  // namespace igpu::exporter
