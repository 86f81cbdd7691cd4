// SPDX-License-Identifier: Apache-2.0
// A capture of every simulated machine, served again, gives the same page, and holds no name.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <memory>
#include <optional>
#include <regex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "fake/simulation/simulation.h"
#include "igpu/monitor.h"
#include "run/machine_parts.h"
#include "support/recording_log.h"
#include "support/simulated_parts.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

// A directory of which one folder takes three seconds to list.
class SlowDirectory final : public Directory {
 public:
  SlowDirectory(Directory& real, std::string folder, FakeClock& clock)
      : real_(real), folder_(std::move(folder)), clock_(clock) {}
  Reading<Unit> for_each(std::string_view path, const std::function<bool(std::string_view)>& visit) const override {
    if (path == folder_) clock_.advance(3s);
    return real_.for_each(path, visit);
  }
  Reading<std::string_view> read(std::string_view path, std::span<char> buffer) const override {
    return real_.read(path, buffer);
  }
  Reading<std::string_view> read_start(std::string_view path, std::span<char> buffer) const override {
    return real_.read_start(path, buffer);
  }
  Reading<std::unique_ptr<File>> open(std::string_view path) const override { return real_.open(path); }
  Reading<std::unique_ptr<Directory>> open_directory(std::string_view path) const override {
    return real_.open_directory(path);
  }
  Reading<std::string> read_link(std::string_view path) const override { return real_.read_link(path); }
  Reading<std::string> resolve(std::string_view path) const override { return real_.resolve(path); }
  Reading<FileFacts> stat(std::string_view path) const override { return real_.stat(path); }

 private:
  Directory& real_;
  const std::string folder_;
  FakeClock& clock_;
};

class SlowParts final : public MachineParts {
 public:
  SlowParts(std::shared_ptr<SimulatedParts> inner, std::string folder)
      : inner_(std::move(inner)),
        proc_(inner_->machine().proc, std::move(folder), inner_->clock),
        machine_{inner_->machine().sys,        proc_,
                 inner_->machine().dev,        inner_->machine().perf,
                 inner_->machine().drm,        inner_->machine().clock,
                 inner_->machine().privileges, inner_->machine().names} {}
  Machine& machine() override { return machine_; }

 private:
  std::shared_ptr<SimulatedParts> inner_;
  SlowDirectory proc_;
  Machine machine_;
};

// A simulated machine whose kernel has pages of 64 KiB.
class LargePages final : public MachineParts, public Privileges {
 public:
  explicit LargePages(std::shared_ptr<SimulatedParts> inner)
      : inner_(std::move(inner)),
        machine_{inner_->machine().sys,
                 inner_->machine().proc,
                 inner_->machine().dev,
                 inner_->machine().perf,
                 inner_->machine().drm,
                 inner_->machine().clock,
                 *this,
                 inner_->machine().names} {}
  Machine& machine() override { return machine_; }
  bool has_capability(int number) const override { return inner_->machine().privileges.has_capability(number); }
  std::uint32_t effective_uid() const override { return inner_->machine().privileges.effective_uid(); }
  bool in_initial_user_namespace() const override { return true; }
  std::uint64_t page_size() const override { return 65536; }

 private:
  std::shared_ptr<SimulatedParts> inner_;
  Machine machine_;
};

std::optional<double> value_of(const ScrapeResult& page, std::string_view metric) {
  for (const SampleList* const list : page.lists())
    for (const SampleList::Sample& sample : list->samples())
      if (sample.metric->name == metric) return sample.value;
  return std::nullopt;
}

struct Captured {
  explicit Captured(std::string_view profile, const CaptureRequest& request = {.passes = 4})
      : parts(std::make_shared<SimulatedParts>(profile)),
        outcome(capture_of(
            parts, {}, request, [this] { parts->clock.advance(1s); }, log)) {}

  std::string all_text() const {
    std::string text;
    for (const auto& [path, content] : outcome.files) text += path + '\n' + content;
    return text;
  }

  RecordingLog log;
  std::shared_ptr<SimulatedParts> parts;
  CaptureOutcome outcome;
};

std::string lines(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += text + '\n';
  return all;
}

bool has_word(const std::string& text, const std::string& word) {
  const auto in_word = [&](std::size_t at) {
    return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
  };
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    if (!in_word(at - 1) && !in_word(at + word.size())) return true;
  return false;
}

std::size_t samples_of(Monitor& monitor) {
  std::size_t count = 0;
  const auto page = monitor.scrape({});
  for (const SampleList* const list : page->lists()) count += list->samples().size();
  return count;
}

}  // namespace

TEST_SUITE_BEGIN("captures");

TEST_CASE("a capture of every simulated machine, served again, gives the same pages") {
  for (const SimulationProfile& profile : simulation_profiles()) {
    CAPTURE(std::string(profile.name));
    const Captured captured(profile.name);
    CHECK(captured.outcome.samples > 10);
    CHECK(lines(captured.outcome.differences) == "");
    CHECK(captured.log.count(LogLevel::error) == 0);
  }
}

TEST_CASE("the page shows what the files of a capture hold") {
  const Captured captured("rack");
  CaptureFiles files = captured.outcome.files;
  const auto frequency = std::find_if(files.begin(), files.end(), [](const auto& file) {
    return file.first.starts_with("2/sys/") && file.first.ends_with("rps_max_freq_mhz");
  });
  REQUIRE(frequency != files.end());
  frequency->second = "7\n";
  RecordingLog log;
  MonitorOptions options;
  options.min_window = 1ms;
  const auto monitor = make_monitor(capture_parts(files), options, log);
  const auto page = monitor->scrape({});
  bool seen = false;
  for (const SampleList* const list : page->lists())
    for (const SampleList::Sample& sample : list->samples())
      seen = seen || (sample.metric->name == "intel_gpu_frequency_limit_hertz" && sample.value == 7e6);
  CHECK(seen);
}

TEST_CASE("no name of a process, user, container, pod or unit is in a capture") {
  const Captured captured("rack");
  // What is no name although a process or a user has it, too.
  const std::regex others("intel-gpu-exporter capture, format|drm-engine-render:");
  const std::string text = std::regex_replace(captured.all_text(), others, "");
  const auto& script = captured.parts->simulated->script();
  std::vector<std::string> names;
  for (const auto& process : script.processes) {
    const auto& place = process.place;
    if (!process.kernel_thread) names.push_back(process.comm);
    for (const std::string& id : {place.container_id, process.container_id(0s), place.pod_uid})
      names.push_back(id.substr(0, 12));
    names.insert(names.end(), {place.systemd_unit, place.name_space, place.pod, place.container});
  }
  for (const auto& user : script.users)
    if (user.name != "root") names.push_back(user.name);
  std::erase(names, "");
  CHECK(names.size() > 50);
  for (const std::string& name : names) {
    CAPTURE(name);
    CHECK_FALSE(has_word(text, name));
  }
}

TEST_CASE("an archive for a kernel bug is a capture: it holds no name either, and gives the same page") {
  const Captured captured("rack", {.passes = 2, .kernel_bug = true});
  CHECK(captured.outcome.files.contains("bug/proc/sys/kernel/osrelease"));
  CHECK(captured.outcome.files.contains("bug/kernel-log"));
  CHECK(lines(captured.outcome.differences) == "");
  CHECK_NOTHROW(check_capture(captured.outcome.files));
  std::string text;
  for (const auto& [path, content] : captured.outcome.files)
    if (path.starts_with("bug/")) text += content;
  const auto& script = captured.parts->simulated->script();
  bool named = false;  // in the simulated log
  for (const auto& hang : script.hangs) {
    for (const auto& process : script.processes) {
      if (process.pid != hang.pid) continue;
      CHECK_FALSE(has_word(text, process.comm));
      named = named || text.find('[' + std::to_string(process.pid) + ']') != std::string::npos;
    }
  }
  CHECK(named);
}

TEST_CASE("only processes that use a GPU have files in a capture, and only descriptors of GPUs") {
  const Captured captured("rack");
  const auto& script = captured.parts->simulated->script();
  for (const auto& file : captured.outcome.files) {
    const auto& path = file.first;
    const auto& content = file.second;
    const std::size_t proc = path.find("/proc/");
    if (proc == std::string::npos || path.ends_with("/proc/stat")) continue;
    const std::string rest = path.substr(proc + 6);
    const auto pid = static_cast<std::uint32_t>(std::stoul(rest));
    CAPTURE(path);
    CHECK(std::any_of(script.clients.begin(), script.clients.end(), [&](const auto& client) {
            return client.pid == pid || std::any_of(client.passed_on.begin(), client.passed_on.end(),
                                                    [&](const auto& other) { return other.first == pid; });
          }) != (rest == "2/comm"));
    if (path.find("/fdinfo/") != std::string::npos) CHECK(content.find("drm-driver:") != std::string::npos);
  }
}

TEST_CASE("after its last pass a capture stays as it is") {
  const Captured captured("arc-a770");
  RecordingLog log;
  const auto monitor = make_monitor(capture_parts(captured.outcome.files), {}, log);
  const std::size_t first = samples_of(*monitor);
  for (int scrape = 0; scrape < 6; ++scrape) CHECK(samples_of(*monitor) >= first);
}

TEST_CASE("on a machine that needs seconds for a scan of all processes a capture has all of them") {
  const auto parts = std::make_shared<SimulatedParts>("arc-a770");
  RecordingLog log;
  // The others have higher PIDs, and are scanned later.
  const CaptureOutcome outcome = capture_of(
      std::make_shared<SlowParts>(parts, "731/fdinfo"), {}, {.passes = 3}, [&] { parts->clock.advance(1s); }, log);
  CHECK(value_of(*outcome.last, "intel_gpu_exporter_client_walk_complete") == 1);
  CHECK(value_of(*outcome.last, "intel_gpu_processes") == 4);
  CHECK(lines(outcome.differences) == "");
}

TEST_CASE("a capture has the page size of its machine, in which the kernel counts the memory of processes") {
  constexpr std::string_view kResident = "intel_gpu_process_resident_memory_bytes";
  const auto parts = std::make_shared<SimulatedParts>("arc-a770");
  RecordingLog log;
  const CaptureOutcome large = capture_of(
      std::make_shared<LargePages>(parts), {}, {.passes = 2}, [&] { parts->clock.advance(1s); }, log);
  const Captured usual("arc-a770", {.passes = 2});
  const auto expected = value_of(*usual.outcome.last, kResident);
  REQUIRE(expected);
  CHECK(value_of(*large.last, kResident) == *expected * 16);
  CHECK(lines(large.differences) == "");
  const auto monitor = make_monitor(capture_parts(large.files), {}, log);
  CHECK(value_of(*monitor->scrape({}), kResident) == *expected * 16);
  CHECK(usual.all_text().find("page-size") == std::string::npos);  // as before
}

TEST_CASE("a capture that would be too large is not made") {
  CHECK_THROWS_WITH_AS(Captured("rack", {.passes = 2, .most_bytes = 1000}),
                       doctest::Contains("would be larger than 0 MiB"), CaptureError);
}

TEST_CASE("files that are no capture are rejected with one line that names what is wrong") {
  const Captured captured("arc-a770", {.passes = 2});
  const auto refusal = [&](const std::string& path, const std::string& content) {
    CaptureFiles files = captured.outcome.files;
    files[path] = content;
    try {
      check_capture(files);
    } catch (const CaptureError& error) {
      CHECK(std::string(error.what()).find('\n') == std::string::npos);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK_NOTHROW(check_capture(captured.outcome.files));
  CHECK_THROWS_AS(check_capture({}), CaptureError);
  CHECK(refusal("capture", "intel-gpu-exporter capture, format 2\n").find("format 1") != std::string::npos);
  const auto index = [&](const std::string& line) { return refusal("1/index", "start 0\n" + line); };
  CHECK(index("").find("accepted") == 0);
  CHECK(index("0 open sys/a done") == "it is not a capture that this version reads: 1/index:2: the line does not end");
  CHECK(index("x open sys/a done\n").find("a number is expected") != std::string::npos);
  CHECK(index("-1 open sys/a done\n").find("out of range") != std::string::npos);
  CHECK(index("0 open sys/a melted\n").find("an unknown kind") != std::string::npos);
  CHECK(index("0 open sys/%zz done\n").find("escaped") != std::string::npos);
  CHECK(index("0 open sys/a done more\n").find("more than an answer") != std::string::npos);
  CHECK(index("0 open sys/a done\n0 open sys/a done\n").find("twice") != std::string::npos);
  CHECK(index("0 read sys/nowhere content\n").find("its file is missing") != std::string::npos);
  CHECK(index("0 index index content\n").find("no content") != std::string::npos);
  CHECK(index("0 read sys/a absent tired 2\n").find("an unknown reason") != std::string::npos);
}

TEST_SUITE_END();
