// SPDX-License-Identifier: Apache-2.0
// /proc/<pid>/cgroup: what is found is part of the text, and has the described shape.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/fuzz_target.h"
#include "kernel/clients/cgroup_names.h"

FUZZ_TARGET(cgroup) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view path = igpu::most_specific_cgroup(text);
  FUZZ_CHECK(path.empty() || path.front() == '/');
  FUZZ_CHECK(path.empty() || text.find(path) != std::string_view::npos);
  for (const std::string_view candidate : {path, text}) {
    const igpu::CgroupNames names = igpu::names_of_cgroup(candidate);
    const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    if (!names.container_id.empty()) {
      FUZZ_CHECK(names.container_id.size() == 64);
      FUZZ_CHECK(std::all_of(names.container_id.begin(), names.container_id.end(), is_hex));
    }
    if (!names.pod_uid.empty()) {
      FUZZ_CHECK(names.pod_uid.size() == 36 || names.pod_uid.size() == 32);
      FUZZ_CHECK(
          std::all_of(names.pod_uid.begin(), names.pod_uid.end(), [&](char c) { return is_hex(c) || c == '-'; }));
    }
    const std::string_view unit = names.systemd_unit;
    FUZZ_CHECK(unit.empty() || unit.ends_with(".service") || unit.ends_with(".scope"));
    FUZZ_CHECK(unit.find('/') == std::string_view::npos);
    // An escape may stand for any byte, but a name is never longer than what it was read from.
    FUZZ_CHECK(names.machine.size() <= candidate.size());
    const bool found = !names.container_id.empty() || !names.machine.empty();
    FUZZ_CHECK(found == (names.runtime != igpu::Runtime::none));
  }
  return 0;
}
