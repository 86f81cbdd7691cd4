// SPDX-License-Identifier: Apache-2.0
// A uevent: what is found is part of the message.
#include <cstdint>
#include <string_view>

#include "fuzz/fuzz_target.h"
#include "kernel/faults/kernel_records.h"

FUZZ_TARGET(uevent) {
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
