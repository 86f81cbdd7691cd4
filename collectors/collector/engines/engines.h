// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cerrno>
#include <memory>

#include "collector/collector.h"
#include "collector/shared/shared_options.h"

namespace igpu {

enum class XeEngineSource { automatic, pmu, fdinfo };

// How busy every engine of the GPU is: from the PMU or, without access to it, from the time of the visible DRM clients,
// added up by class. The collector itself is the driver's: engines_i915, engines_xe, engines_wddm.
struct EnginesCollector {
  static constexpr CounterMetric<Seconds, 5> kBusy{
      "intel_gpu_engine_busy_seconds_total",
      "Time the engine was busy, for all SR-IOV functions of the GPU together; source=\"fdinfo\": time of the visible "
      "clients by class, while the PMU is not in use.",
      {"device", "gt", "engine", "class", "source"}};
  static constexpr GaugeMetric<Ratio, 5> kBusyRatio{
      "intel_gpu_engine_busy_ratio",
      "Share of the window in which the engine was busy; source=\"fdinfo\": share of all engines of the class, also "
      "while the PMU takes over.",
      {"device", "gt", "engine", "class", "source"}};
  static constexpr CounterMetric<Seconds, 4> kWait{"intel_gpu_engine_wait_seconds_total",
                                                   "Time the engine waited for an event; sampled.",
                                                   {"device", "gt", "engine", "class"}};
  static constexpr GaugeMetric<Ratio, 4> kWaitRatio{"intel_gpu_engine_wait_ratio",
                                                    "Share of the window in which the engine waited for an event.",
                                                    {"device", "gt", "engine", "class"}};
  static constexpr CounterMetric<Seconds, 4> kSema{"intel_gpu_engine_sema_seconds_total",
                                                   "Time the engine waited for a semaphore; sampled.",
                                                   {"device", "gt", "engine", "class"}};
  static constexpr GaugeMetric<Ratio, 4> kSemaRatio{"intel_gpu_engine_sema_ratio",
                                                    "Share of the window in which the engine waited for a semaphore.",
                                                    {"device", "gt", "engine", "class"}};
  static constexpr CounterMetric<Ticks, 4> kActiveTicks{
      "intel_gpu_engine_active_ticks_total",
      "Ticks of the GPU's clock during which the engine was active; with virtual functions enabled, for the GPU's own "
      "function only.",
      {"device", "gt", "engine", "class"}};
  static constexpr CounterMetric<Ticks, 4> kTicks{
      "intel_gpu_engine_ticks_total",
      "Ticks of the GPU's clock during which the engine was available to this function.",
      {"device", "gt", "engine", "class"}};
  static constexpr CounterMetric<Count, 1> kInterrupts{
      "intel_gpu_interrupts_total", "Interrupts raised by the GPU.", {"device"}};

  static constexpr std::array<KernelAbsence, 6> kNoBusy{{
      {Driver::i915, kEither,
       "i915's PMU is there, but lists no busy event of an engine: the driver comes from outside the kernel, or this "
       "host has given its engines to virtual functions",
       "", EOPNOTSUPP},
      {Driver::i915, kEither, "this kernel's i915 driver has no PMU, or not the events of the engines",
       "Linux 4.16 or newer"},
      {Driver::xe, kEither,
       "the xe PMU does not list engine-active-ticks and engine-total-ticks: the GPU's firmware (GuC) is too old for "
       "them",
       "install current GuC firmware (package firmware-intel-graphics or linux-firmware) and reboot", EOPNOTSUPP},
      {Driver::xe, kEither, "this kernel's xe driver has no PMU",
       "Linux 6.17 or newer (the PMU came with 6.15 to 6.17); until then engine time comes from fdinfo"},
      {Driver::wddm, kEither,
       "with this graphics driver the time of nodes stays 0 while processes use them, and Windows' performance counter "
       "GPU Engine is not there either",
       "lodctr /R, as administrator, sets the performance counters up again; "
       "intel_gpu_process_engine_busy_seconds_total has the time by process",
       ENODATA},
      {Driver::wddm, kEither, "Windows does not count the time of this GPU's nodes", ""},
  }};
  static constexpr std::array<KernelAbsence, 4> kNoWait{{
      {Driver::i915, kEither, "i915's PMU is there, but lists no event wait or sema of an engine", "", EOPNOTSUPP},
      {Driver::i915, kEither, "this kernel's i915 driver has no PMU, or not the events wait and sema",
       "Linux 4.16 or newer"},
      {Driver::xe, kEither, kNotInXe, ""},
      {Driver::wddm, kEither, "Windows does not count this", ""},
  }};
  static constexpr std::array<KernelAbsence, 4> kNoInterrupts{{
      {Driver::i915, kEither, "i915's PMU is there, but does not list the event interrupts", "", EOPNOTSUPP},
      {Driver::i915, kEither, "this kernel's i915 driver has no PMU, or not the event interrupts",
       "Linux 4.16 or newer"},
      {Driver::xe, kEither, kNotInXe, ""},
      {Driver::wddm, kEither, "Windows does not count this", ""},
  }};
  static constexpr FeatureDescriptor kBusyFeature{
      "engine_busy", "Busy time of every engine; otherwise only the visible clients' time by class.", Need::perf_events,
      false, kNoBusy};
  // The same feature with other needs: xe's PMU is closed while the GPU seems idle, and clients may be hidden.
  static constexpr FeatureDescriptor kBusyByClients{"engine_busy", kBusyFeature.meaning, Need::other_processes, false,
                                                    kNoBusy};
  static constexpr FeatureDescriptor kBusyByLink{"engine_busy", kBusyFeature.meaning, Need::descriptor_links, false,
                                                 kNoBusy};
  static constexpr FeatureDescriptor kWaitFeature{"engine_wait_sema",
                                                  "Time that engines wait for events and semaphores (i915).",
                                                  Need::perf_events, false, kNoWait};
  static constexpr FeatureDescriptor kInterruptsFeature{"interrupts", "Interrupts raised by the GPU (i915).",
                                                        Need::perf_events, false, kNoInterrupts};

  static constexpr std::array<Choice<XeEngineSource>, 3> kXeSources{
      {{"auto", XeEngineSource::automatic}, {"pmu", XeEngineSource::pmu}, {"fdinfo", XeEngineSource::fdinfo}}};
  static constexpr ChoiceOption<XeEngineSource> kXeSource{
      {.flag = "collector.engines.xe-source",
       .default_value = "auto",
       .help = "Source of xe engine time: pmu keeps the GPU out of C6 and D3 permanently, fdinfo covers only the "
               "visible clients, auto uses the PMU while the GPU is busy and fdinfo otherwise."},
      kXeSources};
  static constexpr CollectorInfo kInfo{
      .name = "engines",
      .help = "Busy time of the GPU's engines.",
      .accumulates_on_read = true,  // an idle GPU's PMU must be closed even without scrapes; 32-bit client clocks wrap
      .reads_processes = true,      // where perf events are refused, and for xe
      .metrics = kListOf<MetricDescriptor, kBusy, kBusyRatio, kWait, kWaitRatio, kSema, kSemaRatio, kActiveTicks,
                         kTicks, kInterrupts>,
      .in_windows = kListOf<MetricDescriptor, kBusy, kBusyRatio>,
      .features = kListOf<FeatureDescriptor, kBusyFeature, kWaitFeature, kInterruptsFeature>,
      .options = kListOf<OptionDescriptor, kSampledEvents, kXeSource>,
      .notes =
          "While SR-IOV virtual functions are enabled, xe's PMU counts each function for itself, function 0 being the "
          "host's own. `intel_gpu_engine_busy_*` with source=\"pmu\" is then the sum of all functions (of the first "
          "64); what each virtual function used is in collector sriov. The pair of ticks stays that of function 0. "
          "Before Linux 6.16, which counts functions, it is the host's own share, as the feature vf_engine_busy says. "
          "source=\"fdinfo\" is always the host's own. Under Windows the source is \"d3dkmt\", or \"pdh\" where nodes "
          "do not count: engines have Windows' names, and class \"other\" if Linux has no class for them; of the other "
          "metrics there is none.",
  };

  static std::unique_ptr<Collector> create(const CollectorContext& context) {
    return context.gpu.driver == Driver::i915   ? create_i915(context)
           : context.gpu.driver == Driver::wddm ? create_wddm(context)
                                                : create_xe(context);
  }
  static std::unique_ptr<Collector> create_i915(const CollectorContext& context);
  static std::unique_ptr<Collector> create_wddm(const CollectorContext& context);
  static std::unique_ptr<Collector> create_xe(const CollectorContext& context);
};

}  // namespace igpu
