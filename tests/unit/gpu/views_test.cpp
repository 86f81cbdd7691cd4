// SPDX-License-Identifier: Apache-2.0
// `top`, `query` and the page say the same about what a GPU draws, its limit and its memory.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "igpu/model.h"
#include "server/pages/page_history.h"
#include "view/query/query_output.h"
#include "view/top/host_frame.h"
#include "view/top/screen.h"

using namespace igpu;
using namespace igpu::exporter;

namespace {

struct Views {
  explicit Views(GpuKind kind) {
    gpus[0].address = "d";
    gpus[0].kind = kind;
  }
  Views& add(const std::string& metric, std::vector<LabelPair> labels, double value) {
    page += metric + "{device=\"d\"";
    for (const LabelPair& label : labels)
      page += "," + std::string(label.name) + "=\"" + std::string(label.value) + "\"";
    page += "} " + std::to_string(value) + "\n";
    labels.push_back({"device", "d"});
    reader.add(metric, labels, value);
    return *this;
  }
  void read() {
    const char* const kind = gpus[0].kind == GpuKind::discrete ? "discrete" : "integrated";
    add("intel_gpu_info", {{"card", "card0"}, {"driver", "xe"}, {"kind", kind}, {"name", "N"}}, 1);
    host = reader.finish();
    json = nlohmann::json::parse(model_json(host, {})).at("gpus").at(0);
    top::Frame frame;
    frame.hosts = {top::frame_of(std::string_view(page + "intel_gpu_exporter_devices 1\n"))};
    line = top::draw(frame, {}, {.detail = top::Detail::line}, {}, {100, 24}).canvas.text();
    panel = top::draw(frame, {}, {.detail = top::Detail::full}, {}, {100, 24}).canvas.text();
  }
  double query(std::string_view field) const {
    const std::vector<query::Row> rows = query::rows_of(host, gpus, {});
    const query::Value value = query::value_of(field, rows.at(0));
    return value ? std::get<double>(*value) : -1;
  }

  std::vector<Gpu> gpus = std::vector<Gpu>(1);
  std::string page, line, panel;
  ModelReader reader;
  HostModel host;
  nlohmann::json json;
};

bool shows(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_SUITE_BEGIN("views");

TEST_CASE("a card of 2026: power1_cap without power1_max, and memory of two tiles") {
  Views v(GpuKind::discrete);
  v.add("intel_gpu_power_watts", {{"domain", "package"}, {"source", "hwmon"}}, 110);
  v.add("intel_gpu_power_watts", {{"domain", "card"}, {"source", "hwmon"}}, 140);
  v.add("intel_gpu_power_limit_watts", {{"domain", "package"}, {"limit", "max"}}, 120);
  v.add("intel_gpu_power_limit_watts", {{"domain", "card"}, {"limit", "cap"}}, 200);
  for (const auto& [region, used] : {std::pair("vram0", 75), {"vram1", 25}, {"system", 9000}}) {
    v.add("intel_gpu_memory_size_bytes", {{"memory_region", region}}, region[0] == 's' ? 10000 : 100);
    v.add("intel_gpu_memory_used_bytes", {{"memory_region", region}}, used);
  }
  v.read();
  CHECK(v.query("power.mean") == 140);
  CHECK(v.query("power_limit.value") == 200);
  CHECK(v.json.at("power").at(0).at("watts") == 140);
  CHECK(v.json.at("power").at(0).at("limit") == 200);
  CHECK(shows(v.line, "140"));
  CHECK(shows(v.panel, "power 140.0/200 W"));
  CHECK(v.query("memory.used") * (1 << 20) == 100);
  CHECK(v.query("memory.vram1.used_ratio") == 25);
  CHECK(v.query("memory.system.free") * (1 << 20) == 1000);
  CHECK(v.json.at("memory").at("used") == 100);
  CHECK(v.json.at("memory").at("size") == 200);
  CAPTURE(v.line);
  CHECK(shows(v.line, " 50"));
}

TEST_CASE("an integrated GPU without power of its own: all show the package") {
  Views v(GpuKind::integrated);
  v.add("intel_gpu_power_watts", {{"domain", "package"}, {"source", "powercap"}}, 17);
  v.read();
  CHECK(v.query("power.mean") == 17);
  CHECK(v.json.at("power").at(0).at("watts") == 17);
  CHECK(shows(v.line, "17.0"));
}

TEST_CASE("a window without the card's power shows no other power in its place") {
  Views v(GpuKind::discrete);
  v.add("intel_gpu_energy_joules_total", {{"domain", "card"}, {"source", "hwmon"}}, 5000);
  v.add("intel_gpu_energy_joules_total", {{"domain", "package"}, {"source", "hwmon"}}, 3000);
  v.add("intel_gpu_power_watts", {{"domain", "package"}, {"source", "hwmon"}}, 110);
  v.read();
  CHECK(v.query("power.mean") == -1);
  CHECK(v.query("power.energy") == 5000);
  CHECK(v.json.at("power").empty());
  CHECK_FALSE(shows(v.line, "110"));
}

TEST_SUITE_END();
