// SPDX-License-Identifier: Apache-2.0
#include "kernel/faults/core_dumps.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/scan.h"

namespace igpu {
namespace {

constexpr std::string_view kDumpClass = "class/devcoredump";
constexpr std::string_view kDump = "devcd";

}  // namespace

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
