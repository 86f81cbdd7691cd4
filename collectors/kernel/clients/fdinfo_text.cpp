// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/fdinfo_text.h"

#include <algorithm>
#include <limits>

#include "base/scan.h"
#include "kernel/device/drm_nodes.h"
#include "kernel/device/npus.h"

namespace igpu {
namespace {

constexpr std::string_view kPrefix = "drm-";
constexpr std::size_t kMaxRegionName = 64;

bool is_plain_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxRegionName &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

struct Amount {
  std::uint64_t number;
  std::string_view unit;
};

std::optional<Amount> scan_amount(std::string_view value) {
  const std::size_t digits = std::min(value.find_first_not_of("0123456789"), value.size());
  const auto number = scan_u64(value.substr(0, digits));
  if (!number) return std::nullopt;
  return Amount{*number, trim(value.substr(digits))};
}

std::optional<std::uint64_t> scan_bytes(std::string_view value) {
  const auto amount = scan_amount(value);
  if (!amount) return std::nullopt;
  unsigned shift;
  if (amount->unit.empty() || amount->unit == "B") {
    shift = 0;
  } else if (amount->unit == "KiB") {
    shift = 10;
  } else if (amount->unit == "MiB") {
    shift = 20;
  } else if (amount->unit == "GiB") {
    shift = 30;
  } else {
    return std::nullopt;
  }
  if (amount->number > (std::numeric_limits<std::uint64_t>::max() >> shift)) return std::nullopt;
  return amount->number << shift;
}

std::optional<std::uint64_t> scan_with_unit(std::string_view value, std::string_view unit) {
  const auto amount = scan_amount(value);
  if (!amount || !(amount->unit.empty() || amount->unit == unit)) return std::nullopt;
  return amount->number;
}

void keep_first(std::optional<std::uint64_t>& place, std::optional<std::uint64_t> value) {
  if (!place) place = value;
}

class BlockReader {
 public:
  explicit BlockReader(FdinfoBlock& block) : block_(block) {}

  // key: without "drm-". If one prefix starts with another, the longer one is tried first.
  void read_field(std::string_view key, std::string_view value) {
    if (key == "driver") {
      if (block_.driver.empty()) block_.driver = value;
    } else if (key == "pdev") {
      if (block_.address.empty() && is_pci_address(value)) block_.address = value;
    } else if (key == "client-id") {
      keep_first(block_.client_id, scan_u64(value));
    } else if (take_prefix(key, "engine-capacity-")) {
      take_capacity(key, value);
    } else if (take_prefix(key, "engine-")) {
      if (ClientEngine* engine = engine_of(key)) keep_first(engine->busy_ns, scan_with_unit(value, "ns"));
    } else if (take_prefix(key, "total-cycles-")) {
      if (ClientEngine* engine = engine_of(key)) keep_first(engine->total_cycles, scan_u64(value));
    } else if (take_prefix(key, "cycles-")) {
      if (ClientEngine* engine = engine_of(key)) keep_first(engine->cycles, scan_u64(value));
    } else if (take_prefix(key, "total-")) {
      take_memory(key, value, &FdinfoRegion::total);
    } else if (take_prefix(key, "shared-")) {
      take_memory(key, value, &FdinfoRegion::shared);
    } else if (take_prefix(key, "active-")) {
      take_memory(key, value, &FdinfoRegion::active);
    } else if (take_prefix(key, "resident-")) {
      take_memory(key, value, &FdinfoRegion::resident);
    } else if (take_prefix(key, "purgeable-")) {
      take_memory(key, value, &FdinfoRegion::purgeable);
    }
  }

 private:
  ClientEngine* engine_of(std::string_view name) {
    auto engine_class = engine_class_of_fdinfo_name(name);
    if (!engine_class) engine_class = engine_class_of_short_name(name);
    return engine_class ? &block_.engines[static_cast<std::size_t>(*engine_class)] : nullptr;
  }

  void take_capacity(std::string_view name, std::string_view value) {
    ClientEngine* engine = engine_of(name);
    const auto capacity = scan_integer<std::uint32_t>(value);
    if (!engine || !capacity) return;
    bool& seen = capacity_seen_[static_cast<std::size_t>(engine - block_.engines.data())];
    if (!seen) engine->capacity = std::max<std::uint32_t>(*capacity, 1);
    seen = true;
  }

  void take_memory(std::string_view name, std::string_view value, std::optional<std::uint64_t> FdinfoRegion::*kind) {
    const auto bytes = scan_bytes(value);
    if (!bytes || !is_plain_name(name)) return;
    const auto begin = block_.region_store.begin();
    const auto end = begin + static_cast<std::ptrdiff_t>(block_.region_count);
    auto region = std::find_if(begin, end, [&](const FdinfoRegion& r) { return r.name == name; });
    if (region == end) {
      if (block_.region_count == FdinfoBlock::kMaxRegions) return;
      ++block_.region_count;
      *region = FdinfoRegion{};
      region->name = name;
    }
    keep_first((*region).*kind, bytes);
  }

  FdinfoBlock& block_;
  std::array<bool, kEngineClasses> capacity_seen_{};
};

}  // namespace

// For every client and scrape. GCC inlines less in large units: without the attribute, half of the time goes into
// calls.
[[gnu::flatten]] bool parse_fdinfo(std::string_view text, FdinfoBlock& block) {
  // Nearly all files of a machine are something else.
  if (text.find(kPrefix) == std::string_view::npos) return false;
  block = FdinfoBlock{};
  BlockReader reader(block);
  bool drm = false;
  // The kernel ends every line; one without an end was cut off, and half a number is another number.
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (!line.starts_with(kPrefix)) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    drm = true;
    reader.read_field(trim(line.substr(kPrefix.size(), colon - kPrefix.size())), trim(line.substr(colon + 1)));
  }
  return drm;
}

std::optional<Driver> intel_driver(std::string_view name) {
  if (name == to_string(Driver::i915)) return Driver::i915;
  if (name == to_string(Driver::xe)) return Driver::xe;
  return std::nullopt;
}

FdinfoKind kind_of(const FdinfoBlock& block) {
  if (block.driver.empty()) return FdinfoKind::incomplete;
  const bool is_npu = block.driver == kNpuDriver;
  if (!is_npu && !intel_driver(block.driver)) return FdinfoKind::other_driver;
  if (!block.client_id || block.address.empty()) return FdinfoKind::incomplete;
  return is_npu ? FdinfoKind::npu_client : FdinfoKind::client;
}

}  // namespace igpu
