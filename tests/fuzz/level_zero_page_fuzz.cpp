// SPDX-License-Identifier: Apache-2.0
// A page of a Level Zero program with parts of it written over: each line of the input is an offset, a blank and eight
// bytes. What is accepted adds up, whatever was written.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <variant>

#include "base/scan.h"
#include "fuzz/fuzz_target.h"
#include "igpu/level_zero.h"
#include "level_zero/level_zero_pages.h"
#include "support/level_zero_page.h"

FUZZ_TARGET(level_zero_page) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  igpu::test::LevelZeroPageBytes page;
  while (!rest.empty()) {
    const auto offset = igpu::scan_u64(igpu::take_until(rest, ' '));
    const std::string_view value = rest.substr(0, 8);
    rest.remove_prefix(std::min<std::size_t>(rest.size(), 9));
    if (!value.empty() && offset && *offset < page.bytes().size() && value.size() <= page.bytes().size() - *offset)
      std::memcpy(page.bytes().data() + *offset, value.data(), value.size());
  }
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 53;
  const auto parsed = igpu::parse_level_zero_page(page.bytes(), page.bytes().size());
  if (const auto* accepted = std::get_if<igpu::LevelZeroPage>(&parsed)) {
    FUZZ_CHECK(accepted->comm.size() < 16);
    for (const igpu::LevelZeroKindUse& resources : accepted->resources) {
      FUZZ_CHECK(!resources.kind.empty());
      FUZZ_CHECK(resources.created < kLargest && resources.bytes_allocated < kLargest);
      FUZZ_CHECK(resources.live <= resources.created + 4096);
      FUZZ_CHECK(resources.destroyed <= resources.created + 4096);
      FUZZ_CHECK(resources.bytes <= resources.bytes_allocated);
    }
    for (const igpu::LevelZeroCalls& calls : accepted->calls) FUZZ_CHECK(calls.calls < kLargest);
    FUZZ_CHECK(igpu::is_later_reading(*accepted, *accepted));
  }
  // Its live resources, too: entries, call sites and libraries.
  const auto described = igpu::describe_level_zero_page(page.bytes());
  FUZZ_CHECK(described.has_value() == std::holds_alternative<igpu::LevelZeroPage>(parsed));
  if (described) {
    std::uint64_t entries = 0;
    for (const igpu::LevelZeroSite& site : described->live) entries += site.count;
    FUZZ_CHECK(entries <= igpu::level_zero::entries_of(1));
  }
  return 0;
}
