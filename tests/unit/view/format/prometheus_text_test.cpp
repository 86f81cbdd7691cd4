// SPDX-License-Identifier: Apache-2.0

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "support/exposition_parser.h"
#include "support/sample_page.h"
#include "view/format/text_writer.h"

TEST_SUITE_BEGIN("prometheus_text");

TEST_CASE("a character to escape is found at every position of a text, and no other is") {
  for (std::size_t size = 0; size <= 40; ++size) {
    const std::string plain(size, size % 2 == 0 ? 'a' : '\xbd');
    CHECK_FALSE(igpu::exporter::needs_escape(plain));
    for (std::size_t at = 0; at < size; ++at) {
      for (const char c : {'"', '\\', '\n'}) {
        std::string text = plain;
        text[at] = c;
        CHECK(igpu::exporter::needs_escape(text));
        for (const int beside : {-1, 1}) {
          text[at] = static_cast<char>(c + beside);
          CHECK_FALSE(igpu::exporter::needs_escape(text));
        }
        text[at] = static_cast<char>(c ^ '\x80');
        CHECK_FALSE(igpu::exporter::needs_escape(text));
      }
    }
  }
}

using namespace igpu;
using namespace igpu::test;

namespace {

std::string written(const SampleList& list) {
  const SampleList* lists[] = {&list};
  std::string out;
  exporter::write_prometheus_text(PageView(lists), out);
  return out;
}

std::string value_of(double value) {
  SampleList list;
  add_sample(list, kPageDevices, {}, value);
  const std::string page = written(list);
  const std::string sample = page.substr(page.rfind("test_devices ") + 13);
  return sample.substr(0, sample.size() - 1);
}

}  // namespace

TEST_CASE("a whole page") {
  SampleList list;
  add_sample(list, kPageInfo, {"0000:03:00.0", "Arc A770", ""}, 1);
  add_sample(list, kPageBusy, {"0000:03:00.0", "0", "rcs0", "render", "pmu"}, 12.25);
  add_sample(list, kPageBusy, {"0000:03:00.0", "", "video", "video", "fdinfo"}, 3);
  add_sample(list, kPageDevices, {}, 1);
  CHECK(written(list) ==
        "# HELP test_gpu_info What a \"GPU\" is \\\\ was.\n"
        "# TYPE test_gpu_info gauge\n"
        "test_gpu_info{device=\"0000:03:00.0\",name=\"Arc A770\"} 1\n"
        "# HELP test_engine_busy_seconds_total Time the engine was busy.\n"
        "# TYPE test_engine_busy_seconds_total counter\n"
        "test_engine_busy_seconds_total{device=\"0000:03:00.0\",gt=\"0\",engine=\"rcs0\",class=\"render\",source="
        "\"pmu\"} 12.25\n"
        "test_engine_busy_seconds_total{device=\"0000:03:00.0\",engine=\"video\",class=\"video\",source=\"fdinfo\"} 3\n"
        "# HELP test_devices Number of GPUs.\n"
        "# TYPE test_devices gauge\n"
        "test_devices 1\n");
}

TEST_CASE("lines that follow each other have labels in common, absent ones and such to escape among them") {
  SampleList list;
  const std::string path(300, '"');  // the text has to grow between two lines
  add_sample(list, kPageBusy, {"a\"b", "", "rcs0", "render", "pmu"}, 1);
  add_sample(list, kPageBusy, {"a\"b", "", "rcs0", "render", "fdinfo"}, 2);
  add_sample(list, kPageBusy, {"a\"b", "", "rcs0", "", ""}, 3);
  add_sample(list, kPageBusy, {"a\"b", "0", "rcs0", "", ""}, 4);
  add_sample(list, kPageBusy, {"", "0", "rcs0", "", ""}, 5);
  add_sample(list, kPageBusy, {"", "0", path, "", ""}, 6);
  add_sample(list, kPageBusy, {"", "0", path, "", "pmu"}, 7);
  std::string escaped;
  for (std::size_t i = 0; i < path.size(); ++i) escaped += "\\\"";
  std::string expected;
  int value = 0;
  for (const std::string& labels :
       {std::string(R"(device="a\"b",engine="rcs0",class="render",source="pmu")"),
        std::string(R"(device="a\"b",engine="rcs0",class="render",source="fdinfo")"),
        std::string(R"(device="a\"b",engine="rcs0")"), std::string(R"(device="a\"b",gt="0",engine="rcs0")"),
        std::string(R"(gt="0",engine="rcs0")"), R"(gt="0",engine=")" + escaped + '"',
        R"(gt="0",engine=")" + escaped + R"(",source="pmu")"})
    expected += "test_engine_busy_seconds_total{" + labels + "} " + std::to_string(++value) + '\n';
  const std::string page = written(list);
  CHECK(page.substr(page.find("test_engine_busy_seconds_total{")) == expected);
}

TEST_CASE("a histogram has its cumulative buckets up to +Inf, the sum and the count") {
  SampleList list;
  add_histogram(list, kPageWait, {"0000:03:00.0", "video"}, {1, 0, 2, 0, 3}, 12.5);
  add_histogram(list, kPageSize, {""}, {0, 4}, 40);
  CHECK(written(list) ==
        "# HELP test_wait_seconds Time in the queue.\n"
        "# TYPE test_wait_seconds histogram\n"
        "test_wait_seconds_bucket{device=\"0000:03:00.0\",class=\"video\",le=\"1.6e-05\"} 1\n"
        "test_wait_seconds_bucket{device=\"0000:03:00.0\",class=\"video\",le=\"0.0001\"} 1\n"
        "test_wait_seconds_bucket{device=\"0000:03:00.0\",class=\"video\",le=\"1.0\"} 3\n"
        "test_wait_seconds_bucket{device=\"0000:03:00.0\",class=\"video\",le=\"1e+06\"} 3\n"
        "test_wait_seconds_bucket{device=\"0000:03:00.0\",class=\"video\",le=\"+Inf\"} 6\n"
        "test_wait_seconds_sum{device=\"0000:03:00.0\",class=\"video\"} 12.5\n"
        "test_wait_seconds_count{device=\"0000:03:00.0\",class=\"video\"} 6\n"
        "# HELP test_size_bytes Size of a batch.\n"
        "# TYPE test_size_bytes histogram\n"
        "test_size_bytes_bucket{le=\"2.5\"} 0\n"
        "test_size_bytes_bucket{le=\"+Inf\"} 4\n"
        "test_size_bytes_sum 40\n"
        "test_size_bytes_count 4\n");
}

TEST_CASE("a bound is the shortest text that reads back, and always a floating-point number") {
  const std::pair<double, std::string_view> kBounds[] = {{0, "0.0"},
                                                         {1, "1.0"},
                                                         {-1, "-1.0"},
                                                         {0.1, "0.1"},
                                                         {0.0001, "0.0001"},
                                                         {1.6e-05, "1.6e-05"},
                                                         {0.000128, "0.000128"},
                                                         {100000, "100000.0"},
                                                         {1000000, "1e+06"},
                                                         {16777216, "1.6777216e+07"},
                                                         {16.777216, "16.777216"},
                                                         {5e-324, "5e-324"}};
  for (const auto& [bound, text] : kBounds) {
    CHECK(exporter::bound_text(bound) == text);
    CHECK(std::strtod(exporter::bound_text(bound).c_str(), nullptr) == bound);
  }
}

TEST_CASE("a page without samples is empty") { CHECK(written(SampleList{}).empty()); }

TEST_CASE("a family whose labels are all absent has no braces") {
  SampleList list;
  add_sample(list, kPageRatio, {"", "", "", ""}, 0.5);
  CHECK(written(list).ends_with("\ntest_engine_busy_ratio 0.5\n"));
}

TEST_CASE("integers have no decimal point; other numbers are as short as possible and parse to the same value") {
  CHECK(value_of(0) == "0");
  CHECK(value_of(-0.0) == "0");
  CHECK(value_of(17179869184.0) == "17179869184");
  CHECK(value_of(1000000) == "1000000");
  CHECK(value_of(0.1) == "0.1");
  CHECK(value_of(1e-9) == "1e-09");
  CHECK(value_of(1e22) == "1e+22");
  CHECK(value_of(123456.789012345) == "123456.789012345");
  CHECK(value_of(-2.5) == "-2.5");
  for (const double value : {1.0 / 3, 5e-324, std::numeric_limits<double>::max(), 9007199254740993.0, 0.1 + 0.2}) {
    CHECK(std::strtod(value_of(value).c_str(), nullptr) == value);
  }
}

TEST_CASE("NaN and infinities are written as the formats require") {
  CHECK(value_of(std::nan("")) == "NaN");
  CHECK(value_of(std::numeric_limits<double>::infinity()) == "+Inf");
  CHECK(value_of(-std::numeric_limits<double>::infinity()) == "-Inf");
}

TEST_CASE("the page is appended, and a reused string keeps its memory") {
  SampleList list;
  fill_large_page(list, 1000);
  const SampleList* lists[] = {&list};
  const PageView page(lists);
  std::string out = "before";
  exporter::write_prometheus_text(page, out);
  CHECK(out.starts_with("before# HELP "));
  const std::string first = out.substr(6);
  const char* const memory = out.data();
  out.clear();
  exporter::write_prometheus_text(page, out);
  CHECK(out == first);
  CHECK(out.data() == memory);
}

TEST_CASE("a strict parser reads any labels back unchanged") {
  SampleList list;
  fill_varied_page(list);
  const Exposition page = parse_prometheus_text(written(list));
  CHECK(page.find("test_process_memory_bytes").size() == 6);
  CHECK(page.find("test_process_memory_bytes", {{"pid", "1"}}).at(0)->label("comm") == "quote\"back\\slash");
  CHECK(page.find("test_process_memory_bytes", {{"pid", "2"}}).at(0)->label("comm") == "new\nline");
  CHECK(page.find("test_process_memory_bytes", {{"pid", "3"}}).at(0)->label("comm") == "\uFFFD\uFFFD{}=,# EOF");
  CHECK(page.find("test_gpu_info", {{"name", "Arc \"A770\"\\\n16G"}}).size() == 1);
  CHECK(page.family("test_gpu_info")->help == kPageInfo.help);
  CHECK(page.value("test_engine_busy_ratio", {{"device", "0000:03:00.0"}}) == 1.0 / 3.0);
}

TEST_SUITE_END();
