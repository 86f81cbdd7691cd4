// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "self/build_info.h"

namespace igpu::exporter {

int print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return EXIT_SUCCESS;
  const std::string why = std::generic_category().message(errno);
  std::fprintf(stderr, "%.*s: standard output cannot be written: %s\n", static_cast<int>(kProgramName.size()),
               kProgramName.data(), why.c_str());
  return EXIT_FAILURE;
}

}  // namespace igpu::exporter
