// SPDX-License-Identifier: Apache-2.0
// Fields, what prints them, and what other tools call them.
#include <doctest/doctest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "igpu/model.h"
#include "text/text.h"
#include "view/query/query_output.h"

using namespace igpu;
using namespace igpu::exporter::query;
using namespace std::chrono_literals;
using Json = nlohmann::json;

namespace {

using Pairs = std::vector<LabelPair>;

// A GPU whose page the test writes.
struct Machine {
  explicit Machine(GpuKind kind = GpuKind::discrete) {
    gpus.resize(1);
    gpus[0].address = "0000:03:00.0";
    gpus[0].card = "card0";
    gpus[0].name = "Arc <A770>";
    gpus[0].kind = kind;
    gpus[0].device_id = 0x56a0;
  }
  Machine& add(std::string_view field, Pairs labels, double value) {
    labels.push_back({"device", gpus[0].address});
    reader.add(metric_of(field), labels, value);
    return *this;
  }
  Machine& busy(std::string_view engine, std::string_view engine_class, double ratio) {
    return add("engine.busy", {{"gt", "0"}, {"engine", engine}, {"class", engine_class}, {"source", "pmu"}}, ratio);
  }
  Machine& lacks(std::string_view feature, std::string_view reason) {
    return add("feature", {{"feature", feature}, {"reason", reason}}, 0);
  }
  const std::vector<Row>& rows() {
    host = reader.finish();
    made = rows_of(host, gpus, std::chrono::sys_days(2026y / 11 / 23) + 7h + 43min + 37s + 120ms);
    return made;
  }
  std::string value(std::string_view field) {
    const Value found = value_of(field, rows().front());
    return found ? text_of(*find_field(field), *found) : found.is_absent() ? "absent" : "failed";
  }

  ModelReader reader;
  std::vector<Gpu> gpus;
  HostModel host;
  std::vector<Row> made;
};

struct Arc : Machine {
  Arc() {
    busy("rcs0", "render", 0.25).busy("vcs0", "video", 0.5).busy("vcs1", "video", 0.2504);
    busy("vecs0", "video_enhance", 0.0);
    add("power.mean", {{"domain", "package"}, {"source", "hwmon"}}, 93.6449);
    add("temperature.value", {{"sensor", "package"}}, 69);
    add("memory.size", {{"memory_region", "system"}}, 32e9).add("memory.size", {{"memory_region", "local0"}}, 16777216);
    add("memory.used", {{"memory_region", "local0"}}, 4194304 + 524288);
    add("throttling.reasons", {{"gt", "0"}, {"reason", "pl1"}}, 1);
    add("throttling.reasons", {{"gt", "0"}, {"reason", "prochot"}}, 1);
  }
};

std::string csv(const std::vector<Row>& rows, std::vector<std::string_view> names, CsvStyle style = {}) {
  Fields fields;
  for (const std::string_view name : names) fields.push_back(required_field(name));
  std::string out;
  write_csv_header(fields, style, out);
  write_csv(fields, style, rows, out);
  return out;
}

std::string xpu(const std::vector<Row>& rows, std::string_view names, CsvStyle style = {}) {
  const auto fields = xpu_fields(names);
  std::string out;
  write_xpu_header(fields, style, out);
  write_xpu_csv(fields, rows, out);
  return out;
}

}  // namespace

TEST_SUITE_BEGIN("query");

TEST_CASE("each field has one name, that of the model, and a source in it unless discovery knows the value") {
  std::set<std::string> names;
  for (const Field& field : fields()) {
    CAPTURE(field.name);
    CHECK(names.insert(field.name).second);
    CHECK((field.model.empty() || !metric_of(field.model).empty()));
    CHECK(find_field(field.name)->name == field.name);
  }
  for (const char* name : {"gpu.name", "gpu.address", "gpu.driver", "power.mean", "temperature.value", "memory.used",
                           "engine.video.busy", "frequency.actual", "throttling.reasons"})
    CHECK_MESSAGE(names.contains(name), name);
}

TEST_CASE("of a name, the value of rows that has no better one, and gpu, may be left out") {
  CHECK(find_field("power")->name == "power.mean");
  CHECK(find_field("memory")->name == "memory.used");
  CHECK(find_field("temperature.vram")->name == "temperature.vram.value");
  CHECK(find_field("engine.vcs1")->name == "engine.vcs1.busy");
  CHECK(find_field("card")->name == "gpu.card");
  CHECK_FALSE(find_field(""));
  CHECK_FALSE(find_field("gpu"));
  CHECK_FALSE(find_field("process.busy"));
}

TEST_CASE("a key is a word that some machine has, or a name with its number") {
  for (const char* const name :
       {"engine.vcs1.busy", "frequency.1.actual", "memory.local0.used", "frequency.media.rp0", "fan.2.speed",
        "rc6.1.ratio", "temperature.vram_ch_11.value", "engine.3D.busy", "engine.Video Decode 1.busy"})
    CHECK_MESSAGE(find_field(name)->name == name, name);
  for (const char* const name :
       {"engine.vidoe.busy", "temperature.vrma", "temperature.media", "pcie.x16.speed", "power.package.maen",
        "throttling.pl1", "engine..busy", "engine.foo7.busy", "frequency.gt0.actual", "memory.1.used", "power.1.mean",
        "engine.vcs1x.busy", "engine.1.busy"})
    CHECK_MESSAGE(!find_field(name), name);
}

TEST_CASE("xpu-smi's and nvidia-smi's names stand for ours, unless the kernel has no such value") {
  CHECK(find_field("power.draw")->name == "power.mean");
  CHECK(find_field("clocks.gr")->name == "frequency.actual");
  CHECK(find_field("pci.bus_id")->name == "gpu.address");
  CHECK(find_field("fan.speed")->unit.plain == "rpm");  // ours; xpu-smi's is in percent
  CHECK_FALSE(find_field("serial"));
  for (const std::string& alias : aliases()) CHECK_MESSAGE(find_field(alias), alias);
}

TEST_CASE("a key chooses rows: an engine, a class, a sensor, a domain") {
  Arc machine;
  const Row row = machine.rows().front();
  const auto value = [&](std::string_view field) {
    const Value found = value_of(field, row);
    return found ? text_of(*find_field(field), *found) : "absent";
  };
  CHECK(value("engine.busy") == "37.5");
  CHECK(value("engine.video.busy") == "37.5");
  CHECK(value("engine.vcs0.busy") == "50");
  CHECK(value("engine.media.busy") == "25");
  CHECK(value("engine.compute.busy") == "absent");
  CHECK(value("memory.system.size") == "30518");
  CHECK(value("memory.size") == "16");
  CHECK(value("memory.free") == "12");  // 11.5
  CHECK(value("power.package.mean") == "93.64");
  CHECK(value("power.gpu.mean") == "93.64");  // what hwmon calls the package of a card
}

TEST_CASE("a field that does not exist names the nearest") {
  CHECK_THROWS_WITH_AS(required_field("power.maen"), "there is no field \"power.maen\"; did you mean power.mean?",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(required_field("bananas"), "there is no field \"bananas\" (see query --list)",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(required_field(std::string(10'000, 'x')),
                       ("there is no field \"" + std::string(64, 'x') + "\" (see query --list)").c_str(),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(xpu_fields("power.drawn"),
                       "Field \"power.drawn\" is not a valid field to query; did you mean power.draw?",
                       std::invalid_argument);
}

TEST_CASE("values have the decimals of their unit") {
  Arc machine;
  CHECK(machine.value("power.mean") == "93.64");
  CHECK(machine.value("power.gpu.mean") == "absent");  // rows() has emptied the reader
}

TEST_CASE("what a machine lacks is absent, never 0") {
  Machine asleep;
  asleep.lacks("engine_busy", "permission").lacks("power", "hardware");
  const std::vector<Row>& rows = asleep.rows();
  CHECK(csv(rows, {"index", "engine", "power", "memory.used", "throttling"}, {.header = false}) ==
        "0, [N/A], [N/A], [N/A], [N/A]\n");
  std::string json;
  write_json({*find_field("name"), *find_field("power"), *find_field("gpu.hang_captured")}, rows, json);
  CHECK(json == "[{\"gpu.name\":\"Arc <A770>\",\"power.mean\":null,\"gpu.hang_captured\":null}]\n");
  CHECK(value_of("engine", rows[0]).absent().reason == Reason::permission);
  CHECK(value_of("power", rows[0]).absent().reason == Reason::hardware);
}

TEST_CASE("a field that is asked for by several names is one member of the JSON, and a column for each name") {
  Arc machine;
  const std::vector<Row>& rows = machine.rows();
  std::string json;
  write_json({*find_field("power.draw"), *find_field("name"), *find_field("power"), *find_field("power.mean")}, rows,
             json);
  CHECK(json == "[{\"power.mean\":93.64,\"gpu.name\":\"Arc <A770>\"}]\n");
  CHECK(csv(rows, {"power.draw", "power"}, {.units = false}) == "power.mean, power.mean\n93.64, 93.64\n");
}

TEST_CASE("CSV has units in the header and behind values, as nvidia-smi writes them, unless they are not wanted") {
  Arc machine;
  const std::vector<Row>& rows = machine.rows();
  CHECK(csv(rows, {"name", "power", "engine.video.busy", "throttling", "memory"}) ==
        "gpu.name, power.mean [W], engine.video.busy [%], throttling.reasons, memory.used [MiB]\n"
        "Arc <A770>, 93.64 W, 37.5 %, pl1+prochot, 5 MiB\n");
  CHECK(csv(rows, {"name", "power"}, {.units = false}) == "gpu.name, power.mean\nArc <A770>, 93.64\n");
  CHECK(csv(rows, {"power"}, {.header = false, .units = false}) == "93.64\n");
}

TEST_CASE("a name with a comma or a control character stays one cell") {
  Machine machine;
  machine.gpus[0].name = "Arc, \"A\"\n";
  CHECK(csv(machine.rows(), {"name", "index"}, {.header = false}) == "\"Arc, \"\"A\"\"?\", 0\n");
}

TEST_CASE("an integrated GPU has its own power, otherwise the processor's, and the machine's memory") {
  Machine machine(GpuKind::integrated);
  machine.add("power.mean", {{"domain", "package"}, {"source", "rapl_pmu"}}, 20);
  machine.add("memory.size", {{"memory_region", "system"}}, 1024)
      .add("memory.used", {{"memory_region", "system"}}, 256);
  const std::vector<Row>& rows = machine.rows();
  CHECK(csv(rows, {"power", "power.gpu", "power.package", "memory.used_ratio"}, {.header = false}) ==
        "20 W, [N/A], 20 W, 25 %\n");
  Machine own(GpuKind::integrated);
  own.add("power.mean", {{"domain", "package"}, {"source", "rapl_pmu"}}, 20);
  own.add("power.mean", {{"domain", "gpu"}, {"source", "rapl_pmu"}}, 5);
  CHECK(csv(own.rows(), {"power", "power.gpu"}, {.header = false}) == "5 W, 5 W\n");
}

TEST_CASE("the second GT has the video engines, unless it is a second tile") {
  Machine lunar_lake(GpuKind::integrated), ponte_vecchio;
  for (Machine* const machine : {&lunar_lake, &ponte_vecchio})
    machine->add("frequency.actual", {{"gt", "1"}, {"kind", "actual"}}, 1.2e9);
  lunar_lake.add("memory.size", {{"memory_region", "system"}}, 32e9);
  for (const char* const tile : {"vram0", "vram1"}) ponte_vecchio.add("memory.size", {{"memory_region", tile}}, 64e9);
  CHECK(lunar_lake.value("frequency.media.actual") == "1200");
  CHECK(ponte_vecchio.value("frequency.media.actual") == "absent");
}

TEST_CASE("a template is text with fields; braces are doubled") {
  Arc machine;
  std::string out;
  Template("{engine.video.busy}% {power}W {{{fan}}}").write(machine.rows(), out);
  CHECK(out == "37.5% 93.64W {-}\n");
  for (const char* wrong : {"{power", "power}", "{}", "{pwr}", "a {power} {"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(Template{wrong}, std::invalid_argument);
  }
  CHECK_THROWS_WITH_AS(Template("{powr.mean}"), "there is no field \"powr.mean\"; did you mean power.mean?",
                       std::invalid_argument);
}

TEST_CASE("--query-gpu prints xpu-smi's names, units, digits and N/A") {
  Arc machine;
  const std::vector<Row>& rows = machine.rows();
  CHECK(xpu(rows, "timestamp,name,pci.bus_id,pci.device_id") ==
        "timestamp, name, pci.bus_id, pci.device_id\n2026/11/23 07:43:37.120, Arc <A770>, 0000:03:00.0, 0x56A0\n");
  CHECK(xpu(rows, "power.draw,temperature.gpu,utilization.gpu,memory.used,fan.speed,clocks.throttle.reason") ==
        "power.draw (W), temperature.gpu (C), utilization.gpu (%), memory.used (MiB), fan.speed (%), "
        "clocks.throttle.reason\n"
        "93.64, 69.00, 37.52, 4.5, N/A, \"Power,prochot\"\n");
  CHECK(xpu(rows, "power.draw", {.units = false}) == "power.draw\n93.64\n");
  CHECK(xpu(rows, "power.draw,uuid", {.header = false}) == "93.64, N/A\n");
}

TEST_CASE("--query-gpu knows aliases of either tool, groups and their letters, in any case, each field once") {
  const auto header = [](std::string_view names) {
    std::string out;
    write_xpu_header(xpu_fields(names), {.units = false}, out);
    return out;
  };
  CHECK(header("GPU_Name, clocks.sm,clocks.current.graphics") == "name, clocks.current.graphics\n");
  CHECK(header("gpu_bus_id,clocks.video") == "pci.bus_id, clocks.current.media\n");
  CHECK(header("pu").starts_with("temperature.gpu, temperature.memory"));
  CHECK(header("Power") ==
        "power.draw, power.draw.gpu, energy.consumed, energy.consumed.gpu, power.limit, power.max_limit\n");
  CHECK(xpu_fields("all").size() == xpu_fields("ALL,name,p").size());
  CHECK_THROWS_AS(xpu_fields(","), std::invalid_argument);
  // Removed by xpu-smi 2.4: a script learns of it here as it does there.
  for (const char* name : {"ecc.mode.current", "ecc.errors.aggregate.total", "ras.reset", "ECC", "e"})
    CHECK_THROWS_AS(xpu_fields(name), std::invalid_argument);
  for (const char* name : {"power.draw", "temperature.gpu", "memory.used", "utilization.gpu", "clocks.current.graphics",
                           "pci.bus_id", "uuid"})
    CHECK(xpu_fields(name).size() == 1);
}

TEST_CASE("Waybar gets one line: text, tooltip, class and percentage") {
  Arc machine;
  std::string out;
  write_waybar(machine.rows(), out);
  CHECK(out.find('\n') == out.size() - 1);
  const Json bar = Json::parse(out);
  CHECK(bar.at("text") == "38%");
  CHECK(bar.at("percentage") == 38);
  CHECK(bar.at("class") == "throttled");
  const std::string tooltip = bar.at("tooltip");
  CHECK(tooltip.starts_with("Arc &lt;A770&gt;\nrender 25%"));  // Pango markup
  CHECK(tooltip.find("\npower 93.64 W") != std::string::npos);
  CHECK(tooltip.find("compute") == std::string::npos);
}

TEST_CASE("Waybar's percentage is left out where the load is not known") {
  for (const bool asleep : {true, false}) {
    Machine machine;
    machine.add("gpu.suspended", {}, asleep ? 1 : 0);
    std::string out;
    write_waybar(machine.rows(), out);
    const Json bar = Json::parse(out);
    CHECK_FALSE(bar.contains("percentage"));
    CHECK(bar.at("class") == (asleep ? "suspended" : "unknown"));
  }
  std::string none;
  write_waybar({}, none);
  CHECK(Json::parse(none).at("class") == "unknown");
}

TEST_CASE("nvtop's JSON has strings with units, or null") {
  Arc machine;
  machine.add("process.clients", {{"pid", "7"}, {"comm", "ff\"mpeg"}}, 1);
  machine.add("process.busy", {{"pid", "7"}, {"comm", "ff\"mpeg"}, {"class", "video"}}, 0.31);
  machine.add("process.memory",
              {{"pid", "7"}, {"comm", "ff\"mpeg"}, {"memory_region", "local0"}, {"state", "resident"}}, 4194304);
  machine.add("gpu.processes", {}, 1);
  std::string out;
  write_nvtop(machine.rows(), out);
  const Json gpus = Json::parse(out);
  REQUIRE(gpus.size() == 1);
  const Json& gpu = gpus[0];
  CHECK(gpu.at("device_name") == "Arc <A770>");
  CHECK(gpu.at("temp") == "69C");
  CHECK(gpu.at("power_draw") == "94W");
  CHECK(gpu.at("gpu_util") == "38%");
  CHECK(gpu.at("mem_total") == "16777216");
  CHECK(gpu.at("mem_used") == "4718592");
  CHECK(gpu.at("gpu_clock").is_null());
  CHECK(gpu.at("fan_speed").is_null());
  const Json& process = gpu.at("processes").at(0);
  CHECK(process.at("pid") == "7");
  CHECK(process.at("cmdline") == "ff\"mpeg");
  CHECK(process.at("gpu_usage") == "31%");
  CHECK(process.at("gpu_mem_usage") == "25%");
  std::string none;
  write_nvtop({}, none);
  CHECK(Json::parse(none).empty());
}

TEST_CASE("the list says of each field whether it can be read, and why not") {
  Machine machine;
  machine.lacks("power", "permission");
  machine.add("temperature.value", {{"sensor", "package"}}, 69);
  const FeatureDescriptor power{.name = "power", .meaning = "Power."};
  const Finding denied{.feature = &power,
                       .collector = "power",
                       .device = "0000:03:00.0",
                       .available = false,
                       .absent = {Reason::permission, 0},
                       .cause = "perf_event_open was denied",
                       .hint = "setcap"};
  const std::string list = field_list(machine.rows(), {&denied, 1});
  CHECK(list.find("power.mean                         W    power      no\n"
                  "    permission: perf_event_open was denied\n") != std::string::npos);
  CHECK(list.find("temperature.value                  C    hwmon      yes\n") != std::string::npos);
  CHECK(list.find("temperature.vram.value             C    hwmon      no\n    hardware: this GPU has none\n") !=
        std::string::npos);
  for (const Json& field : Json::parse(field_list_json(machine.made, {&denied, 1}))) {
    const Json& gpu = field.at("gpus").at(0);
    if (field.at("field") == "power.mean") CHECK(gpu.at("hint") == "setcap");
    CHECK(gpu.at("readable") == !gpu.contains("reason"));
  }
}

TEST_CASE("the quick table uses the columns there are: a name is cut only where the line ends") {
  Arc machine;
  machine.gpus[0].name = "Battlemage G21 [Arc Pro B60 Dual 48G]";
  CHECK(quick_table(machine.rows(), 120).find(machine.gpus[0].name) != std::string::npos);
  CHECK(quick_table(machine.rows(), 80).find(machine.gpus[0].name + " ") != std::string::npos);
  CHECK(quick_table(machine.rows(), 60).find(machine.gpus[0].name) == std::string::npos);
  CHECK(quick_table(machine.rows(), 60).find("Battlemage G21 [Arc") != std::string::npos);
}

TEST_CASE("the quick table fits 80 columns, whatever a GPU is called") {
  Arc machine;
  machine.gpus[0].name = std::string(200, 'W');
  machine.gpus[0].card = "card128";
  const std::string table = quick_table(machine.rows());
  std::string_view rest = table;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    CHECK_MESSAGE(exporter::cell_width(line) <= 80, line);
    rest.remove_prefix(line.size() + 1);
  }
  CHECK(table.find("    throttled: pl1+prochot\n") != std::string::npos);
}

TEST_SUITE_END();
