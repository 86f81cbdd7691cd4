// SPDX-License-Identifier: Apache-2.0
#include "kernel/device/drm_query.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "machine/filesystem.h"

TEST_SUITE_BEGIN("drm_query");

using namespace igpu;

namespace {

// A driver that answers with the bytes it was given, by the kernel's rules of size.
class ScriptedNode final : public DrmNode {
 public:
  std::map<std::uint64_t, std::vector<unsigned char>> answers;  // query id -> bytes
  std::map<std::uint64_t, std::int32_t> item_errors;            // i915: reported as negative length
  int call_error = 0;                                           // the ioctl itself fails
  std::optional<std::int64_t> claimed_size;                     // the first pass lies about the size
  std::optional<std::int32_t> second_length;                    // i915: the second pass lies
  int calls = 0;

  Reading<Unit> ioctl(unsigned long request, void* argument) override {
    ++calls;
    if (call_error != 0) return outcome_of_errno<Unit>(call_error, "ioctl");
    if (request == 0xc0106479) return i915(argument);
    if (request == 0xc0286440) return xe(argument);
    return outcome_of_errno<Unit>(ENOTTY, "ioctl");
  }

 private:
  Reading<Unit> i915(void* argument) {
    struct Query {
      std::uint32_t items, flags;
      std::uint64_t address;
    } query;
    struct Item {
      std::uint64_t id;
      std::int32_t length;
      std::uint32_t flags;
      std::uint64_t data;
    };
    std::memcpy(&query, argument, sizeof(query));
    CHECK(query.items == 1);
    CHECK(query.flags == 0);
    Item& item = *reinterpret_cast<Item*>(query.address);
    CHECK(item.flags == 0);
    if (item_errors.count(item.id) != 0) {
      item.length = -item_errors[item.id];
    } else if (answers.count(item.id) == 0) {
      item.length = -EINVAL;
    } else if (item.length == 0) {
      item.length =
          static_cast<std::int32_t>(claimed_size.value_or(static_cast<std::int64_t>(answers[item.id].size())));
    } else if (item.length < static_cast<std::int32_t>(answers[item.id].size())) {
      item.length = -EINVAL;
    } else {
      const auto& bytes = answers[item.id];
      const unsigned char* header = reinterpret_cast<const unsigned char*>(item.data);
      for (int i = 0; i < 16; ++i) {
        if (header[i] != 0) {
          item.length = -EINVAL;
          return Unit{};
        }
      }
      std::memcpy(reinterpret_cast<void*>(item.data), bytes.data(), bytes.size());
      item.length = second_length.value_or(static_cast<std::int32_t>(bytes.size()));
    }
    return Unit{};
  }

  Reading<Unit> xe(void* argument) {
    struct Query {
      std::uint64_t extensions;
      std::uint32_t query, size;
      std::uint64_t data, reserved[2];
    };
    Query& query = *static_cast<Query*>(argument);
    if (query.extensions != 0 || query.reserved[0] != 0 || query.reserved[1] != 0 || answers.count(query.query) == 0) {
      return Failure{std::error_code(EINVAL, std::generic_category()), "ioctl"};
    }
    const auto& bytes = answers[query.query];
    if (query.size == 0) {
      query.size = static_cast<std::uint32_t>(claimed_size.value_or(static_cast<std::int64_t>(bytes.size())));
      return Unit{};
    }
    if (!claimed_size && query.size != bytes.size())
      return Failure{std::error_code(EINVAL, std::generic_category()), "ioctl"};
    std::memcpy(reinterpret_cast<void*>(query.data), bytes.data(), std::min<std::size_t>(bytes.size(), query.size));
    return Unit{};
  }
};

class Answer {
 public:
  template <class T>
  Answer& put(T value) {
    unsigned char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    bytes_.insert(bytes_.end(), raw, raw + sizeof(T));
    return *this;
  }
  Answer& zeros(std::size_t n) {
    bytes_.insert(bytes_.end(), n, 0);
    return *this;
  }
  std::vector<unsigned char> take() { return std::move(bytes_); }

 private:
  std::vector<unsigned char> bytes_;
};

struct I915Region {
  std::uint16_t memory_class, instance;
  std::uint64_t probed, unallocated;
};
std::vector<unsigned char> i915_regions(std::vector<I915Region> regions) {
  Answer bytes;
  bytes.put(static_cast<std::uint32_t>(regions.size())).zeros(12);
  for (const auto& r : regions) {
    bytes.put(r.memory_class).put(r.instance).put(std::uint32_t{0}).put(r.probed).put(r.unallocated).zeros(64);
  }
  return bytes.take();
}

struct XeRegion {
  std::uint16_t mem_class, instance;
  std::uint64_t total, used;
};
std::vector<unsigned char> xe_regions(std::vector<XeRegion> regions) {
  Answer bytes;
  bytes.put(static_cast<std::uint32_t>(regions.size())).zeros(4);
  for (const auto& r : regions) {
    bytes.put(r.mem_class).put(r.instance).put(std::uint32_t{4096}).put(r.total).put(r.used).zeros(64);
  }
  return bytes.take();
}

constexpr std::uint64_t kGiB = 1ull << 30;
constexpr std::uint64_t kI915Regions = 4, kXeEngines = 0, kXeRegions = 1;

ScriptedNode node_with(std::uint64_t id, std::vector<unsigned char> bytes) {
  ScriptedNode node;
  node.answers[id] = std::move(bytes);
  return node;
}

}  // namespace

TEST_CASE("an A770 on i915 has system memory whose use is unknown and local memory whose use is known") {
  auto node = node_with(kI915Regions, i915_regions({{0, 0, 64 * kGiB, 64 * kGiB}, {1, 0, 16 * kGiB, 12 * kGiB}}));
  const auto regions = memory_regions(node, Driver::i915, true);
  REQUIRE(regions);
  REQUIRE(regions->size() == 2);
  CHECK((*regions)[0].name == "system");
  CHECK((*regions)[0].size == Bytes{64.0 * kGiB});
  CHECK_FALSE((*regions)[0].used);
  CHECK((*regions)[1].name == "local0");
  CHECK((*regions)[1].size == Bytes{16.0 * kGiB});
  CHECK((*regions)[1].used == Bytes{4.0 * kGiB});
  CHECK(node.calls == 2);
}

TEST_CASE("without CAP_PERFMON i915 reports all memory as free, so use is unknown") {
  auto node = node_with(kI915Regions, i915_regions({{0, 0, 64 * kGiB, 64 * kGiB}, {1, 0, 16 * kGiB, 16 * kGiB}}));
  const auto regions = memory_regions(node, Driver::i915, false);
  REQUIRE(regions);
  CHECK_FALSE((*regions)[1].used);
  // Up to Linux 5.19 it is reported to every user.
  auto old = node_with(kI915Regions, i915_regions({{1, 0, 16 * kGiB, 12 * kGiB}}));
  CHECK((*memory_regions(old, Driver::i915, false))[0].used == Bytes{4.0 * kGiB});
  auto broken = node_with(kI915Regions, i915_regions({{1, 0, 16 * kGiB, 17 * kGiB}}));
  CHECK_FALSE((*memory_regions(broken, Driver::i915, true))[0].used);
}

TEST_CASE("with the capability an empty i915 card uses 0") {
  auto node = node_with(kI915Regions, i915_regions({{1, 0, 16 * kGiB, 16 * kGiB}}));
  CHECK((*memory_regions(node, Driver::i915, true))[0].used == Bytes{0});
}

TEST_CASE("a B580 on xe: the first VRAM has instance 1 in the answer and is vram0") {
  auto node = node_with(kXeRegions, xe_regions({{0, 0, 32 * kGiB, kGiB}, {1, 1, 12 * kGiB, 3 * kGiB}}));
  const auto regions = memory_regions(node, Driver::xe, true);
  REQUIRE(regions);
  REQUIRE(regions->size() == 2);
  CHECK((*regions)[0].name == "system");
  CHECK((*regions)[0].used == Bytes{1.0 * kGiB});
  CHECK((*regions)[1].name == "vram0");
  CHECK((*regions)[1].size == Bytes{12.0 * kGiB});
  CHECK((*regions)[1].used == Bytes{3.0 * kGiB});
}

TEST_CASE("two tiles have vram0 and vram1") {
  auto node = node_with(kXeRegions, xe_regions({{0, 0, kGiB, 0}, {1, 1, 64 * kGiB, 1}, {1, 2, 64 * kGiB, 2}}));
  const auto regions = memory_regions(node, Driver::xe, true);
  REQUIRE(regions);
  CHECK((*regions)[1].name == "vram0");
  CHECK((*regions)[2].name == "vram1");
  CHECK((*regions)[2].used == Bytes{2});
}

TEST_CASE("xe without CAP_PERFMON: 0 is unknown, since older kernels always report it; other numbers are values") {
  auto node = node_with(kXeRegions, xe_regions({{0, 0, 32 * kGiB, 0}, {1, 1, 12 * kGiB, 3 * kGiB}}));
  const auto regions = memory_regions(node, Driver::xe, false);
  REQUIRE(regions);
  CHECK_FALSE((*regions)[0].used);
  CHECK((*regions)[1].used == Bytes{3.0 * kGiB});
  CHECK((*memory_regions(node, Driver::xe, true))[0].used == Bytes{0});
}

TEST_CASE("a kernel that does not know the query is no failure") {
  ScriptedNode node;
  for (const Driver driver : {Driver::i915, Driver::xe}) {
    const auto regions = memory_regions(node, driver, true);
    REQUIRE(regions.is_absent());
    CHECK(regions.absent() == Absent{Reason::kernel, EINVAL});
  }
}

TEST_CASE("errno of the item or of the call decides between absence and failure") {
  ScriptedNode node;
  node.item_errors[kI915Regions] = ENODEV;
  CHECK(memory_regions(node, Driver::i915, true).absent() == Absent{Reason::kernel, ENODEV});
  node.item_errors[kI915Regions] = EPERM;
  CHECK(memory_regions(node, Driver::i915, true).absent().reason == Reason::permission);
  node.item_errors[kI915Regions] = EIO;
  CHECK(memory_regions(node, Driver::i915, true).failure().code == std::error_code(EIO, std::generic_category()));
  node.call_error = EACCES;
  CHECK(memory_regions(node, Driver::xe, true).absent().reason == Reason::permission);
  node.call_error = ENODEV;
  CHECK(memory_regions(node, Driver::xe, true).absent() == Absent{Reason::kernel, ENODEV});
  node.call_error = ECANCELED;  // a wedged xe device
  CHECK(memory_regions(node, Driver::xe, true).is_failure());
}

TEST_CASE("xe as SR-IOV administrator lists regions of size 0: memory is absent") {
  auto node = node_with(kXeRegions, xe_regions({{0, 0, 0, 0}, {0, 0, 0, 0}}));
  CHECK(memory_regions(node, Driver::xe, true).absent().reason == Reason::kernel);
  auto none = node_with(kXeRegions, xe_regions({}));
  CHECK(memory_regions(none, Driver::xe, true).is_absent());
}

TEST_CASE("classes we do not know, unknown sizes, repeated regions and impossible use are left out") {
  auto i915 = node_with(
      kI915Regions,
      i915_regions(
          {{7, 0, kGiB, 0}, {1, 0, ~0ull, ~0ull}, {0, 0, kGiB, kGiB}, {0, 0, 2 * kGiB, 0}, {1, 1, kGiB, 2 * kGiB}}));
  const auto regions = memory_regions(i915, Driver::i915, true);
  REQUIRE(regions);
  REQUIRE(regions->size() == 2);
  CHECK((*regions)[0].name == "system");
  CHECK((*regions)[0].size == Bytes{1.0 * kGiB});
  CHECK((*regions)[1].name == "local1");
  CHECK_FALSE((*regions)[1].used);
  auto xe = node_with(kXeRegions, xe_regions({{9, 0, kGiB, 0}, {1, 1, kGiB, 2 * kGiB}}));
  REQUIRE(memory_regions(xe, Driver::xe, true)->size() == 1);
  CHECK_FALSE((*memory_regions(xe, Driver::xe, true))[0].used);
}

TEST_CASE("short, inconsistent and empty answers are failures, without reads out of bounds") {
  const auto good = i915_regions({{1, 0, kGiB, kGiB}});
  for (const std::int64_t size : {std::int64_t{0}, std::int64_t{100000}, std::int64_t{2147483647}}) {
    auto i915 = node_with(kI915Regions, good);
    i915.claimed_size = size;
    CHECK(memory_regions(i915, Driver::i915, true).is_failure());
    auto xe = node_with(kXeRegions, xe_regions({{1, 1, kGiB, 0}}));
    xe.claimed_size = size;
    CHECK(memory_regions(xe, Driver::xe, true).is_failure());
  }
  for (const std::int32_t length : {0, 1, 16, 103, 100000}) {
    auto i915 = node_with(kI915Regions, good);
    i915.second_length = length;
    CHECK(memory_regions(i915, Driver::i915, true).is_failure());
  }
  auto counts = good;
  counts[0] = 2;
  auto more_than_there = node_with(kI915Regions, counts);
  CHECK(memory_regions(more_than_there, Driver::i915, true).is_failure());
  counts[0] = counts[1] = counts[2] = counts[3] = 0xff;
  auto billions = node_with(kI915Regions, counts);
  CHECK(memory_regions(billions, Driver::i915, true).is_failure());
  auto short_header = node_with(kXeRegions, {1, 0, 0, 0});
  CHECK(memory_regions(short_header, Driver::xe, true).is_failure());
}

TEST_CASE("xe engines are sorted, without VM_BIND and duplicates") {
  Answer bytes;
  struct Engine {
    std::uint16_t engine_class, instance, gt;
  };
  const std::vector<Engine> engines{{2, 1, 1}, {2, 0, 1}, {3, 0, 1}, {5, 0, 0},  {0, 0, 0},
                                    {1, 0, 0}, {4, 0, 0}, {0, 0, 0}, {300, 0, 0}};
  bytes.put(static_cast<std::uint32_t>(engines.size())).zeros(4);
  for (const auto& e : engines) bytes.put(e.engine_class).put(e.instance).put(e.gt).zeros(26);
  auto node = node_with(kXeEngines, bytes.take());
  const auto found = xe_engines(node);
  REQUIRE(found);
  std::string text;
  for (const auto& e : *found) {
    text += std::to_string(e.gt) + ":" + std::string(names_of(e.engine_class).short_name) + std::to_string(e.instance) +
            " ";
  }
  CHECK(text == "0:rcs0 0:bcs0 0:ccs0 1:vcs0 1:vcs1 1:vecs0 ");
  ScriptedNode unknown;
  CHECK(xe_engines(unknown).is_absent());
}

TEST_CASE("xe reports the timestamp rate in its GT list") {
  Answer bytes;
  bytes.put(std::uint32_t{2}).zeros(4);
  for (const std::uint32_t clock : {0u, 19'200'000u}) bytes.zeros(12).put(clock).zeros(80);
  auto node = node_with(3, bytes.take());
  const auto clock = xe_reference_clock(node);
  REQUIRE(clock);
  CHECK(*clock == 19'200'000);
  ScriptedNode unknown;
  CHECK(xe_reference_clock(unknown).is_absent());
}

TEST_SUITE_END();
