// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/model.h"
#include "server/push/mqtt_session.h"

// GPUs as devices of Home Assistant (https://www.home-assistant.io/integrations/mqtt, "device discovery"): for each GPU
// a retained document that describes it, and one JSON document with its values for each reading.
namespace igpu::exporter {

// This topic is subscribed to: "online" means that Home Assistant has started and needs the descriptions again.
inline constexpr std::string_view kHomeAssistantStatus = "homeassistant/status";
inline constexpr std::string_view kOnline = "online", kOffline = "offline";

class HomeAssistant {
 public:
  // host: the name of this machine; distinguishes its GPUs from those of other machines with the same PCI addresses.
  // base: prefix of all topics except the descriptions, without slashes at its ends. interval: between readings.
  // page: URL that devices link to; "": none.
  HomeAssistant(std::string_view host, std::string_view base, std::chrono::seconds interval, std::string page = {});

  // [A-Za-z0-9_.-]: the host as it is in topics.
  const std::string& host() const { return host_; }
  // Has the payload "online" while this program is connected.
  const std::string& availability_topic() const { return availability_topic_; }

  // Messages that the broker must retain, payload by topic: the descriptions, and the availability of each GPU.
  using Retained = std::map<std::string, std::string>;
  struct Update {
    std::vector<mqtt::Message> states;  // one for each GPU that is described
    std::uint64_t values = 0;           // number of described entities, also those without a value now
  };
  // Pass every reading: an entity is described from the first reading that has its value, and a missing GPU is marked
  // unavailable until it returns.
  Update update(const HostModel& host, std::chrono::system_clock::time_point time);
  const Retained& retained() const { return retained_; }

 private:
  struct Device {
    std::vector<bool> entities;  // whether each entity is described
    bool present = false;
  };
  std::string id_of(std::string_view address) const;
  std::string topic_of(std::string_view address, std::string_view name) const;
  std::string description(const GpuModel& gpu, const std::string& name, const Device& device) const;

  std::string host_, base_, page_, availability_topic_;
  std::chrono::seconds expire_after_;
  std::map<std::string, Device, std::less<>> devices_;  // by PCI address
  Retained retained_;
};

}  // namespace igpu::exporter
