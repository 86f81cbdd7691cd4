// SPDX-License-Identifier: Apache-2.0
// /proc/<pid>/cgroup: what is told is part of the text, and of the described shape.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/fuzz_check.h"
#include "source/process.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view path = igpu::telling_cgroup(text);
  FUZZ_CHECK(path.empty() || path.front() == '/');
  FUZZ_CHECK(path.empty() || text.find(path) != std::string_view::npos);
  for (const std::string_view candidate : {path, text}) {
    const igpu::CgroupFacts facts = igpu::facts_of_cgroup(candidate);
    const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    if (!facts.container_id.empty()) {
      FUZZ_CHECK(facts.container_id.size() == 64);
      FUZZ_CHECK(std::all_of(facts.container_id.begin(), facts.container_id.end(), is_hex));
    }
    if (!facts.pod_uid.empty()) {
      FUZZ_CHECK(facts.pod_uid.size() == 36 || facts.pod_uid.size() == 32);
      FUZZ_CHECK(
          std::all_of(facts.pod_uid.begin(), facts.pod_uid.end(), [&](char c) { return is_hex(c) || c == '-'; }));
    }
    const std::string_view unit = facts.systemd_unit;
    FUZZ_CHECK(unit.empty() || unit.ends_with(".service") || unit.ends_with(".scope"));
    FUZZ_CHECK(unit.find('/') == std::string_view::npos);
  }
  return 0;
}
