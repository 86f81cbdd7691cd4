// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/adapter_script.h"
#include "view/capture_file/script.h"
#include "windows/recorded_adapters.h"

namespace igpu::test {

// What the fakes of Windows' libraries answer: the script or the capture in the environment variable FAKE_GDI32, and
// what the test has moved since.
struct Fake {
  std::vector<ScriptAdapter> adapters;
  std::uint64_t milliseconds = 0, scrape = 0;
  std::uint32_t opened = 0;                      // handles, none of which is given again
  std::map<std::uint32_t, std::size_t> handles;  // numbers of adapters; of a capture, LUIDs
  std::unique_ptr<RecordedAdapters> recorded;    // instead of `adapters`
  std::map<void*, std::string> process_names;    // by handle

  Fake() {
    const char* const path = std::getenv("FAKE_GDI32");
    std::ifstream file(path ? path : "", std::ios::binary);
    const std::string script(std::istreambuf_iterator<char>(file), {});
    if (exporter::is_script(script))
      recorded = std::make_unique<RecordedAdapters>(script);
    else
      adapters = read_adapter_script(script);
  }
  std::uint32_t give_handle(std::size_t adapter) {
    handles[++opened] = adapter;
    return opened;
  }
};

inline Fake& fake() {
  static Fake the_fake;
  return the_fake;
}

}  // namespace igpu::test
