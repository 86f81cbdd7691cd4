// SPDX-License-Identifier: Apache-2.0
#include "collector/health/health.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/scan.h"
#include "collector/health/health_device.h"
#include "kernel/device/drm_nodes.h"

namespace igpu {
namespace {

constexpr std::string_view kFull = "full", kWedgedKind = "wedged", kCoreDump = "core_dump";

std::size_t index_of(std::optional<EngineClass> engine_class) {
  return engine_class ? static_cast<std::size_t>(*engine_class) : kEngineClasses;
}

// "0000:03:00.0" of "devices/pci0000:00/.../0000:03:00.0/drm/card0".
std::string_view address_of_card(std::string_view path) {
  path = path.substr(0, path.find("/drm/card"));
  const std::string_view name = path.substr(std::min(path.rfind('/') + 1, path.size()));
  return is_pci_address(name) ? name : std::string_view();
}

}  // namespace

std::unique_ptr<MachineCollector> HealthCollector::create(const MachineContext& context) {
  return std::make_unique<HealthCollector>(context.machine, context.flights, SlowReads::kLongestWait, context.chosen,
                                           &context.log);
}

HealthCollector::HealthCollector(Machine& machine, std::shared_ptr<Flights> flights, Nanoseconds longest_wait,
                                 std::span<const std::string> chosen, Log* log)
    : machine_(machine),
      flights_(std::move(flights)),
      longest_wait_(longest_wait),
      channels_{machine.uevents, machine.kernel_log},
      queue_faults_(machine.queue_faults ? Machine::kNoPart : machine.queue_faults.absent()),
      dumps_(machine.sys),
      began_(machine.clock.now()),
      last_read_(began_),
      unbound_(machine, chosen, log),
      files_(machine) {
  keep_old_dumps();
  keep_old_log();
  unbound_.search();
}

HealthCollector::~HealthCollector() = default;

void HealthCollector::collect(MachinePass& pass, SampleSink& out) {
  const auto gpus = pass.gpus();
  HealthScrape scrape{pass.now(), *gpus, pass.asleep()};
  unix_now_.reset();
  if (is_first_scrape_) (void)unix_now();  // so that its absence is known before a fault needs it
  scrape_began_ = scrape.now;
  follow(scrape);
  for (auto& [address, device] : devices_) {
    device.incidents.begin_scrape(scrape.now);
    device.named.begin_scrape(scrape.now, device.has_unread_dump());
  }
  if (log_is_old_) read_old_log(scrape, pass);
  read_uevents(scrape, out);
  read_hangs(scrape, pass, out);
  read_dumps(scrape, out);
  begin_reading_dumps(scrape, out);
  ask_drivers(scrape, out);
  files_.collect(scrape, out);
  unbound_.collect(scrape, out);
  name_processes_of_dumps(scrape, pass, out);
  for (const Gpu& gpu : scrape.gpus) write(gpu, devices_.at(gpu.address), out);
  pass.facts().put({}, FaultChannels{channels_[kUevents].operator bool(), dumps_known_ && !why_no_dumps_});
  for (DeviceFault& fault : std::exchange(others_, {})) pass.facts().post(std::move(fault));
  write_lost(out);
  write_features(scrape, out);
  last_read_ = scrape.now;
  is_first_scrape_ = false;
}

// Counts outlive a rebinding; whether the GPU is wedged does not.
void HealthCollector::follow(const HealthScrape& scrape) {
  for (const Gpu& gpu : scrape.gpus) {
    const auto known = devices_.find(gpu.address);
    if (known == devices_.end()) {
      devices_.try_emplace(gpu.address, machine_.drm, gpu).first->second.may_have_been_wedged = is_first_scrape_;
      continue;
    }
    if (known->second.binding == gpu.binding) continue;
    HealthDevice fresh(machine_.drm, gpu);
    fresh.resets = known->second.resets;
    fresh.dumps = known->second.dumps;
    fresh.hangs = known->second.hangs;
    fresh.processes = std::move(known->second.processes);
    fresh.last = std::move(known->second.last);
    fresh.events = std::move(known->second.events);
    fresh.named = std::move(known->second.named);
    fresh.unread_dump = std::move(known->second.unread_dump);
    fresh.dump = std::move(known->second.dump);
    devices_.erase(known);
    schedule_.forget(gpu.address);
    devices_.try_emplace(gpu.address, std::move(fresh));
  }
  for (auto& known : devices_) {
    const auto is_it = [&](const Gpu& gpu) { return gpu.address == known.first; };
    if (std::ranges::none_of(scrape.gpus, is_it)) known.second.probe.close();
  }
}

// Null: no GPU, or one that is not chosen.
HealthDevice* HealthCollector::device_of(std::string_view address) {
  const auto known = devices_.find(address);
  return known == devices_.end() ? nullptr : &known->second;
}

// The next message, or that there is none. False: it cannot be read.
bool HealthCollector::next(Channel channel, KernelMessage& message, SampleSink& out) {
  buffer_.resize(KernelMessages::kLongest);
  const auto read = (*channels_[channel])->next(buffer_);
  if (read.is_failure()) out.failed(read.failure());
  if (!read) return false;
  message = *read;
  if (message.state == KernelMessage::State::lost) ++lost_[channel];
  return true;
}

void HealthCollector::read_uevents(HealthScrape& scrape, SampleSink& out) {
  // Also without an event: of core dumps that are turned off none tells.
  if (schedule_.is_due("core dumps", false, scrape.now)) dumps_are_due_ = true;
  if (!channels_[kUevents]) return;
  KernelMessage message;
  for (std::size_t i = 0; i < kMostMessages && next(kUevents, message, out); ++i) {
    if (message.state == KernelMessage::State::none) return;
    if (message.state == KernelMessage::State::lost) {
      // What was lost may have been about any GPU.
      dumps_are_due_ = true;
      for (const Gpu& gpu : scrape.gpus) scrape.faulted.insert(gpu.address);
      unbound_.bus_changed();
    } else if (const auto event = parse_uevent(message.text)) {
      take(*event, scrape);
    }
  }
}

void HealthCollector::take(const Uevent& event, HealthScrape& scrape) {
  const auto subsystem = event.value("SUBSYSTEM");
  if (subsystem == "devcoredump" && event.action == "add") dumps_are_due_ = true;
  if (subsystem == "pci" && event.action != "change") unbound_.bus_changed();
  // drivers/accel/ivpu/ivpu_pm.c: of the PCI device, after the reset.
  if (subsystem == "pci" && event.action == "change" && event.value("IVPU_PM_EVENT") == "IVPU_RECOVER")
    others_.push_back({DeviceFault::Sign::reset, std::string(last_part(event.path))});
  if (subsystem != "drm" || event.action != "change") return;
  const std::string_view address = address_of_card(event.path);
  HealthDevice* const device = device_of(address);
  if (device == nullptr) return;
  const auto wedged = event.value("WEDGED");
  const bool is_fault = wedged || event.value("ERROR") || event.value("RESET");
  if (!is_fault) return;  // a monitor was plugged in, for example
  scrape.faulted.insert(std::string(address));
  if (event.value("RESET") == "1") {
    ++device->resets;
    note_fault(*device, kFull, {}, false);
  }
  if (event.value("ERROR") == "1") device->wedged.reset_began(scrape.now);
  if (event.value("ERROR") == "0" || wedged) device->wedged.reset_ended();
  if (wedged && *wedged != "none") {  // none: a reset was enough
    device->wedged.announced();
    note_fault(*device, kWedgedKind, {}, false);
  }
}

// So that what comes between the start and the first scrape counts.
void HealthCollector::keep_old_log() {
  const auto& log = channels_[kKernelLog];
  log_is_old_ = log.operator bool();
  if (!log) return;
  buffer_.resize(KernelMessages::kLongest);
  for (std::size_t i = 0; i < kMostMessages; ++i) {
    const auto message = (*log)->next(buffer_);
    if (!message) return;  // the first scrape reports it
    if (message->state == KernelMessage::State::none) {
      old_log_is_whole_ = true;
      return;
    }
    if (message->state == KernelMessage::State::lost) continue;
    const auto record = parse_kernel_log_record(message->text);
    if (record) unbound_.take(*record);
    if (!record || !parse_fault_line(*record)) continue;
    if (old_log_.size() == kMostOldLines) old_log_.pop_front();
    old_log_.emplace_back(message->text);
  }
}

void HealthCollector::read_old_log(HealthScrape& scrape, MachinePass& pass) {
  for (const std::string& text : std::exchange(old_log_, {})) take_record(text, scrape);
  end_old_hangs(pass);
  log_is_old_ = !old_log_is_whole_;
}

// Only their times are kept: a new line is of a new hang.
void HealthCollector::end_old_hangs(MachinePass& pass) {
  count_hangs(pass, true);
  for (auto& known : devices_) known.second.incidents.forget();
}

// The programs' events are read first, so that their lines of the log are there, too; and taken last, because a line
// without a queue belongs to a hang by its place in the log.
void HealthCollector::read_hangs(HealthScrape& scrape, MachinePass& pass, SampleSink& out) {
  const std::vector<QueueEvent> events = queue_events(scrape);
  const bool log_was_old = log_is_old_;
  read_log(scrape, out);
  if (log_was_old) end_old_hangs(pass);
  for (const QueueEvent& event : events) {
    const auto added = event.device->incidents.add(event.line, event.time, FaultSource::queue_events, event.age);
    if (added.kind) note_event(*event.device, to_string(*added.kind), event.age, false);
  }
  count_hangs(pass, false);
}

void HealthCollector::read_log(HealthScrape& scrape, SampleSink& out) {
  if (!channels_[kKernelLog]) return;
  KernelMessage message;
  for (std::size_t i = 0; i < kMostMessages && next(kKernelLog, message, out); ++i) {
    if (message.state == KernelMessage::State::message) take_record(message.text, scrape);
    if (message.state != KernelMessage::State::none) continue;
    log_is_old_ = false;
    return;
  }
}

void HealthCollector::take_record(std::string_view text, HealthScrape& scrape) {
  const auto record = parse_kernel_log_record(text);
  if (record) unbound_.take(*record);
  const auto line = record ? parse_fault_line(*record) : std::nullopt;
  if (line) take(*line, *record, scrape);
}

void HealthCollector::take(const FaultLine& line, const KernelLogRecord& record, HealthScrape& scrape) {
  HealthDevice* const device = device_of(line.device);
  if (device == nullptr) return;
  if (line.sign != FaultSign::engine_reset) scrape.faulted.insert(std::string(line.device));
  // The clock of the log drifts: a new record came since the last scrape, whatever its time.
  Nanoseconds age = std::max(scrape.now - record.time, Nanoseconds::zero());
  if (!log_is_old_) age = std::min(age, scrape.now - last_read_);
  std::string text = flights_ ? unescaped_log_text(record.text) : std::string();
  if (flights_) flights_->note({device->address, text, scrape.now - age});
  switch (line.sign) {
    case FaultSign::full_reset: return note_fault(*device, kFull, age, log_is_old_, std::move(text));
    case FaultSign::wedged:
      // Of an old one the driver itself tells whether it is still so.
      if (!log_is_old_) device->wedged.announced();
      return note_fault(*device, kWedgedKind, age, log_is_old_, std::move(text));
    default: break;
  }
  const auto added = device->incidents.add(line, record.time, FaultSource::kernel_log, age);
  if (added.kind) note_event(*device, to_string(*added.kind), age, log_is_old_);
  if (added.begins && !device->first_line) device->first_line = HealthDevice::Line{std::move(text), age};
}

std::vector<HealthCollector::QueueEvent> HealthCollector::queue_events(HealthScrape& scrape) {
  std::vector<QueueEvent> events;
  const auto is_xe = [](const Gpu& gpu) { return gpu.driver == Driver::xe; };
  if (!machine_.queue_faults || std::ranges::none_of(scrape.gpus, is_xe)) return events;
  queue_faults_ = (*machine_.queue_faults)->get(scrape.now);
  if (!queue_faults_) return events;
  lost_queue_events_ += queue_events_.read((*queue_faults_)->slots(), [&](const FaultLine& line, Nanoseconds time) {
    HealthDevice* const device = device_of(line.device);
    if (device == nullptr) return;
    if (line.sign != FaultSign::engine_reset) scrape.faulted.insert(std::string(line.device));
    const Nanoseconds age = std::clamp(scrape.now - time, Nanoseconds::zero(), scrape.now - last_read_);
    events.push_back({device, line, time, age});
    events.back().line.device = {};  // of the call only
  });
  return events;
}

void HealthCollector::count_hangs(MachinePass& pass, bool are_old) {
  for (auto& [address, device] : devices_) {
    const auto first = std::exchange(device.first_line, std::nullopt);
    for (const HangIncidents::Change& hang : device.incidents.take_changes()) {
      if (are_old) continue;
      if (hang.counted) {
        ++device.hangs[static_cast<std::size_t>(hang.kind)][index_of(hang.engine_class)];
        request_flight(device, to_string(hang.kind), hang.age, first && first->age == hang.age ? first->text : "");
      }
      if (device.named.note_hang(hang.queue, hang.kind, hang.process))
        count_process(device, address, hang.kind, *hang.process, pass);
    }
  }
}

void HealthCollector::count_process(HealthDevice& device, const std::string& address, HangKind kind,
                                    const FaultProcess& named, MachinePass& pass) {
  const FaultProcess process = process_of_thread(machine_.proc, named);
  const auto known = std::ranges::find(device.processes, process, &HealthDevice::Process::who);
  if (known != device.processes.end()) {
    ++known->hangs;
    std::rotate(known, known + 1, device.processes.end());
  } else {
    if (device.processes.size() == kMostProcesses) device.processes.erase(device.processes.begin());
    device.processes.push_back({process, 1});
  }
  pass.facts().post(ProcessHang{address, to_string(kind), process.pid});
}

// So that what comes between the start and the first scrape counts.
void HealthCollector::keep_old_dumps() {
  auto dumps = dumps_.new_dumps();
  if (dumps.is_failure()) return;  // the first scrape reports it
  old_dumps_are_known_ = true;
  if (dumps) old_dumps_ = *std::move(dumps);
}

void HealthCollector::read_dumps(HealthScrape& scrape, SampleSink& out) {
  if (!dumps_are_due_) return;
  const auto dumps = dumps_.new_dumps();
  if (dumps.is_failure()) return out.failed(dumps.failure());
  dumps_are_due_ = false;
  dumps_known_ = true;
  why_no_dumps_ = dumps ? std::nullopt : std::optional(dumps.absent());
  for (const CoreDump& dump : std::exchange(old_dumps_, {})) (void)note_dump(dump, scrape, true);
  const bool are_old = !std::exchange(old_dumps_are_known_, true);
  if (!dumps) return;
  for (const CoreDump& dump : *dumps) {
    HealthDevice* const device = note_dump(dump, scrape, are_old);
    if (device == nullptr && !are_old)
      others_.push_back({DeviceFault::Sign::dump, std::string(last_part(dump.pci_path))});
    if (device == nullptr || are_old) continue;
    ++device->dumps;
    device->unread_dump = dump.content;
  }
}

HealthDevice* HealthCollector::note_dump(const CoreDump& dump, HealthScrape& scrape, bool is_old) {
  const auto known =
      std::ranges::find_if(devices_, [&](const auto& one) { return one.second.pci_path == dump.pci_path; });
  if (known == devices_.end()) return nullptr;
  scrape.faulted.insert(known->first);
  const auto& now = unix_now();
  Nanoseconds age{};
  if (now && dump.modified > Nanoseconds::zero())
    age = std::max(Nanoseconds(static_cast<Nanoseconds::rep>(*now * 1e9)) - dump.modified, age);
  note_fault(known->second, kCoreDump, age, now ? age > scrape.now - began_ : is_old);
  return &known->second;
}

// What neither the kernel log nor the BPF programs name: hangs of queues that are older than the programs, and of
// queues without an end to their jobs, for which xe writes only a dump. xe lists a dump before it has copied the
// memory that goes into it, and lets readers wait until then (xe_devcoredump_read()), for seconds if it is large; and
// to read a large one resumes a GPU that sleeps.
void HealthCollector::begin_reading_dumps(const HealthScrape& scrape, SampleSink& out) {
  for (const Gpu& gpu : scrape.gpus) {
    HealthDevice& device = devices_.at(gpu.address);
    if (device.unread_dump.empty() || device.dump || !scrape.is_awake(gpu.address)) continue;
    try {
      device.dump = std::make_unique<SlowReads>(machine_.sys, std::vector{device.unread_dump}, kCoreDumpStartSize);
      device.dump_is_new = true;
      device.unread_dump.clear();
    } catch (const std::system_error& error) {  // no thread: the next scrape tries again
      out.failed({error.code(), device.unread_dump});
    }
  }
}

// A dump that is not complete yet costs one scrape the time that it waits, and is asked for in the next ones.
void HealthCollector::name_processes_of_dumps(const HealthScrape& scrape, MachinePass& pass, SampleSink& out) {
  Nanoseconds longest_wait = longest_wait_;
  for (const Gpu& gpu : scrape.gpus) {
    HealthDevice& device = devices_.at(gpu.address);
    if (!device.dump) continue;
    const bool is_new = device.dump_is_new;
    const auto read = device.dump->take(std::exchange(device.dump_is_new, false) ? longest_wait : Nanoseconds::zero());
    if (!read) {
      if (is_new) longest_wait = {};  // the others had as much time
      continue;
    }
    device.dump.reset();
    const Reading<std::string>& text = read->front();
    if (text.is_failure()) out.failed(text.failure());
    const auto start = text ? parse_core_dump_start(*text) : std::nullopt;
    const auto kind = start && start->process ? device.named.note_dump(*start, *start->process) : std::nullopt;
    if (kind) count_process(device, gpu.address, *kind, *start->process, pass);
  }
}

// Whether a GPU is wedged since before the start no event tells, so its driver is asked now and then. That state is no
// fault of now.
void HealthCollector::ask_drivers(const HealthScrape& scrape, SampleSink& out) {
  for (const Gpu& gpu : scrape.gpus) {
    HealthDevice& device = devices_.at(gpu.address);
    const bool doubtful = device.wedged.is_open() || device.wedged.reset_hangs(scrape.now);
    if (!scrape.is_awake(gpu.address)) {
      if (!device.wedged.wedged()) device.why_unknown = Absent{Reason::suspended};
      continue;
    }
    if (!schedule_.is_due(gpu.address, doubtful || scrape.just_faulted(gpu.address), scrape.now)) continue;
    const bool was_wedged = device.wedged.wedged().value_or(false);
    const auto answer = device.probe.is_wedged();
    if (answer.is_failure()) out.failed(answer.failure());
    if (answer) device.wedged.answered(*answer);
    device.why_unknown = answer.is_absent() ? std::optional(answer.absent()) : std::nullopt;
    if (answer.is_absent() && device.wedged.reset_hangs(scrape.now)) device.wedged.announced();
    if (device.wedged.reset_hangs(scrape.now) || (answer && !*answer)) device.may_have_been_wedged = false;
    if (answer && !*answer) device.wedged.reset_ended();
    if (device.wedged.wedged().value_or(false) && !was_wedged && !device.may_have_been_wedged)
      note_fault(device, kWedgedKind, {}, false);
  }
}

void HealthCollector::note_fault(HealthDevice& device, std::string_view kind, Nanoseconds age, bool is_old,
                                 std::string line) {
  if (!is_old) request_flight(device, kind, age, std::move(line));
  note_event(device, kind, age, is_old);
}

// Of every line and event, so that a storm that counts as one hang is seen to go on.
void HealthCollector::note_event(HealthDevice& device, std::string_view kind, Nanoseconds age, bool is_old) {
  if (!is_old) ++device.events[kind];
  const auto& now = unix_now();
  if (!now) return;
  double& last = device.last[kind];
  last = std::max(last, *now - to_seconds(age).value);
}

void HealthCollector::request_flight(const HealthDevice& device, std::string_view kind, Nanoseconds age,
                                     std::string line) {
  if (!flights_) return;
  const FlightCause cause = kind == kFull         ? FlightCause::reset
                            : kind == kWedgedKind ? FlightCause::wedged
                                                  : FlightCause::hang;
  flights_->request({cause, device.address, std::string(kind), scrape_began_ - age, std::move(line)});
}

const Reading<double>& HealthCollector::unix_now() {
  if (!unix_now_) {
    unix_now_ = read_unix_now();
    has_times_ = unix_now_->map([](double) { return Unit{}; });
  }
  return *unix_now_;
}

// From the boot time in /proc/stat, whose clock stands still in a capture, too.
Reading<double> HealthCollector::read_unix_now() {
  constexpr std::size_t kLargest = 256U << 10U;
  std::vector<char> text(kLargest);
  const auto stat = machine_.proc.read_start("stat", text);
  if (!stat) return stat.propagate<double>();
  const Absent no_time{Reason::kernel, ENODATA};
  const std::size_t at = stat->find("\nbtime ");
  if (at == std::string_view::npos) return no_time;
  std::string_view rest = stat->substr(at + std::string_view("\nbtime ").size());
  const auto boot = scan_u64(take_line(rest));
  if (!boot) return no_time;
  const Nanoseconds up = machine_.clock.boot_now().value_or(machine_.clock.now());
  return static_cast<double>(*boot) + to_seconds(up).value;
}

CollectorEntry health_collector() { return entry<HealthCollector>(); }

}  // namespace igpu
