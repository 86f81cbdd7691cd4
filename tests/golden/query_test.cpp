// SPDX-License-Identifier: Apache-2.0
// What `query` and the formats of `stats` that are made of its fields print for every simulation profile:
// tests/queries.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "fake/simulation/simulation.h"
#include "igpu/monitor.h"
#include "support/golden.h"
#include "support/recording_log.h"
#include "support/simulated_parts.h"
#include "text/text.h"
#include "view/query/query_output.h"

using namespace igpu;
using namespace igpu::exporter::query;
using namespace igpu::simulation;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

// Twelve seconds of a profile.
struct Watched {
  explicit Watched(std::string_view profile) : parts(std::make_shared<SimulatedParts>(profile)) {
    monitor = make_monitor(parts, {}, log);
    for (int i = 0; i < 12; ++i) {
      parts->clock.advance(1s);
      result = monitor->scrape({});
    }
    host = model_of(PageView(result->lists()));
    gpus = monitor->gpus();
    rows = rows_of(host, gpus, std::chrono::sys_days(2026y / 11 / 23));
  }

  RecordingLog log;
  std::shared_ptr<SimulatedParts> parts;
  std::unique_ptr<Monitor> monitor;
  std::shared_ptr<const ScrapeResult> result;
  HostModel host;
  std::vector<Gpu> gpus;
  std::vector<Row> rows;
};

Fields all_fields() {
  Fields all;
  for (const Field& field : fields()) all.push_back(field);
  return all;
}

template <class Write>
std::string written(const Write& write) {
  std::string out;
  write(out);
  return out;
}

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = text.find(separator); end != std::string::npos; end = text.find(separator, begin)) {
    parts.push_back(text.substr(begin, end - begin));
    begin = end + separator.size();
  }
  if (begin < text.size()) parts.push_back(text.substr(begin));
  return parts;
}

}  // namespace

TEST_SUITE_BEGIN("query_golden");

TEST_CASE("every simulation profile has its output") {
  for (const SimulationProfile& profile : simulation_profiles()) {
    const Watched watched(profile.name);
    const std::vector<Row>& rows = watched.rows;
    const Fields all = all_fields();
    const auto xpu = xpu_fields("ALL");
    const Template text("{card} {engine.video.busy}% {power}W");
    std::string out;
    const auto part = [&](const std::string& command, const std::string& output) {
      out += "$ " + command + '\n' + output + '\n';
    };
    part("query", quick_table(rows));
    part("query --list", field_list(rows, watched.result->findings()));
    part("query --fields ...", written([&](std::string& to) {
           write_csv_header(all, {}, to);
           write_csv(all, {}, rows, to);
         }));
    part("query --fields ... --format json", written([&](std::string& to) { write_json(all, rows, to); }));
    part("query --query-gpu=ALL", written([&](std::string& to) {
           write_xpu_header(xpu, {}, to);
           write_xpu_csv(xpu, rows, to);
         }));
    part("stats --format waybar", written([&](std::string& to) { write_waybar(rows, to); }));
    part("stats --format nvtop", written([&](std::string& to) { write_nvtop(rows, to); }));
    part("stats --template '{card} {engine.video.busy}% {power}W'",
         written([&](std::string& to) { text.write(rows, to); }));
    compare_with_golden("tests/queries/" + std::string(profile.name) + ".txt", out);
  }
}

TEST_CASE("a field that is queried alone has the value that it has among all") {
  for (const SimulationProfile& profile : simulation_profiles()) {
    const Watched watched(profile.name);
    const Fields all = all_fields();
    const CsvStyle style{.header = false};
    const auto together = split(written([&](std::string& to) { write_csv(all, style, watched.rows, to); }), "\n");
    REQUIRE(together.size() == watched.rows.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      INFO(profile.name << " " << all[i].name);
      const auto alone = split(written([&](std::string& to) { write_csv({all[i]}, style, watched.rows, to); }), "\n");
      REQUIRE(alone.size() == together.size());
      for (std::size_t gpu = 0; gpu < alone.size(); ++gpu) CHECK(alone[gpu] == split(together[gpu], ", ").at(i));
    }
  }
}

TEST_CASE("every number of the list is on at least one machine") {
  Fields never = all_fields();
  for (const SimulationProfile& profile : simulation_profiles()) {
    const Watched watched(profile.name);
    for (const Row& row : watched.rows)
      std::erase_if(never, [&](const Field& field) { return static_cast<bool>(field.get(row)); });
  }
  std::string names;
  for (const Field& field : never) names.append(field.name).append(" ");
  CHECK(names == "");
}

TEST_CASE("tables fit 80 columns") {
  for (const SimulationProfile& profile : simulation_profiles()) {
    const Watched watched(profile.name);
    for (const std::string& text : {quick_table(watched.rows), field_list(watched.rows, watched.result->findings())})
      for (const std::string& line : split(text, "\n")) CHECK_MESSAGE(exporter::cell_width(line) <= 80, line);
  }
}

TEST_SUITE_END();
