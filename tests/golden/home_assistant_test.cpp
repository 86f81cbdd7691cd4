// SPDX-License-Identifier: Apache-2.0
// What Home Assistant is told of the GPUs of every simulation profile: tests/home_assistant.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "fake/simulation/simulation.h"
#include "igpu/monitor.h"
#include "platform/own_process.h"
#include "server/push/mqtt_target.h"
#include "support/golden.h"
#include "support/recording_log.h"
#include "support/simulated_parts.h"

using namespace igpu;
using namespace igpu::exporter;
using namespace igpu::simulation;
using namespace igpu::test;
using namespace std::chrono_literals;
using json = nlohmann::ordered_json;

namespace {

constexpr std::size_t kMostEntities = 11;

// After twelve seconds of a profile. The version of the program is left out.
struct Described {
  explicit Described(std::string_view profile) {
    const auto parts = std::make_shared<SimulatedParts>(profile);
    const auto monitor = make_monitor(parts, {}, log);
    std::vector<mqtt::Message> states;
    for (int i = 0; i < 12; ++i) {
      parts->clock.advance(1s);
      const auto result = monitor->scrape({});
      states =
          home_assistant.update(model_of(PageView(result->lists())), std::chrono::sys_days(2026y / 11 / 23)).states;
    }
    for (const auto& [topic, payload] : home_assistant.retained()) add(topic, payload);
    for (const mqtt::Message& state : states) add(state.topic, state.payload);
  }
  void add(const std::string& topic, const std::string& payload) {
    json parsed = json::parse(payload, nullptr, false);
    if (parsed.is_discarded()) parsed = payload;
    if (parsed.contains("origin")) parsed["origin"].erase("sw_version");
    messages[topic] = parsed;
  }

  RecordingLog log;
  HomeAssistant home_assistant{"nas", kProgramName, 15s, "http://nas:10068/"};
  json messages = json::object();
};

}  // namespace

TEST_SUITE_BEGIN("home_assistant_golden");

TEST_CASE("every simulation profile has its devices, with at most eleven entities, and states with a member for each") {
  std::size_t devices = 0;
  for (const SimulationProfile& profile : simulation_profiles()) {
    json messages = Described(profile.name).messages;
    compare_with_golden("tests/home_assistant/" + std::string(profile.name) + ".json", messages.dump(1) + '\n');
    std::set<std::string> ids;
    for (const auto& message : messages.items()) {
      const std::string& topic = message.key();
      const json& config = message.value();
      if (!topic.ends_with("/config")) continue;
      ++devices;
      INFO(profile.name << " " << topic);
      CHECK(config["components"].size() <= kMostEntities);
      const json& state = messages[config["state_topic"].get<std::string>()];
      for (const auto& [key, entity] : config["components"].items()) {
        CHECK(ids.insert(entity["unique_id"]).second);
        const std::string value = entity["value_template"];
        CHECK(std::ranges::any_of(state.items(),
                                  [&](const auto& member) { return value.find(member.key()) != value.npos; }));
      }
    }
  }
  CHECK(devices > 4);
}

TEST_SUITE_END();
