// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cerrno>
#include <cstring>

#include "collector/collectors.h"
#include "support/test_machine.h"

TEST_SUITE_BEGIN("memory");

using namespace igpu;
using namespace igpu::test;

namespace {

constexpr std::uint64_t kGiB = 1ull << 30;

Gpu gpu_of(Driver driver) {
  Gpu gpu;
  gpu.address = "0000:03:00.0";
  gpu.card = "card1";
  gpu.render_node = "renderD128";
  gpu.driver = driver;
  gpu.kind = GpuKind::discrete;
  return gpu;
}

// A B580 as drivers/gpu/drm/xe/xe_query.c answers.
int answer_as_xe(unsigned long request, void* argument, std::uint64_t system_used, std::uint64_t vram_used) {
  struct Query {
    std::uint64_t extensions;
    std::uint32_t query, size;
    std::uint64_t data, reserved[2];
  };
  struct Region {
    std::uint16_t mem_class, instance;
    std::uint32_t page;
    std::uint64_t total, used, rest[8];
  };
  struct Regions {
    std::uint32_t count, pad;
    Region region[2];
  };
  Query& query = *static_cast<Query*>(argument);
  if (request != 0xc0286440 || query.query != 1) return EINVAL;
  if (query.size == 0) {
    query.size = sizeof(Regions);
    return 0;
  }
  if (query.size != sizeof(Regions)) return EINVAL;
  const Regions regions{2, 0, {{0, 0, 4096, 32 * kGiB, system_used, {}}, {1, 1, 65536, 12 * kGiB, vram_used, {}}}};
  std::memcpy(reinterpret_cast<void*>(query.data), &regions, sizeof(regions));
  return 0;
}

// As drivers/gpu/drm/i915/i915_query.c answers on a machine with this local memory (0: none).
int answer_as_i915(unsigned long request, void* argument, std::uint64_t local, std::uint64_t unallocated) {
  struct Query {
    std::uint32_t items, flags;
    std::uint64_t address;
  };
  struct Item {
    std::uint64_t id;
    std::int32_t length;
    std::uint32_t flags;
    std::uint64_t data;
  };
  struct Region {
    std::uint16_t memory_class, instance;
    std::uint32_t rsvd;
    std::uint64_t probed, unallocated, rest[8];
  };
  struct Regions {
    std::uint32_t count, rsvd[3];
    Region region[2];
  };
  if (request != 0xc0106479) return EINVAL;
  Item& item = *reinterpret_cast<Item*>(static_cast<Query*>(argument)->address);
  const std::uint32_t count = local == 0 ? 1 : 2;
  const auto length = static_cast<std::int32_t>(16 + count * sizeof(Region));
  if (item.length != 0) {
    const Regions regions{count, {}, {{0, 0, 0, 16 * kGiB, 16 * kGiB, {}}, {1, 0, 0, local, unallocated, {}}}};
    std::memcpy(reinterpret_cast<void*>(item.data), &regions, static_cast<std::size_t>(length));
  }
  item.length = length;
  return 0;
}

void take_perfmon(TestMachine& m) {
  m.privileges.capabilities.erase(Privileges::kCapPerfmon);
  m.privileges.capabilities.erase(Privileges::kCapSysAdmin);
}

}  // namespace

TEST_CASE("a discrete card on xe shows size and use of both regions, with one open node for all scrapes") {
  TestMachine m;
  m.drm.add("renderD128", [](unsigned long r, void* a) { return answer_as_xe(r, a, kGiB, 3 * kGiB); });
  CollectorRun<memory_collector> memory(m, gpu_of(Driver::xe));
  for (int scrape = 0; scrape < 3; ++scrape) {
    memory.collect();
    CHECK(memory.value("intel_gpu_memory_size_bytes", {{"device", "0000:03:00.0"}, {"memory_region", "system"}}) ==
          32.0 * kGiB);
    CHECK(memory.value("intel_gpu_memory_size_bytes", {{"memory_region", "vram0"}}) == 12.0 * kGiB);
    CHECK(memory.value("intel_gpu_memory_used_bytes", {{"memory_region", "system"}}) == 1.0 * kGiB);
    CHECK(memory.value("intel_gpu_memory_used_bytes", {{"memory_region", "vram0"}}) == 3.0 * kGiB);
    CHECK(memory.available("memory_size"));
    CHECK(memory.available("memory_used"));
  }
  CHECK(m.drm.opens == 1);
}

TEST_CASE(
    "without CAP_PERFMON sizes are there, use is missing for lack of permission; the capability is asked at each "
    "scrape") {
  TestMachine m;
  take_perfmon(m);
  m.drm.add("renderD128", [](unsigned long r, void* a) { return answer_as_i915(r, a, 16 * kGiB, 16 * kGiB); });
  CollectorRun<memory_collector> memory(m, gpu_of(Driver::i915));
  memory.collect();
  CHECK(memory.value("intel_gpu_memory_size_bytes", {{"memory_region", "local0"}}) == 16.0 * kGiB);
  CHECK(memory.count("intel_gpu_memory_used_bytes") == 0);
  CHECK(memory.available("memory_size"));
  CHECK(memory.missing("memory_used") == Reason::permission);

  m.privileges.capabilities.insert(Privileges::kCapPerfmon);
  memory.collect();
  CHECK(memory.value("intel_gpu_memory_used_bytes", {{"memory_region", "local0"}}) == 0.0);
  CHECK(memory.available("memory_used"));
}

TEST_CASE("root of a user namespace has no used memory, despite every capability in that namespace") {
  TestMachine m;
  m.privileges.initial_user_namespace = false;
  m.drm.add("renderD128", [](unsigned long r, void* a) { return answer_as_i915(r, a, 16 * kGiB, 16 * kGiB); });
  CollectorRun<memory_collector> memory(m, gpu_of(Driver::i915));
  memory.collect();
  CHECK(memory.count("intel_gpu_memory_used_bytes") == 0);
  CHECK(memory.missing("memory_used") == Reason::permission);
}

TEST_CASE("an integrated GPU on i915 has only system memory, whose use the driver does not track") {
  TestMachine m;
  m.drm.add("renderD128", [](unsigned long r, void* a) { return answer_as_i915(r, a, 0, 0); });
  CollectorRun<memory_collector> memory(m, gpu_of(Driver::i915));
  memory.collect();
  CHECK(memory.value("intel_gpu_memory_size_bytes", {{"memory_region", "system"}}) == 16.0 * kGiB);
  CHECK(memory.count("intel_gpu_memory_used_bytes") == 0);
  CHECK(memory.missing("memory_used") == Reason::kernel);
}

TEST_CASE("use that an older xe driver reports as 0 to unprivileged users is absent; a newer driver's is reported") {
  TestMachine m;
  take_perfmon(m);
  std::uint64_t vram_used = 0;
  m.drm.add("renderD128", [&](unsigned long r, void* a) { return answer_as_xe(r, a, 0, vram_used); });
  CollectorRun<memory_collector> memory(m, gpu_of(Driver::xe));
  memory.collect();
  CHECK(memory.count("intel_gpu_memory_used_bytes") == 0);
  CHECK(memory.missing("memory_used") == Reason::permission);
  vram_used = 5 * kGiB;
  memory.collect();
  CHECK(memory.count("intel_gpu_memory_used_bytes") == 1);
  CHECK(memory.value("intel_gpu_memory_used_bytes", {{"memory_region", "vram0"}}) == 5.0 * kGiB);
  CHECK(memory.available("memory_used"));
}

TEST_CASE("without permission for the render node both features are absent; it is tried again at the next scrape") {
  TestMachine m;
  m.drm.refuse("renderD128", EACCES);
  CollectorRun<memory_collector> memory(m, gpu_of(Driver::xe));
  memory.collect();
  CHECK(memory.count("intel_gpu_memory_size_bytes") == 0);
  CHECK(memory.missing("memory_size") == Reason::permission);
  CHECK(memory.missing("memory_used") == Reason::permission);
  for (const auto& availability : memory.sink().features())
    CHECK(availability.feature->need == Need::render_node);  // no capability opens it
  CHECK(memory.failures() == 0);
  m.drm.add("renderD128", [](unsigned long r, void* a) { return answer_as_xe(r, a, 1, 1); });
  memory.collect();
  CHECK(memory.available("memory_size"));
}

TEST_CASE("a render node in sysfs but not in /dev/dri was not passed to the container: the kernel is not blamed") {
  TestMachine m;
  CollectorRun<memory_collector> memory(m, gpu_of(Driver::xe));
  memory.collect();
  REQUIRE(memory.sink().features().size() == 2);
  for (const auto& availability : memory.sink().features()) {
    CHECK(availability.absent == Absent{Reason::permission, ENOENT});
    CHECK(availability.feature->need == Need::render_node);
  }
}

TEST_CASE("a GPU without render node has no memory series") {
  TestMachine m;
  Gpu gpu = gpu_of(Driver::xe);
  gpu.render_node.clear();
  CollectorRun<memory_collector> memory(m, gpu);
  memory.collect();
  CHECK(memory.missing("memory_size") == Reason::kernel);
  CHECK(m.drm.opens == 0);
}

TEST_CASE("a node whose device has gone is reopened within the scrape, and not kept open without a device") {
  TestMachine m;
  int gone_answers = 0;
  m.drm.add("renderD128", [&](unsigned long r, void* a) {
    if (gone_answers > 0) {
      --gone_answers;
      return ENODEV;
    }
    return answer_as_xe(r, a, 1, 1);
  });
  CollectorRun<memory_collector> memory(m, gpu_of(Driver::xe));
  memory.collect();
  gone_answers = 1;
  memory.collect();
  CHECK(memory.available("memory_size"));
  CHECK(m.drm.opens == 2);
  CHECK(m.drm.open_now == 1);
  gone_answers = 2;
  memory.collect();
  CHECK(memory.missing("memory_size") == Reason::kernel);
  CHECK(m.drm.open_now == 0);
  memory.collect();
  CHECK(memory.available("memory_size"));
}

TEST_CASE("a wedged device is a failure of this scrape; no old values are shown") {
  TestMachine m;
  int error = 0;
  m.drm.add("renderD128", [&](unsigned long r, void* a) { return error != 0 ? error : answer_as_xe(r, a, 1, 1); });
  CollectorRun<memory_collector> memory(m, gpu_of(Driver::xe));
  memory.collect();
  error = ECANCELED;
  memory.collect();
  CHECK(memory.failures() == 1);
  CHECK(memory.count("intel_gpu_memory_size_bytes") == 0);
  error = 0;
  memory.collect();
  CHECK(memory.failures() == 0);
  CHECK(memory.available("memory_size"));
}

TEST_SUITE_END();
