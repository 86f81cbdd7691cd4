// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "base/option.h"

// Options that several collectors read.
namespace igpu {

// How processes that use a GPU are found, for all collectors.
enum class FinderChoice { automatic, bpf, walk };
inline constexpr std::array<Choice<FinderChoice>, 3> kFinderChoices{
    {{"auto", FinderChoice::automatic}, {"bpf", FinderChoice::bpf}, {"walk", FinderChoice::walk}}};
inline constexpr ChoiceOption<FinderChoice> kFinder{
    {.flag = "collector.fdinfo.finder",
     .default_value = "auto",
     .help = "How to find processes that use a GPU: bpf asks the kernel and needs CAP_BPF and CAP_PERFMON; walk reads "
             "/proc; auto uses bpf if it is available."},
    kFinderChoices};

// Whether there are series by process, and for how many processes of a GPU or an NPU.
inline constexpr NumberOption kMaxProcesses{
    {.flag = "collector.fdinfo.max-processes",
     .default_value = "4096",
     .help = "Maximum number of processes per GPU with series of their own. Beyond it, those that used the GPU least "
             "in the last window are only counted. Of an NPU, those with the least memory have no series."}};
inline constexpr SwitchOption kPerProcess{
    {.flag = "collector.fdinfo.per-process",
     .default_value = "enabled",
     .help = "Series by process. Without them, only intel_gpu_processes is exported, and nothing by process of NPUs; "
             "collector workloads has sums by group."}};

// The i915 events wait, sema and frequency are sampled: the driver runs a 200 Hz timer for them while the GPU is busy.
// One option for all collectors that open such events.
inline constexpr std::array<Choice<bool>, 2> kSampledEventsChoices{{{"on", true}, {"off", false}}};
inline constexpr ChoiceOption<bool> kSampledEvents{
    {.flag = "collector.engines.sampled-events",
     .default_value = "on",
     .help = "Whether to open the sampled i915 events: wait, sema and mean frequency. They start a 200 Hz timer in the "
             "driver while the GPU is busy."},
    kSampledEventsChoices};

// How often the clients are read between scrapes: a collector that lists this option is then read that often, so that
// it counts jobs that end before the next scrape.
inline constexpr DurationOption kScanInterval{
    {.flag = "collector.fdinfo.interval",
     .default_value = "0s",
     .help = "How often GPU clients are also read between scrapes, so that collector workloads counts jobs that are "
             "shorter than the time between two scrapes. 0: only at scrapes; otherwise at least 100ms."}};

}  // namespace igpu
