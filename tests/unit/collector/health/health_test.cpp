// SPDX-License-Identifier: Apache-2.0
// What the kernel wrote, and what the page says.
#include "collector/health/health.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "kernel/device/drm_uapi.h"
#include "support/fake_kernel_messages.h"
#include "support/fake_queue_faults.h"
#include "support/held_reads.h"
#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

constexpr std::string_view kDgpu = "0000:03:00.0", kIgpu = "0000:00:02.0";
constexpr double kBoot = 1'700'000'000;  // btime

Gpu gpu_at(std::string_view address, Driver driver) {
  Gpu gpu;
  gpu.address = address;
  gpu.driver = driver;
  gpu.card = driver == Driver::xe ? "card1" : "card0";
  gpu.render_node = driver == Driver::xe ? "renderD129" : "renderD128";
  gpu.pci_path = "devices/pci0000:00/" + gpu.address;
  return gpu;
}

// Of another part of the collector: health_files_test.cpp.
bool is_about_firmware(unsigned long request, const void* argument) {
  if (request == drm::kIoctlI915Getparam) return true;
  return request == drm::kIoctlXeDeviceQuery &&
         static_cast<const drm::XeDeviceQuery*>(argument)->query == drm::kXeFirmwareVersion;
}

class HangPass final : public MachinePass {
 public:
  explicit HangPass(const Clock& clock) : clock_(clock) {}
  Nanoseconds now() const override { return clock_.now(); }
  Reading<const ClientSnapshot*> clients() override { return Absent{}; }
  std::shared_ptr<const std::vector<Gpu>> gpus() const override { return std::make_shared<std::vector<Gpu>>(bound); }
  std::span<const std::string> asleep() const override { return sleeping; }
  FactBoard& facts() override { return board_; }

  std::vector<Gpu> bound;
  std::vector<std::string> sleeping;

 private:
  const Clock& clock_;
  FactBoard::Waiting waiting_;
  FactBoard board_{waiting_};
};

// An i915 and an xe GPU, and the kernel's messages about them.
class Scene {
 public:
  TestMachine m;
  FakeKernelMessages uevents, log;
  FakeQueueFaults bpf;  // of the collector `jobs`
  std::vector<Gpu> gpus{gpu_at(kIgpu, Driver::i915), gpu_at(kDgpu, Driver::xe)};
  std::vector<std::string> sleeping;
  std::map<std::string, int> answers{{"renderD128", 0}, {"renderD129", 0}};  // errno of the drivers
  int asked = 0;
  std::vector<ProcessHang> hangs;  // that were reported to other collectors
  std::shared_ptr<Flights> flights = std::make_shared<Flights>();
  Nanoseconds longest_wait = 60s;  // for core dumps, which are read by another thread

  Scene() {
    m.tree.write("proc/stat", "cpu  1 2 3\nintr 7\nbtime 1700000000\nprocesses 1\n");
    m.tree.make_directory("sys/class/devcoredump");
    m.machine().uevents = &uevents;
    m.machine().kernel_log = &log;
    for (const auto& [node, error] : answers) {
      const std::string name = node;
      m.drm.add(name, [this, name](unsigned long request, void* argument) {
        if (is_about_firmware(request, argument)) return answers.at(name) != 0 ? answers.at(name) : EINVAL;
        ++asked;
        return answers.at(name);
      });
    }
  }

  // The programs of the collector `jobs` run.
  void turn_jobs_on() { m.machine().queue_faults = &bpf; }
  void without_log() { m.machine().kernel_log = Absent{Reason::permission, EPERM}; }
  void bpf_event(FakeQueueFaults::Fault fault, Nanoseconds ago = {}) {
    fault.time = m.clock.now() - ago;
    bpf.add(fault);
  }

  SampleSink& scrape(Nanoseconds after = 15s) {
    if (!collector_) start();
    m.clock.advance(after);
    sink.clear();
    HangPass pass(m.clock);
    pass.bound = gpus;
    pass.sleeping = sleeping;
    collector_->collect(pass, sink);
    for (ProcessHang& hang : pass.facts().take<ProcessHang>()) hangs.push_back(std::move(hang));
    return sink;
  }
  // The exporter starts: other than by a first scrape, so that something can happen in between.
  void start() { start(m.machine()); }
  void start(Machine machine) {
    collector_.reset();
    machine_.emplace(std::move(machine));
    collector_ = std::make_unique<HealthCollector>(*machine_, flights, longest_wait);
  }
  // As if the exporter were started again.
  void restart() { collector_.reset(); }

  void write_log(std::string_view device, std::string_view text, Nanoseconds ago = {}) {
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(m.clock.now() - ago).count();
    log.add("6," + std::to_string(++sequence_) + "," + std::to_string(us) + ",-;" + std::string(text) +
            "\n SUBSYSTEM=pci\n DEVICE=+pci:" + std::string(device) + "\n");
  }
  void xe_log(std::string_view text, Nanoseconds ago = {}) {
    write_log(kDgpu, "xe " + std::string(kDgpu) + ": [drm] Tile0: GT0: " + std::string(text), ago);
  }
  // The media GT of the same GPU, which has queue ids of its own.
  void media_log(std::string_view text) {
    write_log(kDgpu, "xe " + std::string(kDgpu) + ": [drm] Tile0: GT1: " + std::string(text));
  }
  void i915_log(std::string_view text, Nanoseconds ago = {}) {
    write_log(kIgpu, "i915 " + std::string(kIgpu) + ": [drm] " + std::string(text), ago);
  }
  void uevent(std::string_view device, std::string_view pair) {
    const Gpu& gpu = device == kIgpu ? gpus.front() : gpus.back();
    uevents.add(uevent_text("change", gpu.pci_path + "/drm/" + gpu.card, "drm", pair));
  }
  void dump(int number, const std::string& device) {
    const std::string folder = "sys/class/devcoredump/devcd" + std::to_string(number);
    m.tree.make_directory("sys/" + device);
    m.tree.make_directory(folder);
    m.tree.link(folder + "/failing_device", "../../../" + device);
    uevents.add(uevent_text("add", "devices/virtual/devcoredump/devcd" + std::to_string(number), "devcoredump", "A=B"));
  }

  std::optional<double> value(std::string_view metric, Labels labels = {}) const {
    std::optional<double> found;
    for (const auto& sample : sink.samples().samples()) {
      if (sample.metric->name != metric || !matches(sample, labels)) continue;
      if (found) return std::nullopt;
      found = sample.value;
    }
    return found;
  }
  double sum(std::string_view metric, Labels labels = {}) const {
    double all = 0;
    for (const auto& sample : sink.samples().samples())
      if (sample.metric->name == metric && matches(sample, labels)) all += sample.value;
    return all;
  }
  std::optional<Absent> absent(std::string_view feature, std::string_view device = {}) const {
    for (const auto& state : sink.features())
      if (state.feature->name == feature && state.device == device && !state.available) return state.absent;
    return std::nullopt;
  }
  double unix_now() const { return kBoot + to_seconds(m.clock.now()).value; }

  SampleSink sink;

 private:
  bool matches(const SampleList::Sample& sample, Labels labels) const {
    for (const auto& [name, value] : labels) {
      bool same = false;
      for (std::size_t i = 0; i < sample.metric->label_count; ++i)
        same = same || (sample.metric->label_names[i] == name && sink.samples().label_value(sample, i) == value);
      if (!same) return false;
    }
    return true;
  }

  std::optional<Machine> machine_;
  std::unique_ptr<HealthCollector> collector_;
  std::uint64_t sequence_ = 0;
};

// The start of a core dump, of a GPU with two GTs; a kernel before Linux 6.13 gives no reason.
std::string core_dump(std::string_view reason = {}, int gt = 0) {
  std::string text = "**** Xe Device Coredump ****\n";
  if (!reason.empty()) (text += "Reason: ") += std::string(reason) + '\n';
  text +=
      "kernel: 6.14.0-37-generic\nmodule: xe\nSnapshot time: 1730000000.123456789\nUptime: 3600.123456789\n"
      "Process: ffmpeg [19639]\nPCI ID: 0x7d55\nPCI revision: 0x08\n";
  for (const char* const main_or_media : {"0\n\tTile: 0\n\tType: main", "1\n\tTile: 0\n\tType: media"})
    text += "GT id: " + std::string(main_or_media) + "\n\tIP ver: 12.71.4\n\tCS reference clock: 38400000\n";
  return text + "\n**** GT #" + std::to_string(gt) + " ****\n\tTile: 0\n\n**** GuC Log ****\n";
}

// To a millisecond, of times since 1970.
doctest::Approx exactly(double time) { return doctest::Approx(time).epsilon(1e-13).scale(1e10); }

constexpr std::string_view kHangs = "intel_gpu_hangs_total";
constexpr std::string_view kProcessHangs = "intel_gpu_process_hangs_total";
constexpr std::string_view kWedged = "intel_gpu_wedged";
constexpr std::string_view kEvents = "intel_gpu_fault_events_total";
constexpr std::string_view kLast = "intel_gpu_last_fault_timestamp_seconds";

}  // namespace

TEST_SUITE_BEGIN("health");

TEST_CASE("nothing has happened: counters stand at zero, no time of a fault, and two reads per scrape") {
  Scene s;
  s.scrape();
  CHECK(s.value("intel_gpu_resets_total", {{"device", kIgpu}, {"kind", "full"}}) == 0);
  CHECK(s.value(kHangs, {{"device", kIgpu}, {"kind", "hang"}, {"class", "video"}}) == 0);
  CHECK(s.value(kHangs, {{"device", kDgpu}, {"kind", "job_timeout"}, {"class", "unknown"}}) == 0);
  CHECK(s.value("intel_gpu_core_dumps_total", {{"device", kDgpu}}) == 0);
  CHECK(s.value(kWedged, {{"device", kIgpu}}) == 0);
  CHECK(s.value(kWedged, {{"device", kDgpu}}) == 0);
  CHECK(s.value("intel_gpu_fault_events_lost_total", {{"channel", "kmsg"}}) == 0);
  CHECK(s.value("intel_gpu_fault_events_lost_total", {{"channel", "uevent"}}) == 0);
  CHECK(s.sum(kLast) == 0);
  // i915 announces neither with uevents of xe nor the other way round.
  CHECK_FALSE(s.value("intel_gpu_resets_total", {{"device", kDgpu}}));
  CHECK_FALSE(s.value("intel_gpu_core_dumps_total", {{"device", kIgpu}}));
  const int asked = s.asked;
  const std::size_t reads = s.log.calls + s.uevents.calls;
  s.scrape(1s);
  CHECK(s.log.calls + s.uevents.calls == reads + 2);
  CHECK(s.asked == asked);
}

TEST_CASE("i915: three lines are one hang, of its class and its process") {
  Scene s;
  s.scrape();
  s.i915_log("Resetting vecs0 for preemption time out");
  s.i915_log("ffmpeg[504625] context reset due to GPU hang");
  s.i915_log("GPU HANG: ecode 12:8:2cffbffd, in ffmpeg [504625]");
  s.scrape();
  CHECK(s.sum(kHangs) == 1);
  CHECK(s.value(kHangs, {{"device", kIgpu}, {"kind", "hang"}, {"class", "video_enhance"}}) == 1);
  CHECK(s.value("intel_gpu_process_hangs_total", {{"pid", "504625"}, {"comm", "ffmpeg"}}) == 1);
  REQUIRE(s.value(kLast, {{"device", kIgpu}, {"kind", "hang"}}));
  CHECK(*s.value(kLast, {{"device", kIgpu}, {"kind", "hang"}}) == exactly(s.unix_now() - 15));
  s.scrape();
  CHECK(s.sum(kHangs) == 1);
}

TEST_CASE("i915 names the thread that made the context: while it lives, its process counts") {
  Scene s;
  s.m.tree.write("proc/991797/stat", "991797 (av:h264:df0) S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0\n");
  s.m.tree.write("proc/991797/status", "Name:\tav:h264:df0\nTgid:\t991700\n");
  s.m.tree.write("proc/991700/stat", "991700 (ffmpeg) S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0\n");
  s.m.tree.write("proc/7/stat", "7 (another) S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0\n");
  s.m.tree.write("proc/7/status", "Name:\tanother\nTgid:\t6\n");
  s.scrape();
  s.i915_log("GPU HANG: ecode 12:4:2cffbffd, in av:h264:df0 [991797]");
  s.i915_log("GPU HANG: ecode 12:4:2cffbffd, in encoder [7]");  // gone: its id belongs to another process now
  s.scrape();
  CHECK(s.value("intel_gpu_process_hangs_total", {{"pid", "991700"}, {"comm", "ffmpeg"}}) == 1);
  CHECK(s.value("intel_gpu_process_hangs_total", {{"pid", "7"}, {"comm", "encoder"}}) == 1);
  REQUIRE(s.hangs.size() == 2);
  CHECK(s.hangs[0].pid == 991700);
  CHECK(s.hangs[0].device == kIgpu);
  CHECK(s.hangs[0].kind == "hang");
}

TEST_CASE("xe: the class from the reset, the process from the job, one hang") {
  Scene s;
  s.scrape();
  s.xe_log("Engine reset: engine_class=vcs, logical_mask: 0x1, guc_id=27, state=0x3");
  s.xe_log("Timedout job: seqno=1, lrc_seqno=1, guc_id=27, flags=0x0 in ffmpeg [19639]");
  s.xe_log("Xe device coredump has been created");
  s.scrape();
  CHECK(s.sum(kHangs) == 1);
  CHECK(s.value(kHangs, {{"device", kDgpu}, {"kind", "job_timeout"}, {"class", "video"}}) == 1);
  CHECK(s.value("intel_gpu_process_hangs_total", {{"device", kDgpu}, {"pid", "19639"}, {"comm", "ffmpeg"}}) == 1);
}

TEST_CASE("xe: an engine reset alone also follows a normal end, and counts as nothing") {
  Scene s;
  s.scrape();
  for (int i = 0; i < 3; ++i)
    s.xe_log("Engine reset: engine_class=ccs, logical_mask: 0x1, guc_id=" + std::to_string(i));
  s.scrape();
  CHECK(s.sum(kHangs) == 0);
  CHECK(s.sum(kLast) == 0);
}

TEST_CASE("xe: a memory error, the end of its queue and the reset of the GT are one hang; the next queue is another") {
  Scene s;
  s.scrape();
  s.xe_log("Engine memory CAT error [18]: class=bcs, logical_mask: 0x1, guc_id=18");
  s.xe_log("Timedout job: seqno=1, lrc_seqno=1, guc_id=18, flags=0x0 in python3 [7]");
  s.xe_log("reset started");
  s.xe_log("reset done");
  s.xe_log("Timedout job: seqno=1, lrc_seqno=1, guc_id=19, flags=0x0 in python3 [7]");
  s.scrape();
  CHECK(s.value(kHangs, {{"kind", "cat_error"}, {"class", "copy"}}) == 1);
  CHECK(s.value(kHangs, {{"kind", "job_timeout"}, {"class", "unknown"}}) == 1);
  CHECK(s.sum(kHangs) == 2);
  CHECK(s.value("intel_gpu_process_hangs_total", {{"pid", "7"}}) == 2);
  s.m.clock.advance(1min);
  s.xe_log("reset started");  // nothing before it
  s.scrape();
  CHECK(s.value(kHangs, {{"kind", "gt_reset"}}) == 1);
}

TEST_CASE("xe: a storm of page faults is one hang, with what it ends in; one after a pause is another") {
  Scene s;
  s.scrape();
  for (int i = 0; i < 33; ++i) s.xe_log("Fault response: Unsuccessful -EBUSY");
  s.xe_log("Engine memory CAT error [18]: class=bcs, logical_mask: 0x1, guc_id=18");
  s.xe_log("Engine reset: engine_class=bcs, logical_mask: 0x1, guc_id=18, state=0x289");
  s.xe_log("Timedout job: seqno=1, lrc_seqno=1, guc_id=18, flags=0x0 in python3 [7]");
  for (int i = 0; i < 20; ++i) s.xe_log("Fault response: Unsuccessful -EBUSY");
  s.scrape();
  CHECK(s.value(kHangs, {{"kind", "page_fault"}, {"class", "copy"}}) == 1);
  CHECK(s.sum(kHangs) == 1);
  CHECK(s.value("intel_gpu_process_hangs_total", {{"pid", "7"}, {"comm", "python3"}}) == 1);
  s.m.clock.advance(1min);
  s.xe_log("Fault response: Unsuccessful -EINVAL");
  s.scrape();
  CHECK(s.sum(kHangs) == 2);
}

TEST_CASE("a storm that goes on counts as one hang, with every line as an event and the time of the last one") {
  Scene s;
  s.scrape();
  CHECK(s.value(kEvents, {{"device", kDgpu}, {"kind", "firmware"}}) == 0);
  double last = 0;
  constexpr int kScrapes = 50, kLines = 7;
  for (int i = 0; i < kScrapes; ++i) {  // one line every two seconds
    for (int line = 0; line < kLines; ++line)
      s.write_log(kDgpu, "xe 0000:03:00.0: [drm] *ERROR* TLB invalidation fence timeout, seqno=32 recv=31",
                  std::chrono::seconds(2 * (kLines - line)));
    last = s.unix_now() - 2;
    s.scrape(14s);
  }
  CHECK(s.sum(kHangs) == 1);
  CHECK(s.value(kEvents, {{"device", kDgpu}, {"kind", "firmware"}}) == kScrapes * kLines);
  CHECK(*s.value(kLast, {{"kind", "firmware"}}) >= last);
  CHECK(s.flights->take_requests().size() == 1);
}

TEST_CASE("a reset that ends firmware which does not answer has its own time, although it is the same hang") {
  Scene s;
  s.scrape();
  s.xe_log("GuC Crash dump notification");
  s.xe_log("reset started");
  s.xe_log("reset failed (-ETIMEDOUT)");
  s.scrape();
  CHECK(s.sum(kHangs) == 1);
  CHECK(s.value(kEvents, {{"device", kDgpu}, {"kind", "firmware"}}) == 2);  // the last line has no kind of its own
  CHECK(s.value(kEvents, {{"device", kDgpu}, {"kind", "gt_reset"}}) == 1);
  CHECK(s.value(kLast, {{"kind", "gt_reset"}}));
}

TEST_CASE("lines of one queue are one hang although xe waits 5 s for the firmware between them") {
  Scene s;
  s.scrape();
  s.xe_log("Engine reset: engine_class=bcs, logical_mask: 0x1, guc_id=9, state=0x29", 5500ms);
  s.xe_log("Timedout job: seqno=1, lrc_seqno=1, guc_id=9, flags=0x0 in python3 [7]");
  s.scrape();
  CHECK(s.value(kHangs, {{"kind", "job_timeout"}, {"class", "copy"}}) == 1);
  s.m.clock.advance(1min);
  s.xe_log("Engine memory CAT error: engine_class=ccs, logical_mask: 0x1, guc_id=5", 5500ms);
  s.xe_log("Timedout job: seqno=1, lrc_seqno=1, guc_id=5, flags=0x0 in python3 [7]");
  s.scrape();
  CHECK(s.value(kHangs, {{"kind", "cat_error"}, {"class", "compute"}}) == 1);
  CHECK(s.sum(kHangs) == 2);
  s.m.clock.advance(1min);
  s.xe_log("Engine memory CAT error: engine_class=ccs, logical_mask: 0x1, guc_id=5", 5500ms);
  s.xe_log("reset started");  // names no queue
  s.scrape();
  CHECK(s.value(kHangs, {{"kind", "gt_reset"}}) == 1);
  CHECK(s.sum(kHangs) == 4);
}

TEST_CASE("a request that is not done repeats its line every 28 s: each one counts") {
  Scene s;
  s.scrape();
  for (int i = 0; i < 3; ++i) {
    s.write_log("", "Fence expiration time out i915-0000:00:02.0:ffmpeg[575520]:" + std::to_string(i) + "!");
    s.scrape(28s);
  }
  CHECK(s.value(kHangs, {{"device", kIgpu}, {"kind", "fence_expired"}}) == 3);
  CHECK(s.sum(kHangs) == 3);
}

TEST_CASE("what happened before the start has a time, and no count") {
  Scene s;
  s.i915_log("GPU HANG: ecode 12:8:2cffbffd, in ffmpeg [504625]", 20min);
  s.i915_log("Resetting chip for stopped heartbeat on rcs0", 10min);
  s.dump(3, "devices/pci0000:00/0000:03:00.0");
  const double before = s.unix_now();
  s.scrape();
  CHECK(s.sum(kHangs) == 0);
  CHECK(s.sum("intel_gpu_process_hangs_total") == 0);
  CHECK(s.value("intel_gpu_core_dumps_total", {{"device", kDgpu}}) == 0);
  CHECK(s.hangs.empty());
  CHECK(*s.value(kLast, {{"device", kIgpu}, {"kind", "hang"}}) == exactly(before - 20 * 60));
  CHECK(*s.value(kLast, {{"device", kIgpu}, {"kind", "full"}}) == exactly(before - 10 * 60));
  CHECK(s.value(kLast, {{"device", kDgpu}, {"kind", "core_dump"}}));
}

TEST_CASE("what happens between the start and the first scrape counts") {
  Scene s;
  s.turn_jobs_on();
  s.i915_log("GPU HANG: ecode 12:8:2cffbffd, in ffmpeg [504625]", 1s);
  s.start();
  s.m.clock.advance(1s);
  s.i915_log("GPU HANG: ecode 12:8:2cffbffd, in ffmpeg [504625]");
  s.uevent(kIgpu, "RESET=1");
  s.bpf_event({.queue = 27, .pid = 7, .name = "python3"});
  s.scrape();
  CHECK(s.value(kHangs, {{"device", kIgpu}, {"kind", "hang"}, {"class", "video_enhance"}}) == 1);
  CHECK(s.value("intel_gpu_process_hangs_total", {{"pid", "504625"}}) == 1);
  CHECK(s.value("intel_gpu_resets_total", {{"device", kIgpu}}) == 1);
  CHECK(s.value(kHangs, {{"device", kDgpu}, {"kind", "job_timeout"}, {"class", "video"}}) == 1);
  CHECK(*s.value(kLast, {{"device", kIgpu}, {"kind", "hang"}}) == exactly(s.unix_now() - 15));
}

TEST_CASE("a core dump that is made between the start and the first scrape counts, and names its process") {
  Scene s;
  s.without_log();
  s.dump(3, "devices/pci0000:00/0000:03:00.0");
  s.start();
  s.dump(4, "devices/pci0000:00/0000:03:00.0");
  s.m.tree.write("sys/class/devcoredump/devcd4/data", core_dump("Timedout job - seqno=1, guc_id=27, flags=0x0"));
  s.scrape();
  CHECK(s.value("intel_gpu_core_dumps_total", {{"device", kDgpu}}) == 1);
  CHECK(s.value(kProcessHangs, {{"device", kDgpu}, {"pid", "19639"}, {"comm", "ffmpeg"}}) == 1);
}

TEST_CASE("what cannot be read of the log at first is not taken for new later") {
  Scene s;
  s.log.failure = EIO;
  s.xe_log("Timedout job: seqno=1, lrc_seqno=1, guc_id=27, flags=0x0 in ffmpeg [19639]", 1min);
  s.scrape();
  s.log.failure = 0;
  s.scrape();
  CHECK(s.sum(kHangs) == 0);
  CHECK(s.value(kLast, {{"device", kDgpu}, {"kind", "job_timeout"}}));
}

TEST_CASE("an announced reset of the whole GPU") {
  Scene s;
  s.scrape();
  for (const char* pair : {"ERROR=1", "RESET=1", "ERROR=0"}) s.uevent(kIgpu, pair);
  s.uevent(kIgpu, "HOTPLUG=1");  // a monitor
  s.scrape();
  CHECK(s.value("intel_gpu_resets_total", {{"device", kIgpu}}) == 1);
  CHECK(s.value(kWedged, {{"device", kIgpu}}) == 0);
  CHECK(*s.value(kLast, {{"device", kIgpu}, {"kind", "full"}}) == exactly(s.unix_now()));
  s.scrape(10s);
  CHECK(s.value(kWedged, {{"device", kIgpu}}) == 0);
}

TEST_CASE("wedged: announced, confirmed, and over when the driver answers twice") {
  Scene s;
  s.scrape();
  s.uevent(kDgpu, "WEDGED=rebind,bus-reset");
  s.answers["renderD129"] = ECANCELED;
  s.scrape();
  CHECK(s.value(kWedged, {{"device", kDgpu}}) == 1);
  CHECK(s.value(kWedged, {{"device", kIgpu}}) == 0);
  CHECK(*s.value(kLast, {{"device", kDgpu}, {"kind", "wedged"}}) == exactly(s.unix_now()));
  s.answers["renderD129"] = 0;
  s.scrape(20s);
  CHECK(s.value(kWedged, {{"device", kDgpu}}) == 1);
  s.scrape(1s);
  CHECK(s.value(kWedged, {{"device", kDgpu}}) == 0);
}

TEST_CASE("wedged: a reset was enough") {
  Scene s;
  s.scrape();
  s.uevent(kDgpu, "WEDGED=none");
  s.scrape();
  CHECK(s.value(kWedged, {{"device", kDgpu}}) == 0);
}

TEST_CASE("wedged since before the start: two answers that agree; one may be a recovery from a PCIe error") {
  Scene s;
  s.answers["renderD129"] = ECANCELED;
  s.scrape();
  CHECK_FALSE(s.value(kWedged, {{"device", kDgpu}}));
  s.scrape(1s);
  CHECK(s.value(kWedged, {{"device", kDgpu}}) == 1);

  Scene other;
  other.scrape();
  other.answers["renderD129"] = ECANCELED;
  other.scrape(20s);
  CHECK(other.value(kWedged, {{"device", kDgpu}}) == 0);
  other.answers["renderD129"] = 0;
  other.scrape(1s);
  CHECK(other.value(kWedged, {{"device", kDgpu}}) == 0);
}

TEST_CASE("wedged: i915 began a reset and did not end it") {
  Scene s;
  s.scrape();
  s.uevent(kIgpu, "ERROR=1");
  s.answers["renderD128"] = EIO;
  s.scrape(1s);
  CHECK(s.value(kWedged, {{"device", kIgpu}}) == 0);
  s.scrape(1s);
  CHECK(s.value(kWedged, {{"device", kIgpu}}) == 1);

  // Without the right to ask the driver, the missing end tells.
  Scene denied;
  denied.m.drm.refuse("renderD128", EACCES);
  denied.scrape();
  CHECK(denied.absent("wedged", kIgpu) == Absent{Reason::permission, EACCES});
  denied.uevent(kIgpu, "ERROR=1");
  denied.scrape(1s);
  CHECK_FALSE(denied.value(kWedged, {{"device", kIgpu}}));
  denied.scrape(10s);
  CHECK(denied.value(kWedged, {{"device", kIgpu}}) == 1);
}

TEST_CASE("a GPU that sleeps is not asked, and one that is bound again is not wedged any more") {
  Scene s;
  s.sleeping = {std::string(kDgpu)};
  s.scrape();
  CHECK(s.asked == 1);
  CHECK(s.absent("wedged", kDgpu) == Absent{Reason::suspended});
  s.uevent(kDgpu, "WEDGED=rebind");
  s.xe_log("reset started");
  s.scrape();
  CHECK(s.value(kWedged, {{"device", kDgpu}}) == 1);
  s.gpus.back().binding = 2;
  s.scrape();
  CHECK_FALSE(s.value(kWedged, {{"device", kDgpu}}));
  CHECK(s.value(kHangs, {{"device", kDgpu}, {"kind", "gt_reset"}}) == 1);  // counts stay
}

TEST_CASE("core dumps of this GPU; those of other devices, and ones that are gone again, are not counted") {
  Scene s;
  s.scrape();
  s.dump(4, "devices/pci0000:00/0000:03:00.0");
  s.dump(5, "devices/pci0000:00/0000:07:00.0");  // a Wi-Fi card
  s.m.tree.make_directory("sys/class/devcoredump/devcd6");
  s.scrape();
  CHECK(s.value("intel_gpu_core_dumps_total", {{"device", kDgpu}}) == 1);
  CHECK(s.value(kLast, {{"device", kDgpu}, {"kind", "core_dump"}}));
  s.scrape();
  CHECK(s.value("intel_gpu_core_dumps_total", {{"device", kDgpu}}) == 1);
  s.m.tree.remove("sys/class/devcoredump/devcd4");
  s.dump(7, "devices/pci0000:00/0000:03:00.0");
  s.scrape();
  CHECK(s.value("intel_gpu_core_dumps_total", {{"device", kDgpu}}) == 2);
}

TEST_CASE("a core dump that is listed before the kernel has linked it to its device counts when it is linked") {
  Scene s;
  s.scrape();
  s.m.tree.make_directory("sys/class/devcoredump/devcd4");
  s.m.tree.make_directory("sys/class/devcoredump/devcd5");  // its link failed
  s.scrape(20s);
  CHECK(s.value("intel_gpu_core_dumps_total", {{"device", kDgpu}}) == 0);
  s.dump(4, "devices/pci0000:00/0000:03:00.0");
  for (int i = 0; i < 3; ++i) {
    s.scrape(20s);
    CHECK(s.value("intel_gpu_core_dumps_total", {{"device", kDgpu}}) == 1);
  }
  s.dump(6, "devices/pci0000:00/0000:03:00.0");
  s.scrape();
  CHECK(s.value("intel_gpu_core_dumps_total", {{"device", kDgpu}}) == 2);
}

TEST_CASE("without the kernel log the core dump names the process; with it, its line has already done so") {
  constexpr std::string_view kText =
      "**** Xe Device Coredump ****\nkernel: 6.14.0\nmodule: xe\nProcess: ffmpeg [19639]\n**** Job ****\n";
  const Labels ffmpeg{{"device", kDgpu}, {"pid", "19639"}, {"comm", "ffmpeg"}};
  for (const bool has_log : {true, false}) {
    CAPTURE(has_log);
    Scene s;
    if (!has_log) s.m.machine().kernel_log = Absent{Reason::permission, EPERM};
    s.dump(3, "devices/pci0000:00/0000:03:00.0");
    s.m.tree.write("sys/class/devcoredump/devcd3/data", kText);
    s.scrape();
    CHECK(s.sum("intel_gpu_process_hangs_total") == 0);  // it is from before the start
    s.m.tree.remove("sys/class/devcoredump/devcd3");
    s.xe_log("Timedout job: seqno=1, lrc_seqno=1, guc_id=27, flags=0x0 in ffmpeg [19639]");
    s.dump(4, "devices/pci0000:00/0000:03:00.0");
    s.m.tree.write("sys/class/devcoredump/devcd4/data", kText);
    s.sleeping = {std::string(kDgpu)};
    s.scrape();
    CHECK(s.value("intel_gpu_core_dumps_total", {{"device", kDgpu}}) == 1);
    CHECK(s.value("intel_gpu_process_hangs_total", ffmpeg).has_value() == has_log);  // reading a dump may wake the GPU
    s.sleeping.clear();
    s.scrape();
    CHECK(s.value("intel_gpu_process_hangs_total", ffmpeg) == 1);
    CHECK(s.sum(kHangs) == (has_log ? 1 : 0));  // a lower bound is no count of hangs
    REQUIRE(s.hangs.size() == 1);
    CHECK(s.hangs.front().kind == "job_timeout");
    s.scrape();
    CHECK(s.value("intel_gpu_process_hangs_total", ffmpeg) == 1);
  }
}

TEST_CASE("a core dump that cannot be read, or is gone again, names nobody; it counts all the same") {
  Scene s;
  s.m.machine().kernel_log = Absent{Reason::permission, EPERM};
  s.scrape();
  s.dump(4, "devices/pci0000:00/0000:03:00.0");
  s.scrape();
  CHECK(s.value("intel_gpu_core_dumps_total", {{"device", kDgpu}}) == 1);
  CHECK(s.sum("intel_gpu_process_hangs_total") == 0);
  CHECK(s.sink.failures().empty());
}

TEST_CASE("a core dump that xe still writes delays no scrape; its process is named when it is complete") {
  Scene s;
  s.without_log();
  s.longest_wait = 0s;
  HeldReads xe(s.m.sys, "devcd4/data");
  xe.gate.close();
  s.start(xe.in(s.m.machine()));
  s.scrape();
  s.dump(4, "devices/pci0000:00/0000:03:00.0");
  s.m.tree.write("sys/class/devcoredump/devcd4/data", core_dump("LR job cleanup, guc_id=3"));
  s.uevent(kIgpu, "RESET=1");
  s.scrape();
  CHECK(s.value("intel_gpu_core_dumps_total", {{"device", kDgpu}}) == 1);
  CHECK(s.value("intel_gpu_resets_total", {{"device", kIgpu}}) == 1);
  CHECK(s.value(kWedged, {{"device", kDgpu}}) == 0);
  CHECK(s.sum(kProcessHangs) == 0);
  CHECK(s.sink.failures().empty());
  s.gpus.back().binding = 2;  // what is bound again meanwhile loses nothing
  s.scrape();
  CHECK(xe.gate.wait_for_arrivals(1));
  xe.gate.open();
  for (int i = 0; i < 60'000 && s.hangs.empty(); ++i) {
    std::this_thread::sleep_for(1ms);
    s.scrape(1ms);
  }
  CHECK(s.value(kProcessHangs, {{"pid", "19639"}, {"comm", "ffmpeg"}}) == 1);
  CHECK(xe.gate.arrived() == 1);  // it was read once
}

TEST_CASE("of a core dump of 2 GB only the start is read") {
  Scene s;
  s.without_log();
  s.scrape();
  s.dump(4, "devices/pci0000:00/0000:03:00.0");
  s.m.tree.write("sys/class/devcoredump/devcd4/data", core_dump("LR job cleanup, guc_id=3"));
  std::filesystem::resize_file(s.m.tree.root() / "sys/class/devcoredump/devcd4/data", std::uintmax_t{2} << 30U);
  s.scrape();
  CHECK(s.value(kProcessHangs, {{"pid", "19639"}, {"comm", "ffmpeg"}}) == 1);
  CHECK(s.sink.failures().empty());
}

TEST_CASE("without /proc/stat faults count but have no time, and there is a reason") {
  Scene s;
  s.scrape();
  CHECK_FALSE(s.absent("fault_times"));
  s.restart();
  s.m.tree.remove("proc/stat");
  s.scrape();
  CHECK(s.absent("fault_times") == Absent{Reason::kernel, ENOENT});
  s.dump(3, "devices/pci0000:00/0000:03:00.0");
  s.scrape();
  CHECK(s.value("intel_gpu_core_dumps_total") == 1);
  CHECK(s.sum(kLast) == 0);
  s.m.tree.write("proc/stat", "cpu  1 2 3\n");  // no boot time
  s.restart();
  s.scrape();
  CHECK(s.absent("fault_times") == Absent{Reason::kernel, ENODATA});
  CHECK(s.sink.failures().empty());
}

TEST_CASE("core dumps that are turned off until the next boot have a reason") {
  Scene s;
  s.m.tree.write("sys/class/devcoredump/disabled", "1\n");
  s.scrape();
  CHECK_FALSE(s.value("intel_gpu_core_dumps_total"));
  CHECK(s.absent("core_dumps", kDgpu) == Absent{Reason::disabled, EPERM});
  CHECK(s.absent("core_dumps", kIgpu) == Absent{Reason::kernel, 0});
}

TEST_CASE("core dumps that are turned off while the exporter runs: no event tells, a look every 20 s does") {
  Scene s;
  s.scrape();
  CHECK_FALSE(s.absent("core_dumps", kDgpu));
  s.m.tree.write("sys/class/devcoredump/disabled", "1\n");
  s.scrape(1s);
  CHECK_FALSE(s.absent("core_dumps", kDgpu));
  s.scrape(20s);
  CHECK(s.absent("core_dumps", kDgpu) == Absent{Reason::disabled, EPERM});
}

TEST_CASE("lost uevents are counted, and sysfs and the drivers are asked at once") {
  Scene s;
  s.scrape();
  s.dump(4, "devices/pci0000:00/0000:03:00.0");
  (void)s.scrape(0s);
  s.m.tree.make_directory("sys/class/devcoredump/devcd5");
  s.m.tree.link("sys/class/devcoredump/devcd5/failing_device", "../../../devices/pci0000:00/0000:03:00.0");
  const int asked = s.asked;
  s.scrape(1s);
  CHECK(s.value("intel_gpu_core_dumps_total", {{"device", kDgpu}}) == 1);  // nobody told
  s.uevents.lose();
  s.uevents.add("not a uevent");
  s.scrape(1s);
  CHECK(s.value("intel_gpu_fault_events_lost_total", {{"channel", "uevent"}}) == 1);
  CHECK(s.value("intel_gpu_core_dumps_total", {{"device", kDgpu}}) == 2);
  CHECK(s.asked == asked + 2);
}

TEST_CASE("an overwritten kernel log is counted, and reading goes on") {
  Scene s;
  s.scrape();
  s.log.lose();
  s.xe_log("Timedout job: seqno=1, lrc_seqno=1, guc_id=18, flags=0x0 in python3 [7]");
  s.scrape();
  CHECK(s.value("intel_gpu_fault_events_lost_total", {{"channel", "kmsg"}}) == 1);
  CHECK(s.sum(kHangs) == 1);
}

TEST_CASE("a flood of lines: a scrape reads a part, the next ones the rest, and no hang is lost") {
  Scene s;
  s.scrape();
  for (int i = 0; i < 100'000; ++i) s.log.add("6,1,1,-;usb 1-1: reset high-speed USB device number 2 using xhci_hcd\n");
  s.xe_log("Timedout job: seqno=1, lrc_seqno=1, guc_id=18, flags=0x0 in python3 [7]");
  s.scrape();
  CHECK(s.log.left() == 100'001 - HealthCollector::kMostMessages);
  s.scrape();
  CHECK(s.log.left() == 0);
  CHECK(s.sum(kHangs) == 1);
}

TEST_CASE("a process whose name is a fault, in a program's own record and in a driver's") {
  Scene s;
  s.scrape();
  s.log.add("14,1,1,-;xe 0000:03:00.0: [drm] Tile0: GT0: reset started\n");  // written by a program
  s.xe_log("Timedout job: seqno=1, guc_id=18, flags=0x0 in x [1]\\x0axe 0000 [7]");
  s.scrape();
  CHECK(s.sum(kHangs) == 1);
  CHECK(s.value("intel_gpu_process_hangs_total", {{"pid", "7"}, {"comm", "x [1]\nxe 0000"}}) == 1);
}

TEST_CASE("faults of GPUs that are not chosen are not reported") {
  Scene s;
  s.gpus.pop_back();
  s.scrape();
  s.xe_log("Timedout job: seqno=1, guc_id=18, flags=0x0 in python3 [7]");
  s.uevents.add(uevent_text("change", "devices/pci0000:00/0000:03:00.0/drm/card1", "drm", "WEDGED=rebind"));
  s.scrape();
  CHECK(s.hangs.empty());
  s.gpus.push_back(gpu_at(kDgpu, Driver::xe));
  s.scrape();
  CHECK(s.sum(kHangs) == 0);
  CHECK(s.value(kWedged, {{"device", kDgpu}}) == 0);
}

TEST_CASE("a channel that is not there has its reason, and no counters") {
  Scene s;
  s.m.machine().uevents = Absent{Reason::permission, EUSERS};
  s.m.machine().kernel_log = Absent{Reason::permission, EPERM};
  s.scrape();
  CHECK(s.absent("fault_events") == Absent{Reason::permission, EUSERS});
  CHECK(s.absent("kernel_log") == Absent{Reason::permission, EPERM});
  CHECK(s.sum(kHangs) == 0);
  CHECK_FALSE(s.value("intel_gpu_resets_total"));
  CHECK_FALSE(s.value("intel_gpu_fault_events_lost_total"));
  // Core dumps are listed every 20 s then.
  s.m.tree.make_directory("sys/devices/pci0000:00/0000:03:00.0");
  s.m.tree.make_directory("sys/class/devcoredump/devcd5");
  s.m.tree.link("sys/class/devcoredump/devcd5/failing_device", "../../../devices/pci0000:00/0000:03:00.0");
  s.scrape(1s);
  CHECK(s.value("intel_gpu_core_dumps_total", {{"device", kDgpu}}) == 0);
  s.scrape(20s);
  CHECK(s.value("intel_gpu_core_dumps_total", {{"device", kDgpu}}) == 1);
}

TEST_CASE("a restart in the middle: counts begin again, and times stay") {
  Scene s;
  s.scrape();
  s.i915_log("GPU HANG: ecode 12:8:2cffbffd, in ffmpeg [504625]");
  s.scrape();
  const auto time = s.value(kLast, {{"device", kIgpu}, {"kind", "hang"}});
  s.restart();
  s.i915_log("GPU HANG: ecode 12:8:2cffbffd, in ffmpeg [504625]", 15s);  // the ring's records are still there
  s.scrape();
  CHECK(s.sum(kHangs) == 0);
  REQUIRE(time);
  CHECK(*s.value(kLast, {{"device", kIgpu}, {"kind", "hang"}}) == exactly(*time));
}

TEST_CASE("of many processes that hung, the one that hung longest ago loses its series") {
  Scene s;
  s.scrape();
  for (std::size_t i = 0; i <= HealthCollector::kMostProcesses; ++i)
    s.xe_log("Timedout job: seqno=1, guc_id=" + std::to_string(i) + ", flags=0x0 in python3 [" + std::to_string(i + 1) +
             "]");
  s.scrape();
  CHECK(s.sum("intel_gpu_process_hangs_total") == HealthCollector::kMostProcesses);
  CHECK_FALSE(s.value("intel_gpu_process_hangs_total", {{"pid", "1"}}));
  CHECK(s.sum(kHangs) == HealthCollector::kMostProcesses + 1);
}

TEST_CASE("BPF programs: a hang without any other channel, with its class and its process") {
  Scene s;
  s.without_log();
  s.turn_jobs_on();
  s.scrape();
  CHECK(s.value(kHangs, {{"device", kDgpu}, {"kind", "job_timeout"}, {"class", "video"}}) == 0);
  CHECK(s.value(kHangs, {{"device", kDgpu}, {"kind", "cat_error"}, {"class", "copy"}}) == 0);
  CHECK_FALSE(s.value(kHangs, {{"device", kDgpu}, {"kind", "gt_reset"}}));  // no program tells
  CHECK_FALSE(s.value(kHangs, {{"device", kIgpu}, {"kind", "hang"}, {"class", "video"}}));
  s.bpf_event({.kind = FAULT_ENGINE_RESET, .queue = 27, .pid = 19639, .name = "ffmpeg"});
  s.bpf_event({.queue = 27, .pid = 19639, .name = "ffmpeg"});
  s.scrape();
  CHECK(s.sum(kHangs) == 1);
  CHECK(s.value(kHangs, {{"device", kDgpu}, {"kind", "job_timeout"}, {"class", "video"}}) == 1);
  CHECK(s.value("intel_gpu_process_hangs_total", {{"device", kDgpu}, {"pid", "19639"}, {"comm", "ffmpeg"}}) == 1);
  CHECK(*s.value(kLast, {{"device", kDgpu}, {"kind", "job_timeout"}}) == exactly(s.unix_now() - 15));
  REQUIRE(s.hangs.size() == 1);
  CHECK(s.hangs.front().pid == 19639);
  CHECK(s.hangs.front().kind == "job_timeout");
  s.scrape();
  CHECK(s.sum(kHangs) == 1);
}

TEST_CASE("BPF programs: an engine reset alone also follows a normal end, and counts as nothing") {
  Scene s;
  s.without_log();
  s.turn_jobs_on();
  s.scrape();
  for (std::uint64_t queue = 0; queue < 3; ++queue) s.bpf_event({.kind = FAULT_ENGINE_RESET, .queue = queue});
  s.scrape();
  CHECK(s.sum(kHangs) == 0);
  CHECK(s.sum(kLast) == 0);
}

TEST_CASE("the same hang in the kernel log, from BPF programs and as a core dump is one, whichever is read first") {
  constexpr std::string_view kDump =
      "**** Xe Device Coredump ****\nkernel: 6.14.0\nmodule: xe\nProcess: ffmpeg [19639]\n**** Job ****\n";
  enum class Late { nothing, log, bpf };
  for (const Late late : {Late::nothing, Late::log, Late::bpf}) {
    CAPTURE(static_cast<int>(late));
    Scene s;
    s.turn_jobs_on();
    s.scrape();
    const auto write_log = [&] {
      s.xe_log("Engine reset: engine_class=vcs, logical_mask: 0x1, guc_id=27, state=0x3");
      s.xe_log("Timedout job: seqno=1, lrc_seqno=1, guc_id=27, flags=0x0 in ffmpeg [19639]");
    };
    const auto write_bpf = [&] {
      // The log's clock went ahead by a minute since the machine booted.
      s.bpf_event({.kind = FAULT_ENGINE_RESET, .queue = 27, .pid = 19639, .name = "ffmpeg"}, 1min);
      s.bpf_event({.queue = 27, .pid = 19639, .name = "ffmpeg"}, 1min);
    };
    if (late != Late::log) write_log();
    if (late != Late::bpf) write_bpf();
    s.dump(4, "devices/pci0000:00/0000:03:00.0");
    s.m.tree.write("sys/class/devcoredump/devcd4/data", kDump);
    s.scrape();
    if (late == Late::log) write_log();
    if (late == Late::bpf) write_bpf();
    s.scrape();
    s.scrape();
    CHECK(s.sum(kHangs) == 1);
    CHECK(s.value(kHangs, {{"kind", "job_timeout"}, {"class", "video"}}) == 1);
    CHECK(s.sum("intel_gpu_process_hangs_total") == 1);
    CHECK(s.value("intel_gpu_core_dumps_total", {{"device", kDgpu}}) == 1);
    CHECK(s.hangs.size() == 1);
  }
}

TEST_CASE("hangs of one queue that follow each other are as many in both channels, also where a name differs") {
  Scene s;
  s.turn_jobs_on();
  s.scrape();
  for (int i = 0; i < 3; ++i) {
    s.xe_log("Timedout job: seqno=1, lrc_seqno=1, guc_id=27, flags=0x0 in Xorg [7]");
    s.bpf_event({.queue = 27, .pid = 19639, .name = "ffmpeg"});
  }
  s.scrape();
  CHECK(s.sum(kHangs) == 3);
  // Xorg opened the device, ffmpeg made the queue.
  CHECK(s.value("intel_gpu_process_hangs_total", {{"pid", "19639"}}) == 3);
  CHECK_FALSE(s.value("intel_gpu_process_hangs_total", {{"pid", "7"}}));
}

TEST_CASE("each channel tells what the other does not: an event without a line, a line without an event") {
  Scene s;
  s.turn_jobs_on();
  s.scrape();
  // This kernel writes no line about a memory error.
  s.bpf_event({.kind = FAULT_CAT_ERROR, .queue = 3, .engine_class = 5, .pid = 8, .name = "python3"});
  s.bpf_event({.queue = 3, .engine_class = 5, .pid = 8, .name = "python3"});
  s.xe_log("Timedout job: seqno=1, lrc_seqno=1, guc_id=3, flags=0x0");
  s.xe_log("reset started");  // of the same hang
  s.scrape();
  CHECK(s.value(kHangs, {{"kind", "cat_error"}, {"class", "compute"}}) == 1);
  CHECK(s.sum(kHangs) == 1);
  CHECK(s.value("intel_gpu_process_hangs_total", {{"pid", "8"}}) == 1);
  // The queue is older than the programs: the log knows its process.
  s.m.clock.advance(1min);
  s.bpf_event({.queue = 4});
  s.xe_log("Timedout job: seqno=1, lrc_seqno=1, guc_id=4, flags=0x0 in Xorg [7]");
  s.xe_log("Timedout job: seqno=1, lrc_seqno=1, guc_id=5, flags=0x0 in Xorg [7]");  // its event was lost
  s.scrape();
  CHECK(s.sum(kHangs) == 3);
  CHECK(s.value("intel_gpu_process_hangs_total", {{"pid", "7"}}) == 2);
}

TEST_CASE("a line without a queue, and events of a queue: one hang in two channels is one, whichever is read first") {
  struct Story {
    std::string_view line;  // without a queue
    std::string_view kind;
  };
  enum class Late { nothing, log, bpf, end_of_log };
  for (const Story& story : {Story{"*ERROR* Memory CAT error reported by GuC!", "cat_error"},
                             Story{"*ERROR* GuC engine reset request failed on 0:0 because 0x00000000", "engine_reset"},
                             Story{"Fault response: Unsuccessful -EINVAL", "page_fault"}}) {
    CAPTURE(story.line);
    for (const Late late : {Late::nothing, Late::log, Late::bpf, Late::end_of_log}) {
      CAPTURE(static_cast<int>(late));
      Scene s;
      s.turn_jobs_on();
      s.scrape();
      const auto begin_log = [&] {
        s.write_log(kDgpu, "xe 0000:03:00.0: [drm] " + std::string(story.line.starts_with('*') ? "*ERROR* " : "") +
                               "Tile0: GT0: " + std::string(story.line.substr(story.line.starts_with('*') ? 8 : 0)));
      };
      const auto end_log = [&] {
        s.xe_log("Timedout job: seqno=1, lrc_seqno=1, guc_id=27, flags=0x0 in ffmpeg [19639]");
      };
      if (late != Late::log) begin_log();
      if (late != Late::log && late != Late::end_of_log) end_log();
      if (late != Late::bpf) s.bpf_event({.queue = 27, .pid = 19639, .name = "ffmpeg"}, 1min);
      s.scrape(2s);
      if (late == Late::log) begin_log();
      if (late == Late::log || late == Late::end_of_log) end_log();
      if (late == Late::bpf) s.bpf_event({.queue = 27, .pid = 19639, .name = "ffmpeg"}, 1min);
      s.scrape(2s);
      s.scrape();
      CHECK(s.sum(kHangs) == 1);
      const std::string_view kind = late == Late::log ? "job_timeout" : story.kind;  // what was read first
      CHECK(s.sum(kHangs, {{"kind", kind}}) == 1);
      CHECK(s.value(kProcessHangs, {{"pid", "19639"}, {"comm", "ffmpeg"}}) == 1);
      CHECK(s.hangs.size() == 1);
    }
  }
}

TEST_CASE("a queue that ended before another one's hang: neither its process nor its class is that of the hang") {
  for (const bool is_same : {false, true}) {
    CAPTURE(is_same);
    Scene s;
    s.turn_jobs_on();
    s.scrape();
    s.bpf_event({.kind = FAULT_ENGINE_RESET, .queue = 27, .engine_class = 3, .pid = 8, .name = "innocent"});
    s.xe_log("Engine reset: engine_class=bcs, logical_mask: 0x1, guc_id=27, state=0x3");
    s.xe_log("Memory CAT error reported by GuC!");
    if (is_same) s.xe_log("Timedout job: seqno=1, lrc_seqno=1, guc_id=27, flags=0x0");
    s.scrape();
    CHECK(s.sum(kHangs) == 1);
    CHECK(s.value(kHangs, {{"kind", "cat_error"}, {"class", "copy"}}) == (is_same ? 1 : 0));
    CHECK(s.sum(kProcessHangs, {{"pid", "8"}}) == (is_same ? 1 : 0));
  }
}

TEST_CASE(
    "firmware that does not answer for a queue, and the job of that queue, are one hang; another queue's is another") {
  Scene s;
  s.scrape();
  s.xe_log("Schedule disable failed to respond, guc_id=3");
  s.xe_log("reset started");
  s.xe_log("Timedout job: seqno=1, lrc_seqno=1, guc_id=3, flags=0x0 in python3 [7]");
  s.xe_log("Timedout job: seqno=1, lrc_seqno=1, guc_id=4, flags=0x0 in ffmpeg [8]");
  s.scrape();
  CHECK(s.sum(kHangs) == 2);
  CHECK(s.sum(kHangs, {{"kind", "firmware"}}) == 1);
  CHECK(s.sum(kHangs, {{"kind", "job_timeout"}}) == 1);
  CHECK(s.value(kProcessHangs, {{"pid", "7"}}) == 1);
  CHECK(s.value(kProcessHangs, {{"pid", "8"}}) == 1);
}

TEST_CASE("firmware that died, and the reset of the GT that it takes, are one hang") {
  Scene s;
  s.scrape();
  s.write_log(kDgpu, "xe 0000:03:00.0: [drm] *ERROR* TLB invalidation fence timeout, seqno=32 recv=31");
  s.xe_log("Timed out wait for G2H, fence 12, action 7000, done no");
  s.xe_log("GuC Crash dump notification");
  s.xe_log("reset started");
  s.xe_log("reset done");
  s.scrape();
  CHECK(s.value(kHangs, {{"device", kDgpu}, {"kind", "firmware"}}) == 1);
  CHECK(s.sum(kHangs) == 1);
}

TEST_CASE("i915 that gave the GPU up at its start, because its firmware did not load") {
  Scene s;
  s.scrape();
  s.answers["renderD128"] = EIO;
  s.i915_log("*ERROR* GT0: GuC initialization failed -2");
  s.i915_log("*ERROR* GT0: Enabling uc failed (-5)");
  s.i915_log("*ERROR* GT0: Failed to initialize GPU, declaring it wedged!");
  s.scrape();
  CHECK(s.value(kHangs, {{"device", kIgpu}, {"kind", "firmware"}}) == 1);
  CHECK(s.value(kWedged, {{"device", kIgpu}}) == 1);
  CHECK(s.value(kLast, {{"device", kIgpu}, {"kind", "wedged"}}));
}

TEST_CASE("an engine reset after a normal end is no reason to read anything else") {
  Scene s;
  s.scrape();
  const int asked = s.asked;
  s.xe_log("Engine reset: engine_class=ccs, logical_mask: 0x1, guc_id=3");
  s.scrape(1s);
  CHECK(s.asked == asked);
}

TEST_CASE("queues of two GTs that have the same id are two hangs, in each channel") {
  Scene s;
  s.turn_jobs_on();
  s.scrape();
  s.bpf_event({.queue = 5, .gt = 0});
  s.bpf_event({.queue = 5, .gt = 1});
  s.xe_log("Timedout job: seqno=1, lrc_seqno=1, guc_id=5, flags=0x0");
  s.write_log(kDgpu, "xe 0000:03:00.0: [drm] Tile0: GT1: Timedout job: seqno=1, guc_id=5, flags=0x0");
  s.scrape();
  CHECK(s.sum(kHangs) == 2);
}

TEST_CASE("engine resets of two GTs whose queues have the same id: each hang has the class of its own") {
  Scene s;
  s.scrape();
  s.xe_log("Engine reset: engine_class=ccs, logical_mask: 0x1, guc_id=5, state=0x3");
  s.media_log("Engine reset: engine_class=vcs, logical_mask: 0x1, guc_id=5, state=0x3");
  s.xe_log("Timedout job: seqno=1, lrc_seqno=1, guc_id=5, flags=0x0 in python3 [7]");
  s.media_log("Timedout job: seqno=1, lrc_seqno=1, guc_id=5, flags=0x0 in ffmpeg [19639]");
  s.scrape();
  CHECK(s.value(kHangs, {{"kind", "job_timeout"}, {"class", "compute"}}) == 1);
  CHECK(s.value(kHangs, {{"kind", "job_timeout"}, {"class", "video"}}) == 1);
  CHECK(s.sum(kHangs) == 2);
}

TEST_CASE("a core dump of one GT, and a hang on another one whose queue has the same id: both processes hung") {
  for (const bool is_dump_first : {false, true}) {
    CAPTURE(is_dump_first);
    Scene s;
    s.without_log();
    s.turn_jobs_on();
    s.scrape();
    const auto hang = [&] { s.bpf_event({.queue = 3, .gt = 0, .pid = 7, .name = "python3"}); };
    if (!is_dump_first) hang();
    s.dump(4, "devices/pci0000:00/0000:03:00.0");
    s.m.tree.write("sys/class/devcoredump/devcd4/data", core_dump("Timedout job - seqno=1, guc_id=3, flags=0x0", 1));
    s.scrape();
    if (is_dump_first) hang();
    s.scrape();
    CHECK(s.value(kProcessHangs, {{"pid", "7"}, {"comm", "python3"}}) == 1);
    CHECK(s.value(kProcessHangs, {{"pid", "19639"}, {"comm", "ffmpeg"}}) == 1);
  }
}

TEST_CASE("a process that hung is counted by workload as the kind of its hang, also if only the core dump names it") {
  const auto kinds = [](std::string_view reason, std::initializer_list<std::string_view> lines) {
    Scene s;
    s.scrape();
    for (const std::string_view line : lines) s.xe_log(line);
    s.dump(4, "devices/pci0000:00/0000:03:00.0");
    s.m.tree.write("sys/class/devcoredump/devcd4/data", core_dump(reason));
    s.scrape();
    std::string all;
    for (const ProcessHang& hang : s.hangs) (all += hang.kind) += std::to_string(hang.pid) + ' ';
    return all;
  };
  // What the reason says, where there is no line, or another queue's.
  CHECK(kinds("Timedout job - seqno=1, guc_id=3, flags=0x0", {}) == "job_timeout19639 ");
  CHECK(kinds("LR job cleanup, guc_id=3", {}) == "engine_reset19639 ");
  CHECK(kinds("Schedule disable failed to respond, guc_id=3, ret=0, guc_read=0", {}) == "firmware19639 ");
  CHECK(kinds("LR job cleanup, guc_id=3", {"Engine memory CAT error [18]: class=ccs, logical_mask: 0x1, guc_id=4"}) ==
        "engine_reset19639 ");
  // What the line of its queue says, which names no process.
  CHECK(kinds("LR job cleanup, guc_id=3", {"Engine memory CAT error [18]: class=ccs, logical_mask: 0x1, guc_id=3"}) ==
        "cat_error19639 ");
  CHECK(kinds("Timedout job - seqno=1, guc_id=3, flags=0x0",
              {"Engine memory CAT error: class=bcs, logical_mask: 0x1, guc_id=3",
               "Timedout job: seqno=1, lrc_seqno=1, guc_id=3, flags=0x0"}) == "cat_error19639 ");
  // Linux 6.11: neither a process in the line nor a reason in the dump.
  CHECK(kinds("", {"Engine memory CAT error: class=bcs, logical_mask: 0x1, guc_id=3"}) == "cat_error19639 ");
  CHECK(kinds("", {"Engine memory CAT error: class=bcs, logical_mask: 0x1, guc_id=3",
                   "Timedout job: seqno=1, lrc_seqno=1, guc_id=4, flags=0x0"}) == "job_timeout19639 ");
  // A reason of a later kernel.
  CHECK(kinds("Something new, guc_id=3", {}) == "job_timeout19639 ");
}

TEST_CASE("a flood of hangs in both channels: the log's are counted once, and what the programs lost is reported") {
  Scene s;
  s.turn_jobs_on();
  s.scrape();
  for (std::uint64_t queue = 0; queue < 1000; ++queue) {
    s.xe_log("Timedout job: seqno=1, lrc_seqno=1, guc_id=" + std::to_string(queue) + ", flags=0x0");
    s.bpf_event({.queue = queue, .pid = 7, .name = "python3"});
  }
  s.scrape();
  CHECK(s.sum(kHangs) == 1000);
  CHECK(s.value("intel_gpu_fault_events_lost_total", {{"channel", "bpf"}}) == 1000 - FAULT_PLACES);
  CHECK(s.value("intel_gpu_process_hangs_total", {{"pid", "7"}}) == FAULT_PLACES);
}

TEST_CASE("a flood of hangs: all count, of whichever queue they are") {
  constexpr int kLines = 20'000;
  for (const int queues : {1, 3, 1000, 0}) {  // 0: the lines name none
    CAPTURE(queues);
    Scene s;
    s.turn_jobs_on();
    s.scrape();
    for (int i = 0; i < kLines; ++i) {
      if (queues == 0)
        s.xe_log("Memory CAT error reported by GuC!");
      else
        s.xe_log("Timedout job: seqno=1, guc_id=" + std::to_string(i % queues) + ", flags=0x0 in python3 [7]");
    }
    s.bpf_event({.queue = 0});
    s.scrape();
    CHECK(s.sum(kHangs) == kLines);
  }
}

TEST_CASE("BPF programs that do not know the queue's process: the core dump names it, once") {
  constexpr std::string_view kDump =
      "**** Xe Device Coredump ****\nkernel: 6.14.0\nmodule: xe\nProcess: ffmpeg [19639]\n**** Job ****\n";
  Scene s;
  s.without_log();
  s.turn_jobs_on();
  s.scrape();
  s.bpf_event({.queue = 27});
  s.dump(4, "devices/pci0000:00/0000:03:00.0");
  s.m.tree.write("sys/class/devcoredump/devcd4/data", kDump);
  s.scrape();
  s.scrape();
  CHECK(s.sum(kHangs) == 1);
  CHECK(s.value("intel_gpu_process_hangs_total", {{"pid", "19639"}, {"comm", "ffmpeg"}}) == 1);
}

TEST_CASE("core dumps of queues for which there is no other event: they name the process, whatever hung before") {
  for (const std::string_view reason :
       {"LR job cleanup, guc_id=3", "Schedule disable failed to respond, guc_id=3, ret=0, guc_read=0"}) {
    CAPTURE(reason);
    for (const bool has_log : {false, true}) {
      CAPTURE(has_log);
      Scene s;
      if (!has_log) s.without_log();
      s.turn_jobs_on();
      s.scrape();
      s.bpf_event({.queue = 27, .pid = 7, .name = "python3"});
      s.xe_log("Timedout job: seqno=1, lrc_seqno=1, guc_id=27, flags=0x0 in python3 [7]");
      s.dump(4, "devices/pci0000:00/0000:03:00.0");
      s.m.tree.write("sys/class/devcoredump/devcd4/data", core_dump(reason));
      s.scrape();
      CHECK(s.value(kProcessHangs, {{"pid", "7"}}) == 1);
      CHECK(s.value(kProcessHangs, {{"pid", "19639"}, {"comm", "ffmpeg"}}) == 1);
      CHECK(s.sum(kHangs) == 1);  // a core dump is no count of hangs
    }
  }
}

TEST_CASE("a core dump of one of several hangs: its process is known, although another one's is not") {
  for (const bool is_asleep : {false, true}) {
    CAPTURE(is_asleep);
    Scene s;
    s.without_log();
    s.turn_jobs_on();
    s.scrape();
    s.bpf_event({.queue = 27, .pid = 19639, .name = "ffmpeg"});
    s.dump(4, "devices/pci0000:00/0000:03:00.0");
    s.m.tree.write("sys/class/devcoredump/devcd4/data", core_dump("Timedout job - seqno=1, guc_id=27, flags=0x0"));
    s.bpf_event({.queue = 28});
    if (is_asleep) s.sleeping = {std::string(kDgpu)};
    s.scrape();
    s.scrape(10min);
    s.sleeping.clear();
    s.scrape();
    CHECK(s.sum(kHangs) == 2);
    CHECK(s.value(kProcessHangs, {{"pid", "19639"}}) == 1);
    CHECK(s.hangs.size() == 1);
  }
}

TEST_CASE("a core dump without a reason may be of any hang whose process is known") {
  Scene s;
  s.without_log();
  s.turn_jobs_on();
  s.scrape();
  s.bpf_event({.queue = 27, .pid = 19639, .name = "ffmpeg"});
  s.bpf_event({.queue = 28});
  s.scrape();
  s.dump(4, "devices/pci0000:00/0000:03:00.0");
  s.m.tree.write("sys/class/devcoredump/devcd4/data", core_dump());
  s.scrape();
  CHECK(s.value(kProcessHangs, {{"pid", "19639"}}) == 1);
  // Later ones are of later hangs.
  s.m.tree.remove("sys/class/devcoredump/devcd4");
  s.scrape(1h);
  s.scrape(1h);
  s.dump(5, "devices/pci0000:00/0000:03:00.0");
  s.m.tree.write("sys/class/devcoredump/devcd5/data", core_dump());
  s.scrape();
  CHECK(s.value(kProcessHangs, {{"pid", "19639"}}) == 2);
}

TEST_CASE("a core dump that is read before the hang that it is of: the process hung once") {
  Scene s;
  s.without_log();
  s.turn_jobs_on();
  s.scrape();
  s.dump(4, "devices/pci0000:00/0000:03:00.0");
  s.m.tree.write("sys/class/devcoredump/devcd4/data",
                 core_dump("Schedule disable failed to respond, guc_id=27, ret=0, guc_read=0"));
  s.scrape();
  s.bpf_event({.queue = 27, .pid = 19639, .name = "ffmpeg"});
  s.scrape();
  CHECK(s.sum(kHangs) == 1);
  CHECK(s.value(kProcessHangs, {{"pid", "19639"}}) == 1);
  s.bpf_event({.queue = 27, .pid = 19639, .name = "ffmpeg"});
  s.scrape();
  CHECK(s.value(kProcessHangs, {{"pid", "19639"}}) == 2);
}

TEST_CASE("a core dump names a process; its queue's id goes to another process, which hangs soon afterwards") {
  Scene s;
  s.without_log();
  s.turn_jobs_on();
  s.scrape();
  s.dump(4, "devices/pci0000:00/0000:03:00.0");
  s.m.tree.write("sys/class/devcoredump/devcd4/data",
                 core_dump("Schedule disable failed to respond, guc_id=27, ret=0, guc_read=0"));
  s.scrape();
  s.scrape();
  s.scrape();
  s.bpf_event({.queue = 27, .pid = 200, .name = "vllm"});
  s.scrape();
  CHECK(s.value(kProcessHangs, {{"pid", "19639"}}) == 1);
  CHECK(s.value(kProcessHangs, {{"pid", "200"}}) == 1);
}

TEST_CASE("BPF programs: other GPUs' queues, and ones of GPUs that are not chosen, count as nothing") {
  Scene s;
  s.turn_jobs_on();
  s.scrape();
  s.bpf_event({.device = "0000:07:00.0"});
  s.scrape();
  CHECK(s.sum(kHangs) == 0);
  CHECK(s.hangs.empty());
}

TEST_CASE("BPF programs that do not run have a reason, and report no zeros; i915 has nothing that they could read") {
  Scene s;
  s.without_log();
  s.m.machine().queue_faults = Absent{Reason::disabled};
  s.scrape();
  CHECK(s.absent("hang_events", kDgpu) == Absent{Reason::disabled});
  CHECK(s.absent("hang_events", kIgpu) == Absent{Reason::kernel, 0});
  CHECK_FALSE(s.value("intel_gpu_fault_events_lost_total", {{"channel", "bpf"}}));
  CHECK_FALSE(s.value(kHangs, {{"kind", "job_timeout"}}));

  Scene denied;
  denied.turn_jobs_on();
  denied.bpf.why_not = {Reason::permission, EPERM};
  denied.scrape();
  CHECK(denied.absent("hang_events", kDgpu) == Absent{Reason::permission, EPERM});
  denied.gpus.pop_back();
  const int asked = denied.bpf.asked;
  denied.scrape();
  CHECK(denied.bpf.asked == asked);  // no GPU of xe
}

TEST_CASE("a channel that fails is a failure") {
  Scene s;
  s.uevents.failure = EIO;
  s.scrape();
  CHECK(s.sink.failures().size() == 1);
}

TEST_SUITE_END();

TEST_CASE("a core dump that is listed some scrapes later is a flight all the same; one of before the start is none") {
  Scene s;
  s.without_log();
  s.m.machine().uevents = Absent{Reason::permission, EPERM};
  const auto dumped = [&s](int number, Nanoseconds ago) {
    s.dump(number, "devices/pci0000:00/0000:03:00.0");
    const auto at = std::chrono::floor<std::chrono::seconds>(s.m.clock.now() - ago);
    const timespec time{1'700'000'000 + at.count(), 0};
    const std::array times{time, time};
    const std::string folder = s.m.tree.path("sys/class/devcoredump/devcd" + std::to_string(number));
    REQUIRE(::utimensat(AT_FDCWD, folder.c_str(), times.data(), 0) == 0);
  };
  s.start();
  dumped(3, 10min);
  s.scrape(5s);
  CHECK(s.flights->take_requests().empty());
  dumped(4, 0s);
  std::size_t requests = 0;
  for (int i = 0; i < 6; ++i) {
    s.scrape(5s);
    requests += s.flights->take_requests().size();
  }
  CHECK(requests == 1);
}

TEST_CASE("the flight recorder is told of faults, and of the lines about them") {
  Scene s;
  s.i915_log("GPU HANG: ecode 12:8:2cffbffd, in ffmpeg [504625]", 20min);
  s.scrape();
  CHECK(s.flights->take_requests().empty());  // of before the start
  const Nanoseconds fault = s.m.clock.now();
  s.i915_log("GPU HANG: ecode 12:8:2cffbffd, in ffmpeg [504625]");
  s.i915_log("Resetting chip for stopped heartbeat on rcs0");
  s.scrape();
  const auto requests = s.flights->take_requests();
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].cause == FlightCause::reset);
  CHECK(requests[1].cause == FlightCause::hang);
  CHECK(requests[1].device == kIgpu);
  CHECK(requests[1].detail == "hang");
  CHECK(requests[1].time == fault);
  const auto lines = s.flights->faults_between(fault, fault).first;
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].text.ends_with("GPU HANG: ecode 12:8:2cffbffd, in ffmpeg [504625]"));
  s.uevent(kDgpu, "WEDGED=rebind");
  s.scrape();
  const auto wedged = s.flights->take_requests();
  REQUIRE(wedged.size() == 1);
  CHECK(wedged[0].cause == FlightCause::wedged);
  CHECK(wedged[0].device == kDgpu);
}

TEST_CASE("a line of before the start is no flight, whatever the log's clock says") {
  Scene s;
  s.i915_log("GPU HANG: ecode 12:8:2cffbffd, in ffmpeg [504625]", -10s);  // the log's clock is fast
  s.i915_log("Resetting chip for stopped heartbeat on rcs0", -10s);
  s.scrape();
  CHECK(s.flights->take_requests().empty());
  CHECK(s.value(kLast, {{"device", kIgpu}, {"kind", "full"}}));
}

TEST_CASE("a GPU that was wedged before the start is no new fault at each start; what happens to it later is one") {
  Scene s;
  s.answers["renderD129"] = ECANCELED;
  for (int start = 0; start < 3; ++start) {
    s.restart();
    for (int i = 0; i < 3; ++i) s.scrape(1s);
    CHECK(s.value(kWedged, {{"device", kDgpu}}) == 1);
    CHECK_FALSE(s.value(kLast, {{"device", kDgpu}, {"kind", "wedged"}}));
    CHECK(s.flights->take_requests().empty());
  }
  s.answers["renderD129"] = 0;  // bound again
  s.gpus.back().binding = 2;
  s.scrape();
  s.answers["renderD129"] = ECANCELED;
  std::size_t requests = 0;
  for (int i = 0; i < 30 && requests == 0; ++i) {
    s.scrape(5s);
    requests += s.flights->take_requests().size();
  }
  CHECK(requests == 1);
  CHECK(s.value(kLast, {{"device", kDgpu}, {"kind", "wedged"}}));
}

TEST_CASE("the flight recorder gets the line that tells of the fault, whatever came before it") {
  Scene s;
  s.scrape();
  for (int i = 0; i < 1000; ++i)
    s.xe_log("Engine reset: engine_class=rcs, logical_mask: 0x1, guc_id=" + std::to_string(i));
  s.xe_log("Timedout job: seqno=4294967169, lrc_seqno=4294967169, guc_id=2000, flags=0x0 in vlc [7152]");
  for (int i = 3000; i < 4000; ++i)
    s.xe_log("Engine reset: engine_class=rcs, logical_mask: 0x1, guc_id=" + std::to_string(i));
  s.scrape();
  const auto requests = s.flights->take_requests();
  REQUIRE(requests.size() == 1);
  CHECK(requests[0].cause == FlightCause::hang);
  CHECK(requests[0].line.find("guc_id=2000") != std::string::npos);
  const Nanoseconds fault = requests[0].time;
  const auto [lines, more] = s.flights->faults_between(fault, fault);
  CHECK(lines.size() + more == 2001);
}
