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
#include <variant>

#include "server/push/push_target.h"

namespace igpu::exporter::mqtt {

// The packets of MQTT 3.1.1 (OASIS standard mqtt-v3.1.1-os, chapters 2 and 3) that a publisher sends and receives:
// QoS 1 without a stored session, and a subscription with QoS 0.

inline constexpr std::size_t kMaxTextBytes = 65'535;         // of a topic, name or password (section 1.5.3)
inline constexpr std::size_t kMaxPacketBytes = 268'435'455;  // after the fixed header (section 2.2.3)
inline constexpr std::size_t kMaxReceivedBytes = 64 * 1024;  // the largest packet that is accepted from a broker

struct Message {
  std::string topic, payload;
  bool retain = false;
  bool operator==(const Message&) const = default;
};

struct User {
  std::string name, password;
};

struct Login {
  std::string client_id;
  std::optional<User> user{};
  std::chrono::seconds keep_alive{0};  // 0: off; at most 65,535
  Message will;                        // the broker publishes it, with QoS 1, if this client is lost
};

// --- what the client sends: each function appends one packet. They throw std::length_error for a text or packet that
// MQTT cannot express.

void append_connect(std::string& out, const Login& login);                        // with a clean session
void append_publish(std::string& out, const Message& message, std::uint16_t id);  // QoS 1; id is not 0
// Asks for QoS 0. The broker may deliver a retained message once, right after this.
void append_subscribe(std::string& out, std::string_view filter, std::uint16_t id);
void append_ping(std::string& out);
void append_disconnect(std::string& out);

// --- what a broker sends

struct ConnectAck {
  std::uint8_t code = 0;  // 0: accepted; otherwise the reason (section 3.2.2.3)
};
struct PublishAck {
  std::uint16_t id = 0;
};
struct SubscribeAck {
  std::uint16_t id = 0;
  bool granted = false;
};
struct PingResponse {};
struct Delivery {
  std::string_view topic, payload;
  bool retained = false;  // sent because of a new subscription
};
using Packet = std::variant<ConnectAck, PublishAck, SubscribeAck, PingResponse, Delivery>;

// The peer violated MQTT 3.1.1. what() completes the sentence "the broker ...".
class ProtocolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Finds the packets in the bytes of a connection, which may arrive in pieces of any size. Keeps at most one packet of
// kMaxReceivedBytes and the last piece.
class PacketReader {
 public:
  void append(std::string_view bytes);
  // nullopt: more bytes are needed. Views in the packet are valid until the next call of either function. Throws
  // ProtocolError; do not use the reader after that.
  std::optional<Packet> next();

 private:
  std::string bytes_;
  std::size_t begin_ = 0;  // start of the bytes that next() has not returned yet
};

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
