// SPDX-License-Identifier: Apache-2.0
//
// Reads the first GPU once.                                                 one_shot [SIMULATED MACHINE]
#include <igpu/gpu.h>

#include <iostream>

int main(int argc, char** argv) {
  igpu::GpuOptions options;
  if (argc > 1) options.simulate = argv[1];  // "rack"; without it, this machine
  try {
    igpu::OpenGpu gpu = igpu::Gpu::detect(options);
    const igpu::Snapshot now = gpu.read();
    std::cout << now.gpu.address << " " << now.gpu.name << "\n";
    if (now.engine_classes)
      for (const igpu::snapshot::EngineClassLoad& load : *now.engine_classes)
        if (load.busy) std::cout << to_string(load.engine_class) << ": " << 100 * load.busy->value << " %\n";
    if (const auto watts = now.power_of("gpu")) std::cout << "power: " << watts->value << " W\n";
    for (const igpu::FeatureState& feature : *now.features)
      if (!feature.available) std::cout << feature.name << ": " << feature.cause << "; " << feature.hint << "\n";
  } catch (const igpu::GpuError& error) {
    std::cerr << error.what() << "; " << error.hint() << "\n";
    return 1;
  }
}
