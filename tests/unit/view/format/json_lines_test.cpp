// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <string>

#include "support/sample_page.h"
#include "view/format/json_writer.h"

TEST_SUITE_BEGIN("json_lines");

using namespace igpu;
using namespace igpu::test;

namespace {

std::string written(const SampleList& list) {
  const SampleList* lists[] = {&list};
  std::string out;
  exporter::write_json_line(PageView(lists),
                            std::chrono::system_clock::time_point(std::chrono::milliseconds(1754000000042)), out);
  return out;
}

}  // namespace

TEST_CASE("a scrape is one line: time, GPUs by address, metrics without a GPU") {
  SampleList list;
  add_sample(list, kPageRatio, {"0000:03:00.0", "0", "rcs0", "render"}, 0.25);
  add_sample(list, kPageRatio, {"0000:00:02.0", "0", "rcs0", "render"}, 0);
  add_sample(list, kPageRatio, {"0000:03:00.0", "", "vcs0", "video"}, 1);
  add_sample(list, kPageDevices, {}, 2);
  CHECK(written(list) ==
        "{\"version\":1,\"time\":1754000000.042,\"gpus\":["
        "{\"device\":\"0000:00:02.0\",\"metrics\":{\"test_engine_busy_ratio\":["
        "{\"gt\":\"0\",\"engine\":\"rcs0\",\"class\":\"render\",\"value\":0}]}},"
        "{\"device\":\"0000:03:00.0\",\"metrics\":{\"test_engine_busy_ratio\":["
        "{\"gt\":\"0\",\"engine\":\"rcs0\",\"class\":\"render\",\"value\":0.25},"
        "{\"engine\":\"vcs0\",\"class\":\"video\",\"value\":1}]}}],"
        "\"metrics\":{\"test_devices\":[{\"value\":2}]}}\n");
}

TEST_CASE("a machine without GPUs gives a line, too") {
  CHECK(written(SampleList{}) == "{\"version\":1,\"time\":1754000000.042,\"gpus\":[],\"metrics\":{}}\n");
}

TEST_CASE("a series without a value for its device label is listed outside the GPUs") {
  SampleList list;
  add_sample(list, kPageRatio, {"", "0", "x", "y"}, 1);
  CHECK(written(list).find("\"gpus\":[],\"metrics\":{\"test_engine_busy_ratio\":[{\"gt\":\"0\"") != std::string::npos);
}

TEST_CASE("a histogram has its cumulative buckets and its count beside its sum") {
  SampleList list;
  add_histogram(list, kPageWait, {"0000:03:00.0", "video"}, {1, 0, 2, 0, 3}, 12.5);
  CHECK(written(list).find("\"test_wait_seconds\":[{\"class\":\"video\",\"buckets\":[[1.6e-05,1],[1e-04,1],[1,3],"
                           "[1000000,3]],\"count\":6,\"value\":12.5}]") != std::string::npos);
}

TEST_CASE("numbers that JSON cannot express are null") {
  SampleList list;
  add_sample(list, kPageDevices, {}, std::nan(""));
  CHECK(written(list).find("{\"value\":null}") != std::string::npos);
}

TEST_SUITE_END();
