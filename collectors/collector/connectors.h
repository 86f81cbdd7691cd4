// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collector/collector.h"
#include "source/connectors.h"
#include "source/uevent.h"

namespace igpu {

// Outputs of the GPUs, and how often something was plugged in or out. One object for all GPUs, because their uevents
// arrive through one queue.
class ConnectorsCollector final : public MachineCollector {
 public:
  static constexpr std::size_t kMostMessages = 65536;  // of one scrape; what is left is read in the next one
  // Outputs of one GPU whose events are remembered: those of docks come and go. Events of others count as `unknown`.
  static constexpr std::size_t kMostKnown = 4 * kMostConnectors;

  static const CollectorInfo kInfo;
  static std::unique_ptr<MachineCollector> create(const MachineContext& context);
  explicit ConnectorsCollector(Machine& machine);

  void collect(MachinePass& pass, SampleSink& out) override;

 private:
  struct Device {
    std::string card_path;                            // of its uevents
    std::map<std::uint64_t, std::string> ids;         // names of outputs by their ids, of this scrape
    std::map<std::uint64_t, std::string> ids_before;  // of the one before: an output may be gone when its event is read
    std::map<std::string, std::uint64_t> events;      // by output; "unknown" as well

    void count(const Uevent& event);
  };

  void read_outputs(const Gpu& gpu, SampleSink& out);
  void read_uevents(SampleSink& out);

  Machine& machine_;
  std::map<std::string, Device> devices_;                  // by PCI address
  std::map<std::string, std::vector<std::string>> shown_;  // outputs of this scrape, by PCI address
  std::vector<char> buffer_;
};

}  // namespace igpu
