// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "server/pages/page_history.h"

using namespace igpu;
using namespace igpu::exporter;

namespace {

struct Machine {
  Machine& add(std::string_view metric, std::vector<LabelPair> labels, double value) {
    labels.push_back({"device", "0000:03:00.0"});
    reader.add(metric, labels, value);
    return *this;
  }
  Machine& identify() {
    return add("intel_gpu_info", {{"card", "card0"}, {"driver", "xe"}, {"kind", "discrete"}, {"name", "B580"}}, 1);
  }
  nlohmann::json json() {
    return nlohmann::json::parse(
        model_json(reader.finish(), std::chrono::system_clock::time_point(std::chrono::seconds(5))));
  }

  ModelReader reader;
};

}  // namespace

TEST_SUITE_BEGIN("model_json");

TEST_CASE("a machine without a GPU") {
  const nlohmann::json json = Machine().json();
  CHECK(json == nlohmann::json::parse(R"({"version":1,"time":5,"gpus":[],"npus":[],"missing":[]})"));
}

TEST_CASE("a GPU of which only the identity is known") {
  const nlohmann::json json = Machine().identify().json();
  CHECK(json.at("gpus") == nlohmann::json::parse(R"([{"device":"0000:03:00.0","name":"B580","kind":"discrete",
    "driver":"xe","card":"card0","state":{"word":"OK"},"engines":[],"power":[],"rc6":[],"workloads":[],"functions":[],"throttle_reasons":[],
    "faults":[],"hangs":[],"hang_causes":[],"more":[],"missing":[]}])"));
}

TEST_CASE("the rules of the model are applied: what is drawn is first, a critical temperature is the limit") {
  Machine machine;
  machine.identify();
  machine.add("intel_gpu_power_watts", {{"domain", "package"}, {"source", "hwmon"}}, 30);
  machine.add("intel_gpu_power_watts", {{"domain", "card"}, {"source", "hwmon"}}, 45);
  machine.add("intel_gpu_power_limit_watts", {{"domain", "card"}, {"limit", "cap"}}, 75);
  machine.add("intel_gpu_temperature_celsius", {{"sensor", "package"}}, 61);
  machine.add("intel_gpu_temperature_limit_celsius", {{"sensor", "package"}, {"limit", "crit"}}, 100);
  machine.add("intel_gpu_temperature_limit_celsius", {{"sensor", "package"}, {"limit", "emergency"}}, 110);
  machine.add("intel_gpu_frequency_average_hertz", {{"gt", "0"}, {"kind", "actual"}}, 5e8);
  machine.add("intel_gpu_frequency_limit_hertz", {{"gt", "0"}, {"limit", "rp0"}}, 2e9);
  machine.add("intel_gpu_process_engine_busy_ratio", {{"pid", "7"}, {"comm", "ffmpeg"}, {"class", "video"}}, 0.5);
  machine.add("intel_gpu_process_info", {{"pid", "7"}, {"comm", "ffmpeg"}, {"systemd_unit", "live.service"}}, 1);
  const nlohmann::json gpu = machine.json().at("gpus").at(0);
  CHECK(gpu.at("power") ==
        nlohmann::json::parse(R"([{"domain":"card","watts":45,"limit":75},{"domain":"package","watts":30}])"));
  CHECK(gpu.at("temperatures") == nlohmann::json::parse(R"([{"sensor":"package","celsius":61,"limit":100}])"));
  CHECK(gpu.at("clocks") == nlohmann::json::parse(R"([{"gt":0,"hertz":5e8,"limit":2e9,"hardware_limit":2e9}])"));
  CHECK(gpu.at("processes") ==
        nlohmann::json::parse(R"([{"pid":7,"comm":"ffmpeg","place":"live.service","busy":{"video":0.5}}])"));
}

TEST_CASE("what stats prints and the view has no values for is text") {
  Machine machine;
  machine.add("intel_npu_info", {{"accel", "accel0"}, {"name", "Lunar Lake NPU"}}, 1);
  machine.add("intel_npu_busy_ratio", {}, 0.25);
  machine.add("intel_npu_recoveries_total", {}, 2);
  const nlohmann::json npu = machine.json().at("npus").at(0);
  CHECK(npu.at("busy") == 0.25);
  CHECK(npu.at("more") ==
        nlohmann::json::parse(R"([{"title":"resets","rows":[{"name":"since the start","value":"2"}]}])"));
}

TEST_CASE("what JSON cannot write is left out") {
  Machine machine;
  machine.identify();
  machine.add("intel_gpu_temperature_celsius", {{"sensor", "package"}}, std::numeric_limits<double>::quiet_NaN());
  machine.add("intel_gpu_fan_speed_rpm", {{"fan", "1"}}, std::numeric_limits<double>::infinity());
  const nlohmann::json gpu = machine.json().at("gpus").at(0);
  CHECK(gpu.at("temperatures") == nlohmann::json::parse(R"([{"sensor":"package"}])"));
  CHECK(gpu.at("fans") == nlohmann::json::parse("[{}]"));
}

TEST_SUITE_END();
