// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/push/mqtt_session.h"

// The other end of an MQTT session: reads what the client sends with a parser of its own, and answers as a broker does,
// or as a test says. Time passes only where the client waits.
namespace igpu::test {

struct ClientPacket {
  unsigned type = 0, flags = 0;
  std::string body;

  bool operator==(const ClientPacket&) const = default;
};

// The packets in `bytes`; what is not a whole packet stays in it.
inline std::vector<ClientPacket> take_packets(std::string& bytes) {
  std::vector<ClientPacket> packets;
  for (;;) {
    std::size_t at = 1, length = 0, shift = 0;
    bool whole = false;
    for (; at < bytes.size() && !whole; ++at, shift += 7) {
      length += std::size_t{static_cast<unsigned char>(bytes[at]) & 0x7FU} << shift;
      whole = (static_cast<unsigned char>(bytes[at]) & 0x80U) == 0;
    }
    if (!whole || bytes.size() - at < length) return packets;
    const auto first = static_cast<unsigned char>(bytes[0]);
    packets.push_back({unsigned{first} >> 4U, first & 15U, bytes.substr(at, length)});
    bytes.erase(0, at + length);
  }
}

inline std::uint16_t number_in(std::string_view body, std::size_t at) {
  return static_cast<std::uint16_t>(static_cast<unsigned char>(body.at(at)) << 8U |
                                    static_cast<unsigned char>(body.at(at + 1)));
}
inline std::string text_in(std::string_view body, std::size_t& at) {
  const std::size_t size = number_in(body, at);
  std::string text(body.substr(at + 2, size));
  at += 2 + size;
  return text;
}
inline std::string number_bytes(std::uint16_t number) {
  return {static_cast<char>(number >> 8U), static_cast<char>(number & 0xFFU)};
}

inline constexpr unsigned kConnect = 1, kPublish = 3, kSubscribe = 8, kPing = 12, kDisconnect = 14;

class FakeBroker {
 public:
  struct Published {
    std::string topic, payload;
    bool retain = false;
    bool operator==(const Published&) const = default;
  };

  std::optional<std::uint8_t> login_code = 0;        // nullopt: the login is never answered
  std::set<unsigned> silent;                         // types that are not answered
  std::size_t answered_publishes = std::size_t(-1);  // further ones are not
  std::size_t piece = 4096;                          // bytes that arrive at once
  std::chrono::seconds piece_takes{0};
  bool closed = false;

  std::vector<ClientPacket> packets;  // all that were received
  std::vector<Published> published;   // in this order
  std::map<std::string, std::string> retained;

  void say(std::string_view bytes) { to_client_ += bytes; }
  void deliver(std::string_view topic, std::string_view payload, bool retain) {
    std::string packet;
    mqtt_packet(packet, retain ? 0x31 : 0x30,
                number_bytes(static_cast<std::uint16_t>(topic.size())) + std::string(topic) + std::string(payload));
    say(packet);
  }
  std::size_t count(unsigned type) const {
    return static_cast<std::size_t>(
        std::count_if(packets.begin(), packets.end(), [&](const ClientPacket& one) { return one.type == type; }));
  }

  std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now();
  bool interrupted = false;
  // Called when the client waits and nothing has arrived; then its deadline has come, unless something arrives.
  std::function<void()> when_it_waits;

  // --- the client's side

  void receive_from_client(std::string_view bytes) {
    if (closed) throw exporter::mqtt::SessionError("the receiver closed the connection");
    from_client_ += bytes;
    for (ClientPacket& packet : take_packets(from_client_)) {
      answer(packet);
      packets.push_back(std::move(packet));
    }
  }
  std::size_t send_to_client(std::span<char> into, const exporter::PushWait& wait) {
    if (to_client_.empty() && when_it_waits) when_it_waits();
    if (to_client_.empty() && closed) throw exporter::mqtt::SessionError("the receiver closed the connection");
    if (to_client_.empty()) {
      if (!interrupted) now = std::max(now, wait.until);
      return 0;
    }
    const std::size_t size = std::min({to_client_.size(), into.size(), piece});
    std::copy_n(to_client_.begin(), size, into.begin());
    to_client_.erase(0, size);
    now += piece_takes;
    return size;
  }

 private:
  static void mqtt_packet(std::string& out, unsigned first, const std::string& body) {
    out += static_cast<char>(first);
    std::size_t size = body.size();
    do {
      out += static_cast<char>(size % 128 + (size >= 128 ? 128 : 0));
      size /= 128;
    } while (size > 0);
    out += body;
  }
  void answer(const ClientPacket& packet) {
    if (silent.contains(packet.type)) return;
    if (packet.type == kConnect && login_code) {
      say({"\x20\x02\x00", 3});
      to_client_ += static_cast<char>(*login_code);
    } else if (packet.type == kPublish) {
      std::size_t at = 0;
      const std::string topic = text_in(packet.body, at);
      published.push_back({topic, packet.body.substr(at + 2), (packet.flags & 1U) != 0});
      if ((packet.flags & 1U) != 0) retained[topic] = published.back().payload;
      if (published.size() > answered_publishes) return;
      mqtt_packet(to_client_, 0x40, packet.body.substr(at, 2));
    } else if (packet.type == kSubscribe) {
      mqtt_packet(to_client_, 0x90, packet.body.substr(0, 2) + '\0');
    } else if (packet.type == kPing) {
      mqtt_packet(to_client_, 0xD0, {});
    }
  }

  std::string from_client_, to_client_;
};

class FakeBrokerTransport final : public exporter::mqtt::Transport {
 public:
  explicit FakeBrokerTransport(FakeBroker& broker) : broker_(broker) {}
  void send(std::string_view bytes, const exporter::PushWait&) override { broker_.receive_from_client(bytes); }
  std::size_t receive(std::span<char> into, const exporter::PushWait& wait) override {
    return broker_.send_to_client(into, wait);
  }

 private:
  FakeBroker& broker_;
};

}  // namespace igpu::test
