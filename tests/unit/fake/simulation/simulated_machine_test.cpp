// SPDX-License-Identifier: Apache-2.0
// All parts of a simulated machine must agree with each other.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <thread>

#include "base/scan.h"
#include "fake/simulation/simulated_parts.h"
#include "fake/simulation/simulation.h"
#include "igpu/monitor.h"
#include "kernel/device/drm_uapi.h"
#include "support/expected_values.h"

using namespace igpu;
using namespace igpu::simulation;
using namespace std::chrono_literals;

namespace {

class SetClock final : public Clock {
 public:
  Nanoseconds now() const override { return time; }
  Nanoseconds time{777s};
};

// A profile and the means to inspect it.
struct Simulated {
  explicit Simulated(std::string_view profile)
      : owner(SimulatedMachine::create(profile, clock)), machine(owner->machine()) {}

  const MachineScript& script() const { return owner->script(); }
  ScriptTime now() const { return owner->script_time(clock.now()); }
  std::string sys(const std::string& path) { return text(machine.sys, path); }
  std::string proc(const std::string& path) { return text(machine.proc, path); }
  std::uint64_t number(const std::string& path) {
    const auto value = scan_u64(sys(path));
    CHECK_MESSAGE(value, path);
    return value.value_or(0);
  }
  std::string text(const Directory& tree, const std::string& path) {
    const auto reading = tree.read(path, buffer);
    CHECK_MESSAGE(reading, path);
    return reading ? std::string(*reading) : "";
  }
  std::uint64_t pmu_type(const std::string& pmu) { return number("bus/event_source/devices/" + pmu + "/type"); }
  std::unique_ptr<PerfEvent> open(const std::string& pmu, std::uint64_t config, PerfEvent* leader = nullptr) {
    auto event = machine.perf.open({static_cast<std::uint32_t>(pmu_type(pmu)), config}, 0, leader);
    REQUIRE_MESSAGE(event, pmu);
    return std::move(*event);
  }

  SetClock clock;
  std::unique_ptr<SimulatedMachine> owner;
  Machine machine;
  std::array<char, 8192> buffer{};
};

std::uint64_t count_of(PerfEvent& event) {
  std::array<std::uint64_t, 8> words{};
  const auto read = event.read(words);
  REQUIRE(read);
  REQUIRE(read->size() >= 4);
  return words[3];
}

// "key:\tvalue" lines.
std::map<std::string, std::string> lines_of(const std::string& text) {
  std::map<std::string, std::string> lines;
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view line = take_line(rest);
    const std::string_view key = take_until(line, ':');
    lines.emplace(key, trim(line));
  }
  return lines;
}

std::uint64_t leading_number(const std::string& text) { return std::stoull(text); }

const std::vector<std::string> kAll{"tgl-broadcast", "arc-a770", "battlemage", "rack",
                                    "locked",        "asleep",   "hypervisor", "npu"};

}  // namespace

TEST_SUITE_BEGIN("simulated machine");

TEST_CASE("the seven profiles exist and have descriptions; others do not exist") {
  std::vector<std::string> names;
  for (const SimulationProfile& profile : simulation_profiles()) {
    names.emplace_back(profile.name);
    CHECK_FALSE(profile.description.empty());
  }
  CHECK(names == kAll);
  SetClock clock;
  CHECK(SimulatedMachine::create("voodoo", clock) == nullptr);
  CHECK(SimulatedMachine::create("", clock) == nullptr);
}

TEST_CASE("no engine is ever busy for more than the elapsed time") {
  for (const std::string& profile : kAll) {
    const MachineScript script = *script_of_profile(profile);
    for (const GpuScript& gpu : script.gpus) {
      for (const EngineScript& engine : gpu.engines) {
        INFO(profile << " " << gpu.address << " " << engine.name);
        CHECK(engine.busy.maximum() <= 1'000'000'000);
      }
      for (const GtScript& gt : gpu.gts) CHECK((gt.awake + gt.asleep).maximum() == 1'000'000'000);
      CHECK((gpu.model.vram_bytes == 0 || gpu.vram_used.maximum() < gpu.model.vram_bytes));
    }
  }
}

TEST_CASE("every card and render node is found by its links, and leads back to its PCI function") {
  for (const std::string& profile : kAll) {
    Simulated m(profile);
    for (const GpuScript& gpu : m.script().gpus) {
      INFO(profile << " " << gpu.address);
      for (const std::string& node : {gpu.card_name(), gpu.render_name()}) {
        CHECK(*m.machine.sys.resolve("class/drm/" + node + "/device") == gpu.pci_path());
        CHECK(m.sys("class/drm/" + node + "/device/vendor") == "0x8086\n");
        CHECK(m.machine.dev.stat("dri/" + node));
      }
      CHECK(*m.machine.sys.resolve("bus/pci/devices/" + gpu.address) == gpu.pci_path());
      CHECK(*m.machine.sys.resolve("class/drm/" + gpu.card_name() + "/device/driver") ==
            "bus/pci/drivers/" + std::string(to_string(gpu.model.driver)));
      CHECK(*m.machine.sys.resolve("bus/pci/drivers/" + std::string(to_string(gpu.model.driver)) + "/" + gpu.address) ==
            gpu.pci_path());
      CHECK(m.machine.names.pci_device(0x8086, gpu.model.device_id) == gpu.model.name);
    }
  }
}

TEST_CASE("no link in sysfs is dangling") {
  Simulated m("rack");
  const auto visit = [&](const auto& self, const std::string& path) -> void {
    for (const std::string& name : sorted_names(m.machine.sys, path)) {
      const std::string entry = path == "." ? name : path + "/" + name;
      INFO(entry);
      if (m.machine.sys.read_link(entry)) {
        CHECK_MESSAGE(m.machine.sys.resolve(entry), entry);
        continue;
      }
      if ((m.machine.sys.stat(entry)->mode & 0170000) == 0040000) self(self, entry);
    }
  };
  visit(visit, ".");
}

TEST_CASE("a card's slot has the true link, the functions on the card Gen1 x1") {
  Simulated m("rack");
  const GpuScript& b580 = m.script().gpus[2];
  CHECK(m.sys(b580.pci_path() + "/current_link_speed") == "2.5 GT/s PCIe\n");
  CHECK(m.sys(b580.pci_path() + "/current_link_width") == "1\n");
  CHECK(m.sys(b580.pci_path() + "/../current_link_speed") == "2.5 GT/s PCIe\n");
  CHECK(m.sys(b580.pci_path() + "/../../current_link_speed") == "16.0 GT/s PCIe\n");
  CHECK(m.sys(b580.pci_path() + "/../../current_link_width") == "4\n");
  CHECK(m.sys(b580.pci_path() + "/../../max_link_width") == "8\n");
  CHECK(m.sys(b580.pci_path() + "/../../class") == "0x060400\n");
  CHECK_FALSE(m.machine.sys.stat(m.script().gpus[0].pci_path() + "/current_link_speed"));
}

TEST_CASE("i915: client time per class is the engines' busy time, except for the kernel's own") {
  for (const char* profile : {"tgl-broadcast", "arc-a770", "rack"}) {
    Simulated m(profile);
    for (std::size_t g = 0; g < m.script().gpus.size(); ++g) {
      const GpuScript& gpu = m.script().gpus[g];
      if (gpu.model.driver != Driver::i915) continue;
      INFO(profile << " " << gpu.address);
      constexpr Nanoseconds kWindow = 13s + 400ms;
      // Without a client that begins or ends within the window.
      const auto changes = [&] {
        return std::any_of(m.script().clients.begin(), m.script().clients.end(), [&](const ClientScript& client) {
          return client.open.exists(m.now()) != client.open.exists(m.now() + kWindow) ||
                 client.open.predecessors(m.now()) != client.open.predecessors(m.now() + kWindow);
        });
      };
      while (changes()) m.clock.time += 1s;
      std::vector<std::unique_ptr<PerfEvent>> events;
      for (const EngineScript& engine : gpu.engines) {
        const std::string text =
            m.sys("bus/event_source/devices/" + gpu.pmu_name() + "/events/" + engine.name + "-busy");
        REQUIRE(text.starts_with("config=0x"));
        events.push_back(m.open(gpu.pmu_name(), *scan_hex(std::string_view(text).substr(7))));
      }
      const auto clients_ns = [&](std::string_view fdinfo_name) {
        std::uint64_t sum = 0;
        for (const ClientScript& client : m.script().clients) {
          if (client.gpu != g || !client.open.exists(m.now())) continue;
          const std::string path = std::to_string(client.pid) + "/fdinfo/" + std::to_string(client.descriptors[0]);
          sum += leading_number(lines_of(m.proc(path)).at("drm-engine-" + std::string(fdinfo_name)));
        }
        return sum;
      };
      std::map<EngineClass, std::uint64_t> before;
      for (const EngineScript& engine : gpu.engines)
        before[engine.model.engine_class] = clients_ns(names_of(engine.model.engine_class).fdinfo_name);
      m.clock.time += kWindow;
      std::map<EngineClass, std::uint64_t> busy, own;
      for (std::size_t i = 0; i < gpu.engines.size(); ++i) {
        const EngineScript& engine = gpu.engines[i];
        busy[engine.model.engine_class] += count_of(*events[i]);
        own[engine.model.engine_class] += engine.own.integral(m.now()) - engine.own.integral(m.now() - kWindow);
      }
      for (const auto& [engine_class, nanoseconds] : busy) {
        const auto& names = names_of(engine_class);
        INFO(names.label);
        const std::uint64_t clients = clients_ns(names.fdinfo_name) - before[engine_class];
        const auto difference = static_cast<std::int64_t>(nanoseconds - own[engine_class] - clients);
        CHECK(std::abs(difference) < 50);  // each part is rounded down to nanoseconds
      }
    }
  }
}

TEST_CASE("xe: cycles of the clients are ticks of the engines, and the GPU's clock is that of the PMU") {
  Simulated m("battlemage");
  const GpuScript& gpu = m.script().gpus[0];
  const std::string pmu = gpu.pmu_name();
  CHECK(pmu == "xe_0000_03_00.0");
  auto active = m.open(pmu, std::uint64_t{2} << 20 | std::uint64_t{1} << 60 | xe_pmu::kActiveTicks);  // vcs0 on GT1
  auto total = m.open(pmu, std::uint64_t{2} << 20 | std::uint64_t{1} << 60 | xe_pmu::kTotalTicks, active.get());
  auto active1 = m.open(pmu, std::uint64_t{2} << 20 | std::uint64_t{1} << 60 | 1u << 12 | xe_pmu::kActiveTicks);
  const auto clients = [&] {
    std::pair<std::uint64_t, std::uint64_t> sum{0, 0};
    for (const ClientScript& client : m.script().clients) {
      const auto lines =
          lines_of(m.proc(std::to_string(client.pid) + "/fdinfo/" + std::to_string(client.descriptors[0])));
      CHECK(lines.at("drm-driver") == "xe");
      CHECK(lines.at("drm-pdev") == gpu.address);
      CHECK(lines.at("drm-client-id") == std::to_string(client.id(m.now())));
      CHECK(lines.at("drm-engine-capacity-vcs") == "2");
      CHECK_FALSE(lines.contains("drm-engine-video"));
      sum.first += leading_number(lines.at("drm-cycles-vcs"));
      sum.second = leading_number(lines.at("drm-total-cycles-vcs"));
    }
    return sum;
  };
  const auto before = clients();
  m.clock.time += 10s;
  const auto after = clients();
  CHECK(after.second - before.second == 192'000'000);
  std::array<std::uint64_t, 8> words{};
  const auto read = active->read(words);
  REQUIRE(read);
  CHECK(read->size() == 5);
  CHECK(words[0] == 2);
  CHECK(words[1] == 10'000'000'000);
  CHECK(words[2] == 10'000'000'000);
  CHECK(words[4] == 192'000'000);
  const auto engines = static_cast<double>(words[3] + count_of(*active1));
  CHECK(static_cast<double>(after.first - before.first) == doctest::Approx(engines).epsilon(1e-6));
  CHECK(engines / 192e6 > 0.1);
}

TEST_CASE("xe: each read of a frequency event adds the current clock") {
  Simulated m("battlemage");
  auto event = m.open("xe_0000_03_00.0", xe_pmu::kRequestedFrequency);
  const std::uint64_t mhz = m.number(m.script().gpus[0].pci_path() + "/tile0/gt0/freq0/cur_freq");
  CHECK(count_of(*event) == mhz);
  CHECK(count_of(*event) == 2 * mhz);
}

TEST_CASE("RC6 in sysfs and by the PMU are the complement of the time awake") {
  Simulated m("rack");
  const GpuScript& gpu = m.script().gpus[1];
  auto rc6 = m.open(gpu.pmu_name(), i915_pmu::other_config(i915_pmu::kRc6, 0));
  auto awake = m.open(gpu.pmu_name(), i915_pmu::other_config(i915_pmu::kAwake, 0));
  const std::string card = gpu.pci_path() + "/drm/" + gpu.card_name();
  const std::uint64_t before = m.number(card + "/gt/gt0/rc6_residency_ms");
  CHECK(before > 60'000);  // it has been up for hours
  m.clock.time += 20s;
  CHECK(count_of(*rc6) + count_of(*awake) == doctest::Approx(20e9).epsilon(1e-9));
  CHECK((m.number(card + "/gt/gt0/rc6_residency_ms") - before) * 1'000'000 ==
        doctest::Approx(static_cast<double>(count_of(*rc6))).epsilon(0.001));
}

TEST_CASE("energy from the RAPL PMU, from powercap and in the script is the same") {
  Simulated m("tgl-broadcast");
  const GpuScript& gpu = m.script().gpus[0];
  auto event = m.open("power", rapl_pmu::kGpu);
  const std::string zone = "class/powercap/intel-rapl:0:1/";
  CHECK(m.sys(zone + "name") == "uncore\n");
  const std::uint64_t before = m.number(zone + "energy_uj");
  const ScriptTime from = m.now();
  m.clock.time += 15s;
  const double joules = expected_joules(gpu.package_microwatts, from, m.now());
  CHECK(joules / 15 > 1);
  CHECK(static_cast<double>(count_of(*event)) * 0x1p-32 == doctest::Approx(joules).epsilon(1e-5));
  CHECK(static_cast<double>(m.number(zone + "energy_uj") - before) * 1e-6 == doctest::Approx(joules).epsilon(1e-5));
  CHECK(m.sys("bus/event_source/devices/power/events/energy-gpu.scale") == "2.3283064365386962890625e-10\n");
}

TEST_CASE("both memory controllers together count the script's traffic") {
  Simulated m("tgl-broadcast");
  auto first = m.open("uncore_imc_free_running_0", 0x20ff);
  auto second = m.open("uncore_imc_free_running_1", 0x20ff);
  const ScriptTime from = m.now();
  m.clock.time += 8s;
  const double bytes = expected_memory_bytes(m.script().host.memory_read, from, m.now());
  CHECK(static_cast<double>(count_of(*first) + count_of(*second)) * 64 == doctest::Approx(bytes).epsilon(1e-6));
}

TEST_CASE("perf refuses as the kernel does") {
  Simulated m("rack");
  const auto refusal = [&](std::uint32_t type, std::uint64_t config, int cpu = 0, PerfEvent* leader = nullptr) {
    const auto event = m.machine.perf.open({type, config}, cpu, leader);
    REQUIRE(event.is_absent());
    CHECK(event.absent().reason == Reason::kernel);
    return event.absent().os_error;
  };
  const auto i915 = static_cast<std::uint32_t>(m.pmu_type("i915"));
  const auto xe = static_cast<std::uint32_t>(m.pmu_type(m.script().gpus[2].pmu_name()));
  CHECK(refusal(4711, 0) == ENOENT);                                  // no such PMU
  CHECK(refusal(i915, 0x4000) == ENODEV);                             // no compute engine
  CHECK(refusal(i915, 0x3) == ENOENT);                                // no such sample
  CHECK(refusal(i915, 0x100005) == ENOENT);                           // no such counter
  CHECK(refusal(i915, std::uint64_t{1} << 60 | 0x100003) == ENOENT);  // no second GT
  CHECK(refusal(i915, 0, 3) == EINVAL);                               // not the CPU of cpumask
  CHECK(refusal(xe, 0x400002 | std::uint64_t{1} << 60) == ENOENT);    // ccs0 is on the other GT
  CHECK(refusal(xe, 0x9) == ENOENT);
  CHECK(refusal(static_cast<std::uint32_t>(m.pmu_type("power")), 3) == EINVAL);  // no DRAM domain
  auto leader = m.open("i915", 0);
  CHECK(refusal(xe, 2, 0, leader.get()) == EINVAL);  // one PMU a group
  std::array<std::uint64_t, 3> small{};
  CHECK(leader->read(small).is_failure());
}

TEST_CASE("after closing the leader its siblings count alone") {
  Simulated m("rack");
  auto leader = m.open("i915", 0);
  auto sibling = m.open("i915", 0x2000, leader.get());
  std::array<std::uint64_t, 8> words{};
  CHECK(leader->read(words)->size() == 5);
  leader.reset();
  CHECK(sibling->read(words)->size() == 4);
}

TEST_CASE("the render node answers by the rules of both drivers") {
  Simulated m("rack");
  auto xe = m.machine.drm.open("renderD130");
  drm::XeDeviceQuery query{};
  query.query = drm::kXeMemoryRegions;
  CHECK((*xe)->ioctl(drm::kIoctlXeDeviceQuery, &query));
  CHECK(query.size == sizeof(drm::XeHeader) + 2 * sizeof(drm::XeMemoryRegion));
  std::array<std::byte, 1024> bytes{};
  query.data = reinterpret_cast<std::uintptr_t>(bytes.data());
  CHECK((*xe)->ioctl(drm::kIoctlXeDeviceQuery, &query));
  drm::XeMemoryRegion vram{};
  std::memcpy(&vram, bytes.data() + sizeof(drm::XeHeader) + sizeof vram, sizeof vram);
  CHECK(vram.memory_class == 1);
  CHECK(vram.total_size == std::uint64_t{12} << 30);
  CHECK(vram.used == m.script().gpus[2].vram_used.value(m.now()));
  query.size += 8;  // must be exact
  CHECK((*xe)->ioctl(drm::kIoctlXeDeviceQuery, &query).is_failure());

  auto i915 = m.machine.drm.open("renderD129");
  drm::I915QueryItem item{};
  item.query_id = drm::kI915MemoryRegions;
  drm::I915Query i915_query{1, 0, reinterpret_cast<std::uintptr_t>(&item)};
  CHECK((*i915)->ioctl(drm::kIoctlI915Query, &i915_query));
  CHECK(item.length == static_cast<std::int32_t>(sizeof(drm::I915Header) + 2 * sizeof(drm::I915MemoryRegion)));
  bytes.fill(std::byte{0});
  item.data = reinterpret_cast<std::uintptr_t>(bytes.data());
  item.length = static_cast<std::int32_t>(bytes.size());  // larger is fine
  CHECK((*i915)->ioctl(drm::kIoctlI915Query, &i915_query));
  drm::I915MemoryRegion local{};
  std::memcpy(&local, bytes.data() + sizeof(drm::I915Header) + sizeof local, sizeof local);
  CHECK(local.probed_size - local.unallocated_size == m.script().gpus[1].vram_used.value(m.now()));
  item.query_id = 99;
  CHECK((*i915)->ioctl(drm::kIoctlI915Query, &i915_query));
  CHECK(item.length == -EINVAL);  // the item's error, not the call's
  CHECK(m.machine.drm.open("renderD140").is_absent());
}

TEST_CASE("the rack's containers, pods and units are found in the cgroups of their processes") {
  Simulated m("rack");
  std::set<std::string> containers, pods, units;
  for (const ProcessScript& process : m.script().processes) {
    if (!process.life.exists(m.now())) continue;
    const std::string cgroup = m.proc(std::to_string(process.pid) + "/cgroup");
    CHECK(cgroup == "0::" + process.cgroup(m.now()) + "\n");
    const PlaceScript& place = process.place;
    if (!place.container_id.empty()) {
      CHECK(cgroup.find(process.container_id(m.now())) != std::string::npos);
      containers.insert(process.container_id(m.now()));
    }
    if (!place.pod_uid.empty()) pods.insert(place.pod_uid);
    if (place.container_id.empty() && !place.systemd_unit.empty()) units.insert(place.systemd_unit);
  }
  CHECK(containers.size() == 4);
  CHECK(pods.size() == 3);
  CHECK(units.contains("packager@news.service"));
}

TEST_CASE("short jobs come and go, each as another process with another client") {
  Simulated m("rack");
  const std::string job = "9011";  // from 12 to 17 seconds after each period's begin
  std::set<std::string> starts, clients;
  int seen = 0;
  for (int second = 0; second < 900; ++second, m.clock.time += 1s) {
    const bool listed = [&] {
      const auto names = sorted_names(m.machine.proc, ".");
      return std::find(names.begin(), names.end(), job) != names.end();
    }();
    const auto stat = m.machine.proc.read(job + "/stat", m.buffer);
    CHECK(listed == static_cast<bool>(stat));
    if (!stat) {
      CHECK(stat.absent() == Absent{Reason::kernel, ENOENT});
      continue;
    }
    ++seen;
    std::vector<std::string> fields;
    for (std::string_view rest = *stat; !rest.empty();) fields.emplace_back(take_until(rest, ' '));
    starts.insert(fields[21]);
    if (const auto block = m.machine.proc.read(job + "/fdinfo/9", m.buffer))
      clients.insert(lines_of(std::string(*block)).at("drm-client-id"));
  }
  CHECK(seen == 3 * 5);
  CHECK(starts.size() == 3);
  CHECK(clients.size() == 3);
}

TEST_CASE("a directory of a process that has ended never shows its successor") {
  Simulated m("rack");
  const auto exists = [&] { return static_cast<bool>(m.machine.proc.stat("9011")); };
  while (!exists()) m.clock.time += 1s;
  const auto directory = m.machine.proc.open_directory("9011");
  const auto file = m.machine.proc.open("9011/stat");
  REQUIRE(directory);
  REQUIRE(file);
  CHECK((*directory)->read("stat", m.buffer));
  m.clock.time += 10s;
  CHECK_FALSE(exists());
  CHECK((*directory)->read("stat", m.buffer).absent() == Absent{Reason::kernel, ESRCH});
  m.clock.time += 290s;
  CHECK(exists());
  CHECK((*directory)->read("stat", m.buffer).absent() == Absent{Reason::kernel, ESRCH});
  CHECK((*file)->read(m.buffer).absent() == Absent{Reason::kernel, ESRCH});
}

TEST_CASE("a pod's container that starts again has another id, in the same pod") {
  Simulated m("rack");
  std::set<std::string> containers;
  for (int second = 0; second < 600; ++second, m.clock.time += 1s) {
    int running = 0;
    for (const char* pid : {"9101", "9102"}) {
      const auto cgroup = m.machine.proc.read(std::string(pid) + "/cgroup", m.buffer);
      if (!cgroup) continue;
      ++running;
      CHECK(cgroup->find("podc41e6f88_2d5b_47a0_9c63_5be0a9d7143f.slice/cri-containerd-") != std::string::npos);
      containers.emplace(*cgroup);
    }
    CHECK(running <= 1);
  }
  CHECK(containers.size() >= 4);
}

TEST_CASE("what a script's ended children used is in its own counters, as the kernel adds it") {
  Simulated m("rack");
  const auto reaped = [&] {
    std::vector<std::string> fields;
    const std::string stat = m.proc("9001/stat");
    for (std::string_view rest = stat; !rest.empty();) fields.emplace_back(take_until(rest, ' '));
    return std::stoull(fields[15]) + std::stoull(fields[16]);
  };
  const auto written = [&] { return leading_number(lines_of(m.proc("9001/io")).at("write_bytes")); };
  const std::uint64_t ticks = reaped(), bytes = written();
  m.clock.time += 300s;
  CHECK(reaped() - ticks == 7 * 5 * 60);  // seven jobs of five seconds, 0.6 processors each
  CHECK(written() - bytes == 7 * 5 * (1U << 19));
  CHECK(m.proc("9001/task/9001/children").starts_with("9002 9003 "));
}

TEST_CASE("processors: their time is the elapsed time, and what they do is what the processes use") {
  Simulated m("rack");
  const auto read = [&] {
    std::map<std::string, std::vector<std::uint64_t>> lines;
    const std::string text = m.proc("stat");
    for (std::string_view rest = text; !rest.empty();) {
      std::string_view line = take_line(rest);
      const std::string name(take_until(line, ' '));
      if (!name.starts_with("cpu")) break;
      for (std::string_view field = trim(line); !field.empty();)
        lines[name].push_back(*scan_u64(take_until(field, ' ')));
    }
    return lines;
  };
  auto before = read();
  const ScriptTime from = m.now();
  m.clock.time += 100s;
  auto after = read();
  REQUIRE(after.size() == 17);
  double in_use = 0;
  for (auto& [cpu_name, ticks] : after) {
    const auto& cpu = cpu_name;  // clang 14 captures no structured binding
    CAPTURE(cpu);
    REQUIRE(ticks.size() == 10);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < ticks.size(); ++i) {
      CHECK(ticks[i] >= before[cpu][i]);
      sum += ticks[i] - before[cpu][i];
      if (cpu != "cpu" && i != 3 && i != 4) in_use += static_cast<double>(ticks[i] - before[cpu][i]) / 100;
    }
    CHECK(static_cast<double>(sum) == doctest::Approx(cpu == "cpu" ? 160'000 : 10'000).epsilon(0.001));
  }
  double used = 0;
  for (const ProcessScript& process : m.script().processes)
    used += static_cast<double>(process.cpu.integral(m.now()) - process.cpu.integral(from)) * 1e-9;
  CHECK(in_use == doctest::Approx(used + 16).epsilon(0.01));  // the kernel's own: a hundredth of each processor
}

TEST_CASE("one client on several descriptors and in several processes shows one id everywhere") {
  Simulated m("arc-a770");
  const auto id = [&](const char* path) { return lines_of(m.proc(path)).at("drm-client-id"); };
  CHECK(id("1904/fdinfo/14") == id("1904/fdinfo/15"));
  CHECK(id("1904/fdinfo/14") == id("4711/fdinfo/22"));
  CHECK(id("4711/fdinfo/31") != id("4711/fdinfo/22"));
  CHECK(*m.machine.proc.read_link("1904/fd/14") == "/dev/dri/card1");
  CHECK(*m.machine.proc.read_link("4711/fd/31") == "/dev/dri/renderD128");
}

TEST_CASE("sizes in fdinfo are printed as drm_print_memory_stats prints them") {
  Simulated m("tgl-broadcast");
  const auto lines = lines_of(m.proc("2211/fdinfo/9"));
  CHECK(lines.at("drm-total-stolen-system0") == "0");
  const std::string resident = lines.at("drm-resident-system0");
  const std::uint64_t bytes = m.script().clients[0].system_memory(m.now()).resident;
  CHECK((resident == std::to_string(bytes / 1024) + " KiB" || resident == std::to_string(bytes >> 20) + " MiB"));
}

TEST_CASE("a process' stat line has its fields where proc(5) has them") {
  Simulated m("tgl-broadcast");
  const ProcessScript& ffmpeg = *m.script().process(2211);
  std::string stat = m.proc("2211/stat");
  REQUIRE(stat.starts_with("2211 (ffmpeg) S 1 "));
  std::vector<std::string> fields;
  std::string_view rest = trim(stat);
  while (!rest.empty()) fields.emplace_back(take_until(rest, ' '));
  REQUIRE(fields.size() == 52);
  const double cpu = (std::stod(fields[13]) + std::stod(fields[14])) / 100;
  CHECK(cpu == doctest::Approx(expected_process_cpu_seconds(ffmpeg, m.now())).epsilon(0.001));
  CHECK(fields[21] == "3100");  // started 31 s after boot
  CHECK(fields[22] == std::to_string(ffmpeg.virtual_bytes));
  CHECK(std::stoull(fields[23]) * 4096 == ffmpeg.resident_bytes.value(m.now()));
}

TEST_CASE("locked: perf, render node, other users' processes and energy all say EACCES, the rest is open") {
  Simulated m("locked");
  CHECK_FALSE(m.machine.privileges.is_perfmon_capable());
  CHECK(m.machine.privileges.effective_uid() != 0);
  CHECK(m.machine.perf.open({static_cast<std::uint32_t>(m.pmu_type("i915")), 0}, 0, nullptr).absent() ==
        Absent{Reason::permission, EACCES});
  CHECK(m.machine.drm.open("renderD128").absent() == Absent{Reason::permission, EACCES});
  CHECK(m.machine.proc.open_directory("2211/fdinfo").absent() == Absent{Reason::permission, EACCES});
  CHECK(m.machine.proc.read_link("2211/fd/9").absent() == Absent{Reason::permission, EACCES});
  CHECK(m.machine.sys.read("class/powercap/intel-rapl:0/energy_uj", m.buffer).absent() ==
        Absent{Reason::permission, EACCES});
  CHECK(m.machine.sys.read("class/drm/card0/error", m.buffer).absent() == Absent{Reason::permission, EACCES});
  CHECK(m.proc("2211/comm") == "ffmpeg\n");
  CHECK(m.number("class/drm/card0/gt/gt0/rps_RP0_freq_mhz") == 1350);
  CHECK(m.proc("sys/kernel/perf_event_paranoid") == "3\n");
}

TEST_CASE("asleep: reads that would resume a real card are counted, reading its status is not") {
  Simulated m("asleep");
  const GpuScript& i915 = m.script().gpus[0];
  const GpuScript& xe = m.script().gpus[1];
  for (const GpuScript* gpu : {&i915, &xe}) {
    CHECK(m.sys(gpu->pci_path() + "/power/runtime_status") == "suspended\n");
    (void)m.sys(gpu->pci_path() + "/vendor");
  }
  (void)m.sys(i915.pci_path() + "/drm/card1/gt/gt0/rps_act_freq_mhz");
  (void)m.proc("1877/fdinfo/14");  // i915 answers from memory
  (void)m.machine.drm.open(xe.render_name());
  CHECK(m.owner->resumes() == 0);

  std::uint64_t expected = 0;
  const auto resumes = [&](const std::string& what) {
    INFO(what);
    CHECK(m.owner->resumes() == ++expected);
  };
  for (const char* path :
       {"/drm/card1/gt/gt0/rc6_residency_ms", "/drm/card1/gt/gt0/throttle_reason_status", "/hwmon/hwmon3/energy1_input",
        "/hwmon/hwmon3/power1_max", "/current_link_speed", "/../../current_link_width"}) {
    (void)m.sys(i915.pci_path() + path);
    resumes(path);
  }
  for (const char* path :
       {"/tile0/gt0/freq0/act_freq", "/tile0/gt1/freq0/max_freq", "/tile0/gt0/gtidle/idle_residency_ms",
        "/tile0/gt0/freq0/throttle/reasons", "/hwmon/hwmon4/temp2_input"}) {
    (void)m.sys(xe.pci_path() + path);
    resumes(path);
  }
  (void)m.proc("1877/fdinfo/15");
  resumes("fdinfo of an xe client");
  auto node = m.machine.drm.open(xe.render_name());
  drm::XeDeviceQuery query{};
  (void)(*node)->ioctl(drm::kIoctlXeDeviceQuery, &query);
  resumes("any xe ioctl");
  auto event = m.open(xe.pmu_name(), xe_pmu::kC6Residency);
  resumes("an xe perf event");
}

TEST_CASE("several threads may read one machine") {
  Simulated m("asleep");
  const GpuScript& xe = m.script().gpus[1];
  const auto read_everything = [&] {
    std::array<char, 8192> buffer;
    for (int round = 0; round < 20; ++round) {
      (void)m.machine.sys.read(xe.pci_path() + "/tile0/gt0/freq0/act_freq", buffer);
      (void)m.machine.sys.read("class/powercap/intel-rapl:0/energy_uj", buffer);
      (void)m.machine.proc.read("1877/fdinfo/15", buffer);
      for (const std::string& name : sorted_names(m.machine.proc, "."))
        (void)m.machine.proc.read_start(name + "/stat", buffer);
      (void)m.machine.perf.open({1, 0}, 0, nullptr);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(read_everything);
  for (std::thread& thread : threads) thread.join();
  CHECK(m.owner->resumes() == 4 * 20 * 2);
}

TEST_SUITE_END();
