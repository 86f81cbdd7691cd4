// SPDX-License-Identifier: Apache-2.0
// The whole page of every captured machine in four states, compared with the files below tests/golden:
//   MACHINE/STATE.txt           the page, but for the lines that every collector has on every machine; of the second
//                               only the lines that the first has not, and what is gone
//   CAPTURE/pass-N.txt          the page of each pass of a capture that was sent
//   collectors/COLLECTOR.txt    these lines: whether it succeeded, and its features
// So a new collector changes its own page and those of the machines that have what it reads.
// IGPU_UPDATE=1 rewrites the files; read the difference.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "igpu/monitor.h"
#include "run/machine_parts.h"
#include "support/captured_machine.h"
#include "support/exposition_parser.h"
#include "support/golden.h"
#include "support/machine_archive.h"
#include "support/paths.h"
#include "view/capture_file/capture_file.h"
#include "view/format/text_writer.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

const fs::path kFolder = fs::path(source_folder()) / "tests/golden";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The page without what differs from run to run.
std::string page_of(Monitor& monitor) {
  const auto result = monitor.scrape({});
  std::string page;
  exporter::write_prometheus_text(PageView(result->lists()), page);
  CHECK_NOTHROW((void)parse_prometheus_text(page));
  std::string kept;
  for (const std::string& line : lines_of(page)) {
    if (line.find("intel_gpu_scrape_collector_duration_seconds") == std::string::npos) kept += line + "\n";
  }
  return kept;
}

std::unique_ptr<Monitor> watch(std::shared_ptr<CapturedMachine> machine, RecordingLog& log) {
  MonitorOptions options;
  options.min_window = 1ms;
  return make_monitor(std::move(machine), options, log);
}

struct StatePage {
  std::string state, page;
};

std::vector<StatePage> scrape_in_all_states(const Capture& capture) {
  CAPTURE(capture.name);
  RecordingLog log;
  std::vector<StatePage> pages;

  const auto working = std::make_shared<CapturedMachine>(capture);
  const auto monitor = watch(working, log);
  working->stand(1s);
  pages.push_back({"first", page_of(*monitor)});
  working->work(10);
  pages.push_back({"second", page_of(*monitor)});

  const auto locked = std::make_shared<CapturedMachine>(capture);
  locked->lock();
  const auto unprivileged = watch(locked, log);
  locked->work(10);
  pages.push_back({"unprivileged", page_of(*unprivileged)});

  const auto asleep = std::make_shared<CapturedMachine>(capture);
  asleep->suspend();
  const auto suspended = watch(asleep, log);
  asleep->stand(10s);
  pages.push_back({"suspended", page_of(*suspended)});

  CHECK(log.count(LogLevel::error) == 0);
  return pages;
}

// "collector" or "feature" in a line that every collector has: the first label's value after the name.
std::string label_of(const std::string& line, const std::string& label) {
  const std::string begin = label + "=\"";
  const std::size_t at = line.find(begin);
  REQUIRE(at != std::string::npos);
  const std::size_t from = at + begin.size();
  return line.substr(from, line.find('"', from) - from);
}

// The collector that a line belongs to by its name, "" for every other line.
std::string collector_of(const std::string& line) {
  static const std::map<std::string, std::string, std::less<>> collectors = [] {
    std::map<std::string, std::string, std::less<>> by_feature;
    for (const CollectorDescription& collector : describe_collectors()) {
      for (const FeatureDescriptor* feature : collector.features)
        by_feature[std::string(feature->name)] = collector.name;
    }
    return by_feature;
  }();
  if (line.starts_with("intel_gpu_scrape_collector_success{")) return label_of(line, "collector");
  if (!line.starts_with("intel_gpu_exporter_feature_available{")) return "";
  const auto found = collectors.find(label_of(line, "feature"));
  REQUIRE(found != collectors.end());
  return found->second;
}

std::string series_of(const std::string& line) { return line.substr(0, line.rfind(' ')); }

// What a page has that an earlier one has not, and which of its series are gone.
std::string difference(const std::string& before, const std::string& after) {
  std::set<std::string> had, has;
  for (const std::string& line : lines_of(before)) had.insert(line);
  std::string text;
  for (const std::string& line : lines_of(after)) {
    has.insert(series_of(line));
    if (!had.contains(line)) text += line + "\n";
  }
  for (const std::string& line : lines_of(before))
    if (!has.contains(series_of(line))) text += "gone: " + series_of(line) + "\n";
  return text;
}

// Files by their path below tests/golden.
using Files = std::map<std::string, std::string>;

void add_machine(const Capture& capture, Files& files) {
  struct Lines {
    std::string states, text;
  };
  std::map<std::string, std::vector<Lines>> collectors;
  for (const auto& [state, page] : scrape_in_all_states(capture)) {
    std::string& rest = files[capture.name + "/" + state + ".txt"];
    std::map<std::string, std::string> own;
    for (const std::string& line : lines_of(page)) {
      const std::string collector = collector_of(line);
      (collector.empty() ? rest : own[collector]) += line + "\n";
    }
    for (const auto& [collector, text] : own) {
      std::vector<Lines>& states = collectors[collector];
      if (!states.empty() && states.back().text == text) {
        states.back().states += ", " + state;
      } else {
        states.push_back({state, text});
      }
    }
  }
  std::string& second = files[capture.name + "/second.txt"];
  second = difference(files[capture.name + "/first.txt"], second);
  for (const auto& [collector, states] : collectors) {
    std::string& file = files["collectors/" + collector + ".txt"];
    for (const Lines& lines : states)
      file += (file.empty() ? "# " : "\n# ") + capture.name + ": " + lines.states + "\n" + lines.text;
  }
}

// What owners of machines sent, with a page for each pass after the first.
std::vector<fs::path> sent_captures() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(fs::path(source_folder()) / "tests/machines"))
    for (const char* kind : {".tar.zst", ".capture.txt"})
      if (entry.path().string().ends_with(kind)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

std::string name_of(const fs::path& capture) { return capture.stem().stem().string(); }

std::size_t passes_of(const CaptureFiles& capture) {
  std::size_t passes = 0;
  while (capture.contains(std::to_string(passes + 1) + "/index")) ++passes;
  return passes;
}

void add_sent_capture(const fs::path& path, Files& files) {
  const auto capture = exporter::load_capture(path.string());
  RecordingLog log;
  MonitorOptions options;
  options.min_window = 1ms;
  const auto monitor = make_monitor(capture_parts(*capture), options, log);
  for (std::size_t pass = 2; pass <= passes_of(*capture); ++pass)
    files[name_of(path) + "/pass-" + std::to_string(pass) + ".txt"] = page_of(*monitor);
  CHECK(log.count(LogLevel::error) == 0);
}

const Files& files_now() {
  static const Files files = [] {
    Files all;
    for (const Capture& capture : captures()) add_machine(capture, all);
    for (const fs::path& capture : sent_captures()) add_sent_capture(capture, all);
    return all;
  }();
  return files;
}

void compare(const std::string& name, const std::string& text) { compare_with_golden("tests/golden/" + name, text); }

}  // namespace

TEST_SUITE_BEGIN("captured machines");

TEST_CASE("every captured machine has its pages: first and second scrape, unprivileged, suspended") {
  std::size_t pages = 0;
  for (const auto& [name, text] : files_now()) {
    if (name.starts_with("collectors/") || name.find("/pass-") != std::string::npos) continue;
    ++pages;
    compare(name, text);
  }
  CHECK(pages == 4 * machine_archives().size());
}

TEST_CASE("every capture that was sent shows its pages") {
  std::size_t pages = 0;
  for (const auto& [name, text] : files_now()) {
    if (name.find("/pass-") == std::string::npos) continue;
    ++pages;
    compare(name, text);
  }
  CHECK(pages >= sent_captures().size());
  CHECK(!sent_captures().empty());
}

TEST_CASE("every collector reports success and its features on every machine") {
  for (const CollectorDescription& collector : describe_collectors()) {
    if (!collector.always_on && !collector.enabled_by_default) continue;  // their pages are in tests of their own
    const std::string name = "collectors/" + std::string(collector.name) + ".txt";
    CAPTURE(name);
    REQUIRE(files_now().contains(name));
    compare(name, files_now().at(name));
  }
}

TEST_CASE("lines of collectors are on the page in the order in which collectors are registered") {
  std::map<std::string, std::size_t> places{{"", 0}};
  for (const CollectorDescription& collector : describe_collectors())
    places.emplace(std::string(collector.name), places.size());
  for (const auto& [name, page] : scrape_in_all_states(captures().front())) {
    const auto& state = name;  // clang 14 captures no structured binding
    CAPTURE(state);
    std::size_t last = 0;
    for (const std::string& line : lines_of(page)) {
      const std::size_t place = places.at(collector_of(line));
      if (place > 0) CHECK_MESSAGE(place >= last, line);
      last = place;
    }
  }
}

TEST_CASE("no golden page is left of a machine or collector that is gone") {
  for (const auto& entry : fs::recursive_directory_iterator(kFolder)) {
    if (entry.path().extension() != ".txt") continue;
    const std::string name = entry.path().lexically_relative(kFolder).string();
    if (files_now().contains(name)) continue;
    if (updates_goldens()) {
      fs::remove(entry.path());
    } else {
      FAIL_CHECK("tests/golden/" << name << " belongs to nothing: IGPU_UPDATE=1 removes it");
    }
  }
}

TEST_SUITE_END();
