// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include "level_zero/report.h"
#include "text/text.h"

using namespace igpu::exporter;

TEST_SUITE_BEGIN("level zero charts");

TEST_CASE("an axis has a few round values") {
  const auto labels = [](double low, double high) {
    std::string text;
    for (const double value : round_values(low, high)) text += short_number(value) + " ";
    return text;
  };
  CHECK(labels(0, 0.1064) == "0 0.02 0.04 0.06 0.08 0.1 ");
  CHECK(labels(0, 1) == "0 0.2 0.4 0.6 0.8 1 ");
  CHECK(labels(0, 7) == "0 2 4 6 ");
  CHECK(labels(-13, 40) == "-10 0 10 20 30 40 ");
  CHECK(labels(0, 1890) == "0 500 1000 1500 ");
  CHECK(labels(0, 0) == "0 ");
  CHECK(round_values(0, 1.7e308).size() < 12);
  CHECK(round_values(-1.7e308, 1.7e308).size() < 12);
  for (double high = 1e-9; high < 1e12; high *= 1.07) {
    const std::size_t count = round_values(0, high).size();
    CHECK(count >= 3);
    CHECK(count <= 8);
  }
}

TEST_CASE("nothing that a program is called becomes markup") {
  CHECK(html_escaped("<a b='c' d=\"e\">&\x01") == "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;?");
  CHECK(bar_chart({"t", "x", "y"}, {{"<script>", 1}}, "none").find("<script") == std::string::npos);
}

TEST_CASE("a million points are drawn with a few for each column of pixels, peaks included") {
  Curve curve{"points", {}};
  for (int i = 0; i < 1'000'000; ++i) curve.points.emplace_back(i, i == 500'000 ? 1000 : 0);
  const std::string svg = line_chart({"t", "x", "y"}, {curve});
  CHECK(svg.size() < 50'000);
  CHECK(svg.find(" 34.0L") != std::string::npos);  // the peak stands at the top
}

TEST_CASE("charts of nothing, of one point and of equal values") {
  CHECK(line_chart({"t", "x", "y"}, {}).find("none") != std::string::npos);
  CHECK(bar_chart({"t", "x", "y"}, {}, "no leak").find("no leak") != std::string::npos);
  for (const std::string& svg :
       {line_chart({"t", "x", "y"}, {{"c", {{0, 0}}}}), line_chart({"t", "x", "y"}, {{"c", {{5, 5}, {5, 5}}}}),
        bar_chart({"t", "x", "y"}, {{"a", -3}, {"b", 3}}, "none")}) {
    CHECK(svg.find("nan") == std::string::npos);
    CHECK(svg.find("inf") == std::string::npos);
  }
}

TEST_SUITE_END();
