// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>

#include "base/scan.h"
#include "collector/collector.h"
#include "kernel/faults/driver_state.h"

namespace igpu {
namespace {

constexpr InfoMetric<Flag, 9> kIdentityInfoMetric{
    "intel_gpu_info",
    "Identity of the GPU; the value is 1.",
    {"device", "card", "render_node", "driver", "device_id", "revision", "name", "kind", "numa_node"}};
constexpr GaugeMetric<Flag, 1> kIdentitySuspended{
    "intel_gpu_runtime_suspended", "Whether the GPU is runtime-suspended; a scrape does not wake it.", {"device"}};
constexpr GaugeMetric<Flag, 1> kErrorState{
    "intel_gpu_error_state", "Whether the kernel holds a captured GPU hang.", {"device"}};
constexpr std::array<KernelAbsence, 1> kNoErrorState{{
    {Driver::i915, kEither, "this kernel's i915 driver captures no hangs",
     "a kernel with CONFIG_DRM_I915_CAPTURE_ERROR"},
}};
// Optional: the packages withhold the capability that reads this file of i915, because it reads every other file, too.
constexpr FeatureDescriptor kErrorFeature{
    "error_state", "GPU hangs captured by the kernel.", Need::root_only_file, false, kNoErrorState, true};

// What a GPU is, whether it sleeps, and whether it hung. Always on, and runs while the GPU sleeps.
class IdentityCollector final : public Collector {
 public:
  static constexpr CollectorInfo kInfo{
      .name = "identity",
      .help = "Identity of each GPU, whether it is asleep, and whether it hung.",
      .always_on = true,
      .runs_while_suspended = true,
      .metrics = kListOf<MetricDescriptor, kIdentityInfoMetric, kIdentitySuspended, kErrorState>,
      .in_windows = kListOf<MetricDescriptor, kIdentityInfoMetric>,
      .features = kListOf<FeatureDescriptor, kErrorFeature>};
  explicit IdentityCollector(const CollectorContext& context)
      : gpu_(context.gpu),
        device_id_(context.gpu.device_id != 0 ? "0x" + hexadecimal(context.gpu.device_id, 4) : std::string()),
        revision_(context.gpu.revision ? "0x" + hexadecimal(*context.gpu.revision, 2) : std::string()),
        numa_node_(context.gpu.numa_node < 0 ? std::string() : std::to_string(context.gpu.numa_node)),
        error_state_(context.machine.sys, context.gpu) {}

  void collect(ScrapePass& pass, SampleSink& out) override {
    out.add(kIdentityInfoMetric,
            {gpu_.address, gpu_.card, gpu_.render_node, to_string(gpu_.driver), device_id_, revision_, gpu_.name,
             to_string(gpu_.kind), numa_node_},
            flag(true));
    const Reading<bool> suspended = pass.suspended();
    if (suspended) out.add(kIdentitySuspended, {gpu_.address}, flag(*suspended));
    if (suspended.is_failure()) out.failed(suspended.failure());
    FeatureReport report(out, kErrorFeature, {Reason::suspended});
    if (pass.power() != GpuPower::awake) return;
    if (const auto captured = error_state_.captured(); report.note(captured))
      out.add(kErrorState, {gpu_.address}, flag(*captured));
  }

 private:
  const Gpu& gpu_;
  const std::string device_id_, revision_, numa_node_;
  ErrorState error_state_;
};

}  // namespace

CollectorEntry identity_collector() { return entry<IdentityCollector>(); }

}  // namespace igpu
