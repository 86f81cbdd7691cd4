// SPDX-License-Identifier: Apache-2.0
#include "kernel/faults/aer_counts.h"

#include <algorithm>

#include "base/scan.h"
#include "igpu/words.h"
#include "kernel/sysfs/pcie_link.h"

namespace igpu {
namespace {

// "RxErr", "Receiver Error", and "aer_correctable_bit[5]" for a bit that has no name.
bool is_type(std::string_view name) {
  constexpr std::size_t kLongest = 40;
  if (name.empty() || name.size() > kLongest) return false;
  return std::ranges::all_of(
      name, [](char c) { return is_letter_or_digit(c) || c == '_' || c == '[' || c == ']' || c == ' '; });
}

}  // namespace

std::vector<AerCount> parse_aer_counts(std::string_view text) {
  constexpr std::size_t kMostTypes = 64;  // 32 bits in a status register
  std::vector<AerCount> counts;
  while (!text.empty() && counts.size() < kMostTypes) {
    const std::string_view line = trim(take_line(text));
    const std::size_t at = line.rfind(' ');
    if (at == std::string_view::npos) continue;
    const std::string_view type = trim(line.substr(0, at));
    const auto count = scan_u64(line.substr(at + 1));
    if (!count || !is_type(type) || type.starts_with("TOTAL_ERR")) continue;
    const auto known = std::ranges::find(counts, type, &AerCount::type);
    if (known == counts.end()) counts.push_back({std::string(type), *count});
  }
  return counts;
}

Reading<std::vector<AerCount>> read_aer_counts(const Directory& sys, std::string_view function, const AerFile& file) {
  std::array<char, 4096> buffer;  // a page: no sysfs file is longer
  const auto text = sys.read(std::string(function) + "/" + std::string(file.file), buffer);
  return text.map([](std::string_view lines) { return parse_aer_counts(lines); });
}

std::vector<PciePort> pcie_ports(std::string_view pci_path) {
  const std::vector<std::string> functions = pci_functions(pci_path);
  std::vector<PciePort> ports;
  for (std::size_t i = functions.size(); i-- > 0;) {
    // Below the root port, the bridges of switches take turns: upstream port, downstream port.
    const std::string_view port = i + 1 == functions.size() ? "endpoint"
                                  : i == 0                  ? "root"
                                  : i % 2 == 1              ? "switch_upstream"
                                                            : "switch_downstream";
    ports.push_back({port, functions[i]});
  }
  return ports;
}

}  // namespace igpu
