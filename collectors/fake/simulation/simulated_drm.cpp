// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <string>
#include <string_view>

#include "fake/simulation/simulated_parts.h"
#include "kernel/device/drm_calls.h"
#include "kernel/device/drm_uapi.h"

namespace igpu::simulation {

namespace {

constexpr std::uint64_t kSystemMemory = 33'421'066'240;  // bytes of main memory
constexpr std::uint32_t kReferenceClock = 19'200'000;

// A query's result is in the driver's layout: a header, then records.
template <class T>
void append_record(std::string& answer, const T& record) {
  answer.append(reinterpret_cast<const char*>(&record), sizeof record);
}

class RenderNode final : public DrmNode {
 public:
  RenderNode(const World& world, std::size_t gpu) : world_(world), index_(gpu), gpu_(world.script.gpus[gpu]) {}

  Reading<Unit> ioctl(unsigned long request, void* argument) override {
    const bool is_xe = gpu_.model.driver == Driver::xe;
    if (is_xe) world_.power[index_].note_read();
    const drm::Question asked = drm::question(request, argument);
    if (!is_xe && asked.what == drm::kThrottle) return Unit{};
    // HuC runs on every simulated GPU.
    if (!is_xe && asked.what == drm::i915_param(drm::kI915HucStatus))
      return drm::answer(request, argument, true, {.number = 1});
    const std::string result = is_xe ? xe_result(asked.what) : i915_result(asked.what);
    if (result.empty()) return drm::refuse(request, argument, EINVAL);
    return drm::answer(request, argument, asked.for_size, {result.size(), result});
  }

 private:
  // Empty: the driver does not know the query.
  std::string i915_result(std::string_view what) const {
    return what == drm::i915_query(drm::kI915MemoryRegions) ? i915_regions() : std::string();
  }
  std::string xe_result(std::string_view what) const {
    using namespace drm;
    if (what == xe_query(kXeEngines)) return xe_engines();
    if (what == xe_query(kXeMemoryRegions)) return xe_regions();
    if (what == xe_query(kXeConfig)) return xe_config();
    if (what == xe_query(kXeGtList)) return xe_gts();
    const std::string firmware = xe_query(kXeFirmwareVersion);
    if (what == firmware || what == firmware + "-0") return xe_firmware({0, 0, 0, 1, 20, 0, 0, 0});
    if (what == firmware + "-1") return xe_firmware({1, 0, 0, 8, 2, 10, 0, 0});
    return {};
  }

  std::string i915_regions() const {
    std::string answer;
    const std::uint64_t vram = gpu_.model.vram_bytes;
    append_record(answer, drm::I915Header{vram > 0 ? 2u : 1u, {}});
    drm::I915MemoryRegion system{};
    system.probed_size = system.unallocated_size = kSystemMemory;
    system.probed_cpu_visible_size = system.unallocated_cpu_visible_size = kSystemMemory;
    append_record(answer, system);
    if (vram > 0) {
      drm::I915MemoryRegion local{};
      local.memory_class = 1;
      local.probed_size = local.probed_cpu_visible_size = vram;
      // Reported only with CAP_PERFMON; without it all memory looks free.
      const std::uint64_t used = world_.script.privileged ? gpu_.vram_used.value(world_.clock.now()) : 0;
      local.unallocated_size = local.unallocated_cpu_visible_size = vram - used;
      append_record(answer, local);
    }
    return answer;
  }

  std::string xe_engines() const {
    std::string answer;
    append_record(answer, drm::XeHeader{static_cast<std::uint32_t>(gpu_.engines.size()), 0});
    for (const EngineScript& engine : gpu_.engines) {
      drm::XeEngine record{};
      record.engine_class = static_cast<std::uint16_t>(engine.model.engine_class);
      record.instance = static_cast<std::uint16_t>(engine.model.instance);
      record.gt = static_cast<std::uint16_t>(engine.model.gt);
      append_record(answer, record);
    }
    return answer;
  }

  std::string xe_regions() const {
    std::string answer;
    const std::uint64_t vram = gpu_.model.vram_bytes;
    append_record(answer, drm::XeHeader{vram > 0 ? 2u : 1u, 0});
    drm::XeMemoryRegion system{};
    system.min_page_size = 4096;
    system.total_size = kSystemMemory;
    system.used = system_memory_used(world_.script, index_, world_.clock.now());
    append_record(answer, system);
    if (vram > 0) {
      drm::XeMemoryRegion local{};
      local.memory_class = 1;
      local.min_page_size = 65536;
      local.total_size = local.cpu_visible_size = vram;
      local.used = local.cpu_visible_used = gpu_.vram_used.value(world_.clock.now());
      append_record(answer, local);
    }
    return answer;
  }

  std::string xe_config() const {
    std::string answer;
    const bool has_vram = gpu_.model.vram_bytes > 0;
    append_record(answer, drm::XeHeader{5, 0});
    append_record(answer, std::uint64_t{gpu_.model.device_id} | std::uint64_t{gpu_.model.revision} << 16);
    append_record(answer, std::uint64_t{has_vram ? 1u : 0u});
    append_record(answer, std::uint64_t{has_vram ? 65536u : 4096u});  // smallest alignment
    append_record(answer, std::uint64_t{48});                         // bits of a virtual address
    append_record(answer, std::uint64_t{2});                          // highest priority of an execution queue
    return answer;
  }

  std::string xe_gts() const {
    std::string answer;
    append_record(answer, drm::XeHeader{static_cast<std::uint32_t>(gpu_.gts.size()), 0});
    for (std::size_t number = 0; number < gpu_.gts.size(); ++number) {
      drm::XeGt record{};
      record.type = gpu_.gts[number].model.media ? 1 : 0;
      record.gt = static_cast<std::uint16_t>(number);
      record.reference_clock = kReferenceClock;
      record.near_memory = gpu_.model.vram_bytes > 0 ? 2 : 1;
      record.far_memory = gpu_.model.vram_bytes > 0 ? 1 : 0;
      record.version_major = gpu_.gts[number].model.media ? 13 : 20;
      record.version_minor = 1;
      append_record(answer, record);
    }
    return answer;
  }

  static std::string xe_firmware(const drm::XeFirmwareVersion& version) {
    std::string answer;
    append_record(answer, version);
    return answer;
  }

  const World& world_;
  const std::size_t index_;
  const GpuScript& gpu_;
};

}  // namespace

Reading<std::unique_ptr<DrmNode>> SimulatedDrm::open(std::string_view name) {
  const MachineScript& script = world_.script;
  for (std::size_t gpu = 0; gpu < script.gpus.size(); ++gpu) {
    if (script.gpus[gpu].render_name() != name) continue;
    if (!script.privileged) return outcome_of_errno<std::unique_ptr<DrmNode>>(EACCES, name);
    return std::unique_ptr<DrmNode>(std::make_unique<RenderNode>(world_, gpu));
  }
  return outcome_of_errno<std::unique_ptr<DrmNode>>(ENOENT, name);
}

}  // namespace igpu::simulation
