// SPDX-License-Identifier: Apache-2.0
#include "collector/connectors.h"

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/scan.h"

namespace igpu {
namespace {

constexpr Metric<Flag, 2> kConnected{"intel_gpu_connector_connected",
                                     Kind::gauge,
                                     "Whether something is plugged into the output, as the kernel last saw it.",
                                     {"device", "connector"}};
constexpr Metric<Flag, 2> kEnabled{
    "intel_gpu_connector_enabled", Kind::gauge, "Whether the output shows a picture.", {"device", "connector"}};
constexpr Metric<Flag, 3> kInfoMetric{"intel_gpu_connector_info",
                                      Kind::info,
                                      "Preferred mode of what is plugged into the output; the value is 1.",
                                      {"device", "connector", "mode"}};
constexpr Metric<Count, 2> kHotplugs{"intel_gpu_hotplug_events_total",
                                     Kind::counter,
                                     "Times that the kernel announced that something was plugged in or out.",
                                     {"device", "connector"}};
constexpr const MetricDescriptor* kMetrics[] = {&kConnected, &kEnabled, &kInfoMetric, &kHotplugs};

constexpr FeatureDescriptor kOutputs{"connectors", "Outputs, and whether something is plugged into them.",
                                     Need::nothing_special};
constexpr FeatureDescriptor kEvents{"hotplug_events", "What is plugged in and out, as it happens.", Need::uevents,
                                    true};
constexpr const FeatureDescriptor* kFeatures[] = {&kOutputs, &kEvents};

constexpr std::string_view kUnknown = "unknown";

}  // namespace

constexpr CollectorInfo ConnectorsCollector::kInfo{
    .name = "connectors",
    .help = "Outputs of each GPU, and what is plugged in and out.",
    .enabled_by_default = false,
    .in_snapshots = false,
    .metrics = kMetrics,
    .features = kFeatures,
    .notes =
        "What the kernel's last probe found: nothing is probed, no card node is opened, and the monitor's EDID, which "
        "holds its serial number, is not read. So the values are right only while hot-plug detection works; switches, "
        "dummy plugs and converters may pretend to be a monitor. `unknown` counts events that name no output: those of "
        "Linux before 5.17, those of several outputs at once, and those of kernels whose sysfs has no `connector_id`. "
        "An "
        "output whose state the driver does not know has no `intel_gpu_connector_connected`."};

std::unique_ptr<MachineCollector> ConnectorsCollector::create(const MachineContext& context) {
  return std::make_unique<ConnectorsCollector>(context.machine);
}

ConnectorsCollector::ConnectorsCollector(Machine& machine) : machine_(machine) {}

// Files first: they tell which output an event is about.
void ConnectorsCollector::collect(MachinePass& pass, SampleSink& out) {
  const auto gpus = pass.gpus();
  shown_.clear();
  for (const Gpu& gpu : *gpus) read_outputs(gpu, out);
  if (machine_.output_uevents.messages == nullptr) {
    out.absent(kEvents, machine_.output_uevents.why);
    return;
  }
  out.available(kEvents);
  read_uevents(out);
  for (const auto& [address, outputs] : shown_) {
    Device& device = devices_[address];
    for (const std::string& name : outputs)
      out.add(kHotplugs, {address, name}, Count{static_cast<double>(device.events[name])});
    out.add(kHotplugs, {address, kUnknown}, Count{static_cast<double>(device.events[std::string(kUnknown)])});
  }
}

void ConnectorsCollector::read_outputs(const Gpu& gpu, SampleSink& out) {
  const auto outputs = read_connectors(machine_.sys, gpu);
  if (!outputs) return out.missing(kOutputs, outputs);
  if (outputs->empty()) return out.absent(kOutputs, {Reason::hardware}, gpu.address);
  out.available(kOutputs, gpu.address);
  Device& device = devices_[gpu.address];
  device.card_path = gpu.pci_path + "/drm/" + gpu.card;
  device.ids_before = std::exchange(device.ids, {});
  const auto note = [&out](const auto& reading) {
    if (reading.is_failure()) out.failed(reading.failure());
    return static_cast<bool>(reading);
  };
  for (const Connector& output : *outputs) {
    shown_[gpu.address].push_back(output.name);
    if (note(output.connected)) out.add(kConnected, {gpu.address, output.name}, flag(*output.connected));
    if (note(output.enabled)) out.add(kEnabled, {gpu.address, output.name}, flag(*output.enabled));
    if (note(output.mode)) out.add(kInfoMetric, {gpu.address, output.name, *output.mode}, flag(true));
    if (note(output.id)) device.ids.insert_or_assign(*output.id, output.name);
  }
}

void ConnectorsCollector::read_uevents(SampleSink& out) {
  buffer_.resize(KernelMessages::kLongest);
  for (std::size_t i = 0; i < kMostMessages; ++i) {
    const auto message = machine_.output_uevents.messages->next(buffer_);
    if (!message) {
      if (message.is_failure()) out.failed(message.failure());
      return;
    }
    if (message->state == KernelMessage::State::none) return;
    if (message->state == KernelMessage::State::lost) {
      // The counts are too low from now on.
      out.failed({std::error_code(ENOBUFS, std::generic_category()), "uevents that came too fast to be counted"});
      continue;
    }
    const auto event = parse_uevent(message->text);
    if (!event || event->action != "change" || event->value("SUBSYSTEM") != "drm") continue;
    for (auto& [address, device] : devices_)
      if (event->path == device.card_path) device.count(*event);
  }
}

void ConnectorsCollector::Device::count(const Uevent& event) {
  // With PROPERTY it is a link that must be trained again, or content protection (drm_sysfs_connector_property_event).
  if (event.value("HOTPLUG") != "1" || event.value("PROPERTY")) return;
  std::string name(kUnknown);
  if (const auto id = scan_u64(event.value("CONNECTOR").value_or(std::string_view()))) {
    for (const auto* known : {&ids_before, &ids})
      if (const auto found = known->find(*id); found != known->end()) name = found->second;
  }
  if (events.size() >= kMostKnown && !events.contains(name)) name = kUnknown;
  ++events[std::move(name)];
}

}  // namespace igpu
