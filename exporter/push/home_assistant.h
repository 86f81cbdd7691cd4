// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/model.h"
#include "push/mqtt_packets.h"

// GPUs as devices of Home Assistant (https://www.home-assistant.io/integrations/mqtt, "device discovery"): for each GPU
// a retained document that describes it, and one JSON document with its values for each reading.
namespace igpu::exporter {

// Watched: "online" means that Home Assistant has started and wants the descriptions again.
inline constexpr std::string_view kHomeAssistantStatus = "homeassistant/status";
inline constexpr std::string_view kOnline = "online", kOffline = "offline";

class HomeAssistant {
 public:
  // host: the name of this machine, which tells its GPUs from those of other machines with the same PCI addresses.
  // base: of all topics except the descriptions, without a slash at its ends. interval: between readings.
  HomeAssistant(std::string_view host, std::string_view base, std::chrono::seconds interval);

  // [A-Za-z0-9_.-]: the host as it is in topics.
  const std::string& host() const { return host_; }
  // Says "online" while this program is connected.
  const std::string& availability_topic() const { return availability_topic_; }

  // What must be retained by the broker: descriptions, and whether each GPU is there; payload by topic.
  using Retained = std::map<std::string, std::string>;
  struct Update {
    std::vector<mqtt::Message> states;  // one for each GPU that is described
    std::uint64_t values = 0;           // of described entities, whether known or not
  };
  // Each reading must be passed: an entity is described from the first reading on that has its value, and a GPU that is
  // missing is unavailable until it is back.
  Update update(const HostModel& host, std::chrono::system_clock::time_point time);
  const Retained& retained() const { return retained_; }

 private:
  struct Device {
    std::vector<bool> entities;  // those that are described
    bool present = false;
  };
  std::string id_of(std::string_view address) const;
  std::string topic_of(std::string_view address, std::string_view name) const;
  std::string description(const GpuModel& gpu, const std::string& name, const Device& device) const;

  std::string host_, base_, availability_topic_;
  std::chrono::seconds expire_after_;
  std::map<std::string, Device, std::less<>> devices_;  // by PCI address
  Retained retained_;
};

}  // namespace igpu::exporter
