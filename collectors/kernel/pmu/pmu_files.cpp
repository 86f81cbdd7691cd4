// SPDX-License-Identifier: Apache-2.0
#include "kernel/pmu/pmu_files.h"

#include <algorithm>
#include <array>

#include "base/scan.h"

namespace igpu {
namespace {

constexpr unsigned kWordBits = 64;
// More CPUs than any machine has; a hostile range must not fill the memory.
constexpr int kMostCpus = 65536;

constexpr std::array<std::string_view, 4> kWords{"config", "config1", "config2", "config3"};

std::optional<std::size_t> word_of(std::string_view name) {
  const auto it = std::ranges::find(kWords, name);
  if (it == kWords.end()) return std::nullopt;
  return static_cast<std::size_t>(it - kWords.begin());
}

constexpr std::uint64_t low_bits(unsigned count) {
  return count >= kWordBits ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

template <class Integer>
struct Range {
  Integer first, last;
};
// "3", "0-20".
template <class Integer>
std::optional<Range<Integer>> parse_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = scan_integer<Integer>(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : scan_integer<Integer>(text.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return Range<Integer>{*first, *last};
}

std::optional<std::uint64_t> parse_value(std::string_view text) {
  text = trim(text);
  return text.starts_with("0x") || text.starts_with("0X") ? scan_hex(text) : scan_u64(text);
}

constexpr std::string_view kPmuFolder = "bus/event_source/devices";

// In the order of preference: dedicated counters before those shared with other users of perf.
struct Family {
  std::string_view pmu, read, write;
  bool sub_channels;
};
constexpr std::array<Family, 3> kImcFamilies{{{"uncore_imc", "data_reads", "data_writes", false},
                                              {"uncore_imc_free_running", "data_read", "data_write", false},
                                              {"uncore_imc", "cas_count_read", "cas_count_write", true}}};

bool names(std::string_view event, std::string_view wanted, bool sub_channels) {
  if (event == wanted) return true;
  return sub_channels && event.starts_with(wanted) && event.substr(wanted.size()).starts_with("_sch") &&
         event.find('.') == std::string_view::npos;
}

}  // namespace

bool PmuField::place(std::uint64_t value, PmuConfig& config) const {
  std::uint64_t bits = config[word];
  for (const Range& range : ranges) {
    const unsigned width = range.last - range.first + 1;
    const std::uint64_t mask = low_bits(width);
    bits = (bits & ~(mask << range.first)) | ((value & mask) << range.first);
    value = width >= kWordBits ? 0 : value >> width;
  }
  if (value != 0) return false;
  config[word] = bits;
  return true;
}

std::optional<PmuField> parse_pmu_field(std::string_view name, std::string_view text) {
  text = trim(text);
  PmuField field;
  field.name = name;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto word = word_of(trim(text.substr(0, colon)));
  if (!word) return std::nullopt;
  field.word = *word;
  for (std::string_view rest = text.substr(colon + 1); !rest.empty();) {
    const auto range = parse_range<unsigned>(take_until(rest, ','));
    if (!range || range->last >= kWordBits) return std::nullopt;
    field.ranges.push_back({range->first, range->last});
  }
  if (field.ranges.empty()) return std::nullopt;
  return field;
}

std::optional<PmuTerm> take_pmu_term(std::string_view& text) {
  const std::string_view term = trim(take_until(text, ','));
  const std::size_t equals = term.find('=');
  const std::string_view name = trim(term.substr(0, equals));
  if (name.empty()) return std::nullopt;
  if (equals == std::string_view::npos) return PmuTerm{name, 1};
  const auto value = parse_value(term.substr(equals + 1));
  if (!value) return std::nullopt;
  return PmuTerm{name, *value};
}

bool place_pmu_term(std::string_view name, std::uint64_t value, const std::vector<PmuField>& fields,
                    PmuConfig& config) {
  for (const PmuField& field : fields)
    if (field.name == name) return field.place(value, config);
  if (const auto word = word_of(name)) {
    config[*word] = value;
    return true;
  }
  return false;
}

std::optional<PmuConfig> parse_pmu_event(std::string_view text, const std::vector<PmuField>& fields) {
  text = trim(text);
  if (text.empty()) return std::nullopt;
  PmuConfig config{};
  while (!text.empty()) {
    const auto term = take_pmu_term(text);
    if (!term || !place_pmu_term(term->name, term->value, fields, config)) return std::nullopt;
  }
  return config;
}

std::vector<int> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  for (std::string_view rest = trim(text); !rest.empty();) {
    const auto range = parse_range<int>(take_until(rest, ','));
    if (!range || range->first < 0 || range->last >= kMostCpus) return {};
    for (int cpu = range->first; cpu <= range->last; ++cpu) cpus.push_back(cpu);
  }
  std::ranges::sort(cpus);
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

bool is_collected_pmu(std::string_view name) {
  return name == "i915" || name.starts_with("i915_") || name.starts_with("xe_") || name == "power" ||
         name.starts_with("uncore_imc");
}

bool is_type_of_collected_pmu(const Directory& sys, std::uint32_t type) {
  bool found = false;
  (void)sys.for_each(kPmuFolder, [&](std::string_view name) {
    if (!is_collected_pmu(name)) return true;
    std::array<char, 32> buffer;
    const auto text = sys.read(std::string(kPmuFolder) + "/" + std::string(name) + "/type", buffer);
    found = text && scan_integer<std::uint32_t>(*text) == type;
    return !found;
  });
  return found;
}

std::vector<ImcPmu> imc_pmus(const Directory& sys) {
  std::vector<std::string> candidates;
  (void)sys.for_each(kPmuFolder, [&](std::string_view name) {
    if (name.starts_with("uncore_imc")) candidates.emplace_back(name);
    return true;
  });
  std::ranges::sort(candidates);
  for (const Family& family : kImcFamilies) {
    std::vector<ImcPmu> found;
    for (const std::string& name : candidates) {
      if (!name.starts_with(family.pmu)) continue;
      ImcPmu pmu{name, {}, {}};
      for (const std::string& event : sorted_names(sys, std::string(kPmuFolder) + "/" + name + "/events")) {
        if (names(event, family.read, family.sub_channels)) pmu.reads.push_back(event);
        if (names(event, family.write, family.sub_channels)) pmu.writes.push_back(event);
      }
      if (!pmu.reads.empty() && !pmu.writes.empty()) found.push_back(std::move(pmu));
    }
    if (!found.empty()) return found;
  }
  return {};
}

}  // namespace igpu
