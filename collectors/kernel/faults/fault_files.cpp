// SPDX-License-Identifier: Apache-2.0
#include "kernel/faults/fault_files.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/scan.h"
#include "igpu/words.h"
#include "kernel/clients/process.h"
#include "kernel/sysfs/pci_files.h"

namespace igpu {
namespace {

// "RxErr", "Receiver Error", and "aer_correctable_bit[5]" for a bit that has no name.
bool is_type(std::string_view name) {
  constexpr std::size_t kLongest = 40;
  if (name.empty() || name.size() > kLongest) return false;
  return std::ranges::all_of(
      name, [](char c) { return is_letter_or_digit(c) || c == '_' || c == '[' || c == ']' || c == ' '; });
}

std::string name_of(const Directory& proc, std::uint32_t id) {
  std::array<char, 2048> buffer;
  const auto text = proc.read_start(std::to_string(id) + "/stat", buffer);
  const auto stat = text ? parse_process_stat(*text) : std::nullopt;
  return stat ? std::string(stat->comm) : std::string();
}

std::uint32_t process_of_thread(const Directory& proc, std::uint32_t thread) {
  std::array<char, 1024> buffer;  // the line comes early
  const auto text = proc.read_start(std::to_string(thread) + "/status", buffer);
  std::string_view rest = text ? *text : std::string_view();
  while (!rest.empty()) {
    std::string_view line = take_line(rest);
    if (take_until(line, ':') == "Tgid") return scan_integer<std::uint32_t>(line).value_or(0);
  }
  return 0;
}

constexpr std::string_view kDumpClass = "class/devcoredump";
constexpr std::string_view kDump = "devcd";

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

FaultProcess process_of_thread(const Directory& proc, const FaultProcess& thread) {
  if (name_of(proc, thread.pid) != thread.name) return thread;
  const std::uint32_t pid = process_of_thread(proc, thread.pid);
  if (pid == 0 || pid == thread.pid) return thread;
  std::string name = name_of(proc, pid);
  return name.empty() ? thread : FaultProcess{pid, std::move(name)};
}

Reading<std::vector<CoreDump>> CoreDumps::new_dumps() {
  std::array<char, 16> buffer;
  const auto disabled = sys_.read(std::string(kDumpClass) + "/disabled", buffer);
  if (disabled && trim(*disabled) == "1") return Absent{Reason::disabled, EPERM};
  std::vector<std::uint64_t> numbers;
  const auto listed = sys_.for_each(kDumpClass, [&](std::string_view name) {
    if (!name.starts_with(kDump)) return true;
    const auto number = scan_u64(name.substr(kDump.size()));
    if (number && (!highest_ || *number > *highest_)) numbers.push_back(*number);
    return true;
  });
  if (!listed) return listed.propagate<std::vector<CoreDump>>();
  std::ranges::sort(numbers);
  const std::size_t known = unlinked_.size();
  numbers.insert(numbers.begin(), unlinked_.begin(), unlinked_.end());
  unlinked_.clear();
  std::vector<CoreDump> dumps;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::uint64_t number = numbers[i];
    highest_ = std::max(highest_.value_or(number), number);
    const std::string folder = std::string(kDumpClass) + "/" + std::string(kDump) + std::to_string(number);
    const auto facts = sys_.stat(folder);
    auto device = sys_.resolve(folder + "/failing_device");
    if (!device) {
      // It is gone again, as one that a program has saved is; or it is looked at once more.
      if (facts && i >= known) unlinked_.push_back(number);
      continue;
    }
    dumps.push_back({*std::move(device), facts ? facts->modified : Nanoseconds{}, folder + "/data"});
  }
  return dumps;
}

}  // namespace igpu
