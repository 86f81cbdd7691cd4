// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "server/push/mqtt_target.h"

using namespace igpu;
using namespace igpu::exporter;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

constexpr std::string_view kConfig = "homeassistant/device/intel_gpu_nas_0000_03_00_0/config";
constexpr std::string_view kStatus = "gpus/nas/0000:03:00.0/status";
const std::chrono::system_clock::time_point kNow = std::chrono::sys_days(2026y / 11 / 23) + 12h;

HomeAssistant on_nas() { return {"nas", "gpus", 15s}; }

// An Arc A770 that reports its video engines and whether it hangs.
GpuModel card(std::string address = "0000:03:00.0") {
  GpuModel gpu;
  gpu.gpu.address = std::move(address);
  gpu.gpu.name = "DG2 [Arc A770]";
  gpu.suspended = false;
  gpu.hang_captured = false;
  gpu.engine_classes =
      std::vector<snapshot::EngineClassLoad>{{EngineClass::video, 2, Ratio{0.123456}, Absent{}, Absent{}}};
  return gpu;
}

GpuModel asleep() {
  GpuModel gpu;
  gpu.gpu = card().gpu;
  gpu.suspended = true;
  return gpu;
}

HostModel host_with(std::vector<GpuModel> gpus) {
  HostModel host;
  host.gpus = std::move(gpus);
  return host;
}

json description(const HomeAssistant& home_assistant, std::string_view topic = kConfig) {
  const auto found = home_assistant.retained().find(std::string(topic));
  REQUIRE(found != home_assistant.retained().end());
  return json::parse(found->second);
}

std::vector<std::string> entities(const HomeAssistant& home_assistant) {
  std::vector<std::string> keys;
  const json config = description(home_assistant);
  for (const auto& [key, entity] : config["components"].items()) keys.push_back(key);
  return keys;
}

}  // namespace

TEST_SUITE_BEGIN("home_assistant");

TEST_CASE("a GPU is described with the entities that have a value, and its state says null for the others") {
  HomeAssistant home_assistant = on_nas();
  const auto update = home_assistant.update(host_with({card()}), kNow);
  CHECK(entities(home_assistant) == std::vector<std::string>{"engine_video_busy", "problem"});
  REQUIRE(update.states.size() == 1);
  CHECK(update.values == 2);
  CHECK(update.states[0].topic == "gpus/nas/0000:03:00.0/state");
  CHECK_FALSE(update.states[0].retain);
  const json state = json::parse(update.states[0].payload);
  CHECK(state["time"] == "2026-11-23T12:00:00.000Z");
  CHECK(state["engine.video.busy"] == 12.35);
  CHECK(state["power.mean"].is_null());
  CHECK(state["problem"] == "OFF");
}

TEST_CASE("a description has what Home Assistant requires") {
  HomeAssistant home_assistant = on_nas();
  (void)home_assistant.update(host_with({card()}), kNow);
  const json config = description(home_assistant);
  CHECK(config["device"]["identifiers"] == json::array({"intel_gpu_nas_0000_03_00_0"}));
  CHECK(config["device"]["name"] == "nas Arc A770");
  CHECK(config["device"]["model"] == "DG2 [Arc A770]");
  CHECK(config["origin"]["name"] == "intel-gpu-exporter");
  CHECK(config["availability_mode"] == "all");
  CHECK(config["availability"] == json::array({{{"topic", "gpus/nas/status"}}, {{"topic", kStatus}}}));
  const json& video = config["components"]["engine_video_busy"];
  CHECK(video["platform"] == "sensor");
  CHECK(video["unique_id"] == "intel_gpu_nas_0000_03_00_0_engine_video_busy");
  CHECK(video["value_template"] == "{{ value_json['engine.video.busy'] }}");
  CHECK(video["expire_after"] == 60);
  CHECK_FALSE(video.contains("device_class"));
  CHECK(config["components"]["problem"]["platform"] == "binary_sensor");
}

TEST_CASE("an entity is added when its value appears, and stays when it disappears") {
  HomeAssistant home_assistant = on_nas();
  (void)home_assistant.update(host_with({card()}), kNow);
  GpuModel warm = card();
  warm.temperatures = std::vector<snapshot::Temperature>{{"package", Celsius{61}}};
  (void)home_assistant.update(host_with({warm}), kNow);
  CHECK(entities(home_assistant) == std::vector<std::string>{"engine_video_busy", "problem", "temperature_value"});
  const auto update = home_assistant.update(host_with({card()}), kNow);
  CHECK(entities(home_assistant) == std::vector<std::string>{"engine_video_busy", "problem", "temperature_value"});
  CHECK(json::parse(update.states[0].payload)["temperature.value"].is_null());
}

TEST_CASE("a GPU that goes away is unavailable until it is back") {
  HomeAssistant home_assistant = on_nas();
  const std::string status(kStatus);
  (void)home_assistant.update(host_with({card()}), kNow);
  CHECK(home_assistant.retained().at(status) == "online");
  CHECK(home_assistant.update(host_with({}), kNow).states.empty());
  CHECK(home_assistant.retained().at(status) == "offline");
  CHECK(home_assistant.retained().contains(std::string(kConfig)));
  (void)home_assistant.update(host_with({card()}), kNow);
  CHECK(home_assistant.retained().at(status) == "online");
}

TEST_CASE("a GPU that sleeps at the start is described when it wakes up, and keeps its description asleep") {
  HomeAssistant home_assistant = on_nas();
  CHECK(home_assistant.update(host_with({asleep()}), kNow).states.empty());
  CHECK(home_assistant.retained().empty());
  CHECK(home_assistant.update(host_with({}), kNow).states.empty());
  CHECK(home_assistant.retained().empty());
  (void)home_assistant.update(host_with({card()}), kNow);
  const HomeAssistant::Retained awake = home_assistant.retained();
  const auto update = home_assistant.update(host_with({asleep()}), kNow);
  CHECK(home_assistant.retained() == awake);
  CHECK(json::parse(update.states[0].payload)["engine.video.busy"].is_null());
  CHECK(update.values == 2);
}

TEST_CASE("a GPU of which nothing can be read is not described") {
  HomeAssistant home_assistant = on_nas();
  GpuModel locked;
  locked.gpu = card().gpu;
  const auto update = home_assistant.update(host_with({locked}), kNow);
  CHECK(update.values == 0);
  CHECK(home_assistant.retained().empty());
}

TEST_CASE("GPUs with the same address in two machines are two devices") {
  HomeAssistant nas = on_nas(), van("van", "gpus", 15s);
  (void)nas.update(host_with({card()}), kNow);
  (void)van.update(host_with({card()}), kNow);
  for (const auto& [topic, payload] : nas.retained()) CHECK_FALSE(van.retained().contains(topic));
  CHECK(description(nas)["device"]["identifiers"] !=
        description(van, "homeassistant/device/intel_gpu_van_0000_03_00_0/config")["device"]["identifiers"]);
}

TEST_CASE("two GPUs of the same kind have different names") {
  HomeAssistant home_assistant = on_nas();
  (void)home_assistant.update(host_with({card(), card("0000:04:00.0")}), kNow);
  CHECK(description(home_assistant)["device"]["name"] == "nas Arc A770 0000:03:00.0");
}

TEST_CASE("what is wrong with a GPU is on or off, with the reason in words") {
  HomeAssistant home_assistant = on_nas();
  GpuModel hung = card();
  hung.hang_captured = true;
  const json state = json::parse(home_assistant.update(host_with({hung}), kNow).states[0].payload);
  CHECK(state["problem"] == "ON");
  CHECK(state["trouble"] == "GPU hang recorded");
}

TEST_CASE("hostile names of hosts and GPUs stay names") {
  HomeAssistant home_assistant("a/+#\n\"b", "gpus", 15s);
  CHECK(home_assistant.host() == "a_____b");
  GpuModel gpu = card();
  gpu.gpu.name = "x\x1b[31m\"}\xff";
  (void)home_assistant.update(host_with({gpu}), kNow);
  const json config = description(home_assistant, "homeassistant/device/intel_gpu_a_____b_0000_03_00_0/config");
  CHECK(config["device"]["model"].get<std::string>().find('\x1b') == std::string::npos);
  CHECK(HomeAssistant("", "gpus", 15s).host() == "host");
}

TEST_CASE("values expire after four readings, at the earliest after a minute") {
  HomeAssistant slow("nas", "gpus", 10min);
  (void)slow.update(host_with({card()}), kNow);
  CHECK(description(slow)["components"]["engine_video_busy"]["expire_after"] == 2400);
}

TEST_CASE("energy is a counter in kWh, as the energy dashboard of Home Assistant wants it") {
  GpuModel gpu = card();
  gpu.power = std::vector<snapshot::Power>{{"card", "hwmon", Absent{}, Joules{9'000'000}}};
  HomeAssistant home_assistant = on_nas();
  const auto update = home_assistant.update(host_with({gpu}), kNow);
  const json config = description(home_assistant)["components"]["power_energy"];
  CHECK(config["device_class"] == "energy");
  CHECK(config["state_class"] == "total_increasing");
  CHECK(config["unit_of_measurement"] == "kWh");
  CHECK(json::parse(update.states[0].payload)["power.energy"] == 2.5);
}

TEST_CASE("a device links to the exporter's page if it is known") {
  HomeAssistant linked("nas", "gpus", 15s, "http://nas:10068/");
  linked.update(host_with({card()}), kNow);
  CHECK(description(linked)["device"]["configuration_url"] == "http://nas:10068/");
  HomeAssistant unlinked = on_nas();
  unlinked.update(host_with({card()}), kNow);
  CHECK_FALSE(description(unlinked)["device"].contains("configuration_url"));
}

TEST_SUITE_END();
