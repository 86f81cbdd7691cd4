// SPDX-License-Identifier: Apache-2.0
// The fdinfo parser beside a slow, obvious one: they must agree about every text.
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/fuzz_target.h"
#include "kernel/clients/client_walk.h"
#include "kernel/clients/fdinfo_text.h"

namespace {

__extension__ using Wide = unsigned __int128;  // room to see what does not fit
using Number = std::optional<std::uint64_t>;

struct SlowRegion {
  std::string name;
  std::map<std::string, std::uint64_t> states;
};
struct SlowEngine {
  Number ns, cycles, total;
  std::optional<std::uint32_t> capacity;
};
struct SlowBlock {
  bool drm = false;
  std::string driver, address;
  Number client;
  SlowEngine engines[5];
  std::vector<SlowRegion> regions;
};

std::string strip(std::string text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.erase(0, 1);
  while (!text.empty() && (blank(text.back()) || text.back() == '\0')) text.pop_back();
  return text;
}

Number number_of(const std::string& digits) {
  if (digits.empty()) return std::nullopt;
  Wide value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<unsigned>(c - '0');
    if (value >> 64) return std::nullopt;
  }
  return static_cast<std::uint64_t>(value);
}

Number with_unit(const std::string& value, const std::map<std::string, int>& shifts) {
  std::size_t end = 0;
  while (end < value.size() && value[end] >= '0' && value[end] <= '9') ++end;
  const Number number = number_of(value.substr(0, end));
  const auto unit = shifts.find(strip(value.substr(end)));
  if (!number || unit == shifts.end()) return std::nullopt;
  const Wide scaled = static_cast<Wide>(*number) << unit->second;
  if (scaled >> 64) return std::nullopt;
  return static_cast<std::uint64_t>(scaled);
}

bool is_address(const std::string& text) {
  if (text.size() < 12 || text.size() > 16) return false;
  std::string shape;
  for (const char c : text) shape += std::isxdigit(static_cast<unsigned char>(c)) ? '0' : c;
  return shape == std::string(text.size() - 8, '0') + ":00:00.0";
}

void first(Number& place, Number value) {
  if (!place.has_value()) place = value;
}

SlowBlock slow_parse(const std::string& text) {
  static const std::vector<std::vector<std::string>> kNames = {
      {"render", "rcs"}, {"copy", "bcs"}, {"video", "vcs"}, {"video-enhance", "vecs"}, {"compute", "ccs"}};
  static const std::map<std::string, int> kBytes = {{"", 0}, {"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
  SlowBlock block;
  std::string line;
  for (const char c : text) {
    if (c != '\n') {
      line += c;
      continue;
    }
    const std::string whole = std::exchange(line, {});
    if (whole.substr(0, 4) != "drm-" || whole.find(':') == std::string::npos) continue;
    block.drm = true;
    const std::string key = strip(whole.substr(4, whole.find(':') - 4));
    const std::string value = strip(whole.substr(whole.find(':') + 1));
    if (key == "driver" && block.driver.empty()) block.driver = value;
    if (key == "pdev" && block.address.empty() && is_address(value)) block.address = value;
    if (key == "client-id") first(block.client, number_of(value));
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      for (const std::string& name : kNames[i]) {
        SlowEngine& engine = block.engines[i];
        if (key == "engine-" + name) first(engine.ns, with_unit(value, {{"", 0}, {"ns", 0}}));
        if (key == "cycles-" + name) first(engine.cycles, number_of(value));
        if (key == "total-cycles-" + name) first(engine.total, number_of(value));
        const Number capacity = number_of(value);
        if (key == "engine-capacity-" + name && !engine.capacity && capacity && *capacity <= 0xffffffffu)
          engine.capacity = static_cast<std::uint32_t>(*capacity);
      }
    }
    for (const std::string state : {"total", "shared", "active", "resident", "purgeable"}) {
      if (key.substr(0, state.size() + 1) != state + "-" || key.substr(0, 13) == "total-cycles-") continue;
      const std::string name = key.substr(state.size() + 1);
      const Number bytes = with_unit(value, kBytes);
      bool plain = !name.empty() && name.size() <= 64;
      for (const char n : name) plain = plain && n > 32 && n < 127;
      if (!bytes || !plain) continue;
      SlowRegion* region = nullptr;
      for (SlowRegion& r : block.regions)
        if (r.name == name) region = &r;
      if (!region && block.regions.size() < igpu::FdinfoBlock::kMaxRegions)
        region = &block.regions.emplace_back(SlowRegion{name, {}});
      if (region) region->states.emplace(state, *bytes);
    }
  }
  return block;
}

Number state_of(const SlowRegion& region, const char* state) {
  const auto it = region.states.find(state);
  return it == region.states.end() ? Number() : Number(it->second);
}

}  // namespace

FUZZ_TARGET(fdinfo) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const SlowBlock expected = slow_parse(text);
  igpu::FdinfoBlock block;
  FUZZ_CHECK(igpu::parse_fdinfo({reinterpret_cast<const char*>(data), size}, block) == expected.drm);
  if (!expected.drm) return 0;
  FUZZ_CHECK(block.driver == expected.driver);
  FUZZ_CHECK(block.address == expected.address);
  FUZZ_CHECK(block.client_id == expected.client);
  for (std::size_t i = 0; i < 5; ++i) {
    FUZZ_CHECK(block.engines[i].busy_ns == expected.engines[i].ns);
    FUZZ_CHECK(block.engines[i].cycles == expected.engines[i].cycles);
    FUZZ_CHECK(block.engines[i].total_cycles == expected.engines[i].total);
    FUZZ_CHECK(block.engines[i].capacity == std::max(1u, expected.engines[i].capacity.value_or(1)));
  }
  FUZZ_CHECK(block.regions().size() == expected.regions.size());
  for (std::size_t i = 0; i < expected.regions.size(); ++i) {
    const igpu::FdinfoRegion& region = block.regions()[i];
    FUZZ_CHECK(region.name == expected.regions[i].name);
    FUZZ_CHECK(region.total == state_of(expected.regions[i], "total"));
    FUZZ_CHECK(region.shared == state_of(expected.regions[i], "shared"));
    FUZZ_CHECK(region.active == state_of(expected.regions[i], "active"));
    FUZZ_CHECK(region.resident == state_of(expected.regions[i], "resident"));
    FUZZ_CHECK(region.purgeable == state_of(expected.regions[i], "purgeable"));
  }
  (void)igpu::kind_of(block);
  // Another text of the kernel's about the same clients.
  for (const std::uint32_t pid : igpu::parse_drm_openers(text)) FUZZ_CHECK(pid != 0);
  return 0;
}
