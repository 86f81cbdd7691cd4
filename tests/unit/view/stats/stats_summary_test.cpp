// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "view/stats/stats_writer.h"

using namespace igpu::exporter;

TEST_SUITE_BEGIN("stats_summary");

TEST_CASE("minimum, mean and maximum are exact, the percentile is within half a percent") {
  Distribution values;
  for (int i = 1; i <= 1000; ++i) values.add(i);
  CHECK(values.count() == 1000);
  CHECK(values.minimum() == 1);
  CHECK(values.maximum() == 1000);
  CHECK(values.mean() == 500.5);
  CHECK(std::fabs(values.percentile(0.95) - 950) <= 950 * 0.0051);
  CHECK(std::fabs(values.percentile(0.5) - 500) <= 500 * 0.0051);
  CHECK(values.percentile(1) == 1000);
}

TEST_CASE("zeros and negative values are ordered before positive ones") {
  Distribution values;
  for (int i = 0; i < 50; ++i) values.add(0);
  for (int i = 0; i < 45; ++i) values.add(-20);
  for (int i = 0; i < 5; ++i) values.add(3);
  CHECK(std::fabs(values.percentile(0.4) + 20) <= 20 * 0.0051);
  CHECK(values.percentile(0.95) == 0);
  CHECK(std::fabs(values.percentile(0.96) - 3) <= 3 * 0.0051);
  CHECK(values.minimum() == -20);
}

TEST_CASE("one value is all of its statistics, and what is no number is ignored") {
  Distribution values;
  CHECK(values.percentile(0.95) == 0);
  values.add(std::numeric_limits<double>::quiet_NaN());
  values.add(0.25);
  values.add(std::numeric_limits<double>::infinity());
  CHECK(values.count() == 1);
  CHECK(values.mean() == 0.25);
  CHECK(values.percentile(0.95) == 0.25);
}

TEST_CASE("each GPU has its table, with the columns in order of appearance") {
  StatsSummary summary;
  CHECK(summary.text().empty());
  summary.add("0000:03:00.0", "watts", 10);
  summary.add("0000:00:02.0", "watts", 5);
  summary.add("0000:03:00.0", "celsius", 60);
  summary.add("0000:03:00.0", "watts", 20);
  CHECK(summary.text() ==
        "        min        mean         max         p95  0000:00:02.0\n"
        "          5           5           5           5  watts\n"
        "\n"
        "        min        mean         max         p95  0000:03:00.0\n"
        "         10          15          20          20  watts\n"
        "         60          60          60          60  celsius\n");
}

TEST_SUITE_END();
