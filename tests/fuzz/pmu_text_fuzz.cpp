// SPDX-License-Identifier: Apache-2.0
// The texts of a PMU's format/ and events/ directories and its cpumask. The input's first line is a format file, the
// rest an event file.
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/scan.h"
#include "fuzz/fuzz_target.h"
#include "kernel/pmu/pmu_files.h"

FUZZ_TARGET(pmu_text) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  for (const int cpu : igpu::parse_cpu_list(rest)) FUZZ_CHECK(cpu >= 0);

  const std::string_view format = igpu::take_line(rest);
  std::vector<igpu::PmuField> fields;
  if (auto field = igpu::parse_pmu_field("event", format)) {
    FUZZ_CHECK(field->word < igpu::PmuConfig{}.size());
    FUZZ_CHECK(!field->ranges.empty());
    for (const auto& range : field->ranges) FUZZ_CHECK(range.first <= range.last && range.last < 64);
    // An accepted value sets only these bits; a rejected one changes nothing.
    std::uint64_t mask = 0;
    for (const auto& range : field->ranges)
      for (unsigned bit = range.first; bit <= range.last; ++bit) mask |= std::uint64_t{1} << bit;
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0xff}, ~std::uint64_t{0}}) {
      igpu::PmuConfig config{};
      const bool placed = field->place(value, config);
      for (std::size_t i = 0; i < config.size(); ++i)
        FUZZ_CHECK((config[i] & ~(i == field->word && placed ? mask : 0)) == 0);
    }
    fields.push_back(*field);
  }
  (void)igpu::parse_pmu_event(rest, fields);
  std::string_view terms = rest;
  std::size_t count = 0;
  while (const auto term = igpu::take_pmu_term(terms)) {
    FUZZ_CHECK(!term->name.empty());
    FUZZ_CHECK(++count <= size);
  }
  return 0;
}
