// SPDX-License-Identifier: Apache-2.0
#include "machine/bpf/fault_layout.h"

#include <unistd.h>

#include <cerrno>
#include <optional>

#include "machine/bpf/bpf_object.h"
#include "machine/bpf/struct_offsets.h"

namespace igpu {

Reading<fault_layout> read_fault_layout(const std::string& types_folder, const std::string& modules) {
  constexpr Absent kUnknown{Reason::kernel, ENODATA};
  const auto types = StructOffsets::read(types_folder, "xe");
  if (!types) return errno == ENOENT ? kUnknown : bpf::why_not();
  // A module without types of its own is loaded all the same.
  if (!types->offset("xe_exec_queue", {}))
    return ::access((modules + "/xe").c_str(), F_OK) == 0 ? kUnknown : Absent{Reason::kernel, ENOENT};
  fault_layout layout{};
  bool whole = true;
  const auto set = [&](unsigned int& to, std::optional<std::uint32_t> offset) {
    whole = whole && offset;
    to = offset.value_or(0);
  };
  set(layout.job_queue, types->offset("xe_sched_job", {"q"}));
  set(layout.job_fence, types->offset("xe_sched_job", {"fence"}));
  set(layout.queue_class, types->offset("xe_exec_queue", {"class"}));
  set(layout.queue_gt, types->offset("xe_exec_queue", {"gt"}));
  set(layout.queue_guc, types->offset("xe_exec_queue", {"guc"}));
  set(layout.queue_vm, types->offset("xe_exec_queue", {"vm"}));
  set(layout.guc_id, types->offset("xe_guc_exec_queue", {"id"}));
  set(layout.gt_id, types->offset("xe_gt", {"info", "id"}));
  set(layout.gt_tile, types->offset("xe_gt", {"tile"}));
  set(layout.tile_xe, types->offset("xe_tile", {"xe"}));
  set(layout.xe_device, types->offset("xe_device", {"drm", "dev"}));
  set(layout.vm_file, types->offset("xe_vm", {"xef"}));
  set(layout.device_name, types->offset("device", {"kobj", "name"}));
  set(layout.dma_flags, types->offset("dma_fence", {"flags"}));
  set(layout.dma_signalled_bit, types->enumerator("DMA_FENCE_FLAG_SIGNALED_BIT"));
  set(layout.task_leader, types->offset("task_struct", {"group_leader"}));
  set(layout.task_name, types->offset("task_struct", {"comm"}));
  if (!whole) return kUnknown;
  return layout;
}

}  // namespace igpu
