// SPDX-License-Identifier: Apache-2.0
#include "support/captured_machine.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/scan.h"
#include "kernel/device/drm_uapi.h"
#include "support/machine_archive.h"

namespace fs = std::filesystem;

namespace igpu::test {

namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kTicksPerSecond = 19'200'000;

// Nanoseconds a second, by class; a second engine of a class does an eighth.
constexpr std::array<std::uint64_t, kEngineClasses> kBusy{250'000'000, 10'000'000, 500'000'000, 200'000'000,
                                                          300'000'000};
constexpr std::uint64_t kWait = 20'000'000;
constexpr std::uint64_t kSema = 30'000'000;
constexpr std::uint64_t kActualMhz = 1200;
constexpr std::uint64_t kRequestedMhz = 1300;
constexpr std::uint64_t kInterrupts = 1234;
constexpr std::array<std::uint64_t, 2> kAsleepMs{400, 700};  // by GT
constexpr std::uint64_t kNpuBusyMicro = 250'000;
constexpr std::uint64_t kJoulesInMicro = 25'000'000;  // 25 W, and 5 W more with every counter of a chip

std::uint64_t busy_of(EngineClass engine_class, unsigned instance) {
  return kBusy[static_cast<std::size_t>(engine_class)] / (instance == 0 ? 1 : 8);
}

template <class T>
void put(std::byte*& at, const T& record) {
  std::memcpy(at, &record, sizeof record);
  at += sizeof record;
}

int answer_i915(const CapturedGpu& gpu, unsigned long request, void* argument) {
  if (request == drm::kIoctlI915Throttle) return 0;  // not wedged
  if (request != drm::kIoctlI915Query) return EINVAL;
  const auto& query = *static_cast<drm::I915Query*>(argument);
  auto& item = *reinterpret_cast<drm::I915QueryItem*>(static_cast<std::uintptr_t>(query.items));
  if (query.num_items != 1 || item.query_id != drm::kI915MemoryRegions) {
    item.length = -EINVAL;
    return 0;
  }
  const std::uint32_t count = gpu.vram_bytes > 0 ? 2 : 1;
  const auto size = static_cast<std::int32_t>(sizeof(drm::I915Header) + count * sizeof(drm::I915MemoryRegion));
  if (item.length != 0) {
    auto* at = reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(item.data));
    put(at, drm::I915Header{count, {}});
    put(at, drm::I915MemoryRegion{0, 0, 0, 16 * kGiB, 16 * kGiB, 16 * kGiB, 16 * kGiB, {}});
    if (count == 2) {
      const std::uint64_t free = gpu.vram_bytes - 700 * kMiB;
      put(at, drm::I915MemoryRegion{1, 0, 0, gpu.vram_bytes, free, gpu.vram_bytes, free, {}});
    }
  }
  item.length = size;
  return 0;
}

std::vector<drm::XeEngine> xe_engines_of(const CapturedGpu& gpu) {
  const auto media = static_cast<std::uint16_t>(gpu.media_gt ? 1 : 0);
  std::vector<drm::XeEngine> engines{{0, 0, 0, 0, {}}, {1, 0, 0, 0, {}}, {4, 0, 0, 0, {}}};
  for (std::uint16_t i = 0; i < gpu.video_engines; ++i) {
    engines.push_back({2, i, media, 0, {}});
    engines.push_back({3, i, media, 0, {}});
  }
  return engines;
}

int answer_xe(const CapturedGpu& gpu, unsigned long request, void* argument) {
  if (request != drm::kIoctlXeDeviceQuery) return EINVAL;
  auto& query = *static_cast<drm::XeDeviceQuery*>(argument);
  std::vector<std::byte> bytes(1024);
  std::byte* at = bytes.data();
  if (query.query == drm::kXeEngines) {
    const auto engines = xe_engines_of(gpu);
    put(at, drm::XeHeader{static_cast<std::uint32_t>(engines.size()), 0});
    for (const drm::XeEngine& engine : engines) put(at, engine);
  } else if (query.query == drm::kXeMemoryRegions) {
    put(at, drm::XeHeader{gpu.vram_bytes > 0 ? 2u : 1u, 0});
    put(at, drm::XeMemoryRegion{0, 0, 4096, 16 * kGiB, 90 * kMiB, 0, 0, {}});
    if (gpu.vram_bytes > 0)
      put(at, drm::XeMemoryRegion{1, 0, 65536, gpu.vram_bytes, 700 * kMiB, gpu.vram_bytes, 700 * kMiB, {}});
  } else if (query.query == drm::kXeConfig) {  // asked for its size only, to see whether the driver answers
    put(at, drm::XeHeader{0, 0});
  } else if (query.query == drm::kXeGtList) {
    put(at, drm::XeHeader{gpu.media_gt ? 2u : 1u, 0});
    for (std::uint16_t gt = 0; gt < (gpu.media_gt ? 2 : 1); ++gt) {
      drm::XeGt record{};
      record.type = gt;
      record.gt = gt;
      record.reference_clock = static_cast<std::uint32_t>(kTicksPerSecond);
      put(at, record);
    }
  } else {
    return EINVAL;
  }
  const auto size = static_cast<std::uint32_t>(at - bytes.data());
  if (query.size == 0) {
    query.size = size;
    return 0;
  }
  if (query.size != size) return EINVAL;
  std::memcpy(reinterpret_cast<void*>(static_cast<std::uintptr_t>(query.data)), bytes.data(), size);
  return 0;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  if (fs::is_directory(folder))
    for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

bool is_locked(std::string_view path) {
  return path.ends_with("/energy_uj") || path.ends_with("/error") || path.ends_with("/fdinfo") ||
         path.find("/fdinfo/") != std::string_view::npos || path.ends_with("/fd") ||
         path.find("auto_link_downgrade") != std::string_view::npos;
}

// ---- machine.json, described in tests/machines/README.md.

void allow_only(const Json& object, std::initializer_list<std::string_view> keys) {
  for (const auto& item : object.items()) {
    if (std::find(keys.begin(), keys.end(), item.key()) == keys.end())
      throw std::runtime_error("unknown key " + item.key());
  }
}

CapturedGpu read_gpu(const Json& json) {
  allow_only(json, {"driver", "render_node", "vram_mib", "media_gt", "video_engines"});
  const auto driver = json.at("driver").get<std::string>();
  if (driver != "i915" && driver != "xe") throw std::runtime_error("unknown driver " + driver);
  return {.render_node = json.value("render_node", ""),
          .driver = driver == "xe" ? Driver::xe : Driver::i915,
          .vram_bytes = json.value("vram_mib", std::uint64_t{0}) * kMiB,
          .media_gt = json.value("media_gt", false),
          .video_engines = json.value("video_engines", 1u)};
}

// "8086:56a5"
std::pair<std::uint16_t, std::uint16_t> read_pci_id(const std::string& text) {
  if (text.size() != 9 || text[4] != ':') throw std::runtime_error("not a PCI id: " + text);
  const auto vendor = scan_hex(std::string_view(text).substr(0, 4));
  const auto device = scan_hex(std::string_view(text).substr(5));
  if (!vendor || !device) throw std::runtime_error("not a PCI id: " + text);
  return {static_cast<std::uint16_t>(*vendor), static_cast<std::uint16_t>(*device)};
}

Capture read_capture(const std::string& name) {
  try {
    const Json json = Json::parse(read_archived_file(name, "machine.json"));
    allow_only(json, {"laid_over", "gpus", "pci_names"});
    Capture capture;
    if (json.contains("laid_over")) capture = read_capture(json["laid_over"].get<std::string>());
    capture.name = name;
    capture.trees.push_back(name);
    if (json.contains("gpus")) {
      capture.gpus.clear();
      for (const Json& gpu : json["gpus"]) capture.gpus.push_back(read_gpu(gpu));
    }
    if (json.contains("pci_names")) {
      for (const auto& item : json["pci_names"].items())
        capture.pci_names[read_pci_id(item.key())] = item.value().get<std::string>();
    }
    if (capture.gpus.empty()) throw std::runtime_error("neither gpus nor laid_over");
    return capture;
  } catch (const std::exception& error) {
    throw std::runtime_error("machine.json of " + name + ": " + error.what());
  }
}

}  // namespace

const std::vector<Capture>& captures() {
  static const std::vector<Capture> list = [] {
    std::vector<Capture> found;
    for (const std::string& name : machine_archives()) found.push_back(read_capture(name));
    return found;
  }();
  return list;
}

CapturedMachine::CapturedMachine(const Capture& capture)
    : capture_(capture),
      sys_(
          *[this] {
            for (const std::string& tree : capture_.trees) m_.tree.lay_out(tree);
            return &m_.machine().sys;
          }(),
          [this](std::string_view path) { return locked_ && is_locked(path); }),
      proc_(m_.machine().proc, [this](std::string_view path) { return locked_ && is_locked(path); }),
      machine_{sys_, proc_, m_.machine().dev, m_.perf, m_.drm, m_.clock, m_.privileges, m_.names} {
  m_.names.devices = capture_.pci_names;
  const fs::path devices = m_.tree.root() / "sys/bus/event_source/devices";
  for (const std::string& name : names_in(devices)) {
    const std::string path = "sys/bus/event_source/devices/" + name;
    const auto type = scan_integer<std::uint32_t>(m_.tree.read(path + "/type"));
    if (!type) continue;
    m_.perf.add_pmu(*type);
    pmus_.push_back({*type, path});
  }
  for (const CapturedGpu& gpu : capture_.gpus) {
    if (gpu.render_node.empty()) continue;
    m_.drm.add(gpu.render_node, [&gpu](unsigned long request, void* argument) {
      return gpu.driver == Driver::xe ? answer_xe(gpu, request, argument) : answer_i915(gpu, request, argument);
    });
  }
  add_clients();
}

// One transcode that has every GPU open.
void CapturedMachine::add_clients() {
  for (const std::string& name : names_in(m_.tree.root() / "sys/bus/pci/devices")) {
    const fs::path driver = m_.tree.root() / "sys/bus/pci/devices" / name / "driver";
    if (!fs::is_symlink(driver)) continue;
    const std::string bound = fs::read_symlink(driver).filename();
    if (bound == "i915" || bound == "xe") addresses_.push_back(name);
  }
  m_.tree.write("proc/2/comm", "kthreadd\n");
  m_.tree.write("proc/sys/kernel/perf_event_paranoid", "2\n");
  m_.tree.write("proc/4242/comm", "ffmpeg\n");
  m_.tree.write("proc/4242/cgroup", "0::/system.slice/transcode.service\n");
  m_.tree.write("proc/4242/status", "Name:\tffmpeg\nUid:\t1000\t1000\t1000\t1000\nVmRSS:\t  204800 kB\n");
  m_.tree.write("proc/4242/statm", "700000 51200 12000 200 0 90000 0\n");
  m_.tree.link("proc/self", "1");
  write_client(0);
}

void CapturedMachine::write_client(std::uint64_t seconds) {
  m_.tree.write(
      "proc/4242/stat",
      "4242 (ffmpeg) S 1 4242 4242 0 -1 4194560 0 0 0 0 " + std::to_string(300 + 40 * seconds) + " " +
          std::to_string(100 + 10 * seconds) +
          " 0 0 20 0 14 0 50000 2867200000 51200 18446744073709551615 1 1 0 0 0 0 0 4096 16384 0 0 0 17 3 0 0 0 "
          "0 0 0 0 0 0 0 0 0 0\n");
  for (std::size_t i = 0; i < capture_.gpus.size() && i < addresses_.size(); ++i) {
    const CapturedGpu& gpu = capture_.gpus[i];
    const bool xe = gpu.driver == Driver::xe;
    std::string text = "pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t284\ndrm-driver:\t" +
                       std::string(to_string(gpu.driver)) + "\ndrm-client-id:\t" + std::to_string(39 + i) +
                       "\ndrm-pdev:\t" + addresses_[i] + "\n";
    const std::string region = xe ? (gpu.vram_bytes > 0 ? "vram0" : "gtt") : gpu.vram_bytes > 0 ? "local0" : "system0";
    text += "drm-total-" + region + ":\t300 MiB\ndrm-shared-" + region + ":\t0\ndrm-active-" + region +
            ":\t64 MiB\ndrm-resident-" + region + ":\t262148 KiB\n";
    const auto engine = [&](EngineClass engine_class, std::uint64_t ns, unsigned capacity) {
      const EngineClassNames& names = names_of(engine_class);
      const std::string name(xe ? names.short_name : names.fdinfo_name);
      if (xe) {
        text += "drm-cycles-" + name + ":\t" + std::to_string(ns / 625 * 12) + "\n";
        text += "drm-total-cycles-" + name + ":\t" + std::to_string((3600 + seconds) * kTicksPerSecond) + "\n";
      } else {
        text += "drm-engine-" + name + ":\t" + std::to_string(ns) + " ns\n";
      }
      if (capacity > 1) text += "drm-engine-capacity-" + name + ":\t" + std::to_string(capacity) + "\n";
    };
    engine(EngineClass::render, 5'000'000'000 + seconds * 200'000'000, 1);
    engine(EngineClass::copy, 0, 1);
    engine(EngineClass::video, 60'000'000'000 + seconds * 450'000'000, gpu.video_engines);
    engine(EngineClass::video_enhance, 7'000'000'000 + seconds * 150'000'000, gpu.video_engines);
    m_.tree.write("proc/4242/fdinfo/" + std::to_string(9 + i), text);
    m_.tree.link("proc/4242/fd/" + std::to_string(9 + i),
                 "/dev/dri/" + (gpu.render_node.empty() ? "card0" : gpu.render_node));
  }
}

void CapturedMachine::move_i915(const Pmu& pmu, std::uint64_t seconds) {
  for (const std::string& event : names_in(m_.tree.path(pmu.path + "/events"))) {
    const std::string text = m_.tree.read(pmu.path + "/events/" + event);
    if (!text.starts_with("config=")) continue;
    const std::uint64_t config = scan_hex(std::string_view(text).substr(7)).value_or(0);
    const std::uint64_t gt = config >> 60 & 1;
    const std::uint64_t low = config & 0xffffff;
    std::uint64_t& count = m_.perf.counter(pmu.type, config);
    if (low < 0x100000) {
      const std::uint64_t rate =
          (low & 0xf) == 1   ? kWait
          : (low & 0xf) == 2 ? kSema
                             : busy_of(static_cast<EngineClass>(low >> 12), static_cast<unsigned>(low >> 4 & 0xff));
      count += rate * seconds;
      continue;
    }
    switch (low - 0x100000) {
      case 0: count += kActualMhz * seconds; break;
      case 1: count += kRequestedMhz * seconds; break;
      case 2: count += kInterrupts * seconds; break;
      case 3: count += kAsleepMs[gt] * 1'000'000 * seconds; break;
      case 4: count += (1000 - kAsleepMs[gt]) * 1'000'000 * seconds; break;
      default: break;
    }
  }
}

void CapturedMachine::move_xe(const Pmu& pmu, std::uint64_t seconds) {
  for (std::size_t i = 0; i < capture_.gpus.size(); ++i) {
    const CapturedGpu& gpu = capture_.gpus[i];
    if (gpu.driver != Driver::xe) continue;
    const std::string enabled = "sys/bus/pci/devices/" + addresses_[i] + "/sriov_numvfs";
    const std::uint64_t functions =
        fs::exists(m_.tree.path(enabled)) ? scan_u64(trim(m_.tree.read(enabled))).value_or(0) : 0;
    for (const drm::XeEngine& engine : xe_engines_of(gpu)) {
      const std::uint64_t where = std::uint64_t{engine.gt} << 60 | std::uint64_t{engine.engine_class} << 20 |
                                  std::uint64_t{engine.instance} << 12;
      const std::uint64_t busy = busy_of(static_cast<EngineClass>(engine.engine_class), engine.instance);
      m_.perf.counter(pmu.type, where | 2) += busy / 625 * 12 * seconds;
      m_.perf.counter(pmu.type, where | 3) += kTicksPerSecond * seconds;
      for (std::uint64_t vf = 1; vf <= functions; ++vf)  // less from one to the next
        m_.perf.counter(pmu.type, vf << 44 | where | 2) += busy / 4 / vf / 625 * 12 * seconds;
    }
  }
  for (std::uint64_t gt = 0; gt < 2; ++gt) m_.perf.counter(pmu.type, gt << 60 | 1) += kAsleepMs[gt] * seconds;
}

void CapturedMachine::move_files(std::uint64_t seconds) {
  unsigned counters = 0;
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(m_.tree.root() / "sys"))
    if (entry.is_regular_file() && !entry.is_symlink()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    const std::string name = file.filename().string();
    const bool energy = name == "energy_uj" || (name.starts_with("energy") && name.ends_with("_input"));
    const bool residency = name == "rc6_residency_ms" || name == "idle_residency_ms";
    const bool npu = name == "npu_busy_time_us";
    if (!energy && !residency && !npu) continue;
    const std::string path = fs::relative(file, m_.tree.root()).string();
    const auto value = scan_u64(m_.tree.read(path));
    if (!value || *value == 0) continue;
    const std::uint64_t rate = energy ? kJoulesInMicro + 5'000'000 * counters++
                               : npu  ? kNpuBusyMicro
                                      : kAsleepMs[path.find("/gt1/") == std::string::npos ? 0 : 1];
    m_.tree.write(path, std::to_string(*value + rate * seconds) + "\n");
  }
}

void CapturedMachine::work_engines(unsigned seconds) {
  m_.clock.advance(std::chrono::seconds(seconds));
  for (const Pmu& pmu : pmus_) {
    if (pmu.path.find("/xe_") != std::string::npos) {
      move_xe(pmu, seconds);
    } else {
      move_i915(pmu, seconds);
    }
  }
}

void CapturedMachine::work(unsigned seconds) {
  work_engines(seconds);
  seconds_ += seconds;
  move_files(seconds);
  write_client(seconds_);
}

void CapturedMachine::lock() {
  locked_ = true;
  m_.perf.refuse_all(EACCES);
  for (const CapturedGpu& gpu : capture_.gpus) {
    if (!gpu.render_node.empty()) m_.drm.refuse(gpu.render_node, EACCES);
  }
  m_.privileges.capabilities.clear();
  m_.privileges.uid = 1000;
}

void CapturedMachine::suspend() {
  for (const std::string& address : addresses_)
    m_.tree.write("sys/bus/pci/devices/" + address + "/power/runtime_status", "suspended\n");
}

}  // namespace igpu::test
