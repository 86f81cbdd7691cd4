// SPDX-License-Identifier: Apache-2.0
// trace_copy FILE: reads a recording, and writes it to standard output as trace record would.
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "support/perfetto_copy.h"

int main(int count, char** arguments) {
  if (count != 2) return 1;
  std::ifstream file(arguments[1], std::ios::binary);
  const auto recorded = igpu::exporter::read_trace(std::string(std::istreambuf_iterator<char>(file), {}));
  if (!recorded) return 1;
  std::cout << igpu::test::perfetto_copy(*recorded);
}
