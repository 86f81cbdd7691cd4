// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "fuzz/fuzz_target.h"
#include "machine/pci_ids.h"

FUZZ_TARGET(pci_ids) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::uint16_t device : std::initializer_list<std::uint16_t>{0x56a0, 0x9a49, 0x0000, 0xffff}) {
    igpu::PciDeviceSearch search(0x8086, device);
    if (search.add(text)) search.end();
    FUZZ_CHECK(text.find(search.name()) != std::string_view::npos);
    FUZZ_CHECK(search.name().find('\n') == std::string::npos);
  }
  return 0;
}
