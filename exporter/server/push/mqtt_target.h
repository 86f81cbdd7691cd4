// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "server/push/address.h"
#include "server/push/curl_session.h"
#include "server/push/home_assistant.h"
#include "server/push/mqtt_session.h"
#include "server/push/push_target.h"

namespace igpu::exporter {

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
