// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "server/push/mqtt_session.h"
#include "support/fake_broker.h"

using namespace igpu::exporter::mqtt;
using namespace igpu::test;
using namespace std::string_literals;

namespace {

// What the reader finds when the bytes arrive in pieces of this size.
std::vector<std::string> read_in_pieces(std::string_view bytes, std::size_t piece) {
  PacketReader reader;
  std::vector<std::string> found;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    reader.append(bytes.substr(at, piece));
    while (const auto packet = reader.next()) {
      if (const auto* const ack = std::get_if<ConnectAck>(&*packet))
        found.push_back("login " + std::to_string(ack->code));
      if (const auto* const ack = std::get_if<PublishAck>(&*packet))
        found.push_back("published " + std::to_string(ack->id));
      if (const auto* const ack = std::get_if<SubscribeAck>(&*packet))
        found.push_back((ack->granted ? "subscribed " : "not subscribed ") + std::to_string(ack->id));
      if (std::holds_alternative<PingResponse>(*packet)) found.emplace_back("alive");
      if (const auto* const message = std::get_if<Delivery>(&*packet))
        found.push_back(std::string(message->topic) + '=' + std::string(message->payload) +
                        (message->retained ? " retained" : ""));
    }
  }
  return found;
}

std::string problem_of(std::string_view bytes) {
  PacketReader reader;
  reader.append(bytes);
  try {
    while (reader.next()) {
    }
  } catch (const ProtocolError& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_SUITE_BEGIN("mqtt_packets");

TEST_CASE("a login has the bytes that section 3.1 of the standard asks for") {
  std::string out;
  append_connect(out, {.client_id = "gpu",
                       .user = User{"me", "pw"},
                       .keep_alive = std::chrono::seconds(60),
                       .will = {"a/b", "off", true}});
  CHECK(out ==
        "\x10\x21\x00\x04MQTT\x04\xEE\x00\x3C"s + "\x00\x03gpu\x00\x03"s + "a/b\x00\x03off\x00\x02me\x00\x02pw"s);
}

TEST_CASE("a login without a user and with a will that is not retained") {
  std::string out;
  append_connect(out, {.client_id = "g", .will = {"t", "off", false}});
  CHECK(out == "\x10\x15\x00\x04MQTT\x04\x0E\x00\x00\x00\x01g\x00\x01t\x00\x03off"s);
}

TEST_CASE("a message, a subscription, a ping and a goodbye") {
  std::string out;
  append_publish(out, {"a/b", "hi", true}, 258);
  append_publish(out, {"a/b", "hi", false}, 1);
  append_subscribe(out, "s", 7);
  append_ping(out);
  append_disconnect(out);
  CHECK(out == "\x33\x09\x00\x03"s + "a/b\x01\x02hi"s + "\x32\x09\x00\x03"s + "a/b\x00\x01hi"s +
                   "\x82\x06\x00\x07\x00\x01s\x00\xC0\x00\xE0\x00"s);
}

TEST_CASE("lengths have as many bytes as they need") {
  for (const auto& [payload, header] : {std::pair{std::size_t{122}, "\x32\x7F"s},  // 127 after the header
                                        {123, "\x32\x80\x01"s},
                                        {16'378, "\x32\xFF\x7F"s},
                                        {16'379, "\x32\x80\x80\x01"s},
                                        {2'097'147, "\x32\x80\x80\x80\x01"s}}) {
    std::string out;
    append_publish(out, {"t", std::string(payload, 'x'), false}, 1);
    CHECK(out.substr(0, header.size()) == header);
    CHECK(out.size() == header.size() + 5 + payload);
  }
}

TEST_CASE("what MQTT cannot express is not written") {
  std::string out;
  CHECK_THROWS_AS(append_publish(out, {std::string(kMaxTextBytes + 1, 't'), "", false}, 1), std::length_error);
  CHECK_THROWS_AS(append_publish(out, {"t", std::string(kMaxPacketBytes, 'x'), false}, 1), std::length_error);
  CHECK(out.empty());
}

TEST_CASE("packets of a broker are found in pieces of any size") {
  const std::string bytes = "\x20\x02\x00\x05\x40\x02\x01\x02\x90\x03\x00\x07\x00\x90\x03\x00\x08\x80\xD0\x00"s +
                            "\x31\x05\x00\x01ton\x30\x03\x00\x01t\x34\x06\x00\x01t\x00\x09x"s;
  const std::vector<std::string> expected = {"login 5", "published 258", "subscribed 7", "not subscribed 8",
                                             "alive",   "t=on retained", "t=",           "t=x"};
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) CHECK(read_in_pieces(bytes, piece) == expected);
}

TEST_CASE("a length that is not complete yet is not taken for an error") {
  PacketReader reader;
  for (const char* const part : {"\x30", "\x83", "\x80", "\x80"}) {
    reader.append(part);
    CHECK_FALSE(reader.next());
  }
  reader.append(std::string_view("\x00\x00\x01t", 4));
  CHECK(reader.next());
}

TEST_CASE("a peer that speaks something else is recognised by its first bytes") {
  CHECK(has(problem_of("HTTP/1.1 400 Bad Request\r\n"), "MQTT broker?"));
  CHECK(has(problem_of("\x15\x03\x01\x00\x02\x02\x28"s), "MQTT broker?"));  // an alert of TLS
  CHECK(has(problem_of("\x30\xFF\xFF\xFF\xFF"), "without a valid length"));
  CHECK(has(problem_of("\x30\xFF\xFF\x7F"), "2097151 bytes"));
}

TEST_CASE("malformed packets are named") {
  for (const auto& [bytes, name] : {std::pair{"\x20\x01\x00"s, "CONNACK"},
                                    {"\x20\x02\x02\x00"s, "CONNACK"},
                                    {"\x21\x02\x00\x00"s, "CONNACK"},
                                    {"\x40\x03\x00\x01\x00"s, "PUBACK"},
                                    {"\x90\x02\x00\x01"s, "SUBACK"},
                                    {"\x90\x03\x00\x01\x03"s, "SUBACK"},
                                    {"\xD0\x01\x00"s, "PINGRESP"},
                                    {"\x36\x04\x00\x01t\x00"s, "PUBLISH"},
                                    {"\x30\x01\x00"s, "PUBLISH"},
                                    {"\x30\x03\x00\x02t"s, "PUBLISH"},
                                    {"\x30\x02\x00\x00"s, "PUBLISH"},
                                    {"\x32\x04\x00\x01t\x00"s, "PUBLISH"}}) {
    CHECK(problem_of(bytes) == "sent a malformed " + std::string(name) + " packet; is it an MQTT broker?");
  }
  CHECK(has(problem_of("\x10\x00"s), "type 1,"));
}

TEST_SUITE_END();
