// SPDX-License-Identifier: Apache-2.0
// What kernels say about xe's structures, and whether the BPF programs can read them.
#include <bpf/btf.h>
#include <doctest/doctest.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "machine/bpf/struct_offsets.h"
#include "support/machine_tree.h"

using namespace igpu;
using namespace igpu::test;

namespace {

struct Free {
  void operator()(btf* types) const { ::btf__free(types); }
};
using Types = std::unique_ptr<btf, Free>;

// Types of a kernel, as /sys/kernel/btf has them. All members are of eight bytes.
class Kernel {
 public:
  MachineTree tree;

  Kernel() {
    const int integer = ::btf__add_int(kernel_.get(), "long", 8, 0);
    add(kernel_.get(), "kobject", {{"name", integer}});
    add(kernel_.get(), "device", {{"parent", integer}, {"kobj", id(kernel_.get(), "kobject")}});
    add(kernel_.get(), "dma_fence", {{"ops", integer}, {"flags", integer}});
    add(kernel_.get(), "task_struct", {{"group_leader", integer}, {"comm", integer}});
    ::btf__add_enum(kernel_.get(), "dma_fence_flag_bits", 4);
    ::btf__add_enum_value(kernel_.get(), "DMA_FENCE_FLAG_SIGNALED_BIT", 0);
  }

  // xe's structures, but for one member.
  void describe_xe(std::string_view without = {}) {
    write("vmlinux", kernel_.get());
    const Types xe(::btf__new_empty_split(kernel_.get()));
    const int integer = id(kernel_.get(), "long", BTF_KIND_INT);
    add(xe.get(), "drm_device", {{"dev", integer}});
    add(xe.get(), "gt_info", {{"id", integer}});
    const std::vector<std::pair<std::string_view, std::vector<std::string_view>>> known{
        {"xe_sched_job", {"q", "fence"}},
        {"xe_exec_queue", {"class", "gt", "guc", "vm"}},
        {"xe_guc_exec_queue", {"id"}},
        {"xe_gt", {"tile", "info"}},
        {"xe_tile", {"xe"}},
        {"xe_device", {"drm"}},
        {"xe_vm", {"xef"}}};
    for (const auto& [name, members] : known) {
      std::vector<Member> all{{"before", integer}};
      for (const std::string_view member : members) {
        if (member == without) continue;
        const int type = member == "info"  ? id(xe.get(), "gt_info")
                         : member == "drm" ? id(xe.get(), "drm_device")
                                           : integer;
        all.push_back({member, type});
      }
      add(xe.get(), name, all);
    }
    write("xe", xe.get());
  }
  void describe_kernel_only() { write("vmlinux", kernel_.get()); }
  void load_xe() { tree.make_directory("modules/xe"); }

  Reading<fault_layout> read() const {
    return read_fault_layout((tree.root() / "btf").string(), (tree.root() / "modules").string());
  }

 private:
  struct Member {
    std::string_view name;
    int type;
  };

  static int id(const btf* types, const char* name, unsigned kind = BTF_KIND_STRUCT) {
    return ::btf__find_by_name_kind(types, name, kind);
  }
  static void add(btf* types, std::string_view name, const std::vector<Member>& members) {
    ::btf__add_struct(types, std::string(name).c_str(), static_cast<__u32>(8 * members.size()));
    __u32 bit = 0;
    for (const Member& member : members) {
      ::btf__add_field(types, std::string(member.name).c_str(), member.type, bit, 0);
      bit += 64;
    }
  }
  void write(const std::string& file, const btf* types) {
    __u32 size = 0;
    const void* const data = ::btf__raw_data(types, &size);
    tree.write("btf/" + file, {static_cast<const char*>(data), size});
  }

  Types kernel_{::btf__new_empty()};
};

}  // namespace

TEST_SUITE_BEGIN("fault layout");

TEST_CASE("the offsets of a kernel that describes xe") {
  Kernel kernel;
  kernel.describe_xe();
  const auto layout = kernel.read();
  REQUIRE(layout);
  CHECK(layout->job_queue == 8);
  CHECK(layout->job_fence == 16);
  CHECK(layout->queue_vm == 32);
  CHECK(layout->gt_id == 16);
  CHECK(layout->device_name == 8);
  CHECK(layout->task_name == 8);
  CHECK(layout->dma_signalled_bit == 0);
}

TEST_CASE("xe is not loaded: another attempt may succeed") {
  Kernel kernel;
  kernel.describe_kernel_only();
  CHECK(kernel.read().absent() == Absent{Reason::kernel, ENOENT});
}

TEST_CASE("a kernel that does not describe its structures, or xe's, and an xe with others: no attempt will succeed") {
  Kernel without_types;
  without_types.load_xe();
  CHECK(without_types.read().absent() == Absent{Reason::kernel, ENODATA});

  Kernel without_module_types;
  without_module_types.describe_kernel_only();
  without_module_types.load_xe();
  CHECK(without_module_types.read().absent() == Absent{Reason::kernel, ENODATA});

  for (const std::string_view member : {"q", "guc", "drm", "xef"}) {
    CAPTURE(member);
    Kernel other_xe;
    other_xe.describe_xe(member);
    other_xe.load_xe();
    CHECK(other_xe.read().absent() == Absent{Reason::kernel, ENODATA});
  }
}

TEST_SUITE_END();
