// SPDX-License-Identifier: Apache-2.0
// The name of an instance of Windows' performance counter GPU Engine.
#include <cstdint>
#include <string_view>

#include "fuzz/fuzz_target.h"
#include "kernel/clients/wddm_clients.h"

FUZZ_TARGET(engine_counter_name) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto name = igpu::parse_engine_counter_name(text);
  if (!name) return 0;
  FUZZ_CHECK(text.starts_with("pid_") && text.find("_engtype_") != std::string_view::npos);
  // What follows the engine's type is not read.
  FUZZ_CHECK(igpu::parse_engine_counter_name(text.substr(0, text.find("_engtype_") + 9)) == name);
  return 0;
}
