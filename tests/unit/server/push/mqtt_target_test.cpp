// SPDX-License-Identifier: Apache-2.0
#include "server/push/mqtt_target.h"

#include <doctest/doctest.h>

#include "support/fake_broker.h"
#include "support/sample_page.h"

using namespace igpu;
using namespace igpu::exporter;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

constexpr Metric<Ratio, 5> kBusy{
    "intel_gpu_engine_busy_ratio", Kind::gauge, "Share of the window.", {"device", "gt", "engine", "class", "source"}};
constexpr std::string_view kDevice = "0000:03:00.0";

const std::string kAvailability = "gpus/nas/status", kStatus = "gpus/nas/0000:03:00.0/status",
                  kState = "gpus/nas/0000:03:00.0/state",
                  kConfig = "homeassistant/device/intel_gpu_nas_0000_03_00_0/config";

// Both halves, which run in two processes.
struct Target {
  PushItem encode(const PageView& page, std::chrono::system_clock::time_point time) {
    return readings.encode(page, time);
  }
  PushOutcome deliver(std::string_view bytes, const PushWait& wait) {
    client.keep(readings.standing());
    return client.deliver(bytes, wait);
  }
  void idle(const PushWait& wait) {
    client.keep(readings.standing());
    client.idle(wait);
  }
  void stop(const PushWait& wait) { client.stop(wait); }

  MqttReadings readings;
  MqttClient client;
};

// A target with a broker that listens, until it is turned off.
struct Pushing {
  std::unique_ptr<mqtt::Transport> connect(std::string& problem) {
    ++connections;
    if (unreachable) {
      problem = refusal;
      return nullptr;
    }
    return std::make_unique<FakeBrokerTransport>(*broker);
  }
  // A reading of the card, or of a machine without it.
  PushItem reading(bool with_gpu = true) {
    SampleList list;
    if (with_gpu) add_sample(list, kBusy, {kDevice, "0", "vcs0", "video", "pmu"}, ++readings / 100.0);
    const SampleList* const lists[] = {&list};
    return target.encode(PageView(lists), {});
  }
  PushWait soon() const { return {broker->now + 10s, -1}; }
  PushOutcome push() { return target.deliver(reading().bytes, soon()); }
  std::vector<std::string> topics() const {
    std::vector<std::string> topics;
    for (const auto& message : broker->published) topics.push_back(message.topic);
    return topics;
  }
  // A broker that knows nothing of before.
  void restart_broker() {
    const auto now = broker->now;
    broker = std::make_unique<FakeBroker>();
    broker->now = now;
  }

  bool unreachable = false;
  std::string refusal = "cannot connect";
  int connections = 0, readings = 0;
  std::unique_ptr<FakeBroker> broker = std::make_unique<FakeBroker>();
  MqttSettings settings{.host = "nas", .topic_base = "gpus"};
  Target target{MqttReadings(settings), MqttClient(
                                            settings, mqtt::User{"me", "secret"},
                                            [this](const PushWait&, std::string& problem) { return connect(problem); },
                                            [this] { return broker->now; })};
};

using Topics = std::vector<std::string>;

}  // namespace

TEST_SUITE_BEGIN("mqtt_target");

TEST_CASE("a connection begins with what the broker must retain; after that, only states are published") {
  Pushing to;
  CHECK(to.push().kind == PushOutcome::Kind::delivered);
  CHECK(to.topics() == Topics{kStatus, kConfig, kAvailability, kState});
  CHECK(to.broker->retained.at(kAvailability) == "online");
  CHECK(to.broker->retained.at(kStatus) == "online");
  CHECK_FALSE(to.broker->retained.contains(kState));
  CHECK(to.broker->count(kSubscribe) == 1);

  to.broker->published.clear();
  CHECK(to.push().kind == PushOutcome::Kind::delivered);
  CHECK(to.topics() == Topics{kState});
  CHECK(to.connections == 1);
}

TEST_CASE("the login names the host, and its will says that it is offline") {
  Pushing to;
  (void)to.push();
  const std::string& login = to.broker->packets.front().body;
  std::size_t at = 10;
  CHECK(text_in(login, at) == "intel-gpu-exporter-nas-gpus");
  CHECK(text_in(login, at) == kAvailability);
  CHECK(text_in(login, at) == "offline");
  CHECK(text_in(login, at) == "me");
  CHECK(text_in(login, at) == "secret");
  CHECK((static_cast<unsigned char>(login[7]) & 0x20U) != 0);  // the will is retained
}

TEST_CASE("the samples of a reading are its values; a machine without a GPU has none to deliver") {
  Pushing to;
  CHECK(to.reading().samples == 1);
  CHECK(to.reading(false).samples == 0);
}

TEST_CASE("a broker that forgot everything gets it again, and the reading that failed is delivered later") {
  Pushing to;
  (void)to.push();
  to.broker->closed = true;
  const PushItem item = to.reading();
  const PushOutcome failed = to.target.deliver(item.bytes, to.soon());
  CHECK(failed.kind == PushOutcome::Kind::later);
  CHECK(failed.problem ==
        "the receiver closed the connection (client id intel-gpu-exporter-nas-gpus, which no other client may use)");
  to.restart_broker();
  CHECK(to.target.deliver(item.bytes, to.soon()).kind == PushOutcome::Kind::delivered);
  CHECK(to.topics() == Topics{kStatus, kConfig, kAvailability, kState});
}

TEST_CASE("readings that wait in the queue are delivered with their own times and values, in order") {
  Pushing to;
  std::vector<PushItem> items;
  for (int i = 0; i < 40; ++i) items.push_back(to.reading());
  for (const PushItem& item : items)
    CHECK(to.target.deliver(item.bytes, to.soon()).kind == PushOutcome::Kind::delivered);
  int seen = 0;
  for (const auto& message : to.broker->published) {
    if (message.topic != kState) continue;
    CHECK(message.payload.find("\"engine.video.busy\":" + std::to_string(++seen) + ',') != std::string::npos);
  }
  CHECK(seen == 40);
}

TEST_CASE("when Home Assistant starts, the descriptions are published again within five seconds") {
  Pushing to;
  (void)to.push();
  to.broker->published.clear();
  to.broker->deliver("homeassistant/status", "offline", false);
  to.broker->deliver("homeassistant/status", "online", true);  // older than the connection
  for (const auto end = to.broker->now + 20s; to.broker->now < end;) to.target.idle({end, -1});
  CHECK(to.topics().empty());

  to.broker->deliver("homeassistant/status", "online", false);
  const auto begin = to.broker->now;
  while (to.broker->published.empty() && to.broker->now < begin + 20s) to.target.idle({to.broker->now + 1s, -1});
  CHECK(to.topics() == Topics{kStatus, kConfig});
  CHECK((to.broker->now <= begin + 6s));
}

TEST_CASE("the last GPU that goes away is unavailable, although there is nothing to deliver any more") {
  Pushing to;
  (void)to.push();
  (void)to.reading(false);
  to.target.idle(to.soon());
  CHECK(to.broker->retained.at(kStatus) == "offline");
  CHECK(to.broker->retained.at(kAvailability) == "online");
}

TEST_CASE("a connection that is lost between readings is made again without waiting for the next one") {
  Pushing to;
  (void)to.push();
  to.broker->closed = true;
  to.target.idle(to.soon());
  to.restart_broker();
  to.broker->now += 11s;
  to.target.idle(to.soon());
  CHECK(to.broker->retained.at(kAvailability) == "online");
}

TEST_CASE("before the first reading there is no connection") {
  Pushing to;
  to.target.idle({std::chrono::steady_clock::now(), -1});
  CHECK(to.connections == 0);
}

TEST_CASE("a broker that cannot be reached, and an interruption, are tried again later") {
  Pushing to;
  to.unreachable = true;
  const PushOutcome failed = to.push();
  CHECK(failed.kind == PushOutcome::Kind::later);
  CHECK(failed.problem == "cannot connect");
  to.refusal.clear();
  const PushOutcome interrupted = to.push();
  CHECK(interrupted.kind == PushOutcome::Kind::later);
  CHECK(interrupted.problem.empty());
}

TEST_CASE("a refused login is tried again: the broker may get a user meanwhile") {
  Pushing to;
  to.broker->login_code = 5;
  const PushOutcome failed = to.push();
  CHECK(failed.kind == PushOutcome::Kind::later);
  CHECK(failed.problem.find("rejects the user \"me\"") != std::string::npos);
  CHECK(to.broker->published.empty());
}

TEST_CASE("something else than a broker is named as such") {
  Pushing to;
  to.broker->login_code.reset();
  to.broker->say("HTTP/1.1 400 Bad Request\r\n\r\n");
  CHECK(to.push().problem == "the broker sent a malformed PUBACK packet; is it an MQTT broker?");
}

TEST_CASE("the end publishes what the will would have said, and says goodbye") {
  Pushing to;
  (void)to.push();
  to.target.stop(to.soon());
  CHECK(to.broker->retained.at(kAvailability) == "offline");
  CHECK(to.broker->packets.back().type == kDisconnect);

  Pushing never_connected;
  never_connected.target.stop(never_connected.soon());
  CHECK(never_connected.connections == 0);
}

TEST_CASE("an address is mqtt:// or mqtts://, and has no user") {
  CHECK(parse_mqtt_address("mqtt://broker").port == 1883);
  CHECK_FALSE(parse_mqtt_address("mqtt://broker").tls);
  CHECK(parse_mqtt_address("mqtts://broker/home").port == 8883);
  CHECK(parse_mqtt_address("mqtts://broker/home").tls);
  for (const char* const bad : {"http://broker", "mqtt://", "mqtt://me:secret@broker", "mqtt://broker/a/+"})
    CHECK_THROWS_AS((void)parse_mqtt_address(bad), std::invalid_argument);
}

TEST_CASE("credentials are a user, or none; headers are of no use for MQTT") {
  CHECK_FALSE(mqtt_user({}, "file"));
  CHECK(mqtt_user(parse_credentials("me:secret\n"), "file")->password == "secret");
  CHECK_THROWS_WITH_AS((void)mqtt_user(parse_credentials("Authorization: Bearer x\n"), "/etc/file"),
                       "/etc/file holds HTTP headers, which MQTT does not have; write NAME:PASSWORD into it",
                       std::runtime_error);
}

TEST_CASE("the path of the address is the base of all topics") {
  CHECK(mqtt_topic_base("") == "intel-gpu-exporter");
  CHECK(mqtt_topic_base("/") == "intel-gpu-exporter");
  CHECK(mqtt_topic_base("/home/gpus/") == "home/gpus");
  for (const char* const bad : {"/a/+/b", "/#", "/$SYS/x", "/a%20b", "/a\nb"})
    CHECK_THROWS_AS((void)mqtt_topic_base(bad), std::invalid_argument);
  CHECK_THROWS_AS((void)mqtt_topic_base(std::string(300, 'x')), std::invalid_argument);
}

TEST_SUITE_END();
