// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "cli/run.h"

namespace {

// The parent may have closed the standard descriptors. The first files and sockets opened would then get their numbers,
// and log lines would be written into them.
void occupy_standard_descriptors() {
  int descriptor = 0;
  do {
    descriptor = ::open("/dev/null", O_RDWR);
  } while (descriptor >= 0 && descriptor <= STDERR_FILENO);
  if (descriptor >= 0) (void)::close(descriptor);
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_descriptors();
  return igpu::exporter::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
