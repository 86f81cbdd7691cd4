// SPDX-License-Identifier: Apache-2.0
// A card with virtual functions as the host's kernel shows it, and what the page says.
#include <doctest/doctest.h>

#include <cerrno>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "collector/collectors.h"
#include "kernel/clients/workload_naming.h"
#include "kernel/sriov/vfio_holders.h"
#include "support/gpu_tree.h"
#include "support/locked_directory.h"
#include "support/proc_tree.h"
#include "support/test_machine.h"

TEST_SUITE_BEGIN("sriov");

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

using LabelList = std::initializer_list<std::pair<std::string_view, std::string_view>>;

constexpr const char* kParent = "pci0000:00/0000:00:01.0/";
constexpr const char* kInfo = "intel_gpu_vf_info";

// A Battlemage card with its functions at 0000:03:00.1 and up, and the processes of the host.
class Scene {
 public:
  TestMachine m;
  SampleSink sink;
  bool asleep = false;
  std::map<std::string, VfEngines> engines;  // by PCI address
  std::shared_ptr<WorkloadRuleSource> rules;

  explicit Scene(const std::string& driver = "xe") {
    add_gpu(m.tree, {kParent + std::string("0000:03:00.0"), driver, "card1", "renderD128", "0xe212"});
    m.tree.write("proc/2/comm", "kthreadd\n");
    number("sriov_totalvfs", "24");
    number("sriov_numvfs", "0");
  }
  std::string pf(const std::string& file) const { return "sys/devices/" + (kParent + ("0000:03:00.0/" + file)); }
  static std::string address(unsigned vf) { return "0000:03:00." + std::to_string(vf); }
  static std::string vf(unsigned number, const std::string& file) {
    return "sys/devices/" + (kParent + (address(number) + "/" + file));
  }
  void number(const std::string& file, const std::string& text) { m.tree.write(pf(file), text + "\n"); }
  // As the PCI core adds a function. Its IOMMU group is 16 + number.
  void add(unsigned n, const std::string& driver) {
    m.tree.write(vf(n, "vendor"), "0x8086\n");
    m.tree.link(vf(n, "physfn"), "../0000:03:00.0");
    m.tree.link(pf("virtfn" + std::to_string(n - 1)), "../" + address(n));
    m.tree.link(vf(n, "iommu_group"), "../../../../kernel/iommu_groups/" + std::to_string(16 + n));
    m.tree.remove(vf(n, "driver"));
    if (!driver.empty()) m.tree.link(vf(n, "driver"), "../../../../bus/pci/drivers/" + driver);
  }
  void enable(unsigned count, const std::string& driver) {
    for (unsigned n = 1; n <= count; ++n) add(n, driver);
    number("sriov_numvfs", std::to_string(count));
  }
  void profile(unsigned n, const std::string& file, const std::string& text) {
    m.tree.write(pf("sriov_admin/vf" + std::to_string(n) + "/profile/" + file), text + "\n");
  }
  // A QEMU of libvirt that holds the group of a function, as before Linux 6.18.
  void run_machine(std::uint32_t pid, const std::string& cgroup, unsigned n) {
    add_process(m.tree, pid, {.comm = "qemu-system-x86", .cgroup = cgroup});
    add_file(m.tree, pid, 28, "pos:\t0\nflags:\t02100002\nmnt_id:\t29\n", "/dev/vfio/" + std::to_string(16 + n));
  }
  void scrape(Machine* machine = nullptr) {
    if (!collector_)
      collector_ = make_collector(sriov_collector, machine ? *machine : m.machine(), m.log, {.rules = rules});
    sink.clear();
    TestMachinePass pass(m.clock);
    pass.bound = m.gpus();
    for (const auto& [device, measured] : engines) pass.facts().put(device, measured);
    if (asleep) pass.sleeping = {"0000:03:00.0"};
    collector_->collect(pass, sink);
  }
  void scrape_after(Nanoseconds time) {
    m.clock.advance(time);
    scrape();
  }
  std::optional<double> value(std::string_view metric, LabelList labels) const {
    std::optional<double> found;
    for (const auto& sample : sink.samples().samples()) {
      if (sample.metric->name != metric || !has(sample, labels)) continue;
      if (found) return std::nullopt;
      found = sample.value;
    }
    return found;
  }
  std::size_t count(std::string_view metric, LabelList labels = {}) const {
    std::size_t n = 0;
    for (const auto& sample : sink.samples().samples()) n += sample.metric->name == metric && has(sample, labels);
    return n;
  }
  std::string workload(std::string_view vf) const {
    for (const auto& sample : sink.samples().samples())
      if (sample.metric->name == kInfo && has(sample, {{"vf", vf}}))
        return std::string(sink.samples().label_value(sample, 4));
    return "(no such function)";
  }
  // "ok", or why the feature is absent; "" if nothing was reported.
  std::string feature(std::string_view name) const {
    std::string found;
    for (const auto& state : sink.features())
      if (state.feature->name == name) found = state.available ? "ok" : to_string(state.absent.reason);
    return found;
  }

 private:
  bool has(const SampleList::Sample& sample, LabelList labels) const {
    for (const auto& [name, expected] : labels) {
      bool same = false;
      for (std::size_t i = 0; i < sample.metric->label_count; ++i)
        same = same || (sample.metric->label_names[i] == name && sink.samples().label_value(sample, i) == expected);
      if (!same) return false;
    }
    return true;
  }
  std::unique_ptr<MachineCollector> collector_;
};

constexpr const char* kNews = "0::/machine.slice/machine-qemu\\x2d3\\x2dnews.scope/libvirt/emulator\n";

}  // namespace

TEST_CASE("a GPU that is no physical function has no series and no findings") {
  Scene s;
  s.m.tree.remove(s.pf("sriov_totalvfs"));
  s.m.tree.remove(s.pf("sriov_numvfs"));
  s.scrape();
  CHECK(s.sink.samples().samples().empty());
  CHECK(s.sink.features().empty());
  CHECK(s.sink.failures().empty());
}

TEST_CASE("functions that could be enabled, and those that are") {
  Scene s;
  s.scrape();
  CHECK(s.value("intel_gpu_vfs", {{"device", "0000:03:00.0"}, {"state", "total"}}) == 24);
  CHECK(s.value("intel_gpu_vfs", {{"state", "enabled"}}) == 0);
  CHECK(s.feature("virtual_functions") == "ok");
  CHECK(s.count(kInfo) == 0);
  CHECK(s.feature("vf_shares").empty());

  s.enable(2, "");
  s.add(1, "xe-vfio-pci");
  s.scrape();
  CHECK(s.value("intel_gpu_vfs", {{"state", "enabled"}}) == 2);
  CHECK(s.value(kInfo, {{"vf", "1"}, {"vf_address", "0000:03:00.1"}, {"driver", "xe-vfio-pci"}, {"workload", ""}}) ==
        1);
  CHECK(s.value(kInfo, {{"vf", "2"}, {"vf_address", "0000:03:00.2"}, {"driver", "none"}}) == 1);
  s.add(2, "xe");  // bound by the host meanwhile
  s.scrape();
  CHECK(s.value(kInfo, {{"vf", "2"}, {"driver", "xe"}}) == 1);
}

TEST_CASE("a number of functions that cannot be read any more leaves no last known values") {
  Scene s;
  s.enable(2, "vfio-pci");
  s.engines["0000:03:00.0"].enabled = 2U;
  s.scrape();
  CHECK(s.value("intel_gpu_vfs", {{"state", "enabled"}}) == 2);
  CHECK(s.count(kInfo) == 2);
  s.engines["0000:03:00.0"].enabled = Failure{std::make_error_code(std::errc::io_error), "sriov_numvfs"};
  s.scrape();
  CHECK_FALSE(s.value("intel_gpu_vfs", {{"state", "enabled"}}));
  CHECK(s.value("intel_gpu_vfs", {{"state", "total"}}) == 24);
  CHECK(s.count(kInfo) == 0);
  CHECK(s.sink.failures().size() == 1);
}

TEST_CASE("a card without enabled functions costs one read of an open file a scrape") {
  Scene s;
  s.scrape();
  const int opens = s.m.sys.opens(), reads = s.m.sys.reads();
  s.number("sriov_totalvfs", "7");  // a driver sets it when it binds, never later
  s.scrape();
  CHECK(s.value("intel_gpu_vfs", {{"state", "total"}}) == 24);
  CHECK(s.m.sys.opens() == opens);
  CHECK(s.m.sys.reads() == reads + 1);
}

TEST_CASE("a card that sleeps is described as well: these files wake nothing") {
  Scene s;
  s.asleep = true;
  s.enable(1, "vfio-pci");
  s.scrape();
  CHECK(s.value(kInfo, {{"vf", "1"}, {"driver", "vfio-pci"}}) == 1);
  CHECK(s.feature("vf_engine_busy") == "suspended");
}

TEST_CASE("a virtual function that the host uses itself is a GPU of its own, and says what it is") {
  Scene s;
  s.enable(1, "xe");
  add_gpu(s.m.tree, {kParent + std::string("0000:03:00.1"), "xe", "card2", "renderD129", "0xe212"});
  REQUIRE(s.m.gpus().size() == 2);
  CHECK(s.m.gpus()[1].virtual_function);
  s.scrape();
  CHECK(s.count("intel_gpu_vfs") == 2);  // of the physical function only
  CHECK(s.value(kInfo, {{"device", "0000:03:00.0"}, {"driver", "xe"}}) == 1);
  bool told = false;
  for (const auto& state : s.sink.features())
    told = told || (state.device == "0000:03:00.1" && state.absent.reason == Reason::hardware);
  CHECK(told);
}

TEST_CASE("numbers and links that disagree, and numbers that cannot be") {
  Scene s;
  s.enable(2, "xe-vfio-pci");
  SUBCASE("more than there are links") {
    s.number("sriov_numvfs", "5");
    s.scrape();
    CHECK(s.value("intel_gpu_vfs", {{"state", "enabled"}}) == 5);
    CHECK(s.count(kInfo) == 2);
    s.add(3, "");
    s.scrape();
    CHECK(s.count(kInfo) == 3);
    CHECK(s.sink.failures().empty());
  }
  SUBCASE("fewer than there are links") {
    s.number("sriov_numvfs", "1");
    s.scrape();
    CHECK(s.value("intel_gpu_vfs", {{"state", "enabled"}}) == 1);
    CHECK(s.count(kInfo) == 2);
  }
  SUBCASE("four billion") {
    s.number("sriov_numvfs", "4294967295");
    s.number("sriov_totalvfs", "4294967296");
    s.scrape();
    CHECK(s.count("intel_gpu_vfs") == 0);
    CHECK(s.sink.failures().size() == 2);
  }
  SUBCASE("links with numbers of four billion, or none, or to somewhere else") {
    s.m.tree.link(s.pf("virtfn4294967295"), "../0000:03:00.1");
    s.m.tree.link(s.pf("virtfn4294967294"), "../0000:03:00.1");
    s.m.tree.link(s.pf("virtfn-1"), "../0000:03:00.1");
    s.m.tree.link(s.pf("virtfn"), "../0000:03:00.1");
    s.m.tree.link(s.pf("virtfn7"), "../../../../etc");
    s.m.tree.link(s.pf("virtfn8"), "../0000:03:00.9");  // dangling
    s.number("sriov_numvfs", "3");
    s.scrape();
    CHECK(s.count(kInfo) == 2);
  }
}

TEST_CASE("shares of xe: milliseconds and microseconds become seconds; 0 is no limit") {
  Scene s;
  s.enable(2, "xe-vfio-pci");
  s.scrape();
  CHECK(s.feature("vf_shares") == "kernel");  // before Linux 6.19
  s.number("sriov_numvfs", "0");
  s.scrape();
  for (unsigned n = 1; n <= 24; ++n) s.profile(n, "exec_quantum_ms", "20");
  s.profile(1, "preempt_timeout_us", "20000");
  s.profile(1, "vram_quota", "2147483648");
  s.profile(2, "exec_quantum_ms", "0");
  s.number("sriov_numvfs", "2");
  s.scrape();
  CHECK(s.feature("vf_shares") == "ok");
  CHECK(s.value("intel_gpu_vf_exec_quantum_seconds", {{"vf", "1"}}) == 0.02);
  CHECK(s.value("intel_gpu_vf_exec_quantum_seconds", {{"vf", "2"}}) == 0);
  CHECK(s.value("intel_gpu_vf_preempt_timeout_seconds", {{"vf", "1"}}) == 0.02);
  CHECK(s.value("intel_gpu_vf_vram_quota_bytes", {{"vf", "1"}}) == 2147483648.0);
  CHECK(s.count("intel_gpu_vf_exec_quantum_seconds") == 2);  // not of functions that are not enabled
}

TEST_CASE("GTs that differ have no one value: absent, and not a failure") {
  Scene s;
  s.enable(1, "xe-vfio-pci");
  s.profile(1, "exec_quantum_ms", "20");
  s.m.sys.fail_reading("vf1/profile/exec_quantum_ms", EUCLEAN);
  s.scrape();
  CHECK(s.count("intel_gpu_vf_exec_quantum_seconds") == 0);
  CHECK(s.feature("vf_shares") == "kernel");
  CHECK(s.sink.failures().empty());
}

TEST_CASE("i915-sriov-dkms has a file for each GT") {
  Scene s("i915");
  s.enable(1, "vfio-pci");
  const std::string prelim = "drm/card1/prelim_iov/vf1/";
  s.number(prelim + "gt0/exec_quantum_ms", "32");
  s.number(prelim + "gt1/exec_quantum_ms", "32");
  s.number(prelim + "gt0/preempt_timeout_us", "64000");
  s.number(prelim + "gt1/preempt_timeout_us", "1");
  s.scrape();
  CHECK(s.value("intel_gpu_vf_exec_quantum_seconds", {{"vf", "1"}}) == 0.032);
  CHECK(s.count("intel_gpu_vf_preempt_timeout_seconds") == 0);
  CHECK(s.feature("vf_engine_busy") == "kernel");
  CHECK(s.feature("vf_adverse_events") == "kernel");
}

TEST_CASE("engine time that the collector of the engines measured") {
  Scene s;
  s.enable(2, "xe-vfio-pci");
  SUBCASE("it is off") {
    s.scrape();
    CHECK(s.feature("vf_engine_busy") == "disabled");
  }
  SUBCASE("no permission") {
    s.engines["0000:03:00.0"] = {Absent{Reason::permission, EACCES}, {}, 2};
    s.scrape();
    CHECK(s.feature("vf_engine_busy") == "permission");
  }
  SUBCASE("measured") {
    s.engines["0000:03:00.0"] = {Unit{},
                                 {{1, "1", "vcs0", "video", 2'500'000'000, Ratio{0.25}},
                                  {2, "1", "vcs0", "video", 0, std::nullopt},
                                  {3, "1", "vcs0", "video", 7, std::nullopt}},  // has just been disabled
                                 2};
    s.scrape();
    CHECK(s.feature("vf_engine_busy") == "ok");
    CHECK(s.value("intel_gpu_vf_engine_busy_seconds_total",
                  {{"vf", "1"}, {"gt", "1"}, {"engine", "vcs0"}, {"class", "video"}}) == 2.5);
    CHECK(s.value("intel_gpu_vf_engine_busy_ratio", {{"vf", "1"}}) == 0.25);
    CHECK(s.count("intel_gpu_vf_engine_busy_seconds_total") == 2);
    CHECK(s.count("intel_gpu_vf_engine_busy_ratio") == 1);
  }
}

TEST_CASE("the machine that holds a function: libvirt, Proxmox, KubeVirt") {
  Scene s;
  s.enable(4, "vfio-pci");
  s.run_machine(4001, kNews, 1);
  s.run_machine(4002, "0::/qemu.slice/101.scope\n", 2);
  // The pod of KubeVirt's virt-launcher; without the host's files its id is its name.
  s.run_machine(4003,
                "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod7c0f4a52_91d3_4e68_b5a7_"
                "20c8f6e1d93b.slice/cri-containerd-d27f60b91e4c83a5f2076e9db8143ca7550e2f1986cb3d74a08ef52b9c61d738."
                "scope\n",
                3);
  s.scrape();
  CHECK(s.workload("1") == "news");
  CHECK(s.workload("2") == "101");
  CHECK(s.workload("3") == "7c0f4a52-91d3-4e68-b5a7-20c8f6e1d93b");
  CHECK(s.workload("4") == "");  // nobody has it, and every process was read
  CHECK(s.feature("vf_workload") == "ok");
}

TEST_CASE("a device's own file (iommufd), and fdinfo of Linux 6.18, which names the device") {
  Scene s;
  s.enable(2, "xe-vfio-pci");
  s.m.tree.make_directory(Scene::vf(1, "vfio-dev/vfio3"));
  add_process(s.m.tree, 4001, {.comm = "qemu", .cgroup = kNews});
  add_file(s.m.tree, 4001, 30, "pos:\t0\n", "/dev/vfio/devices/vfio3");
  add_process(s.m.tree, 4002, {.comm = "cloud-hyperviso", .cgroup = "0::/qemu.slice/102.scope\n"});
  add_file(s.m.tree, 4002, 9,
           "pos:\t0\nflags:\t02\nvfio-device-syspath: /sys/devices/pci0000:00/0000:00:01.0/0000:03:00.2\n",
           "anon_inode:[vfio-device]");
  s.scrape();
  CHECK(s.workload("1") == "news");
  CHECK(s.workload("2") == "102");
}

TEST_CASE("a live /proc: the file must be the device that sysfs has under that name, whatever its link says") {
  Scene s;
  s.enable(2, "vfio-pci");
  s.m.tree.make_directory(Scene::vf(2, "vfio-dev/vfio3"));
  s.m.tree.write("sys/class/vfio/17/dev", "242:17\n");
  s.m.tree.write(Scene::vf(2, "vfio-dev/vfio3/dev"), "510:3\n");
  s.m.tree.link("proc/self", "1");
  s.run_machine(4001, kNews, 1);
  add_process(s.m.tree, 4002, {.comm = "qemu", .cgroup = "0::/qemu.slice/102.scope\n"});
  add_file(s.m.tree, 4002, 30, "pos:\t0\n", "/dev/vfio/devices/vfio3");
  class Devices final : public ForwardingDirectory {
   public:
    using ForwardingDirectory::ForwardingDirectory;
    Reading<FileFacts> stat(std::string_view path) const override {
      const auto known = files.find(path);
      return known != files.end() ? Reading<FileFacts>(known->second) : inner().stat(path);
    }
    void set(const std::string& path, std::uint64_t major, std::uint64_t minor, std::uint32_t type = 0020000) {
      files[path] = {.mode = type | 0600, .rdev = (major & 0xfff) << 8 | (major >> 12) << 44 | minor};
    }
    std::map<std::string, FileFacts, std::less<>> files;
  } proc(s.m.machine().proc);
  const Machine& real = s.m.machine();
  Machine machine{s.m.sys, proc, real.dev, real.perf, real.drm, real.clock, real.privileges, real.names};
  SUBCASE("the devices themselves") {
    proc.set("4001/fd/28", 242, 17);
    proc.set("4002/fd/30", 510, 3);
    s.scrape(&machine);
    CHECK(s.workload("1") == "news");
    CHECK(s.workload("2") == "102");
    proc.set("4001/fd/28", 1, 3);  // something else was mounted there meanwhile
    s.scrape_after(1s);
    CHECK(s.workload("1") == "");
    CHECK(s.workload("2") == "102");
    return;
  }
  SUBCASE("a plain file that was mounted there") { proc.set("4001/fd/28", 242, 17, 0100000); }
  SUBCASE("/dev/null that was mounted there") { proc.set("4001/fd/28", 1, 3); }
  SUBCASE("a device whose number sysfs does not tell") {
    s.m.tree.remove("sys/class/vfio/17/dev");
    proc.set("4001/fd/28", 242, 17);
  }
  proc.set("4002/fd/30", 510, 4);  // another function's
  s.scrape(&machine);
  CHECK(s.workload("1") == "");
  CHECK(s.workload("2") == "");
  CHECK(s.feature("vf_workload") == "ok");  // all processes were seen, and none has them
}

TEST_CASE("holders are remembered: processes are listed again only while a function has none, twice a minute") {
  Scene s;
  s.enable(2, "vfio-pci");
  s.run_machine(4001, kNews, 1);
  s.scrape();
  CHECK(s.workload("1") == "news");
  CHECK(s.workload("2") == "");
  s.run_machine(4002, "0::/qemu.slice/102.scope\n", 2);
  s.scrape_after(10s);
  CHECK(s.workload("2") == "");
  s.scrape_after(21s);
  CHECK(s.workload("2") == "102");

  // A machine that ends is gone at once, and its successor is found at once.
  s.m.tree.remove("proc/4002");
  s.run_machine(4003, "0::/qemu.slice/103.scope\n", 2);
  s.scrape_after(1s);
  CHECK(s.workload("2") == "103");
  CHECK(s.workload("1") == "news");
  // Another process under the same PID.
  add_process(s.m.tree, 4003, {.comm = "bash", .start_time_ticks = 77777});
  s.m.tree.remove("proc/4003/fd/28");
  s.scrape_after(1s);
  CHECK(s.workload("2") == "");
  // The function is unplugged from a machine that goes on.
  s.m.tree.remove("proc/4001/fd/28");
  s.m.tree.remove("proc/4001/fdinfo/28");
  s.scrape_after(1s);
  CHECK(s.workload("1") == "");
}

TEST_CASE("a machine that has the device's file open costs a scrape one read of its fdinfo, and is let go at once") {
  Scene s;
  s.enable(2, "xe-vfio-pci");
  const auto run_machine = [&](std::uint32_t pid, const std::string& name, unsigned n) {
    add_process(s.m.tree, pid, {.comm = "qemu-system-x86", .cgroup = "0::/qemu.slice/" + name + ".scope\n"});
    add_file(s.m.tree, pid, 28, "pos:\t0\nvfio-device-syspath: /sys/devices/pci0000:00/" + Scene::address(n) + "\n",
             "anon_inode:[vfio-device]");
  };
  run_machine(4001, "101", 1);
  run_machine(4002, "102", 2);
  FaultyDirectory proc(open_root(s.m.tree.path("proc")));
  class CountedLinks final : public ForwardingDirectory {
   public:
    using ForwardingDirectory::ForwardingDirectory;
    Reading<std::string> read_link(std::string_view path) const override {
      ++links;
      return inner().read_link(path);
    }
    mutable int links = 0;
  } sys(s.m.sys);
  const Machine& real = s.m.machine();
  Machine machine{sys, proc, real.dev, real.perf, real.drm, real.clock, real.privileges, real.names};
  s.scrape(&machine);
  CHECK(s.workload("1") == "101");
  CHECK(s.workload("2") == "102");
  const int opens = proc.opens(), reads = proc.reads(), links = sys.links;
  s.scrape_after(40s);
  CHECK(s.workload("1") == "101");
  CHECK(proc.opens() == opens);
  CHECK(proc.reads() == reads + 2);
  CHECK(sys.links == links);  // the driver of a function whose device is open stays

  // Another file under the same number.
  add_file(s.m.tree, 4001, 28, "pos:\t0\n", "/dev/null");
  s.scrape_after(1s);
  CHECK(s.workload("1") == "");
  CHECK(s.workload("2") == "102");
  // The machine ends, its function is given back to the host and to another machine.
  s.m.tree.remove("proc/4002");
  s.add(2, "xe");
  s.scrape_after(1s);
  CHECK(s.workload("2") == "");
  CHECK(s.value(kInfo, {{"vf", "2"}, {"driver", "xe"}}) == 1);
  s.add(2, "vfio-pci");
  run_machine(4003, "103", 2);
  s.scrape_after(1s);
  CHECK(s.workload("2") == "103");
  // A process that may be read no more.
  proc.fail_reading("4003/fdinfo/28", EIO);
  s.scrape_after(1s);
  CHECK(s.workload("2") == "");
}

TEST_CASE("a machine has the name that the present rules and the host's files give it") {
  class Rules final : public WorkloadRuleSource {
   public:
    std::shared_ptr<const WorkloadRules> current() override { return now; }
    std::shared_ptr<const WorkloadRules> now = std::make_shared<const WorkloadRules>();
  };
  const auto rules = std::make_shared<Rules>();
  Scene s;
  s.rules = rules;
  s.enable(2, "vfio-pci");
  s.run_machine(4001, kNews, 1);
  const std::string uid = "7c0f4a52-91d3-4e68-b5a7-20c8f6e1d93b";
  s.run_machine(4002,
                "0::/kubepods.slice/kubepods-pod7c0f4a52_91d3_4e68_b5a7_20c8f6e1d93b.slice/cri-containerd-" +
                    std::string(64, 'd') + ".scope\n",
                2);
  const auto root = open_root(s.m.tree.path("."));
  s.m.machine().root = root.get();
  s.scrape();
  CHECK(s.workload("1") == "news");
  CHECK(s.workload("2") == uid);
  s.m.tree.write("var/log/pods/studio_virt-launcher-news_" + uid + "/compute/0.log", "");
  rules->now = std::make_shared<const WorkloadRules>(WorkloadRules{{.name = "machines", .comm = {"qemu-*"}}});
  s.scrape_after(11s);
  CHECK(s.workload("1") == "machines");
  CHECK(s.workload("2") == "machines");
  rules->now = std::make_shared<const WorkloadRules>();
  s.scrape_after(11s);
  CHECK(s.workload("1") == "news");
  CHECK(s.workload("2") == "studio/virt-launcher-news");
}

TEST_CASE("without functions of a VFIO driver no process is looked at") {
  Scene s;
  s.enable(2, "xe");
  LockedDirectory proc(s.m.machine().proc, [](std::string_view path) {
    FAIL_CHECK("read " << path);
    return true;
  });
  const Machine& real = s.m.machine();
  Machine machine{s.m.sys, proc, real.dev, real.perf, real.drm, real.clock, real.privileges, real.names};
  s.scrape(&machine);
  CHECK(s.feature("vf_workload") == "ok");
}

TEST_CASE("no right, one right, all rights") {
  Scene s;
  s.enable(1, "vfio-pci");
  s.run_machine(4001, kNews, 1);
  bool may_read = false, may_follow = false;
  // fdinfo/ needs ptrace access, and fd/ its owner or CAP_DAC_READ_SEARCH as well.
  class OtherUsers final : public ForwardingDirectory {
   public:
    OtherUsers(const Directory& inner, const bool& may_read, const bool& may_follow)
        : ForwardingDirectory(inner), may_read_(may_read), may_follow_(may_follow) {}
    Reading<Unit> for_each(std::string_view path, const std::function<bool(std::string_view)>& visit) const override {
      if (!may_read_ && path.find("/fdinfo") != std::string_view::npos) return absent_of_errno(EACCES);
      return inner().for_each(path, visit);
    }
    Reading<std::string> read_link(std::string_view path) const override {
      if (!may_follow_ && path.find("/fd/") != std::string_view::npos) return absent_of_errno(EACCES);
      return inner().read_link(path);
    }

   private:
    const bool& may_read_;
    const bool& may_follow_;
  } proc(s.m.machine().proc, may_read, may_follow);
  const Machine& real = s.m.machine();
  Machine machine{s.m.sys, proc, real.dev, real.perf, real.drm, real.clock, real.privileges, real.names};
  s.scrape(&machine);
  CHECK(s.workload("1") == "");
  CHECK(s.feature("vf_workload") == "permission");
  CHECK(s.value(kInfo, {{"vf", "1"}, {"driver", "vfio-pci"}}) == 1);

  may_read = true;
  s.scrape_after(31s);
  CHECK(s.workload("1") == "");
  CHECK(s.feature("vf_workload") == "permission");
  CHECK(s.sink.features().size() > 3);

  SUBCASE("Linux 6.18 needs no link") {
    add_file(s.m.tree, 4001, 31, "vfio-device-syspath: /sys/devices/pci0000:00/0000:00:01.0/0000:03:00.1\n");
  }
  SUBCASE("before, the link tells") { may_follow = true; }
  s.scrape_after(31s);
  CHECK(s.workload("1") == "news");
  CHECK(s.feature("vf_workload") == "ok");
}

TEST_CASE("hostile machine names are valid text of a bounded length, and no reserved name") {
  Scene s;
  s.enable(3, "vfio-pci");
  s.run_machine(4001, "0::/machine.slice/machine-qemu\\x2d1\\x2da\\x22\\x0a\\xff\\xfe.scope\n", 1);
  s.run_machine(4002, "0::/qemu.slice/" + std::string(3000, 'x') + ".scope\n", 2);
  s.run_machine(4003, "0::/machine.slice/machine-qemu\\x2d1\\x2dother.scope\n", 3);
  s.scrape();
  CHECK(s.workload("1") == "a\"\n\xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK(s.workload("2").size() <= kLongestWorkloadName);
  CHECK(s.workload("3") == "other (container)");
  CHECK(s.sink.failures().empty());
}

TEST_CASE("vfio-device-syspath: only an address is one") {
  CHECK(vfio_device_of("pos:\t0\nvfio-device-syspath: /sys/devices/pci0000:e0/0000:e8:00.2\n") == "0000:e8:00.2");
  CHECK(vfio_device_of("vfio-device-syspath: /sys/devices/virtual/mdev\n").empty());
  CHECK(vfio_device_of("vfio-device-syspath:\n").empty());
  CHECK(vfio_device_of("").empty());
}

TEST_CASE("adverse events: a VF without events has no line; a reset of the function does not take the count back") {
  Scene s;
  s.enable(2, "xe-vfio-pci");
  const auto debugfs = [&](const std::string& file, const std::string& text) {
    s.m.tree.write("sys/kernel/debug/dri/0000:03:00.0/" + file, text);
  };
  s.scrape();
  CHECK(s.feature("vf_adverse_events") == "kernel");  // no debugfs
  SUBCASE("as Linux has had it since 6.8") {
    debugfs("gt0/pf/adverse_events", "");
    debugfs("gt1/pf/adverse_events", "");
    s.scrape();
    CHECK(s.value("intel_gpu_vf_adverse_events_total", {{"vf", "2"}, {"kind", "engine_reset"}}) == 0);
    const std::string line =
        "VF2:\tcat_error_count:0 engine_reset_count:2 page_fault_count:0 guc_time_us:1 irq_time_us:0 "
        "doorbell_time_us:0\n";
    debugfs("gt0/pf/adverse_events", line);
    debugfs("gt1/pf/adverse_events", line);
  }
  SUBCASE("the newer layout") {
    debugfs("sriov/pf/tile0/gt0/adverse_events", "VF2:\tengine_reset_count:4 guc_time_us:2\n");
  }
  s.scrape();
  CHECK(s.feature("vf_adverse_events") == "ok");
  CHECK(s.value("intel_gpu_vf_adverse_events_total", {{"vf", "2"}, {"kind", "engine_reset"}}) == 4);
  CHECK(s.value("intel_gpu_vf_adverse_events_total", {{"vf", "2"}, {"kind", "guc_time"}}) == 2);
  CHECK(s.value("intel_gpu_vf_adverse_events_total", {{"vf", "1"}, {"kind", "cat_error"}}) == 0);
  for (const char* file : {"gt0/pf/adverse_events", "gt1/pf/adverse_events", "sriov/pf/tile0/gt0/adverse_events"})
    debugfs(file, "");
  s.scrape();
  CHECK(s.value("intel_gpu_vf_adverse_events_total", {{"vf", "2"}, {"kind", "engine_reset"}}) == 4);
  debugfs("gt0/pf/adverse_events", "VF2:\tengine_reset_count:1\n");
  debugfs("sriov/pf/tile0/gt0/adverse_events", "VF2:\tengine_reset_count:1\n");
  s.scrape();
  CHECK(s.value("intel_gpu_vf_adverse_events_total", {{"vf", "2"}, {"kind", "engine_reset"}}) == 5);
}

TEST_CASE("adverse events of i915-sriov-dkms have the names of xe; before Linux 6.8 the folder is a number") {
  Scene s("i915");
  s.enable(2, "vfio-pci");
  std::string folder;
  SUBCASE("by address") { folder = "0000:03:00.0"; }
  SUBCASE("by number") { folder = "1"; }
  for (const char* gt : {"gt0", "gt1"})
    s.m.tree.write("sys/kernel/debug/dri/" + folder + "/" + gt + "/iov/adverse_events",
                   "VF2:\tcat_error:0 engine_reset:2 page_fault:0 guc_storm:1 irq_storm:0 dbs_storm:3 \n");
  s.scrape();
  CHECK(s.feature("vf_adverse_events") == "ok");
  CHECK(s.value("intel_gpu_vf_adverse_events_total", {{"vf", "2"}, {"kind", "engine_reset"}}) == 4);
  CHECK(s.value("intel_gpu_vf_adverse_events_total", {{"vf", "2"}, {"kind", "guc_time"}}) == 2);
  CHECK(s.value("intel_gpu_vf_adverse_events_total", {{"vf", "2"}, {"kind", "doorbell_time"}}) == 6);
  CHECK(s.count("intel_gpu_vf_adverse_events_total") == 2 * kAdverseKinds.size());
}

TEST_CASE("debugfs without the right to read it") {
  Scene s;
  s.enable(1, "xe-vfio-pci");
  class Rootless final : public ForwardingDirectory {
   public:
    using ForwardingDirectory::ForwardingDirectory;
    Reading<FileFacts> stat(std::string_view path) const override {
      if (path.starts_with("kernel/debug/")) return absent_of_errno(EACCES);
      return inner().stat(path);
    }
  } sys(s.m.sys);
  const Machine& real = s.m.machine();
  Machine machine{sys, real.proc, real.dev, real.perf, real.drm, real.clock, real.privileges, real.names};
  s.scrape(&machine);
  CHECK(s.feature("vf_adverse_events") == "permission");
  CHECK(s.count(kInfo) == 1);
}

TEST_CASE("text of adverse_events that is not one") {
  CHECK(parse_adverse_events("").empty());
  CHECK(parse_adverse_events("VF0:\ta:1\nVF:\ta:1\nVF4294967296:\ta:1\nVF257:\ta:1\nPF:\ta:1\nVF 1:\ta:1\n").empty());
  const auto events = parse_adverse_events("VF1:\tCAT:1 x\"y:2 :3 a_count:-1 b_us:5 c:18446744073709551616 d:7");
  REQUIRE(events.size() == 1);
  REQUIRE(events[0].counts.size() == 2);
  CHECK(events[0].counts[0].kind == "b");
  CHECK(events[0].counts[0].events == 5);
  CHECK(events[0].counts[1].kind == "d");
  std::string many = "VF1:\t";
  for (int i = 0; i < 1000; ++i) many += "k" + std::to_string(i) + ":1 ";
  CHECK(parse_adverse_events(many)[0].counts.size() == kMostKinds);
}

TEST_SUITE_END();
