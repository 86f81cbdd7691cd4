// SPDX-License-Identifier: Apache-2.0
// What a broker, or something that only listens on its port, may send: in pieces of any size, the reader finds the same
// packets, and none of them reaches beyond what was received.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/fuzz_target.h"
#include "server/push/mqtt_session.h"

using namespace igpu::exporter::mqtt;

namespace {

std::string shown(const Packet& packet) {
  std::string out = std::to_string(packet.index()) + ':';
  if (const auto* const ack = std::get_if<ConnectAck>(&packet)) return out + std::to_string(ack->code);
  if (const auto* const ack = std::get_if<PublishAck>(&packet)) return out + std::to_string(ack->id);
  if (const auto* const ack = std::get_if<SubscribeAck>(&packet))
    return out + std::to_string(ack->id * 2 + ack->granted);
  if (const auto* const message = std::get_if<Delivery>(&packet)) {
    FUZZ_CHECK(!message->topic.empty() && message->topic.size() + message->payload.size() <= kMaxReceivedBytes);
    return out.append(message->topic).append("=").append(message->payload).append(message->retained ? "!" : "");
  }
  return out;
}

std::vector<std::string> found(std::string_view bytes, std::size_t piece) {
  PacketReader reader;
  std::vector<std::string> packets;
  try {
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      reader.append(bytes.substr(at, piece));
      while (const auto packet = reader.next()) packets.push_back(shown(*packet));
    }
  } catch (const ProtocolError& error) {
    packets.push_back(std::string("error: ") + error.what());
  }
  return packets;
}

}  // namespace

// The first byte is the size of the pieces.
FUZZ_TARGET(mqtt_packets) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  FUZZ_CHECK(found(bytes, data[0] + std::size_t{1}) == found(bytes, bytes.size()));
  return 0;
}
