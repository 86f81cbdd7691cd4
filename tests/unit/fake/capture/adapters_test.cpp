// SPDX-License-Identifier: Apache-2.0
// A capture of every script of Windows' adapters, served again, gives the same page, and holds no name.
#include <doctest/doctest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "fake/capture/answers.h"
#include "igpu/monitor.h"
#include "machine/linux_errors.h"
#include "run/machine_parts.h"
#include "support/fake_gpu_adapters.h"
#include "support/paths.h"
#include "support/test_machine.h"
#include "view/capture_file/script.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

// As machine/machine_windows.cpp has it.
class NoDirectory final : public Directory {
 public:
  Reading<std::string_view> read(std::string_view, std::span<char>) const override { return kNotHere; }
  Reading<std::string_view> read_start(std::string_view, std::span<char>) const override { return kNotHere; }
  Reading<std::unique_ptr<File>> open(std::string_view) const override { return kNotHere; }
  Reading<std::unique_ptr<Directory>> open_directory(std::string_view) const override { return kNotHere; }
  Reading<Unit> for_each(std::string_view, const std::function<bool(std::string_view)>&) const override {
    return kNotHere;
  }
  Reading<std::string> read_link(std::string_view) const override { return kNotHere; }
  Reading<std::string> resolve(std::string_view) const override { return kNotHere; }
  Reading<FileFacts> stat(std::string_view) const override { return kNotHere; }

 private:
  static constexpr Absent kNotHere{Reason::kernel, ENOENT};
};

class WindowsParts final : public MachineParts {
 public:
  explicit WindowsParts(const std::string& script)
      : adapters(script), machine_{none_, none_, none_, m_.perf, m_.drm, m_.clock, m_.privileges, m_.names} {
    machine_.adapters = &adapters;
    adapters.add_process(40, "services.exe");
    adapters.add_process(41, "browser-of-alice.exe");
    adapters.running.processes.push_back({.pid = 42, .started = 7, .name = "refused-to-alice.exe"});
  }
  Machine& machine() override { return machine_; }
  void work() {
    m_.clock.advance(10s);
    adapters.advance(10'000);
    adapters.next_scrape();
  }

  FakeGpuAdapters adapters;

 private:
  TestMachine m_;
  NoDirectory none_;
  Machine machine_;
};

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

CaptureOutcome captured(const std::string& script, Log& log) {
  const auto parts = std::make_shared<WindowsParts>(script);
  return capture_of(
      parts, {}, {.passes = 5}, [&] { parts->work(); }, log);
}

constexpr char kCard[] =
    "adapter 1a2b 8086 56a0 3 0 0 Intel(R) Arc(TM) A770\n"
    "node 1 640\nsegment local 1000000 500\n"
    "process services.exe 0 300 0 1000\n";

std::string script_text(const std::string& script) {
  RecordingLog log;
  return exporter::script_of(captured(script, log).files);
}

}  // namespace

TEST_SUITE_BEGIN("captures of Windows");

TEST_CASE("a capture of every script, served again, gives the same pages") {
  std::size_t scripts = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() + "/tests/fuzz/corpus/wddm")) {
    CAPTURE(entry.path().string());
    RecordingLog log;
    const CaptureOutcome outcome = captured(content(entry.path()), log);
    std::string differences;
    for (const std::string& metric : outcome.differences) differences += metric + ' ';
    CHECK(differences == "");
    CHECK(outcome.samples > 0);
    ++scripts;
  }
  CHECK(scripts >= 12);
}

TEST_CASE("a capture is a text that holds all answers and no names of programs") {
  RecordingLog log;
  const CaptureOutcome outcome = captured(kCard, log);
  const std::string text = exporter::script_of(outcome.files);
  for (const char* name : {"services.exe", "alice"}) {
    CAPTURE(name);
    CHECK(text.find(name) == std::string::npos);
  }
  CHECK(text.starts_with("intel-gpu-exporter capture, format 1\npasses 5\n"));
  CHECK(text.find(" adapter.facts 1a2b named Intel(R)%20Arc(TM)%20A770 32902 22176 0 3 0 0\n") != std::string::npos);
  CHECK(text.find(" process.facts 40 named process1 1 ") != std::string::npos);
  CHECK(text.find(" process.facts 41 named - 1 0 0 0 0 0\n") != std::string::npos);
  CHECK(text.find(" process.facts 42 named - 0 0 0 0 0 0\n") != std::string::npos);
  CHECK(text.find(" process.running 40/1a2b/0 numbers ") != std::string::npos);
  CHECK(text.find("process.running 41/") == std::string::npos);
  // Nothing of what only Linux has.
  for (const char* word : {" read sys", " list proc", " open dev/dri", "perf.open"}) {
    CAPTURE(word);
    CHECK(text.find(word) == std::string::npos);
  }
  CHECK(text.find("# Masked: names of processes.\n") != std::string::npos);
  const CaptureFiles files = exporter::files_of_script(text);
  CHECK(files == outcome.files);
  check_capture(files);
}

TEST_CASE("a capture survives a mail program that ends lines as Windows does") {
  const std::string text = script_text(kCard);
  std::string with_returns;
  for (const char c : text) with_returns += c == '\n' ? std::string("\r\n") : std::string(1, c);
  CHECK(exporter::files_of_script(with_returns) == exporter::files_of_script(text));
}

TEST_CASE("names that a driver or a program chose do not add lines") {
  RecordingLog log;
  const auto parts = std::make_shared<WindowsParts>(kCard);
  parts->adapters.running.processes[0].name = "services.exe\npass 9";
  parts->adapters.running.processes[1].name = std::string("a\0b % \xff", 8);
  const CaptureOutcome outcome = capture_of(
      parts, {}, {.passes = 3}, [&] { parts->work(); }, log);
  CHECK(exporter::files_of_script(exporter::script_of(outcome.files)) == outcome.files);
  CHECK(outcome.differences.empty());
}

TEST_CASE("errors have Linux's numbers in the file, whatever system wrote it") {
  CHECK(linux_number(EOPNOTSUPP) == 95);
  CHECK(own_number(95) == EOPNOTSUPP);
  CHECK(own_number(linux_number(ENODATA)) == ENODATA);
  CHECK(linux_number(EACCES) == 13);
  CHECK(script_text(std::string(kCard) + "fail running c00000bb\n").find(" absent kernel 95\n") != std::string::npos);
}

TEST_CASE("what is not a capture, or lacks a pass, is refused with one line") {
  for (const char* text : {"", "adapter 1a2b 8086 56a0 3 0 0 Card\n", "intel-gpu-exporter capture, format 1\n",
                           "intel-gpu-exporter capture, format 1\npass 2\nstart 0\n",
                           "intel-gpu-exporter capture, format 9\npass 1\nstart 0\n",
                           "intel-gpu-exporter capture, format 1\npass 1\nstart 0\n0 adapter.counts 1a2b numbers 1 "
                           "99999999999999999999\n"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(check_capture(exporter::files_of_script(text)), CaptureError);
  }
}

TEST_CASE("answers of another form than the question's are failures, not values") {
  const CaptureFiles files = exporter::files_of_script(
      "intel-gpu-exporter capture, format 1\npass 1\nstart 0\n"
      "0 adapter.list - numbers 1\n0 adapter.facts 1 named Card 32902 22176 0 3 0 0\n0 adapter.open 1 done\n"
      "0 adapter.counts 1 numbers 1\n0 adapter.memory 1 name 7\n0 adapter.sensors 1 numbers 1 2 3 4\n");
  const auto parts = capture_parts(files);
  GpuAdapters* const adapters = parts->machine().adapters;
  REQUIRE(adapters != nullptr);
  REQUIRE(adapters->list()->size() == 1);
  const auto adapter = adapters->open(1);
  REQUIRE(adapter != nullptr);
  CHECK(adapter->counts().is_failure());
  CHECK(adapter->memory().is_failure());
  CHECK(adapter->sensors().is_failure());
  CHECK(adapter->node(0).is_absent());
  CHECK(adapters->open(2) == nullptr);
  CHECK(adapters->processes().is_absent());
}

TEST_SUITE_END();
