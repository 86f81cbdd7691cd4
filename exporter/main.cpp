// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "cli/intel_gpu_top_arguments.h"
#include "cli/run.h"
#ifdef IGPU_STATIC
#include "static_file/begin.h"
#endif

namespace {

// The parent may have closed the standard descriptors. The first files and sockets opened would then get their numbers,
// and log lines would be written into them. A write to standard output still has to fail.
void occupy_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    (void)::open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY);  // gets the lowest free number
  }
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_descriptors();
#ifdef IGPU_STATIC
  igpu::exporter::begin_static_program();
#endif
  std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (argc > 0) igpu::exporter::add_command_of_name(argv[0], arguments);
  return igpu::exporter::run(arguments);
}
