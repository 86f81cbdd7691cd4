// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/model.h"
#include "server/push/address.h"
#include "server/push/curl_session.h"
#include "server/push/mqtt_session.h"
#include "server/push/push_target.h"

namespace igpu::exporter {

// GPUs as devices of Home Assistant (https://www.home-assistant.io/integrations/mqtt, "device discovery"): for each GPU
// a retained document that describes it, and one JSON document with its values for each reading.

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

// The base of all topics, from the path of the address: "/home/gpus/" is "home/gpus"; without a path it is
// "intel-gpu-exporter". Throws std::invalid_argument with a reason.
std::string mqtt_topic_base(std::string_view path);

// The user of the credentials; nullopt if there is none. Throws std::runtime_error, with the file's name, if the file
// has headers instead.
std::optional<mqtt::User> mqtt_user(const PushCredentials& credentials, const std::string& file);

struct MqttSettings {
  std::string host;  // name of this machine
  std::string topic_base;
  std::chrono::seconds interval{15};  // between readings
  std::string page_url;               // of this exporter, for people; "": unknown
};

// Readings for an MQTT broker, in the form that Home Assistant understands. What is standing are the messages that the
// broker must retain.
class MqttReadings final : public PushReadings {
 public:
  explicit MqttReadings(const MqttSettings& settings);

  std::string_view name() const override { return "mqtt"; }
  PushItem encode(const PageView& page, std::chrono::system_clock::time_point time) override;
  std::string standing() const override;

 private:
  HomeAssistant home_assistant_;  // for encode() only
  mutable std::mutex mutex_;
  HomeAssistant::Retained retained_;  // of the newest reading; guarded by mutex_
};

// Publishes them. The connection stays open between readings. Each new connection begins with all messages that the
// broker must retain, because it may have forgotten them.
class MqttClient final : public PushClient {
 public:
  // Makes a new connection. Null: `problem` has the reason ("" after an interruption).
  using Connect = std::function<std::unique_ptr<mqtt::Transport>(const PushWait& wait, std::string& problem)>;

  MqttClient(const MqttSettings& settings, std::optional<mqtt::User> user, Connect connect,
             mqtt::Session::Clock clock = std::chrono::steady_clock::now);

  void keep(std::string_view standing) override;
  PushOutcome deliver(std::string_view bytes, const PushWait& wait) override;
  void idle(const PushWait& wait) override;
  void stop(const PushWait& wait) override;

 private:
  using TimePoint = mqtt::Session::TimePoint;

  // Returns "" when the work is done. Otherwise the connection was closed: returns the reason, or nullopt after an
  // interruption.
  template <class Work>
  std::optional<std::string> on_connection(const Work& work);
  bool open(const PushWait& wait);
  bool publish_retained(const PushWait& wait);
  mqtt::Message availability(std::string_view payload) const;
  void give_up();

  const mqtt::Login login_;
  const Connect connect_;
  const mqtt::Session::Clock clock_;
  HomeAssistant::Retained retained_;  // of the newest reading
  std::unique_ptr<mqtt::Transport> transport_;
  std::optional<mqtt::Session> session_;
  HomeAssistant::Retained published_;       // on this connection
  std::optional<TimePoint> publish_again_;  // set when Home Assistant has started
  TimePoint reconnect_ = TimePoint::max();
  std::minstd_rand random_;
};

// Connects by libcurl. Nothing else may use the session.
MqttClient::Connect connect_by_curl(std::shared_ptr<CurlSession> session);

}  // namespace igpu::exporter
