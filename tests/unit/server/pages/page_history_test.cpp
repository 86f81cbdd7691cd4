// SPDX-License-Identifier: Apache-2.0
#include "server/pages/page_history.h"

#include <doctest/doctest.h>
#include <malloc.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "igpu/monitor.h"
#include "support/fake_http.h"
#include "support/recording_log.h"
#include "support/simulated_parts.h"

using namespace igpu;
using namespace igpu::exporter;
using namespace igpu::test;

namespace {

PageHistory::Time at(double seconds) {
  return PageHistory::Time(std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000)));
}

struct HostSamples {
  HostSamples& add(std::string_view metric, std::vector<LabelPair> labels, double value) {
    labels.push_back({"device", device});
    reader.add(metric, labels, value);
    return *this;
  }
  HostSamples& gpu(std::string address, double watts) {
    device = std::move(address);
    add("intel_gpu_info", {{"card", "card1"}, {"driver", "xe"}, {"kind", "discrete"}, {"name", "B580"}}, 1);
    return add("intel_gpu_power_watts", {{"domain", "card"}, {"source", "hwmon"}}, watts);
  }
  HostModel model() { return reader.finish(); }

  std::string device;
  ModelReader reader;
};

HostModel with_power(double watts) { return HostSamples().gpu("0000:03:00.0", watts).model(); }

nlohmann::json written(const PageHistory& history, double now) {
  JsonWriter json;
  json.begin_object();
  history.write(json, at(now));
  json.end_object();
  return nlohmann::json::parse(json.take()).at("history");
}

}  // namespace

TEST_SUITE_BEGIN("page_history");

TEST_CASE("a point a reading, at most one a second; times are before that of the reading") {
  PageHistory history;
  history.note(with_power(41.234567), at(1000));
  history.note(with_power(99), at(1000.5));
  history.note(with_power(42), at(1005));
  CHECK(written(history, 1006) == nlohmann::json::parse(R"({"times":[-6.0,-1.0],"series":[
      {"device":"0000:03:00.0","of":"power","values":[41.23,42.0]}],"faults":[]})"));
}

TEST_CASE("a quarter of an hour is kept, and a value that a reading lacks is null") {
  PageHistory history;
  for (int second = 0; second < 2000; ++second) {
    HostSamples machine;
    machine.gpu("0000:03:00.0", second);
    if (second % 2 == 0)
      machine.add("intel_gpu_engine_busy_ratio",
                  {{"engine", "vcs0"}, {"class", "video"}, {"gt", "0"}, {"source", "pmu"}}, 0.5);
    history.note(machine.model(), at(10'000 + second));
  }
  const nlohmann::json json = written(history, 12'000);
  CHECK(json.at("times").size() == 899);
  CHECK(json.at("times").front() == -899);
  CHECK(json.at("times").back() == -1);
  REQUIRE(json.at("series").size() == 2);
  const nlohmann::json& engine = json.at("series").front();
  CHECK(engine.at("of") == "engine 0 vcs0");
  CHECK(engine.at("values").back().is_null());
  CHECK(engine.at("values")[897] == 0.5);
  CHECK(json.at("series").back().at("values").back() == 1999);
}

TEST_CASE("a GPU that is gone for a quarter of an hour takes no memory") {
  PageHistory history;
  history.note(HostSamples().gpu("0000:03:00.0", 1).gpu("0000:07:00.0", 2).model(), at(1000));
  CHECK(written(history, 1001).at("series").size() == 2);
  for (int second = 1; second <= 900; ++second) history.note(with_power(3), at(1000 + second));
  CHECK(written(history, 1901).at("series").size() == 1);
}

TEST_CASE("however many GPUs there are, the number of lines is bounded") {
  PageHistory history;
  for (int round = 0; round < 8; ++round) {
    HostSamples machine;
    for (int i = 0; i < 100; ++i) machine.gpu(std::to_string(round * 100 + i), 1);
    history.note(machine.model(), at(1000 + round));
  }
  CHECK(written(history, 1010).at("series").size() == PageHistory::kMostSeries);
}

// Bytes that a history of half an hour has on the heap, with a reading every second. A sanitizer counts none.
std::size_t bytes_of_history(const HostModel& host, std::size_t& json_bytes) {
  const std::size_t before = ::mallinfo2().uordblks;
  const auto history = std::make_unique<PageHistory>();
  for (int second = 0; second < 1800; ++second) history->note(host, at(10'000 + second));
  const std::size_t bytes = ::mallinfo2().uordblks - before;
  JsonWriter json;
  json.begin_object();
  history->write(json, at(11'800));
  json.end_object();
  json_bytes = json.take().size();
  return bytes;
}

TEST_CASE("memory of a rack of three with channels: 0.3 MB; of 32 GPUs: 3 MB") {
  RecordingLog log;
  const auto parts = std::make_shared<SimulatedParts>("rack");
  MonitorOptions options;
  options.collectors = {{"jobs", true}, {"workloads", true}};
  const auto monitor = make_monitor(parts, options, log);
  for (int i = 0; i < 2; ++i) {  // the second has windows
    parts->clock.advance(std::chrono::seconds(1));
    (void)monitor->scrape({});
  }
  parts->clock.advance(std::chrono::seconds(1));
  const HostModel rack = model_of(PageView(monitor->scrape({})->lists()));
  REQUIRE(rack.gpus.size() == 3);
  REQUIRE(rack.channels().size() > 3);
  std::size_t json_bytes = 0;
  const std::size_t of_three = bytes_of_history(rack, json_bytes);
  MESSAGE("three GPUs: " << of_three << " bytes, " << json_bytes << " of JSON");
  CHECK(of_three <= 300'000);
  CHECK(json_bytes <= 300'000);

  HostModel many = rack;
  many.gpus.clear();
  for (std::size_t i = 0; i < 32; ++i) {
    GpuModel& gpu = many.gpus.emplace_back(rack.gpus[1 + i % 2]);
    gpu.gpu.address = "0000:" + std::to_string(100 + i) + ":00.0";
    gpu.gpu.card = "card" + std::to_string(i);
  }
  const std::size_t of_many = bytes_of_history(many, json_bytes);
  MESSAGE("32 GPUs: " << of_many << " bytes, " << json_bytes << " of JSON");
  CHECK(of_many <= 3'000'000);
}

TEST_CASE("after the clock was set back the history begins anew") {
  PageHistory history;
  history.note(with_power(1), at(100'000));
  history.note(with_power(2), at(1000));
  CHECK(written(history, 1000).at("times").size() == 1);
  history.note(with_power(3), at(2000));
  history.note(with_power(4), at(1900));  // two minutes are not waited for
  CHECK(written(history, 1900).at("times").size() == 1);
  history.note(with_power(5), at(1899));  // of a reading that took longer
  CHECK(written(history, 1900).at("times").size() == 1);
}

TEST_CASE("faults are marks") {
  PageHistory history;
  for (int second = 0; second < 3; ++second) {
    HostSamples machine;
    machine.gpu("0000:03:00.0", 1).add("intel_gpu_last_fault_timestamp_seconds", {{"kind", "hang"}}, 999);
    history.note(machine.model(), at(1000 + second));
  }
  CHECK(written(history, 1003).at("faults") ==
        nlohmann::json::parse(R"([{"device":"0000:03:00.0","kind":"hang","time":999.0}])"));
}

TEST_CASE("a process is known since it was first seen") {
  PageHistory history;
  for (int second = 0; second < 3; ++second) {
    HostSamples machine;
    machine.gpu("0000:03:00.0", 1).add("intel_gpu_process_clients", {{"pid", "4711"}, {"comm", "ffmpeg"}}, 1);
    history.note(machine.model(), at(1000 + second));
  }
  CHECK(history.first_seen(4711, "ffmpeg") == 1000);
}

TEST_CASE(
    "nothing is read for it: readings of others leave a point every five seconds; those of some collectors, none") {
  struct Readings final : ScrapeSource {
    std::shared_ptr<const ScrapeResult> scrape(const ScrapeRequest&) override {
      ++scrapes;
      return result;
    }
    std::vector<Gpu> gpus() override { return {}; }
    std::vector<std::string> enabled_collectors() const override { return {}; }
    std::shared_ptr<FakeScrape> result = std::make_shared<FakeScrape>();
    int scrapes = 0;
  } readings;
  const auto history = std::make_shared<PageHistory>();
  RememberingSource source(readings, history);
  const auto points = [&] {
    JsonWriter json;
    json.begin_object();
    history->write(json, std::chrono::system_clock::now());
    json.end_object();
    return nlohmann::json::parse(json.take()).at("history").at("times").size();
  };
  CHECK(source.scrape({.collectors = CollectorSet::only({"jobs"})}) != nullptr);
  CHECK(points() == 0);
  CHECK(source.scrape({}) != nullptr);
  CHECK(source.scrape({}) != nullptr);
  CHECK(points() == 1);
  CHECK(readings.scrapes == 3);
}

TEST_SUITE_END();
