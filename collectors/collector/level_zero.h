// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "collector/collector.h"
#include "source/level_zero_pages.h"

namespace igpu {

// Live resources, calls and leaks of Level Zero programs, from the pages that the tracker writes in them.
class LevelZeroCollector final : public MachineCollector {
 public:
  static constexpr Metric<Count, 3> kResources{"intel_gpu_level_zero_resources",
                                               Kind::gauge,
                                               "Live resources of a Level Zero program by kind.",
                                               {"pid", "comm", "resource"}};
  static constexpr Metric<Count, 3> kResourcesPeak{"intel_gpu_level_zero_resources_peak",
                                                   Kind::gauge,
                                                   "The most live resources of this kind at once so far.",
                                                   {"pid", "comm", "resource"}};
  static constexpr Metric<Count, 3> kCreated{"intel_gpu_level_zero_resources_created_total",
                                             Kind::counter,
                                             "Resources that the program created.",
                                             {"pid", "comm", "resource"}};
  static constexpr Metric<Count, 3> kDestroyed{"intel_gpu_level_zero_resources_destroyed_total",
                                               Kind::counter,
                                               "Resources that the program destroyed.",
                                               {"pid", "comm", "resource"}};
  static constexpr Metric<Bytes, 3> kMemory{"intel_gpu_level_zero_memory_bytes",
                                            Kind::gauge,
                                            "Bytes of the program's live allocations, as requested.",
                                            {"pid", "comm", "memory"}};
  static constexpr Metric<Bytes, 3> kMemoryPeak{"intel_gpu_level_zero_memory_peak_bytes",
                                                Kind::gauge,
                                                "The most bytes allocated at once so far.",
                                                {"pid", "comm", "memory"}};
  static constexpr Metric<Bytes, 3> kAllocated{"intel_gpu_level_zero_memory_allocated_bytes_total",
                                               Kind::counter,
                                               "Bytes of all allocations so far, freed or not.",
                                               {"pid", "comm", "memory"}};
  static constexpr Metric<Count, 3> kCalls{"intel_gpu_level_zero_calls_total",
                                           Kind::counter,
                                           "Calls of a tracked function: those that create, destroy, append or reset.",
                                           {"pid", "comm", "function"}};
  static constexpr Metric<Count, 3> kErrors{"intel_gpu_level_zero_errors_total",
                                            Kind::counter,
                                            "Calls of a tracked function that returned an error.",
                                            {"pid", "comm", "function"}};
  static constexpr Metric<Count, 2> kInvalidDestroys{
      "intel_gpu_level_zero_invalid_destroys_total",
      Kind::counter,
      "Handles that the driver destroyed although the program never created them or had already destroyed them.",
      {"pid", "comm"}};
  static constexpr Metric<Count, 2> kUntracked{
      "intel_gpu_level_zero_untracked_resources_total",
      Kind::counter,
      "Resources that are in no other series because the tracker had no memory left.",
      {"pid", "comm"}};
  static constexpr Metric<Count, 3> kEnded{
      "intel_gpu_level_zero_ended",
      Kind::gauge,
      "Programs that ended: by exit, or killed (also by exec, _exit or a crash). Kept for a while after the end.",
      {"pid", "comm", "how"}};
  static constexpr Metric<Count, 3> kLeaked{"intel_gpu_level_zero_leaked_resources",
                                            Kind::gauge,
                                            "Resources that an ended program had not destroyed.",
                                            {"pid", "comm", "resource"}};
  static constexpr Metric<Bytes, 3> kLeakedBytes{"intel_gpu_level_zero_leaked_bytes",
                                                 Kind::gauge,
                                                 "Bytes that an ended program had not freed.",
                                                 {"pid", "comm", "memory"}};
  static constexpr Metric<Count, 1> kRejected{"intel_gpu_level_zero_pages_rejected_total",
                                              Kind::counter,
                                              "Files in the tracker's folder that were rejected; too_many and "
                                              "too_many_series: left out beyond the limits of files "
                                              "and series.",
                                              {"reason"}};

  static constexpr FeatureDescriptor kFeature{
      "level_zero", "Resources of Level Zero programs that run with the tracker (docs/level-zero.md).",
      Need::tracker_folder, true};

  static constexpr TextOption kPath{{.flag = "path.level-zero",
                                     .default_value = "/run/intel-gpu-exporter/level-zero",
                                     .help = "Where the tracker inside Level Zero programs keeps its pages."},
                                    "DIR"};
  static constexpr DurationOption kRetention{{.flag = "collector.level_zero.retention",
                                              .default_value = "15m",
                                              .help = "How long an ended program and its leaks are reported."}};
  static constexpr NumberOption kMostSeries{
      {.flag = "collector.level_zero.max-series",
       .default_value = "20000",
       .help = "Maximum number of series of Level Zero programs. Beyond it, the users who own the programs share it "
               "equally, and the oldest programs of the users who need more are left out."},
      100,
      1'000'000};

  static constexpr std::array<const MetricDescriptor*, 15> kMetrics{
      &kResources, &kResourcesPeak,   &kCreated,   &kDestroyed, &kMemory, &kMemoryPeak,  &kAllocated, &kCalls,
      &kErrors,    &kInvalidDestroys, &kUntracked, &kEnded,     &kLeaked, &kLeakedBytes, &kRejected};
  static constexpr std::array<const FeatureDescriptor*, 1> kFeatures{&kFeature};
  static constexpr std::array<const OptionDescriptor*, 3> kOptions{&kPath, &kRetention, &kMostSeries};

  static constexpr CollectorInfo kInfo{
      .name = "level_zero",
      .help = "Resources, memory, calls and leaks of Level Zero programs that run with the tracker.",
      .in_snapshots = false,
      .metrics = kMetrics,
      .features = kFeatures,
      .options = kOptions,
      .notes =
          "Only programs that run with the tracker are reported (docs/level-zero.md). Handles are counted, so "
          "leaks are exact. pid is as the exporter sees it, or the program's own if it runs in a namespace that "
          "the exporter cannot see; programs with the same pid and comm are added up.",
  };

  static std::unique_ptr<MachineCollector> create(const MachineContext& context);
  LevelZeroCollector(std::unique_ptr<PageFolder> folder, Nanoseconds retention, std::uint64_t most_series,
                     std::function<std::uint64_t()> realtime_ns = level_zero_realtime_ns);

  void collect(MachinePass& pass, SampleSink& out) override { collect(pass.now(), out); }
  void collect(Nanoseconds now, SampleSink& out);

 private:
  struct Ended {
    LevelZeroPage page;  // empty once it is no longer reported
    std::uint32_t owner = 0;
    std::int32_t pid = 0;
    Nanoseconds since{};
    bool reported = true;

    void forget() {
      reported = false;
      page = {};
    }
  };
  struct Sums;
  struct Shown;

  Nanoseconds since_end(const LevelZeroPage& page) const;
  std::vector<Shown> follow(LevelZeroSnapshot& snapshot, Nanoseconds now);
  void forget_most_ended();
  void add_fair_share(std::vector<Shown> programs, Sums& sums);
  void left_out(PageRejection reason) { ++rejected_[static_cast<std::size_t>(reason)]; }

  LevelZeroPages pages_;
  const Nanoseconds retention_;
  const std::uint64_t most_series_;
  const std::function<std::uint64_t()> realtime_ns_;
  std::map<std::string, std::int32_t> pids_;         // PIDs of running programs in this PID namespace, by file
  std::map<std::string, Ended, std::less<>> ended_;  // by file
  std::set<std::string> without_series_;             // files of programs that have no series
  std::array<std::uint64_t, kPageRejections> rejected_{};
};

}  // namespace igpu
