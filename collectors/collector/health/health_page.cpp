// SPDX-License-Identifier: Apache-2.0
// What the collector `health` reports: its metrics and features, and the samples of one scrape.
#include <array>
#include <string>

#include "collector/health/health.h"
#include "collector/health/health_device.h"
#include "collector/health/health_files.h"
#include "kernel/device/engine_class.h"

namespace igpu {
namespace {

constexpr CounterMetric<Count, 2> kResets{
    "intel_gpu_resets_total", "Resets of the whole GPU that the kernel announced (i915).", {"device", "kind"}};
constexpr CounterMetric<Count, 1> kCoreDumps{
    "intel_gpu_core_dumps_total",
    "Core dumps that xe made of the GPU; a lower bound of its hangs, because xe makes no other one for an hour.",
    {"device"}};
constexpr CounterMetric<Count, 3> kHealthHangs{
    "intel_gpu_hangs_total", "Hangs that the kernel log or BPF programs report.", {"device", "kind", "class"}};
constexpr CounterMetric<Count, 3> kProcessHangs{
    "intel_gpu_process_hangs_total",
    "Hangs by the process that the kernel log, BPF programs or, where these name none, the core dump names (xe, root).",
    {"device", "pid", "comm"}};
constexpr GaugeMetric<Flag, 1> kWedged{
    "intel_gpu_wedged", "Whether the driver has given the GPU up; it runs nothing until it is rebound.", {"device"}};
constexpr GaugeMetric<Seconds, 2> kLastFault{"intel_gpu_last_fault_timestamp_seconds",
                                             "Time of the last line or event about a fault of this kind, since 1970.",
                                             {"device", "kind"}};
constexpr CounterMetric<Count, 2> kFaultEvents{
    "intel_gpu_fault_events_total",
    "Lines of the kernel log and events about faults; a storm of them may be one hang.",
    {"device", "kind"}};
constexpr CounterMetric<Count, 1> kHealthLost{
    "intel_gpu_fault_events_lost_total",
    "Times that the kernel overwrote messages before they were read; they may have reported faults.",
    {"channel"}};
constexpr FeatureDescriptor kEventsFeature{"fault_events", "Resets, wedged GPUs and core dumps as they happen.",
                                           Need::uevents, true};
// Optional: the packages withhold the right, because the kernel log may hold data of others.
constexpr FeatureDescriptor kLogFeature{
    "kernel_log", "Hangs, and the processes that caused them, from the kernel log.", Need::kernel_log, true, {}, true};
constexpr std::array<KernelAbsence, 1> kNoQueueEvents{{
    {Driver::i915, kEither, "i915 has no tracepoint of a hang; the kernel log reports them", ""},
}};
// Optional: likewise.
constexpr FeatureDescriptor kQueueEventsFeature{
    "hang_events",     "Hangs of xe, and the processes that caused them, from BPF programs.",
    Need::hang_events, false,
    kNoQueueEvents,    true};
constexpr std::array<KernelAbsence, 2> kNoDumps{{
    {Driver::i915, kEither, "i915 makes no device core dumps; it keeps the first hang in its error state", ""},
    {Driver::xe, kEither, "this kernel makes no device core dumps", "a kernel with CONFIG_DEV_COREDUMP"},
}};
constexpr FeatureDescriptor kDumpsFeature{"core_dumps", "Device core dumps.", Need::nothing_special, false, kNoDumps,
                                          true};
constexpr std::array<KernelAbsence, 1> kNoAnswer{{
    {kEither, kEither, "the driver does not tell whether it has given the GPU up",
     ""},  // a capture of an earlier version
}};
constexpr std::array<KernelAbsence, 1> kNoTimes{{
    {kEither, kEither, "this /proc has no stat with the boot time, which the time of a fault is computed from",
     "remove ProcSubset=pid from the unit"},
}};
constexpr FeatureDescriptor kTimesFeature{"fault_times", "Times of faults, which the alert IntelGpuHung needs.",
                                          Need::nothing_special, true, kNoTimes};
constexpr FeatureDescriptor kWedgedFeature{"wedged", "Whether the driver has given the GPU up.", Need::render_node,
                                           false, kNoAnswer};
constexpr std::array<std::string_view, 1> kHealthProcFiles{"stat"};

constexpr std::string_view kHealthFull = "full", kUnknown = "unknown";
constexpr std::array<std::string_view, 2> kChannelNames{"uevent", "kmsg"};
constexpr std::string_view kQueueEvents = "bpf";

std::string_view name_of_class(std::size_t index) {
  return index < kEngineClasses ? kEngineClassNames[index].label : kUnknown;
}

// Kinds that a driver can report, so that they begin at zero: rate() does not see a counter that begins at one.
bool may_report(Driver driver, HangKind kind) {
  switch (kind) {
    case HangKind::hang:
    case HangKind::fence_expired: return driver == Driver::i915;
    case HangKind::firmware: return true;
    default: return driver == Driver::xe;
  }
}
// Those that the BPF programs report.
bool is_queue_event(Driver driver, HangKind kind) {
  return driver == Driver::xe && (kind == HangKind::job_timeout || kind == HangKind::cat_error);
}
// The kernel names the class of these.
bool has_class(HangKind kind) {
  return kind == HangKind::hang || kind == HangKind::job_timeout || kind == HangKind::cat_error;
}

}  // namespace

constexpr std::array<EarlyPart, 1> kOpenedForHealth{EarlyPart::fault_channels};

constexpr CollectorInfo HealthCollector::kInfo{
    .name = "health",
    .help = "Hangs, resets and errors of each GPU, and who caused them.",
    .in_snapshots = false,
    .proc_files = kHealthProcFiles,
    .opened_early = kOpenedForHealth,
    .metrics =
        kListOf<MetricDescriptor, kResets, kCoreDumps, kHealthHangs, kProcessHangs, kWedged, kLastFault, kFaultEvents,
                kHealthLost, HealthUnbound::kUnbound, HealthUnbound::kDriver, HealthUnbound::kProbeFailure,
                HealthFiles::kPcieErrors, HealthFiles::kFirmware, HealthFiles::kSurvivability, HealthFiles::kRuntimePm>,
    .features = kListOf<FeatureDescriptor, kEventsFeature, kLogFeature, kQueueEventsFeature, kDumpsFeature,
                        kTimesFeature, kWedgedFeature, HealthFiles::kPcieErrorsFeature, HealthFiles::kFirmwareFeature,
                        HealthFiles::kSurvivabilityFeature>,
    .notes =
        "Counters begin at zero at the start; of earlier faults the kernel log and core dumps tell the time. Kinds of "
        "hangs: `hang` (i915 captured one), `fence_expired` (i915: a request was not done after 20 s), `job_timeout`, "
        "`cat_error` (access to memory that is not there), `page_fault`, `engine_reset` (one that failed; by workload "
        "also one that ended a queue whose jobs have no end), `gt_reset` (xe), `firmware` (it did not answer, or "
        "reported an error). One hang is one count, although the kernel writes up to four lines about it; `class` is "
        "`unknown` where they do not name it. `intel_gpu_last_fault_timestamp_seconds` also has `full` (a reset of the "
        "whole GPU), `wedged` and `core_dump`, and is absent until the first fault. It and "
        "`intel_gpu_fault_events_total` follow every line and event, also those that belong to a hang that counts "
        "already. The process is the one that opened the render node (xe) or made the context (i915), which may be a "
        "compositor or a broker. Without the kernel log (CAP_SYSLOG) and, on xe, the BPF programs (CAP_BPF and "
        "CAP_PERFMON) the usual hang is in no count: what is left without any right are full resets of i915, one core "
        "dump an hour of xe, and `intel_gpu_wedged`. i915 has neither core dumps nor tracepoints of a hang. "
        "docs/runbook.md has the table of what each channel reports by driver and platform. PCIe errors: types have "
        "the kernel's names; ports of the same kind (the switch of a card behind the switch of a board) are added up; "
        "an Arc card's slot is counted by switch_upstream and root, hardly ever by endpoint. Firmware: which file of "
        "GuC was loaded (70.x) only root can read; i915 shows HuC without a version, and not GuC. These files are read "
        "every 20 seconds, and at once after another fault."};

void HealthCollector::write_lost(SampleSink& out) const {
  for (std::size_t i = 0; i < kChannels; ++i)
    if (channels_[i]) out.add(kHealthLost, {kChannelNames[i]}, count_of(lost_[i]));
  if (queue_faults_) out.add(kHealthLost, {kQueueEvents}, count_of(lost_queue_events_));
}

void HealthCollector::write(const Gpu& gpu, const HealthDevice& device, SampleSink& out) const {
  if (channels_[kUevents] && gpu.driver == Driver::i915)
    out.add(kResets, {gpu.address, kHealthFull}, count_of(device.resets));
  if (dumps_known_ && !why_no_dumps_ && gpu.driver == Driver::xe)
    out.add(kCoreDumps, {gpu.address}, count_of(device.dumps));
  write_hangs(gpu, device, out);
  for (const HealthDevice::Process& process : device.processes)
    out.add(kProcessHangs, {gpu.address, std::to_string(process.who.pid), process.who.name}, count_of(process.hangs));
  if (const auto wedged = device.wedged.wedged()) out.add(kWedged, {gpu.address}, flag(*wedged));
  for (const auto& [kind, time] : device.last) out.add(kLastFault, {gpu.address, kind}, Seconds{time});
  write_events(gpu, device, out);
}

bool HealthCollector::is_reported(const Gpu& gpu, HangKind kind) const {
  const bool has_log = channels_[kKernelLog].operator bool();
  return may_report(gpu.driver, kind) && (has_log || (queue_faults_ && is_queue_event(gpu.driver, kind)));
}

void HealthCollector::write_events(const Gpu& gpu, const HealthDevice& device, SampleSink& out) const {
  auto events = device.events;
  for (std::size_t kind = 0; kind < kHangKinds; ++kind)
    if (const auto hang = static_cast<HangKind>(kind); is_reported(gpu, hang)) events.try_emplace(to_string(hang), 0);
  for (const auto& [kind, number] : events) out.add(kFaultEvents, {gpu.address, kind}, count_of(number));
}

void HealthCollector::write_hangs(const Gpu& gpu, const HealthDevice& device, SampleSink& out) const {
  for (std::size_t kind = 0; kind < kHangKinds; ++kind) {
    const auto hang = static_cast<HangKind>(kind);
    for (std::size_t i = 0; i < HealthDevice::kClasses; ++i) {
      const std::uint64_t hangs = device.hangs[kind][i];
      const bool from_zero = is_reported(gpu, hang) && (has_class(hang) || i == kEngineClasses);
      if (hangs > 0 || from_zero)
        out.add(kHealthHangs, {gpu.address, to_string(hang), name_of_class(i)}, count_of(hangs));
    }
  }
}

void HealthCollector::write_features(const HealthScrape& scrape, SampleSink& out) const {
  constexpr std::array kOfChannel{&kEventsFeature, &kLogFeature};
  for (std::size_t i = 0; i < kChannels; ++i) {
    if (channels_[i]) {
      out.available(*kOfChannel[i]);
    } else {
      out.absent(*kOfChannel[i], channels_[i].absent());
    }
  }
  // Without a channel there is no fault that could have a time.
  const bool has_channel =
      channels_[kUevents] || channels_[kKernelLog] || queue_faults_ || (dumps_known_ && !why_no_dumps_);
  if (has_channel && has_times_) out.available(kTimesFeature);
  if (has_channel && has_times_.is_absent()) out.absent(kTimesFeature, has_times_.absent());
  if (unix_now_ && unix_now_->is_failure()) out.failed(unix_now_->failure());
  for (const Gpu& gpu : scrape.gpus) {
    const HealthDevice& device = devices_.at(gpu.address);
    if (gpu.driver == Driver::i915) {
      out.absent(kQueueEventsFeature, {Reason::kernel, 0}, gpu.address);
    } else if (queue_faults_) {
      out.available(kQueueEventsFeature, gpu.address);
    } else {
      out.absent(kQueueEventsFeature, queue_faults_.absent(), gpu.address);
    }
    if (gpu.driver == Driver::i915) {
      out.absent(kDumpsFeature, {Reason::kernel, 0}, gpu.address);
    } else if (why_no_dumps_) {
      out.absent(kDumpsFeature, *why_no_dumps_, gpu.address);
    } else if (dumps_known_) {
      out.available(kDumpsFeature, gpu.address);
    }
    if (device.wedged.wedged()) {
      out.available(kWedgedFeature, gpu.address);
    } else if (device.why_unknown) {
      out.absent(kWedgedFeature, *device.why_unknown, gpu.address);
    }
  }
}

}  // namespace igpu
