// SPDX-License-Identifier: Apache-2.0
// A uevent: what is found is part of the message.
#include <cstdint>
#include <string_view>

#include "fuzz/fuzz_check.h"
#include "source/uevent.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view message(reinterpret_cast<const char*>(data), size);
  const auto event = igpu::parse_uevent(message);
  if (!event) return 0;
  FUZZ_CHECK(!event->action.empty() && !event->path.empty() && event->path.find('\0') == std::string_view::npos);
  FUZZ_CHECK(event->action.size() + event->path.size() + event->pairs.size() < size);
  for (const std::string_view key : {"SUBSYSTEM", "ERROR", "WEDGED", ""}) {
    const auto value = event->value(key);
    if (value) FUZZ_CHECK(value->find('\0') == std::string_view::npos);
    if (value && !value->empty()) FUZZ_CHECK(message.find(*value) != std::string_view::npos);
  }
  return 0;
}
