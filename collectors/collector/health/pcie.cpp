// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "collector/collector.h"
#include "kernel/sysfs/pci_files.h"

namespace igpu {
namespace {

constexpr GaugeMetric<TransfersPerSecond, 2> kSpeed{"intel_gpu_pcie_link_speed_transfers_per_second",
                                                    "Speed of the link between card and slot; bound is current or max.",
                                                    {"device", "bound"}};
constexpr GaugeMetric<Lanes, 2> kWidth{"intel_gpu_pcie_link_width_lanes",
                                       "Width of the link between card and slot; bound is current or max.",
                                       {"device", "bound"}};
constexpr GaugeMetric<TransfersPerSecond, 1> kSlotSpeed{
    "intel_gpu_pcie_slot_speed_transfers_per_second", "Highest speed of the slot, whatever card is in it.", {"device"}};
constexpr GaugeMetric<Lanes, 1> kSlotWidth{
    "intel_gpu_pcie_slot_width_lanes", "Lanes of the slot, whatever card is in it.", {"device"}};
constexpr std::array<KernelAbsence, 2> kNoLink{{
    {Driver::i915, GpuKind::discrete, "no PCI function in front of the GPU shows a link, as in a virtual machine",
     "read it on the host"},
    {Driver::xe, GpuKind::discrete, "no PCI function in front of the GPU shows a link, as in a virtual machine",
     "read it on the host"},
}};
constexpr FeatureDescriptor kPcieFeature{"pcie_link", "Speed and width of the slot's link.", Need::nothing_special,
                                         false, kNoLink};

// The link between a card and its slot.
class PcieCollector final : public Collector {
 public:
  static constexpr CollectorInfo kInfo{.name = "pcie",
                                       .help = "Speed and width of the slot's PCIe link.",
                                       .metrics = kListOf<MetricDescriptor, kSpeed, kWidth, kSlotSpeed, kSlotWidth>,
                                       .features = kListOf<FeatureDescriptor, kPcieFeature>};
  explicit PcieCollector(const CollectorContext& context)
      : gpu_(context.gpu), link_(context.machine.sys, context.gpu) {}
  void collect(ScrapePass&, SampleSink& out) override {
    FeatureReport report(out, kPcieFeature);
    report.add(kSpeed, {gpu_.address, "current"}, link_.current_speed());
    report.add(kSpeed, {gpu_.address, "max"}, link_.max_speed());
    report.add(kWidth, {gpu_.address, "current"}, link_.current_width());
    report.add(kWidth, {gpu_.address, "max"}, link_.max_width());
    report.add(kSlotSpeed, {gpu_.address}, link_.slot_speed());
    report.add(kSlotWidth, {gpu_.address}, link_.slot_width());
  }

 private:
  const Gpu& gpu_;
  PcieLinkFiles link_;
};

}  // namespace

CollectorEntry pcie_collector() { return entry<PcieCollector>(); }

}  // namespace igpu
