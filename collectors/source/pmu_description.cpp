// SPDX-License-Identifier: Apache-2.0
#include "source/pmu_description.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/scan.h"
#include "source/pmu_name.h"

namespace igpu {
namespace {

// Suffixes of the files that describe an event, in addition to its own file.
constexpr std::array<std::string_view, 4> kSiblings{".scale", ".unit", ".per-pkg", ".snapshot"};

std::uint64_t largest_correction(std::string_view event, std::string_view unit) {
  if (unit == "ns") return 1'000'000'000;
  if (event.ends_with("-ticks")) return 19'200'000;
  return 0;
}

}  // namespace

PmuDescription::PmuDescription(const Directory& sys, std::string_view pmu)
    : sys_(sys), name_(pmu), directory_(std::string(kPmuFolder) + name_) {}

PmuDescription::Identity PmuDescription::identify() {
  if (type_file_) {
    std::array<char, 32> buffer;
    const auto text = type_file_->read(buffer);
    if (text.is_failure()) return {text.propagate<std::uint32_t>(), false};
    const auto number = text ? scan_integer<std::uint32_t>(*text) : std::nullopt;
    if (number && *number == type_) return {*number, false};
    type_file_.reset();
  }
  return {open_type(), true};
}

Reading<std::uint32_t> PmuDescription::open_type() {
  std::array<char, 32> buffer;
  auto file = sys_.open(directory_ + "/type");
  if (!file) return file.propagate<std::uint32_t>();
  const auto text = (*file)->read(buffer);
  if (!text) return text.propagate<std::uint32_t>();
  const auto number = scan_integer<std::uint32_t>(*text);
  if (!number) return Absent{Reason::kernel, ENODEV};
  type_file_ = std::move(*file);
  type_ = *number;
  return *number;
}

Reading<std::vector<std::string>> PmuDescription::events() const {
  std::vector<std::string> names;
  const auto listed = sys_.for_each(directory_ + "/events", [&](std::string_view entry) {
    if (std::none_of(kSiblings.begin(), kSiblings.end(), [&](std::string_view end) { return entry.ends_with(end); }))
      names.emplace_back(entry);
    return true;
  });
  if (!listed) {
    if (listed.is_failure()) return listed.failure();
    // A PMU need not name any events.
    if (const auto facts = sys_.stat(directory_ + "/type"); !facts) return listed.absent();
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<PmuField> PmuDescription::fields() const {
  std::vector<PmuField> found;
  const std::string folder = directory_ + "/format";
  for (const std::string& field : sorted_names(sys_, folder)) {
    std::array<char, 128> buffer;
    const auto text = sys_.read(folder + "/" + field, buffer);
    if (!text) continue;
    if (auto parsed = parse_pmu_field(field, *text)) found.push_back(std::move(*parsed));
  }
  return found;
}

Reading<std::uint64_t> PmuDescription::config_of(const std::string& event, const Terms& terms,
                                                 const std::vector<PmuField>& fields) const {
  std::array<char, 512> buffer;
  const auto text = sys_.read(directory_ + "/events/" + event, buffer);
  if (!text) return text.propagate<std::uint64_t>();
  const Absent not_understood{Reason::kernel, EINVAL};
  auto config = parse_pmu_event(*text, fields);
  if (!config) return not_understood;
  for (const auto& [term, value] : terms)
    if (!place_pmu_term(term, value, fields, *config)) return not_understood;
  // No GPU, RAPL or memory PMU has an event that needs another word.
  if (std::any_of(config->begin() + 1, config->end(), [](std::uint64_t word) { return word != 0; }))
    return not_understood;
  return config->front();
}

PmuDescription::Event PmuDescription::describe(const std::string& event, const Terms& terms,
                                               const std::vector<PmuField>& fields) const {
  Event described;
  described.config = config_of(event, terms, fields);
  const std::string path = directory_ + "/events/" + event;
  std::array<char, 128> buffer;
  const auto scale = sys_.read(path + ".scale", buffer);
  if (scale) described.scale = scan_double(*scale);
  const auto unit = sys_.read(path + ".unit", buffer);
  described.largest_correction = largest_correction(event, unit ? trim(*unit) : std::string_view());
  return described;
}

std::vector<int> PmuDescription::cpus() const {
  std::array<char, 4096> buffer;
  const auto text = sys_.read(directory_ + "/cpumask", buffer);
  std::vector<int> found = text ? parse_cpu_list(*text) : std::vector<int>();
  if (found.empty()) found.push_back(0);
  if (counts_for_whole_machine(name_)) found.resize(1);
  return found;
}

}  // namespace igpu
