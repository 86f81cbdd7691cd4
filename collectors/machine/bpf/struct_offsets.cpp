// SPDX-License-Identifier: Apache-2.0
#include "machine/bpf/struct_offsets.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "machine/bpf/bpf_object.h"

namespace igpu {
namespace {

struct Member {
  std::uint32_t type = 0;
  std::uint32_t offset = 0;  // bytes
};

// Also inside unnamed structures and unions.
std::optional<Member> find_member(const btf* types, std::uint32_t structure, std::string_view wanted) {
  const btf_type* const type = ::btf__type_by_id(types, structure);
  if (type == nullptr || !(btf_is_struct(type) || btf_is_union(type))) return std::nullopt;
  const btf_member* const members = btf_members(type);
  for (std::uint32_t i = 0; i < btf_vlen(type); ++i) {
    const std::uint32_t offset = btf_member_bit_offset(type, i) / 8;
    const char* const name = ::btf__name_by_offset(types, members[i].name_off);
    if (name != nullptr && wanted == name) return Member{members[i].type, offset};
    if (name != nullptr && *name != '\0') continue;
    if (const auto inner = find_member(types, members[i].type, wanted))
      return Member{inner->type, offset + inner->offset};
  }
  return std::nullopt;
}

// Without const, volatile and typedef.
std::uint32_t plain(const btf* types, std::uint32_t id) {
  for (const btf_type* type = ::btf__type_by_id(types, id);
       type != nullptr && (btf_is_mod(type) || btf_is_typedef(type)); type = ::btf__type_by_id(types, id))
    id = type->type;
  return id;
}

}  // namespace

std::optional<StructOffsets> StructOffsets::read(const std::string& folder, const std::string& module) {
  Types kernel(::btf__parse_raw((folder + "/vmlinux").c_str()));
  if (!kernel) return std::nullopt;
  const std::string path = folder + '/' + module;
  if (::access(path.c_str(), R_OK) != 0) return StructOffsets(std::move(kernel), nullptr);  // may be built in
  Types own(::btf__parse_raw_split(path.c_str(), kernel.get()));
  if (!own) return std::nullopt;
  return StructOffsets(std::move(kernel), std::move(own));
}

std::optional<std::uint32_t> StructOffsets::offset(const char* structure,
                                                   std::initializer_list<const char*> members) const {
  const int found = ::btf__find_by_name_kind(types(), structure, BTF_KIND_STRUCT);
  if (found < 0) return std::nullopt;
  Member at{static_cast<std::uint32_t>(found), 0};
  for (const char* name : members) {
    const auto member = find_member(types(), plain(types(), at.type), name);
    if (!member) return std::nullopt;
    at = {member->type, at.offset + member->offset};
  }
  return at.offset;
}

std::optional<std::uint32_t> StructOffsets::variable(const char* name) const {
  const int found = ::btf__find_by_name_kind(kernel_.get(), name, BTF_KIND_VAR);
  return found < 0 ? std::nullopt : std::optional(static_cast<std::uint32_t>(found));
}

std::optional<std::uint32_t> StructOffsets::enumerator(const char* name) const {
  const std::uint32_t count = ::btf__type_cnt(types());
  for (std::uint32_t id = 1; id < count; ++id) {
    const btf_type* const type = ::btf__type_by_id(types(), id);
    if (!btf_is_enum(type)) continue;
    const struct btf_enum* const values = btf_enum(type);
    for (std::uint32_t i = 0; i < btf_vlen(type); ++i) {
      const char* const known = ::btf__name_by_offset(types(), values[i].name_off);
      if (known != nullptr && std::strcmp(known, name) == 0) return static_cast<std::uint32_t>(values[i].val);
    }
  }
  return std::nullopt;
}

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
