// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collector/collector.h"
#include "collector/health/health_facts.h"
#include "collector/health/health_files.h"
#include "igpu/flight.h"
#include "kernel/faults/fault_files.h"
#include "kernel/faults/fault_text.h"
#include "kernel/faults/kernel_records.h"
#include "kernel/faults/queue_fault_events.h"
#include "machine/driver_events.h"
#include "machine/kernel_messages.h"
#include "machine/slow_reads.h"

namespace igpu {

struct HealthDevice;

// Faults of the GPUs: hangs, resets, wedged devices, core dumps, and who caused them. One object for all GPUs, because
// the kernel reports the faults of all devices through the same channels. While nothing happens a scrape makes one
// system call for each channel.
class HealthCollector final : public MachineCollector {
 public:
  // Read in one scrape; the next scrape reads the rest.
  static constexpr std::size_t kMostMessages = 65536;
  // Processes with series of their own, for each GPU. Beyond that, the process whose last hang is the oldest loses its
  // series.
  static constexpr std::size_t kMostProcesses = 64;
  static constexpr std::size_t kMostOldLines = 1024;  // lines of the log from before the start; the newest are kept

  static const CollectorInfo kInfo;
  static std::unique_ptr<MachineCollector> create(const MachineContext& context);
  // flights: faults are reported to it; may be null. longest_wait: how long a scrape waits for the start of a core
  // dump.
  // chosen: the names of --gpu. log: for GPUs without a driver; may be null.
  explicit HealthCollector(Machine& machine, std::shared_ptr<Flights> flights = nullptr,
                           Nanoseconds longest_wait = SlowReads::kLongestWait, std::span<const std::string> chosen = {},
                           Log* log = nullptr);
  ~HealthCollector() override;

  void collect(MachinePass& pass, SampleSink& out) override;

 private:
  enum Channel : std::size_t { kUevents, kKernelLog, kChannels };  // of messages
  struct QueueEvent {
    HealthDevice* device;
    FaultLine line;
    Nanoseconds time, age;
  };

  void follow(const HealthScrape& scrape);
  HealthDevice* device_of(std::string_view address);
  bool next(Channel channel, KernelMessage& message, SampleSink& out);
  void read_uevents(HealthScrape& scrape, SampleSink& out);
  void take(const Uevent& event, HealthScrape& scrape);
  void keep_old_log();
  void read_old_log(HealthScrape& scrape, MachinePass& pass);
  void end_old_hangs(MachinePass& pass);
  void read_hangs(HealthScrape& scrape, MachinePass& pass, SampleSink& out);
  void read_log(HealthScrape& scrape, SampleSink& out);
  void take_record(std::string_view text, HealthScrape& scrape);
  void take(const FaultLine& line, const KernelLogRecord& record, HealthScrape& scrape);
  std::vector<QueueEvent> queue_events(HealthScrape& scrape);
  void count_hangs(MachinePass& pass, bool are_old);
  void count_process(HealthDevice& device, const std::string& address, HangKind kind, const FaultProcess& named,
                     MachinePass& pass);
  void keep_old_dumps();
  void read_dumps(HealthScrape& scrape, SampleSink& out);
  // is_old: the dump is from before the start; used only if its time is unknown.
  HealthDevice* note_dump(const CoreDump& dump, HealthScrape& scrape, bool is_old);
  void begin_reading_dumps(const HealthScrape& scrape, SampleSink& out);
  void name_processes_of_dumps(const HealthScrape& scrape, MachinePass& pass, SampleSink& out);
  void ask_drivers(const HealthScrape& scrape, SampleSink& out);
  // is_old: the fault is from before the start. line: the kernel's line that reported it.
  void note_fault(HealthDevice& device, std::string_view kind, Nanoseconds age, bool is_old, std::string line = {});
  void note_event(HealthDevice& device, std::string_view kind, Nanoseconds age, bool is_old);
  void request_flight(const HealthDevice& device, std::string_view kind, Nanoseconds age, std::string line);
  const Reading<double>& unix_now();
  Reading<double> read_unix_now();

  // health_page.cpp
  void write(const Gpu& gpu, const HealthDevice& device, SampleSink& out) const;
  void write_hangs(const Gpu& gpu, const HealthDevice& device, SampleSink& out) const;
  bool is_reported(const Gpu& gpu, HangKind kind) const;
  void write_events(const Gpu& gpu, const HealthDevice& device, SampleSink& out) const;
  void write_lost(SampleSink& out) const;
  void write_features(const HealthScrape& scrape, SampleSink& out) const;

  Machine& machine_;
  const std::shared_ptr<Flights> flights_;
  const Nanoseconds longest_wait_;
  std::array<Reading<KernelMessages*>, kChannels> channels_;
  std::array<std::uint64_t, kChannels> lost_{};
  Reading<const QueueFaults*> queue_faults_;
  QueueFaultEvents queue_events_;
  std::uint64_t lost_queue_events_ = 0;
  std::map<std::string, HealthDevice, std::less<>> devices_;  // by PCI address
  std::vector<DeviceFault> others_;                           // of this scrape
  CoreDumps dumps_;
  std::vector<CoreDump> old_dumps_;  // made before the start
  bool old_dumps_are_known_ = false;
  std::optional<Absent> why_no_dumps_;
  bool dumps_are_due_ = true;
  bool dumps_known_ = false;  // the dumps have been listed
  bool log_is_old_ = false;   // records from before the start have not been parsed yet
  bool old_log_is_whole_ = false;
  std::deque<std::string> old_log_;  // records from before the start that report faults
  SlowSchedule schedule_;
  std::vector<char> buffer_;
  bool is_first_scrape_ = true;
  const Nanoseconds began_;
  Nanoseconds scrape_began_{};
  Nanoseconds last_read_{};
  std::optional<Reading<double>> unix_now_;  // of this scrape
  Reading<Unit> has_times_ = Unit{};         // whether the last fault has a time
  HealthUnbound unbound_;
  HealthFiles files_;
};

}  // namespace igpu
