// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

// The packets of MQTT 3.1.1 (OASIS standard mqtt-v3.1.1-os, chapters 2 and 3) that a publisher sends and receives:
// QoS 1 without a stored session, and a subscription with QoS 0.
namespace igpu::exporter::mqtt {

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

}  // namespace igpu::exporter::mqtt
