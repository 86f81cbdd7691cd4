// SPDX-License-Identifier: Apache-2.0
#include "collector/level_zero/level_zero.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "support/fake_page_folder.h"
#include "support/level_zero_page.h"

using namespace igpu;
using namespace std::chrono_literals;
using test::LevelZeroPageBytes;
using ResourceKind = level_zero::Kind;

namespace {

using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

class Scene {
 public:
  const std::shared_ptr<test::FakePages> pages = std::make_shared<test::FakePages>();

  void program(const std::string& name, LevelZeroPageBytes page, std::optional<std::int32_t> holder,
               std::uint32_t owner = 1000) {
    pages->files[name] = {page.bytes(), holder, owner};
  }
  void scrape(Nanoseconds after = 1s) {
    now_ += after;
    sink.clear();
    collector_.collect(now_, sink);
  }
  std::size_t count(std::string_view metric, Labels labels = {}) const {
    const auto& samples = sink.samples().samples();
    return static_cast<std::size_t>(std::count_if(samples.begin(), samples.end(), [&](const auto& sample) {
      return sample.metric->name == metric && matches(sample, labels);
    }));
  }
  std::optional<double> value(std::string_view metric, Labels labels = {}) const {
    if (count(metric, labels) != 1) return std::nullopt;
    for (const auto& sample : sink.samples().samples())
      if (sample.metric->name == metric && matches(sample, labels)) return sample.value;
    return std::nullopt;
  }

  SampleSink sink;
  std::uint64_t realtime = 0;  // in nanoseconds

 private:
  bool matches(const SampleList::Sample& sample, Labels labels) const {
    return std::all_of(labels.begin(), labels.end(), [&](const auto& label) {
      for (std::size_t i = 0; i < sample.metric->label_count; ++i)
        if (sample.metric->label_names[i] == label.first) return sink.samples().label_value(sample, i) == label.second;
      return false;
    });
  }

  Nanoseconds now_ = 1h;
  LevelZeroCollector collector_{std::make_unique<test::FakePageFolder>(pages), 15min, 20000,
                                [this] { return realtime; }};
};

}  // namespace

TEST_SUITE_BEGIN("level zero");

TEST_CASE("a running program's resources, memory, calls and errors are reported under the pid that the lock names") {
  Scene scene;
  scene.program("42-10.l0", {}, 17878);
  scene.scrape();
  const Labels program = {{"pid", "17878"}, {"comm", "trainer"}, {"resource", "memory_device"}};
  CHECK(scene.value("intel_gpu_level_zero_resources", program) == 2);
  CHECK(scene.value("intel_gpu_level_zero_resources_peak", program) == 4);
  CHECK(scene.value("intel_gpu_level_zero_resources_created_total", program) == 5);
  CHECK(scene.value("intel_gpu_level_zero_resources_destroyed_total", program) == 3);
  CHECK(scene.value("intel_gpu_level_zero_memory_bytes", {{"pid", "17878"}, {"memory", "device"}}) == 8192);
  CHECK(scene.value("intel_gpu_level_zero_memory_peak_bytes", {{"memory", "device"}}) == 16384);
  CHECK(scene.value("intel_gpu_level_zero_memory_allocated_bytes_total", {{"memory", "device"}}) == 20480);
  CHECK(scene.value("intel_gpu_level_zero_calls_total", {{"function", "zeContextCreate"}}) == 3);
  CHECK(scene.value("intel_gpu_level_zero_errors_total", {{"function", "zeContextCreate"}}) == 1);
  CHECK(scene.value("intel_gpu_level_zero_invalid_destroys_total") == 0);
  CHECK(scene.value("intel_gpu_level_zero_untracked_resources_total") == 0);
  CHECK(scene.count("intel_gpu_level_zero_ended") == 0);
  CHECK(scene.count("intel_gpu_level_zero_leaked_resources") == 0);
  REQUIRE(scene.sink.features().size() == 1);
  CHECK(scene.sink.features().front().available);
}

TEST_CASE("without the folder there are no series, the feature is disabled, and nothing has failed") {
  Scene scene;
  scene.pages->exists = false;
  scene.scrape();
  CHECK(scene.sink.samples().samples().empty());
  CHECK(scene.sink.failures().empty());
  REQUIRE(scene.sink.features().size() == 1);
  CHECK_FALSE(scene.sink.features().front().available);
  CHECK(scene.sink.features().front().absent.reason == Reason::disabled);
}

TEST_CASE("what an ended program leaked is reported for the retention, under the pid it had") {
  Scene scene;
  LevelZeroPageBytes page;
  scene.program("42-10.l0", page, 17878);
  scene.scrape();
  page.header().ended_realtime_ns = 2'000'000'000;
  scene.program("42-10.l0", page, std::nullopt);
  scene.scrape();
  CHECK(scene.value("intel_gpu_level_zero_ended", {{"pid", "17878"}, {"how", "exit"}}) == 1);
  CHECK(scene.value("intel_gpu_level_zero_leaked_resources", {{"pid", "17878"}, {"resource", "memory_device"}}) == 2);
  CHECK(scene.value("intel_gpu_level_zero_leaked_bytes", {{"pid", "17878"}, {"memory", "device"}}) == 8192);
  CHECK(scene.count("intel_gpu_level_zero_resources") == 0);
  const std::size_t opened = scene.pages->opened;
  scene.scrape(15min);
  CHECK(scene.count("intel_gpu_level_zero_ended") == 1);
  scene.scrape();
  CHECK(scene.count("intel_gpu_level_zero_ended") == 0);
  CHECK(scene.count("intel_gpu_level_zero_leaked_resources") == 0);
  CHECK(scene.pages->opened == opened);  // its file is not read again
  scene.pages->files.clear();
  scene.scrape();
  scene.program("42-10.l0", page, std::nullopt);  // another program's, of the same name
  scene.scrape();
  CHECK(scene.count("intel_gpu_level_zero_ended") == 1);
}

TEST_CASE("an exporter that starts later reports an exit for the rest of its retention only") {
  Scene scene;
  constexpr std::uint64_t kEnd = 5'000'000'000'000;
  constexpr std::uint64_t kMinute = 60'000'000'000;
  LevelZeroPageBytes page;
  page.header().ended_realtime_ns = kEnd;
  scene.program("42-10.l0", page, std::nullopt);
  page.header().ended_realtime_ns = kEnd - 2 * kMinute;
  scene.program("43-10.l0", page, std::nullopt);
  scene.realtime = kEnd + 14 * kMinute;
  scene.scrape();
  CHECK(scene.value("intel_gpu_level_zero_ended") == 1);
  scene.scrape(1min);
  CHECK(scene.value("intel_gpu_level_zero_ended") == 1);
  scene.scrape();
  CHECK(scene.count("intel_gpu_level_zero_ended") == 0);
}

TEST_CASE("a program whose exit handlers did not run was killed, and one that leaked nothing says so") {
  Scene scene;
  LevelZeroPageBytes page;
  page.kind(ResourceKind::memory_device) = {
      .created = 3, .destroyed = 3, .live_peak = 1, .bytes_peak = 10, .bytes_allocated = 30};
  scene.program("42-10.l0", page, std::nullopt);
  scene.scrape();
  CHECK(scene.value("intel_gpu_level_zero_ended", {{"pid", "42"}, {"how", "killed"}}) == 1);
  CHECK(scene.value("intel_gpu_level_zero_leaked_resources") == 0);
  CHECK(scene.value("intel_gpu_level_zero_leaked_bytes") == 0);
}

TEST_CASE("files of programs with the same labels add up") {
  Scene scene;
  LevelZeroPageBytes same;
  std::strcpy(same.header().comm, "a\xff");
  LevelZeroPageBytes other;
  std::strcpy(other.header().comm, "a\xfe");  // written as the same label
  scene.program("2-10.l0", same, 0);
  scene.program("2-11.l0", other, 0);
  scene.program("2-12.l0", same, std::nullopt);
  scene.program("2-13.l0", same, std::nullopt);
  scene.scrape();
  scene.scrape();
  CHECK(scene.value("intel_gpu_level_zero_resources", {{"resource", "memory_device"}}) == 4);
  CHECK(scene.value("intel_gpu_level_zero_calls_total") == 6);
  CHECK(scene.value("intel_gpu_level_zero_ended") == 2);
  CHECK(scene.value("intel_gpu_level_zero_leaked_resources") == 4);
}

TEST_CASE("kinds without bytes are in no memory series, and reserved addresses are a memory of their own") {
  Scene scene;
  LevelZeroPageBytes page;
  page.kind(ResourceKind::event) = {.created = 1, .live = 1, .live_peak = 1};
  page.kind(ResourceKind::virtual_memory) = {
      .created = 1, .live = 1, .live_peak = 1, .bytes = 4096, .bytes_peak = 4096, .bytes_allocated = 4096};
  scene.program("1-1.l0", page, 1);
  scene.scrape();
  CHECK(scene.value("intel_gpu_level_zero_resources", {{"resource", "event"}}) == 1);
  CHECK(scene.value("intel_gpu_level_zero_memory_bytes", {{"memory", "virtual"}}) == 4096);
  CHECK(scene.count("intel_gpu_level_zero_memory_bytes") == 2);
}

TEST_CASE("rejected files are counted once by reason, and the programs beside them are reported") {
  Scene scene;
  scene.program("1-1.l0", {}, 1);
  LevelZeroPageBytes bad;
  bad.header().version = 9;
  scene.program("1-2.l0", bad, 1);
  scene.scrape();
  scene.scrape();
  CHECK(scene.value("intel_gpu_level_zero_pages_rejected_total", {{"reason", "version"}}) == 1);
  CHECK(scene.value("intel_gpu_level_zero_pages_rejected_total", {{"reason", "implausible"}}) == 0);
  CHECK(scene.count("intel_gpu_level_zero_pages_rejected_total") == kPageRejections);
  CHECK(scene.value("intel_gpu_level_zero_invalid_destroys_total") == 0);
  CHECK(scene.sink.failures().empty());
}

TEST_CASE("users share a bounded number of series, and what is left out is counted once") {
  Scene scene;
  LevelZeroPageBytes page;
  for (std::size_t i = 0; i < level_zero::kFunctions; ++i) page.call(i, 0) = {1, 0};
  for (int i = 0; i < 1000; ++i) scene.program("1-" + std::to_string(1000 + i) + ".l0", page, 10000 + i, 1001);
  for (int i = 0; i < 20; ++i) scene.program("2-" + std::to_string(10 + i) + ".l0", page, 20000 + i, 1002);
  for (int round = 0; round < 2; ++round) {
    scene.scrape();
    CHECK(scene.sink.samples().samples().size() <= 20000 + kPageRejections);
    CHECK(scene.sink.samples().samples().size() > 19000);
    for (int i = 0; i < 20; ++i)
      CHECK(scene.count("intel_gpu_level_zero_untracked_resources_total", {{"pid", std::to_string(20000 + i)}}) == 1);
    const std::size_t reported = scene.count("intel_gpu_level_zero_untracked_resources_total");
    CHECK(scene.value("intel_gpu_level_zero_pages_rejected_total", {{"reason", "too_many_series"}}) ==
          static_cast<double>(1020 - reported));
  }
}

TEST_CASE("programs that end one after the other do not fill the memory, and leave their share to others") {
  Scene scene;
  scene.program("2-1.l0", {}, std::nullopt, 1002);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 1000; ++i)
      scene.program("1-" + std::to_string(1000 * round + i) + ".l0", {}, std::nullopt, 1001);
    scene.scrape();
  }
  CHECK(scene.value("intel_gpu_level_zero_ended", {{"comm", "trainer"}}) == 1024);
  CHECK(scene.value("intel_gpu_level_zero_pages_rejected_total", {{"reason", "too_many"}}) == 3001 - 1024);
}

TEST_SUITE_END();
