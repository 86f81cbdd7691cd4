// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "server/push/mqtt_packets.h"
#include "server/push/push_target.h"

namespace igpu::exporter::mqtt {

// The session has failed: the connection ended, the broker refused the login, or it did not answer in time. what() is
// one line for a person, with the fix if there is one.
class SessionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The connection below a session. Both functions throw SessionError if the connection has ended.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual void send(std::string_view bytes, const PushWait& wait) = 0;          // sends all bytes
  virtual std::size_t receive(std::span<char> into, const PushWait& wait) = 0;  // 0: wait ended first
};

// One connection of a publisher with a broker. The functions block until the broker has answered, and throw
// SessionError or ProtocolError if it does not answer in time; do not use the session after that. They return false if
// they were interrupted; the session then remains usable.
//
// The session is a clean one. A broker that forgets it loses nothing, because a message counts as published only when
// the broker has acknowledged it.
class Session {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Clock = std::function<TimePoint()>;
  using Received = std::function<void(const Delivery&)>;

  // transport must outlive the session.
  Session(Transport& transport, Login login, Clock clock = std::chrono::steady_clock::now);

  [[nodiscard]] bool open(const PushWait& wait);
  // Each delivery is passed to `received` while one of these functions runs. It is not an error if the broker does not
  // allow this user to read the topic; then nothing is delivered.
  [[nodiscard]] bool subscribe(std::string_view filter, const PushWait& wait, Received received);
  // Returns true when the broker has acknowledged all messages.
  [[nodiscard]] bool publish(std::span<const Message> messages, const PushWait& wait);
  // Accepts a delivery or keeps the connection alive, whichever is due first. May return before `wait` ends.
  void idle(const PushWait& wait);
  // Publishes `last` and disconnects. After a regular disconnect the broker does not publish the client's will.
  void close(const Message& last, const PushWait& wait);

 private:
  template <class Done>
  bool wait_for(const Done& done, const PushWait& wait);
  bool receive(const PushWait& wait);  // false: wait ended first
  void handle(const Packet& packet);
  TimePoint next_ping() const;
  std::uint16_t new_id();
  void send(const PushWait& wait);
  std::string refusal(std::uint8_t code) const;

  Transport& transport_;
  const Login login_;
  const Clock clock_;
  Received received_;
  PacketReader reader_;
  std::string packet_;  // to send
  std::uint16_t last_id_ = 0;
  std::optional<std::uint8_t> login_answer_;
  std::optional<std::uint16_t> subscribing_;
  std::set<std::uint16_t> unacknowledged_;
  TimePoint last_sent_;
  std::optional<TimePoint> pinged_;
};

}  // namespace igpu::exporter::mqtt
