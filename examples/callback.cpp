// SPDX-License-Identifier: Apache-2.0
//
// Prints the load of the video engines ten times a second, from a thread of the library.   callback [SIMULATED MACHINE]
#include <igpu/gpu.h>
#include <igpu/sampling.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <stop_token>

int main(int argc, char** argv) {
  igpu::GpuOptions options;
  if (argc > 1) options.simulate = argv[1];
  try {
    std::stop_source enough;
    std::atomic<int> readings = 0;
    const auto print = [&](const igpu::Snapshot& now) {
      if (const auto busy = now.busy(igpu::EngineClass::video)) std::cout << "video: " << 100 * busy->value << " %\n";
      if (++readings == 5) enough.request_stop();
    };
    igpu::Sampler sampler(igpu::Gpu::detect(options), std::chrono::milliseconds(100), print, enough.get_token());
    sampler.wait();  // throws what ended it, unless it was stopped
    std::cout << readings << " readings, " << sampler.missed() << " missed\n";
  } catch (const igpu::GpuError& error) {
    std::cerr << error.what() << "; " << error.hint() << "\n";
    return 1;
  }
}
