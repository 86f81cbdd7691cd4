// SPDX-License-Identifier: Apache-2.0
#include "server/flights/flight_files.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "trace/trace_file.h"

using namespace igpu;
using namespace igpu::exporter;
using namespace std::chrono_literals;

namespace {

Flight flight() {
  Flight made;
  made.number = 7;
  made.event = {FlightCause::hang, "0000:03:00.0", "job_timeout", 3s};
  made.more_events = 2;
  made.frozen = 13s;
  made.unix_offset = std::chrono::seconds(1'700'000'000);
  made.more_clients = 5;
  made.more_faults = 6;
  made.gpus.push_back({"0000:03:00.0",
                       {{"gt0 vcs0 busy", "ratio"}, {"card power", "watts"}},
                       {{2s, "sampled", 0}, {2100ms, "sampled", 3}, {2200ms, "sleeping", 0}},
                       {0.25F, 75.5F, 1.0F, 80.0F, NAN, NAN}});
  made.clients.push_back({"0000:03:00.0", 17, 2101, "ffmpeg", 1s, 3s});
  made.clients.push_back({"0000:03:00.0", 18, 2102, "", 2s, 2s});
  made.faults.push_back({"0000:03:00.0", "Timedout job: seqno=4294967173, in ffmpeg [2101]", 3s});
  return made;
}

std::vector<nlohmann::json> lines_of(const std::string& text) {
  std::vector<nlohmann::json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

}  // namespace

TEST_SUITE_BEGIN("flight_files");

TEST_CASE("the list tells the cause and the time of day of each flight") {
  const std::vector<std::shared_ptr<const Flight>> flights{std::make_shared<const Flight>(flight())};
  const auto list = nlohmann::json::parse(flight_list_json(flights));
  REQUIRE(list.size() == 1);
  CHECK(list[0]["number"] == 7);
  CHECK(list[0]["cause"] == "hang");
  CHECK(list[0]["device"] == "0000:03:00.0");
  CHECK(list[0]["detail"] == "job_timeout");
  CHECK(list[0]["time"] == 1'700'000'003.0);
  CHECK(list[0]["more_events"] == 2);
  CHECK(flight_list_json({}) == "[]\n");
}

TEST_CASE("the lines hold every value, and null for what was not read") {
  const auto lines = lines_of(flight_json_lines(flight()));
  REQUIRE(lines.size() == 9);
  CHECK(lines[0]["flight"]["cause"] == "hang");
  CHECK(lines[0]["flight"]["more_clients"] == 5);
  CHECK(lines[0]["flight"]["more_faults"] == 6);
  CHECK(lines[1]["gpu"]["values"][1] == nlohmann::json({{"name", "card power"}, {"unit", "watts"}}));
  CHECK(lines[2]["sample"]["values"] == nlohmann::json({0.25, 75.5}));
  CHECK(lines[2]["sample"]["time"] == 1'700'000'002.0);
  CHECK(lines[3]["sample"]["missed"] == 3);
  CHECK(lines[4]["sample"]["state"] == "sleeping");
  CHECK(lines[4]["sample"]["values"] == nlohmann::json({nullptr, nullptr}));
  CHECK(lines[5]["client"]["comm"] == "ffmpeg");
  CHECK(lines[7]["fault"]["text"] == "Timedout job: seqno=4294967173, in ffmpeg [2101]");
  CHECK(lines[8]["end"]["lines"] == 8);
}

TEST_CASE("the trace is read back") {
  const auto trace = read_trace(flight_trace(flight(), 4s));
  REQUIRE(trace);
  CHECK(trace->whole());
  REQUIRE(trace->counters.size() == 2);
  const auto& busy = trace->counters.begin()->second;
  CHECK(busy.name == "0000:03:00.0 gt0 vcs0 busy");
  CHECK(busy.unit == "ratio");
  CHECK(busy.values == std::vector<double>{0.25, 1});
  CHECK(std::next(trace->counters.begin())->second.values == std::vector<double>{75.5, 80});
  CHECK(trace->clients == std::vector<std::string>{"ffmpeg 2101", "pid 2102"});
  CHECK(trace->marks == std::vector<std::string>{"job_timeout", "Timedout job: seqno=4294967173, in ffmpeg [2101]"});
}

TEST_CASE("trace report shows what happened and the range of each series") {
  const auto trace = read_trace(flight_trace(flight(), 4s));
  REQUIRE(trace);
  CHECK(trace_overview(*trace) ==
        "event: job_timeout\n"
        "event: Timedout job: seqno=4294967173, in ffmpeg [2101]\n"
        "client: ffmpeg 2101\n"
        "client: pid 2102\n"
        "\n"
        "series                      samples       min           mean          max           last          unit\n"
        "0000:03:00.0 gt0 vcs0 busy  2             0.25          0.625         1             1             ratio\n"
        "0000:03:00.0 card power     2             75.5          77.75         80            80            watts\n");
}

TEST_CASE("a trace that is cut at any byte is read as far as it is whole") {
  const std::string whole = flight_trace(flight(), 4s);
  std::size_t last = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto trace = read_trace(std::string_view(whole).substr(0, size));
    if (!trace) {
      CHECK(last == 0);  // the names are not there yet
      continue;
    }
    CHECK(trace->damaged == 0);
    std::size_t found = trace->marks.size() + trace->clients.size();
    for (const auto& [track, counter] : trace->counters) found += counter.values.size();
    CHECK(found >= last);
    last = found;
  }
  CHECK(last >= 7);
}
