// SPDX-License-Identifier: Apache-2.0
// What collector `health` costs on a quiet host: the system calls of a scrape, as the kernel counts them.
#include "collector/health/health.h"

#include <doctest/doctest.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernel/device/drm_uapi.h"
#include "kernel/faults/fault_files.h"
#include "support/counted_calls.h"
#include "support/fake_queue_faults.h"
#include "support/sanitizers.h"
#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

// An Arc card behind its own switch, and this machine's uevents and kernel log.
class Scene {
 public:
  Scene() {
    m.tree.write("proc/stat", "cpu  1 2 3\nbtime 1700000000\n");
    m.tree.make_directory("sys/class/devcoredump");
    m.tree.write("no-log", "");
    gpu_.address = "0000:06:00.0";
    gpu_.driver = Driver::xe;
    gpu_.kind = GpuKind::discrete;
    gpu_.card = "card0";
    gpu_.render_node = "renderD128";
    gpu_.pci_path = "devices/pci0000:00/0000:00:01.0/0000:04:00.0/0000:05:01.0/0000:06:00.0";
    for (const PciePort& port : pcie_ports(gpu_.pci_path))
      for (const AerFile& file : kAerFiles)
        m.tree.write("sys/" + port.path + "/" + std::string(file.file), "RxErr 0\nTOTAL_ERR_COR 0\n");
    m.drm.add("renderD128", [](unsigned long, void* argument) {
      return static_cast<const drm::XeDeviceQuery*>(argument)->query == drm::kXeFirmwareVersion ? EINVAL : 0;
    });
    auto uevents = open_uevents(system_privileges()->in_initial_user_namespace());
    if (uevents) uevents_ = *std::move(uevents);
    auto log = open_kernel_log("/dev/kmsg");
    if (!log) log = open_kernel_log(m.tree.path("no-log"));
    REQUIRE(log);
    log_ = *std::move(log);
    m.machine().uevents = uevents_ ? Reading<KernelMessages*>(uevents_.get()) : Absent{Reason::permission, EUSERS};
    m.machine().kernel_log = log_.get();
    m.machine().queue_faults = &bpf_;
    collector_ = std::make_unique<HealthCollector>(m.machine());
  }
  std::size_t channels() const { return uevents_ ? 2 : 1; }

  void scrape() {
    m.clock.advance(1s);
    sink.clear();
    TestMachinePass pass(m.clock);
    pass.bound = {gpu_};
    collector_->collect(pass, sink);
  }

  TestMachine m;
  SampleSink sink;

 private:
  Gpu gpu_;
  std::unique_ptr<KernelMessages> uevents_, log_;
  FakeQueueFaults bpf_;
  std::unique_ptr<HealthCollector> collector_;
};

}  // namespace

TEST_SUITE_BEGIN("kernel: cost of health");

TEST_CASE("while nothing happens a scrape makes one system call for each channel; files are read every 20 seconds") {
#ifdef IGPU_SANITIZED
  MESSAGE("a sanitizer makes calls of its own: not counted");
  return;
#endif
  Scene s;
  // Until the log is read and everything is known.
  for (int i = 0; i < 4; ++i) s.scrape();
  for (const Failure& failure : s.sink.failures()) FAIL_CHECK(failure.where << ": " << failure.code.message());
  std::optional<std::vector<std::uint64_t>> quiet;
  // This machine may have something to tell meanwhile.
  for (int attempt = 0; attempt < 100 && (!quiet || quiet->size() > s.channels()); ++attempt) {
    quiet = calls_of([&] { s.scrape(); });
    if (!quiet) {
      MESSAGE("no process may trace another one here: not counted");
      return;
    }
  }
  CHECK(quiet->size() == s.channels());
  CHECK(std::ranges::count(*quiet, SYS_read) == 1);
  s.m.clock.advance(20s);
  const auto due = calls_of([&] { s.scrape(); });
  REQUIRE(due);
  // Twelve AER files, each opened, read and closed.
  CHECK(due->size() >= 3 * 12 + s.channels());
  CHECK(due->size() < 100);
}

TEST_SUITE_END();
