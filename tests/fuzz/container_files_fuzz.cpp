// SPDX-License-Identifier: Apache-2.0
// Names of log folders and state files of container engines: what comes out is a plain name, whatever goes in.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/fuzz_target.h"
#include "igpu/json_strings.h"
#include "kernel/clients/container_names.h"

namespace {
bool is_plain(std::string_view name) {
  return name.size() <= 253 && std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}
}  // namespace

FUZZ_TARGET(container_files) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  FUZZ_CHECK(is_plain(igpu::plain_container_name(text)));
  if (const auto folder = igpu::parse_pod_folder(text))
    FUZZ_CHECK(is_plain(folder->uid) && is_plain(folder->pod.name) && is_plain(folder->pod.name_space));
  if (const auto log = igpu::parse_container_log(text)) FUZZ_CHECK(is_plain(log->container) && log->id.size() == 64);
  std::size_t bytes = 0;
  igpu::visit_json_strings(text, [&](std::span<const igpu::JsonStep> path, std::string_view value) {
    FUZZ_CHECK(path.size() <= 32);
    bytes += value.size();
  });
  FUZZ_CHECK(bytes <= 3 * size);
  return 0;
}
