// SPDX-License-Identifier: Apache-2.0

#include <doctest/doctest.h>

#include <string>

#include "support/exposition_parser.h"
#include "support/sample_page.h"
#include "view/format/text_writer.h"

TEST_SUITE_BEGIN("openmetrics");

using namespace igpu;
using namespace igpu::test;

namespace {

std::string written(const SampleList& list) {
  const SampleList* lists[] = {&list};
  std::string out;
  exporter::write_openmetrics(PageView(lists), out);
  return out;
}

// Lines of a page that are no metadata.
std::string samples_of(const std::string& page) {
  std::string samples;
  for (std::size_t at = 0; at < page.size();) {
    const std::size_t end = page.find('\n', at) + 1;
    if (page[at] != '#') samples += page.substr(at, end - at);
    at = end;
  }
  return samples;
}

}  // namespace

TEST_CASE("a whole page") {
  SampleList list;
  add_sample(list, kPageInfo, {"0000:03:00.0", "Arc A770", ""}, 1);
  add_sample(list, kPageBusy, {"0000:03:00.0", "0", "rcs0", "render", "pmu"}, 12.25);
  add_sample(list, kPageDevices, {}, 1);
  CHECK(written(list) ==
        "# TYPE test_gpu info\n"
        "# HELP test_gpu What a \\\"GPU\\\" is \\\\ was.\n"
        "test_gpu_info{device=\"0000:03:00.0\",name=\"Arc A770\"} 1\n"
        "# TYPE test_engine_busy_seconds counter\n"
        "# UNIT test_engine_busy_seconds seconds\n"
        "# HELP test_engine_busy_seconds Time the engine was busy.\n"
        "test_engine_busy_seconds_total{device=\"0000:03:00.0\",gt=\"0\",engine=\"rcs0\",class=\"render\",source="
        "\"pmu\"} 12.25\n"
        "# TYPE test_devices gauge\n"
        "# HELP test_devices Number of GPUs.\n"
        "test_devices 1\n"
        "# EOF\n");
}

TEST_CASE("a page without samples is the end mark only") { CHECK(written(SampleList{}) == "# EOF\n"); }

TEST_CASE("a unit is stated only if it is the suffix of the family's name and the metric is not an info") {
  SampleList list;
  const MetricDescriptor foreign{"test_load", Kind::gauge, "Load.", "ratio", {}, 0};
  const MetricDescriptor bare{"ratio", Kind::gauge, "Bare.", "ratio", {}, 0};
  const MetricDescriptor info{"test_x_info", Kind::info, "Info.", "x", {}, 0};
  add_sample(list, foreign, {}, 1);
  add_sample(list, bare, {}, 1);
  add_sample(list, info, {}, 1);
  CHECK(written(list).find("# UNIT") == std::string::npos);
  CHECK_NOTHROW(parse_openmetrics(written(list)));
}

TEST_CASE("both formats contain the same sample lines") {
  SampleList list;
  fill_varied_page(list);
  const SampleList* lists[] = {&list};
  std::string text;
  exporter::write_prometheus_text(PageView(lists), text);
  CHECK(samples_of(text) == samples_of(written(list)));
}

TEST_CASE("a strict parser reads any labels back unchanged") {
  SampleList list;
  fill_varied_page(list);
  const Exposition page = parse_openmetrics(written(list));
  CHECK(page.find("test_process_memory_bytes", {{"pid", "2"}}).at(0)->label("comm") == "new\nline");
  CHECK(page.family("test_gpu")->help == kPageInfo.help);
  CHECK(page.family("test_engine_busy_seconds")->unit == "seconds");
}

TEST_SUITE_END();
