// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collector/collector.h"
#include "collector/shared/sysman_option.h"
#include "source/sysman_gpu.h"

namespace igpu {

// Traffic of the memory controllers that an integrated GPU shares with the CPU: every read and write of main memory,
// not only the GPU's. Does not include a card's own memory.
class ImcCollector final : public Collector {
 public:
  static constexpr Metric<Bytes, 2> kBandwidth{
      "intel_gpu_memory_bandwidth_bytes_total",
      Kind::counter,
      "Bytes transferred by the memory controllers of an integrated GPU's processor, for the GPU and everything else; "
      "under Windows, by a card's memory.",
      {"device", "direction"}};
  static constexpr std::array<KernelAbsence, 3> kNoTraffic{{
      {Driver::wddm, {}, kSysmanIsNotAsked, kAskSysman, ECANCELED},
      {Driver::wddm, {}, kNoSysman, kInstallSysman, ENOENT},
      {Driver::wddm, {}, "the graphics driver's Sysman does not count this GPU's memory traffic", ""},
  }};
  static constexpr FeatureDescriptor kFeature{"memory_bandwidth", "Memory traffic of the processor (integrated GPUs).",
                                              Need::imc_pmu, false, kNoTraffic};
  static constexpr FeatureDescriptor kTrafficOfCard{kFeature.name, kFeature.meaning, Need::windows_rights, false,
                                                    kNoTraffic};

  static constexpr std::array<const MetricDescriptor*, 1> kMetrics{&kBandwidth};
  static constexpr std::array<const FeatureDescriptor*, 1> kFeatures{&kFeature};
  static constexpr std::array<const OptionDescriptor*, 1> kOptions{&kSysman};
  static constexpr CollectorInfo kInfo{
      .name = "imc",
      .help = "Memory bandwidth of an integrated GPU's processor.",
      .metrics = kMetrics,
      .features = kFeatures,
      .options = kOptions,
      .notes = "Under Windows with `--collector.sysman` only, and only of a card.",
  };

  explicit ImcCollector(const CollectorContext& context);

  void collect(ScrapePass& pass, SampleSink& out) override;

 private:
  // A memory controller, or a channel of it, with its own PMU.
  struct Box {
    std::unique_ptr<PmuSession> pmu;
    std::vector<PmuSession::Handle> reads, writes;
    bool has_counted = false;
  };

  void find_boxes();
  void collect_card(SampleSink& out);

  Machine& machine_;
  const Gpu& gpu_;
  CounterMemory& memory_;
  std::vector<Box> boxes_;
  SysmanGpu sysman_;  // under Windows, instead of all others
};

}  // namespace igpu
