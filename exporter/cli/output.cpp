// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "platform/build_info.h"
#include "platform/standard_streams.h"
#include "text/wrap.h"

namespace igpu::exporter {

int print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return EXIT_SUCCESS;
  const std::string why = std::generic_category().message(errno);
  std::fprintf(stderr, "%.*s: standard output cannot be written: %s\n", static_cast<int>(kProgramName.size()),
               kProgramName.data(), why.c_str());
  return EXIT_FAILURE;
}

int columns_of_output() {
  if (const int columns = terminal_columns(); columns > 0) return columns;
  const char* const given = std::getenv("COLUMNS");
  return given == nullptr ? kTextWidth : std::clamp(std::atoi(given), 20, 1000);
}

}  // namespace igpu::exporter
