// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "server/push/mqtt_session.h"

namespace igpu::exporter::mqtt {
namespace {

// Section 2.2.1: the upper half of the first byte.
enum class Type : std::uint8_t {
  connect = 1,
  connect_ack = 2,
  publish = 3,
  publish_ack = 4,
  subscribe = 8,
  subscribe_ack = 9,
  ping = 12,
  ping_response = 13,
  disconnect = 14,
};

constexpr std::uint8_t kRetain = 0x01, kQos1 = 0x02, kQosMask = 0x06, kReserved = 0x02;  // lower half, by type

void append_byte(std::string& out, unsigned byte) { out += static_cast<char>(byte & 0xFFU); }

void append_number(std::string& out, std::size_t number) {
  append_byte(out, static_cast<unsigned>(number >> 8U));
  append_byte(out, static_cast<unsigned>(number));
}

std::size_t size_of(std::string_view text) {
  if (text.size() > kMaxTextBytes) throw std::length_error("a text is too long for MQTT");
  return 2 + text.size();
}

void append_text(std::string& out, std::string_view text) {
  append_number(out, text.size());
  out += text;
}

void append_header(std::string& out, Type type, unsigned flags, std::size_t size) {
  if (size > kMaxPacketBytes) throw std::length_error("a packet is too large for MQTT");
  append_byte(out, static_cast<unsigned>(type) << 4U | flags);
  do {
    append_byte(out, static_cast<unsigned>(size % 128) | (size >= 128 ? 0x80U : 0U));
    size /= 128;
  } while (size > 0);
}

std::uint8_t byte_at(std::string_view bytes, std::size_t at) { return static_cast<std::uint8_t>(bytes[at]); }

std::uint16_t number_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint16_t>(byte_at(bytes, at) << 8U | byte_at(bytes, at + 1));
}

void expect(bool condition, const char* name) {
  if (!condition) throw ProtocolError(std::string("sent a malformed ") + name + " packet; is it an MQTT broker?");
}

// The header of the packet at the front, once it is complete.
struct Header {
  std::uint8_t type, flags;
  std::size_t size;    // of this header
  std::size_t length;  // of what follows
};

std::optional<Header> header_of(std::string_view bytes) {
  constexpr std::size_t kLengthBytes = 4;
  if (bytes.empty()) return std::nullopt;
  const std::uint8_t first = byte_at(bytes, 0);
  std::size_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    if (1 + i == bytes.size()) return std::nullopt;
    const std::uint8_t byte = byte_at(bytes, 1 + i);
    length |= std::size_t{byte & 0x7FU} << 7 * i;
    if ((byte & 0x80U) == 0) {
      return Header{static_cast<std::uint8_t>(first >> 4U), static_cast<std::uint8_t>(first & 0x0FU), 2 + i, length};
    }
  }
  throw ProtocolError("sent a packet without a valid length; is it an MQTT broker?");
}

// What can be said before the rest has arrived, which something else than a broker may never send.
void check(const Header& header) {
  const auto plain = [&](std::size_t length, const char* name) {
    expect(header.flags == 0 && header.length == length, name);
  };
  switch (static_cast<Type>(header.type)) {
    case Type::connect_ack:
      return plain(2, "CONNACK");
    case Type::publish:
      break;
    case Type::publish_ack:
      return plain(2, "PUBACK");
    case Type::subscribe_ack:
      return plain(3, "SUBACK");
    case Type::ping_response:
      return plain(0, "PINGRESP");
    default:
      throw ProtocolError("sent a packet of type " + std::to_string(header.type) +
                          ", which no broker sends; is it an MQTT broker?");
  }
  if (header.length > kMaxReceivedBytes) {
    throw ProtocolError("announced a packet of " + std::to_string(header.length) + " bytes; is it an MQTT broker?");
  }
}

Packet delivery(std::uint8_t flags, std::string_view body) {
  constexpr const char* kName = "PUBLISH";
  const unsigned qos = (flags & kQosMask) >> 1U;
  expect(qos < 3 && body.size() >= 2, kName);
  const std::size_t topic = number_at(body, 0);
  const std::size_t head = 2 + topic + (qos > 0 ? 2 : 0);
  expect(topic > 0 && body.size() >= head, kName);
  return Delivery{body.substr(2, topic), body.substr(head), (flags & kRetain) != 0};
}

// body has the length that check() asks for.
Packet packet_of(const Header& header, std::string_view body) {
  constexpr std::uint8_t kHighestQos = 2, kRefused = 0x80;
  switch (static_cast<Type>(header.type)) {
    case Type::connect_ack:
      expect(byte_at(body, 0) <= 1, "CONNACK");
      return ConnectAck{byte_at(body, 1)};
    case Type::publish_ack:
      return PublishAck{number_at(body, 0)};
    case Type::subscribe_ack: {
      const std::uint8_t code = byte_at(body, 2);
      expect(code <= kHighestQos || code == kRefused, "SUBACK");
      return SubscribeAck{number_at(body, 0), code != kRefused};
    }
    case Type::ping_response:
      return PingResponse{};
    default:
      return delivery(header.flags, body);
  }
}

}  // namespace

void append_connect(std::string& out, const Login& login) {
  constexpr std::string_view kProtocol = "MQTT";
  constexpr unsigned kVersion = 4;  // 3.1.1
  constexpr unsigned kCleanSession = 0x02, kWill = 0x04, kWillQos1 = 0x08, kWillRetain = 0x20, kPassword = 0x40,
                     kUser = 0x80;
  unsigned flags = kCleanSession | kWill | kWillQos1 | (login.will.retain ? kWillRetain : 0);
  std::size_t size =
      size_of(kProtocol) + 4 + size_of(login.client_id) + size_of(login.will.topic) + size_of(login.will.payload);
  if (login.user) {
    flags |= kUser | kPassword;
    size += size_of(login.user->name) + size_of(login.user->password);
  }
  append_header(out, Type::connect, 0, size);
  append_text(out, kProtocol);
  append_byte(out, kVersion);
  append_byte(out, flags);
  append_number(out,
                static_cast<std::size_t>(std::clamp<std::chrono::seconds::rep>(login.keep_alive.count(), 0, 65'535)));
  append_text(out, login.client_id);
  append_text(out, login.will.topic);
  append_text(out, login.will.payload);
  if (!login.user) return;
  append_text(out, login.user->name);
  append_text(out, login.user->password);
}

void append_publish(std::string& out, const Message& message, std::uint16_t id) {
  append_header(out, Type::publish, kQos1 | (message.retain ? kRetain : 0U),
                size_of(message.topic) + 2 + message.payload.size());
  append_text(out, message.topic);
  append_number(out, id);
  out += message.payload;
}

void append_subscribe(std::string& out, std::string_view filter, std::uint16_t id) {
  append_header(out, Type::subscribe, kReserved, 2 + size_of(filter) + 1);
  append_number(out, id);
  append_text(out, filter);
  append_byte(out, 0);
}

void append_ping(std::string& out) { append_header(out, Type::ping, 0, 0); }

void append_disconnect(std::string& out) { append_header(out, Type::disconnect, 0, 0); }

void PacketReader::append(std::string_view bytes) {
  bytes_.erase(0, begin_);
  begin_ = 0;
  bytes_ += bytes;
}

std::optional<Packet> PacketReader::next() {
  const std::string_view rest = std::string_view(bytes_).substr(begin_);
  const std::optional<Header> header = header_of(rest);
  if (!header) return std::nullopt;
  check(*header);
  if (rest.size() - header->size < header->length) return std::nullopt;
  begin_ += header->size + header->length;
  return packet_of(*header, rest.substr(header->size, header->length));
}

}  // namespace igpu::exporter::mqtt
