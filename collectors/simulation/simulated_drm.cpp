// SPDX-License-Identifier: Apache-2.0
#include "simulation/simulated_drm.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <span>

#include "device/drm_uapi.h"

namespace igpu::simulation {

namespace {

constexpr std::uint64_t kSystemMemory = 33'421'066'240;  // bytes of main memory
constexpr std::uint32_t kReferenceClock = 19'200'000;

void* pointer(std::uint64_t address) { return std::bit_cast<void*>(static_cast<std::uintptr_t>(address)); }

// A query result in the driver's layout: a header, then records.
class Answer {
 public:
  template <class T>
  void add(const T& record) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&record);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof record);
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// DRM_IOCTL_VERSION copies what fits and returns the full length.
void put_string(std::uint64_t& length, std::uint64_t destination, std::string_view text) {
  if (destination != 0) std::memcpy(pointer(destination), text.data(), std::min<std::uint64_t>(length, text.size()));
  length = text.size();
}

class RenderNode final : public DrmNode {
 public:
  RenderNode(const MachineScript& script, std::size_t gpu, RuntimePower& power, const ScriptClock& clock)
      : script_(script), gpu_index_(gpu), gpu_(script.gpus[gpu]), power_(power), clock_(clock) {}

  Reading<Unit> ioctl(unsigned long request, void* argument) override {
    if (gpu_.model.driver == Driver::xe) power_.touched();
    const int error = run(request, argument);
    if (error != 0) return outcome_of_errno<Unit>(error, "ioctl on simulated " + gpu_.render_name());
    return Unit{};
  }

 private:
  int run(unsigned long request, void* argument) const {
    const bool is_xe = gpu_.model.driver == Driver::xe;
    if (request == drm::kIoctlVersion) return version(*static_cast<drm::Version*>(argument));
    if (request == drm::kIoctlI915Query && !is_xe) return i915_query(*static_cast<drm::I915Query*>(argument));
    if (request == drm::kIoctlI915Getparam && !is_xe) return i915_getparam(*static_cast<drm::I915Getparam*>(argument));
    if (request == drm::kIoctlXeDeviceQuery && is_xe) return xe_query(*static_cast<drm::XeDeviceQuery*>(argument));
    if (request == drm::kIoctlI915Throttle && !is_xe) return 0;
    return EINVAL;
  }

  int version(drm::Version& version) const {
    version.major = 1;
    version.minor = gpu_.model.driver == Driver::xe ? 1 : 6;
    version.patch = 0;
    put_string(version.name_length, version.name, to_string(gpu_.model.driver));
    put_string(version.date_length, version.date, "0");
    put_string(version.description_length, version.description, "Intel Graphics");
    return 0;
  }

  // i915_getparam.c; HuC runs on every simulated GPU.
  int i915_getparam(const drm::I915Getparam& query) const {
    if (query.param != drm::kI915HucStatus) return EINVAL;
    const std::int32_t authenticated = 1;
    std::memcpy(pointer(query.value), &authenticated, sizeof authenticated);
    return 0;
  }

  // i915_query.c: errors of one item are its negative length, not the ioctl's result.
  int i915_query(drm::I915Query& query) const {
    if (query.flags != 0) return EINVAL;
    for (std::uint32_t i = 0; i < query.num_items; ++i) {
      auto* const at = static_cast<std::byte*>(pointer(query.items)) + i * sizeof(drm::I915QueryItem);
      drm::I915QueryItem item;
      std::memcpy(&item, at, sizeof item);
      item.length = i915_item(item);
      std::memcpy(at, &item, sizeof item);
    }
    return 0;
  }

  std::int32_t i915_item(const drm::I915QueryItem& item) const {
    if (item.flags != 0) return -EINVAL;
    Answer answer;
    if (item.query_id == drm::kI915EngineInfo) {
      answer = i915_engines();
    } else if (item.query_id == drm::kI915MemoryRegions) {
      answer = i915_regions();
    } else {
      return -EINVAL;
    }
    const std::span<const std::byte> bytes = answer.bytes();
    const auto size = static_cast<std::int32_t>(bytes.size());
    if (item.length == 0) return size;
    if (item.length < size) return -EINVAL;
    drm::I915Header header;
    std::memcpy(&header, pointer(item.data), sizeof header);
    if (header.count != 0 || header.reserved[0] != 0 || header.reserved[1] != 0 || header.reserved[2] != 0)
      return -EINVAL;
    std::memcpy(pointer(item.data), bytes.data(), bytes.size());
    return size;
  }

  Answer i915_engines() const {
    Answer answer;
    answer.add(drm::I915Header{static_cast<std::uint32_t>(gpu_.engines.size()), {}});
    for (const EngineScript& engine : gpu_.engines) {
      drm::I915Engine record{};
      record.engine_class = static_cast<std::uint16_t>(engine.model.engine_class);
      record.instance = record.logical_instance = static_cast<std::uint16_t>(engine.model.instance);
      record.flags = 1;  // logical_instance is valid
      answer.add(record);
    }
    return answer;
  }

  Answer i915_regions() const {
    Answer answer;
    const std::uint64_t vram = gpu_.model.vram_bytes;
    answer.add(drm::I915Header{vram > 0 ? 2u : 1u, {}});
    drm::I915MemoryRegion system{};
    system.probed_size = system.unallocated_size = kSystemMemory;
    system.probed_cpu_visible_size = system.unallocated_cpu_visible_size = kSystemMemory;
    answer.add(system);
    if (vram > 0) {
      drm::I915MemoryRegion local{};
      local.memory_class = 1;
      local.probed_size = local.probed_cpu_visible_size = vram;
      // Reported only with CAP_PERFMON; without it all memory looks free.
      const std::uint64_t used = script_.privileged ? gpu_.vram_used.value(clock_.now()) : 0;
      local.unallocated_size = local.unallocated_cpu_visible_size = vram - used;
      answer.add(local);
    }
    return answer;
  }

  // xe_query.c: the second call must pass exactly the size that the first one returned.
  int xe_query(drm::XeDeviceQuery& query) const {
    if (query.extensions != 0 || query.reserved[0] != 0 || query.reserved[1] != 0) return EINVAL;
    Answer answer;
    switch (query.query) {
      case drm::kXeEngines:
        answer = xe_engines();
        break;
      case drm::kXeMemoryRegions:
        answer = xe_regions();
        break;
      case drm::kXeConfig:
        answer = xe_config();
        break;
      case drm::kXeGtList:
        answer = xe_gts();
        break;
      case drm::kXeFirmwareVersion:
        answer = xe_firmware(query);
        break;
      default:
        return EINVAL;
    }
    const std::span<const std::byte> bytes = answer.bytes();
    if (query.size == 0) {
      query.size = static_cast<std::uint32_t>(bytes.size());
      return 0;
    }
    if (query.size != bytes.size()) return EINVAL;
    std::memcpy(pointer(query.data), bytes.data(), bytes.size());
    return 0;
  }

  Answer xe_engines() const {
    Answer answer;
    answer.add(drm::XeHeader{static_cast<std::uint32_t>(gpu_.engines.size()), 0});
    for (const EngineScript& engine : gpu_.engines) {
      drm::XeEngine record{};
      record.engine_class = static_cast<std::uint16_t>(engine.model.engine_class);
      record.instance = static_cast<std::uint16_t>(engine.model.instance);
      record.gt = static_cast<std::uint16_t>(engine.model.gt);
      answer.add(record);
    }
    return answer;
  }

  Answer xe_regions() const {
    Answer answer;
    const std::uint64_t vram = gpu_.model.vram_bytes;
    answer.add(drm::XeHeader{vram > 0 ? 2u : 1u, 0});
    drm::XeMemoryRegion system{};
    system.min_page_size = 4096;
    system.total_size = kSystemMemory;
    system.used = system_memory_used(script_, gpu_index_, clock_.now());
    answer.add(system);
    if (vram > 0) {
      drm::XeMemoryRegion local{};
      local.memory_class = 1;
      local.min_page_size = 65536;
      local.total_size = local.cpu_visible_size = vram;
      local.used = local.cpu_visible_used = gpu_.vram_used.value(clock_.now());
      answer.add(local);
    }
    return answer;
  }

  Answer xe_config() const {
    Answer answer;
    const bool has_vram = gpu_.model.vram_bytes > 0;
    answer.add(drm::XeHeader{5, 0});
    answer.add(std::uint64_t{gpu_.model.device_id} | std::uint64_t{gpu_.model.revision} << 16);
    answer.add(std::uint64_t{has_vram ? 1u : 0u});
    answer.add(std::uint64_t{has_vram ? 65536u : 4096u});  // smallest alignment
    answer.add(std::uint64_t{48});                         // bits of a virtual address
    answer.add(std::uint64_t{2});                          // highest priority of an execution queue
    return answer;
  }

  Answer xe_gts() const {
    Answer answer;
    answer.add(drm::XeHeader{static_cast<std::uint32_t>(gpu_.gts.size()), 0});
    for (std::size_t number = 0; number < gpu_.gts.size(); ++number) {
      drm::XeGt record{};
      record.type = gpu_.gts[number].model.media ? 1 : 0;
      record.gt = static_cast<std::uint16_t>(number);
      record.reference_clock = kReferenceClock;
      record.near_memory = gpu_.model.vram_bytes > 0 ? 2 : 1;
      record.far_memory = gpu_.model.vram_bytes > 0 ? 1 : 0;
      record.version_major = gpu_.gts[number].model.media ? 13 : 20;
      record.version_minor = 1;
      answer.add(record);
    }
    return answer;
  }

  static Answer xe_firmware(const drm::XeDeviceQuery& query) {
    drm::XeFirmwareVersion asked{};
    if (query.size == sizeof asked) std::memcpy(&asked, pointer(query.data), sizeof asked);
    const bool huc = asked.which == 1;
    Answer answer;
    answer.add(drm::XeFirmwareVersion{asked.which, 0, 0, huc ? 8u : 1u, huc ? 2u : 20u, huc ? 10u : 0u, 0, 0});
    return answer;
  }

  const MachineScript& script_;
  std::size_t gpu_index_;
  const GpuScript& gpu_;
  RuntimePower& power_;
  const ScriptClock& clock_;
};

}  // namespace

SimulatedDrm::SimulatedDrm(const MachineScript& script, const std::vector<std::unique_ptr<RuntimePower>>& power,
                           const ScriptClock& clock)
    : script_(script), power_(power), clock_(clock) {}

Reading<std::unique_ptr<DrmNode>> SimulatedDrm::open(std::string_view name) {
  for (std::size_t gpu = 0; gpu < script_.gpus.size(); ++gpu) {
    if (script_.gpus[gpu].render_name() != name) continue;
    if (!script_.privileged) return outcome_of_errno<std::unique_ptr<DrmNode>>(EACCES, name);
    return std::unique_ptr<DrmNode>(std::make_unique<RenderNode>(script_, gpu, *power_[gpu], clock_));
  }
  return outcome_of_errno<std::unique_ptr<DrmNode>>(ENOENT, name);
}

}  // namespace igpu::simulation
