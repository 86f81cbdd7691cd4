// SPDX-License-Identifier: Apache-2.0
#include "server/push/mqtt_session.h"

#include <doctest/doctest.h>

#include "support/fake_broker.h"

using namespace igpu::exporter;
using namespace igpu::exporter::mqtt;
using namespace igpu::test;
using namespace std::chrono_literals;
using namespace std::string_literals;

namespace {

constexpr std::string_view kStatus = "homeassistant/status";

struct Connected {
  explicit Connected(const Login& with = {}) : login(with), session(transport, login, [this] { return broker.now; }) {}
  PushWait within(std::chrono::seconds time) const { return {broker.now + time, -1}; }
  // The line that ends the session; "" if it goes on.
  template <class Work>
  std::string problem_of(const Work& work) {
    try {
      work();
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }
  std::string problem_of_login() {
    return problem_of([&] { (void)session.open(within(10s)); });
  }

  FakeBroker broker;
  FakeBrokerTransport transport{broker};
  Login login;
  Session session;
};

Login with_user() {
  Login login;
  login.client_id = "gpus";
  login.user = User{"me", "secret"};
  login.keep_alive = 60s;
  return login;
}

std::vector<Message> messages(std::size_t count) {
  std::vector<Message> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back({"t", std::to_string(i), false});
  return out;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_SUITE_BEGIN("mqtt_session");

TEST_CASE("messages are published in order, and count when the broker has acknowledged all of them") {
  Connected to(with_user());
  to.broker.piece = 1;  // every answer arrives in pieces
  REQUIRE(to.session.open(to.within(10s)));
  CHECK(to.session.publish(messages(100), to.within(10s)));
  REQUIRE(to.broker.published.size() == 100);
  for (std::size_t i = 0; i < 100; ++i) CHECK(to.broker.published[i].payload == std::to_string(i));
}

TEST_CASE("a broker is not flooded: without acknowledgements, sixteen messages are on their way") {
  Connected to;
  REQUIRE(to.session.open(to.within(10s)));
  to.broker.answered_publishes = 0;
  const std::string problem = to.problem_of([&] { (void)to.session.publish(messages(100), to.within(10s)); });
  CHECK(problem == "the broker did not answer in time");
  CHECK(to.broker.published.size() == 16);
}

TEST_CASE("a broker that stops to acknowledge in the middle is late") {
  Connected to;
  REQUIRE(to.session.open(to.within(10s)));
  to.broker.answered_publishes = 1;
  CHECK(has(to.problem_of([&] { (void)to.session.publish(messages(2), to.within(10s)); }), "in time"));
}

TEST_CASE("an identifier is used again only after its message was acknowledged, and is never 0") {
  Connected to;
  REQUIRE(to.session.open(to.within(10s)));
  REQUIRE(to.session.publish(messages(65'536), to.within(10s)));
  for (const ClientPacket& packet : to.broker.packets) {
    if (packet.type == kPublish && number_in(packet.body, 3) == 0) FAIL("a message with the identifier 0");
  }
}

TEST_CASE("a refused login names what to change") {
  for (const auto& [code, part] : {std::pair{1, "MQTT 3.1.1"},
                                   {2, "client id \"gpus\""},
                                   {3, "its log"},
                                   {4, "rejects the user \"me\" or the password; correct the credentials file"},
                                   {5, "rejects the user \"me\" or the password; correct the credentials file"},
                                   {200, "with code 200"}}) {
    Connected to(with_user());
    to.broker.login_code = static_cast<std::uint8_t>(code);
    const std::string problem = to.problem_of_login();
    INFO(problem);
    CHECK(has(problem, part));
    CHECK_FALSE(has(problem, "secret"));
  }
  Connected without_user;
  without_user.broker.login_code = 5;
  CHECK(has(without_user.problem_of_login(), "requires a user and a password"));
}

TEST_CASE("a port that accepts and never answers is named as such, as soon as the deadline has passed") {
  Connected to;
  to.broker.login_code.reset();
  CHECK(has(to.problem_of_login(), "did not answer in time, before the login was answered"));
}

TEST_CASE("a broker that never stops sending is late all the same") {
  Connected to;
  REQUIRE(to.session.open(to.within(10s)));
  to.broker.silent = {kPublish};
  to.broker.piece_takes = 1s;
  to.broker.when_it_waits = [&] { to.broker.say("\xD0\x00"s); };  // answers to pings that were not sent
  CHECK(to.problem_of([&] { (void)to.session.publish(messages(1), to.within(10s)); }) ==
        "the broker did not answer in time");
}

TEST_CASE("half an answer to the login is no answer") {
  Connected to;
  to.broker.login_code.reset();
  to.broker.say({"\x20\x02\x00", 3});
  CHECK(has(to.problem_of_login(), "did not answer in time, before the login was answered"));
}

TEST_CASE("garbage and packets that a broker may not send now end the session") {
  Connected http;
  http.broker.login_code.reset();
  http.broker.say("HTTP/1.1 400 Bad Request\r\n\r\n");
  CHECK(has(http.problem_of_login(), "MQTT broker?"));

  Connected early;
  early.broker.login_code.reset();
  early.broker.say({"\xD0\x00", 2});
  CHECK(has(early.problem_of_login(), "did not answer the login"));

  Connected twice;
  twice.broker.say({"\x20\x02\x00\x00", 4});
  CHECK(has(twice.problem_of_login(), "twice"));
}

TEST_CASE("a broker that closes the connection ends the session") {
  Connected to;
  REQUIRE(to.session.open(to.within(10s)));
  to.broker.closed = true;
  CHECK(to.problem_of([&] { to.session.idle(to.within(10s)); }) == "the receiver closed the connection");
}

TEST_CASE("a connection that ends at the login may be one with TLS to a port without it, or the other way round") {
  Connected to;
  to.broker.login_code.reset();
  to.broker.when_it_waits = [&] { to.broker.closed = true; };
  CHECK(has(to.problem_of_login(), "the receiver closed the connection, before the login was answered"));
}

TEST_CASE("an acknowledgement of nothing changes nothing") {
  Connected to;
  REQUIRE(to.session.open(to.within(10s)));
  to.broker.say({"\x40\x02\x12\x34", 4});
  CHECK(to.session.publish(messages(3), to.within(10s)));
}

TEST_CASE("deliveries are passed on, at the subscription and later") {
  Connected to;
  std::vector<std::string> seen;
  REQUIRE(to.session.open(to.within(10s)));
  to.broker.deliver(kStatus, "online", true);
  REQUIRE(to.session.subscribe(kStatus, to.within(10s), [&](const Delivery& delivery) {
    seen.push_back(std::string(delivery.payload) + (delivery.retained ? " retained" : ""));
  }));
  to.broker.deliver(kStatus, "offline", false);
  to.session.idle(to.within(10s));
  CHECK(seen == std::vector<std::string>{"online retained", "offline"});
}

TEST_CASE("a silent connection is kept alive, and given up when the broker does not answer") {
  Connected to(with_user());
  REQUIRE(to.session.open(to.within(10s)));
  const auto end = to.broker.now + 5min;
  while (to.broker.now < end) to.session.idle({end, -1});
  CHECK(to.broker.count(kPing) == 9);  // after each half of the 60 s

  to.broker.silent.insert(kPing);
  const auto begin = to.broker.now;
  CHECK(to.problem_of([&] {
    while (to.broker.now < begin + 5min) to.session.idle({begin + 5min, -1});
  }) == "the broker no longer answers");
  CHECK(to.broker.now <= begin + 40s);
}

TEST_CASE("while messages are published, no pings are needed") {
  Connected to(with_user());
  REQUIRE(to.session.open(to.within(10s)));
  for (int i = 0; i < 20; ++i) {
    REQUIRE(to.session.publish(messages(1), to.within(10s)));
    to.session.idle(to.within(15s));
  }
  CHECK(to.broker.count(kPing) == 0);
}

TEST_CASE("an interruption leaves the session usable") {
  Connected to;
  REQUIRE(to.session.open(to.within(10s)));
  to.broker.interrupted = true;
  to.broker.answered_publishes = 0;
  CHECK_FALSE(to.session.publish(messages(1), to.within(10s)));
  to.broker.say({"\x40\x02\x00\x01", 4});  // the acknowledgement, late
  to.broker.answered_publishes = 100;
  CHECK(to.session.publish(messages(1), to.within(10s)));
}

TEST_CASE("goodbye: the last message is acknowledged before the broker is told") {
  Connected to;
  REQUIRE(to.session.open(to.within(10s)));
  to.session.close({"a", "offline", true}, to.within(10s));
  CHECK(to.broker.retained.at("a") == "offline");
  CHECK(to.broker.packets.back() == ClientPacket{kDisconnect, 0, ""});
}

TEST_SUITE_END();
