// SPDX-License-Identifier: Apache-2.0
//
// Reads one GPU, and catches what the library throws by its type.
#include <iostream>
#include <utility>

#include "igpu/gpu.h"
#include "igpu/sampling.h"

int main() {
  igpu::GpuOptions options;
  options.simulate = "rack";
  try {
    static_cast<void>(igpu::Gpu::open("card77", options));
    return 1;
  } catch (const igpu::NoSuchGpu& error) {
    std::cout << error.what() << "; " << error.hint() << "\n";
  }
  igpu::OpenGpu gpu = igpu::Gpu::detect(options);
  const igpu::Snapshot now = gpu.read();
  const auto busy = now.busy(igpu::EngineClass::video);
  igpu::SampleTimer timer(std::move(gpu), std::chrono::hours(1));
  if (!busy || timer.read()) return 1;
  std::cout << now.gpu.address << ": video engines " << 100 * busy->value << " %\n";
}
