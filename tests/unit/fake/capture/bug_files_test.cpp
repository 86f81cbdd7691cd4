// SPDX-License-Identifier: Apache-2.0
// What a machine has, and what an archive for a kernel bug holds of it.
#include "fake/capture/bug_files.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include "support/fake_kernel_messages.h"
#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::test;

namespace {

constexpr std::string_view kPort = "devices/pci0000:00/0000:00:01.0";
constexpr std::string_view kDgpu = "devices/pci0000:00/0000:00:01.0/0000:03:00.0";

const std::string kDgpuFiles = "sys/" + std::string(kDgpu) + '/';
const std::string kGucInfo = "sys/kernel/debug/dri/0000:03:00.0/gt0/uc/guc_info";
const std::string kDump = "sys/class/devcoredump/devcd3/data", kErrorState = "sys/class/drm/card0/error";

Gpu gpu_at(std::string_view path, Driver driver, std::string card) {
  Gpu gpu;
  gpu.address = path.substr(path.rfind('/') + 1);
  gpu.pci_path = path;
  gpu.driver = driver;
  gpu.card = std::move(card);
  return gpu;
}

class Scene {
 public:
  TestMachine m;
  FakeKernelMessages log;
  std::vector<Gpu> gpus{gpu_at("devices/pci0000:00/0000:00:02.0", Driver::i915, "card0"),
                        gpu_at(kDgpu, Driver::xe, "card1")};
  CaptureOutcome outcome;

  Scene() {
    m.machine().kernel_log = &log;
    m.tree.write("proc/sys/kernel/osrelease", "6.17.9-amd64\n");
    m.tree.write("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC\n");
    m.tree.write("proc/cmdline", "root=UUID=secret ro xe.force_probe=56a0\n");
    m.tree.write("sys/module/xe/parameters/wedged_mode", "1\n");
    for (const Gpu& gpu : gpus) m.tree.write("sys/" + gpu.pci_path + "/power/runtime_status", "active\n");
    m.tree.write("sys/" + std::string(kDgpu) + "/device", "0x56a0\n");
    m.tree.write("sys/" + std::string(kDgpu) + "/current_link_speed", "2.5 GT/s PCIe\n");
    m.tree.write("sys/" + std::string(kPort) + "/aer_dev_fatal", "Undefined 0\nTOTAL_ERR_FATAL 2\n");
    m.tree.make_directory("sys/class/devcoredump");
  }
  void add_log(std::string_view text, int facility = 0) {
    log.add(std::to_string(facility * 8 + 6) + ",1,12000345,-;" + std::string(text) + "\n");
  }
  void dump(std::string_view content) {
    m.tree.make_directory("sys/class/devcoredump/devcd3");
    m.tree.link("sys/class/devcoredump/devcd3/failing_device", "../../../" + std::string(kDgpu));
    m.tree.write("sys/class/devcoredump/devcd3/data", content);
  }
  void take() { add_bug_files(m.machine(), gpus, masks_, outcome); }
  std::string file(const std::string& name) const {
    const auto known = outcome.files.find("bug/" + name);
    return known == outcome.files.end() ? "(none)" : known->second;
  }
  bool leaves_out(std::string_view text) const {
    return std::ranges::any_of(outcome.left_out,
                               [&](const std::string& line) { return line.find(text) != std::string::npos; });
  }

 private:
  capture::Masks masks_;
};

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_SUITE_BEGIN("bug files");

TEST_CASE("the kernel, its command line and the drivers' parameters") {
  Scene s;
  s.take();
  CHECK(s.file("proc/sys/kernel/osrelease") == "6.17.9-amd64\n");
  CHECK(s.file("proc/sys/kernel/version") == "#1 SMP PREEMPT_DYNAMIC\n");
  CHECK(s.file("proc/cmdline") == "root=... ro xe.force_probe=56a0\n");
  CHECK(s.file("sys/module/xe/parameters/wedged_mode") == "1\n");
}

TEST_CASE("a warning whose end is missing ends after as many records as a warning has") {
  Scene s;
  s.add_log("------------[ cut here ]------------");
  s.add_log("RIP: 0010:guc_exec_queue_timedout_job+0x12/0x34 [xe]");
  for (int i = 0; i < 300; ++i) s.add_log("usb 1-1: something else");
  s.add_log("RIP: 0010:secret_filesystem+0x12/0x34 [secretfs]");
  s.add_log("xe 0000:03:00.0: [drm] GT0: reset done");
  s.take();
  CHECK(s.file("kernel-log") ==
        "[   12.000345] ------------[ cut here ]------------\n"
        "[   12.000345] RIP: 0010:guc_exec_queue_timedout_job+0x12/0x34 [xe]\n"
        "[   12.000345] xe 0000:03:00.0: [drm] GT0: reset done\n");
}

TEST_CASE("of the kernel log the drivers' lines, and warnings in which a driver takes part") {
  Scene s;
  s.add_log("xe 0000:03:00.0: [drm] Using GuC firmware from i915/dg2_guc_70.bin version 70.49.4");
  s.add_log("usb 1-1: SerialNumber: secret");
  s.add_log(
      "audit: type=1400 apparmor=\"DENIED\" name=\"/sys/devices/pci0000:00/0000:00:02.0/config\" comm=\"secret\"");
  s.add_log("pcieport 0000:00:01.0: AER: Multiple Corrected error received: 0000:03:00.0");
  s.add_log("xe 0000:03:00.0: [drm] written by a program: secret", 1);
  s.add_log("------------[ cut here ]------------");
  s.add_log("CPU: 3 PID: 42 Comm: secret Not tainted 6.17.9-amd64 #1");
  s.add_log("[UFW BLOCK] IN=eth0 SRC=10.0.0.1 comes in between");
  s.add_log("RIP: 0010:guc_exec_queue_timedout_job+0x12/0x34 [xe]");
  s.add_log("---[ end trace 0000000000000000 ]---");
  s.add_log("------------[ cut here ]------------");
  s.add_log("RIP: 0010:secret_filesystem+0x12/0x34 [secretfs]");
  s.add_log("---[ end trace 0000000000000000 ]---");
  s.take();
  CHECK(s.file("kernel-log") ==
        "[   12.000345] xe 0000:03:00.0: [drm] Using GuC firmware from i915/dg2_guc_70.bin version 70.49.4\n"
        "[   12.000345] pcieport 0000:00:01.0: AER: Multiple Corrected error received: 0000:03:00.0\n"
        "[   12.000345] ------------[ cut here ]------------\n"
        "[   12.000345] CPU: 3 PID: 42 Comm: process1 Not tainted 6.17.9-amd64 #1\n"
        "[   12.000345] RIP: 0010:guc_exec_queue_timedout_job+0x12/0x34 [xe]\n"
        "[   12.000345] ---[ end trace 0000000000000000 ]---\n");
}

TEST_CASE("a log without its right, and one that is too long, are named") {
  Scene denied;
  denied.m.machine().kernel_log = Absent{Reason::permission, 1};
  denied.take();
  CHECK(denied.file("kernel-log") == "(none)");
  CHECK(denied.leaves_out("the kernel log is not in it: not permitted"));

  Scene flood;
  const std::string line = "xe 0000:03:00.0: [drm] " + std::string(8000, 'x');
  for (int i = 0; i < 1000; ++i) flood.add_log(line);
  flood.add_log("xe 0000:03:00.0: [drm] the last one");
  flood.take();
  CHECK(flood.file("kernel-log").size() <= kMostOfLog);
  CHECK(flood.file("kernel-log").ends_with("the last one\n"));
  CHECK(flood.leaves_out("only the newest lines"));
}

TEST_CASE("each GPU's PCI device, and the ports above it") {
  Scene s;
  s.take();
  CHECK(s.file(kDgpuFiles + "device") == "0x56a0\n");
  CHECK(s.file(kDgpuFiles + "power/runtime_status") == "active\n");
  CHECK(s.file(kDgpuFiles + "current_link_speed") == "2.5 GT/s PCIe\n");
  CHECK(s.file("sys/" + std::string(kPort) + "/aer_dev_fatal") == "Undefined 0\nTOTAL_ERR_FATAL 2\n");
}

TEST_CASE("a core dump and an error state: names masked, and the file as it was") {
  Scene s;
  const std::string content = "**** Xe Device Coredump ****\nProcess: secret [7]\n**** Job ****\n";
  s.dump(content);
  s.m.tree.write("sys/class/drm/card0/error", "GPU HANG: ecode 12:4:487dff88, in secret [7]\n");
  s.take();
  CHECK(s.file(kDump) == "**** Xe Device Coredump ****\nProcess: process1 [7]\n**** Job ****\n");
  CHECK(s.file(kErrorState) == "GPU HANG: ecode 12:4:487dff88, in process1 [7]\n");
  CHECK(s.leaves_out("devcd3/data holds GPU memory"));
  std::string after(1000, '\0');
  CHECK(s.m.machine().sys.read("class/devcoredump/devcd3/data", after).value_or("") == content);
}

TEST_CASE("no error state, and a dump of another device, are not in it") {
  Scene s;
  s.m.tree.write("sys/class/drm/card0/error", "No error state collected\n");
  s.dump("secret");
  s.gpus.pop_back();
  s.take();
  CHECK(s.file(kErrorState) == "(none)");
  for (const auto& [path, content] : s.outcome.files) CHECK_FALSE(holds(content, "secret"));
}

TEST_CASE("of a dump that is too large the start, and the reason; one that is gone or fails stops nothing") {
  Scene large;
  large.dump(std::string(kMostOfDump + 1, 'x'));
  large.take();
  CHECK(large.file(kDump).size() == kMostOfDump);
  CHECK(large.leaves_out("only the first 15 MiB"));

  Scene gone;
  gone.dump("x");
  gone.m.tree.remove("sys/class/devcoredump/devcd3/data");
  gone.take();
  CHECK(gone.file(kDump) == "(none)");
  CHECK(holds(gone.file("proc/sys/kernel/osrelease"), "6.17.9"));

  Scene failing;
  failing.dump("x");
  failing.m.sys.fail_reading("devcd3/data", EIO);
  failing.take();
  CHECK(failing.file(kDump) == "(none)");
  CHECK(failing.leaves_out("sys/class/devcoredump/devcd3/data is not in it"));
}

TEST_CASE("nothing that resumes a GPU is read of one that sleeps") {
  Scene s;
  s.dump("**** Xe Device Coredump ****\n");
  s.m.tree.write("sys/" + std::string(kDgpu) + "/power/runtime_status", "suspended\n");
  s.m.tree.write(kGucInfo, "GuC firmware: x\n");
  s.take();
  CHECK(s.file(kDgpuFiles + "current_link_speed") == "(none)");
  CHECK(s.file(kGucInfo) == "(none)");
  CHECK(s.file(kDump) == "(none)");
  CHECK(s.leaves_out("0000:03:00.0 sleeps"));
  s.m.tree.write("sys/" + std::string(kDgpu) + "/power/runtime_status", "active\n");
  s.take();
  CHECK(s.file(kGucInfo) == "GuC firmware: x\n");
}

TEST_SUITE_END();
