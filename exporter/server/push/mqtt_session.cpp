// SPDX-License-Identifier: Apache-2.0
#include "server/push/mqtt_session.h"

#include <algorithm>
#include <array>
#include <utility>

namespace igpu::exporter::mqtt {
namespace {

using std::chrono::seconds;

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
    case Type::connect_ack: return plain(2, "CONNACK");
    case Type::publish: break;
    case Type::publish_ack: return plain(2, "PUBACK");
    case Type::subscribe_ack: return plain(3, "SUBACK");
    case Type::ping_response: return plain(0, "PINGRESP");
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
    case Type::connect_ack: expect(byte_at(body, 0) <= 1, "CONNACK"); return ConnectAck{byte_at(body, 1)};
    case Type::publish_ack: return PublishAck{number_at(body, 0)};
    case Type::subscribe_ack: {
      const std::uint8_t code = byte_at(body, 2);
      expect(code <= kHighestQos || code == kRefused, "SUBACK");
      return SubscribeAck{number_at(body, 0), code != kRefused};
    }
    case Type::ping_response: return PingResponse{};
    default: return delivery(header.flags, body);
  }
}

constexpr std::size_t kMostUnacknowledged = 16;  // brokers accept at least 20
constexpr seconds kPingAnswer{10};

std::string in_quotes(std::string_view text) { return '"' + std::string(text) + '"'; }

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

Session::Session(Transport& transport, Login login, Clock clock)
    : transport_(transport), login_(std::move(login)), clock_(std::move(clock)), last_sent_(clock_()) {}

bool Session::open(const PushWait& wait) {
  append_connect(packet_, login_);
  send(wait);
  const auto answered = [&] { return login_answer_.has_value(); };
  try {
    if (!wait_for(answered, wait)) return false;
  } catch (const SessionError& ended) {
    throw SessionError(std::string(ended.what()) +
                       ", before the login was answered; is it an MQTT broker, and does this port expect mqtt:// or "
                       "mqtts://? Its log may say more");
  }
  if (*login_answer_ != 0) throw SessionError(refusal(*login_answer_));
  return true;
}

bool Session::subscribe(std::string_view filter, const PushWait& wait, Received received) {
  received_ = std::move(received);
  subscribing_ = new_id();
  append_subscribe(packet_, filter, *subscribing_);
  send(wait);
  return wait_for([&] { return !subscribing_; }, wait);
}

bool Session::publish(std::span<const Message> messages, const PushWait& wait) {
  for (const Message& message : messages) {
    if (!wait_for([&] { return unacknowledged_.size() < kMostUnacknowledged; }, wait)) return false;
    const std::uint16_t id = new_id();
    append_publish(packet_, message, id);
    unacknowledged_.insert(id);
    send(wait);
  }
  return wait_for([&] { return unacknowledged_.empty(); }, wait);
}

void Session::idle(const PushWait& wait) {
  if (clock_() >= next_ping()) {
    if (pinged_) throw SessionError("the broker no longer answers");
    append_ping(packet_);
    send({clock_() + kPingAnswer, wait.interrupt});
    pinged_ = clock_();
  }
  receive({std::min(wait.until, next_ping()), wait.interrupt});
}

void Session::close(const Message& last, const PushWait& wait) {
  if (!publish(std::span(&last, 1), wait)) return;
  append_disconnect(packet_);
  send(wait);
}

template <class Done>
bool Session::wait_for(const Done& done, const PushWait& wait) {
  while (!done()) {
    const bool received = receive(wait);
    if (clock_() < wait.until) {
      if (received) continue;
      return false;
    }
    throw SessionError("the broker did not answer in time");
  }
  return true;
}

void Session::send(const PushWait& wait) {
  transport_.send(packet_, wait);
  packet_.clear();
  last_sent_ = clock_();
}

bool Session::receive(const PushWait& wait) {
  std::array<char, 4096> bytes;
  const std::size_t received = transport_.receive(bytes, wait);
  if (received == 0) return false;
  reader_.append({bytes.data(), received});
  while (const std::optional<Packet> packet = reader_.next()) handle(*packet);
  return true;
}

void Session::handle(const Packet& packet) {
  if (const auto* const answer = std::get_if<ConnectAck>(&packet)) {
    if (login_answer_) throw ProtocolError("answered the login twice");
    login_answer_ = answer->code;
    return;
  }
  if (!login_answer_) throw ProtocolError("did not answer the login; is it an MQTT broker?");
  if (const auto* const published = std::get_if<PublishAck>(&packet)) {
    unacknowledged_.erase(published->id);
  } else if (const auto* const subscription = std::get_if<SubscribeAck>(&packet)) {
    if (subscribing_ == subscription->id) subscribing_.reset();
  } else if (const auto* const delivery = std::get_if<Delivery>(&packet)) {
    if (received_) received_(*delivery);
  } else {
    pinged_.reset();
  }
}

Session::TimePoint Session::next_ping() const {
  if (pinged_) return *pinged_ + kPingAnswer;
  return login_.keep_alive == seconds(0) ? TimePoint::max() : last_sent_ + login_.keep_alive / 2;
}

std::uint16_t Session::new_id() {
  do {
    if (++last_id_ == 0) last_id_ = 1;
  } while (unacknowledged_.contains(last_id_));
  return last_id_;
}

std::string Session::refusal(std::uint8_t code) const {
  if (code == 1) return "the broker does not accept MQTT 3.1.1; enable this version in its configuration";
  if (code == 2)
    return "the broker rejects the client id " + in_quotes(login_.client_id) +
           "; allow it in the broker's configuration";
  if (code == 3) return "the broker is not available now; its log has the reason";
  if (code != 4 && code != 5)
    return "the broker refuses the login with code " + std::to_string(code) + "; its log has the reason";
  return login_.user ? "the broker rejects the user " + in_quotes(login_.user->name) +
                           " or the password; correct the credentials file, or the broker's list of users"
                     : "the broker requires a user and a password; put them into the credentials file";
}

}  // namespace igpu::exporter::mqtt
