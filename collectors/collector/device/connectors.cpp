// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/scan.h"
#include "collector/collector.h"
#include "kernel/faults/kernel_records.h"
#include "kernel/sysfs/connector_files.h"
#include "machine/slow_reads.h"

namespace igpu {
namespace {

constexpr GaugeMetric<Flag, 2> kConnected{"intel_gpu_connector_connected",
                                          "Whether something is plugged into the output, as the kernel last saw it.",
                                          {"device", "connector"}};
constexpr GaugeMetric<Flag, 2> kEnabled{
    "intel_gpu_connector_enabled", "Whether the output shows a picture.", {"device", "connector"}};
constexpr InfoMetric<Flag, 3> kConnectorInfoMetric{"intel_gpu_connector_info",
                                                   "Preferred mode of what is plugged into the output; the value is 1.",
                                                   {"device", "connector", "mode"}};
constexpr CounterMetric<Count, 2> kHotplugs{"intel_gpu_hotplug_events_total",
                                            "Times that the kernel announced that something was plugged in or out.",
                                            {"device", "connector"}};
constexpr CounterMetric<Count, 0> kConnectorLost{"intel_gpu_hotplug_events_lost_total",
                                                 "Times that the kernel dropped uevents before they were read; some "
                                                 "may have announced that something was plugged in or out."};

constexpr FeatureDescriptor kOutputs{"connectors", "Outputs, and whether something is plugged into them.",
                                     Need::nothing_special};
constexpr FeatureDescriptor kConnectorEvents{"hotplug_events", "What is plugged in and out, as it happens.",
                                             Need::uevents, true};

constexpr std::string_view kConnectorUnknown = "unknown";
constexpr std::array<EarlyPart, 1> kOpenedForConnectors{EarlyPart::output_uevents};

constexpr std::size_t kMostMessages = 65536;  // read in one scrape; the next scrape reads the rest
// Outputs of one GPU whose events are counted by name. There may be many, because docks add outputs; events
// of further outputs count as `unknown`.
constexpr std::size_t kMostKnown = 4 * kMostConnectors;
// Modes are read when an output was plugged in, and also at this interval, because an event may be lost.
constexpr Nanoseconds kModesEvery = std::chrono::seconds(20);

// Outputs of the GPUs, and how often something was plugged in or out. One object for all GPUs, because their uevents
// arrive through one queue.
class ConnectorsCollector final : public MachineCollector {
 public:
  static constexpr CollectorInfo kInfo{
      .name = "connectors",
      .help = "Outputs of each GPU, and what is plugged in and out.",
      .enabled_by_default = false,
      .in_snapshots = false,
      .opened_early = kOpenedForConnectors,
      .metrics = kListOf<MetricDescriptor, kConnected, kEnabled, kConnectorInfoMetric, kHotplugs, kConnectorLost>,
      .features = kListOf<FeatureDescriptor, kOutputs, kConnectorEvents>,
      .notes =
          "What the kernel's last probe found: nothing is probed, no card node is opened, and the monitor's EDID, "
          "which holds its serial number, is not read. So the values are right only while hot-plug detection works; "
          "switches, dummy plugs and converters may pretend to be a monitor. `unknown` counts events that name no "
          "output: those of Linux before 5.17, those of several outputs at once, and those of kernels whose sysfs has "
          "no `connector_id`. An output whose state the driver does not know has no `intel_gpu_connector_connected`. "
          "The preferred mode is read after an event and every 20 seconds; while the driver probes an output it is not "
          "shown."};

  explicit ConnectorsCollector(const MachineContext& context)
      : machine_(context.machine), longest_wait_(context.longest_wait) {}

  // Files first: they tell which output an event is about. Modes last: an event tells that they changed.
  void collect(MachinePass& pass, SampleSink& out) override {
    const auto gpus = pass.gpus();
    shown_.clear();
    for (const Gpu& gpu : *gpus) read_outputs(gpu, out);
    if (machine_.output_uevents) read_uevents(out);
    for (const Gpu& gpu : *gpus)
      if (shown_.contains(gpu.address)) begin_reading_modes(gpu, devices_[gpu.address], pass.now(), out);
    Nanoseconds longest_wait = longest_wait_;
    for (const Gpu& gpu : *gpus)
      if (shown_.contains(gpu.address)) read_modes(gpu, devices_[gpu.address], longest_wait, out);
    if (!machine_.output_uevents) return out.missing(kConnectorEvents, machine_.output_uevents);
    out.available(kConnectorEvents);
    out.add(kConnectorLost, count_of(lost_));
    for (const auto& [address, outputs] : shown_) {
      Device& device = devices_[address];
      for (const std::string& name : outputs) out.add(kHotplugs, {address, name}, count_of(device.events[name]));
      out.add(kHotplugs, {address, kConnectorUnknown}, count_of(device.events[std::string(kConnectorUnknown)]));
    }
  }

 private:
  struct Device {
    std::string card_path;                     // of its uevents
    std::map<std::uint64_t, std::string> ids;  // names of outputs by their ids, of this scrape
    // Of the previous scrape: an output may be gone when its event is read.
    std::map<std::uint64_t, std::string> ids_before;
    std::map<std::string, std::uint64_t> events;  // by output, or "unknown"

    std::vector<std::string> connected;        // names of outputs, of this scrape
    std::map<std::string, std::string> modes;  // by output that was connected when they were read
    bool modes_are_due = true;
    Nanoseconds modes_read_at{};
    std::vector<std::string> being_read;  // outputs
    std::unique_ptr<SlowReads> reading;   // their modes
    bool reading_is_new = false;          // it began in this scrape

    void forget_modes() {
      modes.clear();
      modes_are_due = true;
    }

    void count(const Uevent& event) {
      if (event.value("HOTPLUG") == "1") forget_modes();
      // With PROPERTY it is a link that must be trained again, or content protection
      // (drm_sysfs_connector_property_event).
      if (event.value("HOTPLUG") != "1" || event.value("PROPERTY")) return;
      std::string name(kConnectorUnknown);
      if (const auto id = scan_u64(event.value("CONNECTOR").value_or(std::string_view()))) {
        for (const auto* known : {&ids_before, &ids})
          if (const auto found = known->find(*id); found != known->end()) name = found->second;
      }
      if (events.size() >= kMostKnown && !events.contains(name)) name = kConnectorUnknown;
      ++events[std::move(name)];
    }
  };

  void read_outputs(const Gpu& gpu, SampleSink& out) {
    const auto outputs = read_connectors(machine_.sys, gpu);
    if (!outputs) return out.missing(kOutputs, outputs);
    if (outputs->empty()) return out.absent(kOutputs, {Reason::hardware}, gpu.address);
    out.available(kOutputs, gpu.address);
    Device& device = devices_[gpu.address];
    if (const auto before = std::exchange(device.card_path, gpu.pci_path + "/drm/" + gpu.card);
        before != device.card_path)
      device.forget_modes();
    const auto connected_before = std::exchange(device.connected, {});
    device.ids_before = std::exchange(device.ids, {});
    const auto note = [&out](const auto& reading) {
      if (reading.is_failure()) out.failed(reading.failure());
      return static_cast<bool>(reading);
    };
    for (const Connector& output : *outputs) {
      shown_[gpu.address].push_back(output.name);
      if (output.connected && *output.connected) device.connected.push_back(output.name);
      if (note(output.connected)) out.add(kConnected, {gpu.address, output.name}, flag(*output.connected));
      if (note(output.enabled)) out.add(kEnabled, {gpu.address, output.name}, flag(*output.enabled));
      if (note(output.id)) device.ids.insert_or_assign(*output.id, output.name);
    }
    if (device.connected == connected_before) return;
    device.modes_are_due = true;
    std::erase_if(device.modes, [&](const auto& one) { return !contains(device.connected, one.first); });
  }

  void read_uevents(SampleSink& out) {
    buffer_.resize(KernelMessages::kLongest);
    for (std::size_t i = 0; i < kMostMessages; ++i) {
      const auto message = (*machine_.output_uevents)->next(buffer_);
      if (!message) {
        if (message.is_failure()) out.failed(message.failure());
        return;
      }
      if (message->state == KernelMessage::State::none) return;
      if (message->state == KernelMessage::State::lost) {
        ++lost_;
        for (auto& [address, device] : devices_) device.forget_modes();
        continue;
      }
      const auto event = parse_uevent(message->text);
      if (!event || event->action != "change" || event->value("SUBSYSTEM") != "drm") continue;
      for (auto& [address, device] : devices_)
        if (event->path == device.card_path) device.count(*event);
    }
  }

  // What is being read may be of before the event that made it due: it stays due then.
  void begin_reading_modes(const Gpu& gpu, Device& device, Nanoseconds now, SampleSink& out) {
    if (device.reading || device.connected.empty()) return;
    if (!device.modes_are_due && now - device.modes_read_at < kModesEvery) return;
    std::vector<std::string> paths;
    for (const std::string& output : device.connected) paths.push_back(modes_path(gpu, output));
    try {
      device.reading = std::make_unique<SlowReads>(machine_.sys, std::move(paths), kModesStart);
    } catch (const std::system_error& error) {  // no thread: the next scrape tries again
      out.failed({error.code(), "modes"});
      return;
    }
    device.reading_is_new = true;
    device.being_read = device.connected;
    device.modes_are_due = false;
    device.modes_read_at = now;
  }

  void read_modes(const Gpu& gpu, Device& device, Nanoseconds& longest_wait, SampleSink& out) {
    const bool is_new = std::exchange(device.reading_is_new, false);
    const auto read = device.reading ? device.reading->take(is_new ? longest_wait : Nanoseconds::zero()) : std::nullopt;
    if (is_new && !read) longest_wait = {};  // the other GPUs' had as much time
    if (read) {
      device.reading.reset();
      const bool is_current = !device.modes_are_due;
      if (is_current) device.modes.clear();
      for (std::size_t i = 0; i < read->size() && is_current; ++i) {
        const std::string& output = device.being_read[i];
        const std::string path = modes_path(gpu, output);
        const Reading<std::string>& text = read->at(i);
        const auto mode = text ? preferred_mode(*text, path) : text;
        if (mode) device.modes.insert_or_assign(output, *mode);
        if (!mode.is_failure()) continue;
        out.failed(mode.failure());
        device.modes_are_due = true;  // again at the next scrape
      }
    }
    for (const auto& [output, mode] : device.modes)
      out.add(kConnectorInfoMetric, {gpu.address, output, mode}, flag(true));
  }

  Machine& machine_;
  const Nanoseconds longest_wait_;
  std::uint64_t lost_ = 0;
  std::map<std::string, Device> devices_;                  // by PCI address
  std::map<std::string, std::vector<std::string>> shown_;  // outputs of this scrape, by PCI address
  std::vector<char> buffer_;
};

}  // namespace

CollectorEntry connectors_collector() { return entry<ConnectorsCollector>(); }

}  // namespace igpu
