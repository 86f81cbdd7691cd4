// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/drm_openers.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/scan.h"

namespace igpu {
namespace {

constexpr std::string_view kDebugDri = "kernel/debug/dri";
// The command's column; a name has 15 bytes at most, and may hold anything.
constexpr std::size_t kCommand = 20;
// Thousands of open files; what does not fit is found without this hint.
constexpr std::size_t kMostClientsText = 256UL * 1024;
// Minors of primary nodes. The folder of a render node repeats what its primary node's has.
constexpr std::uint32_t kPrimaryNodes = 64;

}  // namespace

std::vector<std::uint32_t> parse_drm_openers(std::string_view text) {
  std::vector<std::uint32_t> pids;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (line.size() <= kCommand) continue;
    line.remove_prefix(kCommand);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    const auto pid = scan_integer<std::uint32_t>(line.substr(0, line.find(' ')));  // the title has none
    if (pid.value_or(0) != 0) pids.push_back(*pid);
  }
  return pids;
}

std::vector<std::uint32_t> DrmOpeners::changed(const Directory& sys) {
  Counts now;
  (void)sys.for_each(kDebugDri, [&](std::string_view name) {
    const auto minor = scan_integer<std::uint32_t>(name);
    if (!minor || *minor >= kPrimaryNodes) return true;
    buffer_.resize(kMostClientsText);
    const auto text = sys.read_start(std::string(kDebugDri) + '/' + std::string(name) + "/clients", buffer_);
    if (text)
      for (const std::uint32_t pid : parse_drm_openers(*text)) ++now[pid];
    return true;
  });
  std::vector<Counts::value_type> different;
  std::set_symmetric_difference(now.begin(), now.end(), known_.begin(), known_.end(), std::back_inserter(different));
  std::vector<std::uint32_t> pids;
  for (const auto& entry : different)
    if (pids.empty() || pids.back() != entry.first) pids.push_back(entry.first);
  known_ = std::move(now);
  return pids;
}

}  // namespace igpu
