// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collector/collector.h"
#include "kernel/faults/uevent.h"
#include "kernel/sysfs/connector_files.h"
#include "machine/slow_reads.h"

namespace igpu {

// Outputs of the GPUs, and how often something was plugged in or out. One object for all GPUs, because their uevents
// arrive through one queue.
class ConnectorsCollector final : public MachineCollector {
 public:
  static constexpr std::size_t kMostMessages = 65536;  // read in one scrape; the next scrape reads the rest
  // Outputs of one GPU whose events are counted by name. There may be many, because docks add outputs; events
  // of further outputs count as `unknown`.
  static constexpr std::size_t kMostKnown = 4 * kMostConnectors;
  // Modes are read when an output was plugged in, and also at this interval, because an event may be lost.
  static constexpr Nanoseconds kModesEvery = std::chrono::seconds(20);

  static const CollectorInfo kInfo;
  static std::unique_ptr<MachineCollector> create(const MachineContext& context);
  // longest_wait: how long a scrape waits for modes.
  explicit ConnectorsCollector(Machine& machine, Nanoseconds longest_wait = SlowReads::kLongestWait);

  void collect(MachinePass& pass, SampleSink& out) override;

 private:
  struct Device {
    std::string card_path;                     // of its uevents
    std::map<std::uint64_t, std::string> ids;  // names of outputs by their ids, of this scrape
    // Of the previous scrape: an output may be gone when its event is read.
    std::map<std::uint64_t, std::string> ids_before;
    std::map<std::string, std::uint64_t> events;  // by output, or "unknown"

    std::vector<std::string> connected;        // names of outputs, of this scrape
    std::map<std::string, std::string> modes;  // by output that was connected when they were read
    bool modes_are_due = true;
    Nanoseconds modes_read_at{};
    std::vector<std::string> being_read;  // outputs
    std::unique_ptr<SlowReads> reading;   // their modes
    bool reading_is_new = false;          // it began in this scrape

    void count(const Uevent& event);
    void forget_modes();
  };

  void read_outputs(const Gpu& gpu, SampleSink& out);
  void read_uevents(SampleSink& out);
  void begin_reading_modes(const Gpu& gpu, Device& device, Nanoseconds now, SampleSink& out);
  void read_modes(const Gpu& gpu, Device& device, Nanoseconds& longest_wait, SampleSink& out);

  Machine& machine_;
  const Nanoseconds longest_wait_;
  std::uint64_t lost_ = 0;
  std::map<std::string, Device> devices_;                  // by PCI address
  std::map<std::string, std::vector<std::string>> shown_;  // outputs of this scrape, by PCI address
  std::vector<char> buffer_;
};

}  // namespace igpu
