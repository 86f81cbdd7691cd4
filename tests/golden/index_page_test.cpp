// SPDX-License-Identifier: Apache-2.0
// The page at "/" as a browser without scripts gets it, for simulated machines: tests/screens/page-PROFILE.html.
// IGPU_UPDATE=1 rewrites the files; read the difference.
#include "pages/index_page.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "igpu/monitor.h"
#include "report/fixes.h"
#include "simulation/simulation.h"
#include "support/machine_archive.h"
#include "support/paths.h"
#include "support/recording_log.h"
#include "support/simulated_parts.h"

using namespace igpu;
using namespace igpu::simulation;
using namespace igpu::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

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
                                          {"systemd unit", "intel-gpu-exporter.service", {"sudo systemctl edit it"}});
  return page.erase(page.find("<footer"));  // the version
}

}  // namespace

TEST_SUITE_BEGIN("index_page");

TEST_CASE("the page of a machine without scripts") {
  for (const char* profile : {"rack", "locked", "asleep"}) {
    CAPTURE(profile);
    const std::string page = page_of(profile);
    const fs::path path = fs::path(source_folder()) / "tests/screens" / ("page-" + std::string(profile) + ".html");
    if (std::getenv("IGPU_UPDATE") != nullptr) {
      std::ofstream(path, std::ios::binary) << page;
      continue;
    }
    CHECK(page == read_file(path));
  }
}

TEST_SUITE_END();
