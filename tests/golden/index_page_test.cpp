// SPDX-License-Identifier: Apache-2.0
// The page at "/" as a browser without scripts gets it, for simulated machines: tests/screens/page-PROFILE.html.
#include <doctest/doctest.h>

#include <string>

#include "fake/simulation/simulation.h"
#include "igpu/monitor.h"
#include "server/doctor/doctor_report.h"
#include "server/pages/page_history.h"
#include "support/golden.h"
#include "support/recording_log.h"
#include "support/simulated_parts.h"
#include "view/report/fixes.h"

using namespace igpu;
using namespace igpu::simulation;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

const exporter::Place kPlace{exporter::PlaceKind::systemd_unit, "intel-gpu-exporter.service"};

std::string page_of(std::string_view profile) {
  RecordingLog log;
  const auto parts = std::make_shared<SimulatedParts>(profile);
  const auto monitor = make_monitor(parts, {}, log);
  std::shared_ptr<const ScrapeResult> result;
  for (int i = 0; i < 3; ++i) {
    parts->clock.advance(1s);
    result = monitor->scrape({});
  }
  const std::vector<Finding> findings = exporter::most_useful_first(result->findings());
  std::string page = exporter::index_page("/metrics", monitor->gpus(), findings, PageView(result->lists()),
                                          Seconds{1e12},  // long after any fault
                                          exporter::place_of_grants(findings, kPlace, "/usr/bin/intel-gpu-exporter"));
  page.erase(page.find("<footer"));  // the version
  const std::string assets = exporter::Assets::folder();
  for (std::size_t at = 0; (at = page.find(assets)) != std::string::npos;) page.replace(at, assets.size(), "assets/0/");
  return page;
}

}  // namespace

TEST_SUITE_BEGIN("index_page");

TEST_CASE("the page of a machine without scripts") {
  for (const char* profile : {"rack", "locked", "asleep"}) {
    CAPTURE(profile);
    compare_with_golden("tests/screens/page-" + std::string(profile) + ".html", page_of(profile));
  }
}

TEST_SUITE_END();
