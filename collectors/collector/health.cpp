// SPDX-License-Identifier: Apache-2.0
#include "collector/health.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/scan.h"
#include "collector/health_files.h"
#include "device/engine_class.h"
#include "device/pci_address.h"
#include "machine/boot_clock.h"
#include "source/fault_process.h"
#include "source/kernel_log_record.h"

namespace igpu {
namespace {

constexpr Metric<Count, 2> kResets{"intel_gpu_resets_total",
                                   Kind::counter,
                                   "Resets of the whole GPU that the kernel announced (i915).",
                                   {"device", "kind"}};
constexpr Metric<Count, 1> kCoreDumps{"intel_gpu_core_dumps_total",
                                      Kind::counter,
                                      "Core dumps that xe made of the GPU; a lower bound of its hangs, because xe "
                                      "makes no other one for an hour.",
                                      {"device"}};
constexpr Metric<Count, 3> kHangs{"intel_gpu_hangs_total",
                                  Kind::counter,
                                  "Hangs that the kernel log or BPF programs report.",
                                  {"device", "kind", "class"}};
constexpr Metric<Count, 3> kProcessHangs{"intel_gpu_process_hangs_total",
                                         Kind::counter,
                                         "Hangs by the process that the kernel log or BPF programs name; without "
                                         "them, that the core dump names (xe, root).",
                                         {"device", "pid", "comm"}};
constexpr Metric<Flag, 1> kWedged{"intel_gpu_wedged",
                                  Kind::gauge,
                                  "Whether the driver has given the GPU up; it runs nothing until it is rebound.",
                                  {"device"}};
constexpr Metric<Seconds, 2> kLastFault{"intel_gpu_last_fault_timestamp_seconds",
                                        Kind::gauge,
                                        "Time of the last fault of this kind, since 1970.",
                                        {"device", "kind"}};
constexpr Metric<Count, 1> kLost{"intel_gpu_fault_events_lost_total",
                                 Kind::counter,
                                 "Times that the kernel overwrote messages before they were read; they may have "
                                 "reported faults.",
                                 {"channel"}};
template <class T, std::size_t A, std::size_t B>
constexpr std::array<T, A + B> joined(const T (&first)[A], const std::array<T, B>& second) {
  std::array<T, A + B> all{};
  std::copy(first, first + A, all.begin());
  std::copy(second.begin(), second.end(), all.begin() + A);
  return all;
}

constexpr auto kMetrics = joined<const MetricDescriptor*>(
    {&kResets, &kCoreDumps, &kHangs, &kProcessHangs, &kWedged, &kLastFault, &kLost}, HealthFiles::kMetrics);

constexpr FeatureDescriptor kEventsFeature{"fault_events", "Resets, wedged GPUs and core dumps as they happen.",
                                           Need::uevents, true};
// Optional: the packages withhold the right, because the kernel log may hold data of others.
constexpr FeatureDescriptor kLogFeature{
    "kernel_log", "Hangs, and the processes that caused them, from the kernel log.", Need::kernel_log, true, {}, true};
constexpr std::array<KernelAbsence, 1> kNoQueueEvents{{
    {Driver::i915, {}, "i915 has no tracepoint of a hang; the kernel log reports them", ""},
}};
// Optional: likewise.
constexpr FeatureDescriptor kQueueEventsFeature{
    "hang_events",     "Hangs of xe, and the processes that caused them, from BPF programs.",
    Need::hang_events, false,
    kNoQueueEvents,    true};
constexpr std::array<KernelAbsence, 2> kNoDumps{{
    {Driver::i915, {}, "i915 makes no device core dumps; it keeps the first hang in its error state", ""},
    {Driver::xe, {}, "this kernel makes no device core dumps", "a kernel with CONFIG_DEV_COREDUMP"},
}};
constexpr FeatureDescriptor kDumpsFeature{"core_dumps", "Device core dumps.", Need::nothing_special, false, kNoDumps,
                                          true};
constexpr std::array<KernelAbsence, 1> kNoAnswer{{
    {{}, {}, "the driver does not tell whether it has given the GPU up", ""},  // a capture of an earlier version
}};
constexpr FeatureDescriptor kWedgedFeature{"wedged", "Whether the driver has given the GPU up.", Need::render_node,
                                           false, kNoAnswer};
constexpr auto kFeatures = joined<const FeatureDescriptor*>(
    {&kEventsFeature, &kLogFeature, &kQueueEventsFeature, &kDumpsFeature, &kWedgedFeature}, HealthFiles::kFeatures);
constexpr std::array<std::string_view, 1> kProcFiles{"stat"};

constexpr std::string_view kFull = "full", kWedgedKind = "wedged", kCoreDump = "core_dump", kUnknown = "unknown";
constexpr std::array<std::string_view, 2> kChannelNames{"uevent", "kmsg"};
constexpr std::string_view kQueueEvents = "bpf";

constexpr std::size_t kClasses = kEngineClasses + 1;  // the last one: unknown
std::size_t index_of(std::optional<EngineClass> engine_class) {
  return engine_class ? static_cast<std::size_t>(*engine_class) : kEngineClasses;
}
std::string_view name_of_class(std::size_t index) {
  return index < kEngineClasses ? kEngineClassNames[index].label : kUnknown;
}

// Kinds that a driver can report, so that they begin at zero: rate() does not see a counter that begins at one.
bool may_report(Driver driver, HangKind kind) {
  switch (kind) {
    case HangKind::hang:
    case HangKind::fence_expired:
      return driver == Driver::i915;
    case HangKind::firmware:
      return true;
    default:
      return driver == Driver::xe;
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

// "0000:03:00.0" of "devices/pci0000:00/.../0000:03:00.0/drm/card0".
std::string_view address_of_card(std::string_view path) {
  path = path.substr(0, path.find("/drm/card"));
  const std::string_view name = path.substr(std::min(path.rfind('/') + 1, path.size()));
  return is_pci_address(name) ? name : std::string_view();
}

Count count_of(std::uint64_t number) { return Count{static_cast<double>(number)}; }

}  // namespace

struct HealthCollector::Device {
  Device(DrmNodes& nodes, const Gpu& gpu)
      : address(gpu.address), binding(gpu.binding), driver(gpu.driver), pci_path(gpu.pci_path), probe(nodes, gpu) {}

  std::string address;
  std::uint64_t binding;
  Driver driver;
  std::string pci_path;
  WedgedProbe probe;
  WedgedVerdict wedged;
  std::optional<Absent> why_unknown;  // whether it is wedged
  HangIncidents incidents;
  bool last_job_is_nobodys = false;  // of the last one that timed out the BPF programs know no process

  std::uint64_t resets = 0, dumps = 0;
  std::array<std::array<std::uint64_t, kClasses>, kHangKinds> hangs{};
  struct Process {
    FaultProcess who;
    std::uint64_t hangs = 0;
  };
  std::vector<Process> processes;           // the one that hung last is last
  std::string unread_dump;                  // a new dump's content
  std::map<std::string_view, double> last;  // by kind; since 1970
};

constexpr CollectorInfo HealthCollector::kInfo{
    .name = "health",
    .help = "Hangs, resets and errors of each GPU, and who caused them.",
    .in_snapshots = false,
    .proc_files = kProcFiles,
    .metrics = kMetrics,
    .features = kFeatures,
    .notes =
        "Counters begin at zero at the start; of earlier faults the kernel log and core dumps tell the "
        "time. Kinds of hangs: `hang` (i915 captured one), `fence_expired` (i915: a request was not done after 20 s), "
        "`job_timeout`, `cat_error` (access to memory that is not there), `page_fault`, `engine_reset` (one that "
        "failed), `gt_reset` (xe), `firmware` (it did not answer, or reported an error). One hang is one count, "
        "although the kernel writes up to four lines about it; `class` is `unknown` where they do not name it. "
        "`intel_gpu_last_fault_timestamp_seconds` also has `full` (a reset of the whole GPU), `wedged` and "
        "`core_dump`, and is absent until the first fault. The process is the one that opened the render node (xe) or "
        "made the context (i915), which may be a compositor or a broker. docs/runbook.md lists what each channel "
        "reports by driver and platform. PCIe errors: types have the kernel's names; ports of the same kind (the "
        "switch of a card behind the switch of a board) are added up; an Arc card's slot is counted by switch_upstream "
        "and root, "
        "hardly ever by endpoint. Firmware: which file of GuC was loaded (70.x) only root can read; i915 shows HuC "
        "without a version, and not GuC. These files are read every 20 seconds, and at once after another fault."};

std::unique_ptr<MachineCollector> HealthCollector::create(const MachineContext& context) {
  return std::make_unique<HealthCollector>(context.machine, context.flights);
}

HealthCollector::HealthCollector(Machine& machine, std::shared_ptr<Flights> flights)
    : machine_(machine),
      flights_(std::move(flights)),
      channels_{machine.uevents, machine.kernel_log},
      queue_faults_(machine.why_no_queue_faults),
      dumps_(machine.sys),
      last_read_(machine.clock.now()) {
  parts_.push_back(std::make_unique<HealthFiles>(machine));
  keep_old_log();
}

HealthCollector::~HealthCollector() = default;

void HealthCollector::collect(MachinePass& pass, SampleSink& out) {
  const auto gpus = pass.gpus();
  HealthScrape scrape{pass.now(), *gpus, pass.asleep()};
  unix_now_.reset();
  follow(scrape);
  for (auto& known : devices_) known.second.incidents.begin_scrape();
  if (log_is_old_) read_old_log(scrape, pass);
  read_uevents(scrape, out);
  read_queue_events(scrape, pass);
  read_log(scrape, pass, out);
  read_dumps(scrape, out);
  name_processes_of_dumps(scrape, pass, out);
  ask_drivers(scrape, out);
  for (const auto& part : parts_) part->collect(scrape, out);
  for (const Gpu& gpu : scrape.gpus) write(gpu, devices_.at(gpu.address), out);
  for (std::size_t i = 0; i < kChannels; ++i)
    if (channels_[i].messages != nullptr) out.add(kLost, {kChannelNames[i]}, count_of(lost_[i]));
  if (queue_faults_) out.add(kLost, {kQueueEvents}, count_of(lost_queue_events_));
  write_features(scrape, out);
  last_read_ = scrape.now;
}

// Counts outlive a rebinding; whether the GPU is wedged does not.
void HealthCollector::follow(const HealthScrape& scrape) {
  for (const Gpu& gpu : scrape.gpus) {
    const auto known = devices_.find(gpu.address);
    if (known == devices_.end()) {
      devices_.try_emplace(gpu.address, machine_.drm, gpu);
      continue;
    }
    if (known->second.binding == gpu.binding) continue;
    Device fresh(machine_.drm, gpu);
    fresh.resets = known->second.resets;
    fresh.dumps = known->second.dumps;
    fresh.hangs = known->second.hangs;
    fresh.processes = std::move(known->second.processes);
    fresh.last = std::move(known->second.last);
    devices_.erase(known);
    schedule_.forget(gpu.address);
    devices_.try_emplace(gpu.address, std::move(fresh));
  }
  for (auto& known : devices_) {
    const auto is_it = [&](const Gpu& gpu) { return gpu.address == known.first; };
    if (std::none_of(scrape.gpus.begin(), scrape.gpus.end(), is_it)) known.second.probe.close();
  }
}

// Null: no GPU, or one that is not chosen.
HealthCollector::Device* HealthCollector::device_of(std::string_view address) {
  const auto known = devices_.find(address);
  return known == devices_.end() ? nullptr : &known->second;
}

// The next message; false: there is none now.
bool HealthCollector::next(Channel channel, KernelMessage& message, SampleSink& out) {
  buffer_.resize(KernelMessages::kLongest);
  const auto read = channels_[channel].messages->next(buffer_);
  if (!read) {
    if (read.is_failure()) out.failed(read.failure());
    return false;
  }
  message = *read;
  if (message.state == KernelMessage::State::lost) ++lost_[channel];
  return message.state != KernelMessage::State::none;
}

void HealthCollector::read_uevents(HealthScrape& scrape, SampleSink& out) {
  // Also without an event: of core dumps that are turned off none tells.
  if (schedule_.is_due("core dumps", false, scrape.now)) dumps_are_due_ = true;
  if (channels_[kUevents].messages == nullptr) return;
  KernelMessage message;
  for (std::size_t i = 0; i < kMostMessages && next(kUevents, message, out); ++i) {
    if (message.state == KernelMessage::State::lost) {
      // What was lost may have been about any GPU.
      dumps_are_due_ = true;
      for (const Gpu& gpu : scrape.gpus) scrape.faulted.insert(gpu.address);
    } else if (const auto event = parse_uevent(message.text)) {
      take(*event, scrape);
    }
  }
}

void HealthCollector::take(const Uevent& event, HealthScrape& scrape) {
  const auto subsystem = event.value("SUBSYSTEM");
  if (subsystem == "devcoredump" && event.action == "add") dumps_are_due_ = true;
  if (subsystem != "drm" || event.action != "change") return;
  const std::string_view address = address_of_card(event.path);
  Device* const device = device_of(address);
  if (device == nullptr) return;
  const auto wedged = event.value("WEDGED");
  const bool is_fault = wedged || event.value("ERROR") || event.value("RESET");
  if (!is_fault) return;  // a monitor was plugged in, for example
  scrape.faulted.insert(std::string(address));
  if (event.value("RESET") == "1") {
    ++device->resets;
    note_fault(*device, kFull, {});
  }
  if (event.value("ERROR") == "1") device->wedged.reset_began(scrape.now);
  if (event.value("ERROR") == "0" || wedged) device->wedged.reset_ended();
  if (wedged && *wedged != "none") {  // none: a reset was enough
    device->wedged.announced();
    note_fault(*device, kWedgedKind, {});
  }
}

// So that what comes between the start and the first scrape counts.
void HealthCollector::keep_old_log() {
  KernelMessages* const log = channels_[kKernelLog].messages;
  if (log == nullptr) return;
  buffer_.resize(KernelMessages::kLongest);
  for (std::size_t i = 0; i < kMostMessages; ++i) {
    const auto message = log->next(buffer_);
    if (!message) return;  // the first scrape reports it
    if (message->state == KernelMessage::State::none) {
      old_log_is_whole_ = true;
      return;
    }
    if (message->state == KernelMessage::State::lost) continue;
    const auto record = parse_kernel_log_record(message->text);
    if (!record || !parse_fault_line(*record)) continue;
    if (old_log_.size() == kMostOldLines) old_log_.pop_front();
    old_log_.emplace_back(message->text);
  }
}

void HealthCollector::read_old_log(HealthScrape& scrape, MachinePass& pass) {
  for (const std::string& text : std::exchange(old_log_, {})) take_record(text, scrape, pass);
  if (!old_log_is_whole_) return;
  log_is_old_ = false;
  for (auto& known : devices_) known.second.incidents = {};
}

void HealthCollector::read_log(HealthScrape& scrape, MachinePass& pass, SampleSink& out) {
  if (channels_[kKernelLog].messages == nullptr) return;
  KernelMessage message;
  for (std::size_t i = 0; i < kMostMessages; ++i) {
    if (!next(kKernelLog, message, out)) {
      log_is_old_ = false;
      return;
    }
    if (message.state == KernelMessage::State::message) take_record(message.text, scrape, pass);
  }
}

void HealthCollector::take_record(std::string_view text, HealthScrape& scrape, MachinePass& pass) {
  const auto record = parse_kernel_log_record(text);
  const auto line = record ? parse_fault_line(*record) : std::nullopt;
  if (line) take(*line, *record, scrape, pass);
}

void HealthCollector::take(const FaultLine& line, const KernelLogRecord& record, HealthScrape& scrape,
                           MachinePass& pass) {
  Device* const device = device_of(line.device);
  if (device == nullptr) return;
  scrape.faulted.insert(std::string(line.device));
  // The clock of the log drifts: a new record came since the last scrape, whatever its time.
  Nanoseconds age = std::max(scrape.now - record.time, Nanoseconds::zero());
  if (!log_is_old_) age = std::min(age, scrape.now - last_read_);
  if (flights_) flights_->note({device->address, unescaped_log_text(record.text), scrape.now - age});
  switch (line.sign) {
    case FaultSign::full_reset:
      return note_fault(*device, kFull, age);
    case FaultSign::wedged:
      // Of an old one the driver itself tells whether it is still so.
      if (!log_is_old_) device->wedged.announced();
      return note_fault(*device, kWedgedKind, age);
    default:
      break;
  }
  count_hang(*device, line, record.time, FaultSource::kernel_log, age, pass);
}

// Before the kernel log: they name the class in each event, and the process that created the queue, which is not always
// the one that opened the device.
void HealthCollector::read_queue_events(HealthScrape& scrape, MachinePass& pass) {
  const auto is_xe = [](const Gpu& gpu) { return gpu.driver == Driver::xe; };
  if (machine_.queue_faults == nullptr || std::ranges::none_of(scrape.gpus, is_xe)) return;
  queue_faults_ = machine_.queue_faults->get(scrape.now);
  if (!queue_faults_) return;
  lost_queue_events_ += queue_events_.read((*queue_faults_)->slots(), [&](const FaultLine& line, Nanoseconds time) {
    Device* const device = device_of(line.device);
    if (device == nullptr) return;
    if (line.sign != FaultSign::engine_reset) scrape.faulted.insert(std::string(line.device));
    if (line.sign == FaultSign::job_timeout) device->last_job_is_nobodys = !line.process;
    const Nanoseconds age = std::clamp(scrape.now - time, Nanoseconds::zero(), scrape.now - last_read_);
    count_hang(*device, line, time, FaultSource::queue_events, age, pass);
  });
}

void HealthCollector::count_hang(Device& device, const FaultLine& line, Nanoseconds time, FaultSource source,
                                 Nanoseconds age, MachinePass& pass) {
  const HangIncidents::Outcome outcome = device.incidents.add(line, time, source);
  if (!outcome.kind) return;
  if (outcome.counted) note_fault(device, to_string(*outcome.kind), age);
  if (source == FaultSource::kernel_log && log_is_old_) return;
  if (outcome.counted) ++device.hangs[static_cast<std::size_t>(*outcome.kind)][index_of(outcome.engine_class)];
  if (outcome.process) count_process(device, line.device, *outcome.kind, *outcome.process, pass);
}

void HealthCollector::count_process(Device& device, std::string_view address, HangKind kind, const FaultProcess& named,
                                    MachinePass& pass) {
  const FaultProcess process = process_of_thread(machine_.proc, named);
  const auto known = std::ranges::find(device.processes, process, [](const Device::Process& one) { return one.who; });
  if (known != device.processes.end()) {
    ++known->hangs;
    std::rotate(known, known + 1, device.processes.end());
  } else {
    if (device.processes.size() == kMostProcesses) device.processes.erase(device.processes.begin());
    device.processes.push_back({process, 1});
  }
  pass.process_hung({std::string(address), to_string(kind), process.pid});
}

void HealthCollector::read_dumps(HealthScrape& scrape, SampleSink& out) {
  if (!dumps_are_due_) return;
  const bool are_old = !dumps_known_;
  const auto dumps = dumps_.new_ones();
  if (dumps.is_failure()) return out.failed(dumps.failure());
  dumps_are_due_ = false;
  dumps_known_ = true;
  why_no_dumps_ = dumps ? std::nullopt : std::optional(dumps.absent());
  if (!dumps) return;
  for (const CoreDump& dump : *dumps) {
    const auto device =
        std::ranges::find_if(devices_, [&](const auto& known) { return known.second.pci_path == dump.pci_path; });
    if (device == devices_.end()) continue;
    scrape.faulted.insert(device->first);
    if (!are_old) {
      ++device->second.dumps;
      device->second.unread_dump = dump.content;
    }
    const auto now = unix_now();
    const Nanoseconds age = now && dump.modified > Nanoseconds::zero()
                                ? Nanoseconds(static_cast<Nanoseconds::rep>(*now * 1e9)) - dump.modified
                                : Nanoseconds::zero();
    note_fault(device->second, kCoreDump, std::max(age, Nanoseconds::zero()));
  }
}

// Without the kernel log, which names the process of each hang, and where the BPF programs do not know it, because the
// queue is older than they are: the dump is of the same hang. xe makes dumps of jobs that timed out. To read a large
// one resumes a GPU that sleeps.
void HealthCollector::name_processes_of_dumps(const HealthScrape& scrape, MachinePass& pass, SampleSink& out) {
  if (channels_[kKernelLog].messages != nullptr) return;
  for (const Gpu& gpu : scrape.gpus) {
    Device& device = devices_.at(gpu.address);
    if (queue_faults_ && !device.last_job_is_nobodys) device.unread_dump.clear();
    if (device.unread_dump.empty() || !scrape.is_awake(gpu.address)) continue;
    std::array<char, kCoreDumpHead> buffer;
    const auto head = machine_.sys.read_start(device.unread_dump, buffer);
    device.unread_dump.clear();
    if (head.is_failure()) out.failed(head.failure());
    const auto process = head ? process_of_core_dump(*head) : std::nullopt;
    if (process) count_process(device, gpu.address, HangKind::job_timeout, *process, pass);
  }
}

// Whether a GPU is wedged since before the start no event tells, so its driver is asked now and then.
void HealthCollector::ask_drivers(const HealthScrape& scrape, SampleSink& out) {
  for (const Gpu& gpu : scrape.gpus) {
    Device& device = devices_.at(gpu.address);
    const bool doubtful = device.wedged.is_open() || device.wedged.reset_hangs(scrape.now);
    if (!scrape.is_awake(gpu.address)) {
      if (!device.wedged.wedged()) device.why_unknown = Absent{Reason::suspended};
      continue;
    }
    if (!schedule_.is_due(gpu.address, doubtful || scrape.just_faulted(gpu.address), scrape.now)) continue;
    const bool was_wedged = device.wedged.wedged().value_or(false);
    const auto answer = device.probe.ask();
    if (answer.is_failure()) out.failed(answer.failure());
    if (answer) device.wedged.answered(*answer);
    device.why_unknown = answer.is_absent() ? std::optional(answer.absent()) : std::nullopt;
    if (answer.is_absent() && device.wedged.reset_hangs(scrape.now)) device.wedged.announced();
    if (answer && !*answer) device.wedged.reset_ended();
    if (device.wedged.wedged().value_or(false) && !was_wedged) note_fault(device, kWedgedKind, {});
  }
}

void HealthCollector::note_fault(Device& device, std::string_view kind, Nanoseconds age) {
  const Nanoseconds noted = machine_.clock.now();
  if (flights_ && age <= noted - last_read_) {  // not one of before the start
    const FlightCause cause = kind == kFull         ? FlightCause::reset
                              : kind == kWedgedKind ? FlightCause::wedged
                                                    : FlightCause::hang;
    flights_->request({cause, device.address, std::string(kind), noted - age});
  }
  const auto now = unix_now();
  if (!now) return;
  double& last = device.last[kind];
  last = std::max(last, *now - to_seconds(age).value);
}

// From the boot time in /proc/stat, whose clock stands still in a capture, too.
std::optional<double> HealthCollector::unix_now() {
  if (unix_now_) return unix_now_;
  constexpr std::size_t kLargest = 256U << 10U;
  std::vector<char> text(kLargest);
  const auto stat = machine_.proc.read_start("stat", text);
  const std::size_t at = stat ? stat->find("\nbtime ") : std::string_view::npos;
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = stat->substr(at + std::string_view("\nbtime ").size());
  const auto boot = scan_u64(take_line(rest));
  if (!boot) return std::nullopt;
  const Nanoseconds up = boot_now(machine_.clock).value_or(machine_.clock.now());
  unix_now_ = static_cast<double>(*boot) + to_seconds(up).value;
  return unix_now_;
}

void HealthCollector::write(const Gpu& gpu, const Device& device, SampleSink& out) const {
  if (channels_[kUevents].messages != nullptr && gpu.driver == Driver::i915)
    out.add(kResets, {gpu.address, kFull}, count_of(device.resets));
  if (dumps_known_ && !why_no_dumps_ && gpu.driver == Driver::xe)
    out.add(kCoreDumps, {gpu.address}, count_of(device.dumps));
  write_hangs(gpu, device, out);
  for (const Device::Process& process : device.processes)
    out.add(kProcessHangs, {gpu.address, std::to_string(process.who.pid), process.who.name}, count_of(process.hangs));
  if (const auto wedged = device.wedged.wedged()) out.add(kWedged, {gpu.address}, flag(*wedged));
  for (const auto& [kind, time] : device.last) out.add(kLastFault, {gpu.address, kind}, Seconds{time});
}

void HealthCollector::write_hangs(const Gpu& gpu, const Device& device, SampleSink& out) const {
  const bool has_log = channels_[kKernelLog].messages != nullptr;
  for (std::size_t kind = 0; kind < kHangKinds; ++kind) {
    const auto hang = static_cast<HangKind>(kind);
    for (std::size_t i = 0; i < kClasses; ++i) {
      const std::uint64_t hangs = device.hangs[kind][i];
      const bool is_reported = has_log || (queue_faults_ && is_queue_event(gpu.driver, hang));
      const bool from_zero = is_reported && may_report(gpu.driver, hang) && (has_class(hang) || i == kEngineClasses);
      if (hangs > 0 || from_zero) out.add(kHangs, {gpu.address, to_string(hang), name_of_class(i)}, count_of(hangs));
    }
  }
}

void HealthCollector::write_features(const HealthScrape& scrape, SampleSink& out) const {
  constexpr std::array kOfChannel{&kEventsFeature, &kLogFeature};
  for (std::size_t i = 0; i < kChannels; ++i) {
    if (channels_[i].messages != nullptr) {
      out.available(*kOfChannel[i]);
    } else {
      out.absent(*kOfChannel[i], channels_[i].why);
    }
  }
  for (const Gpu& gpu : scrape.gpus) {
    const Device& device = devices_.at(gpu.address);
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
