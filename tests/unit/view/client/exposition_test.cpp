// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "view/client/http_fetcher.h"

using namespace igpu::exporter;

namespace {

struct Read {
  std::vector<std::string> lines;  // metric{name=value,...} value
  ParsedExposition parsed;
};

Read read(std::string_view text) {
  Read result;
  result.parsed = parse_exposition(text, [&](const TextSample& sample) {
    std::string line(sample.metric);
    for (const igpu::LabelPair& pair : sample.labels)
      line += "|" + std::string(pair.name) + "=" + std::string(pair.value);
    result.lines.push_back(line + " " + std::to_string(sample.value));
  });
  return result;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_SUITE_BEGIN("exposition");

TEST_CASE("samples with and without labels, timestamps, exemplars, comments and blank lines") {
  const Read page = read(
      "# HELP a Help.\n# TYPE a gauge\na 1\n\nb{x=\"1\",y=\"\"} 2.5 1700000000000\n"
      "c_bucket{le=\"+Inf\"} 3 # {trace=\"t\"} 0.5\n  d{} 4\r\ne {x=\"1\",} 5\n# EOF");
  CHECK(page.lines ==
        Lines{"a 1.000000", "b|x=1|y= 2.500000", "c_bucket|le=+Inf 3.000000", "d 4.000000", "e|x=1 5.000000"});
  CHECK(page.parsed.samples == 5);
  CHECK(page.parsed.malformed_lines == 0);
}

TEST_CASE("escapes in label values are undone") {
  CHECK(read("a{x=\"q\\\"b\\\\n\\n.\",y=\"}\",z=\"1\\\\\"} 1").lines == Lines{"a|x=q\"b\\n\n.|y=}|z=1\\ 1.000000"});
}

TEST_CASE("numbers as Go writes them") {
  std::vector<double> values;
  (void)parse_exposition("a +Inf\na -Inf\na NaN\na 1e3\na +2\na -0.5\na 1.5e-07\n",
                         [&](const TextSample& sample) { values.push_back(sample.value); });
  REQUIRE(values.size() == 7);
  CHECK(std::isinf(values[0]));
  CHECK(values[1] < 0);
  CHECK(std::isnan(values[2]));
  CHECK(values[3] == 1000);
  CHECK(values[4] == 2);
  CHECK(values[5] == -0.5);
  CHECK(values[6] == 1.5e-07);
}

TEST_CASE("a malformed line is skipped and counted, the lines around it are read") {
  for (const char* line : {"a", "a{", "a{x} 1", "a{x=1} 1", "a{x=\"1} 1", "a{x=\"1\\\"} 1", "a{x=\"\\t\"} 1", "{} 1",
                           "1a 1", "a one", "a 1 2x", "a +-1", "a{x=\"1\" y=\"2\"} 1", "<html>", "a{=\"1\"} 1"}) {
    INFO(line);
    const Read page = read("first 1\n" + std::string(line) + "\nlast 2\n");
    CHECK(page.lines == Lines{"first 1.000000", "last 2.000000"});
    CHECK(page.parsed.malformed_lines == 1);
  }
}

TEST_CASE("a sample with more labels than any metric has is skipped") {
  std::string line = "a{";
  for (std::size_t i = 0; i <= kMaxParsedLabels; ++i) line += "l" + std::to_string(i) + "=\"v\",";
  CHECK(read(line + "} 1").parsed.malformed_lines == 1);
}

TEST_SUITE_END();
