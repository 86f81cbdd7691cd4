// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/counter_window.h"
#include "base/monotonic_counter.h"
#include "collector/collector.h"
#include "collector/health/health_facts.h"
#include "collector/shared/shared_options.h"
#include "kernel/clients/clients.h"
#include "kernel/device/npus.h"
#include "kernel/npu/npu_files.h"

namespace igpu {
namespace {

constexpr InfoMetric<Flag, 4> kNpuInfoMetric{"intel_npu_info",
                                             "Identity of the NPU (neural processing unit); the value is 1.",
                                             {"device", "accel", "device_id", "name"}};
constexpr CounterMetric<Seconds, 1> kNpuBusy{
    "intel_npu_busy_seconds_total",
    "Time with at least one job submitted, waiting included; an upper bound of the NPU's real use.",
    {"device"}};
constexpr GaugeMetric<Ratio, 1> kNpuBusyRatio{
    "intel_npu_busy_ratio", "Share of the window with at least one job submitted; an upper bound.", {"device"}};
constexpr GaugeMetric<Bytes, 1> kNpuMemory{
    "intel_npu_memory_resident_bytes", "System memory that the NPU's buffers hold now.", {"device"}};
constexpr GaugeMetric<Hertz, 2> kNpuFrequency{
    "intel_npu_frequency_hertz",
    "Clock: current (0 while the NPU idles) and max, the highest of the hardware.",
    {"device", "bound"}};
constexpr GaugeMetric<Flag, 1> kNpuSuspended{
    "intel_npu_runtime_suspended", "Whether the NPU is asleep (runtime power management).", {"device"}};
constexpr CounterMetric<Count, 1> kRecoveries{
    "intel_npu_recoveries_total", "Times that the driver reset the NPU after a hang or an error.", {"device"}};
constexpr CounterMetric<Joules, 1> kNpuEnergy{
    "intel_npu_energy_joules_total", "Energy that the NPU has used.", {"device"}};
constexpr GaugeMetric<Watts, 1> kNpuPower{
    "intel_npu_power_watts", "Mean power of the NPU over the window.", {"device"}};
constexpr GaugeMetric<Celsius, 1> kNpuTemperature{
    "intel_npu_temperature_celsius", "Temperature of the NPU.", {"device"}};
constexpr GaugeMetric<Bytes, 5> kProcessMemory{"intel_npu_process_memory_bytes",
                                               "Memory of the process's NPU buffers by region and state; a shared "
                                               "buffer counts in full for each process that holds it.",
                                               {"device", "pid", "comm", "memory_region", "state"}};

constexpr FeatureDescriptor kNpu{"npu", "The processor's NPU.", Need::nothing_special, true};
constexpr std::array<KernelAbsence, 1> kNoBusy{
    {{kEither, kEither, "this kernel's intel_vpu does not report its busy time", "Linux 6.11 or newer"}}};
constexpr FeatureDescriptor kBusyFeature{"npu_busy", "How busy the NPU is.", Need::nothing_special, true, kNoBusy};
constexpr std::array<KernelAbsence, 1> kNpuNoMemory{
    {{kEither, kEither, "this kernel's intel_vpu does not report the memory of its buffers", "Linux 6.15 or newer"}}};
constexpr FeatureDescriptor kNpuMemoryFeature{"npu_memory", "Memory of the NPU's buffers.", Need::nothing_special, true,
                                              kNpuNoMemory};
constexpr std::array<KernelAbsence, 1> kNpuNoFrequency{
    {{kEither, kEither, "this kernel's intel_vpu does not report the clock", "Linux 6.16 or newer"}}};
constexpr FeatureDescriptor kNpuFrequencyFeature{"npu_frequency", "Clock of the NPU.", Need::nothing_special, true,
                                                 kNpuNoFrequency};
constexpr std::array<KernelAbsence, 1> kNoProcesses{
    {{kEither, kEither, "this kernel's intel_vpu does not report memory by process", "Linux 7.0 or newer"}}};
constexpr FeatureDescriptor kNpuProcessesFeature{"npu_process_memory", "Memory of the NPU by process.",
                                                 Need::other_processes, true, kNoProcesses};
// The same feature where it is not a process but a descriptor of it that may not be read.
constexpr FeatureDescriptor kNpuProcessesByLink{
    "npu_process_memory", "Processes that started to use the NPU while a GPU sleeps.", Need::descriptor_links, true};
constexpr FeatureDescriptor kRecoveriesFeature{"npu_recoveries", "Resets of the NPU, as they happen.", Need::uevents,
                                               true};
// Optional: the packages withhold the right, because the region tells much more of the processor.
constexpr FeatureDescriptor kTelemetryFeature{"npu_telemetry",
                                              "Power and temperature of the NPU, from the processor's telemetry.",
                                              Need::root_only_file,
                                              true,
                                              {},
                                              true};
// Busy time passes no faster than time; a second for a scrape that is read late.
constexpr GainBound kBusyBound{.per_second = 1e6, .at_once = 1e6};
// Above what any NPU draws, and a second of it for the steps in which the telemetry is published.
constexpr double kMostWatts = 100;
constexpr GainBound kEnergyBound{.per_second = kMostWatts / NpuTelemetry::kEnergyUnit,
                                 .at_once = kMostWatts / NpuTelemetry::kEnergyUnit};

// The clients of one process on one NPU, added up.
struct ProcessUse {
  const NpuClient* first;
  std::vector<ClientMemory> memory;  // by region
  std::uint64_t resident = 0;
};

void add_client(ProcessUse& use, const NpuClient& client) {
  for (const ClientMemory& memory : client.memory) {
    auto sum = std::ranges::find(use.memory, memory.region, &ClientMemory::region);
    if (sum == use.memory.end()) sum = use.memory.insert(sum, ClientMemory{.region = memory.region});
    for (const MemoryState& state : kMemoryStates)
      if (const auto& bytes = memory.*state.value) (*sum).*state.value = ((*sum).*state.value).value_or(0) + *bytes;
    use.resident += memory.resident.value_or(0);
  }
}

// Of one NPU, those with the most resident memory. Clients are sorted by device and PID.
std::vector<ProcessUse> uses_of(const ClientSnapshot& snapshot, const std::string& device, std::size_t most) {
  std::vector<ProcessUse> uses;
  for (const NpuClient& client : snapshot.npu_clients) {
    if (client.device != device) continue;
    if (uses.empty() || uses.back().first->pid != client.pid) uses.push_back({&client, {}, 0});
    add_client(uses.back(), client);
  }
  if (uses.size() > most) {
    std::ranges::stable_sort(uses, std::greater(), &ProcessUse::resident);
    uses.resize(most);
  }
  return uses;
}

// The NPUs of the machine's processor. They are no GPUs, so they have metrics of their own.
class NpuCollector final : public MachineCollector {
 public:
  static constexpr CollectorInfo kInfo{
      .name = "npu",
      .help = "The NPU of Core Ultra processors: busy time, memory, frequency, resets.",
      .in_snapshots = false,
      .reads_processes = true,
      .metrics = kListOf<MetricDescriptor, kNpuInfoMetric, kNpuBusy, kNpuBusyRatio, kNpuMemory, kNpuFrequency,
                         kNpuSuspended, kRecoveries, kNpuEnergy, kNpuPower, kNpuTemperature, kProcessMemory>,
      .features = kListOf<FeatureDescriptor, kNpu, kBusyFeature, kNpuMemoryFeature, kNpuProcessesFeature,
                          kNpuFrequencyFeature, kRecoveriesFeature, kTelemetryFeature>,
      .options = kListOf<OptionDescriptor, kMaxProcesses, kPerProcess, kFinder>,
      .notes =
          "An NPU has metrics of its own, and needs no GPU beside it. Nothing here opens /dev/accel or wakes a "
          "sleeping NPU. Memory by process needs CAP_SYS_PTRACE, as in collector fdinfo; beyond "
          "--collector.fdinfo.max-processes, the processes with the least resident memory have no series. Power and "
          "temperature need CAP_DAC_READ_SEARCH: they are in the processor's telemetry, whose layout is known of "
          "Meteor Lake, Arrow Lake, Lunar Lake and Panther Lake. The driver counts busy time from the submission of a "
          "job to its end, and one job keeps the whole device busy, so a ratio of 1 says that there was always work, "
          "not that the NPU can do no more; during a hang it counts on until the reset. No kernel reports busy time by "
          "process. Most jobs are short, and the clock stops between them, so `current` is often 0 beside a busy ratio "
          "above it. Resets come from the kernel's events, which collector health reads; where it cannot have them, "
          "they are counted by device core dumps, of which the kernel keeps one for five minutes: a lower bound."};

  explicit NpuCollector(const MachineContext& context)
      : machine_(context.machine),
        min_window_(context.min_window),
        per_process_(context.options[kPerProcess]),
        max_processes_(context.options[kMaxProcesses]),
        telemetry_(context.machine.sys) {}

  void collect(MachinePass& pass, SampleSink& out) override {
    auto found = find_npus(machine_, npus_);
    if (found.is_failure()) return out.failed(found.failure());
    npus_ = *std::move(found);
    for (const NpuDevice& npu : npus_) (void)device_of(npu);
    count_recoveries(pass);
    if (npus_.empty()) return out.absent(kNpu, {Reason::hardware});
    out.available(kNpu);
    Reports reports(out);
    for (const NpuDevice& npu : npus_) write(npu, device_of(npu), pass.now(), reports, out);
    write_processes(pass, out);
    write_telemetry(pass, out);
    if (counts_recoveries()) return out.available(kRecoveriesFeature);
    out.absent(kRecoveriesFeature, machine_.uevents ? Absent{Reason::disabled} : machine_.uevents.absent());
  }

 private:
  // Counts outlive a rebinding.
  struct Device {
    explicit Device(Nanoseconds min_window) : window(min_window), power(min_window) {}
    std::uint64_t binding = 0;
    std::unique_ptr<NpuFiles> files;
    MonotonicCounter busy;    // microseconds
    CounterWindow<1> window;  // of the kernel's own count
    std::uint64_t recoveries = 0;
    MonotonicCounter energy;  // in NpuTelemetry::kEnergyUnit
    CounterWindow<1> power;   // window of `energy`
  };
  // What the machine's features come to, over all its NPUs.
  struct Reports {
    explicit Reports(SampleSink& out)
        : clock(out, kNpuFrequencyFeature), memory(out, kNpuMemoryFeature), busy(out, kBusyFeature) {}
    FeatureReport clock, memory, busy;  // they report in the opposite order
  };

  Device& device_of(const NpuDevice& npu) {
    Device& device = devices_.try_emplace(npu.address, min_window_).first->second;
    if (!device.files || device.binding != npu.binding) {
      device.files = std::make_unique<NpuFiles>(machine_.sys, npu.pci_path);
      device.binding = npu.binding;
    }
    return device;
  }

  // A recovery makes an event and a dump.
  void count_recoveries(MachinePass& pass) {
    if (const auto channels = pass.facts().get<FaultChannels>()) fault_channels_ = *channels;
    const auto sign = fault_channels_.has_events ? DeviceFault::Sign::reset : DeviceFault::Sign::dump;
    for (const DeviceFault& fault : pass.facts().take<DeviceFault>())
      if (const auto known = devices_.find(fault.device); known != devices_.end() && fault.sign == sign)
        ++known->second.recoveries;
  }

  bool counts_recoveries() const { return fault_channels_.has_events || fault_channels_.has_dumps; }

  void write_processes(MachinePass& pass, SampleSink& out) {
    if (!per_process_) return out.absent(kNpuProcessesFeature, {Reason::disabled});
    const auto outcome = pass.clients();
    if (!outcome) return out.missing(kNpuProcessesFeature, outcome);
    const ClientSnapshot& snapshot = **outcome;
    bool any = false;
    for (const NpuDevice& npu : npus_) {
      for (const ProcessUse& use : uses_of(snapshot, npu.address, max_processes_)) {
        any = true;
        const std::string pid = std::to_string(use.first->pid);
        for (const ClientMemory& memory : use.memory)
          for (const MemoryState& state : kMemoryStates)
            if (const auto& bytes = memory.*state.value)
              out.add(kProcessMemory, {npu.address, pid, use.first->comm, memory.region, state.label},
                      Bytes{static_cast<double>(*bytes)});
      }
    }
    report_processes(snapshot, any, out);
  }

  void report_processes(const ClientSnapshot& snapshot, bool any, SampleSink& out) {
    if (any)
      shows_memory_ = true;
    else if (shows_memory_ != true)
      shows_memory_ = snapshot.npu_files_silent > 0 ? std::optional(false) : std::nullopt;
    if (shows_memory_ == false) return out.absent(kNpuProcessesFeature, {Reason::kernel});
    if (const auto hidden = snapshot.why_hidden())
      return out.absent(hidden->reason == Reason::suspended ? kNpuProcessesByLink : kNpuProcessesFeature, *hidden);
    if (shows_memory_) out.available(kNpuProcessesFeature);
  }

  // The telemetry is the processor's, and names no device.
  void write_telemetry(MachinePass& pass, SampleSink& out) {
    if (npus_.size() > 1) return out.absent(kTelemetryFeature, {Reason::hardware});
    const std::string& address = npus_.front().address;
    Device& device = device_of(npus_.front());
    const Nanoseconds begin = pass.now();
    const auto values = telemetry_.read();
    FeatureReport report(out, kTelemetryFeature);
    if (!report.note(values)) return device.power.restart();
    const Nanoseconds end = pass.now();
    const Advance step =
        device.energy.advance_bounded(values->energy, NpuTelemetry::kEnergyRange, kEnergyBound, begin, end);
    if (step == Advance::reset) device.power.restart();
    const std::uint64_t total = device.energy.total();
    out.add(kNpuEnergy, {address}, Joules{static_cast<double>(total) * NpuTelemetry::kEnergyUnit});
    out.add(kNpuTemperature, {address}, values->temperature);
    if (step == Advance::held) return;
    if (const auto delta = device.power.advance(end, {total}))
      out.add(
          kNpuPower, {address},
          Watts{static_cast<double>(delta->counts[0]) * NpuTelemetry::kEnergyUnit / to_seconds(delta->elapsed).value});
  }

  static void write_busy(const NpuDevice& npu, Device& device, Nanoseconds now, Reports& reports, SampleSink& out) {
    const auto busy = device.files->busy_microseconds();
    if (!reports.busy.note(busy)) return device.window.restart();
    constexpr double kMicrosecond = 1e-6;
    const Advance step = device.busy.advance_bounded(*busy, 0, kBusyBound, now, now);
    if (step == Advance::reset) device.window.restart();
    out.add(kNpuBusy, {npu.address}, Seconds{static_cast<double>(device.busy.total()) * kMicrosecond});
    if (step == Advance::held) return;
    if (const auto delta = device.window.advance(now, {*busy})) {
      const double seconds = static_cast<double>(delta->counts[0]) * kMicrosecond;
      out.add(kNpuBusyRatio, {npu.address}, clamped_ratio(seconds, to_seconds(delta->elapsed).value));
    }
  }

  static void write_frequency(const NpuDevice& npu, Device& device, Reports& reports, SampleSink& out) {
    const auto current = device.files->current_frequency();
    const auto highest = device.files->highest_frequency();
    if (reports.clock.note(current)) out.add(kNpuFrequency, {npu.address, "current"}, *current);
    if (reports.clock.note(highest)) out.add(kNpuFrequency, {npu.address, "max"}, *highest);
  }

  void write(const NpuDevice& npu, Device& device, Nanoseconds now, Reports& reports, SampleSink& out) const {
    char id[16] = "";
    if (npu.device_id != 0) std::snprintf(id, sizeof id, "0x%04x", static_cast<unsigned>(npu.device_id));
    out.add(kNpuInfoMetric, {npu.address, npu.accel, id, npu.name}, flag(true));
    write_busy(npu, device, now, reports, out);
    const auto memory = device.files->resident_memory();
    if (reports.memory.note(memory)) out.add(kNpuMemory, {npu.address}, *memory);
    write_frequency(npu, device, reports, out);
    const auto suspended = device.files->suspended();
    if (suspended.is_failure()) out.failed(suspended.failure());
    if (suspended) out.add(kNpuSuspended, {npu.address}, flag(*suspended));
    if (counts_recoveries()) out.add(kRecoveries, {npu.address}, count_of(device.recoveries));
  }

  Machine& machine_;
  const Nanoseconds min_window_;
  const bool per_process_;
  const std::size_t max_processes_;
  std::optional<bool> shows_memory_;  // whether the driver reports memory by process; known from the first client on
  NpuTelemetry telemetry_;
  std::vector<NpuDevice> npus_;
  FaultChannels fault_channels_;                        // as the collector health reported them last
  std::map<std::string, Device, std::less<>> devices_;  // by PCI address
};

}  // namespace

CollectorEntry npu_collector() { return entry<NpuCollector>(); }

}  // namespace igpu
