// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "cli/intel_gpu_top_arguments.h"
#include "cli/run.h"
#include "platform/standard_streams.h"
#ifdef IGPU_STATIC
#include "static_file/begin.h"
#endif

int main(int argc, char** argv) {
  igpu::exporter::prepare_standard_streams();
#ifdef IGPU_STATIC
  igpu::exporter::begin_static_program();
#endif
  std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (argc > 0) igpu::exporter::add_command_of_name(argv[0], arguments);
  return igpu::exporter::run(arguments);
}
