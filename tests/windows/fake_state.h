// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "support/adapter_script.h"

namespace igpu::test {

// What the fakes of Windows' libraries answer: the script in the environment variable FAKE_GDI32
// (support/adapter_script.h), and what the test has moved since.
struct Fake {
  std::vector<ScriptAdapter> adapters;
  std::uint64_t milliseconds = 0, scrape = 0;
  std::uint32_t opened = 0;  // handles, none of which is given again
  std::map<std::uint32_t, std::size_t> handles;

  Fake() {
    const char* const path = std::getenv("FAKE_GDI32");
    std::ifstream file(path ? path : "", std::ios::binary);
    adapters = read_adapter_script(std::string(std::istreambuf_iterator<char>(file), {}));
  }
};

inline Fake& fake() {
  static Fake the_fake;
  return the_fake;
}

}  // namespace igpu::test
