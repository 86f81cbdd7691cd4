// SPDX-License-Identifier: Apache-2.0
#include "kernel/sysfs/connector_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "base/scan.h"

namespace igpu {
namespace {

constexpr std::size_t kLongestMode = 32;  // DRM_DISPLAY_MODE_LEN
static_assert(kModesStart >= 2 * kLongestMode);

Failure unexpected(const std::string& path) { return {std::error_code(EBADMSG, std::generic_category()), path}; }

// A file of one word; Absent for the word of a driver that does not know.
Reading<bool> read_word(const Directory& sys, const std::string& path, std::string_view yes, std::string_view no) {
  std::array<char, 64> buffer;
  const auto text = sys.read(path, buffer);
  if (!text) return text.propagate<bool>();
  const std::string_view word = trim(*text);
  if (word == yes) return true;
  if (word == no) return false;
  if (word == "unknown") return Absent{Reason::hardware};
  return unexpected(path);
}

Reading<std::uint64_t> read_connector_id(const Directory& sys, const std::string& path) {
  std::array<char, 64> buffer;
  const auto text = sys.read(path, buffer);
  if (!text) return text.propagate<std::uint64_t>();
  const auto id = scan_u64(trim(*text));
  if (!id) return unexpected(path);
  return *id;
}

}  // namespace

Reading<std::vector<Connector>> read_connectors(const Directory& sys, const Gpu& gpu) {
  if (gpu.card.empty()) return Absent{Reason::hardware};
  const std::string card = gpu.pci_path + "/drm/" + gpu.card;
  const std::string prefix = gpu.card + "-";
  std::vector<std::string> names;
  const auto listed = sys.for_each(card, [&](std::string_view name) {
    if (name.starts_with(prefix) && name.size() > prefix.size()) names.emplace_back(name.substr(prefix.size()));
    return true;
  });
  if (!listed) return listed.propagate<std::vector<Connector>>();
  std::ranges::sort(names);
  if (names.size() > kMostConnectors) names.resize(kMostConnectors);

  std::vector<Connector> connectors;
  for (std::string& name : names) {
    const std::string path = card + "/" + prefix + name + "/";
    const auto connected = read_word(sys, path + "status", "connected", "disconnected");
    connectors.push_back({std::move(name), connected, read_word(sys, path + "enabled", "enabled", "disabled"),
                          read_connector_id(sys, path + "connector_id")});
  }
  return connectors;
}

std::string modes_path(const Gpu& gpu, std::string_view output) {
  return gpu.pci_path + "/drm/" + gpu.card + "/" + gpu.card + "-" + std::string(output) + "/modes";
}

Reading<std::string> preferred_mode(std::string_view modes, const std::string& path) {
  const std::string_view mode = trim(take_line(modes));
  if (mode.empty()) return Absent{Reason::hardware};
  if (mode.size() > kLongestMode) return unexpected(path);
  return std::string(mode);
}

}  // namespace igpu
