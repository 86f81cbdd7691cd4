// SPDX-License-Identifier: Apache-2.0
// The whole page of every captured machine, in four states. IGPU_UPDATE=1 rewrites the pages; read the difference.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "format/prometheus_text.h"
#include "igpu/monitor.h"
#include "support/captured_machine.h"
#include "support/exposition_parser.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

bool updating() {
  const char* wish = std::getenv("IGPU_UPDATE");
  return wish != nullptr && std::string_view(wish) == "1";
}

// The page without what differs from run to run.
std::string page_of(Monitor& monitor) {
  const auto result = monitor.scrape({});
  std::string page;
  exporter::write_prometheus_text(PageView(result->lists()), page);
  std::string kept;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("intel_gpu_scrape_collector_duration_seconds") == std::string::npos) kept += line + "\n";
  }
  return kept;
}

std::unique_ptr<Monitor> watch(std::shared_ptr<CapturedMachine> machine, RecordingLog& log) {
  MonitorOptions options;
  options.min_window = 1ms;
  return make_monitor(std::move(machine), options, log);
}

// Shows the first line that differs; a whole page would bury it.
void compare(const std::string& machine, const std::string& state, const std::string& page) {
  CHECK_NOTHROW((void)parse_prometheus_text(page));
  const fs::path file = fs::path(IGPU_SOURCE_DIR) / "tests/golden" / machine / (state + ".txt");
  if (updating()) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << page;
    return;
  }
  std::ifstream golden(file);
  REQUIRE_MESSAGE(golden, file.string() << " is missing: IGPU_UPDATE=1 writes it");
  std::istringstream now(page);
  std::string expected, got;
  for (int number = 1;; ++number) {
    const bool more_expected = static_cast<bool>(std::getline(golden, expected));
    const bool more = static_cast<bool>(std::getline(now, got));
    if (!more_expected && !more) return;
    if (!more_expected) expected = "(end of file)";
    if (!more) got = "(end of page)";
    if (expected != got) {
      FAIL_CHECK(machine << "/" << state << ".txt:" << number << "\n  golden: " << expected << "\n  page:   " << got);
      return;
    }
  }
}

}  // namespace

TEST_SUITE_BEGIN("captured machines");

TEST_CASE("first scrape, a second after start, and second, ten seconds of work later") {
  for (const Capture& capture : captures()) {
    RecordingLog log;
    auto machine = std::make_shared<CapturedMachine>(capture);
    const auto monitor = watch(machine, log);
    machine->stand(1s);
    compare(capture.name, "first", page_of(*monitor));
    machine->work(10);
    compare(capture.name, "second", page_of(*monitor));
    INFO(capture.name);
    CHECK(log.count(LogLevel::error) == 0);
  }
}

TEST_CASE("unprivileged: after ten seconds of work") {
  for (const Capture& capture : captures()) {
    RecordingLog log;
    auto machine = std::make_shared<CapturedMachine>(capture);
    machine->lock();
    const auto monitor = watch(machine, log);
    machine->work(10);
    compare(capture.name, "unprivileged", page_of(*monitor));
    INFO(capture.name);
    CHECK(log.count(LogLevel::error) == 0);
  }
}

TEST_CASE("suspended since before the start") {
  for (const Capture& capture : captures()) {
    RecordingLog log;
    auto machine = std::make_shared<CapturedMachine>(capture);
    machine->suspend();
    const auto monitor = watch(machine, log);
    machine->stand(10s);
    compare(capture.name, "suspended", page_of(*monitor));
    INFO(capture.name);
    CHECK(log.count(LogLevel::error) == 0);
  }
}

TEST_SUITE_END();
