// SPDX-License-Identifier: Apache-2.0
#include "level_zero/chart.h"

#include <doctest/doctest.h>

#include <string>

#include "text/html.h"

using namespace igpu::exporter;

TEST_SUITE_BEGIN("level zero charts");

TEST_CASE("nothing that a program is called becomes markup") {
  CHECK(html_escaped("<a b='c' d=\"e\">&\x01") == "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp; ");
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
