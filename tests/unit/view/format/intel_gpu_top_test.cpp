// SPDX-License-Identifier: Apache-2.0
// JSON, lines and CSV of intel_gpu_top from pages that are written here, beside what the original printed
// (tests/captures/intel_gpu_top).
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/paths.h"
#include "support/sample_page.h"
#include "view/format/intel_gpu_top_output.h"
#include "view/query/query_output.h"

TEST_SUITE_BEGIN("intel_gpu_top");

using namespace igpu;
using namespace igpu::exporter;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

constexpr Metric<Ratio, 5> kBusyRatio{
    "intel_gpu_engine_busy_ratio", Kind::gauge, "Busy.", {"device", "gt", "engine", "class", "source"}};
constexpr Metric<Seconds, 4> kProcessBusy{
    "intel_gpu_process_engine_busy_seconds_total", Kind::counter, "Busy.", {"device", "pid", "comm", "class"}};
constexpr Metric<Ratio, 4> kProcessBusyRatio{
    "intel_gpu_process_engine_busy_ratio", Kind::gauge, "Busy.", {"device", "pid", "comm", "class"}};
constexpr Metric<Count, 3> kProcessClients{
    "intel_gpu_process_clients", Kind::gauge, "Clients.", {"device", "pid", "comm"}};
constexpr Metric<Count, 1> kProcesses{"intel_gpu_processes", Kind::gauge, "Processes.", {"device"}};
constexpr Metric<Count, 1> kInterrupts{"intel_gpu_interrupts_total", Kind::counter, "Interrupts.", {"device"}};
constexpr Metric<Watts, 3> kPower{"intel_gpu_power_watts", Kind::gauge, "Power.", {"device", "domain", "source"}};
constexpr Metric<Hertz, 3> kMeanFrequency{
    "intel_gpu_frequency_average_hertz", Kind::gauge, "Mean.", {"device", "gt", "kind"}};
constexpr Metric<Ratio, 2> kRc6{"intel_gpu_rc6_residency_ratio", Kind::gauge, "RC6.", {"device", "gt"}};
constexpr Metric<Count, 1> kSuspended{"intel_gpu_runtime_suspended", Kind::gauge, "Asleep.", {"device"}};
constexpr Metric<Bytes, 2> kTraffic{
    "intel_gpu_memory_bandwidth_bytes_total", Kind::counter, "Traffic.", {"device", "direction"}};

const char* const kGpu = "0000:00:02.0";

// A page, and the records that are made of it each time that it is read.
struct Page {
  explicit Page(IntelGpuTopLayout layout = {}) : reader(kGpu, layout) {}

  IntelGpuTopRecord read() {
    const SampleList* lists[] = {&list};
    return reader.read(model_of(PageView(lists)), 2s);
  }
  void json(IntelGpuTopJson& to, std::string& out) { to.write(read(), out); }

  SampleList list;
  IntelGpuTopReader reader;
};

void add_engines(SampleList& list, std::initializer_list<const char*> names) {
  for (const std::string name : names) {
    const std::string kind = name.substr(0, name.size() - 1);
    const char* const engine_class = kind == "rcs"    ? "render"
                                     : kind == "bcs"  ? "copy"
                                     : kind == "vcs"  ? "video"
                                     : kind == "vecs" ? "video_enhance"
                                                      : "compute";
    add_sample(list, kBusyRatio, {kGpu, "0", name, engine_class, "pmu"}, 0.5);
  }
}

// An integrated GPU as of the captures.
void fill_integrated(SampleList& list) {
  add_sample(list, kMeanFrequency, {kGpu, "0", "requested"}, 388e6);
  add_sample(list, kMeanFrequency, {kGpu, "0", "actual"}, 387e6);
  add_sample(list, kInterrupts, {kGpu}, 582);
  add_sample(list, kRc6, {kGpu, "0"}, 0.5);
  add_sample(list, kPower, {kGpu, "gpu", "rapl_pmu"}, 0.95);
  add_sample(list, kPower, {kGpu, "package", "rapl_pmu"}, 36.54);
  add_engines(list, {"rcs0", "bcs0", "vcs0", "vecs0"});
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> captured(const std::string& name) {
  std::ifstream file(source_folder() + "/tests/captures/intel_gpu_top/" + name);
  return lines_of(std::string(std::istreambuf_iterator<char>(file), {}));
}

// Some captures lost the blank at the end of their lines.
std::string without_last_blank(std::string line) {
  if (line.ends_with(' ')) line.pop_back();
  return line;
}

std::string names_of(const std::vector<IntelGpuTopRecord::Group>& groups) {
  std::string names;
  for (const auto& group : groups) names += (names.empty() ? "" : " ") + group.name;
  return names;
}

}  // namespace

TEST_CASE("only the collectors that a record's fields need are read") {
  std::set<std::string_view> collectors;
  for (const std::string_view field : IntelGpuTopReader::fields()) {
    CAPTURE(field);
    REQUIRE_FALSE(metric_of(field).empty());
    collectors.insert(query::source_of(field));
  }
  CHECK(collectors == std::set<std::string_view>{"engines", "frequency", "rc6", "power", "imc", "fdinfo"});
}

TEST_CASE("a client has no use in its first record, then percent of one engine, not capped") {
  Page page;
  IntelGpuTopJson json;
  std::string out;
  add_sample(page.list, kBusyRatio, {kGpu, "0", "vcs0", "video", "pmu"}, 1);
  add_sample(page.list, kBusyRatio, {kGpu, "0", "vcs1", "video", "pmu"}, 0.5);
  add_sample(page.list, kProcesses, {kGpu}, 1);
  add_sample(page.list, kProcessClients, {kGpu, "1234", "a\"b"}, 1);
  add_sample(page.list, kProcessBusy, {kGpu, "1234", "a\"b", "video"}, 10);
  page.json(json, out);
  page.list.clear();
  add_sample(page.list, kProcesses, {kGpu}, 1);
  add_sample(page.list, kProcessClients, {kGpu, "1234", "a\"b"}, 1);
  add_sample(page.list, kProcessBusy, {kGpu, "1234", "a\"b", "video"}, 13);
  page.json(json, out);
  json.finish(out);
  const auto records = nlohmann::json::parse(out);
  REQUIRE(records.size() == 2);
  CHECK(records[0]["engines"]["Video"]["busy"] == 75);
  const auto& first = records[0]["clients"]["4294966062"];
  CHECK(first["name"] == "a\"b");
  CHECK_FALSE(first.contains("engine-classes"));
  CHECK(records[1]["clients"]["4294966062"]["engine-classes"]["Video"]["busy"] == "150.000000");
  CHECK_FALSE(records[1].contains("power"));
}

TEST_CASE("a process on two engines has the sum of both, whichever series it is computed from") {
  Page page;
  IntelGpuTopJson json;
  std::string out;
  for (const double seconds : {10.0, 11.75}) {
    page.list.clear();
    add_sample(page.list, kBusyRatio, {kGpu, "0", "vcs0", "video", "pmu"}, 1);
    add_sample(page.list, kBusyRatio, {kGpu, "0", "vcs1", "video", "pmu"}, 0.75);
    add_sample(page.list, kProcesses, {kGpu}, 1);
    add_sample(page.list, kProcessClients, {kGpu, "7", "ffmpeg"}, 1);
    add_sample(page.list, kProcessBusy, {kGpu, "7", "ffmpeg", "video"}, seconds);
    add_sample(page.list, kProcessBusyRatio, {kGpu, "7", "ffmpeg", "video"}, 0.875);
    page.json(json, out);
  }
  json.finish(out);
  const auto records = nlohmann::json::parse(out);
  CHECK(records[1]["engines"]["Video"]["busy"] == 87.5);
  CHECK(records[1]["clients"]["4294967289"]["engine-classes"]["Video"]["busy"] == "175.000000");
}

TEST_CASE("power of a card is not shown, that of a processor is") {
  Page page;
  IntelGpuTopJson json;
  std::string out;
  add_sample(page.list, kPower, {kGpu, "card", "hwmon"}, 100);
  add_sample(page.list, kPower, {kGpu, "package", "hwmon"}, 90);
  page.json(json, out);
  add_sample(page.list, kPower, {kGpu, "package", "rapl_pmu"}, 15);
  page.json(json, out);
  json.finish(out);
  const auto records = nlohmann::json::parse(out);
  CHECK_FALSE(records[0].contains("power"));
  CHECK(records[1]["power"]["Package"] == 15);
  CHECK(records[1]["power"]["GPU"] == 0);
  CHECK_FALSE(records[0].contains("clients"));
}

TEST_CASE("an empty list is an array as well, and the older layout has no array") {
  std::string out;
  IntelGpuTopJson().finish(out);
  CHECK(nlohmann::json::parse(out).empty());
  Page page;
  fill_integrated(page.list);
  for (const bool in_array : {true, false}) {
    IntelGpuTopJson json(in_array);
    out.clear();
    page.json(json, out);
    CHECK(out.starts_with(in_array ? "[\n\n{\n\t\"period\": {\n" : "\n{\n\t\"period\": {\n"));
    CHECK(out.ends_with("\n\t}\n}"));  // the line ends when the next record begins
    page.json(json, out);
    json.finish(out);
    CHECK(out.find("\n},\n{\n") != std::string::npos);
    CHECK(out.ends_with(in_array ? "\n}]\n" : "\n}"));
  }
}

TEST_CASE("since 1.28 frequency and RC6 are always there; before, only what is known") {
  Page page, older({.older = true});
  for (Page* one : {&page, &older}) add_engines(one->list, {"rcs0"});
  CHECK(names_of(page.read().groups) == "frequency rc6");
  CHECK(names_of(older.read().groups).empty());
}

TEST_CASE("classes, or engines one by one") {
  Page page, physical({.physical = true}), older({.older = true});
  for (Page* one : {&page, &physical, &older}) add_engines(one->list, {"rcs0", "vcs0", "vcs1", "ccs0"});
  CHECK(names_of(page.read().engines) == "Render/3D Video Compute");
  CHECK(names_of(physical.read().engines) == "Render/3D/0 Video/0 Video/1 Compute/0");
  CHECK(names_of(older.read().engines) == "Render/3D/0 Video/0 Video/1 [unknown]/0");
  CHECK(older.read().engines.back().title == "UNKN/0");
}

TEST_CASE("engines that nothing counts are 0: readers take the lack of engines for an error") {
  Page page;
  page.list.clear();
  add_sample(page.list, kRc6, {kGpu, "0"}, 1);
  CHECK(names_of(page.read().engines) == "Render/3D Blitter Video VideoEnhance");
  CHECK(page.read().engines.front().items.front().value == 0);
}

TEST_CASE("an engine keeps its place while its counter is closed, and has its class's use meanwhile") {
  Page page({.physical = true});
  add_engines(page.list, {"rcs0", "vcs0", "vcs1"});
  CHECK(names_of(page.read().engines) == "Render/3D/0 Video/0 Video/1");
  page.list.clear();
  add_sample(page.list, kBusyRatio, {kGpu, "", "video", "video", "fdinfo"}, 0.25);
  const IntelGpuTopRecord record = page.read();
  CHECK(names_of(record.engines) == "Render/3D/0 Video/0 Video/1");
  CHECK(record.engines.back().items.front().value == 25);
}

TEST_CASE("-p shows frequency and RC6 of each GT; the older layout those of the first") {
  Page page, physical({.physical = true}), older({.older = true});
  for (Page* one : {&page, &physical, &older}) {
    for (const char* const gt : {"0", "1"}) {
      add_sample(one->list, kMeanFrequency, {kGpu, gt, "actual"}, gt[0] == '0' ? 1e9 : 2e9);
      add_sample(one->list, kRc6, {kGpu, gt}, gt[0] == '0' ? 0.25 : 0.75);
    }
  }
  CHECK(page.read().groups.front().items.back().value == 1500);
  CHECK(older.read().groups.front().items.back().value == 1000);
  CHECK(names_of(physical.read().groups) == "frequency-gt0 frequency-gt1 rc6-gt0 rc6-gt1");
  std::string out;
  IntelGpuTopText(IntelGpuTopText::Form::table).write(physical.read(), out);
  CHECK(lines_of(out)[0].starts_with(" Freq GT0 MHz  Freq GT1 MHz  RC6 GT0  RC6 GT1 "));
  CHECK(lines_of(out)[1].starts_with("   req    act    req    act        %        % "));
}

TEST_CASE("a GPU that sleeps keeps its groups: no clock, and nothing but RC6") {
  const auto wake = [](Page& page) {
    page.list.clear();
    for (const char* const gt : {"0", "1"}) {
      add_sample(page.list, kMeanFrequency, {kGpu, gt, "actual"}, 1e9);
      add_sample(page.list, kRc6, {kGpu, gt}, 0.25);
    }
  };
  const auto sleep = [](Page& page) {
    page.list.clear();
    add_sample(page.list, kSuspended, {kGpu}, 1);
  };
  const auto value = [](const IntelGpuTopRecord& record, std::size_t group) {
    return record.groups.at(group).items.back().value;
  };
  Page awake({.physical = true});
  wake(awake);
  (void)awake.read();
  sleep(awake);
  const IntelGpuTopRecord slept = awake.read();
  CHECK(names_of(slept.groups) == "frequency-gt0 frequency-gt1 rc6-gt0 rc6-gt1");
  CHECK(value(slept, 0) == 0);
  CHECK(value(slept, 2) == 100);
  CHECK(value(slept, 3) == 100);

  Page older({.older = true});
  sleep(older);
  CHECK(names_of(older.read().groups) == "frequency rc6");

  // The columns of a table are those of the first record.
  Page asleep({.physical = true});
  IntelGpuTopText table(IntelGpuTopText::Form::table);
  std::string out;
  sleep(asleep);
  table.write(asleep.read(), out);
  wake(asleep);
  table.write(asleep.read(), out);
  CHECK(lines_of(out)[1].starts_with(" req  act   % "));
  CHECK(lines_of(out)[2].starts_with("   0    0 100 "));
  CHECK(lines_of(out)[3].starts_with("   0 1000  25 "));
}

TEST_CASE("names of processes are ASCII, as some readers demand") {
  Page page;
  add_sample(page.list, kProcesses, {kGpu}, 1);
  add_sample(page.list, kProcessClients, {kGpu, "7", "caf\xc3\xa9\n"}, 1);
  REQUIRE(page.read().clients);
  CHECK(page.read().clients->front().name == "caf***");
}

TEST_CASE("the table has the columns and widths of the original") {
  Page page;
  fill_integrated(page.list);
  std::string out;
  IntelGpuTopText(IntelGpuTopText::Form::table).write(page.read(), out);
  const std::vector<std::string> ours = lines_of(out), theirs = captured("line-igpu-idle-k8s.txt");
  CHECK(ours.at(0) == theirs.at(0));
  CHECK(ours.at(1) == theirs.at(1));
  CHECK(ours.at(2) ==
        " 388  387      291  50  0.95 36.54   50.00   0   0   50.00   0   0   50.00   0   0   50.00   0   0 ");

  // With a compute engine and without power; with traffic.
  Page card, traffic;
  add_sample(card.list, kMeanFrequency, {kGpu, "0", "actual"}, 1e9);
  add_sample(card.list, kInterrupts, {kGpu}, 0);
  add_sample(card.list, kRc6, {kGpu, "0"}, 0);
  add_engines(card.list, {"rcs0", "bcs0", "vcs0", "vecs0", "ccs0"});
  out.clear();
  IntelGpuTopText(IntelGpuTopText::Form::table).write(card.read(), out);
  CHECK(without_last_blank(lines_of(out)[0]) == without_last_blank(captured("header-variants.txt").at(0)));
  CHECK(without_last_blank(lines_of(out)[1]) == without_last_blank(captured("header-variants.txt").at(1)));

  fill_integrated(traffic.list);
  add_sample(traffic.list, kTraffic, {kGpu, "read"}, 1);
  add_sample(traffic.list, kTraffic, {kGpu, "write"}, 1);
  out.clear();
  IntelGpuTopText(IntelGpuTopText::Form::table).write(traffic.read(), out);
  CHECK(lines_of(out)[0] == captured("line-2026-imc-two-power.txt").at(0));
  CHECK(lines_of(out)[1] == captured("line-2026-imc-two-power.txt").at(1));
}

TEST_CASE("the first of two columns of a group may be missing") {
  Page page;
  add_sample(page.list, kPower, {kGpu, "package", "rapl_pmu"}, 9);
  std::string out;
  IntelGpuTopText(IntelGpuTopText::Form::table).write(page.read(), out);
  CHECK(lines_of(out)[0].starts_with(" Freq MHz RC6                   RCS "));
  CHECK(lines_of(out)[1].starts_with(" req  act   %   pkg       %  se  wa "));
  CHECK(lines_of(out)[2].starts_with("   0    0   0  9.00    0.00   0   0 "));
}

TEST_CASE("a number that is too wide loses decimals before it is X") {
  Page page;
  add_sample(page.list, kPower, {kGpu, "package", "rapl_pmu"}, 123.456);
  add_sample(page.list, kMeanFrequency, {kGpu, "0", "actual"}, 12345e6);
  std::string out;
  IntelGpuTopText(IntelGpuTopText::Form::table).write(page.read(), out);
  CHECK(lines_of(out)[2].starts_with("   0 XXXX   0 123.5 "));
}

TEST_CASE("CSV has the columns of the original, and one header") {
  Page page;
  fill_integrated(page.list);
  IntelGpuTopText csv(IntelGpuTopText::Form::csv, true);
  std::string out;
  for (int i = 0; i < 40; ++i) csv.write(page.read(), out);
  const std::vector<std::string> lines = lines_of(out);
  REQUIRE(lines.size() == 41);
  CHECK(lines[0] == captured("csv-headers.txt").at(1));
  CHECK(lines[1].starts_with("388.000000,387.000000,291.000000,50.000000,0.950000,36.540000,50.000000,0.000000,"));
  CHECK(std::count(lines[1].begin(), lines[1].end(), ',') == std::count(lines[0].begin(), lines[0].end(), ','));
}

TEST_CASE("the header of the table comes again only on a terminal, after each screen") {
  Page page;
  fill_integrated(page.list);
  for (const bool repeats : {false, true}) {
    IntelGpuTopText table(IntelGpuTopText::Form::table, repeats);
    std::string out;
    for (int i = 0; i < 37; ++i) table.write(page.read(), out);
    CHECK(lines_of(out).size() == (repeats ? 37 + 3 * 2 : 37 + 2));
  }
}

TEST_CASE("a GPU that goes away: JSON goes on without its values, a table waits, and columns keep their places") {
  Page page;
  fill_integrated(page.list);
  IntelGpuTopText table(IntelGpuTopText::Form::table);
  std::string out;
  table.write(page.read(), out);
  page.list.clear();
  CHECK_FALSE(page.read().gpu_found);
  std::string json;
  IntelGpuTopJson writer;
  page.json(writer, json);
  writer.finish(json);
  CHECK(nlohmann::json::parse(json)[0].size() == 2);  // period, and engines without any
  const std::size_t before = out.size();
  table.write(page.read(), out);
  CHECK(out.size() == before);
  add_sample(page.list, kRc6, {kGpu, "0"}, 1);
  table.write(page.read(), out);
  CHECK(lines_of(out).back() ==
        "   0    0        0 100  0.00  0.00    0.00   0   0    0.00   0   0    0.00   0   0    0.00   0   0 ");
}

TEST_SUITE_END();
