// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "base/pci_ids.h"
#include "fuzz/fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::uint16_t device : std::initializer_list<std::uint16_t>{0x56a0, 0x9a49, 0x0000, 0xffff}) {
    const std::string_view name = igpu::pci_device_name(text, 0x8086, device);
    FUZZ_CHECK(name.empty() || (name.data() >= text.data() && name.data() + name.size() <= text.data() + text.size()));
    FUZZ_CHECK(name.find('\n') == std::string_view::npos);
  }
  return 0;
}
