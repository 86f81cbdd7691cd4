// SPDX-License-Identifier: Apache-2.0
//
// A service that already serves prometheus-cpp metrics and wants the GPUs of its machine among them.
#include <iostream>

#include "igpu/monitor.h"
#include "igpu/version.h"

namespace {

class Silence final : public igpu::Log {
 public:
  void write(igpu::LogLevel, std::string_view, std::initializer_list<igpu::LogField>) override {}
};

}  // namespace

int main() {
  Silence log;
  igpu::MonitorOptions options;
  options.simulate = "rack";
  igpu::Monitor monitor(options, log);
  std::cout << "igpu " << igpu::build::kVersion << ": " << monitor.gpus().size() << " GPUs\n";
  return monitor.gpus().size() == 3 ? 0 : 1;
}
